package accounts_test

import (
	"encoding/base64"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"weir/internal/apikey"
	"weir/internal/app/apptest"
	"weir/internal/audit"
	"weir/internal/config"
	"weir/internal/invoice"
	"weir/internal/ledger"
	"weir/internal/money"
	"weir/internal/rate"
)

// bankDocument is a transfer to the seller, as banks write it.
type bankDocument struct{ number, amount, inn, purpose string }

func bankFile(all ...bankDocument) string {
	var b strings.Builder
	b.WriteString("1CClientBankExchange\n")
	today := time.Now().Format("02.01.2006")
	for _, d := range all {
		b.WriteString("СекцияДокумент=Платежное поручение\nНомер=" + d.number + "\nДата=" + today + "\nСумма=" + d.amount + "\nПлательщикСчет=40702810500000000001\nПлательщик1=ООО Ромашка\nПлательщикИНН=" + d.inn +
			"\nПолучательСчет=" + invoiceSeller.Account + "\nДатаПоступило=" + today + "\nНазначениеПлатежа=" + d.purpose + "\nКонецДокумента\n")
	}
	b.WriteString("КонецФайла\n")
	return base64.StdEncoding.EncodeToString([]byte(b.String()))
}

type bankLine struct {
	Line                           int64
	Number, Outcome, Aside, Credit string
	Invoice                        string
	NeedsYou                       bool `json:"needs_you"`
	MayAssign                      bool `json:"may_assign"`
	Choices                        []struct{ ID string }
}

type bankStatement struct {
	ID, Name, Actor, Amount                         string
	ActorName                                       string `json:"actor_name"`
	Documents, Credited, Already, Outgoing, Waiting int64
	Lines                                           []bankLine
}

type importAnswer struct {
	Data struct {
		DryRun    bool `json:"dry_run"`
		Credited  string
		Statement string
		Earlier   *bankStatement
		Counts    map[string]int
		Documents []bankLine
	}
}

// desk is a gateway with an account that pays by invoice, and those who work on its statements.
type desk struct {
	gw                        *apptest.Gateway
	payer                     *apptest.Owner
	boss, second, clerk, none *apptest.Account // at the desk: two administrators, an operator, and an account without a role
}

func startDesk(t *testing.T) *desk {
	t.Helper()
	apptest.WithinADay(t) // a statement of a bank has its date
	b := &desk{}
	b.gw = apptest.StartGateway(t, func(s *apptest.Setup) {
		s.Server.AdminListen = "127.0.0.1:0"
		s.Invoices.Enabled, s.Invoices.Seller, s.Invoices.VAT = true, invoiceSeller, rate.VAT{Mode: "none"}
	})
	at := &apptest.Gateway{URL: b.gw.Node.AdminURL(), Client: b.gw.Client}
	for to, role := range map[**apptest.Account]apikey.Role{&b.boss: apikey.Administrator, &b.second: apikey.Administrator, &b.clerk: apikey.Operator, &b.none: ""} {
		o := b.gw.NewOwner(t, 1, apikey.NewKey{})
		if role != "" {
			if err := b.gw.Node.Admin().Users.SetRole(t.Context(), o.User, role, audit.Actor{Name: "test"}); err != nil {
				t.Fatal(err)
			}
		}
		*to = &apptest.Account{Gw: at, Key: o.Pages.Key}
	}
	b.payer = b.gw.NewOwner(t, 100, apikey.NewKey{})
	b.want(t, b.payer.Pages, 200, "PUT", "/api/invoices/buyer", map[string]any{"name": "ООО «Ромашка»", "inn": "0076543215", "kpp": "007601001", "address": "Москва"})
	return b
}

func (b *desk) want(t *testing.T, by *apptest.Account, status int, method, path string, body any) []byte {
	t.Helper()
	got := by.Do(t, method, path, body)
	if got.Status != status {
		t.Fatalf("%s %s %v: %d, want %d: %s", method, path, body, got.Status, status, got.Body)
	}
	return got.Body
}

// invoice makes one, and returns its id and number.
func (b *desk) invoice(t *testing.T, amount string) (id, number string) {
	t.Helper()
	made := apptest.Decode[invoiceAnswer](t, b.want(t, b.payer.Pages, 201, "POST", "/api/invoices", map[string]any{"amount": amount})).Data
	return made.ID, made.Number
}

