package httpapi

import (
	"weir/internal/ledger"
	"weir/internal/money"
)

// refunded is the sum of what was given back of a call.
func refunded(refunds []ledger.Movement) (sum money.Nano) {
	for i := range refunds {
		sum += refunds[i].Amount
	}
	return sum
}
