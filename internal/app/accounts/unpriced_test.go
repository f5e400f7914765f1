package accounts_test

import (
	"bytes"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"weir/internal/app/apptest"
)

// paidFor are requests that cost more than tokens: the member that causes it, and its name in the refusal.
var paidFor = []struct{ style, member, name string }{
	{"messages", `"tools":[{"type":"web_search_20250305","name":"web_search"}]`, "web_search"},
	{"messages", `"tools":[{"type":"web_fetch_20250910","name":"web_fetch"}]`, "web_fetch"},
	{"messages", `"tools":[{"type":"code_execution_20250825","name":"code_execution"}]`, "code_execution"},
	{"messages", `"tools":[{"type":"mcp_toolset","mcp_server_name":"x"}]`, "mcp"},
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

// A request for something that a provider charges for, and that has no price here, reaches no provider. The refusal names it. The free
// values of such fields, and tools that run at the client, are accepted.
func TestUnpricedIsRefused(t *testing.T) {
	t.Parallel()
	c := apptest.StartConformer(t, apptest.Unpriced)
	a := c.NewAccount(t)
	for _, p := range paidFor {
		path, body := apptest.OfStyle(p.style, apptest.Own[p.style], p.member)
		got := a.Send(t, http.MethodPost, path, []byte(body), nil)
		if got.Status != http.StatusNotFound || !bytes.Contains(got.Body, []byte("has a price for "+p.name)) || !bytes.Contains(got.Body, []byte(`"unpriced"`)) && p.style != "messages" && p.style != "gemini" {
			t.Errorf("%s %s: %d %.400s", p.style, p.member, got.Status, got.Body)
		}
	}
	if asked := c.Received("Over the weir"); len(asked) > 0 {
		t.Errorf("%d upstream requests, the first %s", len(asked), asked[0].Body)
	}
	a.WantSpent(t, false)
	for _, p := range []struct{ style, member string }{
		{"messages", `"speed":"standard"`}, {"messages", `"inference_geo":"global"`}, {"messages", `"service_tier":"auto"`}, {"messages", `"service_tier":"standard_only"`}, {"messages", `"mcp_servers":[]`},
		{"messages", `"container":null`}, {"messages", `"tools":[{"type":"bash_20250124","name":"bash"}]`}, {"messages", `"tools":[{"type":"custom","name":"f","input_schema":{"type":"object"}}]`},
		{"responses", `"tools":[{"type":"custom","name":"f"}]`}, {"chat", `"enable_search":false`},
	} {
		path, body := apptest.OfStyle(p.style, apptest.Own[p.style], p.member)
		if got := a.Send(t, http.MethodPost, path, []byte(body), map[string]string{"Anthropic-Beta": "mcp-client-2025-11-20"}); got.Status == http.StatusNotFound {
			t.Errorf("%s %s: %d %.400s", p.style, p.member, got.Status, got.Body)
		}
	}
}

// A service tier that no endpoint has is handled the same in every style: the endpoint serves, and is not asked for a tier that would cost
// more.
func TestMissingTier(t *testing.T) {
	t.Parallel()
	c := apptest.StartConformer(t, apptest.Unpriced)
	a := c.NewAccount(t)
	for _, style := range []string{"messages", "responses", "chat", "gemini"} {
		for _, tier := range []string{"priority", "fast", "flex", "scale"} {
			path, body := apptest.OfStyle(style, apptest.Own[style], fmt.Sprintf(`"service_tier":%q`, tier))
			body = strings.ReplaceAll(body, "Over the weir", style+" at "+tier)
			if got := a.Send(t, http.MethodPost, path, []byte(body), nil); got.Status != http.StatusOK {
				t.Errorf("%s, %s: %d %.400s", style, tier, got.Status, got.Body)
			}
			for _, asked := range c.Received(style + " at " + tier) {
				if text := string(asked.Body); strings.Contains(text, `"service_tier":"`) && !strings.Contains(text, `"service_tier":"standard_only"`) {
					t.Errorf("%s, %s: the provider was asked for %s", style, tier, text)
				}
			}
			if n := len(c.Received(style + " at " + tier)); n != 1 {
				t.Errorf("%s, %s: %d upstream requests", style, tier, n)
			}
		}
	}
}

// A request skips an endpoint without a price for one that has it, and the explanation says so.
func TestPricedEndpointIsChosen(t *testing.T) {
	t.Parallel()
	c := apptest.StartConformer(t, func(s *apptest.Setup) {
		apptest.Unpriced(s)
		for i := range s.Offers {
			if s.Offers[i].Model == "openai/echo" {
				o := s.Offers[i]
				o.Provider, o.Pricing.Base.WebSearch, o.Pricing.Base.Prompt = "works", apptest.Price(t, "1"), apptest.Price(t, "9")
				s.Offers = append(s.Offers, o)
				return
			}
		}
	})
	a := c.NewAccount(t)
	_, body := apptest.OfStyle("chat", "openai/echo", `"web_search_options":{}`)
	got := a.Send(t, http.MethodPost, "/v1/route/explain", []byte(body), nil)
	if got.Status != http.StatusOK || !bytes.Contains(got.Body, []byte(`"dropped_by":"unpriced"`)) || !bytes.Contains(got.Body, []byte("web_search")) || !bytes.Contains(got.Body, []byte(`"attempts":["works/openai/echo"]`)) {
		t.Errorf("%d %s", got.Status, got.Body)
	}
}

// An unknown beta is removed and named in a notice; known ones are sent unchanged.
func TestBetasUpstream(t *testing.T) {
	t.Parallel()
	c := apptest.StartConformer(t)
	a := c.NewAccount(t)
	path, body := apptest.OfStyle("messages", "anthropic/chat", `"metadata":{"user_id":"K-beta"}`)
	got := a.Send(t, http.MethodPost, path, []byte(body), map[string]string{"Anthropic-Beta": "effort-2025-11-24,gold-2027-01-01,context-management-2025-06-27"})
	sent := c.Received("K-beta")
	if got.Status != http.StatusOK || len(sent) != 1 || sent[0].Header.Get("Anthropic-Beta") != "effort-2025-11-24,context-management-2025-06-27" || got.Header.Get("X-Left-Out-Betas") != "gold-2027-01-01" {
		t.Errorf("%d %v, sent %+v", got.Status, got.Header, sent)
	}
	if strings.Contains(string(got.Body), "gold") {
		t.Errorf("%s", got.Body)
	}
}
