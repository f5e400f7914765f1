package all_test

import (
	"encoding/json"
	"strings"
	"testing"

	"weir/internal/completion"
	"weir/internal/dialect"
	"weir/internal/dialect/all"
)

// OpenRouter's clients and Claude Code offer a second model as a tool. Recordings of pydantic/pydantic-ai show what it costs: 80 times the
// answer's own tokens, at prices that only the provider knows, and only afterwards. The model answers without it, and the client reads so.
func TestAdvisorsAreLeftOut(t *testing.T) {
	t.Parallel()
	const (
		openrouter = `{"type":"openrouter:advisor","parameters":{"model":"~anthropic/claude-opus-latest"}}`
		anthropic  = `{"type":"advisor_20260301","name":"advisor","model":"claude-opus-4-7"}`
	)
	for style, c := range map[string]struct{ begin, function, advisor string }{
		"chat":      {`{"model":"x/y","messages":[{"role":"user","content":"x"}]`, `{"type":"function","function":{"name":"weather","parameters":{"type":"object"}}}`, openrouter},
		"responses": {`{"model":"x/y","store":false,"input":"x"`, `{"type":"function","name":"weather","parameters":{"type":"object"}}`, openrouter},
		"messages":  {`{"model":"x/y","max_tokens":99,"messages":[{"role":"user","content":"x"}]`, `{"name":"weather","input_schema":{"type":"object"}}`, anthropic},
	} {
		choice := `,"tool_choice":"auto"}`
		if style == "messages" {
			choice = `,"tool_choice":{"type":"auto"}}`
		}
		for wire, ep := range talkers() {
			for name, tools := range map[string]string{"alone": c.advisor, "before a function": c.advisor + "," + c.function, "after one": c.function + "," + c.advisor} {
				body := c.begin + `,"tools":[` + tools + `]` + choice
				for _, required := range []bool{false, true} {
					req, err := decoders[style]([]byte(body))
					if err != nil {
						t.Fatal(err)
					}
					if req.Needs.Paid != 0 {
						t.Errorf("%s %s: asks for a price of %s", style, name, req.Needs.Paid)
					}
					req.Preferences.RequireParameters = required
					got, err := all.Dialects()[ep.Provider.Dialect].(dialect.Texter).Request(ep, req)
					if required {
						if err == nil {
							t.Errorf("%s to %s, %s: sent although it is required", style, wire, name)
						}
						continue
					}
					sent := string(wholeBody(&got))
					alone := !strings.Contains(tools, "weather")
					if err != nil || !json.Valid([]byte(sent)) || strings.Contains(sent, "advisor") || strings.Contains(sent, "weather") == alone ||
						alone && (strings.Contains(sent, "tools") || strings.Contains(sent, "tool_choice")) {
						t.Errorf("%s to %s, %s: %v, sent %s", style, wire, name, err, sent)
					}
					if strings.Count(got.Notice, completion.NoticeAdvisor) != 1 {
						t.Errorf("%s to %s, %s: notice %q", style, wire, name, got.Notice)
					}
				}
			}
		}
	}
}
