package rate_test

import (
	"testing"
	"time"

	"pgregory.net/rapid"

	"weir/internal/fault"
	"weir/internal/money"
	"weir/internal/rate"
)

func TestVATOfPrices(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name  string
		vat   rate.VAT
		price money.Nano // of one dollar at 100 rubles and a margin of 10 %
		part  money.Nano
	}{
		{"none", rate.VAT{}, 110_000_000_000, 0},
		{"included", rate.VAT{Mode: rate.Included, Percent: "10"}, 110_000_000_000, 10_000_000_000},
		{"on top", rate.VAT{Mode: rate.OnTop, Percent: "22"}, 134_200_000_000, 24_200_000_000},
		{"part of a percent", rate.VAT{Mode: rate.OnTop, Percent: "0.5"}, 110_550_000_000, 550_000_000},
	}
	for _, c := range tests {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			for _, records := range [][]rate.Record{nil, {{RubPerUSD: "100", Margin: "0.1", Source: rate.CBR, Day: "2026-11-21"}}} {
				e, err := rate.At(rate.Declared{RubPerUSD: "100", Margin: "0.1", VAT: c.vat, Version: rate.Version("", "100", "0.1", c.vat)}, records, time.Unix(1, 0))
				if err != nil {
					t.Fatal(err)
				}
				price, err := e.Each("1", 1)
				if err != nil || money.Nano(price.Nano) != c.price {
					t.Errorf("%s: price %v, %v, want %s", e.Version, price, err, c.price)
				}
				named, ok := rate.Named(e.Version)
				if again, err := named.Each("1", 1); !ok || err != nil || again != price {
					t.Errorf("%s: the version makes %v, %v", e.Version, again, err)
				}
				p := rate.PartsOf(e.Version)
				if want := (rate.Parts{RubPerUSD: "100", Margin: "0.1", VAT: c.vat}); p != want {
					t.Errorf("%s: parts %+v, want %+v", e.Version, p, want)
				}
				if got := p.VAT.Part(c.price); got != c.part {
					t.Errorf("%s: part %s, want %s", e.Version, got, c.part)
				}
			}
		})
	}
}

func TestVATOfPricesInRubles(t *testing.T) {
	t.Parallel()
	for _, mode := range []string{rate.Included, rate.OnTop} {
		version := rate.VAT{Mode: mode, Percent: "22"}.InRubles()
		if got, want := rate.PartsOf(version), (rate.Parts{VAT: rate.VAT{Mode: rate.Included, Percent: "22"}}); got != want {
			t.Errorf("%s: %q has %+v, want %+v", mode, version, got, want)
		}
	}
	if got := (rate.VAT{}).InRubles(); got != "" {
		t.Errorf("without a tax: %q", got)
	}
}

func TestVATIsChecked(t *testing.T) {
	t.Parallel()
	for _, percent := range []string{"", "0", "-1", "100.1", "22 %", "1e1", "x"} {
		if err := (rate.VAT{Mode: rate.Included, Percent: percent}).Check(); !fault.Is(err, fault.Invalid) {
			t.Errorf("%q is taken: %v", percent, err)
		}
	}
}

// The part of a refund is that of the charge with the other sign, and a part is never more than half a nano-ruble off.
func TestVATPartRounds(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		of := money.Nano(rapid.Int64Range(0, 1<<52).Draw(t, "of"))
		percent := rapid.IntRange(1, 100).Draw(t, "percent")
		v := rate.VAT{Mode: rate.Included, Percent: money.Nano(int64(percent) * int64(money.Ruble)).String()}
		part := v.Part(of)
		if v.Part(-of) != -part {
			t.Errorf("the part of -%s is not -%s", of, part)
		}
		if off := int64(part)*int64(100+percent) - int64(of)*int64(percent); 2*off > int64(100+percent) || 2*off < -int64(100+percent) {
			t.Errorf("%d %% in %s: %s", percent, of, part)
		}
	})
}
