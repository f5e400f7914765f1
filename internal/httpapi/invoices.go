package httpapi

import (
	"fmt"
	"net/http"
	"time"

	"weir/internal/fault"
	"weir/internal/invoice"
	"weir/internal/rate"
	"weir/internal/rawjson"
	"weir/internal/report/paper"
)

const (
	invoicesPage = 20
	invoicesMost = 100
)

func (x *exchange) invoices() (*invoice.Manager, error) {
	if x.api.Invoices == nil {
		return nil, fault.New(fault.NotFound, "httpapi.invoices", "This gateway makes no invoices. Ask its operator, or pay in another way.")
	}
	return x.api.Invoices, nil
}

// owner is whose invoices and acts a route may touch: those of the account, or for administrators all.
func (x *exchange) owner() string {
	if x.route.access == administration {
		return ""
	}
	return x.caller.User
}

// listInvoices serves GET /api/invoices: what can be made, the saved buyer, and the invoices of the account, the newest first.
func (x *exchange) listInvoices() error {
	var o object
	o.Object()
	m := x.api.Invoices
	if m == nil {
		o.null("settings")
		o.null("buyer")
		o.Name("data").Array()
		o.EndArray()
		o.null("next")
		o.EndObject()
		return x.reply(&o)
	}
	c := m.Config()
	o.Name("settings").Object()
	o.text("seller", c.Seller.Name)
	o.amountText("min", c.Least)
	o.amountText("max", c.Most)
	appendInvoiceVAT(&o, c.VAT)
	o.EndObject()
	switch b, err := m.Buyer(x.context(), x.caller.User); {
	case err == nil:
		appendBuyer(&o, "buyer", &b)
	case fault.Is(err, fault.NotFound):
		o.null("buyer")
	default:
		return err
	}
	if err := x.appendInvoices(&o, m, invoice.Query{Account: x.caller.User}); err != nil {
		return err
	}
	o.EndObject()
	return x.reply(&o)
}

// listAdminInvoices serves GET /api/admin/invoices: those of all accounts.
func (x *exchange) listAdminInvoices() error {
	m, err := x.invoices()
	if err != nil {
		return err
	}
	q, err := x.query()
	if err != nil {
		return err
	}
	state := invoice.State(q.Get("state"))
	switch state {
	case "", invoice.Open, invoice.Paid, invoice.Cancelled:
	default:
		return fault.Field("httpapi.listAdminInvoices", "state", "state must be open, paid or cancelled.").Coded("invoice_state")
	}
	var o object
	o.Object()
	if err := x.appendInvoices(&o, m, invoice.Query{Account: q.Get("user"), State: state, Number: q.Get("number"), Seller: m.Config().Seller.INN}); err != nil {
		return err
	}
	o.EndObject()
	return x.reply(&o)
}

// appendInvoices adds a page of invoices, as the query of the request asks for it.
func (x *exchange) appendInvoices(o *object, m *invoice.Manager, q invoice.Query) error {
	limit, err := x.limitOf(invoicesPage, invoicesMost)
	if err != nil {
		return err
	}
	q.Limit, q.Before = limit+1, x.r.URL.Query().Get("cursor")
	all, err := m.Invoices(x.context(), q)
	if fault.Is(err, fault.NotFound) {
		return fault.Field("httpapi.appendInvoices", "cursor", "cursor must be next of the page before.").Coded("cursor")
	}
	if err != nil {
		return err
	}
	more := len(all) > limit
	all = all[:min(limit, len(all))]
	o.Name("data").Array()
	for i := range all {
		o.Object()
		x.appendInvoice(o, &all[i])
		o.EndObject()
	}
	o.EndArray()
	if more {
		o.text("next", all[len(all)-1].ID)
	} else {
		o.null("next")
	}
	return nil
}

func appendInvoiceVAT(o *object, v rate.VAT) {
	o.Name("vat")
	appendVAT(o, rate.VAT{Mode: v.Mode, Percent: v.Plain()})
}

func appendBuyer(o *object, name string, b *invoice.Buyer) {
	o.Name(name).Object()
	o.text("name", b.Name)
	o.text("inn", b.INN)
	o.textOrNull("kpp", b.KPP)
	o.text("address", b.Address)
	o.EndObject()
}

func (x *exchange) appendInvoice(o *object, i *invoice.Invoice) {
	o.text("id", i.ID)
	o.text("number", i.Number)
	o.text("state", string(i.State))
	o.boolean("expired", i.Expired(x.at))
	appendBuyer(o, "buyer", &i.Buyer)
	o.amountText("amount", i.Amount)
	appendInvoiceVAT(o, i.VAT)
	o.amountText("vat_amount", i.Tax)
	o.amountText("total", i.Total)
	o.amountText("received", i.Received)
	o.amountText("credited", i.Credited)
	o.amountText("missing", i.Missing())
	o.moment("created_at", i.CreatedAt)
	o.moment("expires_at", i.ExpiresAt)
	o.moment("ended_at", i.EndedAt)
	if x.route.access == administration {
		o.text("user", i.Account)
	}
}

