package accounts_test

import (
	"encoding/base64"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"weir/internal/apikey"
	"weir/internal/app/apptest"
	"weir/internal/audit"
	"weir/internal/config"
	"weir/internal/invoice"
	"weir/internal/ledger"
	"weir/internal/money"
	"weir/internal/plugin/pdf"
	"weir/internal/rate"
)

var invoiceSeller = invoice.Seller{Name: "ООО «Плотина»", INN: "0012345673", KPP: "001201001", Address: "Москва", Bank: "АО «Речной банк»", BIK: "000000225", Account: "40702810400000000018", Correspondent: "30101810300000000225", Director: "Иванова А. П."}

type invoiceAnswer struct {
	Data struct {
		ID, Number, State, Amount, Total, Received, Credited, Missing string
		VATAmount                                                     string `json:"vat_amount"`
		Repeated                                                      bool
		Transfers                                                     []map[string]any
		Counts                                                        map[string]int
		Documents                                                     []map[string]any
	}
}

func transferFile(amount, inn, purpose string) map[string]any {
	file := "1CClientBankExchange\nСекцияДокумент=Платежное поручение\nНомер=17\nДата=" + time.Now().Format("02.01.2006") + "\nСумма=" + amount + "\nПлательщикСчет=40702810500000000001\nПлательщик1=ООО Ромашка\nПлательщикИНН=" + inn +
		"\nПолучательСчет=" + invoiceSeller.Account + "\nДатаПоступило=" + time.Now().Format("02.01.2006") + "\nНазначениеПлатежа=" + purpose + "\nКонецДокумента\nКонецФайла\n"
	return map[string]any{"statement": base64.StdEncoding.EncodeToString([]byte(file))}
}

