package accountapi

import (
	"context"
	"strconv"
	"strings"
	"time"

	"weir/internal/fault"
	"weir/internal/ledger"
	"weir/internal/money"
	"weir/internal/operation"
	"weir/internal/report"
	"weir/internal/report/paper"
)

// statementDays is the longest statement.
const statementDays = 366

// StatementDays are the days of a statement.
type StatementDays struct {
	From string `json:"-" query:"from" maxLength:"40"` // the first day, YYYY-MM-DD; without it the first of this month
	To   string `json:"-" query:"to" maxLength:"40"`   // the last day, YYYY-MM-DD, less than 366 days later; without it today
}

type documentInput struct {
	StatementDays
	Lang string `json:"-" query:"lang" enum:"en,ru"` // without it the language of the profile, else Accept-Language
}

type ledgerDayInput struct {
	Date string `json:"-" path:"date" example:"2026-01-31"` // YYYY-MM-DD
	CallsAfter
}

// LedgerVAT is what calls and refunds contain of one VAT; there is more than one if the VAT changed. Net and vat sum to gross.
type LedgerVAT struct {
	Percent  *string    `json:"percent"` // null without VAT
	Calls    int64      `json:"calls"`   // that were charged
	Charged  money.Nano `json:"charged"` // for these calls, with VAT
	Refunds  int64      `json:"refunds"`
	Refunded money.Nano `json:"refunded"` // in the period, with VAT
	Net      money.Nano `json:"net"`
	VAT      money.Nano `json:"vat"`   // the sum over the calls and refunds, each rounded to 10⁻⁹ ruble
	Gross    money.Nano `json:"gross"` // charged less refunded
}

// LedgerHold is money that is on hold.
type LedgerHold struct {
	Kind   string     `json:"kind" enum:"calls,job"`
	Ref    *string    `json:"ref"` // id of the job
	Amount money.Nano `json:"amount"`
	Since  *time.Time `json:"since"`
	Model  *string    `json:"model"`
}

// LedgerTitle is what a row is about.
type LedgerTitle struct {
	Source string `json:"source,omitempty"` // of a top-up
	Call   string `json:"call,omitempty"`   // the call that was refunded
	Reason string `json:"reason,omitempty"`
	Actor  string `json:"actor,omitempty"`
}

// LedgerPortion is what a row has of one VAT.
type LedgerPortion struct {
	Percent *string    `json:"percent"` // null without VAT
	Count   int64      `json:"count"`
	Net     money.Nano `json:"net"`
	VAT     money.Nano `json:"vat"`
	Gross   money.Nano `json:"gross"`
}

// LedgerRow is a row of a statement: a posting, or all entries of a day that are of one kind.
type LedgerRow struct {
	ID        string          `json:"id"`
	Date      string          `json:"date" format:"date"`
	At        *time.Time      `json:"at"` // null for a row of many entries
	Kind      string          `json:"kind" enum:"calls,topup,adjustment,refund"`
	TitleArgs LedgerTitle     `json:"title_args"`
	Ref       *string         `json:"ref"` // reference of a posting
	Count     int64           `json:"count"`
	Debit     *money.Nano     `json:"debit"`
	Credit    *money.Nano     `json:"credit"`
	Balance   money.Nano      `json:"balance"` // after this row
	VAT       []LedgerPortion `json:"vat"`     // what a row of calls or refunds consists of, by VAT; empty for others
}

// Ledger is the statement of a period.
type Ledger struct {
	From       string       `json:"from" format:"date"`
	To         string       `json:"to" format:"date"` // included
	Timezone   string       `json:"timezone"`         // by whose clock the days are
	Currency   string       `json:"currency" enum:"RUB"`
	Opening    money.Nano   `json:"opening"` // balance before the first day
	Credited   money.Nano   `json:"credited"`
	Debited    money.Nano   `json:"debited"`
	Closing    money.Nano   `json:"closing"` // opening and credited less debited
	Balance    money.Nano   `json:"balance"` // now
	Held       money.Nano   `json:"held"`
	Available  money.Nano   `json:"available"`
	Verified   bool         `json:"verified"` // all rows of the account, from its beginning, sum to its balance
	VerifiedAt time.Time    `json:"verified_at"`
	Holds      []LedgerHold `json:"holds"` // what is on hold now
	VAT        []LedgerVAT  `json:"vat"`   // of the calls and refunds of the period
	Rows       []LedgerRow  `json:"rows"`  // the newest first
}

