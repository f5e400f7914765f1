package batches

import (
	"time"

	"weir/internal/batch"
	"weir/internal/rawjson"
)

// AppendFile appends a file in OpenAI's shape.
func AppendFile(to []byte, f *batch.File) []byte {
	w := rawjson.Writer{B: to}
	w.Object()
	w.Name("id").Text(f.ID)
	w.Name("object").Text("file")
	w.Name("bytes").Int(f.Bytes)
	w.Name("created_at").Int(f.CreatedAt.Unix())
	w.Name("expires_at").Int(f.ExpiresAt.Unix())
	w.Name("filename").Text(f.Name)
	w.Name("purpose").Text(f.Purpose)
	w.Name("status").Text("processed")
	w.EndObject()
	return w.B
}

// AppendDeleted appends the answer to the deletion of a file.
func AppendDeleted(to []byte, id string) []byte {
	w := rawjson.Writer{B: to}
	w.Object()
	w.Name("id").Text(id)
	w.Name("object").Text("file")
	w.Name("deleted").Bool(true)
	w.EndObject()
	return w.B
}

// AppendList appends a page of OpenAI's shape. each appends one entry and returns its id.
func AppendList(to []byte, n int, more bool, each func(to []byte, i int) ([]byte, string)) []byte {
	to = append(to, `{"object":"list","data":[`...)
	first, last := "", ""
	for i := range n {
		if to, last = each(to, i); i == 0 { // whose writer separates it from the one before
			first = last
		}
	}
	to = append(append(to, `],"first_id":`...), orNull(first)...)
	to = append(append(to, `,"last_id":`...), orNull(last)...)
	if more {
		return append(to, `,"has_more":true}`...)
	}
	return append(to, `,"has_more":false}`...)
}

func orNull(text string) []byte {
	if text == "" {
		return []byte("null")
	}
	return rawjson.AppendText(nil, text)
}

// Append appends a batch in OpenAI's shape (API reference, Batch), with its cost so far, and why it waits if it does.
func Append(to []byte, b *batch.Batch) []byte {
	w := rawjson.Writer{B: to}
	w.Object()
	w.Name("id").Text(b.ID)
	w.Name("object").Text("batch")
	w.Name("endpoint").Text(b.Endpoint)
	w.Name("errors")
	appendProblems(&w, b.Problems)
	w.Name("input_file_id").Text(b.Input)
	w.Name("completion_window").Text(Window)
	w.Name("status").Text(string(b.State))
	output, failures := b.Output, b.Failures
	if !b.State.Final() {
		output, failures = "", ""
	}
	textOrNull(&w, "output_file_id", output)
	textOrNull(&w, "error_file_id", failures)
	w.Name("created_at").Int(b.CreatedAt.Unix())
	second(&w, "in_progress_at", b.StartedAt)
	w.Name("expires_at").Int(b.ExpiresAt.Unix())
	second(&w, "finalizing_at", b.FinalizingAt)
	for _, x := range [...]struct {
		name string
		in   batch.State
	}{{"completed_at", batch.Completed}, {"failed_at", batch.Failed}, {"expired_at", batch.ExpiredS}} {
		at := time.Time{}
		if b.State == x.in {
			at = b.EndedAt
		}
		second(&w, x.name, at)
	}
	second(&w, "cancelling_at", b.CancellingAt)
	cancelled := time.Time{}
	if b.State == batch.CancelledS {
		cancelled = b.EndedAt
	}
	second(&w, "cancelled_at", cancelled)
	w.Name("request_counts").Object()
	w.Name("total").Int(b.Total)
	w.Name("completed").Int(b.Succeeded)
	w.Name("failed").Int(b.Failed + b.Cancelled + b.Expired)
	w.EndObject()
	appendUsage(&w, b)
	w.Name("metadata")
	if b.Metadata == "" {
		w.Null()
	} else {
		w.Literal(b.Metadata)
	}
	textOrNull(&w, "paused_by", b.Paused)
	w.EndObject()
	return w.B
}

