package invoice

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"strconv"
	"strings"
	"unicode"

	"weir/internal/audit"
	"weir/internal/fault"
	"weir/internal/money"
)

// Outcome is what became of a document of a statement.
type Outcome string

// The outcomes. Only Credited moves money.
const (
	Credited      Outcome = "credited"       // to the wallet; in a dry run: would be
	Already       Outcome = "already"        // by an earlier import, an operator, or an earlier document of the file that is the same
	Outgoing      Outcome = "outgoing"       // the seller paid
	NotArrived    Outcome = "not_arrived"    // no ДатаПоступило
	OtherAccount  Outcome = "other_account"  // of the receiver, not the seller's
	NoNumber      Outcome = "no_number"      // the purpose names no invoice
	Ambiguous     Outcome = "ambiguous"      // it names several
	UnknownNumber Outcome = "unknown_number" // there is no such invoice
	PayerDiffers  Outcome = "payer_differs"  // its INN is not the buyer's
	WasCancelled  Outcome = "cancelled"      // the invoice
	Unreadable    Outcome = "unreadable"
	Refused       Outcome = "refused" // see Note
)

// NeedsYou reports whether an operator must look at a document.
func (o Outcome) NeedsYou() bool {
	return o != Credited && o != Already && o != Outgoing
}

// Match is a document, and what became of it.
type Match struct {
	Document Document
	Outcome  Outcome
	Number   string     // of the invoice; "" not known
	Invoice  string     // its id; "" not known
	Credited money.Nano // to the wallet
	Missing  money.Nano // of the invoice afterwards; below zero: more arrived than the total
	Note     string     // what is wrong, in a sentence
	Assigned bool       // a person has chosen the invoice
}

// Report is what an import did, or would do.
type Report struct {
	Dry      bool
	Matches  []Match // in the order of the file
	Credited money.Nano
	Counts   map[Outcome]int

	Statement string     // id of what is kept; "" in a dry run
	Earlier   *Statement // the same file, if it was imported before
}

// Import reads a statement of a bank in the 1C exchange format and credits the transfers to the seller's account that name an invoice and come
// from its buyer. Each document is credited once ever, so that a file may be imported again, also after an error. A dry run changes nothing.
// It fails with fault.Invalid for what is no statement.
func (m *Manager) Import(ctx context.Context, file []byte, o ImportOrder) (*Report, error) {
	documents, err := ReadStatement(file)
	if err != nil {
		return nil, err
	}
	r := &Report{Dry: o.Dry, Counts: map[Outcome]int{}, Matches: make([]Match, 0, len(documents))}
	if r.Earlier, err = m.earlier(ctx, file); err != nil {
		return nil, err
	}
	chosen, err := m.chosen(ctx, o.Assign)
	if err != nil {
		return nil, err
	}
	try := trial{sums: map[string]*Invoice{}, seen: map[string]bool{}}
	for i := range documents {
		one := Match{Document: documents[i]}
		inv, err := m.match(ctx, &one)
		if c := chosen[one.Document.Line]; err == nil && inv == nil && c != nil && one.Outcome.MayAssign() {
			inv, one.Invoice, one.Number, one.Note, one.Assigned = c, c.ID, c.Number, "", true
		}
		if err == nil && inv != nil {
			if o.Dry {
				err = m.tryOut(ctx, &one, inv, &try)
			} else {
				err = m.credit(ctx, &one, inv, o.Actor)
			}
		}
		if err != nil {
			return nil, err
		}
		r.Counts[one.Outcome]++
		r.Credited += one.Credited
		r.Matches = append(r.Matches, one)
	}
	if o.Dry {
		return r, nil
	}
	return r, m.keep(ctx, file, r, &o)
}

// chosen finds the invoices that a person has chosen, by the lines of documents.
func (m *Manager) chosen(ctx context.Context, assign map[int]string) (map[int]*Invoice, error) {
	all := make(map[int]*Invoice, len(assign))
	for line, name := range assign {
		i, err := m.Named(ctx, name)
		if fault.Is(err, fault.NotFound) {
			return nil, noInvoice("invoice.Import", "assign", name)
		}
		if err != nil {
			return nil, err
		}
		all[line] = &i
	}
	return all, nil
}

