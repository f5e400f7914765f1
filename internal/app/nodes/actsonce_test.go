package nodes_test

import (
	"encoding/base64"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"weir/internal/apikey"
	"weir/internal/app/apptest"
	"weir/internal/audit"
	"weir/internal/invoice"
	"weir/internal/ledger"
	"weir/internal/money"
	"weir/internal/rate"
	"weir/internal/secret"
	"weir/internal/sim/pay"
	"weir/internal/store/postgres/pgtest"
)

// actsDesk is two nodes with an administrator at each, and an account with which they have to do.
type actsDesk struct {
	*testing.T
	nodes  []*apptest.Gateway
	bosses [2]*apptest.Account
	payer  *apptest.Owner
	shop   *pay.Shop
	n      *int // numbers documents and references
}

func openActsDesk(t *testing.T) *actsDesk {
	t.Helper()
	d := &actsDesk{T: t, n: new(int), shop: pay.New(pay.Config{ShopID: "100500", SecretKey: "test_secret", Now: time.Now})}
	d.shop.Set(pay.Faults{Hold: true})
	server := &http.Server{Handler: d.shop, ReadHeaderTimeout: time.Minute}
	l := apptest.Listen(t)
	go func() { _ = server.Serve(l) }()
	t.Cleanup(func() { _ = server.Close() })
	seller := invoice.Seller{Name: "ООО «Плотина»", INN: "0012345673", KPP: "001201001", Address: "Москва", Bank: "АО «Речной банк»", BIK: "000000225", Account: "40702810400000000018", Correspondent: "30101810300000000225", Director: "Иванова А. П."}
	d.nodes = apptest.StartNodes(t, 2, pgtest.New(t), apptest.Quick, apptest.Sealing(t), apptest.Videos(t, "", map[string]string{"film/works": "video"}), func(s *apptest.Setup) {
		s.Server.AdminAPI = true
		s.Invoices.Enabled, s.Invoices.Seller, s.Invoices.VAT = true, seller, rate.VAT{Mode: "none"}
		s.Invoices.MaxOpen, s.Invoices.MaxPerDay = 1000, 1000
		p := &s.Payments
		p.Provider, p.Poll = "yookassa", time.Second
		y := &p.YooKassa
		y.ShopID, y.SecretKey, y.Test, y.BaseURL, y.NotifyFrom = "100500", secret.New("test_secret"), true, "http://"+l.Addr().String()+"/v3", []string{"127.0.0.0/8"}
	})
	for i, gw := range d.nodes {
		o := d.nodes[0].NewOwner(t, 1, apikey.NewKey{})
		if err := d.nodes[0].Node.Admin().Users.SetRole(t.Context(), o.User, apikey.Administrator, audit.Actor{Name: "test"}); err != nil {
			t.Fatal(err)
		}
		d.bosses[i] = &apptest.Account{Gw: gw, Key: o.Pages.Key}
	}
	d.payer = d.nodes[0].NewOwner(t, 1000, apikey.NewKey{})
	d.made(d.payer.Pages, http.MethodPut, "/api/invoices/buyer", map[string]any{"name": "ООО «Ромашка»", "inn": "0076543215", "kpp": "007601001", "address": "Москва"})
	return d
}

// made does what must succeed and returns its data.
func (d *actsDesk) made(by *apptest.Account, method, path string, body any) map[string]any {
	d.Helper()
	got := by.Do(d.T, method, path, body)
	if got.Status/100 != 2 {
		d.Fatalf("%s %s: %d %s", method, path, got.Status, got.Body)
	}
	if len(got.Body) == 0 {
		return nil
	}
	is := apptest.Decode[map[string]any](d.T, got.Body)
	if data, ok := is["data"].(map[string]any); ok {
		return data
	}
	return is
}

// reference is another one each time.
func (d *actsDesk) reference() string {
	*d.n++
	return fmt.Sprint("T-", *d.n)
}

// balance is the payer's.
func (d *actsDesk) balance() money.Nano {
	d.Helper()
	u, err := d.nodes[0].Node.Admin().Users.ByID(d.Context(), d.payer.User)
	if err != nil {
		d.Fatal(err)
	}
	b, err := d.nodes[0].Node.Admin().Store.Ledger.Balance(d.Context(), u.Wallet)
	if err != nil {
		d.Fatal(err)
	}
	return b.Balance
}

