package adminapi

import (
	"context"
	"time"

	"weir/internal/accountapi"
	"weir/internal/money"
	"weir/internal/operation"
	"weir/internal/voucher"
)

// Vouchers is a batch of codes.
type Vouchers struct {
	ID        string     `json:"id"`
	Amount    money.Nano `json:"amount"` // rubles that a code is worth
	Codes     int64      `json:"codes"`
	Uses      int64      `json:"uses"`     // how many accounts may redeem each code
	Redeemed  int64      `json:"redeemed"` // how many accounts have redeemed a code
	Note      string     `json:"note"`
	Actor     string     `json:"actor"` // who made them
	CreatedAt time.Time  `json:"created_at"`
	ExpiresAt *time.Time `json:"expires_at"`
	RevokedAt *time.Time `json:"revoked_at"`
	Secrets   []string   `json:"secrets,omitempty"` // the codes, in the answer to their creation alone
}

func vouchersOf(b *voucher.Batch) Vouchers {
	return Vouchers{
		ID: b.ID, Amount: b.Amount, Codes: b.Codes, Uses: b.Uses, Redeemed: b.Redeemed, Note: b.Note, Actor: b.Actor, CreatedAt: b.CreatedAt, ExpiresAt: accountapi.Moment(b.ExpiresAt),
		RevokedAt: accountapi.Moment(b.RevokedAt),
	}
}

type vouchersInput struct {
	Amount    money.Nano `json:"amount,omitempty"`                                 // rubles that a code is worth, in whole kopecks
	Codes     *int64     `json:"codes,omitempty" minimum:"1" maximum:"10000"`      // 1 without it
	Uses      *int64     `json:"uses,omitempty" minimum:"1" maximum:"1000000"`     // how many accounts may redeem each code; 1 without it
	Note      string     `json:"note,omitempty" minLength:"1" maxLength:"500"`     // what the codes are for
	ExpiresAt *time.Time `json:"expires_at,omitempty" null:"none" nullable:"true"` // null: never
}

type vouchersID struct {
	ID string `json:"-" path:"id"` // of the batch
}

func vouchers(m *voucher.Manager) []operation.Operation {
	return []operation.Operation{
		operation.Of(operation.Operation{
			Method: "GET", Path: "/api/admin/vouchers", ID: "listVouchers", Access: operation.Operating, Tag: "administration",
			Summary: "Batches of vouchers, the newest first", Answer: "One page",
		}, func(ctx context.Context, _ *operation.Call, in *accountapi.PageOf) (accountapi.List[Vouchers], error) {
			return accountapi.Paged(ctx, *in, m.Batches, func(b *voucher.Batch) (Vouchers, string) { return vouchersOf(b), b.ID })
		}),
		operation.Of(operation.Operation{
			Method: "POST", Path: "/api/admin/vouchers", ID: "createVouchers", Access: operation.Administration, Fresh: true, Status: 201, Tag: "administration",
			Summary: "Make a batch of codes", Answer: "The batch with its codes", Example: `{"amount": "500", "codes": 2, "note": "Spring conference"}`,
			Description: "The answer has the codes in `secrets`. They are stored as hashes, and cannot be shown again.",
		}, func(ctx context.Context, c *operation.Call, in *vouchersInput) (out operation.Data[Vouchers], err error) {
			order := voucher.Order{Amount: in.Amount, Codes: 1, Uses: 1, Note: in.Note, Actor: c.Actor}
			if in.Codes != nil {
				order.Codes = *in.Codes
			}
			if in.Uses != nil {
				order.Uses = *in.Uses
			}
			if in.ExpiresAt != nil {
				order.ExpiresAt = *in.ExpiresAt
			}
			c.NoStore()
			b, codes, err := m.Make(ctx, order)
			out.Data = vouchersOf(&b)
			out.Data.Secrets = codes
			return out, err
		}),
		operation.Of(operation.Operation{
			Method: "DELETE", Path: "/api/admin/vouchers/{id}", ID: "revokeVouchers", Access: operation.Administration, Fresh: true, Tag: "administration",
			Summary: "End a batch", Answer: "The batch", Description: "Its codes cannot be redeemed any more. What was credited stays, and the batch stays in the list.",
		}, func(ctx context.Context, c *operation.Call, in *vouchersID) (operation.Data[Vouchers], error) {
			b, err := m.Revoke(ctx, in.ID, c.Actor)
			return operation.Data[Vouchers]{Data: vouchersOf(&b)}, err
		}),
	}
}
