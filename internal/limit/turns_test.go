package limit_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"
	"testing/synctest"

	"pgregory.net/rapid"

	"weir/internal/limit"
)

// A user with many questions waits for its own: another user's question comes next, however many of the first wait.
func TestTurnsAreFair(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		turns := limit.NewTurns(2, 1)
		for _, name := range []string{"greedy", "third"} {
			if err := turns.Enter(t.Context(), name); err != nil {
				t.Fatal(err)
			}
		}
		var mu sync.Mutex
		var served []string
		ask := func(name string) {
			go func() {
				if err := turns.Enter(t.Context(), name); err != nil {
					t.Error(err)
				}
				mu.Lock()
				served = append(served, name)
				mu.Unlock()
				turns.Leave(name)
			}()
			synctest.Wait()
		}
		for range 5 {
			ask("greedy")
		}
		if len(served) != 0 {
			t.Fatalf("one name has two places: %v", served)
		}
		ask("modest") // waits for a place, after five others
		turns.Leave("third")
		synctest.Wait()
		if !slices.Equal(served, []string{"modest"}) {
			t.Errorf("served were %v", served)
		}
		turns.Leave("greedy")
		synctest.Wait()
		if len(served) != 6 {
			t.Errorf("served were %v", served)
		}
	})
}

func TestTurnsEndWithTheContext(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		turns := limit.NewTurns(1, 1)
		if err := turns.Enter(t.Context(), "a"); err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan error)
		go func() { ended <- turns.Enter(ctx, "b") }()
		synctest.Wait()
		cancel()
		if err := <-ended; !errors.Is(err, context.Canceled) {
			t.Errorf("%v", err)
		}
		turns.Leave("a")
		if err := turns.Enter(t.Context(), "c"); err != nil { // the place was not lost
			t.Error(err)
		}
	})
}

// Whatever the order of questions, no more than the places are taken, none by more than its share, and no question waits while it could run.
func TestTurnsProperty(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		places := rapid.IntRange(1, 5).Draw(rt, "places")
		most := rapid.IntRange(1, places).Draw(rt, "most")
		steps := rapid.SliceOfN(rapid.IntRange(0, 9), 1, 60).Draw(rt, "steps")
		synctest.Test(t, func(t *testing.T) {
			turns := limit.NewTurns(places, most)
			var mu sync.Mutex
			taken, waiting := map[string]int{}, map[string]int{}
			for _, step := range steps {
				name := fmt.Sprint("user ", step%3)
				if step < 6 {
					waiting[name]++
					go func() {
						if err := turns.Enter(t.Context(), name); err != nil {
							return
						}
						mu.Lock()
						defer mu.Unlock()
						waiting[name]--
						taken[name]++
					}()
				} else if taken[name] > 0 {
					taken[name]--
					turns.Leave(name)
				}
				synctest.Wait()
				sum := 0
				for _, n := range taken {
					sum += n
					if n > most {
						rt.Fatalf("%v taken, of %d for one", taken, most)
					}
				}
				if sum > places {
					rt.Fatalf("%v taken, of %d", taken, places)
				}
				for name, n := range waiting {
					if n > 0 && sum < places && taken[name] < most {
						rt.Fatalf("%s waits, although only %v are taken", name, taken)
					}
				}
			}
		})
	})
}

func TestNamed(t *testing.T) {
	t.Parallel()
	type key struct{}
	parent, cancel := context.WithCancel(context.WithValue(context.Background(), key{}, "kept"))
	user := "usr_1"
	n := limit.For(parent, &user)
	below, stop := context.WithCancel(&n)
	defer stop()
	if limit.Name(below) != user || below.Value(key{}) != "kept" || limit.Name(parent) != "" {
		t.Errorf("%q %v %q", limit.Name(below), below.Value(key{}), limit.Name(parent))
	}
	cancel()
	if below.Err() == nil {
		t.Error("it does not end with its parent")
	}
}