// lines counts the lines of the audit log with one of these acts.
func (d *actsDesk) lines(actions []string) (n int) {
	d.Helper()
	for row, err := range d.nodes[0].Node.Admin().Store.Accounts.AuditRows(d.Context()) {
		if err != nil {
			d.Fatal(err)
		}
		if slices.Contains(actions, row.Action) {
			n++
		}
	}
	return n
}

// call is a charged call of the payer.
func (d *actsDesk) call() (generation string, cost money.Nano) {
	d.Helper()
	got := d.payer.Chat(d.T, map[string]any{"model": "test/next", "messages": []any{map[string]any{"role": "user", "content": "hello"}}})
	if got.Status != http.StatusOK {
		d.Fatalf("%d %s", got.Status, got.Body)
	}
	generation = got.Header.Get("X-Generation-Id")
	apptest.WaitFor(d.T, "the charge to be posted", func() bool {
		return d.payer.Do(d.T, http.MethodGet, "/v1/generation?id="+generation, nil).Status == http.StatusOK && d.payer.Credits(d.T).Reserved == "0"
	})
	return generation, got.Reported(d.T, false).Cost
}

// invoice is one of so many rubles.
func (d *actsDesk) invoice(rubles int) map[string]any {
	d.Helper()
	return d.made(d.payer.Pages, http.MethodPost, "/api/invoices", map[string]any{"amount": strconv.Itoa(rubles)})
}

// request is what one of the two administrators does.
type request struct {
	by           *apptest.Account
	method, path string
	body         any
}

// twoActs is an act that two do.
type twoActs struct {
	first, second request
	moved         money.Nano // by one of them, into the payer's wallet
	audits        []string   // there is one line of any of these; none: the act has no line of its own
	statuses      []int      // in order
	says          string     // in the answer that is refused; "": none is
	after         func()     // makes all as it was; nil: nothing is to do
}

// same is the act by both administrators, in the same words.
func (d *actsDesk) same(method, path string, body any) (first, second request) {
	return request{d.bosses[0], method, path, body}, request{d.bosses[1], method, path, body}
}

