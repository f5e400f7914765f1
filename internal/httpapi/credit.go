package httpapi

import (
	"context"
	"time"

	"weir/internal/catalog"
	"weir/internal/fault"
)

// trustCredit is how long a wallet that had money is let in without another look, and trustEmpty how long one is refused that had none: the
// hold decides on the call itself.
const (
	trustCredit = 10 * time.Second
	trustEmpty  = time.Second
)

// checkCredit refuses an upload whose user has no money for any call, before it is read, with fault.PaymentRequired. Where the model is free, or not
// known yet ("") and may be free, everybody may go on.
func (x *exchange) checkCredit(model string) error {
	if mayBeFree(x.api.Catalog(), model) {
		return nil
	}
	p := &x.api.limits.credit
	known, ok := p.find(x.caller.Wallet)
	trust := trustEmpty
	if known.paid {
		trust = trustCredit
	}
	if !ok || x.at.Sub(known.at) >= trust {
		b, err := x.api.Ledger.Balance(context.WithoutCancel(x.context()), x.caller.Wallet)
		if err != nil {
			return nil // what this node has borrowed may be enough: the hold says so
		}
		known = payer{b.Balance-b.Held > 0, x.at}
		p.keep(x.caller.Wallet, known)
	}
	if !known.paid {
		return fault.New(fault.PaymentRequired, "httpapi.checkCredit", "The balance is too low for this request.")
	}
	return nil
}

// mayBeFree reports whether a transcription by a model may cost nothing; "" is any model.
func mayBeFree(snap *catalog.Snapshot, model string) bool {
	free := func(m *catalog.Model) bool {
		for _, ep := range m.Endpoints {
			if ep.Pricing.Free() {
				return true
			}
		}
		return false
	}
	if model != "" {
		m, _, ok := snap.Resolve(model)
		return ok && free(m)
	}
	for _, m := range snap.Models() {
		if m.Type == catalog.TypeTranscription && free(m) {
			return true
		}
	}
	return false
}
