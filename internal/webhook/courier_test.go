package webhook_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"

	"weir/internal/audit"
	"weir/internal/fault"
	"weir/internal/webhook"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// post is a Sender.
type post func(ctx context.Context, url string, header map[string]string, body []byte) (int, time.Duration, error)

func (p post) Post(ctx context.Context, url string, header map[string]string, body []byte) (int, time.Duration, error) {
	return p(ctx, url, header, body)
}

func status(n int) post {
	return func(context.Context, string, map[string]string, []byte) (int, time.Duration, error) { return n, 0, nil }
}

// fixture is a courier at work. It ends with stop.
type fixture struct {
	*webhook.Courier
	secrets *webhook.Secrets
	stop    func()

	mu       sync.Mutex
	reported []string
}

func open(t *testing.T, b *outbox, send post) *fixture {
	t.Helper()
	return openEvery(t, 2*time.Second, b, send)
}

// openEvery is open of a courier that looks into the outbox that often.
func openEvery(t *testing.T, poll time.Duration, b *outbox, send post) *fixture {
	t.Helper()
	o := &fixture{}
	o.secrets, _ = newSecrets("a", time.Now)
	o.Courier = webhook.NewCourier(b, o.secrets, send, webhook.Config{
		Now: time.Now, Chance: func() float64 { return 0 }, Timeout: 10 * time.Second, AtOnce: 4, Poll: poll, KeepFor: 48 * time.Hour,
		Report: func(what string, d webhook.Delivery, err error) {
			o.mu.Lock()
			defer o.mu.Unlock()
			o.reported = append(o.reported, fmt.Sprint(what, ": ", d.ID))
		},
	})
	o.Start()
	o.stop = o.Stop
	return o
}

func (o *fixture) reports() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return strings.Join(o.reported, "\n")
}

func event(id, account string) webhook.Delivery {
	return webhook.NewDelivery(id, account, "https://example.com/hook", "video.generation.completed", []byte(`{}`), time.Now())
}

func pass(d time.Duration) { <-time.After(d) }

// An attempt is signed with the account's secret, and a receiver that recomputes the signature finds it.
func TestDelivered(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		type call struct {
			url    string
			header map[string]string
			body   string
		}
		var calls []call
		b := newOutbox(event("vj_1-completed", "usr_1"))
		o := open(t, b, func(_ context.Context, url string, header map[string]string, body []byte) (int, time.Duration, error) {
			calls = append(calls, call{url, header, string(body)})
			return 204, 0, nil
		})
		begin := time.Now()
		pass(time.Minute)
		o.stop()
		if len(calls) != 1 {
			t.Fatalf("%+v", calls)
		}
		c := calls[0]
		want, err := webhook.Signature([]string{secretOf(t, o.secrets, "usr_1")}, "vj_1-completed", begin, []byte(c.body))
		if err != nil || c.header["webhook-signature"] != want || c.header["webhook-id"] != "vj_1-completed" || c.header["webhook-timestamp"] != fmt.Sprint(begin.Unix()) ||
			c.url != "https://example.com/hook" || !strings.HasPrefix(c.body, `{"type":"video.generation.completed",`) || len(c.header) != 3 {
			t.Errorf("%+v, want the signature %s (%v)", c, want, err)
		}
		if got, tried := b.outcome("vj_1-completed"); got.State != webhook.Delivered || got.Status != 204 || got.Error != "" || len(tried) != 1 {
			t.Errorf("%+v %v", got, tried)
		}
		if r := o.reports(); r != "" {
			t.Error(r)
		}
	})
}

func TestSignedWithBothSecretsForADay(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var signatures []int
		b := newOutbox(event("a", "usr_1"))
		o := openEvery(t, time.Minute, b, func(_ context.Context, _ string, header map[string]string, _ []byte) (int, time.Duration, error) {
			signatures = append(signatures, len(strings.Fields(header["webhook-signature"])))
			return 500, 0, nil
		})
		synctest.Wait()
		if _, err := o.secrets.Rotate(t.Context(), "usr_1", audit.Actor{}); err != nil {
			t.Fatal(err)
		}
		pass(48 * time.Hour)
		o.stop()
		if got := fmt.Sprint(signatures); got != "[1 2 2 2 2 2 2 1]" { // the last one a little more than a day later
			t.Errorf("signatures of each attempt: %s", got)
		}
	})
}

