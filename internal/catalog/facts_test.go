package catalog_test

import (
	"strings"
	"testing"
	"time"

	"weir/internal/catalog"
	"weir/internal/money"
)

// The word that a model takes is the nearest to the one that the client gave.
func TestNearestEffort(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		takes, off, asked, want string
	}{
		{"low,medium,high", "", "minimal", "low"},
		{"low,medium,high", "", "xhigh", "high"},
		{"low,medium,high", "", "max", "high"},
		{"low,medium,high", "", "medium", "medium"},
		{"low,medium,high", "", "none", "none"},
		{"low,medium,high", "refused", "none", "low"},
		{"minimal,low,medium,high", "refused", "none", "minimal"},
		{"none,low,medium,high", "allowed", "minimal", "low"},
		{"none,high", "", "minimal", "high"}, // reasoning is never switched off unasked
		{"none,default", "", "high", "default"},
		{"low,high", "", "medium", "high"}, // of two, the higher
		{"low,high,max", "", "xhigh", "high"},
		{"low,medium,high,max", "", "xhigh", "high"},
		{"low,medium,high,xhigh,max", "", "max", "max"},
		{"low,medium,high", "", "default", "medium"},
		{"", "", "ultra", "ultra"}, // what is unknown is passed on
		{"", "", "none", "none"},
		{"", "refused", "none", ""},
		{"low", "", "ultra", "ultra"},
	} {
		f := catalog.Facts{ReasoningOff: c.off}
		if c.takes != "" {
			f.Efforts = strings.Split(c.takes, ",")
		}
		if got := f.Effort(c.asked); got != c.want {
			t.Errorf("%s of %s, off %s: %q, want %q", c.asked, c.takes, c.off, got, c.want)
		}
	}
}

// A family has the models whose names begin with its words, in whatever form a provider writes them.
func TestFamilies(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		word, upstream, slug string
		fits                 bool
	}{
		{"gpt-5", "gpt-5", "v/m", true},
		{"gpt-5", "gpt-5-2025-08-07", "v/m", true},
		{"gpt-5", "openai/gpt-5-mini", "v/m", true},
		{"gpt-5", "GPT-5-latest", "v/m", true},
		{"gpt-5", "my-deployment", "openai/gpt-5", true},
		{"gpt-5", "gpt-50", "v/m", false},
		{"gpt-5", "not-gpt-5", "v/m", false},
		{"gpt-5.1", "gpt-5-1-mini", "v/m", true},
		{"gpt-5.1", "gpt-5", "v/m", false},
		{"claude-opus-4", "global.anthropic.claude-opus-4-6-v1:0", "v/m", true},
		{"claude-sonnet-4-5", "claude-sonnet-4-5@20250929", "v/m", true},
		{"claude-sonnet-4-5", "x", "anthropic/claude-sonnet-4.5", true},
		{"gpt-oss", "accounts/fireworks/models/gpt-oss-120b", "v/m", true},
		{"gemini-2.5-pro", "gemini-2.5-pro-preview-06-05", "v/m", true},
		{"o3", "o3-mini", "v/m", true},
		{"o3", "qwen3-o3", "v/m", false},
	} {
		ep := built(t, catalog.Declared{
			Families: []catalog.Family{{Models: []string{c.word}, Facts: catalog.Facts{CallIDs: catalog.Alphanumeric9}}},
			Offers:   []catalog.Offer{{Provider: "p", Model: c.slug, UpstreamID: c.upstream}},
		})
		if fits := ep.Facts.CallIDs != ""; fits != c.fits {
			t.Errorf("%s as %s, %s: %v", c.word, c.upstream, c.slug, fits)
		}
	}
}