var actsOnce = map[string]func(*actsDesk) twoActs{
	"refund of a payment, pressed twice": func(d *actsDesk) (x twoActs) {
		id := d.paid(500)
		x.first, x.second = d.same("POST", "/api/admin/payments/"+id+"/refund", map[string]any{"reference": d.reference(), "reason": "asked for", "amount": "100", "refunded": "0"})
		x.moved, x.audits, x.statuses = -100*money.Ruble, []string{audit.PaymentRefund}, []int{200, 200}
		return x
	},
	"refund of a payment by two": func(d *actsDesk) (x twoActs) {
		id := d.paid(500)
		x.first, x.second = d.same("POST", "/api/admin/payments/"+id+"/refund", map[string]any{"reference": d.reference(), "reason": "asked for", "amount": "100", "refunded": "0"})
		x.second.body = map[string]any{"reference": d.reference(), "reason": "asked for", "amount": "100", "refunded": "0"}
		x.moved, x.audits, x.statuses, x.says = -100*money.Ruble, []string{audit.PaymentRefund}, []int{200, 409}, "Meanwhile another refund of this payment was made: 100 of 500"
		return x
	},
	"refund of all of a payment by two": func(d *actsDesk) (x twoActs) {
		id := d.paid(500)
		x.first, x.second = d.same("POST", "/api/admin/payments/"+id+"/refund", map[string]any{"reference": d.reference(), "reason": "asked for"})
		x.second.body = map[string]any{"reference": d.reference(), "reason": "asked for"}
		x.moved, x.audits, x.statuses, x.says = -500*money.Ruble, []string{audit.PaymentRefund}, []int{200, 422}, "0 rubles of the payment of 500 are left"
		return x
	},
	"refund of a call, pressed twice": func(d *actsDesk) (x twoActs) {
		id, cost := d.call()
		x.first, x.second = d.same("POST", "/api/admin/refunds", map[string]any{"generation": id, "reason": "it was empty", "reference": d.reference()})
		x.moved, x.audits, x.statuses = cost, []string{ledger.Refunded}, []int{200, 201}
		return x
	},
	"refund of a call by two": func(d *actsDesk) (x twoActs) {
		id, cost := d.call()
		x.first, x.second = d.same("POST", "/api/admin/refunds", map[string]any{"generation": id, "reason": "it was empty", "reference": d.reference()})
		x.second.body = map[string]any{"generation": id, "reason": "it was empty", "reference": d.reference()}
		x.moved, x.audits, x.statuses, x.says = cost, []string{ledger.Refunded}, []int{201, 422}, "refund"
		return x
	},
	"correction, pressed twice": func(d *actsDesk) (x twoActs) {
		x.first, x.second = d.same("POST", "/api/admin/adjustments", map[string]any{"user": d.payer.User, "amount": "7", "reason": "promised", "reference": d.reference()})
		x.moved, x.audits, x.statuses = 7*money.Ruble, []string{ledger.Adjusted}, []int{200, 201}
		return x
	},
	"two corrections with one reference": func(d *actsDesk) (x twoActs) {
		x.first, x.second = d.same("POST", "/api/admin/adjustments", map[string]any{"user": d.payer.User, "amount": "7", "reason": "promised", "reference": d.reference()})
		x.second.body = map[string]any{"user": d.payer.User, "amount": "7", "reason": "promised by mail", "reference": fmt.Sprint("T-", *d.n)}
		x.moved, x.audits, x.statuses, x.says = 7*money.Ruble, []string{ledger.Adjusted}, []int{201, 409}, "reason"
		return x
	},
	"invoice marked as paid, pressed twice": func(d *actsDesk) (x twoActs) {
		id := d.invoice(1000)["id"].(string)
		x.first, x.second = d.same("POST", "/api/admin/invoices/"+id+"/paid", map[string]any{"reference": d.reference(), "date": time.Now().Format(time.DateOnly)})
		x.moved, x.audits, x.statuses = 1000*money.Ruble, []string{audit.InvoicePaid}, []int{200, 200}
		return x
	},
	"invoice marked as paid by two": func(d *actsDesk) (x twoActs) {
		id := d.invoice(1000)["id"].(string)
		x.first, x.second = d.same("POST", "/api/admin/invoices/"+id+"/paid", map[string]any{"reference": d.reference(), "date": time.Now().Format(time.DateOnly)})
		x.second.body = map[string]any{"reference": d.reference(), "date": time.Now().Format(time.DateOnly)}
		x.moved, x.audits, x.statuses, x.says = 1000*money.Ruble, []string{audit.InvoicePaid}, []int{200, 409}, "is paid"
		return x
	},
	"invoice paid back by two": func(d *actsDesk) (x twoActs) {
		id := d.invoice(1000)["id"].(string)
		d.made(d.bosses[0], "POST", "/api/admin/invoices/"+id+"/paid", map[string]any{"reference": d.reference(), "date": time.Now().Format(time.DateOnly)})
		back := func() map[string]any {
			return map[string]any{"reference": d.reference(), "date": time.Now().Format(time.DateOnly), "amount": "1000", "reason": "asked for"}
		}
		x.first, x.second = d.same("POST", "/api/admin/invoices/"+id+"/refund", back())
		x.second.body = back()
		x.moved, x.audits, x.statuses, x.says = -1000*money.Ruble, []string{audit.InvoicePaidBack}, []int{200, 422}, "Only 0 rubles have arrived"
		return x
	},
	"invoice cancelled by two": func(d *actsDesk) (x twoActs) {
		id := d.invoice(1000)["id"].(string)
		x.first, x.second = d.same("DELETE", "/api/admin/invoices/"+id, nil)
		x.audits, x.statuses = []string{audit.InvoiceCancelled}, []int{200, 200}
		return x
	},
	"statement imported by two": func(d *actsDesk) (x twoActs) {
		n := d.invoice(1000)["number"].(string)
		x.first, x.second = d.same("POST", "/api/admin/invoices/import", map[string]any{"statement": d.bankFile("1000.00", "Оплата "+n), "name": "kl_to_1c.txt"})
		x.moved, x.audits, x.statuses = 1000*money.Ruble, []string{audit.InvoicePaid}, []int{200, 200}
		return x
	},
	"line of a statement matched by two": func(d *actsDesk) (x twoActs) {
		id := d.invoice(1000)["id"].(string)
		done := d.made(d.bosses[0], "POST", "/api/admin/invoices/import", map[string]any{"statement": d.bankFile("1000.00", "За услуги"), "name": "kl_to_1c.txt"})
		line := done["documents"].([]any)[0].(map[string]any)["line"]
		x.first, x.second = d.same("POST", fmt.Sprintf("/api/admin/statements/%s/lines/%v/assign", done["statement"], line), map[string]any{"invoice": id})
		x.moved, x.audits, x.statuses = 1000*money.Ruble, []string{audit.InvoicePaid}, []int{200, 200}
		return x
	},
	"voucher redeemed, pressed twice": func(d *actsDesk) (x twoActs) {
		batch := d.made(d.bosses[0], "POST", "/api/admin/vouchers", map[string]any{"amount": "50", "codes": 1, "uses": 1, "note": "spring"})
		code := map[string]any{"code": batch["secrets"].([]any)[0]}
		x.first = request{d.payer.Pages, "POST", "/api/vouchers/redeem", code}
		x.second = request{&apptest.Account{Gw: d.nodes[1], Key: d.payer.Pages.Key}, "POST", "/api/vouchers/redeem", code}
		x.moved, x.statuses = 50*money.Ruble, []int{200, 200}
		return x
	},
	"vouchers ended by two": func(d *actsDesk) (x twoActs) {
		batch := d.made(d.bosses[0], "POST", "/api/admin/vouchers", map[string]any{"amount": "50", "codes": 1, "uses": 1, "note": "spring"})
		x.first, x.second = d.same("DELETE", "/api/admin/vouchers/"+batch["id"].(string), nil)
		x.audits, x.statuses = []string{audit.VouchersRevoked}, []int{200, 200}
		return x
	},
	"job ended by two": func(d *actsDesk) (x twoActs) {
		film := d.payer.Shoot(d.T, apptest.Shoot("film/works", "[[sim job=stuck]] A heron."))
		x.first, x.second = d.same("POST", "/api/admin/jobs/videos/"+film.ID+"/end", map[string]any{"reason": "The provider is out of order."})
		x.audits, x.statuses, x.says = []string{audit.JobEnded}, []int{204, 404}, "or it has ended"
		return x
	},
	"budget made by two": func(d *actsDesk) (x twoActs) {
		tag := d.reference()
		body := map[string]any{"scope": map[string]any{"kind": "tag", "id": strings.ToLower(tag)}, "period": "month", "amount": "100"}
		x.first = request{d.payer.Pages, "POST", "/api/budgets", body}
		x.second = request{&apptest.Account{Gw: d.nodes[1], Key: d.payer.Pages.Key}, "POST", "/api/budgets", body}
		x.audits, x.statuses, x.says = []string{audit.BudgetMade}, []int{201, 409}, "budget"
		return x
	},
	"budget put by two": func(d *actsDesk) (x twoActs) {
		tag := d.reference()
		body := map[string]any{"scope": map[string]any{"kind": "tag", "id": strings.ToLower(tag)}, "period": "month", "amount": "100"}
		x.first = request{d.payer.Pages, "PUT", "/api/budgets", body}
		x.second = request{&apptest.Account{Gw: d.nodes[1], Key: d.payer.Pages.Key}, "PUT", "/api/budgets", body}
		x.audits, x.statuses = []string{audit.BudgetMade, audit.BudgetChanged}, []int{200, 200}
		return x
	},
	"budget changed to the same by two": func(d *actsDesk) (x twoActs) {
		id := d.made(d.payer.Pages, "POST", "/api/budgets", map[string]any{"scope": map[string]any{"kind": "tag", "id": strings.ToLower(d.reference())}, "period": "month", "amount": "100"})["id"].(string)
		body := map[string]any{"amount": "200"}
		x.first = request{d.payer.Pages, "PATCH", "/api/budgets/" + id, body}
		x.second = request{&apptest.Account{Gw: d.nodes[1], Key: d.payer.Pages.Key}, "PATCH", "/api/budgets/" + id, body}
		x.audits, x.statuses = []string{audit.BudgetChanged}, []int{200, 200}
		return x
	},
	"budget deleted by two": func(d *actsDesk) (x twoActs) {
		id := d.made(d.payer.Pages, "POST", "/api/budgets", map[string]any{"scope": map[string]any{"kind": "tag", "id": strings.ToLower(d.reference())}, "period": "month", "amount": "100"})["id"].(string)
		x.first = request{d.payer.Pages, "DELETE", "/api/budgets/" + id, nil}
		x.second = request{&apptest.Account{Gw: d.nodes[1], Key: d.payer.Pages.Key}, "DELETE", "/api/budgets/" + id, nil}
		x.audits, x.statuses, x.says = []string{audit.BudgetRemoved}, []int{200, 404}, "budget"
		return x
	},
	"budget brought back by two": func(d *actsDesk) (x twoActs) {
		id := d.made(d.payer.Pages, "POST", "/api/budgets", map[string]any{"scope": map[string]any{"kind": "tag", "id": strings.ToLower(d.reference())}, "period": "month", "amount": "100"})["id"].(string)
		d.payer.Pages.Do(d.T, "DELETE", "/api/budgets/"+id, nil)
		x.first, x.second = d.payers("POST", "/api/budgets/"+id+"/restore", nil)
		x.audits, x.statuses = []string{audit.BudgetRestored}, []int{200, 200}
		return x
	},
	"prices published by two": func(d *actsDesk) (x twoActs) {
		x.first, x.second = d.same("POST", "/api/admin/prices/publish", map[string]any{"version": d.draft()})
		x.audits, x.statuses, x.says = []string{audit.PricesPublished}, []int{201, 409}, "draft"
		return x
	},
	"publication cancelled by two": func(d *actsDesk) (x twoActs) {
		p := d.made(d.bosses[0], "POST", "/api/admin/prices/publish", map[string]any{"version": d.draft(), "at": time.Now().Add(time.Hour)})
		x.first, x.second = d.same("POST", fmt.Sprintf("/api/admin/prices/publications/%v/cancel", p["id"]), nil)
		x.audits, x.statuses, x.says = []string{audit.PricesCancelled}, []int{200, 409}, "cancelled"
		return x
	},
	"prices reverted by two": func(d *actsDesk) (x twoActs) {
		p := d.made(d.bosses[0], "POST", "/api/admin/prices/publish", map[string]any{"version": d.draft()})
		x.first, x.second = d.same("POST", fmt.Sprintf("/api/admin/prices/publications/%v/revert", p["id"]), nil)
		x.statuses, x.says = []int{200, 409}, "draft"
		return x
	},
	"provider taken out by two": func(d *actsDesk) (x twoActs) {
		x.first, x.second = d.same("PUT", "/api/admin/absences/provider:works", map[string]any{"mode": "drain"})
		x.audits, x.statuses, x.after = []string{audit.ServiceDrained, audit.ServiceEjected}, []int{200, 200}, d.back
		return x
	},
	"provider returned by two": func(d *actsDesk) (x twoActs) {
		d.made(d.bosses[0], "PUT", "/api/admin/absences/provider:works", map[string]any{"mode": "drain"})
		x.first, x.second = d.same("DELETE", "/api/admin/absences/provider:works", nil)
		x.says = "is back already"
		x.audits, x.statuses, x.after = []string{audit.ServiceReturned}, []int{200, 409}, d.back
		return x
	},
}

