package app_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"weir/internal/app/apptest"
)

func priceHosted(t *testing.T) func(*apptest.Setup) {
	return func(s *apptest.Setup) {
		for i := range s.Offers {
			b := &s.Offers[i].Pricing.Base
			for name, p := range apptest.HostedPrices {
				*b.Field(name) = apptest.Price(t, p)
			}
		}
	}
}

// A provider runs each of its tools three times. Each call is charged, whole and streamed, also if the answer breaks off after them. Tools
// of the client are not charged.
func TestHostedToolsAreCharged(t *testing.T) {
	t.Parallel()
	c := apptest.StartConformer(t, priceHosted(t))
	for _, x := range []struct {
		name, style, model, members string
		want                        map[string]int64
		beyond                      string // may be missing if the answer breaks off
	}{
		{name: "messages", style: "messages", model: "anthropic/chat", members: `"mcp_servers":[{"type":"url","url":"https://x.test","name":"x"}],"tools":[{"type":"web_search_20250305","name":"web_search"},{"type":"web_fetch_20250910","name":"web_fetch"},{"type":"code_execution_20250825","name":"code_execution"},{"type":"mcp_toolset","mcp_server_name":"x"}]`,
			want: map[string]int64{"web_search": 3, "web_fetch": 3, "code_execution": 1, "mcp": 3}},
		{name: "responses", style: "responses", model: "responses/chat", members: `"tools":[{"type":"web_search"},{"type":"file_search","vector_store_ids":["v"]},{"type":"code_interpreter","container":{"type":"auto"}},{"type":"mcp","server_label":"x","server_url":"https://x.test"}]`,
			want: map[string]int64{"web_search": 3, "file_search": 3, "code_execution": 1, "mcp": 3}},
		{name: "messages to responses", style: "messages", model: "responses/chat", members: `"tools":[{"type":"web_search_20250305","name":"web_search"}]`, want: map[string]int64{"web_search": 3}},
		{name: "messages to gemini", style: "messages", model: "gemini/chat", members: `"tools":[{"type":"web_search_20250305","name":"web_search"}]`, want: map[string]int64{"web_search": 3}, beyond: "web_search"},
		{name: "responses to gemini", style: "responses", model: "gemini/chat", members: `"tools":[{"type":"web_search"}]`, want: map[string]int64{"web_search": 3}, beyond: "web_search"},
		{name: "responses to anthropic", style: "responses", model: "anthropic/chat", members: `"tools":[{"type":"web_search"}]`, want: map[string]int64{"web_search": 3}},
		{name: "chat to anthropic", style: "chat", model: "anthropic/chat", members: `"web_search_options":{}`, want: map[string]int64{"web_search": 3}},
		{name: "chat to gemini", style: "chat", model: "gemini/chat", members: `"web_search_options":{}`, want: map[string]int64{"web_search": 3}, beyond: "web_search"},
		{name: "gemini", style: "gemini", model: "gemini/chat", members: `"tools":[{"googleSearch":{}}]`, want: map[string]int64{"web_search": 3}, beyond: "web_search"},
		{name: "gemini to anthropic", style: "gemini", model: "anthropic/chat", members: `"tools":[{"googleSearch":{}}]`, want: map[string]int64{"web_search": 3}},
		{name: "client tools", style: "responses", model: "responses/chat", members: `"tools":[{"type":"local_shell"},{"type":"apply_patch"},{"type":"computer_use_preview","environment":"linux","display_width":8,"display_height":8}]`, want: map[string]int64{}},
	} {
		for _, how := range []struct {
			name, mark string
			stream     bool
		}{{"whole", "", false}, {"stream", "", true}, {"usage missing", " usage=missing", true}, {"usage below zero", " usage=negative", false}, {"breaks off", " fault=u6 after=60", true}} {
			t.Run(x.name+"/"+how.name, func(t *testing.T) {
				t.Parallel()
				a := c.NewAccount(t)
				path, body := apptest.OfStyle(x.style, x.model, x.members)
				body = strings.Replace(body, "Over the weir", "Over the weir [[sim uses=3 tokens=100"+how.mark+"]]", 1)
				if x.style != "gemini" {
					body = fmt.Sprintf(`%s,"stream":%t}`, strings.TrimSuffix(body, "}"), how.stream)
				} else if how.stream {
					path = apptest.GeminiStyle{}.Path(x.model, true)
				}
				got := a.Send(t, http.MethodPost, path, []byte(body), map[string]string{"Anthropic-Beta": "mcp-client-2025-11-20"})
				if got.Status != http.StatusOK {
					t.Fatalf("%d %s", got.Status, got.Body)
				}
				is := a.HostedParts(t, got.Header.Get("X-Generation-Id"))
				want := map[string]int64{}
				for name, n := range x.want {
					if how.name != "breaks off" || name != x.beyond {
						want[name] = n
					}
				}
				if fmt.Sprint(is) != fmt.Sprint(want) {
					t.Errorf("charged %v, want %v: %.600s", is, want, got.Body)
				}
				if spent := apptest.Parse(t, a.Credits(t).TotalUsage); spent <= 0 {
					t.Errorf("%s is spent", spent)
				}
			})
		}
	}
}