// Of the same fact, that of the model counts before that of its provider, and that before its families', the later first.
func TestFactsInOrder(t *testing.T) {
	t.Parallel()
	ep := built(t, catalog.Declared{
		Providers: []catalog.Provider{{ID: "p", Dialect: "openai", BaseURL: "https://p.example", Like: "vllm", Facts: catalog.Facts{SystemMessages: "anywhere", BudgetMost: 5, Source: "provider"}}},
		Families: []catalog.Family{
			{Models: []string{"m"}, Facts: catalog.Facts{BudgetLeast: 1, BudgetMost: 1, Efforts: []string{"low"}, CallIDs: "any", Source: "first"}},
			{Models: []string{"m"}, Providers: []string{"vllm"}, Facts: catalog.Facts{BudgetLeast: 2, SystemMessages: "first"}},
			{Models: []string{"m"}, Providers: []string{"other"}, Facts: catalog.Facts{BudgetLeast: 3}},
			{Models: []string{"m"}, But: []string{"m-1"}, Facts: catalog.Facts{BudgetLeast: 4}},
		},
		Offers: []catalog.Offer{{Provider: "p", Model: "v/m-1", Facts: catalog.Facts{Efforts: []string{"high"}}, Listed: catalog.Facts{Efforts: []string{"max"}, BudgetMost: 9, ReasoningOff: catalog.Refused, Source: "list"}}},
	})
	f := ep.Facts
	if f.BudgetLeast != 2 || f.BudgetMost != 5 || f.Efforts[0] != "high" || f.SystemMessages != "anywhere" || f.CallIDs != "any" || f.ReasoningOff != catalog.Refused || f.Source != "list; first; provider" {
		t.Errorf("%+v", f)
	}
}

// Facts that nothing can follow are refused with a sentence that names them.
func TestWrongFacts(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		facts catalog.Facts
		want  string
	}{
		{catalog.Facts{Efforts: []string{"much"}}, `"much"`},
		{catalog.Facts{BudgetLeast: 5, BudgetMost: 4}, "budget_least 5 and budget_most 4"},
		{catalog.Facts{BudgetLeast: -1}, "budget_least -1"},
		{catalog.Facts{ReasoningOff: "no"}, `reasoning_off "no" is not one of refused, allowed`},
		{catalog.Facts{ReasoningRequest: "x"}, "reasoning_request"},
		{catalog.Facts{ReasoningBack: "x"}, "reasoning_back"},
		{catalog.Facts{Excludes: []string{"temperature"}}, "temperature/top_p"},
		{catalog.Facts{Excludes: []string{"top_p/heat"}}, "top_p/heat"},
		{catalog.Facts{JSONSchema: "x"}, "json_schema"},
		{catalog.Facts{CallIDs: "x"}, "call_ids"},
		{catalog.Facts{SystemMessages: "x"}, "system_messages"},
		{catalog.Facts{InputType: "x"}, "input_type"},
		{catalog.Facts{ImageRatios: []string{"wide"}}, "wide"},
		{catalog.Facts{ImageResolutions: []string{" "}}, "resolution"},
		{catalog.Facts{FirstByteTimeout: -time.Second}, "first_byte_timeout"},
		{catalog.Facts{FirstByteTimeout: time.Minute}, "relay.attempt_budget (1m0s)"},
		{catalog.Facts{LeaveAfter: 2 * time.Minute}, "2m0s is not"},
	} {
		for where, d := range map[string]catalog.Declared{
			"family":   {Families: []catalog.Family{{Models: []string{"m"}, Facts: c.facts}}},
			"provider": {Providers: []catalog.Provider{{ID: "p", Dialect: "openai", BaseURL: "https://p.example", Facts: c.facts}}},
			"offer":    {Offers: []catalog.Offer{offered(catalog.Offer{Facts: c.facts})}, Providers: []catalog.Provider{factServer()}},
		} {
			d.AttemptBudget = time.Minute
			if _, err := catalog.Build(d); err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("%s: %v, want %s", where, err, c.want)
			}
		}
	}
	if _, err := catalog.Build(catalog.Declared{Families: []catalog.Family{{}}}); err == nil || !strings.Contains(err.Error(), "names no models") {
		t.Errorf("a family of nothing: %v", err)
	}
}

func factServer() catalog.Provider {
	return catalog.Provider{ID: "p", Dialect: "openai", BaseURL: "https://p.example"}
}

func offered(o catalog.Offer) catalog.Offer {
	if o.Model == "" {
		o.Provider, o.Model = "p", "v/m"
	}
	free := money.Price{Set: true}
	o.Pricing.Base.Prompt, o.Pricing.Base.Completion = free, free
	return o
}

// built is the only endpoint of a catalog.
func built(t *testing.T, d catalog.Declared) *catalog.Endpoint {
	t.Helper()
	if d.Providers == nil {
		d.Providers = []catalog.Provider{factServer()}
	}
	d.Offers[0] = offered(d.Offers[0])
	snap, err := catalog.Build(d)
	if err != nil {
		t.Fatal(err)
	}
	return snap.Models()[0].Endpoints[0]
}
