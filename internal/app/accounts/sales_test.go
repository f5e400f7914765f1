package accounts_test

import (
	"bytes"
	"encoding/csv"
	"math"
	"net/http"
	"strconv"
	"strings"
	"testing"
	"time"

	"weir/internal/apikey"
	"weir/internal/app/apptest"
	"weir/internal/audit"
	"weir/internal/config"
	"weir/internal/figures"
	"weir/internal/ledger"
	"weir/internal/money"
	"weir/internal/rate"
)

// saleRubles is an amount that may be below zero.
type saleRubles money.Nano

func (r *saleRubles) UnmarshalText(b []byte) error {
	digits, below := strings.CutPrefix(string(b), "-")
	n, err := money.Parse(digits)
	if *r = saleRubles(n); below {
		*r = -*r
	}
	return err
}

func (r saleRubles) String() string { return money.Nano(r).String() }

type saleFigures struct {
	Calls        int64
	Charged      int64 `json:"charged_calls"`
	Sales        saleRubles
	VAT          saleRubles
	Margin       saleRubles
	Cost         saleRubles `json:"provider_cost"`
	Dollars      saleRubles `json:"provider_cost_dollars"`
	UnknownCalls int64      `json:"unknown_cost_calls"`
	Unknown      saleRubles `json:"unknown_cost_sales"`
	Refunded     saleRubles
	RefundedVAT  saleRubles `json:"refunded_vat"`
}

func (f *saleFigures) add(o *saleFigures) {
	f.Calls, f.Charged, f.UnknownCalls = f.Calls+o.Calls, f.Charged+o.Charged, f.UnknownCalls+o.UnknownCalls
	f.Sales, f.VAT, f.Margin, f.Cost, f.Dollars = f.Sales+o.Sales, f.VAT+o.VAT, f.Margin+o.Margin, f.Cost+o.Cost, f.Dollars+o.Dollars
	f.Unknown, f.Refunded, f.RefundedVAT = f.Unknown+o.Unknown, f.Refunded+o.Refunded, f.RefundedVAT+o.RefundedVAT
}

type salesAnswer struct {
	From, To        string
	Total, Previous saleFigures
	Days            []struct{ Day string }
	Rows            []struct {
		Key  string
		Name *string
		saleFigures
	}
	Count   int
	Next    *string
	LastDay *string `json:"last_day"`
}

// salesDesk has calls of two people at two providers, at prices in dollars and in rubles, one that failed, and a refund.
type salesDesk struct {
	*peopleDesk
	anna, boris *apptest.Owner
	charged     saleRubles // as the answers said
	back        saleRubles
}

func openSales(t *testing.T) *salesDesk {
	t.Helper()
	d := &salesDesk{}
	d.peopleDesk = openPeople(t, func(s *apptest.Setup) {
		s.Pricing.RubPerUSD, s.Pricing.Margin, s.Pricing.VAT = "97.3", "0.1", rate.VAT{Mode: rate.OnTop, Percent: "20"}
		at := s.Declared.Providers[0].BaseURL
		s.Config.Providers = []config.Provider{
			{ID: "hut", BaseURL: at, Models: []config.Offer{
				{ID: "acme/dollars", UpstreamID: "chat", PriceUSD: config.Prices{Prompt: "1.37", Completion: "2.77"}},
				{ID: "acme/rubles", UpstreamID: "chat", Prices: config.Prices{Prompt: "1.1", Completion: "1.7"}},
			}},
			{ID: "den", BaseURL: at, Models: []config.Offer{{ID: "acme/other", UpstreamID: "chat", PriceUSD: config.Prices{Prompt: "0.31", Completion: "0.7"}}}},
		}
	})
	d.anna, d.boris = d.gw.NewOwner(t, 100, apikey.NewKey{}), d.gw.NewOwner(t, 100, apikey.NewKey{})
	var last string
	for _, c := range []struct {
		by    *apptest.Owner
		model string
	}{{d.anna, "acme/rubles"}, {d.boris, "acme/other"}, {d.anna, "acme/dollars"}, {d.anna, "acme/other"}, {d.boris, "acme/dollars"}} {
		is := c.by.Chat(t, map[string]any{"model": c.model, "max_tokens": 5, "messages": apptest.Question}).Reported(t, false)
		d.charged += saleRubles(is.Cost)
		last = is.ID
	}
	d.anna.Chat(t, map[string]any{"model": "test/u12-status-400", "messages": apptest.Question})
	d.boris.Credits(t) // waits until the charges are posted
	refund := ledger.Refund{ID: "r-1", Generation: last, Amount: 12_345, Reason: "r", Actor: audit.Actor{Name: "test"}}
	if _, err := ledger.GiveBack(t.Context(), d.gw.Node.Admin().Store.Ledger, refund, time.Now()); err != nil {
		t.Fatal(err)
	}
	d.back = 12_345
	return d
}

