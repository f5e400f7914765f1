package accountapi

import (
	"cmp"
	"context"
	"slices"
	"strings"
	"time"

	"weir/internal/apikey"
	"weir/internal/budget"
	"weir/internal/fault"
	"weir/internal/ledger"
	"weir/internal/money"
	"weir/internal/operation"
)

// BudgetScope is what a budget is of.
type BudgetScope struct {
	Kind string `json:"kind" enum:"organization,team,member,key,tag,session"` // organization: the whole account, a personal one as well

	// Of a team, member or key its id, of a tag name=value or a name, of a session its session_id; null: the account, or each session for itself.
	ID     *string  `json:"id"`
	Key    *CallKey `json:"key"`    // of a key
	Name   *string  `json:"name"`   // of a team, member or key; null: it is gone, or the scope is something else
	Member *NamedID `json:"member"` // of a key in an organization: for whom it works
	Team   *NamedID `json:"team"`   // of a member or key
}

// NamedID is a member, a service or a team of an organization.
type NamedID struct {
	ID   string  `json:"id"`
	Name *string `json:"name"` // null: it is gone
}

// BudgetScopeInput says what a budget is of.
type BudgetScopeInput struct {
	Kind string `json:"kind" enum:"organization,team,member,key,tag,session"`

	// Of a team or member its id, of a key its id or its hash, of a tag name=value or a name, of a session its session_id. Left out: of the whole
	// account, or of each session for itself.
	ID string `json:"id,omitempty" null:"none" maxLength:"256"`
}

// BudgetRules narrow what calls may use: whatever a key or a request says, it can only narrow them further.
type BudgetRules struct {
	Models         []string `json:"models" maxItems:"100"`             // patterns, as of keys; none: all
	Providers      []string `json:"providers" maxItems:"100"`          // slugs; none: all
	DataCollection string   `json:"data_collection" enum:"allow,deny"` // deny: no providers that keep prompts for training
	ZDR            bool     `json:"zdr"`                               // only endpoints that retain nothing
}

// BudgetRulesInput are the rules as they are to be: what is left out narrows nothing.
type BudgetRulesInput struct {
	Models         []string `json:"models,omitempty" null:"none" maxItems:"100"`
	Providers      []string `json:"providers,omitempty" null:"none" maxItems:"100"`
	DataCollection *string  `json:"data_collection,omitempty" null:"none" enum:"allow,deny"`
	ZDR            bool     `json:"zdr,omitempty" null:"none"`
}

// Budget is a ceiling for what its scope spends in a period, and how it stands.
type Budget struct {
	ID        string      `json:"id" pattern:"^bud_"`
	Scope     BudgetScope `json:"scope"`
	Name      *string     `json:"name"`
	Amount    money.Nano  `json:"amount"`
	Period    string      `json:"period" enum:"day,week,month,total"` // of the account's time zone
	Hard      bool        `json:"hard"`                               // calls that do not fit are refused with 402; otherwise it only alarms
	Alarms    []int       `json:"alarms"`                             // per cents of the amount at which a notice goes out, once in a period
	Rules     BudgetRules `json:"rules"`
	Spent     *money.Nano `json:"spent"`     // in this period; null: each session has its own
	Held      *money.Nano `json:"held"`      // reserved for calls and jobs that run
	Left      *money.Nano `json:"left"`      // what new calls may cost; 0 at the least
	RenewsAt  *time.Time  `json:"renews_at"` // when the next period begins; null: never
	CreatedAt time.Time   `json:"created_at"`
	UpdatedAt time.Time   `json:"updated_at"`
	DeletedAt *time.Time  `json:"deleted_at"` // null: it binds calls
}

// whichBudgets says which budgets are listed.
type whichBudgets struct {
	Deleted bool `json:"-" query:"deleted"` // those that were deleted and can be brought back, in place of those that bind
}