// settingsAtOnce are changes of the payer's settings to what they are not yet, and their acts in the audit log.
var settingsAtOnce = map[string]func(d *actsDesk, n string) (method, path string, body map[string]any, act string){
	"organization": func(d *actsDesk, n string) (string, string, map[string]any, string) {
		return "PATCH", "/api/organizations/" + d.org(n), map[string]any{"name": n + " and sons"}, audit.OrgChanged
	},
	"member": func(d *actsDesk, n string) (string, string, map[string]any, string) {
		org := d.org(n)
		team := d.made(d.payer.Pages, "POST", "/api/organizations/"+org+"/teams", map[string]any{"name": n})["id"].(string)
		return "PATCH", "/api/organizations/" + org + "/members/" + d.payer.User, map[string]any{"team": team}, audit.OrgMember
	},
	"team": func(d *actsDesk, n string) (string, string, map[string]any, string) {
		org := d.org(n)
		team := d.made(d.payer.Pages, "POST", "/api/organizations/"+org+"/teams", map[string]any{"name": n})["id"].(string)
		return "PATCH", "/api/organizations/" + org + "/teams/" + team, map[string]any{"name": n + " and ranking"}, audit.OrgTeamChanged
	},
	"service": func(d *actsDesk, n string) (string, string, map[string]any, string) {
		org := d.org(n)
		service := d.made(d.payer.Pages, "POST", "/api/organizations/"+org+"/services", map[string]any{"name": n})["id"].(string)
		return "PATCH", "/api/organizations/" + org + "/services/" + service, map[string]any{"name": n + " daily"}, audit.OrgService
	},
	"buyer": func(_ *actsDesk, n string) (string, string, map[string]any, string) {
		return "PUT", "/api/invoices/buyer", map[string]any{"name": "ООО " + n, "inn": "0076543215", "kpp": "007601001", "address": "Москва"}, audit.BuyerSaved
	},
	"notices": func(d *actsDesk, _ string) (string, string, map[string]any, string) {
		return "PUT", "/api/notifications", map[string]any{"threshold": strconv.Itoa(100 + *d.n)}, audit.NoticesChanged
	},
	"preferences": func(_ *actsDesk, n string) (string, string, map[string]any, string) {
		return "PUT", "/api/account/preferences", map[string]any{"provider": map[string]any{"order": []string{strings.ToLower(n)}}}, audit.UserPreferences
	},
	"key": func(d *actsDesk, n string) (string, string, map[string]any, string) {
		return "PATCH", "/api/keys/" + apikey.Hash(d.payer.Key), map[string]any{"name": n}, audit.KeyChanged
	},
	"preset": func(_ *actsDesk, n string) (string, string, map[string]any, string) {
		return "PUT", "/api/presets/" + strings.ToLower(n), map[string]any{"model": "test/next"}, audit.PresetCreated
	},
	"stored data": func(d *actsDesk, _ string) (string, string, map[string]any, string) {
		return "PUT", "/api/account/data", map[string]any{"responses": "on_request", "chats": false, "days": 1 + *d.n%29}, audit.UserPreferences
	},
}

