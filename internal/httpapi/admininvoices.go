package httpapi

import (
	"encoding/base64"
	"maps"
	"slices"
	"strings"
	"time"

	"weir/internal/fault"
	"weir/internal/invoice"
	"weir/internal/money"
	"weir/internal/rawjson"
)

// statementBody is the size of a request with a statement, in base64.
const statementBody = invoice.MostStatement*4/3 + 64<<10

// movement is what an administrator notes of a document of the bank.
type movement struct {
	amount                  money.Nano
	reference, date, reason string
	below                   bool
}

func (x *exchange) movementOf(op, reason string, mayBelow bool) (v movement, date time.Time, err error) {
	body, err := x.readObject()
	if err != nil {
		return v, date, err
	}
	texts := map[string]*string{"reference": &v.reference, "date": &v.date, reason: &v.reason}
	for m := rawjson.MembersOf(body); m.Next(); {
		kind, name := rawjson.KindOf(m.Value), string(m.Name)
		switch {
		case texts[name] == nil && name != "amount" && (name != "below_zero" || !mayBelow):
			return v, date, fault.Field(op, clip(name), "This route has no field of this name.")
		case kind == rawjson.Null:
		case texts[name] != nil && kind == rawjson.String:
			*texts[name] = rawjson.Text(m.Value)
		case name == "amount":
			if v.amount, err = rublesOf(name, m.Value); err != nil {
				return v, date, err
			}
			if v.amount <= 0 {
				return v, date, fault.Field(op, name, "amount must be above zero.")
			}
		case name == "below_zero" && (kind == rawjson.True || kind == rawjson.False):
			v.below = kind == rawjson.True
		default:
			return v, date, wrongKind(name, kind)
		}
	}
	date, err = time.Parse(time.DateOnly, v.date)
	if err != nil {
		return v, date, fault.Field(op, "date", "date must be the day of the bank's document, such as 2026-11-25.")
	}
	return v, date, nil
}

// postInvoicePaid serves POST /api/admin/invoices/{id}/paid.
func (x *exchange) postInvoicePaid() error {
	v, date, err := x.movementOf("httpapi.postInvoicePaid", "note", false)
	if err != nil {
		return err
	}
	m, err := x.invoices()
	if err != nil {
		return err
	}
	i, t, repeated, err := m.MarkPaid(x.context(), x.values[0], invoice.Payment{Amount: v.amount, Reference: v.reference, Date: date, Note: v.reason, Actor: x.actor()})
	if err != nil {
		return err
	}
	return x.replyMoved(&i, &t, repeated)
}

// postInvoiceRefund serves POST /api/admin/invoices/{id}/refund.
func (x *exchange) postInvoiceRefund() error {
	v, date, err := x.movementOf("httpapi.postInvoiceRefund", "reason", true)
	if err != nil {
		return err
	}
	m, err := x.invoices()
	if err != nil {
		return err
	}
	i, t, repeated, err := m.PayBack(x.context(), x.values[0], invoice.BackOrder{Amount: v.amount, Reference: v.reference, Date: date, Reason: v.reason, BelowZero: v.below, Actor: x.actor()})
	if err != nil {
		return err
	}
	return x.replyMoved(&i, &t, repeated)
}

func (x *exchange) replyMoved(i *invoice.Invoice, t *invoice.Transfer, repeated bool) error {
	var o object
	o.Object()
	o.Name("data").Object()
	x.appendInvoice(&o, i)
	o.Name("transfer")
	x.appendTransfer(&o, t)
	o.boolean("repeated", repeated)
	o.EndObject()
	o.EndObject()
	return x.reply(&o)
}

// postStatement serves POST /api/admin/invoices/import.
func (x *exchange) postStatement() error {
	const op = "httpapi.postStatement"
	body, err := x.readObject()
	if err != nil {
		return err
	}
	m, err := x.invoices()
	if err != nil {
		return err
	}
	var file []byte
	dry, given := false, false
	for f := rawjson.MembersOf(body); f.Next(); {
		kind, name := rawjson.KindOf(f.Value), string(f.Name)
		switch {
		case name == "dry_run" && (kind == rawjson.True || kind == rawjson.False):
			dry = kind == rawjson.True
		case name == "statement" && kind == rawjson.String:
			given = true
			text := strings.NewReplacer("\n", "", "\r", "", " ", "").Replace(rawjson.Text(f.Value))
			if file, err = base64.StdEncoding.DecodeString(text); err != nil {
				return fault.Field(op, name, "statement must be the file in base64: base64 -w0 kl_to_1c.txt")
			}
		case name == "statement" || name == "dry_run":
			return wrongKind(name, kind)
		default:
			return fault.Field(op, clip(name), "This route has no field of this name.")
		}
	}
	if !given {
		return fault.Field(op, "statement", "statement is missing: give the bank's file in base64.")
	}
	r, err := m.Import(x.context(), file, dry, x.actor())
	if err != nil {
		if e := fault.From(err); e.Kind == fault.Invalid && e.Param == "" {
			return fault.Field(op, "statement", "%s", e.Public).Because(err)
		}
		return err
	}
	o := newObject(4096 + 400*len(r.Matches))
	o.Object()
	o.Name("data").Object()
	o.boolean("dry_run", r.Dry)
	o.amountText("credited", r.Credited)
	o.Name("counts").Object()
	for _, k := range slices.Sorted(maps.Keys(r.Counts)) {
		o.integer(string(k), int64(r.Counts[k]))
	}
	o.EndObject()
	o.Name("documents").Array()
	for i := range r.Matches {
		appendMatch(&o, &r.Matches[i])
	}
	o.EndArray()
	o.EndObject()
	o.EndObject()
	return x.reply(&o)
}

func appendMatch(o *object, m *invoice.Match) {
	d := &m.Document
	o.Object()
	o.text("outcome", string(m.Outcome))
	o.boolean("needs_you", m.Outcome.NeedsYou())
	o.textOrNull("note", m.Note)
	o.integer("line", int64(d.Line))
	o.textOrNull("number", d.Number)
	if d.Date.IsZero() {
		o.null("date")
	} else {
		o.text("date", d.Date.Format(time.DateOnly))
	}
	o.amountText("amount", d.Amount)
	o.textOrNull("payer", d.PayerName)
	o.textOrNull("payer_inn", d.PayerINN)
	o.textOrNull("purpose", d.Purpose)
	o.textOrNull("invoice", m.Invoice)
	o.textOrNull("invoice_number", m.Number)
	o.amountText("credited", m.Credited)
	o.amountText("missing", m.Missing)
	o.EndObject()
}