// BudgetList is all budgets of an account, the widest first.
type BudgetList struct {
	Data      []Budget       `json:"data"`
	Available money.Nano     `json:"available"` // in the wallet, which is above all of them
	Timezone  string         `json:"timezone"`  // of the account, in which periods begin
	Most      int            `json:"most"`      // how many budgets an account may have
	Next      operation.Null `json:"next"`      // they come at once
}

// BudgetForm is what a budget says beside its scope and period.
type BudgetForm struct {
	Name   *string           `json:"name,omitempty" null:"none" maxLength:"60"`
	Amount *money.Nano       `json:"amount,omitempty"`              // rubles
	Hard   *bool             `json:"hard,omitempty"`                // true without it, in a new one
	Alarms *[]int            `json:"alarms,omitempty" maxItems:"5"` // whole numbers from 1 to 100
	Rules  *BudgetRulesInput `json:"rules,omitempty"`               // in place of the former ones
}

// BudgetInput is a new budget. A scope has one of each period.
type BudgetInput struct {
	Scope  BudgetScopeInput `json:"scope"`
	Period string           `json:"period" enum:"day,week,month,total"`
	BudgetForm
}

// whole is the budget that a form describes, in full: what it leaves out is as in a new one.
func (in *BudgetInput) whole(ctx context.Context, d Deps, c *operation.Call) (b budget.Budget, err error) {
	const op = "accountapi.budget"
	b = budget.Budget{Account: c.User, Scope: budget.Scope{Kind: budget.Kind(in.Scope.Kind), ID: in.Scope.ID}, Reset: resetOf(in.Period), Hard: true}
	if in.Amount == nil {
		return b, fault.Field(op, "amount", "amount is missing: rubles, such as \"1000\".").Coded("budget_amount", "most", "1000000000")
	}
	if err := in.check(); err != nil {
		return b, err
	}
	if b.Scope.Kind == budget.Key && len(b.Scope.ID) == 64 {
		k, err := keyByHash(ctx, d, c, b.Scope.ID)
		if fault.Is(err, fault.NotFound) {
			err = fault.Field(op, "scope.id", "There is no such key.").Coded("no_key")
		}
		if err != nil {
			return b, err
		}
		b.Scope.ID = k.ID
	}
	in.set(&b)
	return b, nil
}

// BudgetChange is what is to be different. What is left out stays.
type BudgetChange struct {
	ID string `json:"-" path:"id" pattern:"^bud_"`
	BudgetForm
}

type budgetID struct {
	ID string `json:"-" path:"id" pattern:"^bud_"`
}

// whatCall is a call of which is asked what it may cost.
type whatCall struct {
	Key     string `json:"-" query:"key"`     // hash of the key that makes it
	Member  string `json:"-" query:"member"`  // id
	Team    string `json:"-" query:"team"`    // id
	Session string `json:"-" query:"session"` // its session_id
	Tags    string `json:"-" query:"tags"`    // separated by commas
}

// Spendable is what a call may still cost.
type Spendable struct {
	Amount money.Nano  `json:"amount"` // the least of what is left
	Data   []Remaining `json:"data"`   // all that bind the call, the strictest first
}

// Remaining is what one ceiling leaves a call.
type Remaining struct {
	Kind     string      `json:"kind" enum:"wallet,key_limit,organization,team,member,key,tag,session"` // key_limit: the key's own limit
	Budget   *string     `json:"budget"`                                                                // id; null: the wallet, or a key's limit
	Name     *string     `json:"name"`                                                                  // of the budget, or else what it is of
	Amount   *money.Nano `json:"amount"`                                                                // null: the wallet
	Left     money.Nano  `json:"left"`
	RenewsAt *time.Time  `json:"renews_at"`
}

// periods are the words of the API for intervals.
var periods = map[ledger.Reset]string{ledger.Never: ledger.PeriodTotal, ledger.Daily: ledger.PeriodDay, ledger.Weekly: ledger.PeriodWeek, ledger.Monthly: ledger.PeriodMonth}

func resetOf(period string) ledger.Reset {
	for r, word := range periods {
		if word == period {
			return r
		}
	}
	return ledger.Reset(period) // which no budget has
}

