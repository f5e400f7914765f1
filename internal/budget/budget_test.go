package budget_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"weir/internal/apikey"
	"weir/internal/budget"
	"weir/internal/fault"
	"weir/internal/ledger"
	"weir/internal/money"
	"weir/internal/routing"
)

func TestCheck(t *testing.T) {
	t.Parallel()
	all := budget.Scope{Kind: budget.Organization}
	for name, b := range map[string]budget.Budget{
		"":                {Scope: all, Hard: true, Amount: money.Ruble, Reset: ledger.Monthly, Alarms: []int{50, 100}},
		" of a rule":      {Scope: all, Rules: budget.Rules{ZDR: true}},
		" of sessions":    {Scope: budget.Scope{Kind: budget.Session}, Hard: true},
		"amount":          {Scope: all, Hard: true, Amount: -1},
		"period":          {Scope: all, Hard: true, Reset: "yearly"},
		"name":            {Scope: all, Hard: true, Name: strings.Repeat("я", 61)},
		"scope.kind":      {Hard: true},
		"scope.id":        {Scope: budget.Scope{Kind: budget.Organization, ID: "org_1"}, Hard: true},
		"scope.id ":       {Scope: budget.Scope{Kind: budget.Team, ID: "usr_1"}, Hard: true},
		"scope.id  ":      {Scope: budget.Scope{Kind: budget.Tag}, Hard: true},
		"scope.id   ":     {Scope: budget.Scope{Kind: budget.Session, ID: "a\nb"}, Hard: true},
		"alarms":          {Scope: all, Hard: true, Alarms: []int{0}},
		"alarms ":         {Scope: all, Hard: true, Alarms: []int{1, 2, 3, 4, 5, 6}},
		"alarms  ":        {Scope: all},
		"rules.models":    {Scope: all, Hard: true, Rules: budget.Rules{Models: []string{"a b"}}},
		"rules.providers": {Scope: all, Hard: true, Rules: budget.Rules{Providers: []string{""}}},
	} {
		err := b.Check()
		if want := strings.TrimRight(name, " "); name == "" || name[0] == ' ' {
			if err != nil {
				t.Errorf("%q: %v", name, err)
			}
		} else if f := fault.From(err); f == nil || f.Kind != fault.Invalid || f.Param != want || f.Code == "" {
			t.Errorf("%q: %v", name, err)
		}
	}
}

// memory is a store that counts questions and can be away.
type memory struct {
	budget.Store // all that these tests do not use
	list         []budget.Budget
	asked        int
	away         bool
}

func (m *memory) Budgets(context.Context, string) ([]budget.Budget, error) {
	m.asked++
	if m.away {
		return nil, fault.New(fault.StorageUnavailable, "test", "The store is away.")
	}
	return append([]budget.Budget(nil), m.list...), nil
}

// The budgets of all that a call is bind it, each once, and a session's own takes the place of what each session has.
func TestOf(t *testing.T) {
	t.Parallel()
	s := &memory{}
	add := func(id string, kind budget.Kind, of string, r ledger.Reset) {
		s.list = append(s.list, budget.Budget{ID: "bud_" + id, Scope: budget.Scope{Kind: kind, ID: of}, Amount: 5, Reset: r, Hard: id != "soft"})
	}
	add("all", budget.Organization, "", ledger.Monthly)
	add("day", budget.Organization, "", ledger.Daily)
	add("team", budget.Team, "team_1", ledger.Monthly)
	add("anna", budget.Member, "usr_1", ledger.Monthly)
	add("root", budget.Key, "key_root", ledger.Never)
	add("key", budget.Key, "key_1", ledger.Never)
	add("tag", budget.Tag, "a=b", ledger.Never)
	add("soft", budget.Tag, "c", ledger.Never)
	add("each", budget.Session, "", ledger.Never)
	add("eachday", budget.Session, "", ledger.Daily)
	add("own", budget.Session, "s1", ledger.Never)
	m := budget.NewManager(s, time.Now)
	for _, c := range []struct {
		call budget.Call
		want string
	}{
		{budget.Call{Key: "key_2"}, "all day"},
		{budget.Call{Key: "key_1", Team: "team_1", Member: "usr_1", Above: []apikey.Above{{Key: "key_root"}}, Tags: []string{"a=b", "c", "d"}}, "all day team anna root key tag soft"},
		{budget.Call{Key: "key_2", Session: "s1"}, "all day own eachday"},
		{budget.Call{Key: "key_2", Session: "s2"}, "all day each eachday"},
		{budget.Call{Key: "key_2", Team: "team_2", Member: "usr_2"}, "all day"},
	} {
		list, err := m.Of(t.Context(), &c.call)
		var ids []string
		for _, b := range list {
			ids = append(ids, strings.TrimPrefix(b.ID, "bud_"))
		}
		if got := strings.Join(ids, " "); err != nil || got != c.want {
			t.Errorf("%+v: %q, %v, want %q", c.call, got, err, c.want)
		}
	}
	one, _ := m.Of(t.Context(), &budget.Call{Session: "s2", Tags: []string{"c"}})
	other, _ := m.Of(t.Context(), &budget.Call{Session: "s3", Tags: []string{"c"}})
	a, b := budget.Limits(one, "s2"), budget.Limits(other, "s3")
	if a[0] != b[0] || a[3].ID == b[3].ID || !strings.HasPrefix(a[3].ID, "bud_each/") || len(a[3].ID) > 64 {
		t.Errorf("%v, %v", a, b)
	}
	if !a[2].Open || a[3].Open || a[3].Amount != 5 {
		t.Errorf("alarms alone refuse nothing: %v", a)
	}
	if id, ok := budget.OfFund(a[3].ID); !ok || id != "bud_each" {
		t.Error(id, ok)
	}
}

