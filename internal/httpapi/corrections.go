package httpapi

import (
	"weir/internal/ledger"
	"weir/internal/money"
)

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
