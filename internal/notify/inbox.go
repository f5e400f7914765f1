package notify

import (
	"context"
	"net/url"
	"strings"
	"time"

	"weir/internal/apikey"
)

// Hears reports whether a cause is for who has a role in an organization: by mail, in the overview and in the inbox. "" is who reads of their own account,
// and hears of all. Members have keys and spend; money that comes is not theirs. Who sees to money has no keys.
func Hears(r apikey.OrgRole, c Cause) bool {
	switch r {
	case apikey.OrgBilling:
		return c != KeyExpiry && c != ModelRetiring
	case apikey.OrgManager, apikey.OrgMember:
		return c != Payment
	case apikey.OrgOwner:
	}
	return true
}

// Viewer is who reads the facts of an account.
type Viewer struct {
	Role  apikey.OrgRole // in the organization; "": the account is their own
	Whole bool           // they see what all do there; otherwise what Keys, Budgets and Models name, and nothing of sums of all

	Keys    map[string]bool // by hash
	Budgets map[string]bool // by id
	Models  map[string]bool // by slug
}

// Sees reports whether a fact is for them.
func (v *Viewer) Sees(f *Fact) bool {
	if !Hears(v.Role, f.Kind.Cause()) {
		return false
	}
	switch f.Kind {
	case BudgetAlarm, BudgetReached:
		return v.Role != apikey.OrgMember && (v.Whole || v.Budgets[f.Ref])
	case KeyNear, KeyReached, KeyExpiring, KeyExpired, AgentOut:
		return v.Whole || v.Keys[f.Ref]
	case ModelGone, ModelRetires:
		return v.Whole || v.Models[f.Ref]
	case UnusualSpending, CacheRateFell:
		return v.Whole
	case MoneyGone, MoneyLow, PaymentReceived, PaymentRefunded, TopUpFailed, TestNotice: // who spends sees how much is left
	}
	return true
}

// Page is the path of the page on which something can be done about a fact; "" where they have none.
func (v *Viewer) Page(f *Fact) string {
	switch page := f.Page(); {
	case v.Role == apikey.OrgBilling && (f.Kind.isOfKey() || f.Kind == AgentOut || f.Kind.Cause() == Spending),
		(v.Role == apikey.OrgManager || v.Role == apikey.OrgMember) && f.Kind.Cause() == LowBalance:
		return ""
	default:
		return page
	}
}

func (k Kind) isOfKey() bool {
	return k == KeyNear || k == KeyReached || k == KeyExpiring || k == KeyExpired
}

// Page is the path of the page of the interface on which something can be done about a fact.
func (f *Fact) Page() string {
	switch f.Kind.Cause() {
	case KeyLimit, KeyExpiry:
		switch {
		case f.Kind.isOfKey():
			return "/keys/" + f.Ref
		case f.Kind == AgentOut:
			return "/agents/" + f.Ref
		}
		return "/budgets"
	case ModelRetiring:
		return "/models/" + f.Ref
	case Spending:
		if f.Ref != "" { // a tag
			return "/activity?tag=" + strings.ReplaceAll(url.QueryEscape(f.Ref), "+", "%20")
		}
		return "/activity"
	case LowBalance, Payment:
	}
	return "/money"
}

// PageName is the first part of the path of a page, such as "keys".
func PageName(page string) string {
	name := strings.TrimPrefix(page, "/")
	return name[:strings.IndexAny(name+"/", "/?")]
}

// Inbox is what was noticed for an account and its viewer sees, the newest first, and until when of it the person has read.
func (m *Manager) Inbox(ctx context.Context, account, person string, sees func([]Noticed) (*Viewer, error)) (list []Noticed, v *Viewer, read time.Time, err error) {
	all, err := m.store.Noticed(ctx, account)
	if err != nil {
		return nil, nil, read, err
	}
	if v, err = sees(all); err != nil {
		return nil, nil, read, err
	}
	for i := range all {
		if v.Sees(&all[i].Fact) {
			list = append(list, all[i])
		}
	}
	read, err = m.store.ReadUntil(ctx, person, account)
	return list, v, read, err
}

// MarkRead marks what was found until then as read by a person; nothing that is found later than now.
func (m *Manager) MarkRead(ctx context.Context, account, person string, until time.Time) error {
	if now := m.cfg.Now(); until.After(now) {
		until = now
	}
	return m.store.MarkRead(ctx, person, account, until)
}

// NoticesVersion is another number when an account's inbox is another one.
func (m *Manager) NoticesVersion(ctx context.Context, account string) (int64, error) {
	return m.store.NoticesVersion(ctx, account)
}

// IDOf names a fact of an account that was found then, for clients. The event of the webhook that reports it has the same.
func IDOf(account string, f *Fact, found time.Time) string {
	return "ntf-" + digest(account, f.ID(), found)
}