// set gives a budget what a form says.
func (in *BudgetForm) set(b *budget.Budget) {
	if in.Name != nil {
		b.Name = *in.Name
	}
	if in.Amount != nil {
		b.Amount = *in.Amount
	}
	if in.Hard != nil {
		b.Hard = *in.Hard
	}
	if in.Alarms != nil {
		b.Alarms = slices.Clone(*in.Alarms)
	}
	if r := in.Rules; r != nil {
		b.Rules = budget.Rules{Models: r.Models, Providers: r.Providers, DenyCollection: r.DataCollection != nil && *r.DataCollection == "deny", ZDR: r.ZDR}
	}
}

func (in *BudgetForm) check() error {
	if r := in.Rules; r != nil && r.DataCollection != nil && *r.DataCollection != "deny" && *r.DataCollection != "allow" {
		return fault.Field("accountapi.budget", "rules.data_collection", "rules.data_collection must be allow or deny.").Coded("allow_or_deny")
	}
	return nil
}

func budgets(d Deps) []operation.Operation {
	return []operation.Operation{
		operation.Of(operation.Operation{
			Method: "GET", Path: "/api/budgets", ID: "listBudgets", Org: operation.Watchers, Access: operation.Management, Tag: "budgets",
			Summary: "The budgets of the account and how they stand, the widest first", Answer: "All budgets; there are at most 500",
		}, func(ctx context.Context, c *operation.Call, in *whichBudgets) (l BudgetList, err error) {
			balance, err := d.Books.Balance(ctx, c.Wallet)
			if err != nil {
				return l, err
			}
			list := d.Budgets.List
			if in.Deleted {
				list = d.Budgets.Deleted
			}
			all, err := budgetsSeen(ctx, d, c, list)
			if err != nil {
				return l, err
			}
			zones, err := d.Accounts.Zones(ctx, c.Wallet)
			if err != nil {
				return l, err
			}
			l = BudgetList{Available: max(0, balance.Balance-balance.Held), Timezone: zones.Name(c.At), Most: budget.MaxPerAccount}
			l.Data, err = budgetsShown(ctx, d, c, all)
			return l, err
		}),
		operation.Of(operation.Operation{
			Method: "POST", Path: "/api/budgets", ID: "createBudget", Org: operation.Owners, Access: operation.Management, Fresh: true, Status: 201, Tag: "budgets",
			Summary: "Make a budget", Answer: "The new budget",
			Description: "A call must fit into every budget that binds it, and into the wallet: the strictest wins. Without hard: false, calls that do not fit are refused with 402. What the scope has spent in this period before the budget was made does not count.",
			Example:     `{"scope": {"kind": "tag", "id": "project=atlas"}, "period": "month", "amount": "100000", "hard": true, "alarms": [80, 100], "rules": {"models": ["sim/*"]}}`,
		}, func(ctx context.Context, c *operation.Call, in *BudgetInput) (out operation.Data[Budget], err error) {
			b, err := in.whole(ctx, d, c)
			if err != nil {
				return out, err
			}
			if b, err = d.Budgets.Add(ctx, b, c.Actor); err != nil {
				return out, err
			}
			return budgetAnswer(ctx, d, c, b)
		}),
		operation.Of(operation.Operation{
			Method: "PUT", Path: "/api/budgets", ID: "putBudget", Org: operation.Owners, Access: operation.Management, Fresh: true, Tag: "budgets",
			Summary: "Make the budget of a scope and period what the body says, whether or not it is there", Answer: "The budget, and whether anything changed",
			Description: "The body is the whole budget: what is left out is as in a new one. Sent again, it changes nothing.",
			Example:     `{"scope": {"kind": "tag", "id": "project=atlas"}, "period": "month", "amount": "100000", "alarms": [80, 100]}`,
		}, func(ctx context.Context, c *operation.Call, in *BudgetInput) (out Put[Budget], err error) {
			b, err := in.whole(ctx, d, c)
			if err != nil {
				return out, err
			}
			b, made, changed, err := d.Budgets.Put(ctx, b, c.Actor)
			if err != nil {
				return out, err
			}
			switch out.Result = "unchanged"; {
			case made:
				out.Result = "created"
			case changed:
				out.Result = "changed"
			}
			shown, err := budgetAnswer(ctx, d, c, b)
			out.Data = shown.Data
			return out, err
		}),
		operation.Of(operation.Operation{
			Method: "GET", Path: "/api/budgets/{id}", ID: "getBudget", Org: operation.Watchers, Access: operation.Management, Tag: "budgets", Summary: "One budget and how it stands", Answer: "The budget",
		}, func(ctx context.Context, c *operation.Call, in *budgetID) (out operation.Data[Budget], err error) {
			all, err := budgetsSeen(ctx, d, c, d.Budgets.List)
			if err != nil {
				return out, err
			}
			at := slices.IndexFunc(all, func(b budget.Budget) bool { return b.ID == in.ID })
			if at < 0 {
				return out, fault.New(fault.NotFound, "accountapi.getBudget", "There is no such budget.")
			}
			return budgetAnswer(ctx, d, c, all[at])
		}),
		operation.Of(operation.Operation{
			Method: "PATCH", Path: "/api/budgets/{id}", ID: "changeBudget", Org: operation.Owners, Access: operation.Management, Fresh: true, Tag: "budgets",
			Summary: "Raise or lower a budget, or change its alarms and rules", Answer: "The budget as it is now",
			Description: "Its scope and period stay. It holds for calls that begin from now on, and for what running ones add to their holds.",
			Example:     `{"amount": "120000", "alarms": [50, 90]}`,
		}, func(ctx context.Context, c *operation.Call, in *BudgetChange) (out operation.Data[Budget], err error) {
			if err := in.check(); err != nil {
				return out, err
			}
			b, err := d.Budgets.Change(ctx, c.User, in.ID, in.set, c.Actor)
			if err != nil {
				return out, err
			}
			return budgetAnswer(ctx, d, c, b)
		}),
		operation.Of(operation.Operation{
			Method: "DELETE", Path: "/api/budgets/{id}", ID: "deleteBudget", Org: operation.Owners, Access: operation.Management, Fresh: true, Tag: "budgets",
			Summary: "Delete a budget", Answer: "It is deleted, and binds no call any more",
			Description: "For seven days it can be brought back with POST /api/budgets/{id}/restore, until another budget of its scope and period is made. Calls count in it meanwhile.",
		}, func(ctx context.Context, c *operation.Call, in *budgetID) (operation.Deleted, error) {
			return operation.Deleted{}, d.Budgets.Delete(ctx, c.User, in.ID, c.Actor)
		}),
		operation.Of(operation.Operation{
			Method: "POST", Path: "/api/budgets/{id}/restore", ID: "restoreBudget", Org: operation.Owners, Access: operation.Management, Fresh: true, Tag: "budgets",
			Summary: "Bring a deleted budget back", Answer: "The budget as it is now",
			Description: "It has what was spent before it was deleted and meanwhile. One that is not deleted stays as it is.",
		}, func(ctx context.Context, c *operation.Call, in *budgetID) (out operation.Data[Budget], err error) {
			b, err := d.Budgets.Restore(ctx, c.User, in.ID, c.Actor)
			if err != nil {
				return out, err
			}
			return budgetAnswer(ctx, d, c, b)
		}),
		operation.Of(operation.Operation{
			Method: "GET", Path: "/api/spendable", ID: "getSpendable", Org: operation.Watchers, Access: operation.Management, Tag: "budgets",
			Summary: "What a call may still cost", Answer: "What is left in each budget that binds the call, the strictest first",
			Description: "The call is described by its key, team, member, session and tags: what is left out, it does not have.",
		}, func(ctx context.Context, c *operation.Call, in *whatCall) (operation.Data[Spendable], error) {
			s, err := spendable(ctx, d, c, in)
			return operation.Data[Spendable]{Data: s}, err
		}),
	}
}