// clientTools are tools that model vendors define and clients run: only their tokens are charged.
var clientTools = []struct{ style, tool string }{
	{"messages", `{"type":"bash_20250124","name":"bash"}`},
	{"messages", `{"type":"text_editor_20250728","name":"str_replace_based_edit_tool"}`},
	{"messages", `{"type":"text_editor_20250124","name":"str_replace_editor"}`},
	{"messages", `{"type":"computer_20250124","name":"computer","display_width_px":8,"display_height_px":8}`},
	{"messages", `{"type":"computer_20251124","name":"computer","display_width_px":8,"display_height_px":8}`},
	{"messages", `{"type":"memory_20250818","name":"memory"}`},
	{"messages", `{"type":"tool_search_tool_regex_20251119","name":"tool_search_tool_regex"}`},
	{"messages", `{"type":"tool_search_tool_bm25_20251119","name":"tool_search_tool_bm25"}`},
	{"messages", `{"type":"custom","name":"f","input_schema":{"type":"object"}}`},
	{"responses", `{"type":"computer_use_preview","environment":"linux","display_width":8,"display_height":8}`},
	{"responses", `{"type":"computer_use_preview_2025_03_11","environment":"linux","display_width":8,"display_height":8}`},
	{"responses", `{"type":"computer"}`},
	{"responses", `{"type":"local_shell"}`},
	{"responses", `{"type":"shell","environment":{"type":"local"}}`},
	{"responses", `{"type":"apply_patch"}`},
	{"responses", `{"type":"tool_search"}`},
	{"responses", `{"type":"custom","name":"f"}`},
	{"responses", `{"type":"namespace","name":"n","description":"d","tools":[{"type":"function","name":"f","parameters":{"type":"object"}}]}`},
}

// Tools of the client need no price.
func TestClientToolsAreNotRefused(t *testing.T) {
	t.Parallel()
	c := apptest.StartConformer(t, apptest.Unpriced)
	a := c.NewAccount(t)
	for _, x := range clientTools {
		path, body := apptest.OfStyle(x.style, apptest.Own[x.style], `"tools":[`+x.tool+`]`)
		got := a.Send(t, http.MethodPost, path, []byte(body), nil)
		if bytes.Contains(got.Body, []byte("has a price for")) || got.Status == http.StatusNotFound {
			t.Errorf("%s %s: %d %.400s", x.style, x.tool, got.Status, got.Body)
		}
	}
}

// A provider's tool that draws images is billed by tokens of another model, which no report contains. So it has no price and is refused by
// name, also in a request with other tools that all have prices.
func TestDrawingToolIsRefused(t *testing.T) {
	t.Parallel()
	c := apptest.StartConformer(t, priceHosted(t))
	a := c.NewAccount(t)
	for _, tool := range []string{`{"type":"image_generation"}`, `{"type":"image_generation","size":"1024x1024","quality":"low"}`, `{"type":"web_search"},{"type":"image_generation"}`} {
		for _, stream := range []string{"true", "false"} {
			path, body := apptest.OfStyle("responses", apptest.Own["responses"], `"stream":`+stream+`,"tools":[`+tool+`]`)
			got := a.Send(t, http.MethodPost, path, []byte(body), nil)
			var e struct {
				Error struct{ Message string }
			}
			if err := json.Unmarshal(got.Body, &e); err != nil || got.Status != http.StatusNotFound || !strings.Contains(e.Error.Message, "has a price for image_generation") {
				t.Errorf("%s: %d, %v: %.600s", tool, got.Status, err, got.Body)
			}
		}
	}
	if asked := c.Received("Over the weir"); len(asked) > 0 {
		t.Errorf("%d upstream requests", len(asked))
	}
	a.WantSpent(t, false)
}