func (d *salesDesk) get(t *testing.T, query string) salesAnswer {
	t.Helper()
	return do[salesAnswer](t, d.operator, 200, http.MethodGet, "/api/admin/sales?"+query, nil)
}

// Sales are the same by each dimension, in the file, in the ledger and in the metric that Now is made of.
func TestSalesAgree(t *testing.T) {
	t.Parallel()
	d := openSales(t)
	total := d.get(t, "").Total
	if total.Calls != 6 || total.Charged != 5 || total.Sales != d.charged || total.Refunded != d.back || total.RefundedVAT == 0 || total.UnknownCalls != 1 || total.Unknown == 0 {
		t.Fatalf("%+v, want %s", total, d.charged)
	}
	if total.Cost == 0 || total.VAT == 0 || total.Margin <= 0 || total.Sales-total.VAT-total.Cost-total.Unknown != total.Margin {
		t.Errorf("%+v", total)
	}
	for by, rows := range map[string]int{"day": 0, "model": 4, "provider": 3, "account": 2} {
		got, sum := d.get(t, "by="+by), saleFigures{}
		for i := range got.Rows {
			sum.add(&got.Rows[i].saleFigures)
		}
		if sum != total || got.Total != total || got.Count != len(got.Rows) || rows > 0 && len(got.Rows) != rows || len(got.Days) != 30 {
			t.Errorf("by %s: %+v", by, got)
		}
	}
	if sum := d.file(t, ""); sum != total {
		t.Errorf("the file adds up to %+v, the page to %+v", sum, total)
	}
	books, err := d.gw.Node.Admin().Store.Ledger.Totals(t.Context()) // what the page of the ledger shows
	if err != nil {
		t.Fatal(err)
	}
	said := map[string]string{}
	for _, k := range books.Kinds {
		said[k.Account] = k.Amount
	}
	if said["revenue"] != total.Sales.String() || said["refund"] != (-total.Refunded).String() {
		t.Errorf("the ledger says %v, the page %s and %s back", said, total.Sales, total.Refunded)
	}
	s, err := figures.Read(strings.NewReader(d.gw.Metrics(t)), time.Now())
	if err != nil {
		t.Fatal(err)
	}
	if rubles := s.Totals().Rubles; math.Abs(rubles-float64(total.Sales)/1e9) > 1e-9 { // floats
		t.Errorf("the metric says %g, the page %s", rubles, total.Sales)
	}
}

// file adds up the rows of the file.
func (d *salesDesk) file(t *testing.T, query string) (sum saleFigures) {
	t.Helper()
	got := d.operator.Do(t, http.MethodGet, "/api/admin/sales.csv?"+query, nil)
	rows, err := csv.NewReader(bytes.NewReader(bytes.TrimPrefix(got.Body, []byte("\ufeff")))).ReadAll()
	if err != nil || got.Status != 200 || len(rows) == 0 {
		t.Fatalf("%d %v %s", got.Status, err, got.Body)
	}
	for _, row := range rows[1:] {
		for i, head := range rows[0] {
			count := map[string]*int64{"calls": &sum.Calls, "charged_calls": &sum.Charged, "unknown_cost_calls": &sum.UnknownCalls}[head]
			amount := map[string]*saleRubles{
				"sales_rub": &sum.Sales, "vat_rub": &sum.VAT, "provider_cost_usd": &sum.Dollars, "provider_cost_rub": &sum.Cost, "margin_rub": &sum.Margin,
				"unknown_cost_sales_rub": &sum.Unknown, "refunded_rub": &sum.Refunded, "refunded_vat_rub": &sum.RefundedVAT,
			}[head]
			var n int64
			var r saleRubles
			switch {
			case count != nil:
				n, err = strconv.ParseInt(row[i], 10, 64)
				*count += n
			case amount != nil:
				err = r.UnmarshalText([]byte(row[i]))
				*amount += r
			}
			if err != nil {
				t.Fatalf("%s: %v", head, err)
			}
		}
	}
	return sum
}