func appendUsage(w *rawjson.Writer, b *batch.Batch) {
	w.Name("usage").Object()
	w.Name("input_tokens").Int(b.Prompt)
	w.Name("input_tokens_details").Object()
	w.Name("cached_tokens").Int(b.Cached)
	w.EndObject()
	w.Name("output_tokens").Int(b.Completion)
	w.Name("output_tokens_details").Object()
	w.Name("reasoning_tokens").Int(b.Reasoning)
	w.EndObject()
	w.Name("total_tokens").Int(b.Prompt + b.Completion)
	w.Name("cost")
	w.B = b.Cost.Append(w.B)
	w.EndObject()
}

func appendProblems(w *rawjson.Writer, list []batch.Problem) {
	if len(list) == 0 {
		w.Null()
		return
	}
	w.Object()
	w.Name("object").Text("list")
	w.Name("data").Array()
	for i := range list {
		p := &list[i]
		w.Object()
		w.Name("code").Text(p.Code)
		textOrNull(w, "param", p.Param)
		w.Name("message").Text(p.Message)
		w.Name("line")
		if p.Line > 0 {
			w.Int(p.Line)
		} else {
			w.Null()
		}
		w.EndObject()
	}
	w.EndArray()
	w.EndObject()
}

func textOrNull(w *rawjson.Writer, name, value string) {
	if value == "" {
		w.Name(name).Null()
		return
	}
	w.Name(name).Text(value)
}

func second(w *rawjson.Writer, name string, t time.Time) {
	if t.IsZero() {
		w.Name(name).Null()
		return
	}
	w.Name(name).Int(t.Unix())
}

// AppendMessages appends a batch in the shape of the messages style (API reference, Message Batches), with its cost so far. base is the public
// address of the gateway, without a slash at its end.
func AppendMessages(to []byte, b *batch.Batch, base string) []byte {
	w := rawjson.Writer{B: to}
	w.Object()
	w.Name("id").Text(b.ID)
	w.Name("type").Text("message_batch")
	status, processing := "in_progress", b.Total-b.Succeeded-b.Failed
	switch {
	case b.State.Final():
		status, processing = "ended", 0
	case b.State == batch.Cancelling:
		status = "canceling"
	}
	w.Name("processing_status").Text(status)
	w.Name("request_counts").Object()
	w.Name("processing").Int(processing)
	w.Name("succeeded").Int(b.Succeeded)
	w.Name("errored").Int(b.Failed)
	w.Name("canceled").Int(b.Cancelled)
	w.Name("expired").Int(b.Expired)
	w.EndObject()
	moment(&w, "created_at", b.CreatedAt)
	moment(&w, "expires_at", b.ExpiresAt)
	moment(&w, "ended_at", b.EndedAt)
	moment(&w, "cancel_initiated_at", b.CancellingAt)
	w.Name("archived_at").Null()
	results := ""
	if b.State.Final() && b.Output != "" {
		results = base + "/v1/messages/batches/" + b.ID + "/results"
	}
	textOrNull(&w, "results_url", results)
	appendUsage(&w, b)
	textOrNull(&w, "paused_by", b.Paused)
	if len(b.Problems) > 0 {
		w.Name("errors")
		appendProblems(&w, b.Problems)
	}
	w.EndObject()
	return w.B
}

func moment(w *rawjson.Writer, name string, t time.Time) {
	if t.IsZero() {
		w.Name(name).Null()
		return
	}
	w.Name(name).Text(t.UTC().Format(time.RFC3339Nano))
}

// AppendMessagesDeleted appends the answer to the deletion of a batch of messages.
func AppendMessagesDeleted(to []byte, id string) []byte {
	w := rawjson.Writer{B: to}
	w.Object()
	w.Name("id").Text(id)
	w.Name("type").Text("message_batch_deleted")
	w.EndObject()
	return w.B
}
