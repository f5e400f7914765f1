package accountapi

import (
	"cmp"
	"context"
	"math"
	"time"

	"weir/internal/ledger"
	"weir/internal/money"
	"weir/internal/operation"
)

// Movement is money that moved for another reason than a call.
type Movement struct {
	Transaction int64      `json:"transaction"`
	At          time.Time  `json:"at"`
	Kind        string     `json:"kind" enum:"topup,adjustment,refund"`
	Amount      money.Nano `json:"amount"` // rubles; negative if they were taken
	Source      *string    `json:"source"` // of a top-up
	Reference   string     `json:"reference"`
	Generation  *string    `json:"generation"` // the call that was refunded
	Reason      *string    `json:"reason"`
	Actor       *string    `json:"actor"` // operator for the command line, or key: and the id of a management key
}

// MovementOf shows a movement.
func MovementOf(m *ledger.Movement) Movement {
	return Movement{
		Transaction: m.Transaction, At: m.At, Kind: m.Kind, Amount: m.Amount, Source: OrNull(m.Source()), Reference: m.Reference(), Generation: OrNull(m.Generation()), Reason: OrNull(m.Reason),
		Actor: OrNull(m.Actor),
	}
}

// Before asks for a page of a list that is numbered, the highest number first.
type Before struct {
	Before int64 `json:"-" query:"before" most:"9007199254740992"` // next of the page before
	Limit  int   `json:"-" query:"limit" most:"200"`               // rows of the page; 50 without it
}

// rowsBefore is how many rows a numbered list shows, where a request asks for no other number.
const rowsBefore = 50

// Rows is how many rows the page may have.
func (b *Before) Rows() int { return cmp.Or(b.Limit, rowsBefore) }

// Statement is a page of what moved money of a wallet, other than calls.
type Statement struct {
	Data     []Movement `json:"data"`
	Next     *int64     `json:"next"` // value of before for the next page; null at the end
	Currency string     `json:"currency" enum:"RUB"`
}

func statement(books ledger.Reader) operation.Operation {
	return operation.Of(operation.Operation{
		Method: "GET", Path: "/api/account/statement", ID: "getStatement", Org: operation.Payers, Access: operation.AnyKey, Tag: "account",
		Summary: "List top-ups, corrections and refunds, newest first", Answer: "The postings; the cost of calls is in /v1/activity",
	}, func(ctx context.Context, c *operation.Call, in *Before) (Statement, error) {
		rows := in.Rows()
		moved, err := books.Statement(ctx, c.Wallet, cmp.Or(in.Before, math.MaxInt64), rows+1)
		if err != nil {
			return Statement{}, err
		}
		s := Statement{Data: make([]Movement, min(rows, len(moved))), Currency: "RUB"}
		for i := range s.Data {
			s.Data[i] = MovementOf(&moved[i])
		}
		if len(moved) > rows {
			s.Next = &moved[rows-1].Transaction
		}
		return s, nil
	})
}
