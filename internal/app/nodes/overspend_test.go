package nodes_test

import (
	"math/rand/v2"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"testing"

	"weir/internal/apikey"
	"weir/internal/app/apptest"
	"weir/internal/money"
	"weir/internal/store/postgres/pgtest"
)

// race sends calls at the same time, with the keys in turn, every other call as a stream. It returns how many were answered, and checks
// that all others were refused because the balance was too low.
func race(t *testing.T, keys []*apptest.Account, calls int, model, prompt string, tokens int) (answered int64) {
	t.Helper()
	var (
		all   sync.WaitGroup
		start = make(chan struct{})
		got   = make([]*apptest.Answer, calls)
	)
	for i := range calls {
		all.Go(func() {
			<-start
			got[i] = keys[i%len(keys)].Chat(t, map[string]any{"model": model, "stream": i%2 == 1, "max_tokens": tokens,
				"messages": []any{map[string]any{"role": "user", "content": prompt}}})
		})
	}
	close(start)
	all.Wait()
	for i, a := range got {
		switch a.Status {
		case http.StatusOK:
			a.WantComplete(t, i%2 == 1)
			answered++
		case http.StatusPaymentRequired:
			a.WantRefusedForMoney(t)
		default:
			t.Fatalf("status %d: %s", a.Status, a.Body)
		}
	}
	return answered
}

// heldFor returns the node's hold for a call of race.
func heldFor(t *testing.T, tokens int) money.Nano {
	t.Helper()
	return apptest.TestCost(t, 0, int64(tokens))
}

// Two hundred concurrent calls compete for the last rubles: exactly as many are answered as the balance allows, over both keys of the user.
func TestLastRuble(t *testing.T) {
	t.Parallel()
	t.Run("SQLite", func(t *testing.T) {
		t.Parallel()
		lastRuble(t, apptest.StartGateway(t, apptest.PatientUpstream), 20)
	})
	t.Run("PostgreSQL", func(t *testing.T) {
		t.Parallel()
		lastRuble(t, apptest.StartNodes(t, 1, pgtest.New(t), apptest.PatientUpstream)[0], 6) // two nodes, twenty races
	})
}

func lastRuble(t *testing.T, gw *apptest.Gateway, rounds int) {
	const tokens, calls = 50, 200
	if testing.Short() {
		rounds = 3
	}
	hold := heldFor(t, tokens)
	prompt := "[[sim tokens=" + strconv.Itoa(tokens) + "]] hello"
	before := gw.Sim.Stats().Total.Requests
	total := int64(0)
	for range rounds {
		amount := 1 + money.Nano(rand.Int64N(12*int64(hold)))
		k := int64(amount / hold)
		keys := gw.Open(t, apptest.Opening{Amount: amount, Keys: []*apikey.Limit{nil, nil}})
		if answered := race(t, keys, calls, "test/flat", prompt, tokens); answered != k {
			t.Errorf("%d calls were answered, there was money for %d", answered, k)
		}
		total += k
		c := keys[0].Credits(t)
		if got, want := apptest.Parse(t, c.Balance), amount%hold; got != want || c.Reserved != "0" {
			t.Errorf("left are %s, %s of it held; want %s", c.Balance, c.Reserved, want)
		}
	}
	if attempts := gw.Sim.Stats().Total.Requests - before; attempts != total {
		t.Errorf("%d attempts for %d answers", attempts, total)
	}
	t.Logf("%d rounds of %d calls, %d answered", rounds, calls, total)
	gw.WantBalanced(t)
}

// Answers that cost less than their hold may let others in later. But there are never more at the same time than the balance allows, and
// the balance stays above zero.
func TestLastRubleWithChange(t *testing.T) {
	t.Parallel()
	const tokens, k = 400, 5
	gw := apptest.StartGateway(t, apptest.PatientUpstream)
	a := gw.NewAccount(t)
	const prompt = "[[sim tokens=20 delay=100ms]] hello"
	probe := a.Chat(t, map[string]any{"model": "test/next", "max_tokens": tokens, "messages": []any{map[string]any{"role": "user", "content": prompt}}})
	hold := a.CallHold(t, probe)

	poor := gw.Open(t, apptest.Opening{Amount: k*hold + hold/2, Keys: []*apikey.Limit{nil, nil}})
	most, watched := gw.WatchOpen(t)
	answered := race(t, poor, 200, "test/next", prompt, tokens)
	watched()
	if answered < k {
		t.Errorf("%d calls were answered, there was money for %d", answered, k)
	}
	if *most > k {
		t.Errorf("%d calls ran at one time, there was money for %d", *most, k)
	}
	c := poor[1].Credits(t)
	if apptest.Parse(t, c.Balance) < 0 || c.Reserved != "0" {
		t.Errorf("balance %s, held %s", c.Balance, c.Reserved)
	}
	t.Logf("%d answered, at most %d at one time", answered, *most)
	gw.WantBalanced(t)
}

// A key's limit is as strict as the balance, also if the user has another key without a limit.
func TestKeyLimit(t *testing.T) {
	t.Parallel()
	apptest.WithinADay(t)
	const tokens, k = 50, 4
	gw := apptest.StartGateway(t, apptest.PatientUpstream)
	hold := heldFor(t, tokens)
	keys := gw.Open(t, apptest.Opening{Amount: 100 * hold, Keys: []*apikey.Limit{{Amount: k*hold + hold/2, Reset: apikey.Daily}, nil}})
	const prompt = "[[sim tokens=50]] hello"
	if answered := race(t, keys[:1], 100, "test/flat", prompt, tokens); answered != k {
		t.Errorf("%d calls were answered, the key may spend %d", answered, k)
	}
	if answered := race(t, keys[1:], 10, "test/flat", prompt, tokens); answered != 10 {
		t.Errorf("the other key was answered %d times of 10", answered)
	}
	got := keys[0].Do(t, http.MethodGet, "/v1/key", nil)
	if want := `"limit_remaining":` + (hold / 2).String(); !strings.Contains(string(got.Body), want) {
		t.Errorf("want %s in %s", want, got.Body)
	}
	if c := keys[0].Credits(t); apptest.Parse(t, c.TotalUsage) != (k+10)*hold || c.Reserved != "0" {
		t.Errorf("spent are %s, %s held; want %s", c.TotalUsage, c.Reserved, (k+10)*hold)
	}
	gw.WantBalanced(t)
}
