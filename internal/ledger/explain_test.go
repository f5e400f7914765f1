package ledger_test

import (
	"context"
	"strings"
	"testing"

	"weir/internal/ledger"
	"weir/internal/money"
	"weir/internal/rate"
	"weir/internal/record"
	"weir/internal/usage"
)

type oneCall struct {
	ledger.Reader
	call    record.Call
	entries []ledger.Entry
}

func (r oneCall) Call(context.Context, string, string) (*record.Call, []ledger.Entry, error) {
	return &r.call, r.entries, nil
}

func (oneCall) Refunds(context.Context, string, string) ([]ledger.Movement, error) { return nil, nil }

// consumed are usages of which there is no line but one of the kind.
var consumed = map[usage.Kind]usage.Usage{
	usage.KindPrompt: {Prompt: usage.Of(1)}, usage.KindCacheRead: {Prompt: usage.Of(1), CacheRead: usage.Of(1)}, usage.KindCacheWrite: {Prompt: usage.Of(1), CacheWrite: usage.Of(1)},
	usage.KindCacheWrite1h: {Prompt: usage.Of(1), CacheWrite1h: usage.Of(1)}, usage.KindPromptAudio: {Prompt: usage.Of(1), PromptAudio: usage.Of(1)},
	usage.KindPromptImage: {Prompt: usage.Of(1), PromptImage: usage.Of(1)}, usage.KindCompletion: {Completion: usage.Of(1)}, usage.KindReasoning: {Completion: usage.Of(1), Reasoning: usage.Of(1)},
	usage.KindOutputAudio: {Completion: usage.Of(1), OutputAudio: usage.Of(1)}, usage.KindOutputImage: {Completion: usage.Of(1), OutputImage: usage.Of(1)},
	usage.KindWebSearch: {WebSearches: usage.Of(1)}, usage.KindImage: {Images: usage.Of(1)}, usage.KindWebFetch: {WebFetches: usage.Of(1)}, usage.KindFileSearch: {FileSearches: usage.Of(1)},
	usage.KindCodeExecution: {Containers: usage.Of(1)}, usage.KindMCP: {MCPCalls: usage.Of(1)},
	usage.KindCacheReadAudio: {Prompt: usage.Of(1), CacheRead: usage.Of(1), PromptAudio: usage.Of(1), CachedAudio: usage.Of(1)},
	// of the others records have not always kept the count
}

// A reason is foreign text: it makes no lines, and no terminal obeys it.
func TestReasonIsOneLine(t *testing.T) {
	t.Parallel()
	m := ledger.Movement{Reason: " a\tbroken\x1b[2J\r\n answer\u202e \u043e\u0442\u0432\u0435\u0442\u00a0"}
	if got, want := m.Why(), "a broken [2J answer \u043e\u0442\u0432\u0435\u0442"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}

// Whatever a line is sold by, the explanation of a charge comes to what was charged.
func TestExplainAddsUpEveryKind(t *testing.T) {
	t.Parallel()
	for k := usage.KindPrompt; k.String() != ""; k++ {
		lines := []usage.Line{{Kind: k, Quantity: 12_345, Price: 678_901}}
		u := consumed[k]
		for _, c := range u.Counts() {
			c.N *= 12_345
		}
		cost, err := usage.Total(lines)
		if err != nil {
			t.Fatal(err)
		}
		r := oneCall{call: record.Call{Wallet: "w", Usage: u, Lines: lines, Cost: cost, Settled: true}, entries: []ledger.Entry{{Account: ledger.WalletAccount + "w", Amount: -cost}}}
		x, err := ledger.Explain(t.Context(), r, "", "gen-1")
		if err != nil || !x.Matches {
			t.Errorf("%s: %s, %v", k, x.Why, err)
		}
		var text strings.Builder
		if _, err := x.WriteTo(&text); err != nil || strings.Contains(text.String(), "MISMATCH") || !strings.Contains(text.String(), "  "+lines[0].Measure()+"  ") {
			t.Errorf("%s: %v\n%s", k, err, &text)
		}
	}
}

// A line in dollars states each factor of its price.
func TestExplainNamesTheFactors(t *testing.T) {
	t.Parallel()
	const version = "cbr-2026-11-21@81.2345+0.15"
	at, ok := rate.Named(version)
	if !ok {
		t.Fatal(version)
	}
	prompt, err := at.PerThousand("2.5", money.Million)
	if err != nil {
		t.Fatal(err)
	}
	minute, err := at.Each("0.006", 1)
	if err != nil {
		t.Fatal(err)
	}
	lines := []usage.Line{
		{Kind: usage.KindPrompt, Quantity: 300_000, Price: prompt.Nano, Dollars: "2.5"}, {Kind: usage.KindAudio, Quantity: 3410, Price: minute.Nano, Dollars: "0.006"},
	}
	cost, err := usage.Total(lines)
	if err != nil {
		t.Fatal(err)
	}
	c := record.Call{User: "usr_1", Wallet: "w", Usage: usage.Usage{Prompt: usage.Of(300_000), Millis: usage.Of(3410), Tier: "flex"}, Lines: lines, Cost: cost, Settled: true, Rate: version,
		SourcePrice: "USD per 1M tokens 1.25; charged by the prices of prompts above 200000 tokens"}
	x, err := ledger.Explain(t.Context(), oneCall{call: c, entries: []ledger.Entry{{Account: ledger.WalletAccount + "w", Amount: -cost}}}, "", "gen-1")
	if err != nil || !x.Matches {
		t.Fatalf("%s, %v", x.Why, err)
	}
	var text strings.Builder
	if _, err := x.WriteTo(&text); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		"usr_1", "flex, as the provider's answer says", "above 200000 tokens", "300000 tokens", "from 2.5 dollars per million tokens x 81.2345 rubles x (1 + 0.15)",
		"3.41 seconds", "per minute", "from 0.006 dollars per minute x 81.2345 rubles x (1 + 0.15)",
	} {
		if !strings.Contains(text.String(), want) {
			t.Errorf("%q is missing in\n%s", want, &text)
		}
	}
}
