package liveupdates_test

import (
	"context"
	"errors"
	"slices"
	"strconv"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"weir/internal/liveupdates"
)

const (
	calls liveupdates.Topic = "calls"
	money liveupdates.Topic = "money"
)

// things are what a source reads.
type things struct {
	mu    sync.Mutex
	sums  map[liveupdates.Topic]uint64
	err   error
	reads int
}

func (s *things) read(_ context.Context, _ liveupdates.Account, t liveupdates.Topic) (liveupdates.Mark, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.reads++
	return liveupdates.Mark{Sum: s.sums[t], Data: []byte(strconv.FormatUint(s.sums[t], 10))}, s.err
}

func (s *things) set(t liveupdates.Topic, sum uint64, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.sums[t], s.err = sum, err
}

func start() (*things, *liveupdates.Watcher) {
	s := &things{sums: map[liveupdates.Topic]uint64{calls: 1, money: 1}}
	return s, liveupdates.New(s.read, liveupdates.Config{Every: time.Second, Within: time.Second, All: 3, Each: 2})
}

var ann, bob = liveupdates.Account{User: "ann", Wallet: "a"}, liveupdates.Account{User: "bob", Wallet: "b"}

func follow(t *testing.T, w *liveupdates.Watcher, a liveupdates.Account, seen map[liveupdates.Topic]uint64) *liveupdates.Follower {
	t.Helper()
	f, _, err := w.Follow(t.Context(), a, []liveupdates.Topic{calls, money}, seen)
	if err != nil {
		t.Fatal(err)
	}
	return f
}

func next(t *testing.T, f *liveupdates.Follower) (list []string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	all, err := f.Next(ctx)
	if err != nil && !errors.Is(err, context.DeadlineExceeded) {
		t.Fatal(err)
	}
	for _, c := range all {
		list = append(list, string(c.Topic)+" "+string(c.Data))
	}
	return list
}

func same(t *testing.T, got []string, want ...string) {
	t.Helper()
	if !slices.Equal(got, want) {
		t.Fatalf("changes are %q, want %q", got, want)
	}
}

func TestChangesReachEachFollowerOnce(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s, w := start()
		defer w.Close()
		one, two := follow(t, w, ann, nil), follow(t, w, ann, nil)
		same(t, next(t, one))
		s.set(calls, 2, nil)
		same(t, next(t, one), "calls 2")
		same(t, next(t, one))
		s.set(calls, 3, nil)
		time.Sleep(5 * time.Second)
		s.set(calls, 4, nil)
		s.set(money, 9, nil)
		time.Sleep(5 * time.Second)
		same(t, next(t, two), "calls 4", "money 9") // slow: all changes together
		one.Close()
		two.Close()
	})
}

func TestResumeTellsWhatWasMissed(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s, w := start()
		defer w.Close()
		s.set(calls, 7, nil)
		same(t, next(t, follow(t, w, ann, map[liveupdates.Topic]uint64{calls: 1, money: 1})), "calls 7")
		same(t, next(t, follow(t, w, ann, map[liveupdates.Topic]uint64{calls: 7})), "money 1") // a topic that it did not follow
	})
}

func TestFollowersAreBounded(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		_, w := start()
		defer w.Close()
		one := follow(t, w, ann, nil)
		follow(t, w, ann, nil)
		if _, _, err := w.Follow(t.Context(), ann, []liveupdates.Topic{calls}, nil); !errors.Is(err, liveupdates.ErrUser) {
			t.Fatalf("a third of one user: %v", err)
		}
		follow(t, w, bob, nil)
		if _, _, err := w.Follow(t.Context(), bob, []liveupdates.Topic{calls}, nil); !errors.Is(err, liveupdates.ErrFull) {
			t.Fatalf("a fourth: %v", err)
		}
		one.Close()
		one.Close() // twice is once
		follow(t, w, bob, nil)
		if n := w.Followers(); n != 3 {
			t.Fatalf("%d followers, want 3", n)
		}
	})
}

func TestFailuresAreSkipped(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s, w := start()
		defer w.Close()
		f := follow(t, w, ann, nil)
		s.set(calls, 2, errors.New("away"))
		same(t, next(t, f))
		if _, _, err := w.Follow(t.Context(), bob, []liveupdates.Topic{calls}, nil); err == nil || w.Followers() != 1 {
			t.Fatalf("who cannot be told the present state follows: %v, %d", err, w.Followers())
		}
		s.set(calls, 2, nil)
		same(t, next(t, f), "calls 2")
	})
}

func TestNobodyIsReadForNobody(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s, w := start()
		defer w.Close()
		f := follow(t, w, ann, nil)
		time.Sleep(3 * time.Second)
		f.Close()
		time.Sleep(2 * time.Second)
		s.mu.Lock()
		before := s.reads
		s.mu.Unlock()
		time.Sleep(time.Minute)
		s.mu.Lock()
		defer s.mu.Unlock()
		if s.reads != before {
			t.Fatalf("%d reads after the last follower had gone", s.reads-before)
		}
	})
}

func TestCloseEndsFollowers(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		_, w := start()
		f := follow(t, w, ann, nil)
		same(t, next(t, f))
		w.Close()
		w.Close()
		if _, err := f.Next(t.Context()); !errors.Is(err, liveupdates.ErrClosed) {
			t.Fatalf("Next after Close: %v", err)
		}
		if _, _, err := w.Follow(t.Context(), bob, []liveupdates.Topic{calls}, nil); !errors.Is(err, liveupdates.ErrClosed) {
			t.Fatalf("Follow after Close: %v", err)
		}
		f.Close()
		if n := w.Followers(); n != 0 {
			t.Fatalf("%d followers are left", n)
		}
	})
}
