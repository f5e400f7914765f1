package openai_test

import (
	"bytes"
	"flag"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/txtar"
	"go.yaml.in/yaml/v3"

	"weir/internal/catalog"
	"weir/internal/completion"
	"weir/internal/dialect"
	"weir/internal/dialect/openai"
	"weir/internal/rawjson"
	"weir/internal/upstream/upstreamtest"
)

var update = flag.Bool("update", false, "write what is got into the golden files")

func endpoint(t testing.TB, quirks []byte) *catalog.Endpoint {
	t.Helper()
	p := &catalog.Provider{ID: "acme", Name: "Acme", Dialect: "openai", BaseURL: "http://acme.test/v1", Key: "acme-secret-key"}
	ep := &catalog.Endpoint{ID: "acme/m", Provider: p, UpstreamID: "acme-large", Params: catalog.AllParams}
	if len(quirks) == 0 {
		return ep
	}
	var more struct {
		catalog.Quirks `yaml:",inline"`
		Provider       string   `yaml:"provider"`
		Without        []string `yaml:"without"`
		Tier           string   `yaml:"tier"`
		MaxCompletion  int64    `yaml:"max_completion"`
	}
	dec := yaml.NewDecoder(bytes.NewReader(quirks))
	dec.KnownFields(true)
	if err := dec.Decode(&more); err != nil {
		t.Fatal(err)
	}
	p.Quirks, ep.Tier, ep.MaxCompletion = more.Quirks, more.Tier, more.MaxCompletion
	if more.Provider != "" {
		p.ID = more.Provider
	}
	for _, name := range more.Without {
		ep.Params &^= catalog.ParamNamed(name)
	}
	return ep
}

// request decodes as much of a body as the dialect looks at.
func request(t testing.TB, body []byte) *completion.Request {
	t.Helper()
	req := &completion.Request{Body: body, N: 1}
	for m := rawjson.MembersOf(body); m.Next(); {
		req.Members = append(req.Members, completion.Member{Name: string(m.Name), Start: m.Start, End: m.End, Value: m.At})
		switch string(m.Name) {
		case "stream":
			req.Stream, _ = rawjson.Bool(m.Value)
		case "max_tokens", "max_completion_tokens":
			if n, ok := rawjson.Int(m.Value); ok && (req.MaxTokens == 0 || n < req.MaxTokens) {
				req.MaxTokens = n
			}
		case "reasoning_effort":
			req.Reasoning.Set, req.Reasoning.Effort = true, rawjson.Text(m.Value)
		case "reasoning":
			req.Reasoning.Set = true
			req.Reasoning.Effort = rawjson.TextAt(m.Value, "effort")
			req.Reasoning.MaxTokens, _ = rawjson.Int(rawjson.Find(m.Value, "max_tokens"))
			req.Reasoning.Enabled, _ = rawjson.Bool(rawjson.Find(m.Value, "enabled"))
			enabled, ok := rawjson.Bool(rawjson.Find(m.Value, "enabled"))
			req.Reasoning.Disabled = ok && !enabled
		case "messages":
			req.HasRoles |= roles(m.Value)
		case "tools":
			if bytes.Contains(m.Value, []byte(`"function"`)) && !bytes.Contains(m.Value, []byte(`"parameters"`)) || bytes.Contains(m.Value, []byte("bare")) {
				req.HasRoles |= completion.HasBareFunction
			}
		}
	}
	return req
}

func roles(messages []byte) (has completion.Roles) {
	for word, bit := range map[string]completion.Roles{
		`"developer"`: completion.HasDeveloper, `"function_call"`: completion.HasFunctionRole, `"reasoning`: completion.HasReasoning,
		`"tool", "tool_call_id": "c1", "content": [`: completion.HasToolParts, `"cache_control"`: completion.HasCacheControl,
		`"prompt_cache_breakpoint"`: completion.HasCacheControl, `"thought_signature"`: completion.HasThoughtSignature,
		`"input_video"`: completion.HasOldVideo, `: null`: completion.HasNulls, `"images"`: completion.HasGatewayFields, `"index"`: completion.HasGatewayFields,
		`"parsed`: completion.HasGatewayFields,
	} {
		if bytes.Contains(messages, []byte(word)) {
			has |= bit
		}
	}
	return has
}

