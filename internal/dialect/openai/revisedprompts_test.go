package openai_test

import (
	"strings"
	"testing"

	"weir/internal/catalog"
	"weir/internal/completion"
	"weir/internal/dialect/openai"
	"weir/internal/wire/chat"
)

func sentBody(t *testing.T, ep *catalog.Endpoint, req *completion.Request) string {
	t.Helper()
	call, err := new(openai.Dialect).Request(ep, req)
	if err != nil {
		t.Fatal(err)
	}
	return string(call.Body)
}

// Only the revised parts of a prompt are rewritten; everything else is sent as the client wrote it, unknown members and spaces included.
func TestRevised(t *testing.T) {
	t.Parallel()
	ep := &catalog.Endpoint{Provider: &catalog.Provider{ID: "p", Dialect: "openai"}, UpstreamID: "up", Params: catalog.AllParams, Input: catalog.AllModalities}
	body := `{"model":"v/m","x": [1, 2],"messages":[ {"role":"system","content":"s", "y":0},{"role":"user","content":"one" ,"y":1},
		{"role":"assistant","content":"two","y":2},{"role":"user","content":"three","y":3},{"role":"assistant","content":"four"},{"role":"user","content":"five","y":5}],
		"tool_choice":"auto","tools":[{"type":"function","function":{"name":"f","parameters":{"type":"object"}},"y":6}],"parallel_tool_calls":true,"response_format":{"type":"json_object"},"seed":7}`
	decoded := func() *completion.Request {
		req, err := chat.Decode([]byte(body))
		if err != nil {
			t.Fatal(err)
		}
		return req
	}
	t.Run("turns", func(t *testing.T) {
		t.Parallel()
		req := decoded().Revise(completion.RevisedTurns, func(p *completion.Prompt) {
			p.Turns[2].Parts, p.Turns[2].At = []completion.Part{{Text: "3"}}, completion.Span{}
			p.Turns = append(p.Turns[:1:1], p.Turns[2:]...)
			p.Turns = append([]completion.Turn{{Role: completion.System, Parts: []completion.Part{{Text: "new"}}}}, p.Turns...)
		})
		want := `"messages":[{"role":"system","content":"s", "y":0},{"role":"system","content":"new"},{"role":"user","content":"one" ,"y":1},` +
			`{"role":"user","content":"3"},{"role":"assistant","content":"four"},{"role":"user","content":"five","y":5}]`
		got := sentBody(t, ep, req)
		for _, part := range []string{want, `"x": [1, 2]`, `"tools":[{"type":"function","function":{"name":"f","parameters":{"type":"object"}},"y":6}]`, `"seed":7`, `"model":"up"`, `"parallel_tool_calls":true`} {
			if !strings.Contains(got, part) {
				t.Errorf("%s\nhas no %s", got, part)
			}
		}
	})
	t.Run("tools and format", func(t *testing.T) {
		t.Parallel()
		req := decoded().Revise(completion.RevisedTools|completion.RevisedFormat, func(p *completion.Prompt) {
			p.Tools = []completion.Tool{{Name: "g", Parameters: []byte(`{"type":"object"}`)}}
			p.Choice = completion.Choice{Mode: completion.ChoiceTool, Name: "g"}
			p.Serial, p.Format = true, completion.Format{}
		})
		got := sentBody(t, ep, req)
		for _, part := range []string{`{"role":"system","content":"s", "y":0}`, `"tools":[{"type":"function","function":{"name":"g","parameters":{"type":"object"}}}]`,
			`"tool_choice":{"type":"function","function":{"name":"g"}}`, `"parallel_tool_calls":false`} {
			if strings.Count(got, part) != 1 {
				t.Errorf("%s\nhas no %s", got, part)
			}
		}
		for _, part := range []string{"response_format", `"name":"f"`, `"auto"`} {
			if strings.Contains(got, part) {
				t.Errorf("%s\nstill has %s", got, part)
			}
		}
	})
	t.Run("search", func(t *testing.T) {
		t.Parallel()
		req := decoded().As(catalog.Online)
		if got := sentBody(t, ep, req); !strings.Contains(got, `"web_search_options":{}`) || !req.Needs.Web {
			t.Error(got)
		}
		located := decoded()
		located.Search = &completion.Search{ContextSize: "low", Location: []byte(`{"type":"approximate"}`)}
		if got := sentBody(t, ep, located); !strings.Contains(got, `"web_search_options":{"search_context_size":"low","user_location":{"type":"approximate"}}`) {
			t.Error(got)
		}
	})
}