// budgetsSeen are the budgets that the caller may see: who sees one team sees none of other teams, their members and keys.
func budgetsSeen(ctx context.Context, d Deps, c *operation.Call, list func(context.Context, string) ([]budget.Budget, error)) ([]budget.Budget, error) {
	all, err := list(ctx, c.User)
	if err != nil || c.Sees.All() {
		return all, err
	}
	people, err := namesInOrg(ctx, d, c.User)
	if err != nil {
		return nil, err
	}
	keys, err := namesOfKeys(ctx, d.Keys, c.User)
	return slices.DeleteFunc(all, func(b budget.Budget) bool {
		switch id := b.Scope.ID; b.Scope.Kind {
		case budget.Team:
			return id != c.Sees.Team
		case budget.Member:
			return !c.Sees.Of(id, people[id].Team)
		case budget.Key:
			return keys[id] == nil || !c.Sees.Of(keys[id].Member, people[keys[id].Member].Team)
		case budget.Organization, budget.Tag, budget.Session:
		}
		return false
	}), err
}

func budgetAnswer(ctx context.Context, d Deps, c *operation.Call, b budget.Budget) (out operation.Data[Budget], err error) {
	shown, err := budgetsShown(ctx, d, c, []budget.Budget{b})
	if err != nil {
		return out, err
	}
	return operation.Data[Budget]{Data: shown[0]}, nil
}

