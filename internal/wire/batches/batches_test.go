package batches_test

import (
	"strings"
	"testing"
	"time"

	"weir/internal/batch"
	"weir/internal/fault"
	"weir/internal/money"
	"weir/internal/rawjson"
	"weir/internal/task"
	"weir/internal/wire/batches"
)

var (
	requests = &batch.Batch{ID: "batch_1", Shape: batch.Requests, Endpoint: "/v1/chat/completions"}
	messages = &batch.Batch{ID: "msgbatch_1", Shape: batch.Messages, Endpoint: batches.MessagesEndpoint}
)

func TestLine(t *testing.T) {
	t.Parallel()
	const good = `{"custom_id":"a","method":"POST","url":"/v1/chat/completions","body":{"model":"m"}}`
	line, problem := batches.Wire{}.Line(requests, []byte(" "+good+"\r"))
	if problem != nil || line.CustomID != "a" || string(line.Body) != `{"model":"m"}` {
		t.Fatalf("%+v, %+v", line, problem)
	}
	line, problem = batches.Wire{}.Line(messages, []byte(`{"params":{"model":"m"},"custom_id":"a-B_9"}`))
	if problem != nil || line.CustomID != "a-B_9" || string(line.Body) != `{"model":"m"}` {
		t.Fatalf("%+v, %+v", line, problem)
	}
	for _, c := range []struct {
		of          *batch.Batch
		text, param string
	}{
		{requests, ``, ""},
		{requests, `nonsense`, ""},
		{requests, `[1]`, ""},
		{requests, good + good, ""},
		{requests, "{\"custom_id\":\"\xff\"}", ""},
		{requests, strings.Repeat(`{"a":`, 300) + "1" + strings.Repeat("}", 300), ""},
		{requests, `{"custom_id":"a","custom_id":"b"}`, ""},
		{requests, `{}`, "custom_id"},
		{requests, `{"custom_id":7}`, "custom_id"},
		{requests, `{"custom_id":""}`, "custom_id"},
		{requests, `{"custom_id":"a\nb"}`, "custom_id"},
		{requests, `{"custom_id":"` + strings.Repeat("x", 257) + `"}`, "custom_id"},
		{requests, `{"custom_id":"a","method":"GET","url":"/v1/chat/completions","body":{}}`, "method"},
		{requests, `{"custom_id":"a","method":"POST","url":"/v1/embeddings","body":{}}`, "url"},
		{requests, `{"custom_id":"a","method":"POST","url":"/v1/chat/completions"}`, "body"},
		{requests, `{"custom_id":"a","method":"POST","url":"/v1/chat/completions","body":[]}`, "body"},
		{requests, `{"custom_id":"a","method":"POST","url":"/v1/chat/completions","body":{"stream":true}}`, "body.stream"},
		{requests, `{"custom_id":"a","method":"POST","url":"/v1/chat/completions","body":{"background":true}}`, "body.background"},
		{messages, `{"custom_id":"a b","params":{}}`, "custom_id"},
		{messages, `{"custom_id":"` + strings.Repeat("x", 65) + `","params":{}}`, "custom_id"},
		{messages, `{"custom_id":"a","params":null}`, "params"},
		{messages, `{"custom_id":"a","params":{"stream":true}}`, "params.stream"},
	} {
		_, problem := batches.Wire{}.Line(c.of, []byte(c.text))
		if problem == nil || problem.Param != c.param || problem.Message == "" || problem.Code == "" {
			t.Errorf("%.80s: %+v, want a problem of %q", c.text, problem, c.param)
		}
	}
}

