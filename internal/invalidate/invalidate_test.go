package invalidate_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"

	"weir/internal/invalidate"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestParse(t *testing.T) {
	t.Parallel()
	for note, want := range map[string]invalidate.Hint{
		"keys usr_1":                        {Topic: invalidate.Keys, User: "usr_1"},
		"presets usr_1":                     {Topic: invalidate.Presets, User: "usr_1"},
		"provider_keys usr_1":               {Topic: invalidate.ProviderKeys, User: "usr_1"},
		"catalog":                           {Topic: invalidate.Catalog},
		"keys":                              {Topic: invalidate.Keys},
		"keys ":                             {Topic: invalidate.Keys},
		"keys a b":                          {Topic: invalidate.Keys},
		"keys \x00":                         {Topic: invalidate.Keys},
		"keys " + strings.Repeat("a", 65):   {Topic: invalidate.Keys},
		"keys " + strings.Repeat("a", 64):   {Topic: invalidate.Keys, User: strings.Repeat("a", 64)},
		"":                                  {},
		" keys":                             {},
		"disable usr_1":                     {},
		"KEYS usr_1":                        {},
		strings.Repeat("keys", 2000) + " a": {},
	} {
		got, ok := invalidate.Parse(note)
		if got != want || ok != (want != invalidate.Hint{}) {
			t.Errorf("%.40q: %v, %v", note, got, ok)
		}
		if again, ok := invalidate.Parse(got.String()); ok && again != got {
			t.Errorf("%v as text is %v", got, again)
		}
	}
}

func FuzzParse(f *testing.F) {
	f.Add("keys usr_1")
	f.Fuzz(func(t *testing.T, note string) {
		h, ok := invalidate.Parse(note)
		if again, same := invalidate.Parse(h.String()); ok != same || again != h {
			t.Errorf("%q is %v, and as text %v", note, h, again)
		}
	})
}

// source is a store whose connections end when told to, and collects what its Hearer does and logs.
type source struct {
	notes chan string // "cut" ends the connection

	mu    sync.Mutex
	dials int
	fail  error // of the next connections; nil: they are made
	acts  []string
	log   strings.Builder
}

func (s *source) Listen(ctx context.Context, joined func(), heard func(string)) error {
	s.mu.Lock()
	s.dials++
	err := s.fail
	s.mu.Unlock()
	if err != nil {
		return err
	}
	joined()
	for {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case note := <-s.notes:
			if note == "cut" {
				return errors.New("the connection is lost")
			}
			heard(note)
		}
	}
}

func (s *source) Write(line []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.log.Write(line)
}

func (s *source) failing(err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.fail = err
}

// soFar returns the number of connections, and what was logged.
func (s *source) soFar() (dials int, log string) {
	synctest.Wait()
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.dials, s.log.String()
}

// did returns what was done since the last call.
func (s *source) did() string {
	synctest.Wait()
	s.mu.Lock()
	defer s.mu.Unlock()
	all := strings.Join(s.acts, ", ")
	s.acts = nil
	return all
}

// hearing runs a Hearer in a bubble.
func hearing(t *testing.T, s *source) {
	h := invalidate.New(s, invalidate.Config{
		Pause: 100 * time.Millisecond, First: time.Second, Most: 8 * time.Second, Now: time.Now, Rand: func() float64 { return 0.5 },
		Log: slog.New(slog.NewTextHandler(s, nil)),
	}, func(topic invalidate.Topic, u invalidate.Users) {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.acts = append(s.acts, fmt.Sprintf("%s %t %t %t", topic, u.All, u.Has("usr_1"), u.Has("usr_2")))
	})
	h.Start()
	t.Cleanup(h.Stop)
}

const everything = "keys true true true, presets true true true, provider_keys true true true, budgets true true true, catalog true true true, stops true true true"

func pass(d time.Duration) { <-time.After(d) }

func TestHears(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := &source{notes: make(chan string)}
		hearing(t, s)
		want := func(what, want string) {
			t.Helper()
			if got := s.did(); got != want {
				t.Errorf("%s: %s; want %s", what, got, want)
			}
		}
		want("the first connection", everything)
		pass(time.Second)
		s.notes <- "keys usr_1"
		want("at once", "keys false true false")
		for range 10_000 {
			s.notes <- "keys usr_2"
			s.notes <- "presets usr_1"
			s.notes <- "what is this"
		}
		want("before the pause is over", "")
		pass(100 * time.Millisecond)
		want("a storm", "keys false false true, presets false true false")
		pass(time.Second)
		want("nothing is done twice", "")
		s.notes <- "keys usr_0"
		want("another", "keys false false false")
		for i := range 2000 {
			s.notes <- fmt.Sprint("keys many_", i)
		}
		pass(100 * time.Millisecond)
		want("more users than are remembered", "keys true true true")
		if _, log := s.soFar(); log != "" {
			t.Error(log)
		}
	})
}

func TestReconnects(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := &source{notes: make(chan string)}
		hearing(t, s)
		s.did()
		pass(time.Minute)
		s.failing(errors.New("nobody is there"))
		s.notes <- "cut"
		pass(time.Minute) // tries after 1, 2, 4, 8, 8, ... seconds
		dials, log := s.soFar()
		if did := s.did(); dials != 10 || did != "" {
			t.Errorf("%d connections, %s", dials, did)
		}
		if strings.Count(log, "sends no changes") != 1 {
			t.Error(log)
		}
		s.failing(nil)
		pass(8 * time.Second)
		if got := s.did(); got != everything {
			t.Errorf("when it is connected again: %s", got)
		}
		if _, log := s.soFar(); strings.Count(log, "sends changes again") != 1 {
			t.Error(log)
		}
		pass(time.Minute)
		before, _ := s.soFar()
		s.notes <- "cut"
		pass(time.Second)
		if dials, _ := s.soFar(); dials != before+1 {
			t.Errorf("%d connections a second after a good one was lost", dials-before)
		}
	})
}

// A store that tells nothing is not asked again, and nothing is logged.
func TestUnsupported(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := &source{fail: fmt.Errorf("listening: %w", errors.ErrUnsupported)}
		hearing(t, s)
		pass(time.Hour)
		if dials, log := s.soFar(); dials != 1 || s.did() != "" || log != "" {
			t.Errorf("%d connections, %s", dials, log)
		}
	})
}
