package app_test

import (
	"bytes"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"weir/internal/catalog"
)

// paidFor are requests that cost more than tokens: the member that causes it, and its name in the refusal.
var paidFor = []struct{ style, member, name string }{
	{"messages", `"tools":[{"type":"web_search_20250305","name":"web_search"}]`, "web_search"},
	{"messages", `"tools":[{"type":"web_fetch_20250910","name":"web_fetch"}]`, "web_fetch"},
	{"messages", `"tools":[{"type":"code_execution_20250825","name":"code_execution"}]`, "code_execution"},
	{"messages", `"tools":[{"type":"mcp_toolset","mcp_server_name":"x"}]`, "mcp"},
	{"messages", `"tools":[{"type":"advisor_20260301","name":"advisor"}]`, "a hosted tool"},
	{"messages", `"mcp_servers":[{"type":"url","url":"https://x.test","name":"x"}]`, "mcp"},
	{"messages", `"container":"container_1"`, "code_execution"},
	{"messages", `"speed":"fast"`, "speed"},
	{"messages", `"inference_geo":"us"`, "inference_geo"},
	{"messages", `"service_tier":"golden"`, "service_tier"},
	{"gemini", `"tools":[{"googleSearch":{}}]`, "web_search"},
	{"gemini", `"tools":[{"google_search_retrieval":{}}]`, "web_search"},
	{"gemini", `"tools":[{"urlContext":{}}]`, "web_fetch"},
	{"gemini", `"tools":[{"codeExecution":{}}]`, "code_execution"},
	{"gemini", `"tools":[{"googleMaps":{}}]`, "a hosted tool"},
	{"gemini", `"plugins":[{"id":"web"}]`, "web_search"},
	{"responses", `"tools":[{"type":"web_search"}]`, "web_search"},
	{"responses", `"tools":[{"type":"web_search_preview_2025_03_11"}]`, "web_search"},
	{"responses", `"tools":[{"type":"file_search","vector_store_ids":["v"]}]`, "file_search"},
	{"responses", `"tools":[{"type":"code_interpreter","container":{"type":"auto"}}]`, "code_execution"},
	{"responses", `"tools":[{"type":"code_interpreter","container":{"type":"auto","memory_limit":"64g"}}]`, "a hosted tool"},
	{"responses", `"tools":[{"type":"image_generation"}]`, "image_generation"},
	{"responses", `"tools":[{"type":"mcp","server_label":"x","server_url":"https://x.test"}]`, "mcp"},
	{"responses", `"tools":[{"type":"x_search"}]`, "a hosted tool"},
	{"responses", `"tools":[{"type":"shell","environment":{"type":"container_auto"}}]`, "code_execution"},
	{"responses", `"speed":"fast"`, "speed"},
	{"chat", `"web_search_options":{}`, "web_search"},
	{"chat", `"tools":[{"type":"code_interpreter"}]`, "code_execution"},
	{"chat", `"search_parameters":{"mode":"auto"}`, "web_search"},
	{"chat", `"enable_search":true`, "web_search"},
	{"chat", `"inference_geo":"eu"`, "inference_geo"},
	{"chat", `"plugins":[{"id":"web"}]`, "web_search"},
}

// ofStyle returns the path and body of a request of a style, with one more member.
func ofStyle(style, model, member string) (path, body string) {
	said := `"messages":[{"role":"user","content":"Over the weir"}]`
	switch style {
	case "messages":
		return "/v1/messages", fmt.Sprintf(`{"model":%q,"max_tokens":64,%s,%s}`, model, said, member)
	case "gemini":
		return "/v1beta/models/" + model + ":generateContent", fmt.Sprintf(`{"contents":[{"parts":[{"text":"Over the weir"}]}],%s}`, member)
	case "responses":
		return "/v1/responses", fmt.Sprintf(`{"model":%q,"input":"Over the weir","store":false,%s}`, model, member)
	}
	return "/v1/chat/completions", fmt.Sprintf(`{"model":%q,%s,%s}`, model, said, member)
}

// own is the model whose provider uses the style's wire.
var own = map[string]string{"messages": "anthropic/chat", "responses": "responses/chat", "chat": "openai/chat", "gemini": "gemini/chat"}

// unpriced removes the tool prices of the conformance catalog.
func unpriced(s *setup) {
	for i := range s.Offers {
		b := &s.Offers[i].Pricing.Base
		b.WebSearch, b.CodeExecution = catalog.Prices{}.WebSearch, catalog.Prices{}.CodeExecution
	}
}