// LedgerCalls is a page of the calls of a day.
type LedgerCalls struct {
	Count int64      `json:"count"` // calls that were charged
	Debit money.Nano `json:"debit"`
	Data  []CallRow  `json:"data"`
}

// LedgerDay is one day of the statement.
type LedgerDay struct {
	Date     string      `json:"date" format:"date"`
	Opening  money.Nano  `json:"opening"`
	Closing  money.Nano  `json:"closing"`
	VAT      []LedgerVAT `json:"vat"`
	Postings []LedgerRow `json:"postings" maxItems:"1000"` // each top-up, adjustment and refund, the newest first; with the first page only
	Calls    LedgerCalls `json:"calls"`
	Next     *string     `json:"next"` // cursor of the next page of calls
}

func taxesOf(all []report.Tax) []LedgerVAT {
	out := make([]LedgerVAT, len(all))
	for i := range all {
		t := &all[i]
		out[i] = LedgerVAT{
			Percent: OrNull(t.Percent), Calls: t.Calls, Charged: t.Charged, Refunds: t.Refunds, Refunded: t.Refunded, Net: t.Gross() - t.VAT(), VAT: t.VAT(), Gross: t.Gross(),
		}
	}
	return out
}

func holdsOf(s *report.Statement) []LedgerHold {
	holds := make([]LedgerHold, 0, 1+len(s.Jobs))
	if s.Calls > 0 {
		holds = append(holds, LedgerHold{Kind: "calls", Amount: s.Calls})
	}
	for _, j := range s.Jobs {
		holds = append(holds, LedgerHold{Kind: "job", Ref: OrNull(j.Job), Amount: j.Amount, Since: Moment(j.Since), Model: OrNull(j.Model)})
	}
	return holds
}

// lineID names a row of a statement: a transaction, or a day and what it lists.
func lineID(l *report.Line) string {
	if l.Movement != nil {
		return "tx_" + strconv.FormatInt(l.Movement.Transaction, 10)
	}
	id := l.Kind + ":" + l.Day.Format(time.DateOnly)
	if l.Kind != report.CallsKind && l.Amount < 0 {
		id += "-"
	}
	return id
}

// debited reports whether the amount of a row stands under the debits.
func debited(l *report.Line) bool { return l.Amount < 0 || l.Kind == report.CallsKind }

func linesOf(lines []report.Line) []LedgerRow {
	rows := make([]LedgerRow, len(lines))
	for i := range lines {
		l := &lines[i]
		r := LedgerRow{ID: lineID(l), Date: l.Day.Format(time.DateOnly), Kind: l.Kind, Count: l.Count, Balance: l.Balance, VAT: make([]LedgerPortion, len(l.Taxes))}
		if m := l.Movement; m != nil {
			r.At, r.Ref = Moment(m.At), OrNull(m.Ref)
			r.TitleArgs = LedgerTitle{Source: m.Source(), Call: m.Generation(), Reason: m.Reason, Actor: m.Actor}
		}
		if taken := -l.Amount; debited(l) {
			r.Debit = &taken
		} else {
			r.Credit = &l.Amount
		}
		for j := range l.Taxes {
			p := &l.Taxes[j]
			r.VAT[j] = LedgerPortion{Percent: OrNull(p.Percent), Count: p.Count, Net: p.Net(), VAT: p.VAT, Gross: p.Gross}
		}
		rows[i] = r
	}
	return rows
}

type ledgerOperations struct{ Deps }

