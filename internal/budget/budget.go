// Package budget knows which ceilings and rules bind a call: those of its account, of a team, a member, a key, a tag or a session. It counts no
// money: the ledger does, in a fund for each ceiling.
package budget

import (
	"crypto/sha256"
	"encoding/hex"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"weir/internal/apikey"
	"weir/internal/audit"
	"weir/internal/fault"
	"weir/internal/ledger"
	"weir/internal/money"
	"weir/internal/routing"
	"weir/internal/usertext"
)

// Kind is what a budget is of.
type Kind string

// The kinds, from the widest to the narrowest.
const (
	Organization Kind = "organization" // the whole account, a personal one as well
	Team         Kind = "team"
	Member       Kind = "member" // a person or a service of an organization
	Key          Kind = "key"    // with all keys that come from it
	Tag          Kind = "tag"
	Session      Kind = "session"
)

// Kinds lists all of them.
func Kinds() []Kind { return []Kind{Organization, Team, Member, Key, Tag, Session} }

// Scope is what a budget is of. ID is the id of the team, member or key, the tag ("name=value", or a name alone) or the session_id; "" of an
// account, and of a session that each one has a budget of this size for itself.
type Scope struct {
	Kind Kind
	ID   string
}

// Bounds of one account.
const (
	MaxPerAccount = 500
	MaxAlarms     = 5
	MaxName       = 60 // characters
	maxTag        = 256
	maxSession    = 256
	maxRules      = 100
	// Kept is for how long a deleted budget can be brought back.
	Kept = 7 * 24 * time.Hour
	// mostFunds is how many ceilings of budgets may bind one call. A record has room for as many, and for the keys above the one that called.
	mostFunds = 48
)

// Budget is a ceiling for what a scope spends in a period, and rules for its calls. It is never changed once it was read.
type Budget struct {
	ID      string // "bud_..."
	Account string // "usr_..." or "org_..."
	Scope   Scope
	Name    string // one line, "" none
	Amount  money.Nano
	Reset   ledger.Reset
	Hard    bool  // calls that do not fit are refused
	Alarms  []int // per cents of the amount that the account hears of, in order
	Rules   Rules

	CreatedAt, UpdatedAt time.Time

	// DeletedAt is zero for one that binds calls. A deleted one refuses and narrows nothing. While it can be brought back, calls count in it, so that it
	// stands then as though it had never been deleted.
	DeletedAt time.Time
}

// Refuses reports whether calls that do not fit are refused.
func (b *Budget) Refuses() bool { return b.Hard && b.binds() }

// binds reports whether a budget is not deleted.
func (b *Budget) binds() bool { return b.DeletedAt.IsZero() }

// Rules narrow what calls may use. The zero value narrows nothing.
type Rules struct {
	Models         []string // patterns, as of keys; none: all
	Providers      []string // slugs; none: all
	DenyCollection bool     // providers that keep prompts for training are left out
	ZDR            bool     // only endpoints that retain nothing
}

// Empty reports whether the rules narrow nothing.
func (r *Rules) Empty() bool {
	return len(r.Models) == 0 && len(r.Providers) == 0 && !r.DenyCollection && !r.ZDR
}

// over lays the rules over preferences, which they can only narrow.
func (r *Rules) over(p routing.Preferences) routing.Preferences {
	if r.Empty() {
		return p
	}
	mine := routing.Preferences{DenyCollection: r.DenyCollection, ZDR: r.ZDR}
	if len(r.Models) > 0 {
		mine.Models = [][]string{r.Models}
	}
	if len(r.Providers) > 0 {
		mine.Within = [][]string{r.Providers}
	}
	return routing.Merge(mine, p)
}

// Each reports whether each session has a budget of this size for itself.
func (s Scope) Each() bool { return s.Kind == Session && s.ID == "" }

// String names a scope in audit rows and errors: "team team_...", "tag project=atlas".
func (s Scope) String() string {
	switch {
	case s.Kind == Organization:
		return "account"
	case s.Each():
		return "each session"
	}
	return string(s.Kind) + " " + s.ID
}

// Fund is the id of the fund in which calls of a session count.
func (b *Budget) Fund(session string) string {
	if !b.Scope.Each() {
		return b.ID
	}
	sum := sha256.Sum256([]byte(session))
	return b.ID + "/" + hex.EncodeToString(sum[:16])
}

// OfFund is the id of the budget of a fund; false for the fund of a key.
func OfFund(fund string) (id string, ok bool) {
	id, _, _ = strings.Cut(fund, "/")
	return id, strings.HasPrefix(id, "bud_")
}

// Target names a budget in the audit chain, with its account in front.
func (b *Budget) Target() string { return b.Account + " " + b.ID }

// Removal is the audit event of a budget's end.
func (b *Budget) Removal(by audit.Actor) audit.Event {
	return audit.Event{Actor: by, Action: audit.BudgetRemoved, Target: b.Target(), Before: b.describe()}
}

