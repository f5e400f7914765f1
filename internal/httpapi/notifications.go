package httpapi

import "weir/internal/notify"

// EncodeFact is the data of a webhook's event: a notice with its cause.
func EncodeFact(f *notify.Fact) []byte {
	o := newObject(256)
	o.Object()
	o.textOrNull("cause", string(f.Kind.Cause()))
	appendFact(&o, f)
	o.EndObject()
	return o.B
}

// appendFact writes the members of a notice.
func appendFact(o *object, f *notify.Fact) {
	o.text("kind", string(f.Kind))
	o.textOrNull("ref", f.Ref)
	o.textOrNull("name", f.Name)
	o.Name("detail").Object()
	switch f.Kind {
	case notify.MoneyGone:
		o.amountText("available", f.Amount)
	case notify.MoneyLow:
		o.amountText("available", f.Amount)
		countOrNull(o, "days", f.Days)
	case notify.KeyNear, notify.KeyReached:
		o.amountText("limit", f.Amount)
		o.amountText("spent", f.Spent)
		o.integer("percent", f.Percent)
		o.textOrNull("resets", f.Reset)
	case notify.UnusualSpending:
		o.amountText("spent", f.Amount)
		o.amountText("usual", f.Usual)
		o.moment("at", f.At)
	case notify.PaymentReceived, notify.PaymentRefunded, notify.TopUpFailed:
		o.amountText("amount", f.Amount)
		o.moment("at", f.At)
	case notify.KeyExpiring, notify.KeyExpired, notify.ModelGone, notify.ModelRetires:
		o.moment("at", f.At)
	case notify.TestNotice:
	}
	o.EndObject()
}