func TestJudgement(t *testing.T) {
	t.Parallel()
	day := []time.Duration{0, 5 * time.Second, 5*time.Minute + 5*time.Second}
	cases := map[string]struct {
		answers  []int // the last one goes on
		wait     time.Duration
		err      error
		state    webhook.State
		attempts int
		second   time.Duration // when the second attempt is made; 0: there is none
	}{
		"taken":                       {answers: []int{200}, state: webhook.Delivered, attempts: 1},
		"taken with another 2xx":      {answers: []int{299}, state: webhook.Delivered, attempts: 1},
		"gone":                        {answers: []int{410}, state: webhook.Failed, attempts: 1},
		"taken at last":               {answers: []int{500, 429, 200}, state: webhook.Delivered, attempts: 3, second: day[1]},
		"redirects are no success":    {answers: []int{307}, state: webhook.Failed, attempts: 8, second: day[1]},
		"refused for good":            {answers: []int{400}, state: webhook.Failed, attempts: 8, second: day[1]},
		"asks to be left alone":       {answers: []int{503, 200}, wait: time.Hour, state: webhook.Delivered, attempts: 2, second: time.Hour},
		"asks for nearly nothing":     {answers: []int{503, 200}, wait: time.Second, state: webhook.Delivered, attempts: 2, second: day[1]},
		"asks for too much":           {answers: []int{503, 200}, wait: 24 * time.Hour, state: webhook.Delivered, attempts: 2, second: 10 * time.Hour},
		"an address that is not ours": {err: fault.New(fault.Invalid, "test", "private"), state: webhook.Failed, attempts: 1},
		"nobody answers":              {err: errors.New("no route to host"), state: webhook.Failed, attempts: 8, second: day[1]},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				n := 0
				b := newOutbox(event("a", "usr_1"))
				begin := time.Now()
				const poll = time.Minute
				o := openEvery(t, poll, b, func(context.Context, string, map[string]string, []byte) (int, time.Duration, error) {
					if c.err != nil {
						return 0, 0, c.err
					}
					n++
					return c.answers[min(n, len(c.answers))-1], c.wait, nil
				})
				pass(36 * time.Hour)
				o.stop()
				got, tried := b.outcome("a")
				if got.State != c.state || len(tried) != c.attempts {
					t.Errorf("%+v after %v", got, tried)
				}
				if c.state == webhook.Failed && (got.Error == "" || !strings.Contains(o.reports(), "given up: a")) {
					t.Errorf("nobody is told: %+v, %q", got, o.reports())
				}
				if c.second != 0 {
					if at := tried[1].Sub(begin); at < c.second || at > c.second+poll {
						t.Errorf("tried again after %s, want %s", at, c.second)
					}
				}
				if c.attempts == 8 {
					if last := tried[7].Sub(begin); last < 24*time.Hour || last > 30*time.Hour {
						t.Errorf("given up after %s, want about a day", last)
					}
				}
			})
		})
	}
}

// A receiver that never answers is left after the timeout, and does not keep others waiting.
func TestSlowReceiver(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var all []webhook.Delivery
		for i := range 6 {
			all = append(all, event(fmt.Sprint("slow", i), "usr_1"))
			all[i].NextAt = all[i].NextAt.Add(-time.Duration(6 - i))
		}
		all = append(all, event("quick", "usr_2"))
		all[6].NextAt = time.Now().Add(time.Millisecond) // after them
		b := newOutbox(all...)
		var mu sync.Mutex
		under, most := 0, 0
		o := open(t, b, func(ctx context.Context, _ string, header map[string]string, _ []byte) (int, time.Duration, error) {
			if header["webhook-id"] == "quick" {
				return 200, 0, nil
			}
			mu.Lock()
			under++
			most = max(most, under)
			mu.Unlock()
			<-ctx.Done()
			mu.Lock()
			under--
			mu.Unlock()
			return 0, 0, ctx.Err()
		})
		pass(3 * time.Second)
		if got, _ := b.outcome("quick"); got.State != webhook.Delivered {
			t.Errorf("%+v", got)
		}
		pass(8 * time.Second)
		if got, _ := b.outcome("slow0"); got.State != webhook.Pending || got.Error == "" {
			t.Errorf("%+v", got)
		}
		pass(30 * time.Second)
		o.stop()
		if most != 2 {
			t.Errorf("%d attempts for one account at a time", most)
		}
	})
}

