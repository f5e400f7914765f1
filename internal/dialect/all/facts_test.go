package all_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"weir/internal/catalog"
	"weir/internal/catalog/builtin"
	"weir/internal/dialect"
	"weir/internal/dialect/all"
	"weir/internal/money"
)

// everyModel is the built-in catalog with all providers.
func everyModel(t *testing.T) *catalog.Snapshot {
	t.Helper()
	keys := map[string]string{}
	for _, p := range builtin.Providers() {
		if !p.Template {
			keys[p.ID] = "k"
		}
	}
	perUSD, err := money.NewRate("90", "0")
	if err != nil {
		t.Fatal(err)
	}
	d, err := builtin.Declare(keys, builtin.Rate{Rate: perUSD})
	if err != nil {
		t.Fatal(err)
	}
	for i := range d.Providers {
		d.Providers[i].BaseURL = "https://provider.example/v1"
		wires := maps.Clone(d.Providers[i].Wires) // each test has its own, and all tests share the built-in ones
		for kind, w := range wires {
			w.BaseURL = "https://provider.example/v1"
			wires[kind] = w
		}
		d.Providers[i].Wires = wires
	}
	snap, err := catalog.Build(d)
	if err != nil {
		t.Fatal(err)
	}
	return snap
}

// thinkers are requests of each style that set an effort or a budget.
func thinkers() map[string]string {
	out := map[string]string{}
	for _, word := range []string{"none", "minimal", "low", "medium", "high", "xhigh", "max"} {
		out["chat "+word] = `{"model":"x/y","messages":[{"role":"user","content":"q"}],"max_tokens":64000,"reasoning":{"effort":"` + word + `"}}`
		if word != "max" {
			out["responses "+word] = `{"model":"x/y","input":"q","store":false,"max_output_tokens":64000,"reasoning":{"effort":"` + word + `"}}`
		}
	}
	for _, word := range []string{"low", "medium", "high", "xhigh", "max"} {
		out["messages "+word] = `{"model":"x/y","max_tokens":64000,"messages":[{"role":"user","content":"q"}],"thinking":{"type":"adaptive"},"output_config":{"effort":"` + word + `"}}`
	}
	for _, tokens := range []int{1024, 31999, 60001, 2050} {
		out[fmt.Sprint("chat budget ", tokens)] = fmt.Sprintf(`{"model":"x/y","messages":[{"role":"user","content":"q"}],"max_tokens":64000,"reasoning":{"max_tokens":%d}}`, tokens)
		out[fmt.Sprint("messages budget ", tokens)] = fmt.Sprintf(`{"model":"x/y","max_tokens":64000,"messages":[{"role":"user","content":"q"}],"thinking":{"type":"enabled","budget_tokens":%d}}`, tokens)
		out[fmt.Sprint("gemini level ", tokens%4)] = fmt.Sprintf(`{"contents":[{"role":"user","parts":[{"text":"q"}]}],"generationConfig":{"maxOutputTokens":64000,"thinkingConfig":{"thinkingLevel":"%s"}}}`, []string{"MINIMAL", "LOW", "MEDIUM", "HIGH"}[tokens%4])
		out[fmt.Sprint("gemini budget ", tokens)] = fmt.Sprintf(`{"contents":[{"role":"user","parts":[{"text":"q"}]}],"generationConfig":{"maxOutputTokens":64000,"thinkingConfig":{"thinkingBudget":%d}}}`, tokens)
	}
	out["gemini off"] = `{"contents":[{"role":"user","parts":[{"text":"q"}]}],"generationConfig":{"maxOutputTokens":64000,"thinkingConfig":{"thinkingBudget":0}}}`
	out["messages off"] = `{"model":"x/y","max_tokens":64000,"messages":[{"role":"user","content":"q"}],"thinking":{"type":"disabled"}}`
	return out
}

// Whatever effort or budget a client of any style gives, a built-in model gets one that it is known to take.
func TestEffortsAreFitted(t *testing.T) {
	t.Parallel()
	snap, dialects, requests := everyModel(t), all.Dialects(), thinkers()
	checked := map[string]int{}
	for _, m := range snap.Models() {
		for _, ep := range m.Endpoints {
			f := &ep.Facts
			if m.Type != catalog.TypeChat || ep.Tier != "default" || len(f.Efforts)+f.BudgetMost+f.BudgetLeast == 0 {
				continue
			}
			served := []string{ep.Provider.Dialect}
			if ep.Provider.Quirks.Responses {
				served = append(served, "responses")
			}
			for _, wire := range served {
				for name, body := range requests {
					style, _, _ := strings.Cut(name, " ")
					req, err := decoders[style]([]byte(body))
					if err != nil {
						t.Fatalf("%s: %v", name, err)
					}
					call, err := dialects[wire].(dialect.Texter).Request(ep, req)
					if err != nil {
						t.Errorf("%s, %s, %s: %v", ep.ID, wire, name, err)
						continue
					}
					checked[wire]++
					if why := unfit(f, wire, wholeBody(&call)); why != "" {
						t.Errorf("%s, %s, %s: %s", ep.ID, wire, name, why)
					}
				}
			}
		}
	}
	for _, wire := range []string{"openai", "responses", "anthropic", "gemini", "bedrock"} {
		if checked[wire] < 100 {
			t.Errorf("only %d requests by the wire %s were checked", checked[wire], wire)
		}
	}
}

