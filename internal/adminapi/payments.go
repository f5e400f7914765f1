package adminapi

import (
	"context"
	"time"

	"weir/internal/accountapi"
	"weir/internal/fault"
	"weir/internal/money"
	"weir/internal/operation"
	"weir/internal/payment"
)

// AnyPayment is a payment as operators see it.
type AnyPayment struct {
	accountapi.Payment
	User       string  `json:"user"`
	ProviderID *string `json:"provider_id"`
	Problem    *string `json:"problem"` // why money that the provider confirms is not credited
}

// PaymentRefund is money of a payment that goes back to the payer.
type PaymentRefund struct {
	ID        string     `json:"id"`
	Payment   string     `json:"payment"`
	State     string     `json:"state" enum:"pending,succeeded,canceled"`
	Amount    money.Nano `json:"amount"`
	Reason    string     `json:"reason"`
	Failure   *string    `json:"failure"` // why it was canceled
	CreatedAt time.Time  `json:"created_at"`
}

type listPayments struct {
	accountapi.PageOf
	User string `json:"-" query:"user"` // only those of this user
	Open bool   `json:"-" query:"open"` // only those that have not ended or have a problem
}

type refundInput struct {
	ID        string      `json:"-" path:"id"`                                                                             // of the payment
	Amount    *money.Nano `json:"amount,omitempty" null:"none"`                                                            // rubles; without it, all that is left
	Reason    string      `json:"reason,omitempty" null:"none" minLength:"1" maxLength:"1000"`                             // stored with the posting; the user can read it
	Reference string      `json:"reference,omitempty" null:"none" minLength:"1" maxLength:"50" pattern:"^[A-Za-z0-9_-]+$"` // names the refund: the same one refunds once
	BelowZero bool        `json:"below_zero,omitempty" null:"none"`                                                        // the wallet may owe money afterwards
}

func payments(s *payment.Service) []operation.Operation {
	return []operation.Operation{
		operation.Of(operation.Operation{
			Method: "GET", Path: "/api/admin/payments", ID: "listAllPayments", Access: operation.Operating, Tag: "administration",
			Summary: "Payments of all accounts, the newest first", Answer: "One page",
		}, func(ctx context.Context, _ *operation.Call, in *listPayments) (accountapi.List[AnyPayment], error) {
			s, err := accountapi.PaymentsOf(s)
			if err != nil {
				return accountapi.List[AnyPayment]{}, err
			}
			return accountapi.Paged(ctx, in.PageOf, func(ctx context.Context, after string, most int) ([]payment.Payment, error) {
				return s.Payments(ctx, payment.Query{Account: in.User, Open: in.Open, Before: after, Limit: most})
			}, func(p *payment.Payment) (AnyPayment, string) {
				return AnyPayment{Payment: accountapi.PaymentOf(p), User: p.Account, ProviderID: accountapi.OrNull(p.ProviderID), Problem: accountapi.OrNull(p.Problem)}, p.ID
			})
		}),
		operation.Of(operation.Operation{
			Method: "POST", Path: "/api/admin/payments/{id}/refund", ID: "refundPayment", Access: operation.Administration, Fresh: true, Tag: "administration",
			Summary: "Give money of a payment back to the payer, and take it from the wallet", Answer: "The refund",
			Example: `{"amount": "100", "reason": "Asked for by mail", "reference": "T-1001"}`,
			Description: "The wallet is debited first, then the provider is asked. A refund that the provider has not decided yet is pending and followed; one that it refuses is " +
				"canceled, and its money is in the wallet again. The refunds of a payment never exceed it.",
		}, func(ctx context.Context, c *operation.Call, in *refundInput) (out operation.Data[PaymentRefund], err error) {
			const op = "adminapi.refundPayment"
			s, err := accountapi.PaymentsOf(s)
			if err != nil {
				return out, err
			}
			g := payment.Give{Payment: in.ID, ID: in.Reference, Reason: in.Reason, BelowZero: in.BelowZero, Actor: c.Actor}
			if in.Amount != nil {
				if g.Amount = *in.Amount; g.Amount <= 0 {
					return out, fault.Field(op, "amount", "amount must be above zero. Leave it out to refund all that is left.").Coded("refund_above_zero")
				}
			}
			if g.ID == "" {
				return out, fault.Field(op, "reference", "reference is missing: give the id of a case, ticket or letter; the same one refunds once.").Coded("reference_missing")
			}
			f, err := s.GiveBack(ctx, g)
			state := f.State
			if state == payment.New {
				state = payment.Pending
			}
			out.Data = PaymentRefund{ID: f.ID, Payment: f.Payment, State: string(state), Amount: f.Amount, Reason: f.Reason, Failure: accountapi.OrNull(f.Failure), CreatedAt: f.CreatedAt}
			return out, err
		}),
	}
}
