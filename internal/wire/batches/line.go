// Package batches is the style of files and batches: it reads their requests and the lines of their files, and writes batches, files and
// lines of results, in OpenAI's shape and in that of the messages style. It must not know how they are stored or run.
package batches

import (
	"strings"

	"weir/internal/batch"
	"weir/internal/rawjson"
)

// Endpoints are the routes that requests of /v1/batches may be for.
var Endpoints = []string{"/v1/chat/completions", "/v1/responses", "/v1/messages", "/v1/embeddings", "/v1/moderations", "/v1/rerank"}

// MessagesEndpoint is the route of the requests of /v1/messages/batches.
const MessagesEndpoint = "/v1/messages"

const (
	maxName    = 256 // bytes of a custom_id
	maxIDBytes = 64  // of one in the messages style
)

// Wire reads and writes lines; it implements batch.Wire.
type Wire struct{}

var _ batch.Wire = Wire{}

// Line implements batch.Wire.
func (Wire) Line(b *batch.Batch, text []byte) (line batch.Line, problem *batch.Problem) {
	if err := rawjson.Check(text, rawjson.Defaults); err != nil {
		return line, &batch.Problem{Code: "invalid_json_line", Message: strings.Replace(err.Public, "The body", "The line", 1)}
	}
	if rawjson.KindOf(text) != rawjson.Object {
		return line, wrong("", "The line must be a JSON object.")
	}
	body := "body"
	if b.Shape == batch.Messages {
		body = "params"
	}
	var method, url []byte
	var id []byte
	for m := rawjson.MembersOf(text); m.Next(); {
		switch string(m.Name) {
		case "custom_id":
			id = m.Value
		case "method":
			method = m.Value
		case "url":
			url = m.Value
		case body:
			line.Body = m.Value
		}
	}
	name, ok := customID(id, b.Shape)
	if !ok {
		if b.Shape == batch.Messages {
			return line, wrong("custom_id", "custom_id must be 1 to 64 letters, digits, - and _.")
		}
		return line, wrong("custom_id", "custom_id must be a text of 1 to 256 bytes without control characters.")
	}
	line.CustomID = name
	if b.Shape == batch.Requests {
		if rawjson.Text(method) != "POST" {
			return line, wrong("method", "method must be POST.")
		}
		if rawjson.Text(url) != b.Endpoint {
			return line, wrong("url", "url must be the endpoint of the batch, "+b.Endpoint+".")
		}
	}
	if rawjson.KindOf(line.Body) != rawjson.Object {
		return line, wrong(body, body+" must be the JSON object of a request.")
	}
	for _, field := range [...]string{"stream", "background"} {
		if on, _ := rawjson.Bool(rawjson.Find(line.Body, field)); on {
			return line, wrong(body+"."+field, field+" cannot be true in a batch.")
		}
	}
	return line, nil
}

func wrong(param, message string) *batch.Problem {
	return &batch.Problem{Code: "invalid_request", Param: param, Message: message}
}

// customID reads the name that a client gives a request.
func customID(v []byte, shape batch.Shape) (string, bool) {
	if rawjson.KindOf(v) != rawjson.String {
		return "", false
	}
	text, ok := rawjson.Unquote(v)
	if !ok || len(text) == 0 || len(text) > maxName || shape == batch.Messages && len(text) > maxIDBytes {
		return "", false
	}
	for _, c := range text {
		if c < ' ' || c == 0x7f || shape == batch.Messages && !isName(c) {
			return "", false
		}
	}
	return string(text), true
}

func isName(c byte) bool {
	return 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9' || c == '-' || c == '_'
}

// AppendResult implements batch.Wire.
func (Wire) AppendResult(to []byte, b *batch.Batch, it *batch.Item) []byte {
	w := rawjson.Writer{B: make([]byte, 0, len(it.Body)+len(it.Body)/8+256)}
	w.Object()
	if b.Shape == batch.Messages {
		appendMessage(&w, it)
	} else {
		appendResponse(&w, b, it)
	}
	w.EndObject()
	return append(append(to, w.B...), '\n')
}

// appendResponse writes a line of OpenAI's shape (API reference, Batch: the request output object).
func appendResponse(w *rawjson.Writer, b *batch.Batch, it *batch.Item) {
	w.Name("id").Text(resultID(b, it))
	w.Name("custom_id").Text(it.CustomID)
	if it.Outcome == batch.Succeeded || it.Outcome == batch.Errored && len(it.Body) > 0 {
		w.Name("response").Object()
		w.Name("status_code").Int(it.Status)
		w.Name("request_id").Text(it.RequestID)
		w.Name("generation_id").Text(it.Generation)
		appendBody(w.Name("body"), it.Body)
		w.EndObject()
		w.Name("error").Null()
		return
	}
	code, message := "batch_failed", "The request could not be made. Nothing was charged."
	switch it.Outcome {
	case batch.Canceled:
		code, message = "batch_cancelled", "The batch was cancelled before this request was made."
	case batch.Expired:
		code, message = "batch_expired", "This request could not be made before the completion window of the batch ended."
	}
	w.Name("response").Null()
	w.Name("error").Object()
	w.Name("code").Text(code)
	w.Name("message").Text(message)
	w.EndObject()
}

// appendBody writes an answer on one line.
func appendBody(w *rawjson.Writer, body []byte) {
	if !rawjson.Valid(body) {
		w.Null() // no style answers with anything else
		return
	}
	w.Raw(rawjson.AppendOneLine(nil, body))
}

// resultID names a result: the same each time its file is written.
func resultID(b *batch.Batch, it *batch.Item) string {
	return "batch_req_" + strings.TrimPrefix(b.ID, batch.BatchPrefix) + "_" + itoa(it.Line)
}

// appendMessage writes a line of the messages style (API reference, Message Batches: MessageBatchIndividualResponse).
func appendMessage(w *rawjson.Writer, it *batch.Item) {
	w.Name("custom_id").Text(it.CustomID)
	w.Name("result").Object()
	w.Name("type").Text(string(it.Outcome))
	switch it.Outcome {
	case batch.Succeeded:
		appendBody(w.Name("message"), it.Body)
	case batch.Errored:
		w.Name("error")
		if rawjson.KindOf(it.Body) == rawjson.Object && rawjson.Valid(it.Body) {
			appendBody(w, it.Body)
		} else {
			w.Object()
			w.Name("type").Text("error")
			w.Name("error").Object()
			w.Name("type").Text("api_error")
			w.Name("message").Text("The request could not be made. Nothing was charged.")
			w.EndObject()
			w.EndObject()
		}
	}
	w.EndObject()
}
