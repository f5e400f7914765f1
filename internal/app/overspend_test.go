package app_test

import (
	"encoding/json"
	"math/rand/v2"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"weir/internal/apikey"
	"weir/internal/money"
	"weir/internal/store/postgres/pgtest"
)

// race sends calls at the same time, with the keys in turn, every other call as a stream. It returns how many were answered, and checks
// that all others were refused because the balance was too low.
func race(t *testing.T, keys []*account, calls int, model, prompt string, tokens int) (answered int64) {
	t.Helper()
	var (
		all   sync.WaitGroup
		start = make(chan struct{})
		got   = make([]*answer, calls)
	)
	for i := range calls {
		all.Go(func() {
			<-start
			got[i] = keys[i%len(keys)].chat(t, map[string]any{"model": model, "stream": i%2 == 1, "max_tokens": tokens,
				"messages": []any{map[string]any{"role": "user", "content": prompt}}})
		})
	}
	close(start)
	all.Wait()
	for i, a := range got {
		switch a.status {
		case http.StatusOK:
			a.wantComplete(t, i%2 == 1)
			answered++
		case http.StatusPaymentRequired:
			a.wantRefusedForMoney(t)
		default:
			t.Fatalf("status %d: %s", a.status, a.body)
		}
	}
	return answered
}

func (a *answer) wantRefusedForMoney(t *testing.T) {
	t.Helper()
	a.wantEnvelope(t)
	var e struct {
		Error struct {
			Metadata struct {
				Type                string `json:"error_type"`
				Required, Available string
			}
		}
	}
	err := json.Unmarshal(a.body, &e)
	m := e.Error.Metadata
	if err != nil || m.Type != "payment_required" || m.Required == "" || m.Available == "" ||
		parse(t, json.Number(m.Required)) <= max(0, parse(t, json.Number(m.Available))) {
		t.Errorf("the refusal must contain the required and the available amount: %s", a.body)
	}
}

// heldFor returns the node's hold for a call of race.
func heldFor(t *testing.T, tokens int) money.Nano { t.Helper(); return testCost(t, 0, int64(tokens)) }

// Two hundred concurrent calls compete for the last rubles: exactly as many are answered as the balance allows, over both keys of the user.
func TestLastRuble(t *testing.T) {
	t.Parallel()
	t.Run("SQLite", func(t *testing.T) {
		t.Parallel()
		lastRuble(t, startGateway(t, patientUpstream), 20)
	})
	t.Run("PostgreSQL", func(t *testing.T) {
		t.Parallel()
		lastRuble(t, startNodes(t, 1, pgtest.New(t), patientUpstream)[0], 6) // two nodes, twenty races
	})
}

func lastRuble(t *testing.T, gw *gateway, rounds int) {
	const tokens, calls = 50, 200
	if testing.Short() {
		rounds = 3
	}
	hold := heldFor(t, tokens)
	prompt := "[[sim tokens=" + strconv.Itoa(tokens) + "]] hello"
	before := gw.sim.Stats().Total.Requests
	total := int64(0)
	for range rounds {
		amount := 1 + money.Nano(rand.Int64N(12*int64(hold)))
		k := int64(amount / hold)
		keys := gw.open(t, opening{amount: amount, keys: []*apikey.Limit{nil, nil}})
		if answered := race(t, keys, calls, "test/flat", prompt, tokens); answered != k {
			t.Errorf("%d calls were answered, there was money for %d", answered, k)
		}
		total += k
		c := keys[0].credits(t)
		if got, want := parse(t, c.Balance), amount%hold; got != want || c.Reserved != "0" {
			t.Errorf("left are %s, %s of it held; want %s", c.Balance, c.Reserved, want)
		}
	}
	if attempts := gw.sim.Stats().Total.Requests - before; attempts != total {
		t.Errorf("%d attempts for %d answers", attempts, total)
	}
	t.Logf("%d rounds of %d calls, %d answered", rounds, calls, total)
	gw.wantBalanced(t)
}