func TestResults(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name string
		of   *batch.Batch
		item batch.Item
		want string
	}{
		{"succeeded", requests, batch.Item{Line: 3, CustomID: "a\"", Outcome: batch.Succeeded, Status: 200, RequestID: "req_1", Generation: "gen-1", Body: []byte("{\n \"x\": 1\n}")},
			`{"id":"batch_req_1_3","custom_id":"a\"","response":{"status_code":200,"request_id":"req_1","generation_id":"gen-1","body":{  "x": 1 }},"error":null}`},
		{"errored", requests, batch.Item{Line: 1, CustomID: "a", Outcome: batch.Errored, Status: 400, RequestID: "req_1", Generation: "gen-1", Body: []byte(`{"error":{}}`)},
			`{"id":"batch_req_1_1","custom_id":"a","response":{"status_code":400,"request_id":"req_1","generation_id":"gen-1","body":{"error":{}}},"error":null}`},
		{"errored without an answer", requests, batch.Item{Line: 1, CustomID: "a", Outcome: batch.Errored},
			`{"id":"batch_req_1_1","custom_id":"a","response":null,"error":{"code":"batch_failed","message":"The request could not be made. Nothing was charged."}}`},
		{"cancelled", requests, batch.Item{Line: 1, CustomID: "a", Outcome: batch.Canceled},
			`{"id":"batch_req_1_1","custom_id":"a","response":null,"error":{"code":"batch_cancelled","message":"The batch was cancelled before this request was made."}}`},
		{"expired", requests, batch.Item{Line: 1, CustomID: "a", Outcome: batch.Expired},
			`{"id":"batch_req_1_1","custom_id":"a","response":null,"error":{"code":"batch_expired","message":"This request could not be made before the completion window of the batch ended."}}`},
		{"message", messages, batch.Item{CustomID: "a", Outcome: batch.Succeeded, Body: []byte(`{"type":"message"}`)}, `{"custom_id":"a","result":{"type":"succeeded","message":{"type":"message"}}}`},
		{"message that failed", messages, batch.Item{CustomID: "a", Outcome: batch.Errored, Body: []byte(`{"type":"error"}`)}, `{"custom_id":"a","result":{"type":"errored","error":{"type":"error"}}}`},
		{"message without an answer", messages, batch.Item{CustomID: "a", Outcome: batch.Errored},
			`{"custom_id":"a","result":{"type":"errored","error":{"type":"error","error":{"type":"api_error","message":"The request could not be made. Nothing was charged."}}}}`},
		{"message that was cancelled", messages, batch.Item{CustomID: "a", Outcome: batch.Canceled}, `{"custom_id":"a","result":{"type":"canceled"}}`},
		{"message that expired", messages, batch.Item{CustomID: "a", Outcome: batch.Expired}, `{"custom_id":"a","result":{"type":"expired"}}`},
	} {
		got := string(batches.Wire{}.AppendResult([]byte("before\n"), c.of, &c.item))
		if got != "before\n"+c.want+"\n" {
			t.Errorf("%s:\n%s\nwant\n%s", c.name, got, c.want)
		}
	}
}

func TestDecode(t *testing.T) {
	t.Parallel()
	c, err := batches.Decode([]byte(`{"input_file_id":"file-1","endpoint":"/v1/embeddings","completion_window":"24h","metadata":{"a":"b"},"output_expires_after":{"anchor":"created_at","seconds":7200}}`))
	if err != nil || c != (batches.Create{Input: "file-1", Endpoint: "/v1/embeddings", Metadata: `{"a":"b"}`, Keep: 2 * time.Hour}) {
		t.Fatalf("%+v, %v", c, err)
	}
	for _, x := range []struct{ body, param string }{
		{`{"endpoint":"/v1/embeddings","completion_window":"24h"}`, "input_file_id"},
		{`{"input_file_id":"a","completion_window":"24h"}`, "endpoint"},
		{`{"input_file_id":"a","endpoint":"/v1/embeddings"}`, "completion_window"},
		{`{"input_file_id":"a","endpoint":"/v1/videos","completion_window":"24h"}`, "endpoint"},
		{`{"input_file_id":"a","endpoint":"/v1/embeddings","completion_window":"1h"}`, "completion_window"},
		{`{"input_file_id":"a","endpoint":"/v1/embeddings","completion_window":"24h","output_expires_after":{"anchor":"created_at","seconds":1}}`, "output_expires_after.seconds"},
		{`{"input_file_id":"a","endpoint":"/v1/embeddings","completion_window":"24h","metadata":{"a":1}}`, "metadata.a"},
	} {
		if _, err := batches.Decode([]byte(x.body)); err == nil || fault.From(err).Param != x.param {
			t.Errorf("%s: %v", x.body, err)
		}
	}
}