// A request for something that a provider charges for, and that has no price here, reaches no provider. The refusal names it. The free
// values of such fields, and tools that run at the client, are accepted.
func TestUnpricedIsRefused(t *testing.T) {
	t.Parallel()
	c := startConformer(t, unpriced)
	a := c.newAccount(t)
	for _, p := range paidFor {
		path, body := ofStyle(p.style, own[p.style], p.member)
		got := a.send(t, http.MethodPost, path, []byte(body), nil)
		if got.status != http.StatusNotFound || !bytes.Contains(got.body, []byte("has a price for "+p.name)) || !bytes.Contains(got.body, []byte(`"unpriced"`)) && p.style != "messages" && p.style != "gemini" {
			t.Errorf("%s %s: %d %.400s", p.style, p.member, got.status, got.body)
		}
	}
	if asked := c.received("Over the weir"); len(asked) > 0 {
		t.Errorf("%d upstream requests, the first %s", len(asked), asked[0].body)
	}
	a.wantSpent(t, false)
	for _, p := range []struct{ style, member string }{
		{"messages", `"speed":"standard"`}, {"messages", `"inference_geo":"global"`}, {"messages", `"service_tier":"auto"`}, {"messages", `"service_tier":"standard_only"`}, {"messages", `"mcp_servers":[]`},
		{"messages", `"container":null`}, {"messages", `"tools":[{"type":"bash_20250124","name":"bash"}]`}, {"messages", `"tools":[{"type":"custom","name":"f","input_schema":{"type":"object"}}]`},
		{"responses", `"tools":[{"type":"custom","name":"f"}]`}, {"chat", `"enable_search":false`},
	} {
		path, body := ofStyle(p.style, own[p.style], p.member)
		if got := a.send(t, http.MethodPost, path, []byte(body), map[string]string{"Anthropic-Beta": "mcp-client-2025-11-20"}); got.status == http.StatusNotFound {
			t.Errorf("%s %s: %d %.400s", p.style, p.member, got.status, got.body)
		}
	}
}

// A service tier that no endpoint has is handled the same in every style: the endpoint serves, and is not asked for a tier that would cost
// more.
func TestMissingTier(t *testing.T) {
	t.Parallel()
	c := startConformer(t, unpriced)
	a := c.newAccount(t)
	for _, style := range []string{"messages", "responses", "chat", "gemini"} {
		for _, tier := range []string{"priority", "fast", "flex", "scale"} {
			path, body := ofStyle(style, own[style], fmt.Sprintf(`"service_tier":%q`, tier))
			body = strings.ReplaceAll(body, "Over the weir", style+" at "+tier)
			if got := a.send(t, http.MethodPost, path, []byte(body), nil); got.status != http.StatusOK {
				t.Errorf("%s, %s: %d %.400s", style, tier, got.status, got.body)
			}
			for _, asked := range c.received(style + " at " + tier) {
				if text := string(asked.body); strings.Contains(text, `"service_tier":"`) && !strings.Contains(text, `"service_tier":"standard_only"`) {
					t.Errorf("%s, %s: the provider was asked for %s", style, tier, text)
				}
			}
			if n := len(c.received(style + " at " + tier)); n != 1 {
				t.Errorf("%s, %s: %d upstream requests", style, tier, n)
			}
		}
	}
}

// A request skips an endpoint without a price for one that has it, and the explanation says so.
func TestPricedEndpointIsChosen(t *testing.T) {
	t.Parallel()
	c := startConformer(t, func(s *setup) {
		unpriced(s)
		for i := range s.Offers {
			if s.Offers[i].Model == "openai/echo" {
				o := s.Offers[i]
				o.Provider, o.Pricing.Base.WebSearch, o.Pricing.Base.Prompt = "works", price(t, "1"), price(t, "9")
				s.Offers = append(s.Offers, o)
				return
			}
		}
	})
	a := c.newAccount(t)
	_, body := ofStyle("chat", "openai/echo", `"web_search_options":{}`)
	got := a.send(t, http.MethodPost, "/v1/route/explain", []byte(body), nil)
	if got.status != http.StatusOK || !bytes.Contains(got.body, []byte(`"dropped_by":"unpriced"`)) || !bytes.Contains(got.body, []byte("web_search")) || !bytes.Contains(got.body, []byte(`"attempts":["works/openai/echo"]`)) {
		t.Errorf("%d %s", got.status, got.body)
	}
}

// An unknown beta is removed and named in a notice; known ones are sent unchanged.
func TestBetasUpstream(t *testing.T) {
	t.Parallel()
	c := startConformer(t)
	a := c.newAccount(t)
	path, body := ofStyle("messages", "anthropic/chat", `"metadata":{"user_id":"K-beta"}`)
	got := a.send(t, http.MethodPost, path, []byte(body), map[string]string{"Anthropic-Beta": "effort-2025-11-24,gold-2027-01-01,context-management-2025-06-27"})
	sent := c.received("K-beta")
	if got.status != http.StatusOK || len(sent) != 1 || sent[0].header.Get("Anthropic-Beta") != "effort-2025-11-24,context-management-2025-06-27" || got.header.Get("X-Left-Out-Betas") != "gold-2027-01-01" {
		t.Errorf("%d %v, sent %+v", got.status, got.header, sent)
	}
	if strings.Contains(string(got.body), "gold") {
		t.Errorf("%s", got.body)
	}
}