func section(a *txtar.Archive, name string) []byte {
	for _, f := range a.Files {
		if f.Name == name {
			return f.Data
		}
	}
	return nil
}

// golden runs check over the txtar files below dir; check returns what was got for the section named want.
func golden(t *testing.T, dir string, check func(t *testing.T, a *txtar.Archive) string) {
	files, err := filepath.Glob(filepath.Join("testdata", dir, "*.txtar"))
	if err != nil || len(files) == 0 {
		t.Fatal("no golden files", err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txtar"), func(t *testing.T) {
			t.Parallel()
			a, err := txtar.ParseFile(file)
			if err != nil {
				t.Fatal(err)
			}
			if s := strings.TrimSpace(string(a.Comment)); s == "" || !strings.HasSuffix(s, ".") {
				t.Error("the file does not begin with a sentence")
			}
			got, want := check(t, a), string(section(a, "want"))
			if *update && got != want {
				for i := range a.Files {
					if a.Files[i].Name == "want" {
						a.Files[i].Data = []byte(got)
					}
				}
				if err := os.WriteFile(file, txtar.Format(a), 0o644); err != nil {
					t.Fatal(err)
				}
				return
			}
			if got != want {
				t.Errorf("got\n%s\nwant\n%s", got, want)
			}
		})
	}
}

var madeUpID = regexp.MustCompile(`call_[0-9A-Za-z]{24}\b`)

func TestAnswers(t *testing.T) {
	t.Parallel()
	golden(t, "answer", func(t *testing.T, a *txtar.Archive) string {
		ep := endpoint(t, section(a, "quirks"))
		var body []byte
		if body = section(a, "upstream.sse"); body == nil {
			body = section(a, "upstream.json")
		}
		body = bytes.TrimSuffix(body, []byte("\n"))
		if status := section(a, "status"); status != nil {
			var code int
			if err := yaml.Unmarshal(status, &code); err != nil {
				t.Fatal(err)
			}
			f := new(openai.Dialect).Failure(ep, code, http.Header{}, body)
			return upstreamtest.DumpFault(f) + "\n"
		}
		got := upstreamtest.DumpAll(decode(ep, body))
		return madeUpID.ReplaceAllString(got, "call_MADE-UP")
	})
}

func TestRequests(t *testing.T) {
	t.Parallel()
	golden(t, "request", func(t *testing.T, a *txtar.Archive) string {
		body := bytes.TrimSpace(section(a, "request.json"))
		if err := rawjson.Check(body, rawjson.Defaults); err != nil {
			t.Fatal(err)
		}
		req := request(t, body).As(catalog.Variant(bytes.TrimSpace(section(a, "variant"))))
		before := bytes.Clone(body)
		call, err := new(openai.Dialect).Request(endpoint(t, section(a, "quirks")), req)
		if err != nil {
			return upstreamtest.DumpFault(err) + "\n"
		}
		if !bytes.Equal(before, body) {
			t.Error("the client's body was changed")
		}
		if err := rawjson.Check(call.Body, rawjson.Defaults); err != nil {
			t.Errorf("%v: %s", err, call.Body)
		}
		return string(call.Body) + "\n"
	})
}

func TestHeaders(t *testing.T) {
	t.Parallel()
	golden(t, "header", func(t *testing.T, a *txtar.Archive) string {
		var got bytes.Buffer
		if err := new(openai.Dialect).Header(endpoint(t, section(a, "quirks")).Provider).Write(&got); err != nil {
			t.Fatal(err)
		}
		return strings.ReplaceAll(got.String(), "\r\n", "\n")
	})
}

func answer(ep *catalog.Endpoint, body *dialect.Body) *dialect.Answer {
	return &dialect.Answer{Endpoint: ep, Request: &completion.Request{}, Length: -1, Body: body,
		Limits: dialect.Limits{Whole: 16 << 20, Stream: 256 << 20, Line: 4 << 20}}
}