// match finds the invoice of a document; nil: no invoice fits, and the outcome says why.
func (m *Manager) match(ctx context.Context, one *Match) (*Invoice, error) {
	d := &one.Document
	fail := func(o Outcome, note string) (*Invoice, error) {
		one.Outcome, one.Note = o, note
		return nil, nil //nolint:nilnil // the outcome is in one
	}
	own := m.cfg.Seller.Account
	switch {
	case d.Problem != "":
		return fail(Unreadable, d.Problem)
	case d.PayerAccount == own:
		return fail(Outgoing, "")
	}
	numbers := numbersIn(d.Purpose, m.cfg.Prefix)
	if len(numbers) != 1 {
		switch {
		case d.Receiver != own:
			return fail(OtherAccount, "It was not paid to "+own+".")
		case d.Arrived.IsZero():
			return fail(NotArrived, "The statement does not say when it arrived.")
		case len(numbers) == 0:
			return fail(NoNumber, "The purpose names no invoice.")
		}
		return fail(Ambiguous, "The purpose names several invoices: "+strings.Join(numbers, ", ")+".")
	}
	one.Number = numbers[0]
	found, err := m.store.Invoices(ctx, Query{Seller: m.cfg.Seller.INN, Number: one.Number, Limit: 1})
	if err != nil {
		return nil, err
	}
	switch {
	case d.Receiver != own && (len(found) == 0 || d.Receiver != found[0].Seller.Account):
		return fail(OtherAccount, "It was not paid to "+own+".")
	case d.Arrived.IsZero():
		return fail(NotArrived, "The statement does not say when it arrived.")
	case len(found) == 0:
		return fail(UnknownNumber, "There is no invoice "+one.Number+".")
	}
	i := &found[0]
	one.Invoice = i.ID
	if d.PayerINN != i.Buyer.INN {
		return fail(PayerDiffers, "The invoice is for INN "+i.Buyer.INN+", the payer has "+orNone(d.PayerINN)+".")
	}
	return i, nil
}

func orNone(s string) string {
	if s == "" {
		return "none"
	}
	return s
}

func (m *Manager) transferOf(d *Document, i *Invoice, by audit.Actor) Transfer {
	return Transfer{Key: d.key(), Invoice: i.ID, Account: i.Account, Amount: d.Amount, Date: d.Date, Number: d.Number, Payer: clip(d.PayerName+", INN "+d.PayerINN, MostName), Purpose: d.Purpose,
		Actor: by.Name, At: m.now()}
}

// settle puts the result of a transfer into a match. It fails when the store could not be asked.
func (one *Match) settle(i *Invoice, t *Transfer, before bool, err error) error {
	switch {
	case err == nil && before:
		one.Outcome = Already
		if one.Missing = i.Missing(); t.Manual {
			one.Note = "An operator marked it as paid."
		}
	case err == nil:
		one.Outcome, one.Credited, one.Missing = Credited, t.Credited, i.Missing()
		one.Note = strings.TrimPrefix(i.difference(), "; ")
	case fault.Is(err, fault.Conflict) && i.State == Cancelled:
		one.Outcome, one.Note = WasCancelled, fault.From(err).Public
	case fault.Is(err, fault.Conflict), fault.Is(err, fault.Invalid), fault.Is(err, fault.Unprocessable), fault.Is(err, fault.NotFound):
		one.Outcome, one.Note = Refused, fault.From(err).Public
	default:
		return err
	}
	return nil
}

func (m *Manager) credit(ctx context.Context, one *Match, i *Invoice, by audit.Actor) error {
	how := ""
	if one.Assigned {
		how = "; chosen by hand"
	}
	after, t, before, err := m.pay(ctx, m.transferOf(&one.Document, i, by), nil, by, how)
	if err != nil {
		after = *i
	}
	return one.settle(&after, &t, before, err)
}

// trial is what earlier documents of a file would have done.
type trial struct {
	sums map[string]*Invoice
	seen map[string]bool
}

