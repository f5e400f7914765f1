package accounts_test

import (
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

// TestPapersOfOrganization: an invoice and an act are made for the organization, with its contract data, by its owner or who sees to the money, and paid
// into its wallet; its statement has the payment. Its members read none of it, and the wallets of persons stay as they are.
func TestPapersOfOrganization(t *testing.T) {
	t.Parallel()
	gw, c := openCompany(t)
	boss := gw.NewOwner(t, 1, apikey.NewKey{})
	desk := &apptest.Account{Gw: &apptest.Gateway{URL: gw.Node.AdminURL(), Client: gw.Client}, Key: boss.Pages.Key}
	if err := gw.Node.Admin().Users.SetRole(t.Context(), boss.User, apikey.Administrator, audit.Actor{Name: "test"}); err != nil {
		t.Fatal(err)
	}
	id := made(t, c.paying.Pages, "POST", c.at("/api/invoices"), map[string]any{"amount": "5000"}, "data", "id")
	number := made(t, c.owner.Pages, "GET", c.at("/api/invoices/"+id), nil, "data", "number")
	document := c.paying.Pages.Do(t, "GET", c.at("/api/invoices/"+id+"/pdf"), nil)
	text, err := pdf.Text(document.Body, pdf.Default())
	if err != nil || !strings.Contains(text.Text, number) || !strings.Contains(text.Text, secretWord) || !strings.Contains(text.Text, "0076543215") {
		t.Errorf("%v: %s", err, text.Text)
	}
	for who, o := range map[string]*apptest.Owner{"a manager": c.manager, "a member": c.member} {
		for _, path := range []string{"/api/invoices", "/api/invoices/" + id, "/api/invoices/" + id + "/pdf", "/api/acts", "/api/account/statement", "/api/ledger"} {
			if got := o.Pages.Do(t, "GET", c.at(path), nil); got.Status != http.StatusForbidden {
				t.Errorf("%s by %s: %d %s", path, who, got.Status, got.Body)
			}
		}
	}
	wallet := func() money.Nano {
		t.Helper()
		return apptest.Parse(t, c.key.Credits(t).Balance)
	}
	before := wallet()
	file := transferFile("6100.00", "0076543215", "Оплата по счету "+number)
	file["dry_run"] = false
	if got := desk.Do(t, "POST", "/api/admin/invoices/import", file); got.Status != http.StatusOK {
		t.Fatalf("%d %s", got.Status, got.Body)
	}
	if got := wallet() - before; got != 5000*money.Ruble {
		t.Errorf("%s came to the wallet", got)
	}
	if statement := c.paying.Pages.Do(t, "GET", c.at("/api/account/statement"), nil); statement.Status != http.StatusOK || !strings.Contains(string(statement.Body), `"5000"`) {
		t.Errorf("%d %s", statement.Status, statement.Body)
	}
	if own := c.paying.Pages.Do(t, "GET", "/api/account/statement", nil); strings.Contains(string(own.Body), `"5000"`) {
		t.Errorf("the payment is in the own account of who made the invoice: %s", own.Body)
	}
	c.wantAct(t, gw)
	gw.WantBalanced(t)
}

// wantAct gives the organization a past month with an order and a charge, and reads its act.
func (c *company) wantAct(t *testing.T, gw *apptest.Gateway) {
	t.Helper()
	admin, then := gw.Node.Admin(), time.Now().AddDate(0, -2, 0)
	u, err := admin.Store.Accounts.UserByID(t.Context(), c.id)
	if err != nil {
		t.Fatal(err)
	}
	m, err := (&config.Invoices{Seller: invoiceSeller, VAT: rate.VAT{Mode: "none"}, Min: "1", Max: "100", NumberPrefix: "W-", ActPrefix: "A-", Line: "x", ActLine: "x", MaxOpen: 9, MaxPerDay: 9}).Manager(func() time.Time { return then })
	if err != nil {
		t.Fatal(err)
	}
	if _, err := invoice.NewManager(admin.Store.Payments, m).Make(t.Context(), invoice.Order{Account: c.id, Wallet: u.Wallet, Amount: 5 * money.Ruble}); err != nil {
		t.Fatal(err)
	}
	if _, err := ledger.Adjust(t.Context(), admin.Store.Ledger, ledger.Adjustment{Wallet: u.Wallet, ID: "past", Amount: -50 * money.Ruble, Reason: "calls of that month", Actor: audit.Actor{Name: "test"}}, then); err != nil {
		t.Fatal(err)
	}
	got := c.paying.Pages.Do(t, "POST", c.at("/api/acts"), map[string]any{"month": invoice.MonthsOf(nil).Of(then)})
	acts := apptest.Decode[struct {
		Data []struct{ ID, Total string }
	}](t, got.Body).Data
	if got.Status != http.StatusCreated || len(acts) != 1 || acts[0].Total != "61" {
		t.Fatalf("%d %s", got.Status, got.Body)
	}
	path := "/api/acts/" + acts[0].ID + "/pdf"
	text, err := pdf.Text(c.owner.Pages.Do(t, "GET", c.at(path), nil).Body, pdf.Default())
	if err != nil || !strings.Contains(text.Text, secretWord) || !strings.Contains(text.Text, "0076543215") {
		t.Errorf("%v: %s", err, text.Text)
	}
	for _, x := range []struct {
		by   *apptest.Owner
		path string
	}{{c.member, c.at(path)}, {c.owner, path}, {c.paying, path}} {
		if got := x.by.Pages.Do(t, "GET", x.path, nil); got.Status != http.StatusForbidden && got.Status != http.StatusNotFound {
			t.Errorf("%s: %d", x.path, got.Status)
		}
	}
}
