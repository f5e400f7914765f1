package httpapi

import (
	"net/url"
	"strconv"
	"strings"
	"time"

	"weir/internal/fault"
	"weir/internal/ledger"
	"weir/internal/report"
	"weir/internal/report/paper"
)

// statementDays is the longest statement.
const statementDays = 366

// days reads the days of a statement, both included; without them it is this month.
func (x *request) days(q url.Values) (from, to time.Time, err error) {
	read := func(name string, usual time.Time) (time.Time, error) {
		text := q.Get(name)
		if text == "" {
			return usual, nil
		}
		t, err := time.Parse(time.DateOnly, text)
		if err != nil || t.Year() < 1970 {
			return t, fault.Field("httpapi.days", name, "%s must be a day such as 2026-01-31.", name)
		}
		return t, nil
	}
	zones, err := x.api.Reports.Zones(x.context(), x.caller.Wallet)
	if err != nil {
		return from, to, err
	}
	today := zones.Day(x.at)
	if to, err = read("to", today); err != nil {
		return from, to, err
	}
	if from, err = read("from", report.Month.Floor(to)); err != nil {
		return from, to, err
	}
	switch {
	case to.Before(from):
		err = fault.Field("httpapi.days", "from", "from must not be after to.")
	case to.Sub(from) >= statementDays*24*time.Hour:
		err = fault.Field("httpapi.days", "from", "A statement has at most %d days. Choose a shorter period.", statementDays)
	}
	return from, to, err
}

// statement reads the statement that is asked for.
func (x *request) statement() (*report.Statement, error) {
	q, err := x.query()
	if err != nil {
		return nil, err
	}
	from, to, err := x.days(q)
	if err != nil {
		return nil, err
	}
	return x.api.Reports.Statement(x.context(), x.caller.Wallet, from, to)
}

// getLedger serves GET /api/ledger.
func (x *request) getLedger() error {
	s, err := x.statement()
	if err != nil {
		return err
	}
	o := newObject(1024 + 300*len(s.Lines))
	o.Object()
	o.Name("data").Object()
	o.text("from", s.From.Format(time.DateOnly))
	o.text("to", s.To.Format(time.DateOnly))
	o.text("timezone", s.Timezone)
	o.text("currency", "RUB")
	o.amountText("opening", s.Opening)
	o.amountText("credited", s.Credited)
	o.amountText("debited", s.Debited)
	o.amountText("closing", s.Closing)
	o.amountText("balance", s.Balance)
	o.amountText("held", s.Held)
	o.amountText("available", s.Balance-s.Held)
	o.boolean("verified", s.Agrees)
	o.moment("verified_at", x.at)
	o.Name("holds").Array()
	hold := func(kind, ref, model string, amount string, since time.Time) {
		o.Object()
		o.text("kind", kind)
		o.textOrNull("ref", ref)
		o.text("amount", amount)
		o.moment("since", since)
		o.textOrNull("model", model)
		o.EndObject()
	}
	if s.Calls > 0 {
		hold("calls", "", "", s.Calls.String(), time.Time{})
	}
	for _, j := range s.Jobs {
		hold("job", j.Job, j.Model, j.Amount.String(), j.Since)
	}
	o.EndArray()
	appendTaxes(&o, s.Taxes)
	appendLines(&o, "rows", s.Newest())
	o.EndObject()
	o.EndObject()
	return x.reply(&o)
}

// appendTaxes writes what calls and refunds contain of each VAT.
func appendTaxes(o *object, taxes []report.Tax) {
	o.Name("vat").Array()
	for i := range taxes {
		t := &taxes[i]
		o.Object()
		o.textOrNull("percent", t.Percent)
		o.integer("calls", t.Calls)
		o.amountText("charged", t.Charged)
		o.integer("refunds", t.Refunds)
		o.amountText("refunded", t.Refunded)
		o.amountText("net", t.Gross()-t.VAT())
		o.amountText("vat", t.VAT())
		o.amountText("gross", t.Gross())
		o.EndObject()
	}
	o.EndArray()
}

