package adminapi

import (
	"context"
	"slices"
	"strings"
	"time"

	"weir/internal/account"
	"weir/internal/accountapi"
	"weir/internal/apikey"
	"weir/internal/auth"
	"weir/internal/fault"
	"weir/internal/money"
	"weir/internal/operation"
	"weir/internal/report"
)

// UserRow is a person in a list.
type UserRow struct {
	ID         string     `json:"id"`
	Name       string     `json:"name"`
	Email      *string    `json:"email"`
	Role       string     `json:"role" enum:"user,operator,administrator"`
	Blocked    bool       `json:"blocked"`
	Available  money.Nano `json:"available"`    // rubles: the balance without what is on hold
	SpentMonth money.Nano `json:"spent_month"`  // what the calls of this month cost, by the days of the account
	LastCallAt *time.Time `json:"last_call_at"` // when it began
	CreatedAt  time.Time  `json:"created_at"`
}

func userRow(p *report.Person) UserRow {
	return UserRow{
		ID: p.ID, Name: p.Name, Email: accountapi.OrNull(p.Email), Role: p.Role, Blocked: p.Disabled, Available: p.Available(), SpentMonth: p.Spent,
		LastCallAt: accountapi.Moment(p.LastCall), CreatedAt: p.CreatedAt,
	}
}

type usersInput struct {
	Search  string `json:"-" query:"q" maxLength:"254"`                       // a part of the name or address, an id, or the last three or four characters of a key
	Role    string `json:"-" query:"role" enum:"user,operator,administrator"` // only people with this role
	Blocked string `json:"-" query:"blocked" enum:"true,false"`               // only people who are blocked, or who are not
	accountapi.PageOf
}

func (in *usersInput) search() (s report.PeopleSearch, err error) {
	const op = "adminapi.users"
	q := strings.TrimSpace(in.Search)
	if len(q) > 254 {
		return s, fault.Field(op, "q", "q must have at most %d bytes.", 254).Coded("most_bytes", "most", 254)
	}
	if _, key := apikey.Check(q); key { // addresses are kept by browsers and proxies
		return s, fault.Field(op, "q", "q must not be a whole key: keys do not belong in an address. Send it in the body of POST /api/admin/users/find.").Coded("key_in_address")
	}
	s.Looked(q)
	if s.Role = in.Role; s.Role != "" && !isRole(s.Role) {
		return s, noRole(op)
	}
	switch in.Blocked {
	case "":
	case "true", "false":
		blocked := in.Blocked == "true"
		s.Disabled = &blocked
	default:
		return s, fault.Field(op, "blocked", "blocked must be true or false.").Coded("true_or_false")
	}
	return s, nil
}

func isRole(name string) bool {
	return slices.Contains([]apikey.Role{apikey.User, apikey.Operator, apikey.Administrator}, apikey.Role(name))
}

func noRole(op string) error {
	return fault.Field(op, "role", "role must be user, operator or administrator.").Coded("role")
}

type wholeKey struct {
	Key string `json:"key" maxLength:"200"` // the whole text of a key; it is compared by its hash, and neither stored nor repeated
}

// FoundKey is whose a key is.
type FoundKey struct {
	User UserRow  `json:"user"`
	Key  KeyFound `json:"key"`
}

// KeyFound is a key that was found by its text.
type KeyFound struct {
	ID         string `json:"id"`
	Hash       string `json:"hash" pattern:"^[0-9a-f]{64}$"`
	Label      string `json:"label"`
	Name       string `json:"name"`
	Management bool   `json:"management"`
	State      string `json:"state" enum:"active,disabled,expired,deleted"`
	Former     bool   `json:"former"` // the text is that of before the last rotation
}

func stateOf(k *apikey.Key, at time.Time) string {
	return [...]string{apikey.Active: "active", apikey.Disabled: "disabled", apikey.Expired: "expired", apikey.Deleted: "deleted"}[k.State(at)]
}

// users are the operations with which operators find people.
func users(d accountapi.Deps) []operation.Operation {
	return []operation.Operation{
		operation.Of(operation.Operation{
			Method: "GET", Path: "/api/admin/users", ID: "listUsers", Access: operation.Operating, Tag: "administration",
			Summary: "People and their accounts, newest first; for operators", Answer: "A page of people",
			Description: "What is on hold is as nodes reported it last. A whole key is looked for with POST /api/admin/users/find.",
		}, func(ctx context.Context, _ *operation.Call, in *usersInput) (out accountapi.List[UserRow], err error) {
			s, err := in.search()
			if err != nil {
				return out, err
			}
			return accountapi.Paged(ctx, in.PageOf, func(ctx context.Context, after string, most int) ([]report.Person, error) {
				s.After, s.Limit = after, most
				return d.Reports.People(ctx, s)
			}, func(p *report.Person) (UserRow, string) { return userRow(p), p.ID })
		}),
		operation.Of(operation.Operation{
			Method: "POST", Path: "/api/admin/users/find", ID: "findUserByKey", Access: operation.Operating, Tag: "administration",
			Summary: "Find whose a key is by its whole text; for operators", Answer: "The key and its user",
			Description: "Deleted keys are found, too. The text is not kept.", Example: `{"key": "sk-weir-v1-..."}`,
		}, func(ctx context.Context, c *operation.Call, in *wholeKey) (out operation.Data[FoundKey], err error) {
			c.NoStore()
			text := strings.TrimSpace(in.Key)
			k, err := d.Keys.Whose(ctx, text)
			if err != nil {
				return out, err
			}
			u, err := onePerson(ctx, d, k.User)
			if err != nil {
				return out, err
			}
			out.Data = FoundKey{User: userRow(u), Key: KeyFound{
				ID: k.ID, Hash: k.Hash, Label: k.Label, Name: k.Name, Management: k.Management, State: stateOf(&k.Key, c.At), Former: k.Hash != apikey.Hash(text),
			}}
			return out, nil
		}),
		operation.Of(operation.Operation{
			Method: "GET", Path: "/api/admin/users/{id}", ID: "getUser", Access: operation.Operating, Tag: "administration",
			Summary: "A person: balance, keys and last calls; for operators", Answer: "The person",
		}, func(ctx context.Context, c *operation.Call, in *userID) (operation.Data[UserDetail], error) {
			return detail(ctx, d, c, in.ID)
		}),
	}
}