// tryOut decides as a store would, and keeps the result for the next documents.
func (m *Manager) tryOut(ctx context.Context, one *Match, i *Invoice, try *trial) error {
	if kept := try.sums[i.ID]; kept != nil {
		i = kept
	}
	try.sums[i.ID] = i
	t := m.transferOf(&one.Document, i, audit.Actor{})
	p := Paying{Invoice: i, Transfer: &t}
	if try.seen[t.Key] {
		p.Prior = &t
	} else {
		prior, err := m.store.PriorTransfer(ctx, &t)
		if err != nil && !fault.Is(err, fault.NotFound) {
			return err
		}
		if err == nil {
			p.Prior = &prior
		}
	}
	work := *i
	p.Invoice = &work
	_, _, err := p.decide(audit.Actor{Name: "trial"})
	done := &t
	if p.Prior != nil {
		done = p.Prior
	}
	if err == nil {
		*i = work
		try.seen[t.Key] = true
	}
	return one.settle(&work, done, p.Prior != nil, err)
}

// numbersIn finds numbers of invoices in the purpose of a transfer: the prefix, a year, a hyphen and digits, with spaces around the hyphen or
// none, in any case, and in letters that look the same. Each number is found once.
func numbersIn(purpose, prefix string) (all []string) {
	text, want := []rune(alike(purpose)), alike(prefix)
	at := 0
	skip := func() {
		for at < len(text) && text[at] == ' ' {
			at++
		}
	}
	run := func() string {
		from := at
		for at < len(text) && text[at] >= '0' && text[at] <= '9' {
			at++
		}
		return string(text[from:at])
	}
	for from := range text {
		if from > 0 && (unicode.IsLetter(text[from-1]) || unicode.IsDigit(text[from-1])) {
			continue
		}
		at = from
		fits := true
		for _, r := range want {
			if r != ' ' {
				skip()
			}
			if at == len(text) || text[at] != r {
				fits = false
				break
			}
			at++
		}
		if skip(); !fits {
			continue
		}
		year := run()
		if skip(); len(year) != 4 || at == len(text) || text[at] != '-' {
			continue
		}
		at++
		skip()
		tail := run()
		seq, err := strconv.ParseInt(tail, 10, 64)
		if err != nil || seq == 0 || at < len(text) && unicode.IsLetter(text[at]) {
			continue
		}
		y, _ := strconv.ParseInt(year, 10, 64)
		if n := numberOf(prefix, y, seq); !contains(all, n) {
			all = append(all, n)
		}
	}
	return all
}

func contains(all []string, s string) bool {
	for _, x := range all {
		if x == s {
			return true
		}
	}
	return false
}

// alike is a text as numbers are compared: in capitals, with one kind of hyphen and of space, and Latin for Cyrillic letters of the same form.
func alike(s string) string {
	return strings.Map(func(r rune) rune {
		switch r {
		case '\u2010', '\u2011', '\u2012', '\u2013', '\u2014', '\u2212':
			return '-'
		}
		if unicode.IsSpace(r) {
			return ' '
		}
		if l, ok := forms[r]; ok {
			return l
		}
		return r
	}, strings.ToUpper(s))
}

var forms = map[rune]rune{'А': 'A', 'В': 'B', 'Е': 'E', 'К': 'K', 'М': 'M', 'Н': 'H', 'О': 'O', 'Р': 'P', 'С': 'C', 'Т': 'T', 'У': 'Y', 'Х': 'X'}

// printable leaves out what cannot be printed.
func printable(s string) string {
	return strings.Map(func(r rune) rune {
		if !unicode.IsPrint(r) {
			return -1
		}
		return r
	}, s)
}

// keyOf hashes the parts of a key, each after its length.
func keyOf(parts ...string) string {
	var b []byte
	for _, p := range parts {
		b = strconv.AppendInt(b, int64(len(p)), 10)
		b = append(append(b, ':'), p...)
	}
	sum := sha256.Sum256(b)
	return hex.EncodeToString(sum[:16])
}