func appendLines(o *object, name string, lines []report.Line) {
	o.Name(name).Array()
	for i := range lines {
		appendLine(o, &lines[i])
	}
	o.EndArray()
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

func appendLine(o *object, l *report.Line) {
	o.Object()
	o.text("id", lineID(l))
	o.text("date", l.Day.Format(time.DateOnly))
	m := l.Movement
	if m == nil {
		o.null("at")
	} else {
		o.moment("at", m.At)
	}
	o.text("kind", l.Kind)
	o.Name("title_args").Object()
	ref := ""
	if m != nil {
		ref = m.Ref
		if source, ok := strings.CutPrefix(m.Against, ledger.TopUpAccount); ok {
			o.text("source", source)
		}
		if call, ok := strings.CutPrefix(m.Against, ledger.RefundAccount); ok {
			o.text("call", call)
		}
		if m.Reason != "" {
			o.text("reason", m.Reason)
		}
		if m.Actor != "" {
			o.text("actor", m.Actor)
		}
	}
	o.EndObject()
	o.textOrNull("ref", ref)
	o.integer("count", l.Count)
	if l.Amount < 0 || l.Kind == report.CallsKind {
		o.amountText("debit", -l.Amount)
		o.null("credit")
	} else {
		o.null("debit")
		o.amountText("credit", l.Amount)
	}
	o.amountText("balance", l.Balance)
	o.Name("vat").Array()
	for i := range l.Taxes {
		p := &l.Taxes[i]
		o.Object()
		o.textOrNull("percent", p.Percent)
		o.integer("count", p.Count)
		o.amountText("net", p.Net())
		o.amountText("vat", p.VAT)
		o.amountText("gross", p.Gross)
		o.EndObject()
	}
	o.EndArray()
	o.EndObject()
}

// getLedgerDay serves GET /api/ledger/day/{date}.
func (x *request) getLedgerDay() error {
	q, err := x.query()
	if err != nil {
		return err
	}
	day, err := time.Parse(time.DateOnly, x.values[0])
	if err != nil || day.Year() < 1970 {
		return fault.Field("httpapi.getLedgerDay", "date", "The date must be a day such as 2026-01-31.")
	}
	zones, err := x.api.Reports.Zones(x.context(), x.caller.Wallet)
	if err != nil {
		return err
	}
	search := report.Search{Wallet: x.caller.Wallet, Charged: true, From: zones.Start(day), To: zones.Start(day.AddDate(0, 0, 1))}
	if search.Limit, err = pageLimit(q); err != nil {
		return err
	}
	if search.After, err = cursorOf(q); err != nil {
		return err
	}
	s, err := x.api.Reports.DayOf(x.context(), x.caller.Wallet, day)
	if err != nil {
		return err
	}
	p, err := x.api.Reports.Calls(x.context(), search)
	if err != nil {
		return err
	}
	names := &keyNames{x: x}
	if len(p.Calls) > 0 {
		if err := names.read(); err != nil {
			return err
		}
	}
	var postings []report.Line
	var calls report.Line
	for _, l := range s.Newest() {
		if l.Kind == report.CallsKind {
			calls = l
		} else if search.After == (report.Place{}) {
			postings = append(postings, l)
		}
	}
	o := newObject(1024 + 700*len(p.Calls))
	o.Object()
	o.Name("data").Object()
	o.text("date", day.Format(time.DateOnly))
	o.amountText("opening", s.Opening)
	o.amountText("closing", s.Closing)
	appendTaxes(&o, s.Taxes)
	appendLines(&o, "postings", postings)
	o.Name("calls").Object()
	o.integer("count", calls.Count)
	o.amountText("debit", -calls.Amount)
	o.Name("data").Array()
	for i := range p.Calls {
		appendCallRow(&o, &p.Calls[i], names)
	}
	o.EndArray()
	o.EndObject()
	o.textOrNull("next", cursorText(p.Next))
	o.EndObject()
	o.EndObject()
	return x.reply(&o)
}

// getLedgerFile serves GET /api/ledger.csv. The first and the last row are the balances. Rows of calls and of refunds are parted by VAT, so that
// a sum over a column is right.
func (x *request) getLedgerFile() error {
	s, err := x.statement()
	if err != nil {
		return err
	}
	return x.export("statement", "csv", s.From, s.To.AddDate(0, 0, 1), func(e *exporting) error {
		e.row("date", "at_utc", "kind", "entries", "reference", "source", "call", "reason", "by", "debit_rub", "credit_rub", "balance_rub", "vat_percent", "net_rub", "vat_rub")
		balance := func(day time.Time, kind string, at report.Line) {
			e.Texts(day.Format(time.DateOnly), "", kind, "", "", "", "", "", "", "", "")
			e.Amount(at.Balance)
			e.Texts("", "", "")
			e.end()
		}
		balance(s.From, "opening balance", report.Line{Balance: s.Opening})
		for l := range s.Parted() {
			e.Texts(l.Day.Format(time.DateOnly))
			m := l.Movement
			if m == nil {
				m = &ledger.Movement{}
				e.Texts("")
			} else {
				e.Moment(m.At)
			}
			e.Texts(l.Kind)
			e.Int(l.Count)
			source, _ := strings.CutPrefix(m.Against, ledger.TopUpAccount)
			if source == m.Against {
				source = ""
			}
			call, refund := strings.CutPrefix(m.Against, ledger.RefundAccount)
			if !refund {
				call = ""
			}
			for _, text := range []string{m.Ref, source, call, m.Reason, m.Actor} {
				e.Texts(text)
			}
			if l.Amount < 0 || l.Kind == report.CallsKind {
				e.Amount(-l.Amount)
				e.Texts("")
			} else {
				e.Texts("")
				e.Amount(l.Amount)
			}
			e.Amount(l.Balance)
			if len(l.Taxes) == 1 {
				p := &l.Taxes[0]
				e.Texts(p.Percent)
				e.Amount(p.Net())
				e.Amount(p.VAT)
			} else {
				e.Texts("", "", "")
			}
			e.end()
		}
		balance(s.To, "closing balance", report.Line{Balance: s.Closing})
		return nil
	})
}

// getLedgerDocument serves GET /api/ledger.pdf.
func (x *request) getLedgerDocument() error {
	q, err := x.query()
	if err != nil {
		return err
	}
	user, err := x.api.Accounts.ByID(x.context(), x.caller.User)
	if err != nil {
		return err
	}
	lang := q.Get("lang")
	switch lang {
	case "":
		if lang = user.Language; lang == "" {
			lang = "en"
			if strings.HasPrefix(strings.ToLower(x.header("Accept-Language")), "ru") {
				lang = "ru"
			}
		}
	case "en", "ru":
	default:
		return fault.Field("httpapi.getLedgerDocument", "lang", "lang must be en or ru.")
	}
	s, err := x.statement()
	if err != nil {
		return err
	}
	return x.export("statement", "pdf", s.From, s.To.AddDate(0, 0, 1), func(e *exporting) error {
		b, err := paper.Statement(s, paper.Head{Language: lang, Account: user.Name, Wallet: x.caller.Wallet, Site: x.base(), Made: x.at.UTC()})
		e.Bytes = b
		return err
	})
}
