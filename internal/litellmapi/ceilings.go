package litellmapi

import (
	"context"
	"slices"

	"weir/internal/accountapi"
	"weir/internal/apikey"
	"weir/internal/budget"
	"weir/internal/fault"
	"weir/internal/ledger"
	"weir/internal/money"
	"weir/internal/operation"
)

// LiteLLMCeiling is the budget of a team or a user, and the models that they may call. What is left out stays as it is, null takes it away.
type LiteLLMCeiling struct {
	MaxBudget      operation.Maybe[money.Nano] `json:"max_budget"`      // rubles
	BudgetDuration operation.Maybe[string]     `json:"budget_duration"` // 1d, 7d or 30d (or 24h, 1w, 1mo); without it max_budget is for all time
	Models         operation.Maybe[[]string]   `json:"models"`          // slugs and patterns; none: all
}

func (in *LiteLLMCeiling) given() bool {
	return in.MaxBudget.Given || in.BudgetDuration.Given || in.Models.Given
}

// empty reports whether it only takes away, as clients do that send all fields.
func (in *LiteLLMCeiling) empty() bool {
	return in.MaxBudget.Value == nil && value(in.BudgetDuration) == "" && len(value(in.Models)) == 0
}

// ceiling is what a team or user has of it.
type ceiling struct {
	amount *money.Nano
	reset  apikey.Reset
	models []string
	spent  *money.Nano // in the interval; nil without a budget
}

// budgetsOf are the budgets of a scope that refuse or narrow, those that refuse first. What only alarms is no max_budget, and stays as it is.
func budgetsOf(all []budget.Budget, s budget.Scope) []budget.Budget {
	var out []budget.Budget
	for i := range all {
		if all[i].Scope == s && (all[i].Hard || len(all[i].Alarms) == 0) {
			out = append(out, all[i])
		}
	}
	slices.SortStableFunc(out, func(a, b budget.Budget) int {
		switch {
		case a.Hard == b.Hard:
			return 0
		case a.Hard:
			return -1
		}
		return 1
	})
	return out
}

// ceilings reads budgets of an account.
type ceilings struct {
	all   []budget.Budget
	spent map[string]money.Nano
}

func (d *Deps) ceilings(ctx context.Context, c *operation.Call) (x ceilings, err error) {
	if x.all, err = d.Of.Budgets.List(ctx, c.User); err != nil {
		return x, err
	}
	limits := make([]ledger.Limit, len(x.all))
	for i := range x.all {
		limits[i] = ledger.Limit{ID: x.all[i].ID, Amount: x.all[i].Amount, Reset: x.all[i].Reset}
	}
	spent, err := d.Of.Budgets.Spent(ctx, d.Of.Books, c.Wallet, limits)
	x.spent = map[string]money.Nano{}
	for i := range spent {
		x.spent[x.all[i].ID] = spent[i].Spent
	}
	return x, err
}

// of is the ceiling of a scope: its budget that refuses, and the models of its rules.
func (x *ceilings) of(s budget.Scope) (out ceiling) {
	for _, b := range budgetsOf(x.all, s) {
		if b.Hard && out.amount == nil {
			spent := x.spent[b.ID]
			out.amount, out.reset, out.spent = &b.Amount, apikey.Reset(b.Reset), &spent
		}
		if len(out.models) == 0 {
			out.models = b.Rules.Models
		}
	}
	return out
}

// wanted is what a ceiling is to be, over the budget that there is.
func (d *Deps) wanted(in *LiteLLMCeiling, b budget.Budget, exists bool) (budget.Budget, error) {
	const op = "litellmapi.ceiling"
	if !exists {
		b.Reset = ledger.Never
	}
	if in.MaxBudget.Given {
		b.Hard = in.MaxBudget.Value != nil
		b.Amount = value(in.MaxBudget)
	}
	if in.BudgetDuration.Given {
		b.Reset = ledger.Never
		if word := value(in.BudgetDuration); word != "" {
			reset, err := resetOf(word)
			if err != nil {
				return b, err
			}
			if !b.Hard {
				return b, fault.Field(op, "budget_duration", "budget_duration needs max_budget.")
			}
			b.Reset = ledger.Reset(reset)
		}
	}
	if in.Models.Given {
		models, err := d.patterns(value(in.Models))
		if err != nil {
			return b, err
		}
		b.Rules.Models = models
	}
	return b, nil
}