// An account makes an invoice, an operator imports the bank's statement, and invoice, balance and books agree. An account can neither see
// nor change what belongs to another.
func TestInvoices(t *testing.T) {
	t.Parallel()
	apptest.WithinADay(t) // a statement of a bank has its date
	gw := apptest.StartGateway(t, func(s *apptest.Setup) {
		s.Server.AdminListen = "127.0.0.1:0"
		s.Invoices.Enabled, s.Invoices.Seller, s.Invoices.VAT = true, invoiceSeller, rate.VAT{Mode: "on_top", Percent: "22"}
	})
	o, other, boss := gw.NewOwner(t, 100, apikey.NewKey{}), gw.NewOwner(t, 100, apikey.NewKey{}), gw.NewOwner(t, 1, apikey.NewKey{})
	desk := &apptest.Account{Gw: &apptest.Gateway{URL: gw.Node.AdminURL(), Client: gw.Client}, Key: boss.Pages.Key}
	if err := gw.Node.Admin().Users.SetRole(t.Context(), boss.User, apikey.Administrator, audit.Actor{Name: "test"}); err != nil {
		t.Fatal(err)
	}
	do := func(a *apptest.Account, status int, method, path string, body any) invoiceAnswer {
		t.Helper()
		got := a.Do(t, method, path, body)
		if got.Status != status {
			t.Fatalf("%s %s: %d %s", method, path, got.Status, got.Body)
		}
		if status >= 300 {
			return invoiceAnswer{}
		}
		return apptest.Decode[invoiceAnswer](t, got.Body)
	}
	do(o.Pages, 422, "POST", "/api/invoices", map[string]any{"amount": "10000"})
	buyer := map[string]any{"name": `ООО <script>alert(1)</script> =cmd()`, "inn": "0076543215", "kpp": "007601001", "address": "Москва"}
	for field, bad := range map[string]any{"inn": "0076543218", "kpp": "", "name": "", "address": nil, "x": "y"} {
		wrong := map[string]any{"name": buyer["name"], "inn": buyer["inn"], "kpp": buyer["kpp"], "address": buyer["address"], field: bad}
		if got := o.Pages.Do(t, "PUT", "/api/invoices/buyer", wrong); got.Status != 400 || !strings.Contains(string(got.Body), field) {
			t.Errorf("%s: %d %s", field, got.Status, got.Body)
		}
	}
	do(o.Pages, 200, "PUT", "/api/invoices/buyer", buyer)
	do(o.Account, 403, "POST", "/api/invoices", map[string]any{"amount": "10000"})
	for _, amount := range []any{"999.99", "1000000.01", "1000.001", "-1", "1e9", true, nil} {
		do(o.Pages, 400, "POST", "/api/invoices", map[string]any{"amount": amount})
	}
	made := do(o.Pages, 201, "POST", "/api/invoices", map[string]any{"amount": "10000"}).Data
	if made.Number != fmt.Sprintf("W-%d-1", time.Now().In(invoice.Moscow).Year()) || made.Total != "12200" || made.VATAmount != "2200" || made.State != "open" {
		t.Errorf("%+v", made)
	}
	path := "/api/invoices/" + made.ID
	for _, x := range []struct{ method, path string }{{"GET", path}, {"GET", path + "/pdf"}, {"DELETE", path}} {
		do(other.Pages, 404, x.method, x.path, nil)
	}
	for _, x := range []struct{ method, path string }{{"GET", "/api/admin/invoices"}, {"POST", "/api/admin/invoices/" + made.ID + "/paid"}, {"POST", "/api/admin/invoices/import"}} {
		do(&apptest.Account{Gw: desk.Gw, Key: other.Pages.Key}, 403, x.method, x.path, nil)
	}
	document := o.Pages.Do(t, "GET", path+"/pdf", nil)
	text, err := pdf.Text(document.Body, pdf.Default())
	if err != nil || !strings.Contains(text.Text, made.Number) || !strings.Contains(text.Text, "<script>alert(1)</script> =cmd()") {
		t.Errorf("%v: %s", err, text.Text)
	}

	wrong := transferFile("12200.00", "0012345673", made.Number)
	if got := do(desk, 200, "POST", "/api/admin/invoices/import", wrong).Data; got.Counts["payer_differs"] != 1 || got.Credited != "0" {
		t.Errorf("%+v", got)
	}
	file := transferFile("12200.00", "0076543215", "Оплата по счету "+made.Number)
	file["dry_run"] = true
	if got := do(desk, 200, "POST", "/api/admin/invoices/import", file).Data; got.Counts["credited"] != 1 || got.Credited != "10000" {
		t.Errorf("%+v", got)
	}
	file["dry_run"] = false
	for n, outcome := range []string{"credited", "already"} {
		if got := do(desk, 200, "POST", "/api/admin/invoices/import", file).Data; got.Counts[outcome] != 1 {
			t.Errorf("import %d: %+v", n, got)
		}
	}
	if is := do(o.Pages, 200, "GET", path, nil).Data; is.State != "paid" || is.Credited != "10000" || is.Missing != "0" || len(is.Transfers) != 1 || is.Transfers[0]["payer"] != nil {
		t.Errorf("%+v", is)
	}
	do(o.Pages, 409, "DELETE", path, nil)
	mark := map[string]any{"reference": "18", "date": time.Now().Format(time.DateOnly), "amount": "122"}
	for n := range 2 {
		if is := do(desk, 200, "POST", "/api/admin/invoices/"+made.ID+"/paid", mark).Data; is.Repeated != (n == 1) || is.Credited != "10100" || is.Missing != "-122" {
			t.Errorf("%+v", is)
		}
	}
	back := map[string]any{"reference": "19", "date": time.Now().Format(time.DateOnly), "amount": "122", "reason": "too much"}
	if is := do(desk, 200, "POST", "/api/admin/invoices/"+made.ID+"/refund", back).Data; is.Credited != "10000" {
		t.Errorf("%+v", is)
	}
	if b, err := gw.Node.Admin().Store.Ledger.Balance(t.Context(), walletOf(t, gw, o)); err != nil || b.Balance != 10_100*money.Ruble {
		t.Errorf("%s, %v", b.Balance, err)
	}
	for body, status := range map[string]int{`{"statement": "!"}`: 400, `{"statement": "aGVsbG8="}`: 400, `{}`: 400, `{"statement": "` + strings.Repeat("A", 24<<20) + `"}`: 413} {
		if got := desk.Send(t, "POST", "/api/admin/invoices/import", []byte(body), nil); got.Status != status {
			t.Errorf("%.40s: %d %s", body, got.Status, got.Body)
		}
	}
	actsOverTheAPI(t, gw, o, other, do)
}

