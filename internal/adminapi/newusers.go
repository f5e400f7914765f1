package adminapi

import (
	"context"

	"weir/internal/accountapi"
	"weir/internal/ledger"
	"weir/internal/money"
	"weir/internal/operation"
	"weir/internal/report"
)

type newUser struct {
	Name string `json:"name" minLength:"1" maxLength:"100"` // what operators and the person see
}

type newUserKey struct {
	User string `json:"user"` // id of the user
	accountapi.AccountKeyInput
}

type newTopUp struct {
	User      string     `json:"user"`                                                       // id of the user
	Amount    money.Nano `json:"amount"`                                                     // rubles, above zero
	Reference string     `json:"reference" minLength:"1" maxLength:"200" pattern:"^[ -~]+$"` // of the payment: the same reference credits once
}

// newUsers are the operations with which a program of the operator makes users, their keys and their money.
func newUsers(d accountapi.Deps, books Corrections) []operation.Operation {
	return []operation.Operation{
		operation.Of(operation.Operation{
			Method: "POST", Path: "/api/admin/users/new", ID: "createUser", Access: operation.Administration, Fresh: true, Status: 201, Tag: "administration",
			Summary: "Add a user with an empty wallet, who has no sign-in", Answer: "The user", Example: `{"name": "Customer 4711"}`,
			Description: "Such a user has keys that you make, and no password. Who should sign in is invited: POST /api/invitations. Two calls make two users, also with one name; an Idempotency-Key is not looked at.",
		}, func(ctx context.Context, c *operation.Call, in *newUser) (out operation.Data[UserRow], err error) {
			u, err := d.Accounts.Create(ctx, in.Name, c.Actor)
			if err != nil {
				return out, err
			}
			out.Data = userRow(&report.Person{ID: u.ID, Name: u.Name, Role: string(u.Role), Wallet: u.Wallet, CreatedAt: u.CreatedAt})
			return out, nil
		}),
		operation.Of(operation.Operation{
			Method: "POST", Path: "/api/admin/keys", ID: "createUserKey", Access: operation.Administration, Fresh: true, Status: 201, Tag: "administration",
			Summary: "Make a key for a user; its text is only in this response", Answer: "The new key",
			Example:     `{"user": "usr_Yy7RzhUdOPpX3m1v", "name": "Shop", "limit": "500", "limit_reset": "monthly"}`,
			Description: "Its fields are those of POST /api/keys. The keys of a user, with what each has spent, are in GET /api/admin/users/{id}. Management keys are not made so: they would give rights.",
		}, func(ctx context.Context, c *operation.Call, in *newUserKey) (out accountapi.NewAccountKey, err error) {
			u, err := userOf(ctx, d.Accounts, in.User)
			if err != nil {
				return out, err
			}
			return d.MakeKey(ctx, c, u.ID, u.Wallet, &in.AccountKeyInput)
		}),
		operation.Of(operation.Operation{
			Method: "POST", Path: "/api/admin/top-ups", ID: "topUpUser", Access: operation.Administration, Fresh: true, Status: 201, Repeats: true, Tag: "administration",
			Summary: "Credit a user with money that you have received", Answer: "The posting",
			Example:     `{"user": "usr_Yy7RzhUdOPpX3m1v", "amount": "1000", "reference": "order 4711"}`,
			Description: "The same reference credits once, whoever repeats it. Repeated with the same user and amount, the response is 200 with the first posting; with different ones it is 409.",
		}, func(ctx context.Context, c *operation.Call, in *newTopUp) (out operation.Data[Posted], err error) {
			u, err := userOf(ctx, d.Accounts, in.User)
			if err != nil {
				return out, err
			}
			done, err := books.Credit(ctx, ledger.TopUp{Wallet: u.Wallet, Source: "api", ExternalID: in.Reference, Amount: in.Amount, Actor: c.Actor})
			return posted(c, &done, err)
		}),
	}
}