// Filters choose the same calls on the page and in the file; a table may be read page by page.
func TestSalesOfSome(t *testing.T) {
	t.Parallel()
	d := openSales(t)
	for query, want := range map[string][2]int64{ // calls, and those that were charged
		"account=" + d.anna.User: {4, 3}, "account=" + d.boris.User: {2, 2}, "account=usr_none": {0, 0}, "model=acme/other": {2, 2}, "model=acme/none": {0, 0}, "provider=hut": {3, 3}, "provider=den": {2, 2},
		"model=(none)": {1, 0}, "provider=(none)": {1, 0}, "provider=hut&model=acme/other": {0, 0}, "provider=hut&account=" + d.boris.User: {1, 1}, "from=2020-01-01&to=2020-01-31": {0, 0},
	} {
		got := d.get(t, query)
		if is := got.Total; is.Calls != want[0] || is.Charged != want[1] || (is.Sales > 0) != (want[1] > 0) {
			t.Errorf("%s: %+v", query, is)
		}
		if sum := d.file(t, query); sum != got.Total {
			t.Errorf("%s: the file adds up to %+v, the page to %+v", query, sum, got.Total)
		}
	}
	if none := d.get(t, "from=2020-01-01&to=2020-01-31"); none.LastDay != nil || none.Count != 0 || none.From != "2020-01-01" || none.To != "2020-01-31" || len(none.Days) != 31 {
		t.Errorf("%+v", none)
	}
	after := time.Now().AddDate(0, 0, 2).UTC().Format(time.DateOnly)
	if later := d.get(t, "from="+after+"&to="+after); later.LastDay == nil || later.Total.Calls != 0 || later.Previous.Calls != 0 {
		t.Errorf("%+v", later)
	}
	page := d.get(t, "by=account&limit=1")
	if page.Next == nil || page.Count != 2 || len(page.Rows) != 1 || page.Rows[0].Name == nil {
		t.Fatalf("%+v", page)
	}
	rest := d.get(t, "by=account&limit=1&cursor="+*page.Next)
	if rest.Next != nil || len(rest.Rows) != 1 || rest.Total != page.Total || rest.Rows[0].Sales > page.Rows[0].Sales {
		t.Fatalf("%+v", rest)
	}
	if keys := map[string]bool{page.Rows[0].Key: true, rest.Rows[0].Key: true}; !keys[d.anna.User] || !keys[d.boris.User] {
		t.Errorf("%v", keys)
	}
}

// Sales are for operators alone, and what cannot be read is refused.
func TestSalesAreRefused(t *testing.T) {
	t.Parallel()
	d := openPeople(t)
	o := d.gw.NewOwner(t, 1, apikey.NewKey{})
	for _, path := range []string{"/api/admin/sales", "/api/admin/sales.csv"} {
		for _, x := range []struct {
			key    string
			status int
		}{{d.operator.Key, 200}, {d.administrator.Key, 200}, {o.Pages.Key, 403}, {o.Key, 403}, {"sk-weir-v1-none", 401}} {
			if got := (&apptest.Account{Gw: d.operator.Gw, Key: x.key}).Do(t, http.MethodGet, path, nil); got.Status != x.status {
				t.Errorf("%s: %d, want %d: %s", path, got.Status, x.status, got.Body)
			}
		}
		bad := []string{"from=yesterday", "to=2026-13-01", "from=2026-02-01&to=2026-01-01", "from=2020-01-01&to=2026-01-01", "from=1960-01-01&to=1960-01-02", "account=" + strings.Repeat("x", 129), "provider=" + strings.Repeat("x", 257), "model=" + strings.Repeat("x", 641)}
		if path == "/api/admin/sales" {
			bad = append(bad, "by=key", "cursor=x", "cursor=-1", "limit=1000", "limit=0")
		}
		for _, query := range bad {
			if got := d.operator.Do(t, http.MethodGet, path+"?"+query, nil); got.Status != 400 {
				t.Errorf("%s?%s: %d %s", path, query, got.Status, got.Body)
			}
		}
	}
}
