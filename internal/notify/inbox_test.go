package notify_test

import (
	"strings"
	"testing"

	"weir/internal/apikey"
	"weir/internal/notify"
)

// TestViewer has who sees which facts of an organization, and where each leads them.
func TestViewer(t *testing.T) {
	t.Parallel()
	part := notify.Viewer{Keys: map[string]bool{"mine": true}, Budgets: map[string]bool{"bud_team": true}, Models: map[string]bool{"acme/used": true}}
	viewer := func(role apikey.OrgRole, whole bool) *notify.Viewer {
		v := part
		v.Role, v.Whole = role, whole
		return &v
	}
	viewers := []*notify.Viewer{
		viewer("", true), viewer(apikey.OrgOwner, true), viewer(apikey.OrgManager, true), viewer(apikey.OrgManager, false), viewer(apikey.OrgMember, false), viewer(apikey.OrgBilling, true),
	}
	for _, row := range []struct {
		fact notify.Fact
		want string // of each viewer: the page, + without one, - not seen
	}{
		{notify.Fact{Kind: notify.MoneyGone}, "/money /money + + + /money"},
		{notify.Fact{Kind: notify.MoneyLow}, "/money /money + + + /money"},
		{notify.Fact{Kind: notify.PaymentReceived, Ref: "pay_1"}, "/money /money - - - /money"},
		{notify.Fact{Kind: notify.PaymentRefunded, Ref: "ref_1"}, "/money /money - - - /money"},
		{notify.Fact{Kind: notify.TopUpFailed, Ref: "pay_1"}, "/money /money - - - /money"},
		{notify.Fact{Kind: notify.KeyNear, Ref: "mine"}, "/keys/mine /keys/mine /keys/mine /keys/mine /keys/mine +"},
		{notify.Fact{Kind: notify.KeyReached, Ref: "theirs"}, "/keys/theirs /keys/theirs /keys/theirs - - +"},
		{notify.Fact{Kind: notify.KeyExpiring, Ref: "mine"}, "/keys/mine /keys/mine /keys/mine /keys/mine /keys/mine -"},
		{notify.Fact{Kind: notify.KeyExpired, Ref: "theirs"}, "/keys/theirs /keys/theirs /keys/theirs - - -"},
		{notify.Fact{Kind: notify.AgentOut, Ref: "mine"}, "/agents/mine /agents/mine /agents/mine /agents/mine /agents/mine +"},
		{notify.Fact{Kind: notify.AgentOut, Ref: "theirs"}, "/agents/theirs /agents/theirs /agents/theirs - - +"},
		{notify.Fact{Kind: notify.BudgetAlarm, Ref: "bud_team"}, "/budgets /budgets /budgets /budgets - /budgets"},
		{notify.Fact{Kind: notify.BudgetReached, Ref: "bud_other"}, "/budgets /budgets /budgets - - /budgets"},
		{notify.Fact{Kind: notify.ModelGone, Ref: "acme/used"}, "/models/acme/used /models/acme/used /models/acme/used /models/acme/used /models/acme/used -"},
		{notify.Fact{Kind: notify.ModelRetires, Ref: "acme/other"}, "/models/acme/other /models/acme/other /models/acme/other - - -"},
		{notify.Fact{Kind: notify.UnusualSpending}, "/activity /activity /activity - - +"},
		{notify.Fact{Kind: notify.CacheRateFell}, "/activity /activity /activity - - +"},
	} {
		var got []string
		for _, v := range viewers {
			switch page := v.Page(&row.fact); {
			case !v.Sees(&row.fact):
				got = append(got, "-")
			case page == "":
				got = append(got, "+")
			default:
				got = append(got, page)
			}
		}
		if s := strings.Join(got, " "); s != row.want {
			t.Errorf("%s %s: %q, want %q", row.fact.Kind, row.fact.Ref, s, row.want)
		}
	}
}