// days reads the days of a statement, both included; without them it is this month.
func (o ledgerOperations) days(ctx context.Context, c *operation.Call, in *StatementDays) (from, to time.Time, err error) {
	const op = "accountapi.days"
	read := func(name, text string, usual time.Time) (time.Time, error) {
		if text == "" {
			return usual, nil
		}
		return dayOf(name, text)
	}
	zones, err := o.Reports.Zones(ctx, c.Wallet)
	if err != nil {
		return from, to, err
	}
	if to, err = read("to", in.To, zones.Day(c.At)); err != nil {
		return from, to, err
	}
	if from, err = read("from", in.From, report.Month.Floor(to)); err != nil {
		return from, to, err
	}
	switch {
	case to.Before(from):
		err = fault.Field(op, "from", "from must not be after to.").Coded("from_after_to")
	case to.Sub(from) >= statementDays*24*time.Hour:
		err = fault.Field(op, "from", "A statement has at most %d days. Choose a shorter period.", statementDays).Coded("period_days", "most", statementDays)
	}
	return from, to, err
}

// dayOf reads a day.
func dayOf(name, text string) (time.Time, error) {
	t, err := time.Parse(time.DateOnly, text)
	if err != nil || t.Year() < 1970 {
		return t, fault.Field("accountapi.dayOf", name, "%s must be a day such as 2026-01-31.", name).Coded("day")
	}
	return t, nil
}

func (o ledgerOperations) statement(ctx context.Context, c *operation.Call, in *StatementDays) (*report.Statement, error) {
	from, to, err := o.days(ctx, c, in)
	if err != nil {
		return nil, err
	}
	return o.Reports.Statement(ctx, c.Wallet, from, to)
}

func (o ledgerOperations) get(ctx context.Context, c *operation.Call, in *StatementDays) (out operation.Data[Ledger], err error) {
	s, err := o.statement(ctx, c, in)
	if err != nil {
		return out, err
	}
	out.Data = Ledger{
		From: s.From.Format(time.DateOnly), To: s.To.Format(time.DateOnly), Timezone: s.Timezone, Currency: "RUB", Opening: s.Opening, Credited: s.Credited, Debited: s.Debited,
		Closing: s.Closing, Balance: s.Balance, Held: s.Held, Available: s.Balance - s.Held, Verified: s.Agrees, VerifiedAt: c.At, Holds: holdsOf(s), VAT: taxesOf(s.Taxes),
		Rows: linesOf(s.Newest()),
	}
	return out, nil
}

func (o ledgerOperations) day(ctx context.Context, c *operation.Call, in *ledgerDayInput) (out operation.Data[LedgerDay], err error) {
	day, err := dayOf("date", in.Date)
	if err != nil {
		return out, err
	}
	zones, err := o.Reports.Zones(ctx, c.Wallet)
	if err != nil {
		return out, err
	}
	search := report.Search{Wallet: c.Wallet, Charged: true, From: zones.Start(day), To: zones.Start(day.AddDate(0, 0, 1))}
	if err := in.Into(&search); err != nil {
		return out, err
	}
	s, err := o.Reports.DayOf(ctx, c.Wallet, day)
	if err != nil {
		return out, err
	}
	p, err := o.Reports.Calls(ctx, search)
	if err != nil {
		return out, err
	}
	var postings []report.Line
	var calls report.Line
	for _, l := range s.Newest() {
		if l.Kind == report.CallsKind {
			calls = l
		} else if in.Cursor == "" {
			postings = append(postings, l)
		}
	}
	rows, err := rowsOf(ctx, o.Deps, c, p.Calls)
	out.Data = LedgerDay{
		Date: in.Date, Opening: s.Opening, Closing: s.Closing, VAT: taxesOf(s.Taxes), Postings: linesOf(postings),
		Calls: LedgerCalls{Count: calls.Count, Debit: -calls.Amount, Data: rows}, Next: CursorOf(p.Next),
	}
	return out, err
}

