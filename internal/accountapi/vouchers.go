package accountapi

import (
	"context"
	"time"

	"weir/internal/fault"
	"weir/internal/money"
	"weir/internal/operation"
	"weir/internal/voucher"
)

// Redemption is a code that an account has redeemed.
type Redemption struct {
	Voucher    string     `json:"voucher"` // id of the batch that the code is of
	Amount     money.Nano `json:"amount"`  // rubles that were credited
	RedeemedAt time.Time  `json:"redeemed_at"`
	Repeated   bool       `json:"repeated"` // the account had redeemed this code before
}

type redeemVoucher struct {
	Code string `json:"code,omitempty"` // as it was printed: case, spaces and hyphens do not matter
}

func vouchers(m *voucher.Manager) []operation.Operation {
	return []operation.Operation{
		operation.Of(operation.Operation{
			Method: "POST", Path: "/api/vouchers/redeem", ID: "redeemVoucher", Org: operation.Payers, Access: operation.Management, Tag: "account",
			Summary: "Put the value of a code into the wallet", Answer: "What was credited", Example: `{"code": "7K3M-Q2XV-9TBN-04RC-HW5E"}`,
			Description: "An account redeems one code of a batch. Repeated with the same code, the answer is that of the first time with `repeated`, and nothing is credited. Every " +
				"try counts towards a limit by account and by address. A code that has expired, was withdrawn, is used up, or of whose batch the account has redeemed " +
				"another is refused with 409, and `error.metadata.reason` says which.",
		}, func(ctx context.Context, c *operation.Call, in *redeemVoucher) (out operation.Data[Redemption], err error) {
			if in.Code == "" {
				return out, fault.Field("accountapi.redeem", "code", "code is missing: give the code of a voucher.").Coded("voucher_missing")
			}
			if err := c.Gates.Redeem(); err != nil { // every try counts, against guessing
				return out, err
			}
			c.NoStore()
			r, repeated, err := m.Redeem(ctx, in.Code, c.User, c.Wallet, c.Actor)
			if fault.Is(err, fault.NotFound) {
				e := *fault.From(err)
				e.Param = "code"
				return out, &e
			}
			return operation.Data[Redemption]{Data: Redemption{Voucher: r.Batch, Amount: r.Amount, RedeemedAt: r.At, Repeated: repeated}}, err
		}),
	}
}
