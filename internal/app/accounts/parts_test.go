package accounts_test

import (
	"encoding/json"
	"net/http"
	"sync/atomic"
	"testing"
	"time"

	"weir/internal/app/apptest"
	"weir/internal/money"
)

// TestPartsOfOrganizations: activity and trees of agents show each person what they see of the calls, and the sums of a part are those of its calls in the
// ledger: a member has their own, a manager those of the team, an owner all. Who sees to the money alone sees neither.
func TestPartsOfOrganizations(t *testing.T) {
	t.Parallel()
	var back atomic.Int64 // how far the clock is behind
	gw := apptest.StartGateway(t, func(s *apptest.Setup) {
		s.Clock = func() time.Time { return time.Now().Add(-time.Duration(back.Load())) }
	})
	c := peopled(t, gw, "Strelka", 1000*money.Ruble)
	c.team = made(t, c.owner.Pages, "POST", "/api/organizations/"+c.id+"/teams", map[string]any{"name": "Search"}, "data", "id")
	c.joins(t, c.manager, "manager", c.team)
	c.joins(t, c.member, "member", c.team)
	c.joins(t, c.colleague, "member", "")
	c.joins(t, c.paying, "billing", "")

	back.Store(int64(24 * time.Hour)) // activity shows completed days
	spent := map[*apptest.Owner]money.Nano{}
	calls := map[*apptest.Owner]int64{}
	trees := map[*apptest.Owner]string{}
	keys := map[*apptest.Owner]*apptest.Account{}
	for i, who := range []*apptest.Owner{c.owner, c.manager, c.member, c.colleague} {
		key := &apptest.Account{Gw: gw, Key: made(t, who.Pages, "POST", c.at("/api/keys"), map[string]any{"name": "x"}, "key")}
		bot, shown := child(t, key, map[string]any{"name": "bot", "amount": "5"})
		trees[who], keys[who] = shown.Hash, key
		for n, model := range []string{"test/next", "test/u31", "test/flat"}[:1+i%3] {
			for _, by := range []*apptest.Account{key, bot} {
				got := by.Chat(t, map[string]any{"model": model, "max_tokens": 5 + 7*i + n, "messages": apptest.Question})
				if got.Status != http.StatusOK {
					t.Fatalf("%d %s", got.Status, got.Body)
				}
				spent[who] += got.Reported(t, false).Cost
				calls[who]++
			}
		}
	}
	back.Store(0)
	for _, key := range keys {
		key.AwaitSettled(t)
	}
	type activity struct {
		Data []struct {
			Cost     json.Number
			Requests int64
		}
	}
	type list struct{ Data []agent }
	all := []*apptest.Owner{c.owner, c.manager, c.member, c.colleague}
	for name, x := range map[string]struct {
		by   *apptest.Owner
		sees []*apptest.Owner
	}{
		"the owner": {c.owner, all}, "the manager": {c.manager, []*apptest.Owner{c.manager, c.member}}, "the member": {c.member, []*apptest.Owner{c.member}}, "a colleague": {c.colleague, []*apptest.Owner{c.colleague}},
	} {
		var want, cost money.Nano
		var count, requests int64
		for _, o := range x.sees {
			want += spent[o]
			count += calls[o]
		}
		for _, r := range apptest.Decode[activity](t, x.by.Pages.Do(t, "GET", c.at("/v1/activity"), nil).Body).Data {
			cost += apptest.Parse(t, r.Cost)
			requests += r.Requests
		}
		if cost != want || requests != count {
			t.Errorf("the activity of %s has %d calls for %s, want %d for %s", name, requests, cost, count, want)
		}
		if tops := apptest.Decode[list](t, x.by.Pages.Do(t, "GET", c.at("/api/agents"), nil).Body).Data; len(tops) != len(x.sees) {
			t.Errorf("%s sees %d trees, want %d", name, len(tops), len(x.sees))
		}
		for _, o := range all {
			got := x.by.Pages.Do(t, "GET", c.at("/api/agents/"+trees[o]), nil)
			seen := false
			for _, one := range x.sees {
				seen = seen || one == o
			}
			if seen {
				wantAdding(t, apptest.Decode[struct{ Data agentTree }](t, got.Body).Data)
			} else if got.Status != http.StatusNotFound || x.by.Pages.Do(t, "POST", c.at("/api/agents/"+trees[o]+"/stop"), nil).Status != http.StatusNotFound {
				t.Errorf("%s sees another's tree: %d %s", name, got.Status, got.Body)
			}
		}
	}
	if b, err := gw.Node.Admin().Store.Ledger.Balance(t.Context(), c.wallet); err != nil || b.Charged != spent[c.owner]+spent[c.manager]+spent[c.member]+spent[c.colleague] {
		t.Errorf("the ledger has %s, %v", b.Charged, err)
	}
	// A key sees what its member does.
	own := apptest.Decode[activity](t, keys[c.member].Do(t, "GET", "/v1/activity", nil).Body).Data
	var cost money.Nano
	for _, r := range own {
		cost += apptest.Parse(t, r.Cost)
	}
	if cost != spent[c.member] {
		t.Errorf("the activity of a member's key is %s, want %s", cost, spent[c.member])
	}
	for _, path := range []string{"/v1/activity", "/api/agents", "/api/agents/" + trees[c.member], "/api/calls"} {
		if got := c.paying.Pages.Do(t, "GET", c.at(path), nil); got.Status != http.StatusForbidden {
			t.Errorf("%s by who sees to the money: %d %s", path, got.Status, got.Body)
		}
	}
	if got := c.manager.Pages.Do(t, "POST", c.at("/api/agents/"+trees[c.member]+"/stop"), nil); got.Status != http.StatusOK {
		t.Errorf("the manager stops an agent of the team: %d %s", got.Status, got.Body)
	}
}
