package relay_test

import (
	"testing"

	"weir/internal/catalog"
	"weir/internal/completion"
	"weir/internal/fault"
	"weir/internal/relay"
)

// signed is an answer with reasoning that its provider has signed.
func signed(signature string) script {
	return script{{ev: &completion.Event{Signature: signature, ReasoningDetails: []byte(`[]`)}}, text("b"), finish(completion.Stop), used(10, 5), done()}
}

// A conversation with signed reasoning goes back to the vendor that signed it, whatever else it could be matched by.
func TestSignaturesPull(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name   string
		second func(*relay.Call)
		want   string
	}{
		{"its own signature", func(c *relay.Call) { c.Request.Signature = "S" }, "beta"},
		{"another session", func(c *relay.Call) { c.Request.Signature, c.Request.SessionID = "S", "other" }, "beta"},
		{"another signature", func(c *relay.Call) { c.Request.Signature = "T" }, "alpha"},
		{"none", func(*relay.Call) {}, "alpha"},
		{"another wallet", func(c *relay.Call) {
			other := *c.Caller
			other.Wallet = "wal_2"
			c.Caller, c.Request.Signature = &other, "S"
		}, "alpha"},
		{"an order of providers", func(c *relay.Call) {
			c.Request.Signature, c.Request.Preferences.Order = "S", []string{"alpha"}
		}, "alpha"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			drawn := 0.99
			w := newWorld(t, func(d *relay.Deps, _ *relay.Config) { d.Rand = func() float64 { return drawn } },
				offer("alpha", "v/m", "1", "2"), offer("beta", "v/m", "1.1", "2"))
			w.store.credit("wal_2", rubles("10"))
			w.plays("alpha/v/m", whole("a", 10, 5))
			w.plays("beta/v/m", signed("S"))
			rec, err := w.complete(w.call())
			if err != nil || rec.Provider != "beta" {
				t.Fatalf("first: %v, served by %q", err, rec.Provider)
			}
			drawn = 0
			if rec, err = w.complete(w.call(c.second)); err != nil || rec.Provider != c.want {
				t.Errorf("second: %v, served by %q, want %q", err, rec.Provider, c.want)
			}
		})
	}
}

// The answer says which models of the list were passed over, in front of what the provider's wire left out.
func TestRetiredModelsAreNamed(t *testing.T) {
	t.Parallel()
	const passed = "Passed over because no provider serves it any more: v/gone."
	for own, want := range map[string]string{"": passed, "Left out.": passed + " Left out."} {
		w := newWorld(t, nil, offer("alpha", "v/m", "1", "2"))
		w.plays("alpha/v/m", append(script{head(completion.Head{Notice: own})}, whole("x", 10, 5)[1:]...))
		if rec, err := w.complete(w.call(models("v/gone", "v/m"))); err != nil || rec.Notice != want {
			t.Errorf("%v, notice %q, want %q", err, rec.Notice, want)
		}
	}
}

// Who refuses reasoning of earlier turns is asked once more without it, and once only; what is wrong with the request itself is final.
func TestRetryWithoutReasoning(t *testing.T) {
	t.Parallel()
	refuses := script{fails(fault.Invalid, fault.NextModel, status(400), func(e *fault.Error) { e.Upstream.RefusedReasoning = true })}
	invalid := script{fails(fault.Invalid, fault.NextModel, status(400))}
	for _, c := range []struct {
		name             string
		scripts          []script
		withoutReasoning []bool // of the attempts
		fails            bool
	}{
		{"it serves then", []script{refuses, append(script{head(completion.Head{Notice: "Left out."})}, whole("x", 10, 5)[1:]...)}, []bool{false, true}, false},
		{"it refuses again", []script{refuses, refuses, whole("x", 10, 5)}, []bool{false, true}, true},
		{"another mistake", []script{invalid, whole("x", 10, 5)}, []bool{false}, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, nil, offer("alpha", "v/m", "1", "2", func(*catalog.Offer) {}))
			w.plays("alpha/v/m", c.scripts...)
			call := w.call()
			rec, err := w.complete(call)
			if (err != nil) != c.fails || len(w.up.seen) != len(c.withoutReasoning) || call.Request.WithoutReasoning {
				t.Fatalf("%v, %d attempts", err, len(w.up.seen))
			}
			for i, want := range c.withoutReasoning {
				if got := w.up.seen[i].request.WithoutReasoning; got != want {
					t.Errorf("attempt %d without thoughts: %t", i, got)
				}
			}
			if !c.fails && rec.Notice != "Left out." {
				t.Errorf("the record's notice is %q", rec.Notice)
			}
		})
	}
}
