package rate_test

import (
	"testing"
	"time"

	"weir/internal/money"
	"weir/internal/rate"
)

// A charge is recomputed with the rate in its record, so each version must contain its rate.
func TestEveryVersionNamesItsRate(t *testing.T) {
	t.Parallel()
	want, err := money.NewRate("81.2345", "0.15")
	if err != nil {
		t.Fatal(err)
	}
	published := rate.Record{RubPerUSD: "81.2345", Margin: "0.15", Source: rate.CBR, Day: "2026-11-21"}
	effective, err := rate.At(rate.Declared{RubPerUSD: "1", Margin: "0"}, []rate.Record{published}, time.Unix(1, 0))
	if err != nil {
		t.Fatal(err)
	}
	alone, err := rate.At(rate.Declared{RubPerUSD: "81.2345", Margin: "0"}, []rate.Record{{Margin: "0.15", Source: rate.Manual}}, time.Unix(1, 0))
	if err != nil {
		t.Fatal(err)
	}
	for _, version := range []string{effective.Version, alone.Version, "cbr-2026-11-21@81.2345+0.15", rate.Version("", "81.2345", "0.15", rate.VAT{}), rate.Version("autumn", "81.2345", "0.15", rate.VAT{}),
		rate.Version("a@b+c usd=1 margin=9", "81.2345", "0.15", rate.VAT{}),
		rate.Version("vat=22", "81.2345", "0.15", rate.VAT{Mode: rate.Included, Percent: "22"}), "cbr-2026-11-21@81.2345+0.15 vat=22"} {
		got, ok := rate.Named(version)
		if !ok {
			t.Errorf("%q names no rate", version)
			continue
		}
		a, _ := want.Each("0.3", 1)
		if b, err := got.Each("0.3", 1); err != nil || a != b {
			t.Errorf("%q makes %v of a price, %v; want %v", version, b, err, a)
		}
	}
	for _, version := range []string{"", "autumn", "92.5*1.15", "@+", "cbr@", "cbr@80", "cbr@80+", "cbr@+0.1", "80+0.1", "cbr@-80+0.1", "usd=80", "usd= margin=", "ausd=80 margin=0", "rub", "rub vat=22", "rub vat=+22", "cbr@80+0.1 vat=-1", "cbr@80+0.1 vat=101"} {
		if _, ok := rate.Named(version); ok {
			t.Errorf("%q is taken for a rate", version)
		}
	}
}
