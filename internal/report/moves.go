package report

import (
	"cmp"
	"context"
	"slices"
	"time"

	"weir/internal/record"
)

// Move is calls that one endpoint could have served and that ended at another.
type Move struct {
	To     string // endpoint; "": none answered a call that this one was not tried for
	Failed int64  // calls that the first endpoint was tried for, in vain
	Passed int64  // calls that it was not tried for because of how it stood: ejected, out of service, or with as many attempts as it may have
	Last   time.Time
	Call   string // the generation of the last one
}

// Moves adds up moves from an endpoint.
type Moves struct {
	from string
	to   map[string]*Move
}

// MovesFrom begins to add up moves from an endpoint.
func MovesFrom(endpoint string) *Moves { return &Moves{endpoint, map[string]*Move{}} }

// Add counts a call if it moved. Attempts with the caller's own key have no part in it.
func (m *Moves) Add(c *record.Call) {
	if c.Endpoint == m.from {
		return
	}
	tried := slices.ContainsFunc(c.Attempts, func(a record.Attempt) bool { return a.Endpoint == m.from && a.OwnKey == "" && a.Reason != "" })
	passed := !tried && slices.ContainsFunc(c.Candidates, func(x record.Candidate) bool { return x.Endpoint == m.from && x.OwnKey == "" && x.PassedOver() })
	if !tried && !passed || c.Endpoint == "" && (tried || c.Cancelled) { // what ended here is a failure, and no move
		return
	}
	to := m.to[c.Endpoint]
	if to == nil {
		to = &Move{To: c.Endpoint}
		m.to[c.Endpoint] = to
	}
	if tried {
		to.Failed++
	} else {
		to.Passed++
	}
	if to.Call == "" || c.At.After(to.Last) {
		to.Last, to.Call = c.At, c.Generation
	}
}

// List are the moves, those with most calls first.
func (m *Moves) List() []Move {
	list := make([]Move, 0, len(m.to))
	for _, to := range m.to {
		list = append(list, *to)
	}
	slices.SortFunc(list, func(a, b Move) int {
		return cmp.Or(cmp.Compare(b.Failed+b.Passed, a.Failed+a.Passed), cmp.Compare(a.To, b.To))
	})
	return list
}

// mostMoved is how many records are looked at for moves: they are read whole, and only the newest of a busy gateway fit in 100 ms of a processor.
const mostMoved = 3_000

// Moves are the calls of some time that an endpoint could have served and that ended at others, and since when they were looked at: later than from
// where there were too many.
func (r *Reporter) Moves(ctx context.Context, endpoint string, from, to time.Time) (list []Move, since time.Time, err error) {
	if _, err = r.book.CatchUp(ctx); err != nil {
		return nil, from, err
	}
	m := MovesFrom(endpoint)
	since, err = r.store.CallsElsewhere(ctx, endpoint, from, to, mostMoved, m.Add)
	return m.List(), since, err
}
