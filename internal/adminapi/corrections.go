package adminapi

import (
	"context"

	"weir/internal/account"
	"weir/internal/accountapi"
	"weir/internal/audit"
	"weir/internal/fault"
	"weir/internal/ledger"
	"weir/internal/money"
	"weir/internal/operation"
)

// Corrections moves money of wallets for other reasons than calls. *ledger.Book does.
type Corrections interface {
	Adjust(ctx context.Context, a ledger.Adjustment) (ledger.Posted, error)
	GiveBack(ctx context.Context, r ledger.Refund) (ledger.Posted, error)
	Credit(ctx context.Context, t ledger.TopUp) (ledger.Posted, error)
}

// Accounts are the users. *account.Manager has them.
type Accounts interface {
	ByID(ctx context.Context, id string) (account.User, error)
	Forget(ctx context.Context, id string, by audit.Actor) error
}

// Posted is a movement that was posted, now or before.
type Posted struct {
	accountapi.Movement
	Wallet string `json:"wallet"`
}

type adjustment struct {
	User      string      `json:"user,omitempty" null:"none"`                                                       // id of the user
	Amount    *money.Nano `json:"amount,omitempty" null:"none"`                                                     // rubles, negative to take money; at most 1000000000 in either direction
	Reason    string      `json:"reason,omitempty" null:"none" minLength:"1" maxLength:"1000"`                      // stored with the posting; the user can read it
	Reference string      `json:"reference,omitempty" null:"none" minLength:"1" maxLength:"200" pattern:"^[ -~]+$"` // number of a case, ticket or letter: the same reference moves money once
	BelowZero bool        `json:"below_zero,omitempty" null:"none"`                                                 // it may take more than is available; holds of calls remain, and no balance goes below -1000000000
}

type refund struct {
	Generation string      `json:"generation,omitempty" null:"none"`                                                 // id of the call or video job
	Amount     *money.Nano `json:"amount,omitempty" null:"none"`                                                     // rubles; without it, the rest of the charge
	Reason     string      `json:"reason,omitempty" null:"none" minLength:"1" maxLength:"1000"`                      // stored with the posting; the user can read it
	Reference  string      `json:"reference,omitempty" null:"none" minLength:"1" maxLength:"200" pattern:"^[ -~]+$"` // number of a case, ticket or letter: the same reference moves money once
}

type userID struct {
	ID string `json:"-" path:"id"` // of the user
}

// posted answers with what was posted: 201, and 200 when it had been before.
func posted(c *operation.Call, p *ledger.Posted, err error) (operation.Data[Posted], error) {
	if p.Repeated {
		c.Status = 200
	}
	return operation.Data[Posted]{Data: Posted{Movement: accountapi.MovementOf(&p.Movement), Wallet: p.Wallet}}, err
}

func missing(field string) error {
	return fault.Field("adminapi.corrections", field, "%s is missing.", field).Coded("missing")
}

// userOf is the user that the member user names.
func userOf(ctx context.Context, accounts Accounts, id string) (account.User, error) {
	if id == "" {
		return account.User{}, missing("user")
	}
	u, err := accounts.ByID(ctx, id)
	if fault.Is(err, fault.NotFound) {
		e := fault.New(fault.NotFound, "adminapi.userOf", "There is no user with this id.").Because(err)
		e.Param = "user"
		err = e
	}
	return u, err
}

func corrections(books Corrections, accounts Accounts) []operation.Operation {
	return []operation.Operation{
		operation.Of(operation.Operation{
			Method: "POST", Path: "/api/admin/adjustments", ID: "adjustWallet", Access: operation.Administration, Fresh: true, Status: 201, Repeats: true, Tag: "administration",
			Summary: "Correct the balance of a user", Answer: "The posting",
			Example:     `{"user": "usr_Yy7RzhUdOPpX3m1v", "amount": "-120.50", "reason": "Payment inv-7 was taken back by the bank", "reference": "INC-42"}`,
			Description: "The same reference moves money once. Repeated with the same user, amount and reason, the response is 200 with the first posting; with different ones it is 409, and the error contains the reference.",
		}, func(ctx context.Context, c *operation.Call, in *adjustment) (out operation.Data[Posted], err error) {
			const op = "adminapi.adjust"
			if in.User != "" && in.Amount == nil {
				return out, fault.Field(op, "amount", "amount is missing: give rubles, such as \"-120.50\"; a negative amount takes money.").Coded("adjustment_missing")
			}
			u, err := userOf(ctx, accounts, in.User)
			if err != nil {
				return out, err
			}
			done, err := books.Adjust(ctx, ledger.Adjustment{Wallet: u.Wallet, ID: in.Reference, Amount: *in.Amount, Reason: in.Reason, BelowZero: in.BelowZero, Actor: c.Actor})
			return posted(c, &done, err)
		}),
		operation.Of(operation.Operation{
			Method: "POST", Path: "/api/admin/refunds", ID: "refundGeneration", Access: operation.Administration, Fresh: true, Status: 201, Repeats: true, Tag: "administration",
			Summary: "Refund the charge of a call, or a part of it", Answer: "The posting",
			Example:     `{"generation": "gen-1772625600-0123456789abcdefghij", "reason": "The answer was empty", "reference": "T-1001"}`,
			Description: "The money goes to the wallet that paid. The refunds of a call never exceed its charge. References work as for adjustments.",
		}, func(ctx context.Context, c *operation.Call, in *refund) (out operation.Data[Posted], err error) {
			if in.Generation == "" {
				return out, missing("generation")
			}
			r := ledger.Refund{Generation: in.Generation, ID: in.Reference, Reason: in.Reason, Actor: c.Actor}
			if in.Amount != nil {
				if r.Amount = *in.Amount; r.Amount <= 0 { // 0 is not the same as none
					return out, fault.Field("adminapi.refund", "amount", "amount must be above zero. Leave it out to refund the rest of the charge.").Coded("refund_above_zero")
				}
			}
			done, err := books.GiveBack(ctx, r)
			return posted(c, &done, err)
		}),
		operation.Of(operation.Operation{
			Method: "DELETE", Path: "/api/admin/users/{id}", ID: "deleteUser", Access: operation.Administration, Fresh: true, Status: 204, Tag: "administration",
			Summary: "Delete the account of a user", Answer: "It is deleted",
			Description: "The person becomes anonymous, and all keys stop. Charges, invoices and the money in the wallet stay. It fails with 409 while a job or a payment is under way, and for the last administrator.",
		}, func(ctx context.Context, c *operation.Call, in *userID) (operation.None, error) {
			return operation.None{}, accounts.Forget(ctx, in.ID, c.Actor)
		}),
	}
}