func TestWake(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := newOutbox()
		o := open(t, b, status(200))
		pass(time.Second)
		b.mu.Lock()
		b.rows["a"] = &row{d: event("a", "usr_1"), o: webhook.Outcome{State: webhook.Pending}}
		b.mu.Unlock()
		o.Wake()
		o.Wake()
		synctest.Wait()
		if got, _ := b.outcome("a"); got.State != webhook.Delivered {
			t.Errorf("%+v", got)
		}
		o.stop()
	})
}

// Stopping the courier waits for deliveries under way, whose outcome is kept.
func TestStop(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := newOutbox(event("a", "usr_1"))
		o := open(t, b, func(ctx context.Context, _ string, _ map[string]string, _ []byte) (int, time.Duration, error) {
			select {
			case <-time.After(3 * time.Second):
				return 200, 0, nil
			case <-ctx.Done():
				return 0, 0, ctx.Err()
			}
		})
		synctest.Wait()
		begin := time.Now()
		o.stop()
		if got, _ := b.outcome("a"); got.State != webhook.Delivered || time.Since(begin) != 3*time.Second {
			t.Errorf("%+v after %s", got, time.Since(begin))
		}
	})
}

// While the store is away nothing is sent; an outcome that could not be recorded is sent once more, under the same id, when the claim is over.
func TestStoreAway(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := newOutbox(event("a", "usr_1"))
		var n atomic.Int64
		o := open(t, b, func(context.Context, string, map[string]string, []byte) (int, time.Duration, error) {
			b.breaks(n.Add(1) == 1)
			return 200, 0, nil
		})
		pass(5 * time.Second)
		b.breaks(false)
		pass(30 * time.Second)
		if n.Load() != 1 {
			t.Errorf("%d attempts while the first claim holds", n.Load())
		}
		pass(10 * time.Second)
		o.stop()
		if got, tried := b.outcome("a"); got.State != webhook.Delivered || n.Load() != 2 || len(tried) != 2 {
			t.Errorf("%+v after %v", got, tried)
		}
		if r := o.reports(); !strings.Contains(r, "cannot be stored: a") || !strings.Contains(r, "cannot be read") {
			t.Error(r)
		}
	})
}

func TestSweep(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := newOutbox(event("a", "usr_1"))
		o := openEvery(t, time.Minute, b, status(200))
		pass(47 * time.Hour)
		if got, _ := b.outcome("a"); got.State != webhook.Delivered {
			t.Errorf("%+v", got)
		}
		pass(2 * time.Hour)
		if got, _ := b.outcome("a"); got.State != "" {
			t.Errorf("%+v is still there", got)
		}
		o.stop()
	})
}

// A node without the master key keeps the event until there is one.
func TestSecretNotToBeHad(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := newOutbox(event("a", "usr_1"))
		secrets, _ := newSecrets("", time.Now)
		c := webhook.NewCourier(b, secrets, status(200), webhook.Config{
			Now: time.Now, Chance: func() float64 { return 1 }, Timeout: 10 * time.Second, AtOnce: 1, Poll: 2 * time.Second, KeepFor: time.Hour,
			Report: func(string, webhook.Delivery, error) {},
		})
		c.Start()
		synctest.Wait()
		got, _ := b.outcome("a")
		if wait := time.Until(got.NextAt); got.State != webhook.Pending || wait != 5500*time.Millisecond || got.Status != 0 {
			t.Errorf("%+v, next in %s", got, wait)
		}
		c.Stop()
	})
}
