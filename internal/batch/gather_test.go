package batch

import (
	"testing"
	"time"
)

// A group is sent when no more lines come for it. Lines that are due again come, lines that are due later do not.
func TestGroupsWaitForLinesThatAreDue(t *testing.T) {
	now := time.Date(2026, 3, 4, 12, 0, 0, 0, time.UTC)
	s := &Service{began: now, cfg: Config{Now: func() time.Time { return now }}}
	for name, c := range map[string]struct {
		edit func(*running)
		sent bool
	}{
		"the file is read to its end": {func(*running) {}, true},
		"there are lines to read":     {func(r *running) { r.end = false }, false},
		"a line is under way":         {func(r *running) { r.busy = 1 }, false},
		"a line is due":               {func(r *running) { r.retry = []*Item{{due: now.Add(time.Minute)}, {due: now}} }, false},
		"a line is due later":         {func(r *running) { r.retry = []*Item{{due: now.Add(time.Nanosecond)}} }, true},
		"the batch is paused":         {func(r *running) { r.retry, r.pausedTo = []*Item{{due: now}}, now.Add(1) }, true},
		"the group has waited long": {func(r *running) {
			r.retry, r.groups["x"].since = []*Item{{due: now}}, now.Add(-gatherFor)
		}, true},
	} {
		r := &running{s: s, end: true, groups: map[string]*group{"x": {since: now}}}
		c.edit(r)
		if g := r.full(); (g != nil) != c.sent || (len(r.groups) == 0) != c.sent {
			t.Errorf("%s: the group is sent: %t", name, g != nil)
		}
	}
}
