package h1_test

import (
	"context"
	"errors"
	"net"
	"net/netip"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"weir/internal/upstream/h1"
)

var one, two, six = netip.MustParseAddr("192.0.2.1"), netip.MustParseAddr("192.0.2.2"), netip.MustParseAddr("2001:db8::1")

// An address that changes takes effect within 30 seconds, however seldom it is asked for; one that cannot be asked for any more serves for
// five minutes; and a host is not asked for at each request.
func TestNames(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		answer, broken, asked := []netip.Addr{one}, error(nil), 0
		names := h1.NewNames(func(context.Context, string) ([]netip.Addr, error) {
			asked++
			return answer, broken
		}, nil)
		defer names.Close()
		want := func(when string, address netip.Addr, questions int) {
			t.Helper()
			got, err := names.Addresses(context.Background(), "acme.test")
			synctest.Wait()
			if address.IsValid() != (err == nil) || err == nil && !slices.Equal(got, []netip.Addr{address}) || asked != questions {
				t.Fatalf("%s: %v %v after %d questions, want %v after %d", when, got, err, asked, address, questions)
			}
		}
		want("first", one, 1)
		time.Sleep(14 * time.Second)
		want("fresh", one, 1)
		answer = []netip.Addr{two}
		time.Sleep(2 * time.Second)
		want("a question in the background", one, 2)
		want("its answer", two, 2)
		if names.Has("acme.test", netip.MustParseAddr("192.0.2.9")) || !names.Has("acme.test", two) || !names.Has("acme.test", one) {
			t.Error("what belongs to the host: the last answer, and for a moment the one before it")
		}
		time.Sleep(29 * time.Second)
		if names.Has("acme.test", one) || !names.Has("acme.test", two) {
			t.Error("the old address still belongs to the host")
		}
		synctest.Wait()
		answer = []netip.Addr{one}
		time.Sleep(time.Hour)
		asked = 0
		want("after a long silence", one, 1)
		broken = errors.New("no name server")
		time.Sleep(31 * time.Second)
		want("no answer", one, 2)
		want("not asked again at once", one, 2)
		time.Sleep(6 * time.Second)
		want("asked again", one, 3)
		if !names.Has("acme.test", two) {
			t.Error("without an answer every connection is as good as another")
		}
		time.Sleep(5 * time.Minute)
		want("too old", netip.Addr{}, 4)
		broken = nil
		time.Sleep(6 * time.Second)
		want("it is back", one, 5)
		if got, err := names.Addresses(context.Background(), "2001:db8::1"); err != nil || got[0] != six || asked != 5 {
			t.Errorf("an address as a name: %v %v", got, err)
		}
	})
}

// A name server that does not answer delays no call while an address is known.
func TestNamesHang(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		hangs := false
		names := h1.NewNames(func(ctx context.Context, _ string) ([]netip.Addr, error) {
			if hangs {
				<-ctx.Done()
				return nil, ctx.Err()
			}
			return []netip.Addr{one}, nil
		}, nil)
		defer names.Close()
		if _, err := names.Addresses(context.Background(), "acme.test"); err != nil {
			t.Fatal(err)
		}
		hangs = true
		time.Sleep(time.Minute)
		start := time.Now()
		if got, err := names.Addresses(context.Background(), "acme.test"); err != nil || got[0] != one || time.Since(start) != 2*time.Second {
			t.Errorf("%v %v after %v", got, err, time.Since(start))
		}
		ctx, cancel := context.WithTimeout(context.Background(), 3*time.Second)
		defer cancel()
		time.Sleep(10 * time.Minute)
		if _, err := names.Addresses(ctx, "acme.test"); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("%v", err)
		}
	})
}

// The first address that answers is used; the next one is tried when one fails, or in parallel to one that takes long.
func TestRace(t *testing.T) {
	t.Parallel()
	type outcome struct {
		after time.Duration
		fails bool
	}
	for _, tt := range []struct {
		name      string
		outcomes  []outcome
		winner    int // -1: none
		took      time.Duration
		attempted int
	}{
		{"the first", []outcome{{100 * time.Millisecond, false}, {0, false}}, 0, 100 * time.Millisecond, 1},
		{"the first fails", []outcome{{100 * time.Millisecond, true}, {50 * time.Millisecond, false}}, 1, 150 * time.Millisecond, 2},
		{"the first hangs", []outcome{{time.Hour, false}, {50 * time.Millisecond, false}}, 1, 350 * time.Millisecond, 2},
		{"the first is late, and yet first", []outcome{{400 * time.Millisecond, false}, {time.Hour, false}}, 0, 400 * time.Millisecond, 2},
		{"all fail", []outcome{{10 * time.Millisecond, true}, {10 * time.Millisecond, true}}, -1, 20 * time.Millisecond, 2},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				addresses, begun := []netip.Addr{one, two}, make([]bool, 2)
				start := time.Now()
				conn, peer, err := h1.Race(context.Background(), addresses, func(ctx context.Context, a netip.Addr) (net.Conn, error) {
					i := slices.Index(addresses, a)
					begun[i] = true
					select {
					case <-time.After(tt.outcomes[i].after):
					case <-ctx.Done():
						return nil, ctx.Err()
					}
					if tt.outcomes[i].fails {
						return nil, errors.New("refused")
					}
					return new(script), nil
				})
				if took := time.Since(start); took != tt.took || (err != nil) != (tt.winner < 0) {
					t.Errorf("%v after %v", err, took)
				}
				if err == nil && (conn == nil || peer != addresses[tt.winner]) {
					t.Errorf("%v won", peer)
				}
				synctest.Wait()
				if (tt.attempted == 2) != begun[1] {
					t.Errorf("tried %v", begun)
				}
			})
		})
	}
}

// A connection to an address that the host has no more is not used again once it is 30 seconds old.
func TestMovedHost(t *testing.T) {
	t.Parallel()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	go answerAll(l)
	_, port, _ := net.SplitHostPort(l.Addr().String())
	now := time.Now()
	clock := func() time.Time { return now }
	answer := netip.MustParseAddr("127.0.0.1")
	names := h1.NewNames(func(context.Context, string) ([]netip.Addr, error) { return []netip.Addr{answer}, nil }, clock)
	defer names.Close()
	host := newHost(h1.Config{Names: names, Now: clock}, "http", "acme.test:"+port)
	defer host.Close()
	for _, step := range []struct {
		name   string
		wait   time.Duration
		moves  bool
		reused bool
		fails  bool
	}{
		{name: "first"},
		{name: "soon after", wait: 10 * time.Second, reused: true},
		{name: "later", wait: 40 * time.Second, reused: true},
		{name: "moved", wait: 40 * time.Second, moves: true, fails: true},
	} {
		now = now.Add(step.wait)
		if step.moves {
			answer = netip.MustParseAddr("127.0.0.2") // the port is bound on one address and refuses on the others
		}
		head, _, err := send(host)
		if head.Reused != step.reused || (err != nil) != step.fails {
			t.Fatalf("%s: %+v %v", step.name, head, err)
		}
	}
}
