package invoice_test

import (
	"testing"
	"time"

	"pgregory.net/rapid"

	"weir/internal/invoice"
	"weir/internal/money"
	"weir/internal/rate"
)

// Whatever is called and refunded in however many months, with whichever tax: all acts together are what the statements say was spent, less
// than a kopeck carried on; and the tax of an act is that of the statement of what it covers, to the kopeck, though a statement rounds each
// charge to a nano-ruble and an act rounds once.
func TestActsAndStatementsAgree(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		v := rate.VAT{Mode: rapid.SampledFrom([]string{"", rate.Included, rate.OnTop}).Draw(t, "mode"), Percent: rapid.SampledFrom([]string{"22", "20", "10", "5", "0.7", "33.333"}).Draw(t, "percent")}
		charge := rapid.Custom(func(t *rapid.T) money.Nano {
			n := money.Nano(rapid.Int64Range(1, rapid.SampledFrom([]int64{100, 1e7, 1e9, 1e12}).Draw(t, "size")).Draw(t, "nano"))
			if rapid.IntRange(0, 9).Draw(t, "refund") == 0 {
				return -n
			}
			return n
		})
		var spent, acted, covered, taxed money.Nano // covered and taxed: since the last act
		last := ""
		calls := 0
		first := time.Date(2026, 1, 15, 0, 0, 0, 0, time.UTC)
		for k := range rapid.IntRange(1, 8).Draw(t, "months") {
			start := invoice.Sums{Spent: spent}
			for _, n := range rapid.SliceOfN(charge, 0, 60).Draw(t, "charges") {
				spent, covered, taxed = spent+n, covered+n, taxed+v.Part(n)
				calls++
			}
			a := invoice.Act{Month: first.AddDate(0, k, 0).Format("2006-01"), VAT: v}
			made, err := invoice.CloseMonth(&a, &invoice.Closing{First: first.Format("2006-01"), Last: last, Acted: acted, Start: start, End: invoice.Sums{Spent: spent}})
			if err != nil {
				t.Fatal(err)
			}
			if !made {
				if spent-acted >= invoice.Kopeck {
					t.Fatalf("%s: %s were spent and %s acted, and there is no act", a.Month, spent, acted)
				}
				continue
			}
			last, acted = a.Month, acted+a.Amount
			if acted+a.After != spent || a.After < 0 || a.After >= invoice.Kopeck || a.Before+a.Spent != a.Amount+a.After {
				t.Fatalf("%s: acts of %s, %s carried on, %s spent", a.Month, acted, a.After, spent)
			}
			switch v.Mode {
			case "":
				if a.Tax != 0 || a.Total != a.Amount {
					t.Fatalf("a tax of %s where there is none", a.Tax)
				}
			case rate.Included:
				if d := a.Tax - taxed; a.Total != a.Amount || max(d, -d) > invoice.Kopeck+money.Nano(calls) {
					t.Fatalf("%s: VAT of %s, and of %s in the statement of %s", a.Month, a.Tax, taxed, covered)
				}
			case rate.OnTop:
				if a.Total != a.Amount+a.Tax || invoice.Worth(v, a.Total) != a.Amount {
					t.Fatalf("%s: %s with %s of VAT is %s", a.Month, a.Amount, a.Tax, a.Total)
				}
			}
			covered, taxed = 0, 0
		}
	})
}
