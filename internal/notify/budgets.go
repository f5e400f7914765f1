package notify

import (
	"cmp"
	"context"
	"strconv"
	"strings"
	"time"

	"weir/internal/apikey"
	"weir/internal/budget"
)

// Budgets say how budgets of accounts stand, and which agents have spent what they were given.
type Budgets interface {
	Standing(ctx context.Context, account, wallet string) ([]Standing, error)
	// OutOfMoney lists keys that other keys made, have not ended, and of whose amount less than a hundredth is left. Branch.Top is the name of the
	// first key of its tree.
	OutOfMoney(ctx context.Context, account string, now time.Time, most int) ([]apikey.Branch, error)
}

// Standing is a budget with what counts in it.
type Standing struct {
	budget.Budget
	budget.Spending
}

// mostAgents is how many agents without money are reported at one time.
const mostAgents = 20

// budgetFact is the highest alarm of a budget that was passed, or that it is used up. A call is refused when the most that it may cost does not fit: so
// a hard budget is used up when less than a hundredth is left.
func budgetFact(s *Standing, today time.Time) (Fact, bool) {
	b := &s.Budget
	if b.Amount <= 0 || b.Scope.Each() {
		return Fact{}, false
	}
	percent := int64(s.Spent / max(1, b.Amount/100)) // without a product that might overflow
	f := Fact{Kind: BudgetAlarm, Ref: b.ID, Name: cmp.Or(b.Name, b.Scope.ID), Amount: b.Amount, Spent: s.Spent, Percent: percent, Reset: string(b.Reset)}
	if b.Scope.Kind == budget.Tag {
		f.Tag = b.Scope.ID
	}
	passed := 0
	for _, n := range b.Alarms {
		if percent >= int64(n) {
			passed = n
		}
	}
	switch {
	case b.Hard && percent >= 99:
		f.Kind, passed = BudgetReached, 0
	case passed == 0:
		return Fact{}, false
	}
	f.Episode = interval(apikey.Reset(b.Reset), today) + "/" + strconv.Itoa(passed)
	return f, true
}

// agentFact is an agent that has spent what it was given. Its name has that of its tree in front.
func agentFact(b *apikey.Branch) Fact {
	f := Fact{Kind: AgentOut, Ref: b.Hash, Name: b.Name, Amount: b.Limit.Amount, Spent: b.Spent, Percent: int64(b.Spent / max(1, b.Limit.Amount/100)), Episode: b.Limit.Amount.String()}
	if l := b.Loop; l != nil {
		f.Days, f.Reset = int(l.Times), strings.Join(l.Tools, ", ")
	}
	if b.Child.Tree != b.ID {
		f.Name = b.Top + " / " + b.Name
	}
	return f
}

// budgetFacts are the facts of an account's budgets and agents.
func (w *Watcher) budgetFacts(ctx context.Context, a *Enrolled, now, today time.Time) (all []Fact, err error) {
	if w.Budgets == nil {
		return nil, nil
	}
	list, err := w.Budgets.Standing(ctx, a.ID, a.Wallet)
	if err != nil {
		return nil, err
	}
	for i := range list {
		if f, ok := budgetFact(&list[i], today); ok {
			all = append(all, f)
		}
	}
	agents, err := w.Budgets.OutOfMoney(ctx, a.ID, now, mostAgents)
	for i := range agents {
		all = append(all, agentFact(&agents[i]))
	}
	return all, err
}
