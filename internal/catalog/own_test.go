package catalog_test

import (
	"strings"
	"testing"

	"pgregory.net/rapid"

	"weir/internal/catalog"
	"weir/internal/money"
)

// A share is never below the exact one, and less than a nano-ruble above it; all of it is the price.
func TestFeeIsAShareOfEachPrice(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		price := rapid.Int64Range(0, 1<<62).Draw(t, "price")
		share := rapid.Int64Range(0, 10_000).Draw(t, "share")
		p := catalog.Pricing{Base: catalog.Prices{Prompt: money.Price{Nano: price, Set: true, Dollars: "1"}}, Video: []catalog.VideoRule{{PerSecond: money.Price{Nano: price, Set: true}}},
			Thresholds: []catalog.Threshold{{Above: 1, Prices: catalog.Prices{Prompt: money.Price{Nano: price, Set: true}}}}}
		fee := catalog.Fee{Share: share}.Of(&p)
		got := fee.Base.Prompt
		whole, rest := price/10_000, price%10_000
		least := whole*share + rest*share/10_000
		if got.Nano < least || got.Nano > least+1 || !got.Set || got.Dollars != "" || share == 10_000 && got.Nano != price {
			t.Fatalf("%d hundredths of a percent of %d are %+v", share, price, got)
		}
		if fee.Video[0].PerSecond.Nano != got.Nano || fee.Thresholds[0].Prices.Prompt.Nano != got.Nano || fee.Base.Completion.Set {
			t.Fatalf("other prices: %+v", fee)
		}
		if p.Base.Prompt.Nano != price || p.Video[0].PerSecond.Nano != price {
			t.Fatal("the price of the catalog changed")
		}
	})
}

// An amount is the price of a request, and of nothing else.
func TestFeeOfAnAmount(t *testing.T) {
	t.Parallel()
	set := money.Price{Nano: 7, Set: true}
	p := catalog.Pricing{Base: catalog.Prices{Prompt: set, Request: set}, Rates: catalog.Rates{Minute: set}, Images: []catalog.ImagePrice{{Price: set}}, Video: []catalog.VideoRule{{PerSecond: set}}, List: "l"}
	fee := catalog.Fee{Amount: money.Price{Nano: 5, Set: true}}.Of(&p)
	if fee.Base != (catalog.Prices{Request: money.Price{Nano: 5, Set: true}}) || fee.Minute.Set || len(fee.Images)+len(fee.Video) != 0 || fee.List != "l" || !strings.Contains(fee.Source, "0.000000005") {
		t.Errorf("%+v", fee)
	}
}

// Nothing of the operator's goes with an own key, and the catalog's endpoint stays as it was.
func TestWithOwnKey(t *testing.T) {
	t.Parallel()
	p := &catalog.Provider{ID: "a", Key: "operator", Keys: []string{"second"}, Headers: map[string]string{"X": "secret"}, BaseURL: "https://a.test", Quirks: catalog.Quirks{VideoBucket: "gs://operator", AuthHeader: "X-Key"}}
	ep := &catalog.Endpoint{ID: "a/m", Provider: p, Model: &catalog.Model{Slug: "v/m"}}
	own := ep.WithOwnKey("pk_1", "mine", catalog.Fee{Share: 500})
	q := own.Provider
	if q.Key != "mine" || q.Keys != nil || q.Headers != nil || q.Quirks.VideoBucket != "" || q.Quirks.AuthHeader != "X-Key" || q.BaseURL != p.BaseURL || q.OwnKey != "pk_1" || q.Of != p {
		t.Errorf("%+v", q)
	}
	if own.Own.Of != ep || own.Catalogued() != ep || ep.Catalogued() != ep || own.Model != ep.Model {
		t.Errorf("%+v", own)
	}
	if p.Key != "operator" || p.OwnKey != "" || p.Headers["X"] != "secret" || ep.Own != nil {
		t.Errorf("the catalog changed: %+v", p)
	}
}
