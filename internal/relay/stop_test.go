package relay_test

import (
	"context"
	"sync"
	"testing"

	"weir/internal/apikey"
	"weir/internal/fault"
	"weir/internal/relay"
)

// stops is a store of stops.
type stops struct {
	mu  sync.Mutex
	n   map[string]int64
	err error
}

func (s *stops) AddStop(_ context.Context, key string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.n[key]++
	return s.err
}

func (s *stops) KeyStops(context.Context) (all []relay.KeyStop, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for key, n := range s.n {
		all = append(all, relay.KeyStop{Key: key, N: n})
	}
	return all, s.err
}

// under are calls of a key that comes from others, or from none.
func under(key string, above ...string) func(*relay.Call) {
	return func(c *relay.Call) {
		of := *c.Caller
		of.Key = key
		for _, a := range above {
			of.Above = append(of.Above, apikey.Above{Key: a})
		}
		c.Caller = &of
	}
}

// A stop ends the calls of a key and of those that come from it, streams included, and no others. What was delivered is charged.
func TestStop(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name    string
		who     func(*relay.Call)
		stream  bool
		stopped bool
		charged string
	}{
		{"the key itself, streamed", under("key_2", "key_1", "key_0"), true, true, "0.01"},
		{"the key itself, whole", under("key_2", "key_1", "key_0"), false, true, "0"},
		{"a key below", under("key_3", "key_2", "key_1", "key_0"), true, true, "0.01"},
		{"a key far below", under("key_7", "key_6", "key_5", "key_4", "key_3", "key_2"), true, true, "0.01"},
		{"the key above", under("key_1", "key_0"), true, false, "0.02"},
		{"a key beside it", under("key_9", "key_1", "key_0"), true, false, "0.02"},
		{"no key", under(""), true, false, "0.02"},
	} {
		for _, far := range []bool{false, true} {
			t.Run(map[bool]string{false: "here: ", true: "on another node: "}[far]+c.name, func(t *testing.T) {
				t.Parallel()
				shared := &stops{n: map[string]int64{"key_2": 7}} // of before this node's start
				use := func(d *relay.Deps, _ *relay.Config) { d.Stops = shared }
				w, other := newWorld(t, use, market()...), newWorld(t, use, market()...)
				if err := w.relay.LookForStops(t.Context()); err != nil {
					t.Fatal(err)
				}
				w.plays("alpha/v/m", script{text("a b"), does(func(context.Context) {
					from := w
					if far {
						from = other
					}
					if err := from.relay.Stop(t.Context(), "key_2"); err != nil {
						t.Error(err)
					}
					if far {
						if err := w.relay.LookForStops(t.Context()); err != nil {
							t.Error(err)
						}
					}
				}), text("c"), used(10, 5), done()}, whole("a", 10, 5), whole("a", 10, 5))
				call := w.call(c.who)
				call.Request.Stream = c.stream
				err := w.relay.Complete(t.Context(), call, &sink{})
				w.wantAttempts("alpha/v/m")
				w.wantCharged(c.charged)
				if !c.stopped {
					if err != nil {
						t.Fatal(err)
					}
					return
				}
				wantKind(t, err, fault.PermissionDenied)
				if call.Record.Error != fault.PermissionDenied.String() || call.Record.Cancelled {
					t.Errorf("record %+v", call.Record)
				}
				// A call that begins now with what was known of the key before ends at once; later, and with other keys, calls go on.
				if err := w.relay.Complete(t.Context(), w.call(c.who), &sink{}); !fault.Is(err, fault.PermissionDenied) {
					t.Errorf("a call after the stop: %v", err)
				}
				w.wantAttempts("alpha/v/m")
				if err := w.relay.Complete(t.Context(), w.call(under("key_1")), &sink{}); err != nil {
					t.Error(err)
				}
				if err := w.relay.LookForStops(t.Context()); err != nil {
					t.Error(err)
				}
				w.clock.add(6e9)
				if err := w.relay.Complete(t.Context(), w.call(c.who), &sink{}); err != nil {
					t.Errorf("a call long after the stop: %v", err)
				}
			})
		}
	}
}

// A stop that other nodes may not hear of has happened here, and says so.
func TestStopWithoutStore(t *testing.T) {
	t.Parallel()
	shared := &stops{n: map[string]int64{}, err: fault.New(fault.StorageUnavailable, "test", "away")}
	w := newWorld(t, func(d *relay.Deps, _ *relay.Config) { d.Stops = shared }, market()...)
	w.plays("alpha/v/m", script{text("a b"), does(func(context.Context) {
		if err := w.relay.Stop(t.Context(), "key_2"); !fault.Is(err, fault.StorageUnavailable) {
			t.Error(err)
		}
	}), text("c"), done()})
	call := w.call(under("key_2"), streamed)
	wantKind(t, w.relay.Complete(t.Context(), call, &sink{}), fault.PermissionDenied)
	w.wantCharged("0.01")
}