func (b *desk) imports(t *testing.T, by *apptest.Account, file string, dry bool) importAnswer {
	t.Helper()
	return apptest.Decode[importAnswer](t, b.want(t, by, 200, "POST", "/api/admin/invoices/import", map[string]any{"statement": file, "dry_run": dry, "name": "kl_to_1c.txt"}))
}

func (b *desk) list(t *testing.T) []bankStatement {
	t.Helper()
	return apptest.Decode[struct{ Data []bankStatement }](t, b.want(t, b.clerk, 200, "GET", "/api/admin/statements", nil)).Data
}

func (b *desk) statement(t *testing.T, id string) bankStatement {
	t.Helper()
	return apptest.Decode[struct{ Data bankStatement }](t, b.want(t, b.clerk, 200, "GET", "/api/admin/statements/"+id, nil)).Data
}

func (s *bankStatement) line(t *testing.T, number string) bankLine {
	t.Helper()
	i := slices.IndexFunc(s.Lines, func(l bankLine) bool { return l.Number == number })
	if i < 0 {
		t.Fatalf("document %s is not among %+v", number, s.Lines)
	}
	return s.Lines[i]
}

// hasMore fails unless the wallet has so many rubles more than in the beginning.
func (b *desk) hasMore(t *testing.T, rubles money.Nano) {
	t.Helper()
	is, err := b.gw.Node.Admin().Store.Ledger.Balance(t.Context(), walletOf(t, b.gw, b.payer))
	if err != nil || is.Balance != (100+rubles)*money.Ruble {
		t.Errorf("the balance is %s, want %d rubles more than 100 (%v)", is.Balance, rubles, err)
	}
}

// atOnce are the statuses of two administrators who do something at the same time, the lower one first.
func (b *desk) atOnce(t *testing.T, method, path string, first, second any) (statuses []int, answers []*apptest.Answer) {
	t.Helper()
	answers = make([]*apptest.Answer, 2)
	var both sync.WaitGroup
	for i, by := range []*apptest.Account{b.boss, b.second} {
		both.Go(func() { answers[i] = by.Do(t, method, path, []any{first, second}[i]) })
	}
	both.Wait()
	slices.SortFunc(answers, func(x, y *apptest.Answer) int { return x.Status - y.Status })
	return []int{answers[0].Status, answers[1].Status}, answers
}