// actsOverTheAPI makes an account old enough for an act, which it alone may read.
func actsOverTheAPI(t *testing.T, gw *apptest.Gateway, o, other *apptest.Owner, do func(*apptest.Account, int, string, string, any) invoiceAnswer) {
	t.Helper()
	do(o.Pages, 422, "POST", "/api/acts", map[string]any{"month": "2020-01"})
	do(o.Pages, 400, "POST", "/api/acts", map[string]any{"month": invoice.MonthsOf(nil).Of(time.Now())})
	admin := gw.Node.Admin()
	then := time.Now().AddDate(0, -2, 0)
	c, err := (&config.Invoices{Seller: invoiceSeller, VAT: rate.VAT{Mode: "none"}, Min: "1", Max: "100", NumberPrefix: "W-", ActPrefix: "A-", Line: "x", ActLine: "x", MaxOpen: 9, MaxPerDay: 9}).Manager(func() time.Time { return then })
	if err != nil {
		t.Fatal(err)
	}
	m := invoice.NewManager(admin.Store.Payments, c)
	wallet := walletOf(t, gw, o)
	if _, err := m.Make(t.Context(), invoice.Order{Account: o.User, Wallet: wallet, Amount: 5 * money.Ruble}); err != nil {
		t.Fatal(err)
	}
	if _, err := ledger.Adjust(t.Context(), admin.Store.Ledger, ledger.Adjustment{Wallet: wallet, ID: "past", Amount: -50_005_000_000, Reason: "calls of that month", Actor: audit.Actor{Name: "test"}}, then); err != nil {
		t.Fatal(err)
	}
	month := invoice.MonthsOf(nil).Of(then)
	got := o.Pages.Do(t, http.MethodPost, "/api/acts", map[string]any{"month": month})
	type acts struct {
		Due  []string
		Data []struct{ ID, Month, Amount, Total, Spent string }
	}
	made := apptest.Decode[acts](t, got.Body)
	if got.Status != 201 || len(made.Data) != 1 || made.Data[0].Month != month || made.Data[0].Amount != "50" || made.Data[0].Total != "61" || made.Data[0].Spent != "50.005" {
		t.Fatalf("%d %s", got.Status, got.Body)
	}
	list := apptest.Decode[acts](t, o.Pages.Do(t, http.MethodGet, "/api/acts", nil).Body)
	if len(list.Data) != 1 || len(list.Due) > 0 && list.Due[0] <= month {
		t.Errorf("%+v", list)
	}
	path := "/api/acts/" + made.Data[0].ID + "/pdf"
	do(other.Pages, 404, "GET", path, nil)
	first, second := o.Pages.Do(t, http.MethodGet, path, nil), o.Pages.Do(t, http.MethodGet, path, nil)
	text, err := pdf.Text(first.Body, pdf.Default())
	if err != nil || string(first.Body) != string(second.Body) || !strings.Contains(text.Text, "61,00") || first.Header.Get("Content-Type") != "application/pdf" {
		t.Errorf("%v, %s", err, text.Text)
	}
}

func walletOf(t *testing.T, gw *apptest.Gateway, o *apptest.Owner) string {
	t.Helper()
	u, err := gw.Node.Admin().Users.ByID(t.Context(), o.User)
	if err != nil {
		t.Fatal(err)
	}
	return u.Wallet
}
