package ledger_test

import (
	"context"
	"testing"

	"weir/internal/ledger"
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

// Whatever a line is sold by, the explanation of a charge comes to what was charged.
func TestExplainAddsUpEveryKind(t *testing.T) {
	t.Parallel()
	for k := usage.KindPrompt; k.String() != ""; k++ {
		lines := []usage.Line{{Kind: k, Quantity: 12_345, Price: 678_901}}
		cost, err := usage.Total(lines)
		if err != nil {
			t.Fatal(err)
		}
		r := oneCall{call: record.Call{Wallet: "w", Lines: lines, Cost: cost, Settled: true}, entries: []ledger.Entry{{Account: ledger.WalletAccount + "w", Amount: -cost}}}
		x, err := ledger.Explain(t.Context(), r, "", "gen-1")
		if err != nil || !x.Matches {
			t.Errorf("%s: %s, %v", k, x.Why, err)
		}
	}
}