// budgetsShown reads how budgets stand.
func budgetsShown(ctx context.Context, d Deps, c *operation.Call, all []budget.Budget) ([]Budget, error) {
	funds := make([]ledger.Limit, len(all))
	named := false
	for i := range all {
		funds[i] = ledger.Limit{ID: all[i].ID, Amount: all[i].Amount, Reset: all[i].Reset}
		named = named || all[i].Scope.Kind == budget.Key
	}
	spent, err := d.Budgets.Spent(ctx, d.Books, c.Wallet, funds)
	if err != nil {
		return nil, err
	}
	var names keyNames
	if named {
		if names, err = namesOfKeys(ctx, d.Keys, c.User); err != nil {
			return nil, err
		}
	}
	people, err := namesInOrg(ctx, d, c.User)
	shown := make([]Budget, len(all))
	for i := range all {
		shown[i] = budgetOf(&all[i], spent[i], names)
		shown[i].Scope.place(names, people)
	}
	return shown, err
}

// place says what a scope is called, and whom it is of.
func (s *BudgetScope) place(keys keyNames, people orgNames) {
	if s.ID == nil {
		return
	}
	switch budget.Kind(s.Kind) {
	case budget.Team:
		s.Name = people.name(*s.ID)
	case budget.Member:
		s.Name, s.Team = people.name(*s.ID), people.named(people[*s.ID].Team)
	case budget.Key:
		if k := keys[*s.ID]; k != nil {
			s.Name, s.Member, s.Team = &k.Name, people.named(k.Member), people.named(people[k.Member].Team)
		}
	case budget.Organization, budget.Tag, budget.Session:
	}
}

func budgetOf(b *budget.Budget, s budget.Spending, names keyNames) Budget {
	out := Budget{
		ID: b.ID, Scope: BudgetScope{Kind: string(b.Scope.Kind), ID: OrNull(b.Scope.ID)}, Name: OrNull(b.Name), Amount: b.Amount, Period: periods[b.Reset], Hard: b.Hard,
		Alarms: append([]int{}, b.Alarms...), RenewsAt: Moment(s.Renews), CreatedAt: b.CreatedAt, UpdatedAt: b.UpdatedAt, DeletedAt: Moment(b.DeletedAt),
		Rules: BudgetRules{Models: append([]string{}, b.Rules.Models...), Providers: append([]string{}, b.Rules.Providers...), DataCollection: "allow", ZDR: b.Rules.ZDR},
	}
	if b.Rules.DenyCollection {
		out.Rules.DataCollection = "deny"
	}
	if b.Scope.Kind == budget.Key {
		out.Scope.Key = names.of(b.Scope.ID)
	}
	if !b.Scope.Each() {
		left := max(0, b.Amount-s.Spent-s.Held)
		out.Spent, out.Held, out.Left = &s.Spent, &s.Held, &left
	}
	return out
}