func (x *exchange) replyInvoice(status int, i *invoice.Invoice, more func(*object)) error {
	var o object
	o.Object()
	o.Name("data").Object()
	x.appendInvoice(&o, i)
	if more != nil {
		more(&o)
	}
	o.EndObject()
	o.EndObject()
	x.w.Header().Set("Cache-Control", "no-store")
	x.writeBody(status, jsonType, o.B)
	return nil
}

// putBuyer serves PUT /api/invoices/buyer.
func (x *exchange) putBuyer() error {
	var b invoice.Buyer
	if err := x.form(map[string]*string{"name": &b.Name, "inn": &b.INN, "kpp": &b.KPP, "address": &b.Address}); err != nil {
		return err
	}
	m, err := x.invoices()
	if err != nil {
		return err
	}
	if b, err = m.SaveBuyer(x.context(), x.caller.User, b, x.actor()); err != nil {
		return err
	}
	var o object
	o.Object()
	appendBuyer(&o, "data", &b)
	o.EndObject()
	return x.reply(&o)
}

// postInvoice serves POST /api/invoices.
func (x *exchange) postInvoice() error {
	body, err := x.readObject()
	if err != nil {
		return err
	}
	m, err := x.invoices()
	if err != nil {
		return err
	}
	order := invoice.Order{Account: x.caller.User, Wallet: x.caller.Wallet, Actor: x.actor()}
	for f := rawjson.MembersOf(body); f.Next(); {
		if name := string(f.Name); name != "amount" {
			return fault.Field("httpapi.postInvoice", clip(name), "This route has no field of this name.").Coded("unknown_field")
		}
		if order.Amount, err = rublesOf("amount", f.Value); err != nil {
			return err
		}
	}
	i, err := m.Make(x.context(), order)
	if err != nil {
		return err
	}
	return x.replyInvoice(http.StatusCreated, &i, nil)
}

// getInvoice serves GET /api/invoices/{id}.
func (x *exchange) getInvoice() error {
	m, err := x.invoices()
	if err != nil {
		return err
	}
	i, err := m.Invoice(x.context(), x.values[0], x.owner())
	if err != nil {
		return err
	}
	all, err := m.Transfers(x.context(), i.ID)
	if err != nil {
		return err
	}
	return x.replyInvoice(http.StatusOK, &i, func(o *object) {
		o.Name("transfers").Array()
		for k := range all {
			x.appendTransfer(o, &all[k])
		}
		o.EndArray()
	})
}

// getAdminInvoice serves GET /api/admin/invoices/{id}.
func (x *exchange) getAdminInvoice() error { return x.getInvoice() }

func (x *exchange) appendTransfer(o *object, t *invoice.Transfer) {
	o.Object()
	o.text("date", t.Date.Format(time.DateOnly))
	o.text("number", t.Number)
	o.amountText("amount", t.Amount)
	o.amountText("credited", t.Credited)
	o.text("reference", "topup:"+invoice.Source+":"+t.Key)
	o.textOrNull("purpose", t.Purpose)
	o.moment("noted_at", t.At)
	if x.route.access == administration {
		o.textOrNull("payer", t.Payer)
		o.boolean("imported", !t.Manual)
		o.text("actor", t.Actor)
	}
	o.EndObject()
}

// deleteInvoice serves DELETE /api/invoices/{id}: the invoice is cancelled, and stays in the list.
func (x *exchange) deleteInvoice() error {
	m, err := x.invoices()
	if err != nil {
		return err
	}
	i, err := m.Cancel(x.context(), x.values[0], x.owner(), x.actor())
	if err != nil {
		return err
	}
	return x.replyInvoice(http.StatusOK, &i, nil)
}

// deleteAdminInvoice serves DELETE /api/admin/invoices/{id}.
func (x *exchange) deleteAdminInvoice() error { return x.deleteInvoice() }

// getInvoiceDocument serves GET /api/invoices/{id}/pdf.
func (x *exchange) getInvoiceDocument() error {
	m, err := x.invoices()
	if err != nil {
		return err
	}
	i, err := m.Invoice(x.context(), x.values[0], x.owner())
	if err != nil {
		return err
	}
	return x.exportAs(fmt.Sprintf("weir-invoice-%d-%d.pdf", i.Year, i.Seq), "pdf", func(e *exporting) (err error) {
		e.Bytes, err = paper.Invoice(&i)
		return err
	})
}

// getAdminInvoiceDocument serves GET /api/admin/invoices/{id}/pdf.
func (x *exchange) getAdminInvoiceDocument() error { return x.getInvoiceDocument() }