// org is a new organization of the payer.
func (d *actsDesk) org(name string) string {
	d.Helper()
	return d.made(d.payer.Pages, "POST", "/api/organizations", map[string]any{"name": name})["id"].(string)
}

// TestSettingsAreChangedOnce: who changes a setting to the same at two nodes at one moment has changed it once, and the audit log has one line.
func TestSettingsAreChangedOnce(t *testing.T) {
	t.Parallel()
	d := openActsDesk(t)
	for name, open := range settingsAtOnce {
		t.Run(name, func(t *testing.T) {
			d := *d
			d.T = t
			for range 2 {
				var x twoActs
				method, path, body, act := open(&d, d.reference())
				x.first, x.second = d.payers(method, path, body)
				x.audits, x.statuses = []string{act}, []int{200, 200}
				if strings.Contains(path, "/teams/") {
					x.statuses = []int{204, 204}
				}
				d.once(&x)
			}
		})
	}
}

// payers is an act of the payer, done at both nodes.
func (d *actsDesk) payers(method, path string, body any) (first, second request) {
	return request{d.payer.Pages, method, path, body}, request{&apptest.Account{Gw: d.nodes[1], Key: d.payer.Pages.Key}, method, path, body}
}

// back returns the provider to service, and waits until calls are answered.
func (d *actsDesk) back() {
	d.Helper()
	d.bosses[0].Do(d.T, http.MethodDelete, "/api/admin/absences/provider:works", nil) // it may be back
	apptest.WaitFor(d.T, "the provider to be asked", func() bool {
		return d.payer.Chat(d.T, map[string]any{"model": "test/next", "messages": []any{map[string]any{"role": "user", "content": "hello"}}}).Status == http.StatusOK
	})
	d.call() // its charge is posted, and those before
}

