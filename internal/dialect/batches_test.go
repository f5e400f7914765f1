package dialect_test

import (
	"errors"
	"io"
	"net/http"
	"strconv"
	"strings"
	"testing"
	"time"

	"weir/internal/batch"
	"weir/internal/catalog"
	"weir/internal/dialect"
	"weir/internal/dialect/anthropic"
	"weir/internal/dialect/gemini"
	"weir/internal/dialect/openai"
	"weir/internal/fault"
	"weir/internal/rawjson"
)

// said is an Ask whose provider answers every request with the same text, or by its path.
type said struct {
	dialect.Ask
	ep     *catalog.Endpoint
	body   string
	byPath map[string]string
}

func (s said) Endpoint() *catalog.Endpoint { return s.ep }

func (s said) Do(call dialect.Call) (*dialect.Answer, error) {
	body := s.body
	for path, text := range s.byPath {
		if strings.HasSuffix(call.Path, path) {
			body = text
		}
	}
	return &dialect.Answer{Exchange: headless{}, Endpoint: s.ep, Limits: dialect.Limits{Whole: 64 << 20, Stream: 64 << 20, Media: 64 << 20}, Length: -1, Body: dialect.NewBody(io.NopCloser(strings.NewReader(body)))}, nil
}

// headless is an exchange whose answer has no header fields.
type headless struct{ dialect.Exchange }

func (headless) Header() http.Header { return http.Header{} }

func (headless) Close() {}

func aPart() *batch.Part { return &batch.Part{ID: "bp_a", Endpoint: "ep", Upstream: "b1", Lines: 3} }

func TestBatchNames(t *testing.T) {
	p := aPart()
	for name, want := range map[string]int64{
		"bp_a-1": 1, "bp_a-50000": 50000, "bp_a-0": 0, "bp_a--1": 0, "bp_a-01": 0, "bp_a-+1": 0, "bp_a-": 0, "bp_a-1 ": 0, "bp_a-99999999999999999999": 0, "bp_b-1": 0, "1": 0, "": 0,
	} {
		if got := dialect.BatchLine(p, name); got != want {
			t.Errorf("%q is line %d, want %d", name, got, want)
		}
	}
	if name := dialect.BatchName(&batch.Part{ID: batch.PartPrefix + strings.Repeat("x", 24)}, 50000); len(name) > 64 {
		t.Errorf("%q is longer than providers allow", name)
	}
}