// file is the statement as a table. The first and the last row are the balances. Rows of calls and of refunds are parted by VAT, so that a sum over
// a column is right.
func (o ledgerOperations) file(ctx context.Context, c *operation.Call, in *StatementDays) (operation.File, error) {
	s, err := o.statement(ctx, c, in)
	if err != nil {
		return operation.File{}, err
	}
	return table(FileName("statement", s.From, s.To.AddDate(0, 0, 1), "csv"), func(t *sheet) error {
		t.row("date", "at_utc", "kind", "entries", "reference", "source", "call", "reason", "by", "debit_rub", "credit_rub", "balance_rub", "vat_percent", "net_rub", "vat_rub")
		balance := func(day time.Time, kind string, n money.Nano) {
			t.Texts(day.Format(time.DateOnly), "", kind, "", "", "", "", "", "", "", "")
			t.Amount(n)
			t.row("", "", "")
		}
		balance(s.From, "opening balance", s.Opening)
		for l := range s.Parted() {
			t.line(&l)
		}
		balance(s.To, "closing balance", s.Closing)
		return nil
	}), nil
}

func (s *sheet) line(l *report.Line) {
	s.Texts(l.Day.Format(time.DateOnly))
	m := l.Movement
	if m == nil {
		m = &ledger.Movement{}
		s.Texts("")
	} else {
		s.Moment(m.At)
	}
	s.Texts(l.Kind)
	s.Int(l.Count)
	s.Texts(m.Ref, m.Source(), m.Generation(), m.Reason, m.Actor)
	if debited(l) {
		s.Amount(-l.Amount)
		s.Texts("")
	} else {
		s.Texts("")
		s.Amount(l.Amount)
	}
	s.Amount(l.Balance)
	if len(l.Taxes) == 1 {
		p := &l.Taxes[0]
		s.Texts(p.Percent)
		s.Amount(p.Net())
		s.Amount(p.VAT)
	} else {
		s.Texts("", "", "")
	}
	s.end()
}

func (o ledgerOperations) document(ctx context.Context, c *operation.Call, in *documentInput) (operation.File, error) {
	user, err := o.Accounts.ByID(ctx, c.User)
	if err != nil {
		return operation.File{}, err
	}
	lang := in.Lang
	switch lang {
	case "":
		if lang = user.Language; lang == "" {
			lang = "en"
			if strings.HasPrefix(strings.ToLower(c.Request.Get("Accept-Language")), "ru") {
				lang = "ru"
			}
		}
	case "en", "ru":
	default:
		return operation.File{}, fault.Field("accountapi.document", "lang", "lang must be en or ru.").Coded("one_of", "allowed", "en, ru")
	}
	s, err := o.statement(ctx, c, &in.StatementDays)
	if err != nil {
		return operation.File{}, err
	}
	return document(FileName("statement", s.From, s.To.AddDate(0, 0, 1), "pdf"), func() ([]byte, error) {
		return paper.Statement(s, paper.Head{Language: lang, Account: user.Name, Wallet: c.Wallet, Site: c.Base(), Made: c.At.UTC()})
	}), nil
}

func ledgers(d Deps) []operation.Operation {
	o := ledgerOperations{d}
	return []operation.Operation{
		operation.Of(operation.Operation{
			Method: "GET", Path: "/api/ledger", ID: "getLedger", Org: operation.Payers, Access: operation.Management, Tag: "pages",
			Summary:     "The statement of a period: what was there, what came and went, what is left",
			Description: "All calls of a day of the account's time zone are one row; so are the refunds of a day. GET /api/ledger/day/{date} opens a day.", Answer: "The statement",
		}, o.get),
		operation.Of(operation.Operation{
			Method: "GET", Path: "/api/ledger/day/{date}", ID: "getLedgerDay", Org: operation.Payers, Access: operation.Management, Tag: "pages",
			Summary: "The entries of one day of the statement", Answer: "Postings and calls of the day",
		}, o.day),
		operation.Of(operation.Operation{
			Method: "GET", Path: "/api/ledger.csv", ID: "getLedgerFile", Org: operation.Payers, Access: operation.Management, Tag: "pages", Media: "text/csv",
			Summary: "The statement as a table", Answer: "UTF-8 with a header row; amounts in rubles with a dot. Calls and refunds of a day have a row for each VAT",
		}, o.file),
		operation.Of(operation.Operation{
			Method: "GET", Path: "/api/ledger.pdf", ID: "getLedgerDocument", Org: operation.Payers, Access: operation.Management, Tag: "pages", Media: "application/pdf",
			Summary: "The statement as a document", Answer: "PDF, A4",
		}, o.document),
	}
}
