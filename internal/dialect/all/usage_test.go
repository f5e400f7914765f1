package all_test

import (
	"fmt"
	"path/filepath"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/txtar"
	"go.yaml.in/yaml/v3"

	"weir/internal/catalog"
	"weir/internal/dialect"
	"weir/internal/dialect/all"
	"weir/internal/usage"
)

// answers are a whole answer and a stream of each wire, with {usage} in the place of the usage object, and {later} in that of a second one.
var answers = map[string]struct{ whole, stream string }{
	"openai": {
		`{"id":"c","object":"chat.completion","created":1,"model":"m","choices":[{"index":0,"message":{"role":"assistant","content":"some words"},"finish_reason":"stop"}],"usage":{usage}}`,
		`data: {"id":"c","object":"chat.completion.chunk","created":1,"model":"m","choices":[{"index":0,"delta":{"role":"assistant","content":"some words"},"finish_reason":null}]}

data: {"id":"c","object":"chat.completion.chunk","created":1,"model":"m","choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}

data: {"id":"c","object":"chat.completion.chunk","created":1,"model":"m","choices":[],"usage":{usage}}

data: {"id":"c","object":"chat.completion.chunk","created":1,"model":"m","choices":[],"usage":{later}}

data: [DONE]

`},
	"anthropic": {
		`{"id":"m","type":"message","role":"assistant","model":"m","content":[{"type":"text","text":"some words"}],"stop_reason":"end_turn","stop_sequence":null,"usage":{usage}}`,
		`data: {"type":"message_start","message":{"id":"m","type":"message","role":"assistant","model":"m","content":[],"stop_reason":null,"usage":{usage}}}

data: {"type":"content_block_start","index":0,"content_block":{"type":"text","text":""}}

data: {"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"some words"}}

data: {"type":"content_block_stop","index":0}

data: {"type":"message_delta","delta":{"stop_reason":"end_turn"},"usage":{later}}

data: {"type":"message_stop"}

`},
	"responses": {
		`{"id":"r","object":"response","created_at":1,"status":"completed","model":"m","output":[{"type":"message","id":"i","role":"assistant","status":"completed","content":[{"type":"output_text","text":"some words","annotations":[]}]}],"usage":{usage}}`,
		`data: {"type":"response.output_item.added","output_index":0,"item":{"type":"message","id":"i","role":"assistant","status":"in_progress","content":[]}}

data: {"type":"response.content_part.added","item_id":"i","output_index":0,"content_index":0,"part":{"type":"output_text","text":"","annotations":[]}}

data: {"type":"response.output_text.delta","item_id":"i","output_index":0,"content_index":0,"delta":"some words"}

data: {"type":"response.completed","response":{"id":"r","object":"response","created_at":1,"status":"completed","model":"m","output":[{"type":"message","id":"i","role":"assistant","status":"completed","content":[{"type":"output_text","text":"some words","annotations":[]}]}],"usage":{usage}}}

`},
	"gemini": {
		`{"candidates":[{"content":{"role":"model","parts":[{"text":"some words"}]},"finishReason":"STOP","index":0}],"usageMetadata":{usage},"modelVersion":"m","responseId":"r"}`,
		`data: {"candidates":[{"content":{"role":"model","parts":[{"text":"some words"}]},"index":0}],"modelVersion":"m","responseId":"r"}

data: {"candidates":[{"content":{"role":"model","parts":[{"text":""}]},"finishReason":"STOP","index":0}],"usageMetadata":{usage},"modelVersion":"m","responseId":"r"}

`},
	"bedrock": {
		`{"metrics":{"latencyMs":1},"output":{"message":{"role":"assistant","content":[{"text":"some words"}]}},"stopReason":"end_turn","usage":{usage}}`, ""},
	"gigachat": {
		`{"choices":[{"message":{"role":"assistant","content":"some words"},"index":0,"finish_reason":"stop"}],"created":1,"model":"GigaChat","object":"chat.completion","usage":{usage}}`,
		`data: {"choices":[{"delta":{"content":"some words","role":"assistant"},"index":0}],"created":1,"model":"GigaChat","object":"chat.completion"}

data: {"choices":[{"delta":{"content":""},"index":0,"finish_reason":"stop"}],"created":1,"model":"GigaChat","object":"chat.completion","usage":{usage}}

data: [DONE]

`},
}