// More ceilings than a call may have are an error, and never fewer ceilings.
func TestOfTooMany(t *testing.T) {
	t.Parallel()
	s, tags := &memory{}, []string{}
	for i := range 60 {
		tag := strings.Repeat("t", i+1)
		tags = append(tags, tag)
		s.list = append(s.list, budget.Budget{ID: "bud_" + tag, Scope: budget.Scope{Kind: budget.Tag, ID: tag}})
	}
	m := budget.NewManager(s, time.Now)
	if list, err := m.Of(t.Context(), &budget.Call{Tags: tags}); !fault.Is(err, fault.Invalid) || list != nil {
		t.Errorf("%d, %v", len(list), err)
	}
	if list, err := m.Of(t.Context(), &budget.Call{Tags: tags[:48]}); len(list) != 48 || err != nil {
		t.Errorf("%d, %v", len(list), err)
	}
}

// The store is asked once in two seconds, a change holds at once, and a store that is away leaves what is known in force for a time.
func TestOfRemembers(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 11, 3, 12, 0, 0, 0, time.UTC)
	s := &memory{}
	m := budget.NewManager(s, func() time.Time { return now })
	find := func(n, asked int, fails bool) {
		t.Helper()
		list, err := m.Of(t.Context(), &budget.Call{Account: "usr_a"})
		if len(list) != n || (err != nil) != fails || s.asked != asked {
			t.Errorf("%v, %v after %d questions, want %d after %d", list, err, s.asked, n, asked)
		}
	}
	find(0, 1, false)
	s.list = []budget.Budget{{ID: "bud_1", Scope: budget.Scope{Kind: budget.Organization}}}
	find(0, 1, false)
	m.LookAgain(func(account string) bool { return account == "usr_b" })
	find(0, 1, false)
	m.LookAgain(func(account string) bool { return account == "usr_a" })
	find(1, 2, false)
	now = now.Add(2 * time.Second)
	s.away = true
	find(1, 3, false)
	now = now.Add(5 * time.Minute)
	find(0, 4, true)
	s.away = false
	find(1, 5, false)
}

// Accounts without budgets pay nothing for them.
func TestOfTakesNoMemory(t *testing.T) {
	now := time.Now()
	m := budget.NewManager(&memory{}, func() time.Time { return now })
	c := &budget.Call{Account: "usr_a", Key: "key_1", Tags: []string{"a", "b"}, Session: "s"}
	ctx := context.Background()
	if n := testing.AllocsPerRun(100, func() {
		list, _ := m.Of(ctx, c)
		_ = budget.Limits(list, c.Session)
	}); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

// Rules of a budget only narrow: what a request or a key excludes stays excluded.
func TestNarrow(t *testing.T) {
	t.Parallel()
	p := routing.Preferences{Models: [][]string{{"a/*"}}, Only: []string{"x"}, ZDR: true}
	list := []*budget.Budget{{}, {Rules: budget.Rules{Models: []string{"*/b"}, Providers: []string{"y", "x"}}}, {Rules: budget.Rules{DenyCollection: true}}}
	want := routing.Preferences{Models: [][]string{{"*/b"}, {"a/*"}}, Only: []string{"x"}, Within: [][]string{{"y", "x"}}, ZDR: true, DenyCollection: true}
	if got := budget.Narrow(list, p); cmp.Diff(want, got) != "" {
		t.Error(cmp.Diff(want, got))
	}
}

// A refusal names its budget, whichever fund of it was too low, and no time after which to try again. Others stay as they are.
func TestNamed(t *testing.T) {
	t.Parallel()
	list := []*budget.Budget{{ID: "bud_1", Scope: budget.Scope{Kind: budget.Organization}, Amount: 9}, {ID: "bud_2", Name: "Runs", Scope: budget.Scope{Kind: budget.Session}, Amount: 5 * money.Ruble}}
	refusal := func(fund string) *fault.Error {
		e := fault.New(fault.PaymentRequired, "test", "A budget is too low.")
		e.RetryAfter = time.Second
		e.Details = map[string]any{"reason": "budget", "budget": fund, "required": "2", "available": "1.5", "renews_at": "2026-12-01T00:00:00Z"}
		return e
	}
	got := budget.Named(refusal(list[1].Fund("s")), list)
	want := map[string]any{"reason": "budget", "budget": "bud_2", "budget_name": "Runs", "scope": "session", "amount": "5", "required": "2", "available": "1.5", "renews_at": "2026-12-01T00:00:00Z"}
	if cmp.Diff(want, got.Details) != "" || got.RetryAfter != 0 {
		t.Error(cmp.Diff(want, got.Details), got.RetryAfter)
	}
	if want := `The budget "Runs" (each session) has 1.5 of 5 rubles left, and this request may cost 2. It renews at 2026-12-01T00:00:00Z. Raise it, or ask for fewer tokens.`; got.Public != want {
		t.Error(got.Public)
	}
	for _, e := range []*fault.Error{refusal("key_1"), refusal("bud_3"), fault.New(fault.PaymentRequired, "test", "The balance is too low.")} {
		if got := budget.Named(e, list); got != e {
			t.Errorf("%v became %v", e, got)
		}
	}
}