func onePerson(ctx context.Context, d accountapi.Deps, id string) (*report.Person, error) {
	found, err := d.Reports.People(ctx, report.PeopleSearch{ID: id, Limit: 1})
	if err != nil {
		return nil, err
	}
	if len(found) == 0 {
		return nil, noUser()
	}
	return &found[0], nil
}

func noUser() error {
	return fault.New(fault.NotFound, "adminapi.users", "There is no user with this id.")
}

// UserDetail is a person as operators see them.
type UserDetail struct {
	UserRow
	Wallet     string               `json:"wallet"`
	Balance    money.Nano           `json:"balance"`
	Held       money.Nano           `json:"held"`
	Running    *int                 `json:"running"`   // how many calls and jobs money is on hold for; null: calls of other nodes are among them
	Confirmed  bool                 `json:"confirmed"` // the address received a link that was opened
	SecondStep bool                 `json:"second_step"`
	Sessions   int                  `json:"sessions"`   // browsers in which the person is signed in
	SendsMail  bool                 `json:"sends_mail"` // a link for a new password goes to the person's address; without it, administrators hand it over
	Keys       []UserKey            `json:"keys"`       // the newest first
	Calls      []accountapi.CallRow `json:"calls"`      // the last ones, the newest first
}

// UserKey is a key as operators see it.
type UserKey struct {
	accountapi.AccountKey
	DisabledBy *Disabler `json:"disabled_by"` // null: it is not disabled, or it is not known
}

// Disabler is who disabled a key.
type Disabler struct {
	Actor string    `json:"actor"` // user: and the id of who was signed in, key: and the id of a management key, operator for the command line
	Name  *string   `json:"name"`  // of that user
	Owner bool      `json:"owner"` // it was the person whose key it is
	At    time.Time `json:"at"`
}

// lastCalls is how many calls of a person are shown beside their balance.
const lastCalls = 10

func detail(ctx context.Context, d accountapi.Deps, c *operation.Call, id string) (out operation.Data[UserDetail], err error) {
	row, err := onePerson(ctx, d, id)
	if err != nil {
		return out, err
	}
	u := UserDetail{UserRow: userRow(row), Wallet: row.Wallet}
	funds, running, err := d.Reports.Funds(ctx, row.Wallet)
	if err != nil {
		return out, err
	}
	u.Balance, u.Held, u.Available = funds.Balance, funds.Held, funds.Balance-funds.Held
	if running >= 0 {
		u.Running = &running
	}
	if d.People != nil {
		if err := u.signIn(ctx, d.People); err != nil {
			return out, err
		}
	}
	if err := u.keys(ctx, d, row.Wallet); err != nil {
		return out, err
	}
	u.Calls, err = d.LastCalls(ctx, id, row.Wallet, c.At, lastCalls)
	out.Data = u
	return out, err
}

func (u *UserDetail) signIn(ctx context.Context, people *auth.Manager) error {
	p, err := people.Of(ctx, u.ID)
	if err != nil {
		return err
	}
	sessions, err := people.Sessions(ctx, u.ID)
	u.Confirmed, u.SecondStep, u.Sessions, u.SendsMail = p.Confirmed, p.SecondStep, len(sessions), people.SendsMail()
	return err
}

func (u *UserDetail) keys(ctx context.Context, d accountapi.Deps, wallet string) error {
	keys, err := d.KeysOf(ctx, u.ID, wallet)
	if err != nil {
		return err
	}
	by, err := d.Keys.Disablings(ctx, u.ID)
	if err != nil {
		return err
	}
	names := map[string]*string{}
	u.Keys = make([]UserKey, len(keys))
	for i := range keys {
		u.Keys[i].AccountKey = keys[i]
		done, known := by[keys[i].ID]
		if !known || !keys[i].Disabled {
			continue
		}
		who, person := strings.CutPrefix(done.Actor, "user:")
		if person && names[who] == nil {
			other, err := d.Accounts.ByID(ctx, who)
			if err != nil && !fault.Is(err, fault.NotFound) {
				return err
			}
			names[who] = &other.Name
		}
		owner := who == u.ID || slices.ContainsFunc(keys, func(k accountapi.AccountKey) bool { return done.Actor == "key:"+k.ID })
		u.Keys[i].DisabledBy = &Disabler{Actor: done.Actor, Owner: owner, At: done.At}
		if person {
			u.Keys[i].DisabledBy.Name = accountapi.OrNull(*names[who])
		}
	}
	return nil
}

// mayChange finds a person whom the caller may change: administrators are changed by administrators.
func mayChange(ctx context.Context, d accountapi.Deps, c *operation.Call, id string) (account.User, error) {
	u, err := d.Accounts.ByID(ctx, id)
	if fault.Is(err, fault.NotFound) {
		return u, noUser()
	}
	if err == nil && u.Role == apikey.Administrator && c.Role != apikey.Administrator {
		err = fault.New(fault.PermissionDenied, "adminapi.mayChange", "This is an administrator. Ask another administrator to do it.")
	}
	return u, err
}
