package storetest

import (
	"bytes"
	"context"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"weir/internal/idempotency"
	"weir/internal/store"
)

// Idempotency checks what a store does for requests that their clients have named. open gives an empty store, and closes it after the test.
func Idempotency(t *testing.T, open Open) {
	cases := map[string]func(*testing.T, *store.Store){
		"an answer comes back as stored": answerRoundTrip,
		"one of fifty begins":            fiftyBegin,
		"names belong to their user":     namesOfUsers,
		"an expired entry is replaced":   expiredIsReplaced,
		"a run that lost its name":       lostName,
		"a finished entry stays":         finishedStays,
		"the oldest are deleted":         oldestGo,
		"a sweep":                        sweepIdempotent,
	}
	for name, check := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			check(t, open(t, nil))
		})
	}
}

var wide = idempotency.Bounds{Entries: 1000, Bytes: 1 << 30}

func entry(name string, from time.Time) idempotency.Entry {
	return idempotency.Entry{User: "usr_1", Name: name, Hash: "hash of " + name, Generation: "gen-" + name, Owner: "node/1", CreatedAt: from, StaleAt: from.Add(time.Minute),
		ExpiresAt: from.Add(time.Hour)}
}

// begun begins an entry and fails when there is one.
func begun(t *testing.T, s *store.Store, e idempotency.Entry, b idempotency.Bounds) {
	t.Helper()
	if found, err := s.Pages.BeginIdempotent(t.Context(), e, b); err != nil || found != nil {
		t.Fatalf("Begin %s: found %+v, %v", e.Name, found, err)
	}
}

func finished(t *testing.T, s *store.Store, e idempotency.Entry, a idempotency.Answer, want bool) {
	t.Helper()
	if done, err := s.Pages.FinishIdempotent(t.Context(), e.User, e.Name, e.Generation, a); err != nil || done != want {
		t.Fatalf("Finish %s: %v, %v; want %v", e.Name, done, err, want)
	}
}

// lookUp is the entry of a name, nil when it is free; it stays free.
func lookUp(t *testing.T, s *store.Store, e idempotency.Entry) *idempotency.Entry {
	t.Helper()
	e.Generation = "probe"
	found, err := s.Pages.BeginIdempotent(t.Context(), e, wide)
	if err != nil {
		t.Fatal(err)
	}
	if found == nil {
		if err := s.Pages.DropIdempotent(t.Context(), e.User, e.Name, e.Generation); err != nil {
			t.Fatal(err)
		}
	}
	return found
}

func answerRoundTrip(t *testing.T, s *store.Store) {
	e := entry(strings.Repeat("~ ", 127)+"~", at)
	begun(t, s, e, wide)
	if d := cmp.Diff(&e, lookUp(t, s, e), wholeBytes); d != "" {
		t.Errorf("under way (-want +got):\n%s", d)
	}
	e.Finished, e.Answer = true, idempotency.Answer{Status: 422, Type: "text/plain; charset=utf-8", Body: bytes.Repeat([]byte{0, 0xff, 'x'}, 500_000)}
	finished(t, s, e, e.Answer, true)
	if d := cmp.Diff(&e, lookUp(t, s, e), wholeBytes); d != "" {
		t.Errorf("finished (-want +got):\n%.500s", d)
	}
}

func fiftyBegin(t *testing.T, s *store.Store) {
	var wg sync.WaitGroup
	var first atomic.Int64
	for i := range 50 {
		wg.Go(func() {
			e := entry("k", at)
			e.Generation = fmt.Sprint("gen-", i)
			found, err := s.Pages.BeginIdempotent(context.Background(), e, wide)
			if err != nil {
				t.Error(err)
			} else if found == nil {
				first.Add(1)
			}
		})
	}
	wg.Wait()
	if first.Load() != 1 {
		t.Errorf("%d began", first.Load())
	}
}

func namesOfUsers(t *testing.T, s *store.Store) {
	e := entry("k", at)
	begun(t, s, e, wide)
	e.User = "usr_2"
	begun(t, s, e, wide)
}

