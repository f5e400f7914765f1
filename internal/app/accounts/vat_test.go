package accounts_test

import (
	"cmp"
	"encoding/json"
	"net/http"
	"testing"
	"time"

	"weir/internal/apikey"
	"weir/internal/app/apptest"
	"weir/internal/audit"
	"weir/internal/config"
	"weir/internal/ledger"
	"weir/internal/money"
	"weir/internal/rate"
)

// A price from dollars has the tax on top, one in rubles contains it. Both charges name it, and follow from their records.
func TestVATIsCharged(t *testing.T) {
	t.Parallel()
	gw := apptest.StartGateway(t, func(s *apptest.Setup) {
		s.Pricing.RubPerUSD, s.Pricing.VAT = "100", rate.VAT{Mode: rate.OnTop, Percent: "20"}
		works := config.Provider{ID: "hut", BaseURL: s.Declared.Providers[0].BaseURL, Models: []config.Offer{
			{ID: "acme/dollars", UpstreamID: "chat", PriceUSD: config.Prices{Prompt: "10000", Completion: "10000"}},
			{ID: "acme/rubles", UpstreamID: "chat", Prices: config.Prices{Prompt: "1000", Completion: "1000"}},
		}}
		s.Config.Providers = []config.Provider{works}
	})
	a := gw.NewAccount(t)
	for _, c := range []struct{ model, mode, price string }{
		{"acme/dollars", rate.OnTop, "1200"},
		{"acme/rubles", rate.Included, "1000"},
	} {
		is := a.Chat(t, map[string]any{"model": c.model, "max_tokens": 5, "messages": apptest.Question}).Reported(t, false)
		got := a.Do(t, http.MethodGet, "/api/calls/"+is.ID, nil)
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
		if err := json.Unmarshal(got.Body, &call); err != nil || call.Data.Price.VAT == nil {
			t.Fatalf("%s: %v: %s", c.model, err, got.Body)
		}
		p := call.Data.Price
		if p.VAT.Mode != c.mode || p.VAT.Percent != "20" || apptest.Parse(t, json.Number(p.Amount)) != (is.Cost+3)/6 {
			t.Errorf("%s: %+v %s of %s", c.model, p.VAT, p.Amount, is.Cost)
		}
		if parts := call.Data.Usage.Parts; len(parts) == 0 || parts[0].Price != c.price {
			t.Errorf("%s: parts %+v, want a price of %s", c.model, parts, c.price)
		}
	}
	gw.WantBalanced(t)
}

// When the tax changes within a period, statement, days, rows and file have each rate apart, and all of them sum to the charges.
func TestVATOfStatements(t *testing.T) {
	t.Parallel()
	var changed config.Config
	gw := apptest.StartGateway(t, func(s *apptest.Setup) {
		s.Pricing.RubPerUSD, s.Pricing.VAT = "97.3", rate.VAT{Mode: rate.OnTop, Percent: "20"}
		s.Config.Providers = []config.Provider{{ID: "hut", BaseURL: s.Declared.Providers[0].BaseURL, Models: []config.Offer{
			{ID: "acme/dollars", UpstreamID: "chat", PriceUSD: config.Prices{Prompt: "1.37", Completion: "2.77"}},
			{ID: "acme/rubles", UpstreamID: "chat", Prices: config.Prices{Prompt: "1.1", Completion: "1.7"}},
		}}}
		changed = s.Config
	})
	o, day := gw.NewOwner(t, 500, apikey.NewKey{}), time.Now().UTC()
	charged, taxed, refunded := map[string]money.Nano{}, map[string]money.Nano{}, money.Nano(0)
	var last string
	calls := func(percent string) {
		v := rate.VAT{Mode: rate.Included, Percent: percent}
		if percent == "" {
			v.Mode = ""
		}
		for range 7 {
			for _, model := range []string{"acme/dollars", "acme/rubles"} {
				is := o.Chat(t, map[string]any{"model": model, "max_tokens": 5, "messages": apptest.Question}).Reported(t, false)
				charged[percent] += is.Cost
				taxed[percent] += v.Part(is.Cost)
				last = is.ID
			}
		}
	}
	calls("20")
	for _, v := range []rate.VAT{{Mode: rate.Included, Percent: "22.0"}, {Mode: "none", Percent: "22"}} {
		changed.Pricing.VAT = v
		if err := gw.Node.Reload(changed); err != nil {
			t.Fatal(err)
		}
		if v.Mode == "none" {
			calls("")
		} else {
			calls("22")
			o.Credits(t) // waits until the charges are posted
			posted, err := ledger.GiveBack(t.Context(), gw.Node.Admin().Store.Ledger, ledger.Refund{ID: "r-1", Generation: last, Amount: 12_345, Reason: "r", Actor: audit.Actor{Name: "test"}}, time.Now())
			if err != nil {
				t.Fatal(err)
			}
			refunded = posted.Amount
			taxed["22"] -= rate.VAT{Mode: rate.Included, Percent: "22"}.Part(refunded)
		}
	}
	o.Credits(t)
	check := func(what string, list []map[string]any) {
		t.Helper()
		if len(list) != len(charged) {
			t.Fatalf("%s: %v", what, list)
		}
		for _, v := range list {
			percent, _ := v["percent"].(string)
			gross := charged[percent]
			if percent == "22" {
				gross -= refunded
			}
			net, vat := rubles(t, v["net"]), rubles(t, v["vat"])
			if rubles(t, v["gross"]) != gross || vat != taxed[percent] || net+vat != gross {
				t.Errorf("%s: VAT %q: %v, want %s with %s", what, percent, v, gross, taxed[percent])
			}
		}
	}
	path := "?from=" + day.Format(time.DateOnly)
	l := o.Page(t, "/api/ledger"+path)
	check("statement", elements(l["vat"]))
	rows := map[string]money.Nano{}
	for _, r := range elements(l["rows"]) {
		for _, v := range elements(r["vat"]) {
			percent, _ := v["percent"].(string)
			if n := rubles(t, v["vat"]); r["kind"] == "refund" {
				rows[percent] -= n
			} else {
				rows[percent] += n
			}
		}
	}
	file := map[string]money.Nano{}
	for _, r := range o.Table(t, "/api/ledger.csv"+path) {
		if r["vat_rub"] == "" {
			continue
		}
		n := rubles(t, r["vat_rub"])
		if r["credit_rub"] != "" {
			n = -n
		}
		file[r["vat_percent"]] += n
		if rubles(t, r["net_rub"])+rubles(t, r["vat_rub"]) != rubles(t, cmp.Or(r["debit_rub"], r["credit_rub"])) {
			t.Errorf("a row of the file does not add up: %v", r)
		}
	}
	for percent, want := range taxed {
		if rows[percent] != want || file[percent] != want {
			t.Errorf("VAT %q: rows say %s, the file %s, want %s", percent, rows[percent], file[percent], want)
		}
	}
	if time.Now().UTC().Day() == day.Day() {
		check("day", elements(o.Page(t, "/api/ledger/day/"+day.Format(time.DateOnly))["vat"]))
	}
	gw.WantBalanced(t)
}
