package httpapi

import (
	"net/http"
	"net/netip"
	"strings"

	"weir/internal/catalog/edit"
	"weir/internal/fault"
	"weir/internal/money"
	"weir/internal/payment"
	"weir/internal/rawjson"
)

// Payments is how people pay for their wallets.
type Payments struct {
	Service *payment.Service
	// Read reads a notification of the provider. From are the addresses that may send any.
	Read func(body []byte) (payment.Notice, error)
	From []netip.Prefix
}

const (
	maxNotice    = 64 << 10 // bytes
	paymentsPage = 20
	paymentsMost = 100
)

func (x *exchange) payments() (*payment.Service, error) {
	if x.api.Payments == nil {
		return nil, fault.New(fault.NotFound, "httpapi.payments", "This gateway takes no payments. Ask its operator to credit your wallet.")
	}
	return x.api.Payments.Service, nil
}

// listPayments serves GET /api/payments: what can be paid, the automatic top-ups, and the payments of the account, the newest first.
func (x *exchange) listPayments() error {
	var o object
	o.Object()
	if x.api.Payments == nil {
		o.null("settings")
		o.null("auto")
		o.Name("data").Array()
		o.EndArray()
		o.null("next")
		o.EndObject()
		return x.reply(&o)
	}
	s := x.api.Payments.Service
	o.Name("settings")
	appendPaySettings(&o, s)
	if err := x.appendRule(&o, s); err != nil {
		return err
	}
	if err := x.appendPayments(&o, payment.Query{Account: x.caller.User}); err != nil {
		return err
	}
	o.EndObject()
	return x.reply(&o)
}

// listAdminPayments serves GET /api/admin/payments: those of all accounts.
func (x *exchange) listAdminPayments() error {
	if _, err := x.payments(); err != nil {
		return err
	}
	q, err := x.query()
	if err != nil {
		return err
	}
	if v := q.Get("open"); v != "" && v != "true" && v != "false" {
		return fault.Field("httpapi.listAdminPayments", "open", "open must be true or false.").Coded("open_or_not")
	}
	var o object
	o.Object()
	if err := x.appendPayments(&o, payment.Query{Account: q.Get("user"), Open: q.Get("open") == "true"}); err != nil {
		return err
	}
	o.EndObject()
	return x.reply(&o)
}

// appendPayments adds a page of payments, as the query of the request asks for it.
func (x *exchange) appendPayments(o *object, q payment.Query) error {
	limit, err := x.limitOf(paymentsPage, paymentsMost)
	if err != nil {
		return err
	}
	admin := x.route.access == administration
	q.Limit, q.Before = limit+1, x.r.URL.Query().Get("cursor")
	all, err := x.api.Payments.Service.Payments(x.context(), q)
	if fault.Is(err, fault.NotFound) {
		return fault.Field("httpapi.appendPayments", "cursor", "cursor must be next of the page before.").Coded("cursor")
	}
	if err != nil {
		return err
	}
	more := len(all) > limit
	all = all[:min(limit, len(all))]
	o.Name("data").Array()
	for i := range all {
		appendPayment(o, &all[i], admin)
	}
	o.EndArray()
	if more {
		o.text("next", all[len(all)-1].ID)
	} else {
		o.null("next")
	}
	return nil
}

func appendPaySettings(o *object, s *payment.Service) {
	c := s.Config()
	o.Object()
	o.text("provider", s.Provider())
	o.boolean("test", c.Test)
	o.amountText("min", c.Least)
	o.amountText("max", c.Most)
	o.Name("amounts").Array()
	for _, a := range c.Amounts {
		o.Text(a.String())
	}
	o.EndArray()
	o.boolean("email_required", c.Receipts)
	if c.Auto {
		o.amountText("max_monthly_cap", c.AutoCap)
	} else {
		o.null("max_monthly_cap")
	}
	o.EndObject()
}

func (x *exchange) appendRule(o *object, s *payment.Service) error {
	r, spent, err := s.Rule(x.context(), x.caller.User)
	if fault.Is(err, fault.NotFound) {
		o.null("auto")
		return nil
	}
	if err != nil {
		return err
	}
	o.Name("auto").Object()
	o.text("state", string(r.State))
	o.textOrNull("reason", r.Why)
	o.textOrNull("method", r.MethodTitle)
	o.amountText("threshold", r.Threshold)
	o.amountText("amount", r.Amount)
	o.amountText("monthly_cap", r.Cap)
	o.amountText("this_month", spent)
	o.moment("consent_at", r.ConsentAt)
	o.EndObject()
	return nil
}