// leastReports is how many usage objects the corpus has at least: with those of openai's own, which have prices, too, more than two hundred.
const leastReports = 140

// TestReportsOfVendors reads usage objects as vendors send them, in testdata/usage: the counts must be those that the vendor bills. Each file begins with
// the address of the vendor's page. An entry has lines "about", "wire", "usage", "later" (a second object of the stream), "quirks" and "want".
func TestReportsOfVendors(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("testdata/usage/*.txtar")
	if err != nil {
		t.Fatal(err)
	}
	dialects := all.Dialects()
	reports := 0
	for _, file := range files {
		a, err := txtar.ParseFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if !strings.Contains(string(a.Comment), "https://") {
			t.Errorf("%s does not name the vendor's page", file)
		}
		reports += len(a.Files)
		for _, f := range a.Files {
			t.Run(strings.TrimSuffix(filepath.Base(file), ".txtar")+"/"+f.Name, func(t *testing.T) {
				t.Parallel()
				x := map[string]string{}
				for _, line := range strings.Split(strings.TrimSpace(string(f.Data)), "\n") {
					name, value, _ := strings.Cut(line, ": ")
					x[name] = value
				}
				if x["about"] == "" || x["usage"] == "" || x["want"] == "" {
					t.Fatal("about, usage or want is missing")
				}
				var quirks catalog.Quirks
				if err := yaml.Unmarshal([]byte("{"+x["quirks"]+"}"), &quirks); err != nil {
					t.Fatal(err)
				}
				forms, ok := answers[x["wire"]]
				if !ok {
					t.Fatalf("wire %q", x["wire"])
				}
				for form, body := range map[string]string{"whole": forms.whole, "stream": forms.stream} {
					if body == "" || form == "whole" && x["later"] != "" {
						continue
					}
					later := x["later"]
					if later == "" {
						later = x["usage"]
					}
					body = strings.NewReplacer("{usage}", x["usage"], "{later}", later).Replace(body)
					if got := reported(t, dialects[x["wire"]], quirks, body); got != x["want"] {
						t.Errorf("%s:\n got %s\nwant %s", form, got, x["want"])
					}
				}
			})
		}
	}
	if reports < leastReports {
		t.Errorf("%d reports, the corpus has at least %d", reports, leastReports)
	}
}

// reported is what a dialect reads of an answer: the counts above zero, in the order of usage.Usage.
func reported(t *testing.T, d dialect.Dialect, quirks catalog.Quirks, body string) string {
	t.Helper()
	a := &dialect.Answer{
		Endpoint: &catalog.Endpoint{ID: "acme/m", Provider: &catalog.Provider{ID: "acme", Name: "Acme", Quirks: quirks}}, Length: -1,
		Limits: dialect.Limits{Whole: 1 << 20, Stream: 1 << 20, Line: 64 << 10}, Body: dialect.NewBody(strings.NewReader(body)),
	}
	var u usage.Usage
	for ev, err := range d.(dialect.Texter).Events(a) {
		if err != nil {
			t.Fatal(err)
		}
		if ev.Usage != nil {
			u.Follow(ev.Usage, ev.Replaces)
		}
	}
	counts := u.Counts()
	var got []string
	v := reflect.ValueOf(&u).Elem()
	for i := range v.NumField() {
		c, ok := v.Field(i).Addr().Interface().(*usage.Count)
		if ok && slices.Contains(counts[:], c) && c.N != 0 {
			got = append(got, v.Type().Field(i).Name+" "+strconv.FormatInt(c.N, 10))
		}
	}
	if u.UpstreamCost != "" {
		got = append(got, "UpstreamCost "+u.UpstreamCost)
	}
	if u.Tier != "" {
		got = append(got, fmt.Sprint("Tier ", u.Tier))
	}
	return strings.Join(got, ", ")
}