// paid is a payment of the payer that has succeeded.
func (d *actsDesk) paid(rubles int) string {
	d.Helper()
	id := d.made(d.payer.Pages, "POST", "/api/payments", map[string]any{"amount": strconv.Itoa(rubles)})["id"].(string)
	for _, p := range d.shop.Payments() {
		if p.Reference == id {
			d.shop.Confirm(p.ID)
		}
	}
	if is := d.made(d.bosses[0], "POST", "/api/admin/payments/"+id+"/check", nil); is["state"] != "succeeded" {
		d.Fatalf("%v", is)
	}
	return id
}

// draft changes a price in a draft and returns its version.
func (d *actsDesk) draft() any {
	d.Helper()
	if left, ok := d.made(d.bosses[0], http.MethodGet, "/api/admin/prices/draft", nil)["draft"].(map[string]any); ok { // by a revert
		d.made(d.bosses[0], http.MethodDelete, fmt.Sprintf("/api/admin/prices/draft?version=%v", left["version"]), nil)
	}
	*d.n++
	d.made(d.bosses[0], http.MethodPatch, "/api/admin/prices/draft/"+url.PathEscape("works/test/next"), map[string]any{"prices": map[string]any{"prompt": "0.1", "completion": fmt.Sprintf("0.%d", 1000+*d.n)}})
	return d.made(d.bosses[0], http.MethodGet, "/api/admin/prices/draft", nil)["draft"].(map[string]any)["version"]
}

