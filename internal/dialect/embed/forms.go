package embed

import (
	"maps"
	"sync"
	"sync/atomic"
	"time"

	"weir/internal/dialect"
	"weir/internal/task"
	"weir/internal/vector"
)

// Forms chooses the form in which an endpoint is asked for vectors: the client's, so that they can be passed on as bytes. It remembers for a
// while which endpoints answer with numbers although base64 was asked for. The zero Forms is ready; it is safe for concurrent use.
type Forms struct {
	mu      sync.Mutex                           // for changes, which are rare
	numbers atomic.Pointer[map[string]time.Time] // until when, by endpoint; never changed
}

const (
	remembered = time.Hour
	maxForms   = 1024 // endpoints
)

// Packed reports whether to ask for base64.
func (f *Forms) Packed(ask dialect.Ask, t *task.Embedding) bool {
	if !t.Base64 || t.Numbers != "" { // base64 of other numbers than floats would be read as floats
		return false
	}
	known := f.numbers.Load()
	if known == nil {
		return true
	}
	until, is := (*known)[ask.Endpoint().ID]
	return !is || !ask.Now().Before(until)
}

// Answered takes note of what base64 was asked for.
func (f *Forms) Answered(ask dialect.Ask, packed bool, got []vector.Vector) {
	if !packed || len(got) == 0 || got[0].Packed() {
		return
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	now, next := ask.Now(), map[string]time.Time{}
	if known := f.numbers.Load(); known != nil && len(*known) < maxForms {
		next = maps.Clone(*known)
	}
	maps.DeleteFunc(next, func(_ string, until time.Time) bool { return !now.Before(until) })
	next[ask.Endpoint().ID] = now.Add(remembered)
	f.numbers.Store(&next)
}