func appendPayment(o *object, p *payment.Payment, admin bool) {
	state := p.State
	if state == payment.New {
		state = payment.Pending // whether the provider has answered is not the payer's concern
	}
	o.Object()
	o.text("id", p.ID)
	o.text("state", string(state))
	o.amountText("amount", p.Amount)
	if p.Paid > 0 {
		o.amountText("paid", p.Paid)
	} else {
		o.null("paid")
	}
	o.amountText("refunded", p.Refunded)
	o.textOrNull("url", p.URL)
	o.textOrNull("method", p.MethodTitle)
	o.textOrNull("reason", p.Reason)
	o.boolean("automatic", p.Auto)
	o.text("provider", p.Provider)
	o.moment("created_at", p.CreatedAt)
	o.moment("ended_at", p.EndedAt)
	if admin {
		o.text("user", p.Account)
		o.textOrNull("provider_id", p.ProviderID)
		o.textOrNull("problem", p.Problem)
	}
	o.EndObject()
}

func (x *exchange) replyPayment(status int, p *payment.Payment) error {
	var o object
	o.Object()
	o.Name("data")
	appendPayment(&o, p, false)
	o.EndObject()
	x.w.Header().Set("Cache-Control", "no-store")
	x.writeBody(status, jsonType, o.B)
	return nil
}

// postPayment serves POST /api/payments.
func (x *exchange) postPayment() error {
	body, err := x.readObject()
	if err != nil {
		return err
	}
	s, err := x.payments()
	if err != nil {
		return err
	}
	a := payment.Ask{Account: x.caller.User, Wallet: x.caller.Wallet, Actor: x.actor(), ReturnURL: x.base() + "/money/top-up?payment={id}"}
	for m := rawjson.MembersOf(body); m.Next(); {
		kind := rawjson.KindOf(m.Value)
		switch name := string(m.Name); {
		case name != "amount" && name != "email" && name != "auto":
			return fault.Field("httpapi.postPayment", clip(name), "This route has no field of this name.").Coded("unknown_field")
		case kind == rawjson.Null:
		case name == "amount":
			a.Amount, err = rublesOf(name, m.Value)
		case name == "email" && kind == rawjson.String:
			a.Email = strings.TrimSpace(rawjson.Text(m.Value))
		case name == "auto" && kind == rawjson.Object:
			a.Auto, err = termsOf(m.Value, "auto.", true)
		default:
			return wrongKind(name, kind)
		}
		if err != nil {
			return err
		}
	}
	p, err := s.Make(x.context(), a)
	if err != nil {
		return err
	}
	return x.replyPayment(http.StatusCreated, &p)
}

func rublesOf(name string, v []byte) (money.Nano, error) {
	text, ok := scalar(edit.Decimal, rawjson.KindOf(v), v)
	if !ok {
		return 0, wrongKind(name, rawjson.KindOf(v))
	}
	n, err := money.Parse(text)
	if err != nil {
		return 0, fault.Field("httpapi.rublesOf", name, "%s must be rubles, such as \"500\" or \"99.90\".", name).Coded("rubles")
	}
	return n, nil
}

// termsOf reads what somebody consents to. The consent must be said in words.
func termsOf(v []byte, under string, consent bool) (*payment.Terms, error) {
	t, said := &payment.Terms{}, !consent
	fields := map[string]*money.Nano{"threshold": &t.Threshold, "amount": &t.Amount, "monthly_cap": &t.Cap}
	seen := 0
	for m := rawjson.MembersOf(v); m.Next(); {
		name := string(m.Name)
		switch to := fields[name]; {
		case to != nil:
			n, err := rublesOf(under+name, m.Value)
			if err != nil {
				return nil, err
			}
			*to = n
			seen++
		case name == "consent" && consent:
			said = rawjson.KindOf(m.Value) == rawjson.True
		default:
			return nil, fault.Field("httpapi.termsOf", under+clip(name), "This route has no field of this name.").Coded("unknown_field")
		}
	}
	switch {
	case seen < len(fields):
		return nil, fault.Field("httpapi.termsOf", under+"threshold", "Automatic top-ups need threshold, amount and monthly_cap, all in rubles.").Coded("auto_terms")
	case !said:
		return nil, fault.Field("httpapi.termsOf", under+"consent", "consent must be true: the person permits charges without being asked each time.").Coded("consent")
	}
	return t, nil
}

// getPayment serves GET /api/payments/{id}; the provider is asked first, if it was not a moment ago.
func (x *exchange) getPayment() error {
	s, err := x.payments()
	if err != nil {
		return err
	}
	p, err := s.Fresh(x.context(), x.caller.User, x.values[0])
	if err != nil {
		return err
	}
	return x.replyPayment(http.StatusOK, &p)
}