// Return is the audit event of a deleted budget that was brought back.
func (b *Budget) Return(by audit.Actor) audit.Event {
	return audit.Event{Actor: by, Action: audit.BudgetRestored, Target: b.Target(), After: b.describe()}
}

// describe is the budget in a row of the audit chain.
func (b *Budget) describe() string {
	s := b.Scope.String() + ", " + b.Amount.String()
	if b.Reset != ledger.Never {
		s += " " + string(b.Reset)
	}
	if b.Hard {
		s += ", hard"
	}
	for i, n := range b.Alarms {
		if i == 0 {
			s += ", alarm at"
		}
		s += " " + strconv.Itoa(n) + " %"
	}
	if len(b.Rules.Models) > 0 {
		s += ", models " + strings.Join(b.Rules.Models, " ")
	}
	if len(b.Rules.Providers) > 0 {
		s += ", providers " + strings.Join(b.Rules.Providers, " ")
	}
	if b.Rules.DenyCollection {
		s += ", data_collection deny"
	}
	if b.Rules.ZDR {
		s += ", zdr"
	}
	return s
}

// Check fails with fault.Invalid for fields out of range. It puts alarms in order.
func (b *Budget) Check() error {
	const op = "budget.Check"
	if utf8.RuneCountInString(b.Name) > MaxName || !usertext.Is(b.Name) {
		return fault.Field(op, "name", "name must be one line of at most %d characters.", MaxName).Coded("one_line_or_none", "most", MaxName)
	}
	if b.Amount < 0 || b.Amount > maxAmount {
		return fault.Field(op, "amount", "amount must be rubles from 0 to %s.", maxAmount).Coded("budget_amount", "most", maxAmount.String())
	}
	switch b.Reset {
	case ledger.Never, ledger.Daily, ledger.Weekly, ledger.Monthly:
	default:
		return fault.Field(op, "period", "period must be day, week, month or total.").Coded("budget_period")
	}
	if err := b.Scope.check(); err != nil {
		return err
	}
	slices.Sort(b.Alarms)
	b.Alarms = slices.Compact(b.Alarms)
	if len(b.Alarms) > MaxAlarms || slices.ContainsFunc(b.Alarms, func(n int) bool { return n < 1 || n > 100 }) {
		return fault.Field(op, "alarms", "alarms must be at most %d whole numbers from 1 to 100.", MaxAlarms).Coded("budget_alarms", "most", MaxAlarms)
	}
	if !b.Hard && len(b.Alarms) == 0 && b.Rules.Empty() {
		return fault.Field(op, "alarms", "A budget that is not hard needs an alarm or a rule: it would do nothing.").Coded("budget_idle")
	}
	return b.Rules.check()
}

// maxAmount is the largest amount of a budget.
const maxAmount = 1_000_000_000 * money.Ruble

// check fails for a scope that no call can have.
func (s Scope) check() error {
	const op, param = "budget.Scope", "scope.id"
	line := func(most int) error {
		if s.ID == "" || len(s.ID) > most || !usertext.Is(s.ID) || strings.TrimSpace(s.ID) != s.ID {
			return fault.Field(op, param, "scope.id must be one line of 1 to %d bytes.", most).Coded("length_bytes", "most", most)
		}
		return nil
	}
	var prefix string
	switch s.Kind {
	case Organization:
		if s.ID != "" {
			return fault.Field(op, param, "A budget of the whole account has no scope.id.").Coded("budget_scope_id")
		}
		return nil
	case Tag:
		return line(maxTag)
	case Session:
		if s.ID == "" {
			return nil
		}
		return line(maxSession)
	case Team:
		prefix = "team_"
	case Key:
		prefix = "key_"
	case Member:
		if strings.HasPrefix(s.ID, "svc_") {
			return line(maxSession)
		}
		prefix = "usr_"
	default:
		return fault.Field(op, "scope.kind", "scope.kind must be organization, team, member, key, tag or session.").Coded("budget_scope_kind")
	}
	if !strings.HasPrefix(s.ID, prefix) {
		return fault.Field(op, param, "scope.id must be the id of a %s.", s.Kind).Coded("budget_scope_id")
	}
	return line(maxSession)
}

func (r *Rules) check() error {
	const op = "budget.Rules"
	if len(r.Models) > maxRules || slices.ContainsFunc(r.Models, notWord) {
		return fault.Field(op, "rules.models", "rules.models must have at most %d patterns of printable ASCII characters without spaces, such as \"acme/*\".", maxRules).Coded("budget_models", "most", maxRules)
	}
	if len(r.Providers) > maxRules || slices.ContainsFunc(r.Providers, notWord) {
		return fault.Field(op, "rules.providers", "rules.providers must have at most %d slugs of providers.", maxRules).Coded("budget_providers", "most", maxRules)
	}
	return nil
}

func notWord(s string) bool {
	return s == "" || len(s) > maxTag || strings.ContainsFunc(s, func(r rune) bool { return r <= ' ' || r >= 0x7f })
}

// NewID makes the id of a budget.
func NewID() string { return apikey.NewID("bud_") }