// Results as the three providers document them.
func TestBatchResults(t *testing.T) {
	ep := &catalog.Endpoint{ID: "ep", Provider: &catalog.Provider{Name: "P"}}
	long := `{"custom_id":"bp_a-9","response":{"status_code":200,"body":{"x":"` + strings.Repeat("x", dialect.MaxBatchLine) + `"}}}` + "\n"
	for name, c := range map[string]struct {
		d    dialect.Batcher
		ask  said
		want string
	}{
		"openai": {&openai.Dialect{}, said{byPath: map[string]string{
			"/batches/b1": `{"id":"b1","status":"completed","output_file_id":"file-out","error_file_id":"file-err"}`,
			"/files/file-out/content": `{"id":"batch_req_1","custom_id":"bp_a-2","response":{"status_code":200,"request_id":"r","body":{"id":"two"}},"error":null}` + "\n" + long +
				"\n\nno JSON\n[]\n" + `{"id":"batch_req_2","custom_id":"bp_a-1","response":{"status_code":200,"request_id":"r","body":{"id":"one"}},"error":null}`,
			"/files/file-err/content": `{"custom_id":"bp_a-3","response":{"status_code":429,"body":{"error":{"message":"m"}}},"error":null}` + "\n" +
				`{"custom_id":"bp_a-4","response":null,"error":{"code":"batch_expired","message":"m"}}` + "\n" + `{"custom_id":"bp_a-5","resp`,
		}}, `2:200:{"id":"two"} 1:200:{"id":"one"} 3:429:{"error":{"message":"m"}} 4:0: `},
		"openai without files": {&openai.Dialect{}, said{body: `{"id":"b1","status":"failed","output_file_id":null,"errors":{"data":[]}}`}, ""},
		"anthropic": {&anthropic.Dialect{}, said{body: `{"custom_id":"bp_a-2","result":{"type":"succeeded","message":{"id":"m"}}}` + "\n" +
			`{"custom_id":"bp_a-1","result":{"type":"errored","error":{"type":"error","error":{"type":"overloaded_error","message":"m"}}}}` + "\n" +
			`{"custom_id":"bp_a-3","result":{"type":"canceled"}}` + "\n" + `{"custom_id":"bp_a-4","result":{"type":"expired"}}` + "\n" + `{"custom_id":"other","result":{"type":"succeeded","message":5}}`},
			`2:200:{"id":"m"} 1:529:{"type":"error","error":{"type":"overloaded_error","message":"m"}} 3:0: 4:0: 0:0: `},
		"gemini": {&gemini.Dialect{}, said{body: `{"name":"batches/b1","done":true,"response":{"inlinedResponses":{"inlinedResponses":[` +
			`{"metadata":{"key":"bp_a-2"},"response":{"candidates":[]}},{"metadata":{"key":"bp_a-1"},"error":{"code":8,"message":"m"}},{"response":{}},5]}}}`},
			`2:200:{"candidates":[]} 1:429:{"error":{"code":8,"message":"m"}} 0:200:{} 0:0: `},
		"gemini failed": {&gemini.Dialect{}, said{body: `{"name":"batches/b1","done":true,"error":{"code":4}}`}, ""},
	} {
		c.ask.ep = ep
		got := ""
		err := c.d.BatchResults(c.ask, ep, aPart(), func(r *batch.Result) error {
			got += strconv.FormatInt(r.Line, 10) + ":" + strconv.Itoa(r.Status) + ":" + string(r.Body) + " "
			return nil
		})
		if err != nil || got != c.want {
			t.Errorf("%s: %v\n got %s\nwant %s", name, err, got, c.want)
		}
	}
}

// deletes is a said that notes what is deleted and cancelled.
type deletes struct {
	said
	did *[]string
}

func (d deletes) Do(call dialect.Call) (*dialect.Answer, error) {
	path, _, _ := strings.Cut(call.Path, "?")
	if call.Verb() == http.MethodDelete || strings.HasSuffix(path, "cancel") {
		*d.did = append(*d.did, call.Verb()+" "+path)
	}
	if strings.HasSuffix(path, "missing") {
		return nil, &fault.Error{Kind: fault.NotFound, Upstream: &fault.Upstream{Status: http.StatusNotFound}}
	}
	call.Path = path
	return d.said.Do(call)
}

