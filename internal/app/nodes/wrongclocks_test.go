package nodes_test

import (
	"net/http"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"weir/internal/apikey"
	"weir/internal/app/apptest"
	"weir/internal/audit"
	"weir/internal/money"
	"weir/internal/store/postgres/pgtest"
)

// Three nodes, two of which have clocks that are five minutes off: a key has its limit of requests once, calls are charged once, no node takes another
// for dead, and a key that one disables is refused by all.
func TestNodesWithWrongClocks(t *testing.T) {
	t.Parallel()
	const perMinute, extra = 20, 20/3 + 2 + 1 // see limit.Gate.Share; and one more for what refilled in a fraction
	dsn := pgtest.New(t)
	var nodes []*apptest.Gateway
	for _, off := range []time.Duration{0, 5 * time.Minute, -5 * time.Minute} {
		nodes = append(nodes, apptest.StartNodes(t, 1, dsn, apptest.PatientUpstream, func(s *apptest.Setup) {
			s.Clock = func() time.Time { return time.Now().Add(off) }
		})...)
	}
	o := nodes[0].NewOwner(t, 1000, apikey.NewKey{Rates: &apikey.Rates{Requests: perMinute}})
	at := apptest.Everywhere(nodes, []*apptest.Account{o.Account})
	hello := map[string]any{"model": "test/flat", "messages": []any{map[string]any{"role": "user", "content": "hello"}}}

	for _, gw := range nodes {
		apptest.WaitFor(t, "the others to be seen", func() bool { return gw.Node.Sharing() == int64(len(nodes)) })
	}
	began := time.Now()
	for i := range nodes {
		if got := at[i].Chat(t, hello); got.Status != http.StatusOK {
			t.Fatalf("a call at node %d: status %d: %s", i, got.Status, got.Body)
		}
	}
	var answered atomic.Int64
	answered.Store(int64(len(nodes)))
	var all sync.WaitGroup
	for _, a := range at {
		all.Go(func() {
			for answered.Load() < perMinute { // a node that waits too long for the others on a slow machine refuses, and knows more at the next call
				switch got := a.Chat(t, hello); got.Status {
				case http.StatusOK:
					answered.Add(1)
				case http.StatusTooManyRequests:
				default:
					t.Errorf("status %d: %s", got.Status, got.Body)
					return
				}
			}
			for range 10 { // and now it is used up
				if a.Chat(t, hello).Status == http.StatusOK {
					answered.Add(1)
				}
			}
		})
	}
	all.Wait()
	took := time.Since(began)
	if most := perMinute + extra + int64(took*perMinute/time.Minute); answered.Load() > most {
		t.Errorf("%d calls were answered within %s, at most %d may be", answered.Load(), took, most)
	}
	t.Logf("%d calls were answered at three nodes within %s; the key may make %d in a minute", answered.Load(), took, perMinute)

	price := apptest.Parse(t, "1000") - apptest.Parse(t, at[0].Credits(t).Balance)
	apptest.WaitFor(t, "all nodes to tell the same", func() bool {
		for _, a := range at {
			c := a.Credits(t)
			price = apptest.Parse(t, "1000") - apptest.Parse(t, c.Balance)
			if c.Reserved != "0" || apptest.Parse(t, c.TotalUsage) != price {
				return false
			}
		}
		return true
	})
	if n := nodes[0].Attempts() + nodes[1].Attempts() + nodes[2].Attempts(); n != answered.Load() || price <= 0 || price%money.Nano(n) != 0 {
		t.Errorf("%d attempts for %d answers cost %s", n, answered.Load(), price)
	}
	off := true
	if _, err := nodes[1].Node.Admin().Keys.Change(t.Context(), "", apikey.Hash(o.Account.Key), apikey.Change{Disabled: &off}, audit.Actor{Name: "test"}); err != nil {
		t.Fatal(err)
	}
	for _, a := range at {
		apptest.WaitFor(t, "the key to be refused", func() bool { return a.Chat(t, hello).Status == http.StatusUnauthorized })
	}
	for _, gw := range nodes {
		if n := gw.Node.Sharing(); n != int64(len(nodes)) {
			t.Errorf("a node sees %d nodes", n)
		}
		gw.WantBalanced(t)
	}
}