func TestUpload(t *testing.T) {
	t.Parallel()
	u, err := batches.DecodeUpload([]task.Field{{Name: "purpose", Value: "batch"}, {Name: "expires_after[anchor]", Value: "created_at"}, {Name: "expires_after[seconds]", Value: "3600"}})
	if err != nil || u.Keep != time.Hour {
		t.Fatalf("%+v, %v", u, err)
	}
	for param, fields := range map[string][]task.Field{
		"purpose":               {},
		"purpose ":              {{Name: "purpose", Value: "fine-tune"}},
		"expires_after.seconds": {{Name: "purpose", Value: "batch"}, {Name: "expires_after[seconds]", Value: "-1"}},
		"expires_after.anchor":  {{Name: "expires_after[anchor]", Value: "now"}},
	} {
		if _, err := batches.DecodeUpload(fields); err == nil || fault.From(err).Param != strings.TrimSpace(param) {
			t.Errorf("%s: %v", param, err)
		}
	}
}

func TestDecodeMessages(t *testing.T) {
	t.Parallel()
	file, total, err := batches.DecodeMessages([]byte("{\"requests\":[\n{\"custom_id\":\"a\",\n\"params\":{\"model\":\"m\"}},{\"custom_id\":\"b\",\"params\":{}}]}"), 2, 100)
	if err != nil || total != 2 || string(file) != "{\"custom_id\":\"a\", \"params\":{\"model\":\"m\"}}\n{\"custom_id\":\"b\",\"params\":{}}\n" {
		t.Fatalf("%q, %d, %v", file, total, err)
	}
	for _, x := range []struct{ body, param string }{
		{`{}`, "requests"},
		{`{"requests":[]}`, "requests"},
		{`{"requests":{}}`, "requests"},
		{`{"requests":[{"custom_id":"a","params":{}},{"custom_id":"a","params":{}}]}`, "requests[1].custom_id"},
		{`{"requests":[{"custom_id":"a","params":{}},{"custom_id":"b"}]}`, "requests[1].params"},
		{`{"requests":[7]}`, "requests[0]"},
		{`{"requests":[{"custom_id":"a","params":{}},{"custom_id":"b","params":{}},{"custom_id":"c","params":{}}]}`, "requests"},
		{`{"requests":[{"custom_id":"a","params":{"x":"` + strings.Repeat("x", 100) + `"}}]}`, "requests[0]"},
	} {
		if _, _, err := batches.DecodeMessages([]byte(x.body), 2, 100); err == nil || fault.From(err).Param != x.param {
			t.Errorf("%s: %v", x.body, err)
		}
	}
}

