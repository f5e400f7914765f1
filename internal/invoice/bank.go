package invoice

import (
	"bytes"
	"strings"
	"time"
	"unicode/utf8"

	"golang.org/x/text/encoding/charmap"

	"weir/internal/fault"
	"weir/internal/money"
)

// Bounds of a statement of a bank.
const (
	MostStatement = 16 << 20 // bytes
	MostDocuments = 20_000
	mostLine      = 4096 // bytes of a field that is read
)

// Document is a document of a statement in the 1C exchange format.
type Document struct {
	Kind         string // such as "Платежное поручение"
	Number       string
	Date         time.Time // midnight UTC of that day
	Arrived      time.Time // on the receiver's account; zero: it is not there
	Amount       money.Nano
	PayerName    string
	PayerINN     string
	PayerAccount string
	Receiver     string // account
	Purpose      string
	Line         int    // of the file, where it begins
	Problem      string // why it cannot be read; "" when it can
}

// key names a document for ever.
func (d *Document) key() string {
	return keyOf("bank", day(d.Date), d.Number, d.Amount.String(), d.PayerAccount, d.Receiver)
}

const (
	exchangeHead = "1CClientBankExchange"
	documentHead = "СекцияДокумент"
	documentEnd  = "КонецДокумента"
	fileEnd      = "КонецФайла"
	purpose      = "НазначениеПлатежа"
)

// ReadStatement reads the documents of a statement: UTF-8, windows-1251 or, as old programs write it, code page 866. What is wrong with one
// document is its Problem. It fails with fault.Invalid for what is no such file, has no end, or is too large.
func ReadStatement(file []byte) ([]Document, error) {
	const op = "invoice.ReadStatement"
	if len(file) > MostStatement {
		return nil, fault.Newf(fault.PayloadTooLarge, op, "The statement has more than %d MiB. Export a shorter period.", MostStatement>>20)
	}
	text, ok := decode(bytes.TrimPrefix(file, []byte("\ufeff")))
	if !ok {
		return nil, fault.New(fault.Invalid, op, "This is no statement in the 1C exchange format: its first line must be 1CClientBankExchange. Export it from the bank as 1C, or kl_to_1c.txt.").Coded("statement_format")
	}
	var all []Document
	fields := map[string]string{} // of one document after the other
	begins, open, ended, last := 0, false, false, ""
	for n := 1; text != "" && !ended; n++ {
		var line string
		line, text, _ = strings.Cut(text, "\n")
		name, value, is := strings.Cut(strings.TrimRight(line, "\r"), "=")
		name = strings.TrimSpace(name)
		switch {
		case name == documentHead && open:
			return nil, fault.Newf(fault.Invalid, op, "Line %d begins a document before that of line %d ends. The file is damaged.", n, begins).Coded("statement_damaged", "line", n)
		case name == documentHead:
			if len(all) == MostDocuments {
				return nil, fault.Newf(fault.PayloadTooLarge, op, "The statement has more than %d documents. Export a shorter period.", MostDocuments)
			}
			clear(fields)
			fields[documentHead], begins, open = value, n, true
		case name == documentEnd && !open:
			return nil, fault.Newf(fault.Invalid, op, "Line %d ends a document that did not begin. The file is damaged.", n).Coded("statement_damaged", "line", n)
		case name == documentEnd:
			all = append(all, documentOf(fields, begins))
			open = false
		case name == fileEnd:
			ended = true
		case open && !is && strings.HasPrefix(last, purpose): // the purpose goes on in another line
			if len(fields[last])+len(name) < mostLine {
				fields[last] += " " + name
			}
		case !open || !wanted[name]:
			last = name
		case len(value) > mostLine:
			fields[tooLong] = name
		default:
			if _, twice := fields[name]; twice {
				fields[repeated] = name
			}
			fields[name], last = value, name
		}
	}
	if open || !ended {
		return nil, fault.Newf(fault.Invalid, op, "The statement does not end with %s: it was cut. Export it again.", fileEnd).Coded("statement_cut")
	}
	return all, nil
}

