package report_test

import (
	"testing"

	"weir/internal/record"
	"weir/internal/report"
	"weir/internal/usage"
)

func TestMarginOf(t *testing.T) {
	t.Parallel()
	line := func(tokens, price int64, dollars string) []usage.Line {
		return []usage.Line{{Kind: usage.KindPrompt, Quantity: tokens, Price: price, Dollars: dollars}}
	}
	for name, x := range map[string]struct {
		call  record.Call
		want  report.Margin
		known bool
	}{
		// 1000 tokens at 10 $ a million are a cent, 90 kopecks; 99 were charged, of them none as tax
		"a margin": {record.Call{Rate: "usd=90 margin=0.1", Cost: 990_000_000, Lines: line(1000, 990_000_000, "10")}, report.Margin{Upstream: 900_000_000, Margin: 90_000_000}, true},
		// the charge of 120 kopecks contains 20 as tax
		"with tax": {record.Call{Rate: "usd=90 margin=0.1 vat=20", Cost: 1_200_000_000, Lines: line(1000, 1_200_000_000, "10")},
			report.Margin{Upstream: 900_000_000, VAT: 200_000_000, Margin: 100_000_000}, true},
		"what the provider reports counts": {record.Call{Rate: "usd=90 margin=0.1", Cost: 990_000_000, Lines: line(1000, 990_000_000, "10"), Usage: usage.Usage{UpstreamCost: "0.02"}},
			report.Margin{Upstream: 1_800_000_000, Reported: true, Margin: -810_000_000}, true},
		"prices in rubles":    {record.Call{Rate: "rub vat=20", Cost: 990_000_000, Lines: line(1000, 990_000_000, "")}, report.Margin{}, false},
		"an own key":          {record.Call{Rate: "usd=90 margin=0.1", Cost: 10, OwnKey: "pk_1", Lines: line(1000, 10, "10")}, report.Margin{Margin: 10}, true},
		"nothing was charged": {record.Call{}, report.Margin{}, true},
	} {
		if got, known := report.MarginOf(&x.call); got != x.want || known != x.known {
			t.Errorf("%s: %+v %v, want %+v %v", name, got, known, x.want, x.known)
		}
	}
}