// putAutoTopUp serves PUT /api/payments/auto.
func (x *exchange) putAutoTopUp() error {
	body, err := x.readObject()
	if err != nil {
		return err
	}
	s, err := x.payments()
	if err != nil {
		return err
	}
	t, err := termsOf(body, "", true)
	if err != nil {
		return err
	}
	if err := s.ChangeTerms(x.context(), x.caller.User, *t, x.actor()); err != nil {
		if e := fault.From(err); strings.HasPrefix(e.Param, "auto.") { // as this route names it
			here := *e
			here.Param, here.Public = strings.TrimPrefix(e.Param, "auto."), strings.ReplaceAll(e.Public, "auto.", "")
			return &here
		}
		return err
	}
	var o object
	o.Object()
	if err := x.appendRule(&o, s); err != nil {
		return err
	}
	o.EndObject()
	return x.reply(&o)
}

// deleteAutoTopUp serves DELETE /api/payments/auto.
func (x *exchange) deleteAutoTopUp() error {
	s, err := x.payments()
	if err != nil {
		return err
	}
	if err := s.Withdraw(x.context(), x.caller.User, x.actor()); err != nil {
		return err
	}
	x.writeBody(http.StatusNoContent, nil, nil)
	return nil
}

// mayNotify refuses notifications from anybody but the provider, before their bodies are read.
func (x *exchange) mayNotify() error {
	if _, err := x.payments(); err != nil {
		return err
	}
	from, known := x.api.clientAddress(x.r), false
	for _, p := range x.api.Payments.From {
		known = known || p.Contains(from)
	}
	if !known {
		return fault.New(fault.PermissionDenied, "httpapi.mayNotify", "Notifications come from the addresses of the payment provider alone. If there is a proxy in front of this gateway, its operator must name it in server.trusted_proxies.")
	}
	return nil
}

// postNotice serves POST /api/payments/notifications, which the provider calls. Only the ids in it are used: the provider is asked what is
// true of them. Whatever is not ours gets 200, so that it is not sent again.
func (x *exchange) postNotice() error {
	s, err := x.payments()
	if err != nil {
		return err
	}
	body, err := x.readBody()
	if err != nil {
		return err
	}
	n, err := x.api.Payments.Read(body)
	if err != nil {
		return err
	}
	if err := s.Notice(x.context(), n); err != nil {
		return err
	}
	x.writeBody(http.StatusOK, jsonType, []byte("{}"))
	return nil
}

// postAdminPaymentRefund serves POST /api/admin/payments/{id}/refund.
func (x *exchange) postAdminPaymentRefund() error {
	body, err := x.readObject()
	if err != nil {
		return err
	}
	s, err := x.payments()
	if err != nil {
		return err
	}
	g := payment.Give{Payment: x.values[0], Actor: x.actor()}
	texts := map[string]*string{"reason": &g.Reason, "reference": &g.ID}
	for m := rawjson.MembersOf(body); m.Next(); {
		kind, name := rawjson.KindOf(m.Value), string(m.Name)
		switch {
		case texts[name] == nil && name != "amount" && name != "below_zero":
			return fault.Field("httpapi.postAdminPaymentRefund", clip(name), "This route has no field of this name.").Coded("unknown_field")
		case kind == rawjson.Null:
		case texts[name] != nil && kind == rawjson.String:
			*texts[name] = rawjson.Text(m.Value)
		case name == "amount":
			if g.Amount, err = rublesOf(name, m.Value); err != nil {
				return err
			}
			if g.Amount <= 0 {
				return fault.Field("httpapi.postAdminPaymentRefund", "amount", "amount must be above zero. Leave it out to refund all that is left.").Coded("refund_above_zero")
			}
		case name == "below_zero" && (kind == rawjson.True || kind == rawjson.False):
			g.BelowZero = kind == rawjson.True
		default:
			return wrongKind(name, kind)
		}
	}
	if g.ID == "" {
		return fault.Field("httpapi.postAdminPaymentRefund", "reference", "reference is missing: give the id of a case, ticket or letter; the same one refunds once.").Coded("reference_missing")
	}
	f, err := s.GiveBack(x.context(), g)
	if err != nil {
		return err
	}
	var o object
	o.Object()
	o.Name("data").Object()
	state := f.State
	if state == payment.New {
		state = payment.Pending
	}
	o.text("id", f.ID)
	o.text("payment", f.Payment)
	o.text("state", string(state))
	o.amountText("amount", f.Amount)
	o.text("reason", f.Reason)
	o.textOrNull("failure", f.Failure)
	o.moment("created_at", f.CreatedAt)
	o.EndObject()
	o.EndObject()
	return x.reply(&o)
}
