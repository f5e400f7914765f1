package relay_test

import (
	"context"
	"math"
	"strings"
	"testing"

	"weir/internal/catalog"
	"weir/internal/completion"
	"weir/internal/fault"
	"weir/internal/money"
	"weir/internal/record"
	"weir/internal/relay"
	"weir/internal/usage"
)

// pieces are n texts of a word each, which our count finds a token in.
func pieces(n int) (s script) {
	for range n {
		s = append(s, text("word "))
	}
	return s
}

// Who hangs up before the last report pays for what came, and so does a call that its provider breaks off. The prompt has ten tokens as reported,
// an answer token costs a hundredth of a ruble; our count finds one token in a piece of text, of which there are 400, or as the gauge has it.
func TestCutAnswersAreCharged(t *testing.T) {
	t.Parallel()
	image := step{ev: &completion.Event{Images: []byte("[{}]"), ImageCount: 1}}
	audio := step{ev: &completion.Event{Audio: []byte(`{"data":"` + strings.Repeat("A", 320_000-11) + `"}`)}}
	broken := fails(fault.ProviderUnavailable, fault.Stop)
	for _, c := range []struct {
		name   string
		script script
		least  string // charged
		most   string
		source usage.Source
	}{
		{"the beginning reports one token", append(append(script{used(10, 1)}, pieces(400)...), broken), "2", "6", usage.Estimated},
		{"running reports", append(append(append(pieces(1), used(10, 1)), pieces(100)...), used(10, 300), text("x"), broken), "3.01", "3.01", usage.Reported},
		{"a later, lower report", append(pieces(3), used(10, 500), text("x"), used(10, 1), text("x"), broken), "5.01", "5.01", usage.Reported},
		{"a later, lower report at the end", append(pieces(3), used(10, 500), text("x"), finish(completion.Stop), used(10, 1), done()), "5.01", "5.01", usage.Reported},
		{"nothing, reported beside text", append(pieces(400), finish(completion.Stop), used(0, 0), done()), "2", "6", usage.Estimated},
		{"only at the beginning, and a proper end", append(append(script{used(10, 1)}, pieces(400)...), finish(completion.Stop), done()), "2", "6", usage.Estimated},
		{"hardly anything, at the end", append(pieces(400), finish(completion.Stop), used(10, 1), done()), "0.02", "0.02", usage.TooLow},
		{"sound, five seconds", script{audio, broken}, "1", "1.1", usage.Estimated},
		{"sound, five seconds, and no tokens reported", script{audio, used(10, 0), done()}, "1", "1.1", usage.Estimated},
		{"a picture by tokens", script{used(10, 2), image, broken}, "12.9", "13", usage.Estimated},
		{"a broken end with a report of all", append(pieces(400), finish(completion.Stop), used(10, 390), broken), "3.91", "3.91", usage.Reported},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, nil, offer("alpha", "v/m", "1", "10", limits(100_000, 50_000)))
			w.plays("alpha/v/m", c.script)
			call := w.call(streamed)
			_ = w.relay.Complete(t.Context(), call, &sink{})
			rec := w.settled(call)
			if rec == nil || rec.Cost < rubles(c.least) || rec.Cost > rubles(c.most) || rec.Usage.Source != c.source {
				t.Fatalf("%+v", rec)
			}
		})
	}
}

// A report of a billion tokens in the midst of a stream is held for in few steps, as far as the money goes, and not slice by slice.
func TestHugeReportsTakeFewSteps(t *testing.T) {
	t.Parallel()
	const slice = 50 // half a ruble
	for _, c := range []struct {
		name    string
		credit  money.Nano
		away    bool       // the store is
		ends    fault.Kind // 0: it does not
		steps   int
		charged [2]string // least, most
	}{
		{"with money for all", 100_000_000 * money.Ruble, false, 0, 3, [2]string{"9999999", "10000001"}},
		{"with money for some", 123_456 * money.Ruble, false, fault.PaymentRequired, 60, [2]string{"123455.5", "123456.5"}},
		{"with money for little", 3 * money.Ruble, false, fault.PaymentRequired, 60, [2]string{"2.5", "3.5"}},
		{"with a store that is away", 3 * money.Ruble, true, fault.StorageUnavailable, 2, [2]string{"0.5", "3.5"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, func(_ *relay.Deps, cfg *relay.Config) { cfg.SliceTokens, cfg.DefaultOutput = slice, 100 },
				offer("alpha", "v/m", "1", "10", limits(0, 0)))
			w.store.credit(wallet, c.credit)
			leave := does(func(context.Context) {
				if c.away {
					w.store.leave()
				}
			})
			w.plays("alpha/v/m", script{text("a"), leave, used(10, 999_999_999), text("b"), finish(completion.Stop), used(10, 999_999_999), done()})
			k := &keeper{}
			err := w.relay.Complete(t.Context(), w.call(streamed, func(c *relay.Call) { c.Request.MaxTokens = math.MaxInt64 }), k)
			if c.ends != 0 {
				wantKind(t, err, c.ends)
			} else if err != nil {
				t.Fatal(err)
			}
			steps := 0
			for _, entry := range k.log {
				if entry == "flush" {
					steps++
				}
			}
			if steps == 0 || steps > c.steps {
				t.Errorf("%d steps", steps)
			}
			if got := w.charged(); got < rubles(c.charged[0]) || got > rubles(c.charged[1]) {
				t.Errorf("charged %s", got)
			}
		})
	}
}