// checkCeiling fails where setCeiling would, so that nothing is made that must be undone.
func (d *Deps) checkCeiling(ctx context.Context, c *operation.Call, s budget.Scope, in *LiteLLMCeiling) error {
	const op = "litellmapi.ceiling"
	if !in.given() {
		return nil
	}
	was, exists, err := d.ceilingNow(ctx, c, s)
	if err != nil {
		return err
	}
	if !exists && in.empty() {
		return nil
	}
	if c.Org != nil && c.OrgRole != apikey.OrgOwner {
		return fault.New(fault.PermissionDenied, op, "Only an owner of the organization may set max_budget, budget_duration and models.")
	}
	to, err := d.wanted(in, was, exists)
	if err != nil || !to.Hard && to.Rules.Empty() {
		return err
	}
	to.Scope = budget.Scope{Kind: budget.Organization} // the thing may not be there yet
	return to.Check()
}

// ceilingNow is the budget that LiteLLM's clients see as that of a scope. It fails where there are several: none of them is it.
func (d *Deps) ceilingNow(ctx context.Context, c *operation.Call, s budget.Scope) (b budget.Budget, exists bool, err error) {
	all, err := d.Of.Budgets.List(ctx, c.User)
	if err != nil {
		return b, false, err
	}
	switch list := budgetsOf(all, s); len(list) {
	case 0:
		return budget.Budget{Account: c.User, Scope: s}, false, nil
	case 1:
		return list[0], true, nil
	default:
		return b, false, fault.Newf(fault.Conflict, "litellmapi.ceiling", "This %s has %d budgets here. Change them with PATCH /api/budgets/{id}.", s.Kind, len(list))
	}
}

// setCeiling makes, changes or deletes the budget of a scope. One with another interval is another budget: the new one holds before the former ends, and
// counts from now on.
func (d *Deps) setCeiling(ctx context.Context, c *operation.Call, s budget.Scope, in *LiteLLMCeiling) error {
	if !in.given() {
		return nil
	}
	was, exists, err := d.ceilingNow(ctx, c, s)
	if err != nil {
		return err
	}
	to, err := d.wanted(in, was, exists)
	if err != nil {
		return err
	}
	idle := !to.Hard && to.Rules.Empty()
	switch {
	case idle && !exists:
		return nil
	case idle:
		return d.Of.Budgets.Delete(ctx, c.User, was.ID, c.Actor)
	case exists && to.Reset == was.Reset:
		_, err = d.Of.Budgets.Change(ctx, c.User, was.ID, func(b *budget.Budget) { b.Amount, b.Hard, b.Rules = to.Amount, to.Hard, to.Rules }, c.Actor)
		return err
	}
	if _, err = d.Of.Budgets.Add(ctx, to, c.Actor); err != nil || !exists {
		return err
	}
	return d.Of.Budgets.Delete(ctx, c.User, was.ID, c.Actor)
}

// dropCeiling deletes the budgets of a scope that is gone, where the caller may.
func (d *Deps) dropCeiling(ctx context.Context, c *operation.Call, s budget.Scope) error {
	if c.OrgRole != apikey.OrgOwner {
		return nil
	}
	all, err := d.Of.Budgets.List(ctx, c.User)
	if err != nil {
		return err
	}
	for _, b := range all {
		if b.Scope != s {
			continue
		}
		if err := d.Of.Budgets.Delete(ctx, c.User, b.ID, c.Actor); err != nil {
			return err
		}
	}
	return nil
}

// shownCeiling is a ceiling as clients see it.
func shownCeiling(x *ceiling, word string) (amount operation.Raw, duration *string, models []string) {
	return numberOrNull(x.amount), accountapi.OrNull(deref(durationOf(x.reset, word))), append([]string{}, x.models...)
}

func deref(s *string) string {
	if s == nil {
		return ""
	}
	return *s
}