func wholeBody(call *dialect.Call) []byte {
	return append(bytes.Clone(call.Body), bytes.Join(call.More, nil)...)
}

// unfit says what of a body a model is known to refuse.
func unfit(f *catalog.Facts, wire string, body []byte) string {
	var doc map[string]any
	if err := json.Unmarshal(body, &doc); err != nil {
		return err.Error()
	}
	at := func(path ...string) any {
		var v any = doc
		for _, name := range path {
			inner, _ := v.(map[string]any)
			v = inner[name]
		}
		return v
	}
	for _, path := range [][]string{
		{"reasoning_effort"}, {"reasoning", "effort"}, {"output_config", "effort"}, {"generationConfig", "thinkingConfig", "thinkingLevel"},
		{"additionalModelRequestFields", "reasoning_effort"}, {"additionalModelRequestFields", "output_config", "effort"},
	} {
		word, ok := at(path...).(string)
		switch {
		case !ok:
		case word == "none" && !f.CanStop():
			return "none was sent to a model that always reasons"
		case word != "none" && len(f.Efforts) > 0 && !slices.Contains(f.Efforts, strings.ToLower(word)):
			return fmt.Sprintf("%v is %s, and the model takes %v", path, word, f.Efforts)
		}
	}
	for _, path := range [][]string{
		{"thinking", "budget_tokens"}, {"thinking_budget"}, {"generationConfig", "thinkingConfig", "thinkingBudget"}, {"additionalModelRequestFields", "thinking", "budget_tokens"},
	} {
		n, ok := at(path...).(float64)
		switch {
		case !ok:
		case n == 0 && !f.CanStop():
			return "a budget of 0 was sent to a model that always reasons"
		case n != 0 && (n < float64(f.BudgetLeast) || f.BudgetMost > 0 && n > float64(f.BudgetMost)):
			return fmt.Sprintf("%v is %v, and the model takes %d to %d", path, n, f.BudgetLeast, f.BudgetMost)
		case n != 0 && len(f.Efforts) > 0 && f.BudgetLeast == 0 && wire != "gemini": // Gemini 3 takes budgets, too
			return "a budget was sent to a model that takes an effort"
		}
	}
	for _, path := range [][]string{{"thinking", "type"}, {"additionalModelRequestFields", "thinking", "type"}} {
		if at(path...) == "disabled" && !f.CanStop() {
			return "reasoning was disabled for a model that always reasons"
		}
	}
	return ""
}

// A model that always reasons says so, and the client that cannot bear that is refused.
func TestReasoningThatStays(t *testing.T) {
	t.Parallel()
	snap := everyModel(t)
	for slug, provider := range map[string]string{"openai/gpt-5": "openai", "google/gemini-2.5-pro": "google", "google/gemini-3.1-pro-preview": "google", "openai/gpt-oss-120b": "groq", "anthropic/claude-fable-5": "anthropic"} {
		m, _ := snap.Model(slug)
		at := slices.IndexFunc(m.Endpoints, func(ep *catalog.Endpoint) bool { return ep.Provider.ID == provider && ep.Tier == "default" })
		if at < 0 {
			t.Fatalf("%s is not at %s", slug, provider)
		}
		ep := m.Endpoints[at]
		d := all.Dialects()[ep.Provider.Dialect].(dialect.Texter)
		for _, require := range []bool{false, true} {
			req, err := decoders["chat"]([]byte(`{"model":"x/y","messages":[{"role":"user","content":"q"}],"reasoning":{"effort":"none"}}`))
			if err != nil {
				t.Fatal(err)
			}
			req.Preferences.RequireParameters = require
			call, err := d.Request(ep, req)
			if require != (err != nil) || !require && call.Notice == "" {
				t.Errorf("%s, require_parameters %v: %v, notice %q", ep.ID, require, err, call.Notice)
			}
		}
	}
}