// A statement is looked at, imported, and imported again; its documents are assigned by hand or set aside, each once, also by two administrators
// at the same time. The balance moves with what is credited, and with nothing else.
func TestStatements(t *testing.T) {
	t.Parallel()
	b := startDesk(t)
	_, named := b.invoice(t, "1000")
	byHand, byHandNumber := b.invoice(t, "2000")
	one, _ := b.invoice(t, "3000")
	other, _ := b.invoice(t, "3000")
	file := bankFile(bankDocument{"7", "1000.00", "0076543215", "Оплата " + named}, bankDocument{"8", "2000.00", "0076543215", "За услуги"}, bankDocument{"9", "3000.00", "0012345673", "Оплата " + named},
		bankDocument{"10", "5.00", "0076543215", "Проценты"})

	look := b.imports(t, b.boss, file, true).Data
	if !look.DryRun || look.Credited != "1000" || look.Statement != "" || look.Counts["credited"] != 1 || look.Counts["no_number"] != 2 || look.Counts["payer_differs"] != 1 {
		t.Errorf("the look: %+v", look)
	}
	if all := b.list(t); len(all) != 0 {
		t.Errorf("the look was kept: %+v", all)
	}
	b.hasMore(t, 0)
	b.want(t, b.clerk, 403, "POST", "/api/admin/invoices/import", map[string]any{"statement": file})

	done := b.imports(t, b.boss, file, false).Data
	if done.Credited != "1000" || done.Earlier != nil || done.Counts["credited"] != 1 {
		t.Errorf("the import: %+v", done)
	}
	b.hasMore(t, 1000)
	again := b.imports(t, b.second, file, false).Data
	if again.Credited != "0" || again.Statement != done.Statement || again.Earlier == nil || again.Earlier.ID != done.Statement || again.Counts["already"] != 1 {
		t.Errorf("the import of the same file: %+v", again)
	}
	b.hasMore(t, 1000)
	kept := b.list(t)
	if len(kept) != 1 || kept[0].Name != "kl_to_1c.txt" || kept[0].Documents != 4 || kept[0].Credited != 1 || kept[0].Amount != "1000" || kept[0].Waiting != 3 || kept[0].Actor == "" {
		t.Fatalf("%+v", kept)
	}
	path := "/api/admin/statements/" + done.Statement
	for _, p := range []string{"/api/admin/statements", path} {
		b.want(t, b.none, 403, "GET", p, nil)
	}
	s := b.statement(t, done.Statement)
	lineOf := func(number string) string { return fmt.Sprint(path, "/lines/", s.line(t, number).Line) }
	if l := s.line(t, "8"); !l.NeedsYou || !l.MayAssign || len(l.Choices) != 3 {
		t.Errorf("%+v", l)
	}

	// by hand: what is refused changes nothing
	for p, status := range map[string]int{
		path + "/lines/0": 404, path + "/lines/-1": 404, path + "/lines/x": 404, path + "/lines/99999999999999999999": 404, path + "/lines/1.5": 404,
		"/api/admin/statements/bst_none/lines/" + fmt.Sprint(s.line(t, "8").Line): 404,
	} {
		b.want(t, b.boss, status, "POST", p+"/assign", map[string]any{"invoice": byHand})
		b.want(t, b.boss, status, "POST", p+"/aside", map[string]any{"reason": "interest"})
	}
	for _, who := range []*apptest.Account{b.clerk, b.none} {
		b.want(t, who, 403, "POST", lineOf("8")+"/assign", map[string]any{"invoice": byHand})
		b.want(t, who, 403, "POST", lineOf("8")+"/aside", map[string]any{"reason": "interest"})
	}
	for _, name := range []string{"", "W-1999-1", "inv_none"} {
		b.want(t, b.boss, 400, "POST", lineOf("8")+"/assign", map[string]any{"invoice": name})
	}
	b.hasMore(t, 1000)

	// the same choice twice credits once
	is, _ := b.atOnce(t, "POST", lineOf("8")+"/assign", map[string]any{"invoice": byHand}, map[string]any{"invoice": byHandNumber})
	if !slices.Equal(is, []int{200, 200}) {
		t.Errorf("the same choice twice: %v", is)
	}
	b.hasMore(t, 3000)
	// of two different ones the second is refused
	is, answers := b.atOnce(t, "POST", lineOf("9")+"/assign", map[string]any{"invoice": one}, map[string]any{"invoice": other})
	if !slices.Equal(is, []int{200, 409}) {
		t.Errorf("two choices: %v %s %s", is, answers[0].Body, answers[1].Body)
	}
	b.hasMore(t, 6000)
	b.want(t, b.boss, 409, "POST", lineOf("9")+"/aside", map[string]any{"reason": "a mistake"})

	// set aside: once, and no money moves
	for _, reason := range []string{"", " ", strings.Repeat("x", 301)} {
		b.want(t, b.boss, 400, "POST", lineOf("10")+"/aside", map[string]any{"reason": reason})
	}
	is, _ = b.atOnce(t, "POST", lineOf("10")+"/aside", map[string]any{"reason": "interest"}, map[string]any{"reason": "interest"})
	if !slices.Equal(is, []int{204, 409}) {
		t.Errorf("set aside twice: %v", is)
	}
	b.want(t, b.boss, 409, "POST", lineOf("10")+"/assign", map[string]any{"invoice": one})
	b.hasMore(t, 6000)
	s = b.statement(t, done.Statement)
	if l := s.line(t, "10"); s.Waiting != 0 || l.Aside != "interest" || l.NeedsYou || l.MayAssign || l.Invoice != "" {
		t.Errorf("%+v", s)
	}
	if l := s.line(t, "8"); l.Invoice != byHand || l.NeedsYou || l.Aside != "" {
		t.Errorf("%+v", l)
	}
	if left := b.imports(t, b.boss, file, false).Data; left.Credited != "0" {
		t.Errorf("after all was decided: %+v", left)
	}
	b.hasMore(t, 6000)
	for _, action := range []string{"statement.import", "statement.aside"} {
		if lines := string(b.want(t, b.boss, 200, "GET", "/api/admin/audit?target="+done.Statement, nil)); !strings.Contains(lines, action) {
			t.Errorf("%s is not in %s", action, lines)
		}
	}
}

