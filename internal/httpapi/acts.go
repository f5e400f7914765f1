package httpapi

import (
	"fmt"
	"net/http"

	"weir/internal/fault"
	"weir/internal/invoice"
	"weir/internal/report/paper"
)

// listActs serves GET /api/acts: those of the account, and the months whose acts can be made.
func (x *exchange) listActs() error {
	var o object
	o.Object()
	m := x.api.Invoices
	if m == nil {
		o.texts("due", nil)
		o.Name("data").Array()
		o.EndArray()
		o.null("next")
		o.EndObject()
		return x.reply(&o)
	}
	due, err := m.ActsDue(x.context(), x.caller.User)
	if err != nil {
		return err
	}
	o.texts("due", due)
	if err := x.appendActs(&o, m, x.caller.User, ""); err != nil {
		return err
	}
	o.EndObject()
	return x.reply(&o)
}

// listAdminActs serves GET /api/admin/acts.
func (x *exchange) listAdminActs() error {
	m, err := x.invoices()
	if err != nil {
		return err
	}
	q, err := x.query()
	if err != nil {
		return err
	}
	var o object
	o.Object()
	if err := x.appendActs(&o, m, q.Get("user"), q.Get("month")); err != nil {
		return err
	}
	o.EndObject()
	return x.reply(&o)
}

func (x *exchange) appendActs(o *object, m *invoice.Manager, account, month string) error {
	limit, err := x.limitOf(invoicesPage, invoicesMost)
	if err != nil {
		return err
	}
	all, err := m.Acts(x.context(), account, month, x.r.URL.Query().Get("cursor"), limit+1)
	if fault.Is(err, fault.NotFound) {
		return fault.Field("httpapi.appendActs", "cursor", "cursor must be next of the page before.").Coded("cursor")
	}
	if err != nil {
		return err
	}
	more := len(all) > limit
	all = all[:min(limit, len(all))]
	o.Name("data").Array()
	for i := range all {
		x.appendAct(o, &all[i])
	}
	o.EndArray()
	if more {
		o.text("next", all[len(all)-1].ID)
	} else {
		o.null("next")
	}
	return nil
}

func (x *exchange) appendAct(o *object, a *invoice.Act) {
	o.Object()
	o.text("id", a.ID)
	o.text("number", a.Number)
	o.text("month", a.Month)
	o.amountText("opening", a.Opening)
	o.amountText("topped_up", a.ToppedUp)
	o.amountText("spent", a.Spent)
	o.amountText("closing", a.Closing)
	o.amountText("carried_in", a.Before)
	o.amountText("amount", a.Amount)
	appendInvoiceVAT(o, a.VAT)
	o.amountText("vat_amount", a.Tax)
	o.amountText("total", a.Total)
	o.amountText("carried_out", a.After)
	o.moment("made_at", a.MadeAt)
	if x.route.access == administration {
		o.text("user", a.Account)
	}
	o.EndObject()
}

// postActs serves POST /api/acts: the acts of the account up to a month.
func (x *exchange) postActs() error {
	var month string
	if err := x.form(map[string]*string{"month": &month}); err != nil {
		return err
	}
	m, err := x.invoices()
	if err != nil {
		return err
	}
	made, err := m.MakeActs(x.context(), x.caller.User, x.caller.Wallet, month, x.actor())
	if err != nil {
		return err
	}
	return x.replyActs(made)
}

func (x *exchange) replyActs(made []invoice.Act) error {
	var o object
	o.Object()
	o.Name("data").Array()
	for i := range made {
		x.appendAct(&o, &made[i])
	}
	o.EndArray()
	o.EndObject()
	x.writeBody(http.StatusCreated, jsonType, o.B)
	return nil
}

// getActDocument serves GET /api/acts/{id}/pdf.
func (x *exchange) getActDocument() error {
	m, err := x.invoices()
	if err != nil {
		return err
	}
	a, err := m.Act(x.context(), x.values[0], x.owner())
	if err != nil {
		return err
	}
	return x.exportAs(fmt.Sprintf("weir-act-%d-%d.pdf", a.Year, a.Seq), "pdf", func(e *exporting) (err error) {
		e.Bytes, err = paper.Act(&a)
		return err
	})
}

// getAdminActDocument serves GET /api/admin/acts/{id}/pdf.
func (x *exchange) getAdminActDocument() error { return x.getActDocument() }

// postAdminActs serves POST /api/admin/acts: the acts of all accounts up to a month.
func (x *exchange) postAdminActs() error {
	var month string
	if err := x.form(map[string]*string{"month": &month}); err != nil {
		return err
	}
	m, err := x.invoices()
	if err != nil {
		return err
	}
	all := []invoice.Act{}
	var failed error
	err = m.MakeAllActs(x.context(), month, x.actor(), func(_ string, made []invoice.Act, err error) {
		all = append(all, made...)
		if err != nil && failed == nil {
			failed = err
		}
	})
	if err == nil {
		err = failed
	}
	if err != nil {
		return err
	}
	return x.replyActs(all)
}