func TestObjects(t *testing.T) {
	t.Parallel()
	at := time.Unix(1_772_000_000, 5000).UTC()
	b := batch.Batch{ID: "batch_1", Endpoint: "/v1/embeddings", Shape: batch.Requests, State: batch.Completed, Input: "file-1", Output: "file-2", Total: 3, Succeeded: 2, Failed: 1, Prompt: 5, Cached: 1,
		Completion: 7, Cost: 3 * money.Ruble / 2, CreatedAt: at, ExpiresAt: at, EndedAt: at, Problems: []batch.Problem{{Code: "c", Message: "m", Line: 4}}, Metadata: `{"a":"b"}`}
	const want = `{"id":"batch_1","object":"batch","endpoint":"/v1/embeddings","errors":{"object":"list","data":[{"code":"c","param":null,"message":"m","line":4}]},"input_file_id":"file-1",` +
		`"completion_window":"24h","status":"completed","output_file_id":"file-2","error_file_id":null,"created_at":1772000000,"in_progress_at":null,"expires_at":1772000000,"finalizing_at":null,` +
		`"completed_at":1772000000,"failed_at":null,"expired_at":null,"cancelling_at":null,"cancelled_at":null,"request_counts":{"total":3,"completed":2,"failed":1},` +
		`"usage":{"input_tokens":5,"input_tokens_details":{"cached_tokens":1},"output_tokens":7,"output_tokens_details":{"reasoning_tokens":0},"total_tokens":12,"cost":1.5},"metadata":{"a":"b"},"paused_by":null}`
	if got := string(batches.Append(nil, &b)); got != want {
		t.Errorf("\n%s\nwant\n%s", got, want)
	}
	b.State = batch.Finalizing
	if got := string(batches.Append(nil, &b)); !strings.Contains(got, `"output_file_id":null`) {
		t.Errorf("a file that is being written is shown: %s", got)
	}
	b.State, b.Shape, b.Output = batch.InProgress, batch.Messages, ""
	got := string(batches.AppendMessages(nil, &b, "https://w.test"))
	if !rawjson.Valid([]byte(got)) || !strings.Contains(got, `"processing_status":"in_progress","request_counts":{"processing":0,"succeeded":2,"errored":1,"canceled":0,"expired":0},"created_at":"2026-02-25T06:13:20.000005Z"`) {
		t.Error(got)
	}
	list := string(batches.AppendList(nil, 2, true, func(to []byte, i int) ([]byte, string) { return batches.Append(to, &b), "id" + string(rune('0'+i)) }))
	if !rawjson.Valid([]byte(list)) || !strings.HasSuffix(list, `],"first_id":"id0","last_id":"id1","has_more":true}`) {
		t.Error(list)
	}
	if list := string(batches.AppendList(nil, 0, false, nil)); list != `{"object":"list","data":[],"first_id":null,"last_id":null,"has_more":false}` {
		t.Error(list)
	}
	f := string(batches.AppendFile(nil, &batch.File{ID: "file-1", Bytes: 5, Name: "a\".jsonl", Purpose: "batch", CreatedAt: at, ExpiresAt: at}))
	if f != `{"id":"file-1","object":"file","bytes":5,"created_at":1772000000,"expires_at":1772000000,"filename":"a\".jsonl","purpose":"batch","status":"processed"}` {
		t.Error(f)
	}
}

// Whatever a line is, it is refused, or it has a name and an object, and its result is one line of JSON.
func FuzzLine(f *testing.F) {
	f.Add([]byte(`{"custom_id":"a","method":"POST","url":"/v1/chat/completions","body":{"model":"m"}}`))
	f.Add([]byte(`{"custom_id":"a","params":{"stream":false}}`))
	f.Add([]byte("{\"custom_id\":\"\\ud800\"}"))
	f.Fuzz(func(t *testing.T, text []byte) {
		for _, b := range []*batch.Batch{requests, messages} {
			line, problem := batches.Wire{}.Line(b, text)
			if problem != nil {
				if problem.Message == "" {
					t.Error("a problem without a message")
				}
				continue
			}
			if line.CustomID == "" || !rawjson.Valid(line.Body) || rawjson.KindOf(line.Body) != rawjson.Object {
				t.Errorf("%q: %+v", text, line)
			}
			result := batches.Wire{}.AppendResult(nil, b, &batch.Item{CustomID: line.CustomID, Outcome: batch.Succeeded, Body: line.Body})
			if n := len(result); strings.Count(string(result), "\n") != 1 || result[n-1] != '\n' || !rawjson.Valid(result[:n-1]) {
				t.Errorf("%q: %q", text, result)
			}
		}
	})
}

// Whatever a list is, it is refused, or each of its requests is a good line.
func FuzzDecodeMessages(f *testing.F) {
	f.Add([]byte(`{"requests":[{"custom_id":"a","params":{"x":[1,2]}},{"custom_id":"b","params":{}}]}`))
	f.Fuzz(func(t *testing.T, body []byte) {
		file, total, err := batches.DecodeMessages(body, 10, 1000)
		if err != nil {
			return
		}
		lines := strings.Split(strings.TrimSuffix(string(file), "\n"), "\n")
		if int64(len(lines)) != total {
			t.Fatalf("%d lines of %d requests", len(lines), total)
		}
		for _, text := range lines {
			if _, problem := (batches.Wire{}).Line(messages, []byte(text)); problem != nil {
				t.Errorf("%q: %+v", text, problem)
			}
		}
	})
}
