package e2e_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"math/big"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"regexp"
	"strings"
	"testing"
)

const builtinBatchConfig = `
server: {listen: %[1]q, admin_listen: "off", shutdown_delay: 0s}
data_dir: %[2]q
builtin: [openai, anthropic, google]
log: {access: false}
batch: {min_free_bytes: 1}
providers:
  - {id: openai, base_url: %[3]s/v1, api_key: sk-oa}
  - {id: anthropic, dialect: anthropic, base_url: %[3]s/anthropic, api_key: sk-an}
  - {id: google, dialect: gemini, base_url: %[3]s/v1beta, api_key: AIza-ge}
`

// A batch of a model in the built-in catalog goes to the provider's batches, and each request costs half of what it costs by itself.
func TestBuiltInBatchCostsHalf(t *testing.T) {
	t.Parallel()
	s := startStudio(t)
	n := serveNode(t, builtinBatchConfig, renamed(t, s.sim))
	for i, model := range []string{"openai/gpt-4.1-mini", "openai/gpt-5.4-mini", "anthropic/claude-sonnet-4.6", "anthropic/claude-opus-4.8", "google/gemini-2.5-pro", "google/gemini-3.5-flash"} {
		body := `{"model":"` + model + `","max_tokens":200,"messages":[{"role":"user","content":"Count to ` + fmt.Sprint(i+3) + `."}]}`
		status, got, ok := n.call("POST", "/v1/chat/completions", body)
		if !ok || status != http.StatusOK {
			t.Fatalf("%s: %d: %s", model, status, got)
		}
		alone := usageOf(t, got)
		file := n.upload(`{"custom_id":"a","method":"POST","url":"/v1/chat/completions","body":` + body + "}\n")
		b := n.batch("POST", "/v1/batches", fmt.Sprintf(`{"input_file_id":%q,"endpoint":"/v1/chat/completions","completion_window":"24h"}`, file))
		n.wait("the end of the batch", func() bool { b = n.batch("GET", "/v1/batches/"+b.ID, ""); return b.Status == "completed" })
		if made, _ := s.batches(t); made != i+1 {
			t.Errorf("%s: the provider made %d batches, want %d", model, made, i+1)
		}
		_, content, _ := n.call("GET", "/v1/files/"+b.Output+"/content", "")
		var line struct {
			Response struct{ Body json.RawMessage }
		}
		if err := json.Unmarshal(content, &line); err != nil {
			t.Fatalf("%s: %v: %s", model, err, content)
		}
		batched := usageOf(t, line.Response.Body)
		if alone.Prompt != batched.Prompt || alone.Completion != batched.Completion || strings.Contains(string(alone.Cost), "e") {
			t.Fatalf("%s: %+v by itself, %+v in a batch", model, alone, batched)
		}
		whole, _ := new(big.Rat).SetString(alone.Cost.String())
		half, _ := new(big.Rat).SetString(batched.Cost.String())
		if whole == nil || half == nil || whole.Sign() == 0 || whole.Cmp(half.Mul(half, big.NewRat(2, 1))) != 0 {
			t.Errorf("%s: %s by itself, %s in a batch", model, alone.Cost, batched.Cost)
		}
	}
}

// renamed is the address of the simulator with the names of real models: all are its model echo.
func renamed(t *testing.T, to string) string {
	t.Helper()
	target, err := url.Parse(to)
	if err != nil {
		t.Fatal(err)
	}
	names := regexp.MustCompile(`gpt-[0-9][-.0-9a-z]*|claude-(opus|sonnet)-[-0-9]*|gemini-[0-9][-.0-9a-z]*`)
	proxy := &httputil.ReverseProxy{Rewrite: func(r *httputil.ProxyRequest) {
		r.SetURL(target)
		r.Out.URL.Path, r.Out.URL.RawPath = names.ReplaceAllString(r.In.URL.Path, "echo"), ""
		if body, err := io.ReadAll(r.In.Body); err == nil {
			body = names.ReplaceAll(body, []byte("echo"))
			r.Out.Body, r.Out.ContentLength = io.NopCloser(bytes.NewReader(body)), int64(len(body))
		}
	}}
	server := httptest.NewServer(proxy)
	t.Cleanup(server.Close)
	return server.URL
}

type usage struct {
	Prompt     int64 `json:"prompt_tokens"`
	Completion int64 `json:"completion_tokens"`
	Cost       json.Number
}

func usageOf(t *testing.T, answer []byte) usage {
	t.Helper()
	var v struct{ Usage usage }
	if err := json.Unmarshal(answer, &v); err != nil {
		t.Fatalf("%v: %s", err, answer)
	}
	return v.Usage
}