// What each provider keeps of a batch is deleted, and nothing else, whatever it writes.
func TestClearBatch(t *testing.T) {
	ep := &catalog.Endpoint{ID: "ep", Provider: &catalog.Provider{Name: "P"}}
	const listed = `{"data":[{"id":"file-1","filename":"bp_b.jsonl"},{"id":"file-2","filename":"bp_a.jsonl"},{"id":"file-3","filename":"bp_a.jsonl.x"}],"has_more":false}`
	for name, c := range map[string]struct {
		d        dialect.Batcher
		upstream string
		answers  map[string]string
		want     string
		working  bool
	}{
		"openai": {&openai.Dialect{}, "b1", map[string]string{"/batches/b1": `{"status":"completed","input_file_id":"file-in","output_file_id":"file-out","error_file_id":"file-err"}`},
			"DELETE /files/file-out, DELETE /files/file-err, DELETE /files/file-in", false},
		"openai, one is gone": {&openai.Dialect{}, "b1", map[string]string{"/batches/b1": `{"status":"expired","input_file_id":"file-in","output_file_id":"file-missing","error_file_id":null}`},
			"DELETE /files/file-missing, DELETE /files/file-in", false},
		"openai, strange ids": {&openai.Dialect{}, "b1", map[string]string{"/batches/b1": `{"status":"failed","input_file_id":"../batches/b2","output_file_id":5,"error_file_id":""}`},
			"DELETE /files/..%2Fbatches%2Fb2", false},
		"openai, at work":           {&openai.Dialect{}, "b1", map[string]string{"/batches/b1": `{"status":"in_progress","input_file_id":"file-in"}`}, "POST /batches/b1/cancel", true},
		"openai, a file alone":      {&openai.Dialect{}, "", map[string]string{"/files": listed}, "DELETE /files/file-2", false},
		"openai, the batch is gone": {&openai.Dialect{}, "missing", map[string]string{"/files": listed}, "DELETE /files/file-2", false},
		"anthropic":                 {&anthropic.Dialect{}, "b1", map[string]string{"/batches/b1": `{"processing_status":"ended"}`}, "DELETE /v1/messages/batches/b1", false},
		"anthropic, at work":        {&anthropic.Dialect{}, "b1", map[string]string{"/batches/b1": `{"processing_status":"in_progress"}`}, "POST /v1/messages/batches/b1/cancel", true},
		"anthropic, gone":           {&anthropic.Dialect{}, "missing", nil, "", false},
		"anthropic, none":           {&anthropic.Dialect{}, "", nil, "", false},
		"gemini":                    {&gemini.Dialect{}, "batches/b1", map[string]string{"/batches/b1": `{"done":true}`}, "DELETE /batches/b1", false},
		"gemini, a file of answers": {&gemini.Dialect{}, "batches/b1", map[string]string{"/batches/b1": `{"done":true,"response":{"responsesFile":"files/batch-b1"},"metadata":{"output":{"responsesFile":"../models/x"}}}`},
			"DELETE /files/batch-b1, DELETE /batches/b1", false},
		"gemini, at work": {&gemini.Dialect{}, "batches/b1", map[string]string{"/batches/b1": `{"metadata":{"state":"BATCH_STATE_RUNNING"}}`}, "POST /batches/b1:cancel", true},
		"gemini, gone":    {&gemini.Dialect{}, "batches/missing", nil, "", false},
	} {
		p := aPart()
		p.Upstream = c.upstream
		var did []string
		err := c.d.ClearBatch(deletes{said{ep: ep, body: "{}", byPath: c.answers}, &did}, ep, p)
		if got := strings.Join(did, ", "); got != c.want || (err != nil) != c.working || errors.Is(err, batch.ErrWorking) != c.working {
			t.Errorf("%s: %v\n got %s\nwant %s", name, err, got, c.want)
		}
	}
}

