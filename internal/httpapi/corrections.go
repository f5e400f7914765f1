package httpapi

import (
	"context"
	"math"
	"net/http"

	"weir/internal/catalog/edit"
	"weir/internal/fault"
	"weir/internal/ledger"
	"weir/internal/money"
	"weir/internal/rawjson"
)

// Corrections moves money of wallets for other reasons than calls. *ledger.Book does.
type Corrections interface {
	Adjust(ctx context.Context, a ledger.Adjustment) (ledger.Posted, error)
	GiveBack(ctx context.Context, r ledger.Refund) (ledger.Posted, error)
}

// correction is what a request for an adjustment or a refund says.
type correction struct {
	user, generation  string
	amount            *money.Nano
	reason, reference string
	belowZero         bool
}

func (x *exchange) postAdminAdjustment() error {
	c, err := x.readCorrection("user")
	if err != nil {
		return err
	}
	if c.amount == nil {
		return fault.Field("httpapi.postAdminAdjustment", "amount", "amount is missing: give rubles, such as \"-120.50\"; a negative amount takes money.")
	}
	u, err := x.api.Accounts.ByID(x.context(), c.user)
	if fault.Is(err, fault.NotFound) {
		e := fault.New(fault.NotFound, "httpapi.postAdminAdjustment", "There is no user with this id.").Because(err)
		e.Param = "user"
		return e
	}
	if err != nil {
		return err
	}
	done, err := x.api.Corrections.Adjust(x.context(), ledger.Adjustment{Wallet: u.Wallet, ID: c.reference, Amount: *c.amount, Reason: c.reason, BelowZero: c.belowZero, Actor: x.actor()})
	if err != nil {
		return err
	}
	return x.replyPosted(&done)
}

func (x *exchange) postAdminRefund() error {
	c, err := x.readCorrection("generation")
	if err != nil {
		return err
	}
	r := ledger.Refund{Generation: c.generation, ID: c.reference, Reason: c.reason, Actor: x.actor()}
	if c.amount != nil {
		if r.Amount = *c.amount; r.Amount <= 0 { // 0 is not the same as none
			return fault.Field("httpapi.postAdminRefund", "amount", "amount must be above zero. Leave it out to refund the rest of the charge.")
		}
	}
	done, err := x.api.Corrections.GiveBack(x.context(), r)
	if err != nil {
		return err
	}
	return x.replyPosted(&done)
}

// readCorrection reads the body; of names what is corrected.
func (x *exchange) readCorrection(of string) (c correction, err error) {
	body, err := x.readObject()
	if err != nil {
		return c, err
	}
	for m := rawjson.MembersOf(body); m.Next(); {
		if err := c.member(of, string(m.Name), m.Value); err != nil {
			return c, err
		}
	}
	if c.user == "" && c.generation == "" {
		return c, fault.Field("httpapi.readCorrection", of, "%s is missing.", of)
	}
	return c, nil
}

func (c *correction) member(of, name string, v []byte) error {
	kind := rawjson.KindOf(v)
	texts := map[string]*string{"reason": &c.reason, "reference": &c.reference, "user": &c.user, "generation": &c.generation}
	known := name == "reason" || name == "reference" || name == "amount" || name == of || of == "user" && name == "below_zero"
	amount, decimal := scalar(edit.Decimal, kind, v)
	switch {
	case !known:
		return fault.Field("httpapi.readCorrection", clip(name), "This route has no field of this name.")
	case kind == rawjson.Null: // as if it were not there
	case name == "amount" && decimal:
		n, err := money.Parse(amount)
		if err != nil {
			return fault.Field("httpapi.readCorrection", "amount", "amount must be rubles with at most nine decimals, below 9223372036.")
		}
		c.amount = &n
	case name == "below_zero" && (kind == rawjson.True || kind == rawjson.False):
		c.belowZero = kind == rawjson.True
	case texts[name] != nil && kind == rawjson.String:
		*texts[name] = rawjson.Text(v)
	default:
		return wrongKind(name, kind)
	}
	return nil
}

// replyPosted writes what was posted: 201, and 200 when it had been before.
func (x *exchange) replyPosted(p *ledger.Posted) error {
	var o object
	o.Object()
	o.Name("data").Object()
	appendMovement(&o, &p.Movement)
	o.text("wallet", p.Wallet)
	o.EndObject()
	o.EndObject()
	status := http.StatusCreated
	if p.Repeated {
		status = http.StatusOK
	}
	x.writeBody(status, jsonType, o.B)
	return nil
}

func appendMovement(o *object, m *ledger.Movement) {
	o.integer("transaction", m.Transaction)
	o.moment("at", m.At)
	o.text("kind", m.Kind)
	o.amountText("amount", m.Amount)
	o.textOrNull("source", m.Source())
	o.text("reference", m.Reference())
	o.textOrNull("generation", m.Generation())
	o.textOrNull("reason", m.Reason)
	o.textOrNull("actor", m.Actor)
}

// getStatement lists what moved money of the caller's wallet, other than calls.
func (x *exchange) getStatement() error {
	q, err := x.query()
	if err != nil {
		return err
	}
	count, err := x.page(q)
	if err != nil {
		return err
	}
	before := int64(math.MaxInt64)
	if q.Has("before") {
		n, err := queryInt(q, "before", 1<<53)
		if err != nil {
			return err
		}
		before = int64(n)
	}
	moved, err := x.api.Ledger.Statement(x.context(), x.caller.Wallet, before, count+1)
	if err != nil {
		return err
	}
	more := len(moved) > count
	moved = moved[:min(count, len(moved))]
	o := newObject(64 + 320*len(moved))
	o.Object()
	o.Name("data").Array()
	for i := range moved {
		o.Object()
		appendMovement(&o, &moved[i])
		o.EndObject()
	}
	o.EndArray()
	if more {
		o.integer("next", moved[len(moved)-1].Transaction)
	} else {
		o.null("next")
	}
	o.text("currency", "RUB")
	o.EndObject()
	return x.reply(&o)
}

// appendRefunds writes what was given back of a call.
func appendRefunds(o *object, refunds []ledger.Movement) {
	o.Name("refunds").Array()
	for i := range refunds {
		o.Object()
		appendMovement(o, &refunds[i])
		o.EndObject()
	}
	o.EndArray()
}

// refunded is the sum of what was given back of a call.
func refunded(refunds []ledger.Movement) (sum money.Nano) {
	for i := range refunds {
		sum += refunds[i].Amount
	}
	return sum
}