// Answers that cost less than their hold may let others in later. But there are never more at the same time than the balance allows, and
// the balance stays above zero.
func TestLastRubleWithChange(t *testing.T) {
	t.Parallel()
	const tokens, k = 400, 5
	gw := startGateway(t, patientUpstream)
	a := gw.newAccount(t)
	const prompt = "[[sim tokens=20 delay=100ms]] hello"
	probe := a.chat(t, map[string]any{"model": "test/next", "max_tokens": tokens, "messages": []any{map[string]any{"role": "user", "content": prompt}}})
	hold := a.callHold(t, probe)

	poor := gw.open(t, opening{amount: k*hold + hold/2, keys: []*apikey.Limit{nil, nil}})
	most, watched := gw.watchOpen(t)
	answered := race(t, poor, 200, "test/next", prompt, tokens)
	watched()
	if answered < k {
		t.Errorf("%d calls were answered, there was money for %d", answered, k)
	}
	if *most > k {
		t.Errorf("%d calls ran at one time, there was money for %d", *most, k)
	}
	c := poor[1].credits(t)
	if parse(t, c.Balance) < 0 || c.Reserved != "0" {
		t.Errorf("balance %s, held %s", c.Balance, c.Reserved)
	}
	t.Logf("%d answered, at most %d at one time", answered, *most)
	gw.wantBalanced(t)
}

// watchOpen counts the open calls at the provider until stop is called; most is then the largest number.
func (gw *gateway) watchOpen(t *testing.T) (most *int64, stop func()) {
	t.Helper()
	most = new(int64)
	end, done := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(done)
		tick := time.NewTicker(time.Millisecond)
		defer tick.Stop()
		for {
			select {
			case <-end:
				return
			case <-tick.C:
				*most = max(*most, gw.sim.Stats().Total.Open)
			}
		}
	}()
	return most, func() { close(end); <-done }
}

// callHold returns the node's hold for an answered call.
func (a *account) callHold(t *testing.T, got *answer) money.Nano {
	t.Helper()
	var m struct{ ID string }
	if err := json.Unmarshal(got.body, &m); err != nil || got.status != http.StatusOK {
		t.Fatalf("status %d, %v: %s", got.status, err, got.body)
	}
	var c struct {
		Data struct{ Hold struct{ Amount string } }
	}
	call := a.do(t, http.MethodGet, "/api/calls/"+m.ID, nil)
	if err := json.Unmarshal(call.body, &c); err != nil || call.status != http.StatusOK {
		t.Fatalf("status %d, %v: %s", call.status, err, call.body)
	}
	return parse(t, json.Number(c.Data.Hold.Amount))
}

// A key's limit is as strict as the balance, also if the user has another key without a limit.
func TestKeyLimit(t *testing.T) {
	t.Parallel()
	const tokens, k = 50, 4
	gw := startGateway(t, patientUpstream)
	hold := heldFor(t, tokens)
	keys := gw.open(t, opening{amount: 100 * hold, keys: []*apikey.Limit{{Amount: k*hold + hold/2, Reset: apikey.Daily}, nil}})
	const prompt = "[[sim tokens=50]] hello"
	if answered := race(t, keys[:1], 100, "test/flat", prompt, tokens); answered != k {
		t.Errorf("%d calls were answered, the key may spend %d", answered, k)
	}
	if answered := race(t, keys[1:], 10, "test/flat", prompt, tokens); answered != 10 {
		t.Errorf("the other key was answered %d times of 10", answered)
	}
	got := keys[0].do(t, http.MethodGet, "/v1/key", nil)
	if want := `"limit_remaining":` + (hold / 2).String(); !strings.Contains(string(got.body), want) {
		t.Errorf("want %s in %s", want, got.body)
	}
	if c := keys[0].credits(t); parse(t, c.TotalUsage) != (k+10)*hold || c.Reserved != "0" {
		t.Errorf("spent are %s, %s held; want %s", c.TotalUsage, c.Reserved, (k+10)*hold)
	}
	gw.wantBalanced(t)
}
