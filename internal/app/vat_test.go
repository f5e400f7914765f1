package app_test

import (
	"encoding/json"
	"net/http"
	"testing"

	"weir/internal/config"
	"weir/internal/rate"
)

// A price from dollars has the tax on top, one in rubles contains it. Both charges name it, and follow from their records.
func TestVATIsCharged(t *testing.T) {
	t.Parallel()
	gw := startGateway(t, func(s *setup) {
		s.Pricing.RubPerUSD, s.Pricing.VAT = "100", config.VAT{Mode: rate.OnTop, Percent: "20"}
		works := config.Provider{ID: "hut", BaseURL: s.Declared.Providers[0].BaseURL, Models: []config.Offer{
			{ID: "acme/dollars", UpstreamID: "chat", PriceUSD: config.Prices{Prompt: "10000", Completion: "10000"}},
			{ID: "acme/rubles", UpstreamID: "chat", Prices: config.Prices{Prompt: "1000", Completion: "1000"}},
		}}
		s.Config.Providers = []config.Provider{works}
	})
	a := gw.newAccount(t)
	for _, c := range []struct{ model, mode, price string }{
		{"acme/dollars", rate.OnTop, "1200"},
		{"acme/rubles", rate.Included, "1000"},
	} {
		is := a.chat(t, map[string]any{"model": c.model, "max_tokens": 5, "messages": question}).reported(t, false)
		got := a.do(t, http.MethodGet, "/api/calls/"+is.id, nil)
		var call struct {
			Data struct {
				Price struct {
					VAT *struct {
						Mode    string `json:"mode"`
						Percent string `json:"percent"`
					} `json:"vat"`
					Amount string `json:"vat_amount"`
				} `json:"price"`
				Usage struct {
					Parts []struct {
						Price string `json:"price"`
					} `json:"parts"`
				} `json:"usage"`
			} `json:"data"`
		}
		if err := json.Unmarshal(got.body, &call); err != nil || call.Data.Price.VAT == nil {
			t.Fatalf("%s: %v: %s", c.model, err, got.body)
		}
		p := call.Data.Price
		if p.VAT.Mode != c.mode || p.VAT.Percent != "20" || parse(t, json.Number(p.Amount)) != (is.cost+3)/6 {
			t.Errorf("%s: %+v %s of %s", c.model, p.VAT, p.Amount, is.cost)
		}
		if parts := call.Data.Usage.Parts; len(parts) == 0 || parts[0].Price != c.price {
			t.Errorf("%s: parts %+v, want a price of %s", c.model, parts, c.price)
		}
	}
	gw.wantBalanced(t)
}