// A document that one administrator sets aside and another credits, at the same time, is one of both.
func TestStatementLineIsDecidedOnce(t *testing.T) {
	t.Parallel()
	b := startDesk(t)
	credited := money.Nano(0)
	for n := range 8 {
		id, _ := b.invoice(t, "1000")
		done := b.imports(t, b.boss, bankFile(bankDocument{fmt.Sprint(n + 1), "1000.00", "0076543215", "За услуги"}), false).Data
		path := fmt.Sprintf("/api/admin/statements/%s/lines/%d/", done.Statement, done.Documents[0].Line)
		var both sync.WaitGroup
		both.Go(func() { b.boss.Do(t, "POST", path+"assign", map[string]any{"invoice": id}) })
		both.Go(func() { b.second.Do(t, "POST", path+"aside", map[string]any{"reason": "interest"}) })
		both.Wait()
		s := b.statement(t, done.Statement)
		l := s.line(t, fmt.Sprint(n+1))
		if (l.Invoice == "") == (l.Aside == "") || s.Waiting != 0 {
			t.Errorf("%+v", s)
		}
		if l.Invoice != "" {
			credited += 1000
		}
	}
	b.hasMore(t, credited)
}

// Acts of a month that was left out are listed, made now, and made once.
func TestActsMadeNow(t *testing.T) {
	t.Parallel()
	b := startDesk(t)
	then := time.Now().AddDate(0, -2, 0)
	c, err := (&config.Invoices{Seller: invoiceSeller, VAT: rate.VAT{Mode: "none"}, Min: "1", Max: "100", NumberPrefix: "W-", ActPrefix: "A-", Line: "x", ActLine: "x", MaxOpen: 9, MaxPerDay: 9}).Manager(func() time.Time { return then })
	if err != nil {
		t.Fatal(err)
	}
	admin, wallet := b.gw.Node.Admin(), walletOf(t, b.gw, b.payer)
	if _, err := invoice.NewManager(admin.Store.Payments, c).Make(t.Context(), invoice.Order{Account: b.payer.User, Wallet: wallet, Amount: 5 * money.Ruble}); err != nil {
		t.Fatal(err)
	}
	if _, err := ledger.Adjust(t.Context(), admin.Store.Ledger, ledger.Adjustment{Wallet: wallet, ID: "past", Amount: -50 * money.Ruble, Reason: "calls of that month", Actor: audit.Actor{Name: "test"}}, then); err != nil {
		t.Fatal(err)
	}
	month := invoice.MonthsOf(nil).Of(then)
	type missing struct {
		Month, Last string
		Data        []struct{ User, Amount, Total string }
	}
	left := func(status int, month string) missing {
		t.Helper()
		body := b.want(t, b.clerk, status, "GET", "/api/admin/acts/missing?month="+month, nil)
		if status != 200 {
			return missing{}
		}
		return apptest.Decode[missing](t, body)
	}
	if m := left(200, month); len(m.Data) != 1 || m.Data[0].User != b.payer.User || m.Data[0].Amount != "50" || m.Data[0].Total != "50" {
		t.Errorf("%+v", m)
	}
	now := invoice.MonthsOf(nil).Of(time.Now())
	for _, wrong := range []string{now, "2026-13", "x"} {
		left(400, wrong)
		b.want(t, b.boss, 400, "POST", "/api/admin/acts", map[string]any{"month": wrong})
	}
	b.want(t, b.clerk, 403, "POST", "/api/admin/acts", map[string]any{"month": month})

	type acts struct {
		Data []struct{ ID, Number, Month, User, Amount string }
	}
	is, answers := b.atOnce(t, "POST", "/api/admin/acts", map[string]any{"month": month}, map[string]any{"month": month})
	if !slices.Equal(is, []int{201, 201}) {
		t.Fatalf("%v %s %s", is, answers[0].Body, answers[1].Body)
	}
	if n := len(apptest.Decode[acts](t, answers[0].Body).Data) + len(apptest.Decode[acts](t, answers[1].Body).Data); n != 1 {
		t.Errorf("%d acts were made: %s %s", n, answers[0].Body, answers[1].Body)
	}
	all := apptest.Decode[acts](t, b.want(t, b.clerk, 200, "GET", "/api/admin/acts?month="+month, nil)).Data
	if len(all) != 1 || all[0].User != b.payer.User || all[0].Amount != "50" {
		t.Fatalf("%+v", all)
	}
	if m := left(200, month); len(m.Data) != 0 {
		t.Errorf("%+v", m)
	}
	if got := b.clerk.Do(t, http.MethodGet, "/api/admin/acts/"+all[0].ID+"/pdf", nil); got.Status != 200 || got.Header.Get("Content-Type") != "application/pdf" {
		t.Errorf("%d %s", got.Status, got.Header)
	}
	b.want(t, b.none, 403, "GET", "/api/admin/acts/missing", nil)
}