// bankFile is a statement of a bank with one transfer.
func (d *actsDesk) bankFile(amount, purpose string) string {
	*d.n++
	today := time.Now().Format("02.01.2006")
	return base64.StdEncoding.EncodeToString([]byte("1CClientBankExchange\nСекцияДокумент=Платежное поручение\nНомер=" + strconv.Itoa(*d.n) + "\nДата=" + today + "\nСумма=" + amount + "\nПлательщикСчет=40702810500000000001\nПлательщик1=ООО Ромашка\nПлательщикИНН=0076543215" +
		"\nПолучательСчет=40702810400000000018\nДатаПоступило=" + today + "\nНазначениеПлатежа=" + purpose + "\nКонецДокумента\nКонецФайла\n"))
}

// TestActsAreDoneOnce: what two administrators do at the same moment at two nodes, or one who presses twice, is done once. Money moves once, the audit
// log has one line, and who comes second learns what was done. The same request again, later, changes nothing either.
func TestActsAreDoneOnce(t *testing.T) {
	t.Parallel()
	d := openActsDesk(t)
	for name, open := range actsOnce {
		t.Run(name, func(t *testing.T) {
			rounds := 3
			if testing.Short() {
				rounds = 1
			}
			for range rounds {
				d := *d
				d.T = t
				x := open(&d)
				d.once(&x)
				if x.after != nil {
					x.after()
				}
			}
		})
	}
	d.nodes[0].WantBalanced(t)
}

// once does both at the same moment, and the first one again.
func (d *actsDesk) once(x *twoActs) {
	d.Helper()
	before, lines := d.balance(), d.lines(x.audits)
	got := make([]*apptest.Answer, 2)
	var both sync.WaitGroup
	for i, r := range []request{x.first, x.second} {
		both.Go(func() { got[i] = r.by.Do(d.T, r.method, r.path, r.body) })
	}
	both.Wait()
	statuses := []int{got[0].Status, got[1].Status}
	slices.Sort(statuses)
	if !slices.Equal(statuses, x.statuses) {
		d.Errorf("both: %v, want %v: %s %s", statuses, x.statuses, got[0].Body, got[1].Body)
	}
	for _, a := range got {
		if a.Status >= 300 && (x.says == "" || !strings.Contains(string(a.Body), x.says)) {
			d.Errorf("refused with %d %s, which does not say %q", a.Status, a.Body, x.says)
		}
	}
	done := func(when string) {
		d.Helper()
		if moved := d.balance() - before; moved != x.moved {
			d.Errorf("%s: %s rubles have moved, want %s", when, moved, x.moved)
		}
		if n := d.lines(x.audits) - lines; n != min(1, len(x.audits)) {
			d.Errorf("%s: %d lines of %v", when, n, x.audits)
		}
	}
	done("after both")
	again := x.first.by.Do(d.T, x.first.method, x.first.path, x.first.body)
	if again.Status >= 500 {
		d.Errorf("again: %d %s", again.Status, again.Body)
	}
	done("after the first again")
}