// decode makes UTF-8 of a file that begins as statements do.
func decode(file []byte) (string, bool) {
	first, _, _ := bytes.Cut(file, []byte("\n"))
	if strings.TrimSpace(string(first)) != exchangeHead {
		return "", false
	}
	if utf8.Valid(file) {
		return string(file), true
	}
	for _, page := range []*charmap.Charmap{charmap.Windows1251, charmap.CodePage866} {
		if text, err := page.NewDecoder().Bytes(file); err == nil && bytes.Contains(text, []byte(fileEnd)) {
			return string(text), true
		}
	}
	return "", false
}

// The fields that are read. What is after the bar are notes of the reader.
const (
	tooLong  = "|long"
	repeated = "|twice"
)

var wanted = map[string]bool{
	"Номер": true, "Дата": true, "Сумма": true, "ДатаПоступило": true, "ПлательщикСчет": true, "ПлательщикРасчСчет": true, "ПлательщикИНН": true, "Плательщик": true, "Плательщик1": true,
	"ПолучательСчет": true, "ПолучательРасчСчет": true, "НазначениеПлатежа": true, "НазначениеПлатежа1": true, "НазначениеПлатежа2": true, "НазначениеПлатежа3": true,
	"НазначениеПлатежа4": true, "НазначениеПлатежа5": true, "НазначениеПлатежа6": true,
}

func documentOf(fields map[string]string, line int) Document {
	get := func(names ...string) string {
		for _, n := range names {
			if s := tidy(fields[n]); s != "" {
				return s
			}
		}
		return ""
	}
	d := Document{Kind: clip(get(documentHead), 100), Number: plainNumber(printable(get("Номер"))), PayerName: clip(get("Плательщик1", "Плательщик"), MostName), PayerINN: clip(get("ПлательщикИНН"), 20),
		PayerAccount: get("ПлательщикСчет", "ПлательщикРасчСчет"), Receiver: get("ПолучательСчет", "ПолучательРасчСчет"), Purpose: get("НазначениеПлатежа"), Line: line}
	if d.Purpose == "" {
		for _, n := range []string{"1", "2", "3", "4", "5", "6"} {
			d.Purpose = tidy(d.Purpose + " " + fields["НазначениеПлатежа"+n])
		}
	}
	d.Purpose = clip(d.Purpose, 1000)
	var dated, arrived, paid bool
	d.Date, dated = dateOf(get("Дата"))
	d.Arrived, arrived = dateOf(get("ДатаПоступило"))
	d.Amount, paid = amountOf(get("Сумма"))
	switch {
	case fields[tooLong] != "":
		d.Problem = "The field " + fields[tooLong] + " is too long."
	case fields[repeated] != "":
		d.Problem = "The field " + fields[repeated] + " is there twice."
	case d.Number == "" || utf8.RuneCountInString(d.Number) > MostReference:
		d.Problem = "Номер is missing, or too long."
	case !dated:
		d.Problem = "Дата is no day such as 25.11.2026."
	case !paid:
		d.Problem = "Сумма is no amount such as 12200.00."
	case !arrived && get("ДатаПоступило") != "":
		d.Problem = "ДатаПоступило is no day such as 25.11.2026."
	case !digits(d.PayerAccount, 20) || !digits(d.Receiver, 20):
		d.Problem = "ПлательщикСчет and ПолучательСчет must have 20 digits."
	}
	d.Number, d.PayerAccount, d.Receiver = clip(d.Number, MostReference), clip(d.PayerAccount, 40), clip(d.Receiver, 40)
	return d
}

func dateOf(s string) (time.Time, bool) {
	t, err := time.Parse("02.01.2006", s)
	return t, err == nil && t.Year() >= 1990 && t.Year() < 2200
}

// amountOf reads rubles with at most two decimals, above zero.
func amountOf(s string) (money.Nano, bool) {
	n, err := money.Parse(strings.Replace(s, ",", ".", 1))
	return n, err == nil && n > 0 && n%Kopeck == 0 && n <= 1_000_000_000*money.Ruble
}

// clip cuts a text to a number of characters, without what cannot be printed.
func clip(s string, most int) string {
	s = printable(s)
	for i := range s {
		if most == 0 {
			return s[:i]
		}
		most--
	}
	return s
}