// spendable is what a call of a caller may still cost.
func spendable(ctx context.Context, d Deps, c *operation.Call, in *whatCall) (out Spendable, err error) {
	balance, err := d.Books.Balance(ctx, c.Wallet)
	if err != nil {
		return out, err
	}
	out.Data = []Remaining{{Kind: "wallet", Left: max(0, balance.Balance-balance.Held)}}
	call := budget.Call{Account: c.User, Member: in.Member, Team: in.Team, Session: in.Session}
	if in.Tags != "" {
		call.Tags = strings.Split(in.Tags, ",")
	}
	people, err := namesInOrg(ctx, d, c.User)
	if err != nil {
		return out, err
	}
	var names keyNames
	if in.Key != "" {
		var limits []Remaining
		if names, limits, err = ofKey(ctx, d, c, in.Key, &call); err != nil {
			return out, err
		}
		out.Data = append(out.Data, limits...)
	}
	call.Team = cmp.Or(call.Team, people[call.Member].Team)
	if !c.Sees.All() && (call.Member != "" && !c.Sees.Of(call.Member, people[call.Member].Team) || call.Team != "" && call.Team != c.Sees.Team) {
		return out, fault.New(fault.PermissionDenied, "accountapi.spendable", "Your role in this organization shows your own budgets, and those of your team.")
	}
	bound, err := d.Budgets.Of(ctx, &call)
	if err != nil {
		return out, err
	}
	bound = slices.DeleteFunc(slices.Clone(bound), func(b *budget.Budget) bool { return !b.Refuses() })
	spent, err := d.Budgets.Spent(ctx, d.Books, c.Wallet, budget.Limits(bound, in.Session))
	if err != nil {
		return out, err
	}
	for i, b := range bound {
		name := cmp.Or(b.Name, people[b.Scope.ID].Name, b.Scope.ID)
		if k := names[b.Scope.ID]; k != nil && b.Name == "" {
			name = k.Name
		}
		out.Data = append(out.Data, Remaining{Kind: string(b.Scope.Kind), Budget: &b.ID, Name: OrNull(name), Amount: &b.Amount, Left: max(0, b.Amount-spent[i].Spent-spent[i].Held), RenewsAt: Moment(spent[i].Renews)})
	}
	slices.SortStableFunc(out.Data, func(a, b Remaining) int { return cmp.Compare(a.Left, b.Left) })
	out.Amount = out.Data[0].Left
	return out, nil
}

// ofKey makes a call one of the key with a hash, for whom it works and with the keys above it, and returns what the limits of all of them leave.
func ofKey(ctx context.Context, d Deps, c *operation.Call, hash string, call *budget.Call) (names keyNames, limits []Remaining, err error) {
	k, err := keyByHash(ctx, d, c, hash)
	if err != nil {
		return nil, nil, err
	}
	f, err := d.Keys.Of(ctx, k.ID)
	if err != nil {
		return nil, nil, err
	}
	names = keyNames{k.ID: &f.Key}
	if len(f.Above) > 0 {
		if names, err = namesOfKeys(ctx, d.Keys, c.User); err != nil {
			return nil, nil, err
		}
	}
	call.Key, call.Above, call.Member, call.Team = k.ID, f.Above, cmp.Or(call.Member, f.Member), cmp.Or(call.Team, f.Team)
	for _, of := range append([]apikey.Above{{Key: k.ID, Limit: f.Limit}}, f.Above...) {
		if of.Limit == nil {
			continue
		}
		spent, err := d.Books.KeySpend(ctx, of.Key)
		if err != nil {
			return nil, nil, err
		}
		r := Remaining{Kind: "key_limit", Amount: &of.Limit.Amount, Left: of.Limit.Remaining(spent.Counted(ledger.Reset(of.Limit.Reset)))}
		if known := names[of.Key]; known != nil {
			r.Name = &known.Name
		}
		limits = append(limits, r)
	}
	return names, limits, nil
}
