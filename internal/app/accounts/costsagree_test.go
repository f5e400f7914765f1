package accounts_test

import (
	"sync"
	"testing"

	"weir/internal/apikey"
	"weir/internal/app/apptest"
	"weir/internal/money"
)

// When an answer has ended, balance, record and key agree at once with the cost that it reported.
func TestCostsAgreeAtOnce(t *testing.T) {
	t.Parallel()
	gw := apptest.StartGateway(t)
	a := gw.NewAccount(t)
	var spent money.Nano
	for i := range 40 {
		stream := i%2 == 1
		model := []string{"test/next", "test/u31", "test/u12-status-400"}[i%3] // the last one fails over
		is := a.Chat(t, map[string]any{"model": model, "models": []string{"test/next"}, "stream": stream, "max_tokens": 1 + i*7, "messages": apptest.Question}).Reported(t, stream)
		spent += is.Cost
		c := a.Credits(t)
		if apptest.Parse(t, c.TotalUsage) != spent || apptest.Parse(t, c.Balance) != 100*money.Ruble-spent || c.Reserved != "0" || is.Cost == 0 {
			t.Fatalf("answer %d cost %s of %s in all; credits are %+v", i, is.Cost, spent, c)
		}
		if total, daily := a.KeyUsage(t); total != spent || daily > spent || daily == 0 {
			t.Errorf("the key has spent %s, %s today, not %s", total, daily, spent)
		}
		a.WantReported(t, is)
	}
	gw.WantBalanced(t)
}

// The same holds for many concurrent clients, and for the totals of their user, by day and by model.
func TestCostsAgreeUnderLoad(t *testing.T) {
	t.Parallel()
	const clients, calls = 8, 25
	gw := apptest.StartGateway(t)
	keys := gw.Open(t, apptest.Opening{Amount: 100 * money.Ruble, Keys: make([]*apikey.Limit, clients)})
	var (
		mu      sync.Mutex
		byModel = map[string]money.Nano{}
		sum     money.Nano
		all     sync.WaitGroup
	)
	for n, a := range keys {
		all.Go(func() {
			var mine money.Nano
			for i := range calls {
				stream := (n+i)%2 == 1
				model := []string{"test/next", "test/u31"}[i%2]
				is := a.Chat(t, map[string]any{"model": model, "stream": stream, "max_tokens": 1 + i, "messages": apptest.Question}).Reported(t, stream)
				mine += is.Cost
				a.WantReported(t, is)
				if total, _ := a.KeyUsage(t); total != mine {
					t.Errorf("key %d has spent %s, not %s", n, total, mine)
				}
				mu.Lock()
				byModel[is.Model] += is.Cost
				sum += is.Cost
				mu.Unlock()
			}
		})
	}
	all.Wait()
	if got := apptest.Parse(t, keys[0].Credits(t).TotalUsage); got != sum {
		t.Errorf("charged %s, reported %s", got, sum)
	}
	gw.WantRollUp(t, byModel, clients*calls)
	gw.WantBalanced(t)
}