// No report is believed beyond what the call can consume, and the operator gets a log line.
func TestImplausibleReports(t *testing.T) {
	t.Parallel()
	of := usage.Of
	implausible := []int64{200_001, 999_999_999, 1_000_000_001, math.MaxInt64}
	for _, n := range implausible {
		for _, stream := range []bool{false, true} {
			var doubts []usage.Source
			w := newWorld(t, func(d *relay.Deps, _ *relay.Config) {
				d.Doubt = func(c *record.Call) { doubts = append(doubts, c.Usage.Source) }
			}, offer("alpha", "v/m", "1", "2", limits(100_000, 0), prices(func(p *catalog.Prices) { p.WebSearch, p.Request = price("1"), price("1") })))
			w.plays("alpha/v/m", script{text("a"), finish(completion.Stop), usedExactly(usage.Usage{Prompt: of(n), Completion: of(n), Reasoning: of(n), WebSearches: of(n), Requests: of(n)}), done()})
			call := w.call(func(c *relay.Call) { c.Request.Stream, c.Request.MaxTokens = stream, 16 })
			if err := w.relay.Complete(t.Context(), call, &sink{}); err != nil {
				t.Fatal(err)
			}
			w.wantCharged("1.042") // ten tokens of prompt, sixteen of answer, one request
			if len(doubts) != 1 || doubts[0] != usage.Capped {
				t.Errorf("doubts %v", doubts)
			}
		}
	}
}

// Where reasoning is not seen, its full bound is held; what is bounded by the request is held as far as that goes.
func TestSilentReasoningIsHeldFor(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name    string
		dialect string
		call    func(*completion.Request)
		want    string // held at first; a token costs a thousandth
	}{
		{"all that the offer gives", "openai", func(*completion.Request) {}, "60"},
		{"max_tokens", "openai", func(r *completion.Request) { r.MaxTokens = 10_000 }, "10"},
		{"switched off, if it is", "openai", func(r *completion.Request) { r.Reasoning.Disabled = true }, "60"},
		{"not asked for, where it must be", "anthropic", func(*completion.Request) {}, "0.1"},
		{"a budget", "anthropic", func(r *completion.Request) { r.Reasoning.Set, r.Reasoning.MaxTokens = true, 5000 }, "5.1"},
		{"an effort", "anthropic", func(r *completion.Request) { r.Reasoning.Set, r.Reasoning.Effort = true, "high" }, "60"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, func(_ *relay.Deps, cfg *relay.Config) { cfg.SliceTokens = 100 }, offer("alpha", "v/m", "0", "1", limits(100_000, 60_000)))
			for _, p := range w.snap.Providers {
				p.Quirks.ReasoningInSight, p.Dialect = false, c.dialect
			}
			w.plays("alpha/v/m", append(pieces(1), finish(completion.Stop), used(10, 1), done()))
			call := w.call(streamed, func(call *relay.Call) { c.call(call.Request) })
			if err := w.relay.Complete(t.Context(), call, &sink{}); err != nil || call.Record.Hold != rubles(c.want) {
				t.Errorf("held %s, %v; want %s", call.Record.Hold, err, c.want)
			}
		})
	}
}

// Sixty thousand unseen tokens take a wallet at most one slice below zero, whatever was known of the endpoint.
func TestHiddenTokensDoNotRunUpDebts(t *testing.T) {
	t.Parallel()
	const streams, slice = 30, 100
	w := newWorld(t, func(_ *relay.Deps, cfg *relay.Config) { cfg.SliceTokens = slice }, offer("alpha", "v/m", "0", "1", limits(100_000, 60_000)))
	w.store.credit(wallet, 20*money.Ruble)
	w.plays("alpha/v/m", append(pieces(5), finish(completion.Stop), used(10, 60_000), done()))
	for range streams {
		_ = w.relay.Complete(t.Context(), w.call(streamed), &sink{})
	}
	if debt := w.charged() - 20*money.Ruble; debt > slice*money.Ruble/1000 {
		t.Errorf("a debt of %s", debt)
	}
}

// Running reports of tokens that were not seen make the hold grow, and end the stream when it cannot.
func TestRunningReportsGrowTheHold(t *testing.T) {
	t.Parallel()
	w := newWorld(t, func(_ *relay.Deps, cfg *relay.Config) { cfg.SliceTokens = 100 }, offer("alpha", "v/m", "0", "1000", limits(100_000, 60_000)))
	w.store.credit(wallet, 1000*money.Ruble)
	var s script
	for i := range int64(200) {
		s = append(s, text("a"), used(10, 50*i))
	}
	w.plays("alpha/v/m", append(s, done()))
	call := w.call(streamed)
	wantKind(t, w.relay.Complete(t.Context(), call, &sink{}), fault.PaymentRequired)
	if got := w.charged(); got > 1100*money.Ruble || got < 900*money.Ruble {
		t.Errorf("charged %s", got)
	}
}

// A prompt that is held for by an upper bound is counted before a request is refused because of the balance.
func TestPromptIsCountedBeforeItIsRefused(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("word ", 1000) // 1001 tokens as our count has it
	for _, c := range []struct {
		balance string
		ok      bool
	}{{"3", true}, {"1", false}, {"0.3", false}} {
		w := newWorld(t, nil, offer("alpha", "v/m", "1", "1", limits(100_000, 100)))
		w.store.credit(wallet, rubles(c.balance))
		w.plays("alpha/v/m", whole("a", 1001, 1))
		call := w.call(func(call *relay.Call) {
			call.Request.Needs.PromptTokens, call.Request.Needs.Dense = 1700, 3
			call.PromptText = func(yield func([]byte) bool) { yield([]byte(long)) }
		})
		err := w.relay.Complete(t.Context(), call, &sink{})
		if c.ok {
			if err != nil {
				t.Error(err)
			}
			w.wantCharged("1.002")
			continue
		}
		if refused := wantKind(t, err, fault.PaymentRequired); refused.Details["available"] != c.balance {
			t.Errorf("%v", refused.Details)
		}
		w.wantCharged("0")
		w.wantAttempts()
	}
}