// A part is absent only where the whole list was seen, whatever pages the provider makes.
func TestFindBatch(t *testing.T) {
	ep := &catalog.Endpoint{ID: "ep", Provider: &catalog.Provider{Name: "P"}}
	for name, c := range map[string]struct {
		d    dialect.Batcher
		body string
		want batch.Found
		fail bool
	}{
		"openai, found":                   {&openai.Dialect{}, `{"data":[{"id":"b0"},{"id":"b1","metadata":{"weir_part":"bp_a"}}],"has_more":true}`, batch.Found{Fate: batch.Adopted, ID: "b1"}, false},
		"openai, absent":                  {&openai.Dialect{}, `{"data":[{"id":"b0","metadata":{"weir_part":"bp_b"}}],"has_more":false}`, batch.Found{Fate: batch.Absent}, false},
		"openai, older ones follow":       {&openai.Dialect{}, `{"data":[{"id":"b0","created_at":1}],"has_more":true}`, batch.Found{Fate: batch.Absent}, false},
		"openai, an empty page":           {&openai.Dialect{}, `{"data":[],"has_more":true}`, batch.Found{}, false},
		"openai, the same page for ever":  {&openai.Dialect{}, `{"data":[{"id":"b0"}],"has_more":true}`, batch.Found{}, false},
		"openai, no object":               {&openai.Dialect{}, `[]`, batch.Found{}, true},
		"openai, a strange id":            {&openai.Dialect{}, `{"data":[{"id":"b 1","metadata":{"weir_part":"bp_a"}}]}`, batch.Found{Fate: batch.Adopted}, true},
		"anthropic, absent":               {&anthropic.Dialect{}, `{"data":[{"id":"b0","request_counts":{"succeeded":2},"processing_status":"ended"}],"has_more":false}`, batch.Found{Fate: batch.Absent}, false},
		"anthropic, it may be this one":   {&anthropic.Dialect{}, `{"data":[{"id":"b0","request_counts":{"processing":3},"processing_status":"in_progress"}],"has_more":false}`, batch.Found{}, false},
		"anthropic, older ones follow":    {&anthropic.Dialect{}, `{"data":[{"id":"b0","created_at":"1999-01-01T00:00:00Z"}],"has_more":true}`, batch.Found{Fate: batch.Absent}, false},
		"anthropic, an empty page":        {&anthropic.Dialect{}, `{"data":[],"has_more":true}`, batch.Found{}, false},
		"anthropic, same page for ever":   {&anthropic.Dialect{}, `{"data":[{"id":"b0"}],"has_more":true}`, batch.Found{}, false},
		"gemini, found":                   {&gemini.Dialect{}, `{"operations":[{"name":"batches/b1","metadata":{"displayName":"bp_a"}}],"nextPageToken":"x"}`, batch.Found{Fate: batch.Adopted, ID: "batches/b1"}, false},
		"gemini, absent":                  {&gemini.Dialect{}, `{"operations":[{"name":"batches/b1","metadata":{"displayName":"bp_b"}}]}`, batch.Found{Fate: batch.Absent}, false},
		"gemini, no operations":           {&gemini.Dialect{}, `{}`, batch.Found{Fate: batch.Absent}, false},
		"gemini, the same page for ever":  {&gemini.Dialect{}, `{"operations":[],"nextPageToken":"x"}`, batch.Found{}, false},
		"gemini, a name of another thing": {&gemini.Dialect{}, `{"operations":[{"name":"files/b1","metadata":{"displayName":"bp_a"}}]}`, batch.Found{Fate: batch.Adopted}, true},
	} {
		p := aPart()
		p.CreatedAt = time.Unix(1_700_000_000, 0)
		got, err := c.d.FindBatch(said{ep: ep, body: c.body}, ep, p)
		if got != c.want || (err != nil) != c.fail {
			t.Errorf("%s: %+v, %v; want %+v", name, got, err, c.want)
		}
	}
}

// Whatever a provider writes, results have lines of the part or none, a status of HTTP or none, and bodies that are JSON objects.
func FuzzBatchResults(f *testing.F) {
	for _, s := range []string{
		`{"custom_id":"bp_a-1","result":{"type":"succeeded","message":{}}}`, `{"custom_id":"bp_a-1","response":{"status_code":200,"body":{}}}`,
		`{"id":"b1","output_file_id":"f","response":{"inlinedResponses":{"inlinedResponses":[{"metadata":{"key":"bp_a-1"},"error":{"code":3}}]}}}`, "\n\n{", `{"custom_id":5,"result":[]}`,
	} {
		f.Add(s)
	}
	ep := &catalog.Endpoint{ID: "ep", Provider: &catalog.Provider{Name: "P"}}
	f.Fuzz(func(t *testing.T, body string) {
		for _, d := range []dialect.Batcher{&openai.Dialect{}, &anthropic.Dialect{}, &gemini.Dialect{}} {
			_ = d.BatchResults(said{ep: ep, body: body}, ep, aPart(), func(r *batch.Result) error {
				if r.Line < 0 || r.Status != 0 && (r.Status < 100 || r.Status > 599) {
					t.Errorf("%+v", r)
				}
				if r.Status == http.StatusOK && rawjson.KindOf(r.Body) != rawjson.Object {
					t.Errorf("%+v", r)
				}
				return nil
			})
		}
	})
}