func expiredIsReplaced(t *testing.T, s *store.Store) {
	old := entry("k", at)
	begun(t, s, old, wide)
	finished(t, s, old, idempotency.Answer{Status: 200, Type: "a", Body: []byte("old")}, true)
	if found := lookUp(t, s, entry("k", at.Add(time.Hour-time.Microsecond))); found == nil {
		t.Error("it went too soon")
	}
	e := entry("k", at.Add(time.Hour))
	e.Generation = "gen-new"
	begun(t, s, e, wide)
	if d := cmp.Diff(&e, lookUp(t, s, e), wholeBytes); d != "" {
		t.Errorf("the new one (-want +got):\n%s", d)
	}
}

func lostName(t *testing.T, s *store.Store) {
	old := entry("k", at)
	begun(t, s, old, wide)
	if err := s.Pages.DropIdempotent(t.Context(), old.User, old.Name, old.Generation); err != nil {
		t.Fatal(err)
	}
	finished(t, s, old, idempotency.Answer{Status: 200}, false)
	e := entry("k", at)
	e.Generation = "gen-new"
	begun(t, s, e, wide)
	finished(t, s, old, idempotency.Answer{Status: 200}, false)
	if err := s.Pages.DropIdempotent(t.Context(), old.User, old.Name, old.Generation); err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(&e, lookUp(t, s, e), wholeBytes); d != "" {
		t.Errorf("the run that has the name (-want +got):\n%s", d)
	}
}

func finishedStays(t *testing.T, s *store.Store) {
	e := entry("k", at)
	begun(t, s, e, wide)
	finished(t, s, e, idempotency.Answer{Status: 200, Body: []byte("one")}, true)
	finished(t, s, e, idempotency.Answer{Status: 200, Body: []byte("two")}, false)
	if err := s.Pages.DropIdempotent(t.Context(), e.User, e.Name, e.Generation); err != nil {
		t.Fatal(err)
	}
	if found := lookUp(t, s, e); found == nil || string(found.Answer.Body) != "one" {
		t.Errorf("found %+v", found)
	}
}

func oldestGo(t *testing.T, s *store.Store) {
	for name, c := range map[string]struct {
		bounds idempotency.Bounds
		left   int // of 40 with ten bytes each; the first is under way for ever
	}{
		"by number": {idempotency.Bounds{Entries: 20, Bytes: 1 << 30}, 21},
		"by bytes":  {idempotency.Bounds{Entries: 1000, Bytes: 200}, 22},
		"not":       {wide, 40},
	} {
		for i := range 40 {
			e := entry(fmt.Sprint(i), at.Add(time.Duration(i)*time.Second))
			e.User = name
			begun(t, s, e, c.bounds)
			if i > 0 {
				finished(t, s, e, idempotency.Answer{Status: 200, Body: []byte("0123456789")}, true)
			}
		}
		kept := 0
		for i := range 40 {
			e := entry(fmt.Sprint(i), at.Add(time.Minute))
			e.User = name
			there := lookUp(t, s, e) != nil
			if there {
				kept++
			}
			if (i == 0 || i == 39) && !there {
				t.Errorf("%s: entry %d is gone", name, i)
			}
		}
		if kept > c.left || kept < c.left-3 {
			t.Errorf("%s: %d are kept; want about %d", name, kept, c.left)
		}
	}
}

func sweepIdempotent(t *testing.T, s *store.Store) {
	for i := range 10 {
		begun(t, s, entry(fmt.Sprint(i), at.Add(time.Duration(i)*time.Minute)), wide)
	}
	now := at.Add(time.Hour + 5*time.Minute) // the first five have expired before it
	for _, want := range []int{3, 2, 0} {
		if n, err := s.Pages.SweepIdempotent(t.Context(), now, 3); err != nil || n != want {
			t.Fatalf("swept %d, %v; want %d", n, err, want)
		}
	}
	if lookUp(t, s, entry("4", at)) != nil || lookUp(t, s, entry("5", at)) == nil {
		t.Error("the wrong ones were swept")
	}
}
