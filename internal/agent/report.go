package agent

import (
	"context"
	"math"
	"sync"
	"time"

	"weir/internal/fault"
)

// Count is something that programs report of their sessions.
type Count int

// The counts. Times are milliseconds.
const (
	EditsAccepted Count = iota
	EditsRejected
	ToolsAccepted
	ToolsRejected
	LinesAdded
	LinesRemoved
	Commits
	PullRequests
	ActiveUser
	ActiveProgram
	Counts
)

// Report is what a program has said of one session: sums, and never a text of the session.
type Report struct {
	User    string // "usr_..."
	Session string // as in the records of its calls
	Client  string // name and version of the program, "" unknown
	FirstAt time.Time
	LastAt  time.Time
	Sums    [Counts]int64
}

// Reported is something that a program reports of a session now.
type Reported struct {
	Session, Client string
	Count           Count
	N               float64
	Since           bool // N is what was counted since the session began, and not since the last report
}

// Change is what is to be done to a report: Add is added, and what is less than Least becomes that.
type Change struct {
	User, Session, Client string
	At                    time.Time
	Add, Least            [Counts]int64
}

// Bounds of reports.
const (
	MaxSession = 256   // bytes of its id
	MaxReports = 2000  // of a user; those that were not added to for longest go first
	maxWaiting = 20000 // changes that wait for the store, of all users
	maxOfOne   = 200   // of one user
	mostCount  = 1e12  // more is no count
	KeepReport = 90 * 24 * time.Hour
)

// Reports keeps reports.
type Reports interface {
	// AddReports makes changes, and keeps most reports of each user. Those of users that are gone are dropped.
	AddReports(ctx context.Context, all []Change, most int) error
	// ReportOf finds the report of a session of a user. It fails with fault.NotFound.
	ReportOf(ctx context.Context, wallet, session string) (Report, error)
}

// Collector gathers what programs report, and writes it together: each program reports every few seconds. It is safe for concurrent use.
type Collector struct {
	store Reports
	now   func() time.Time

	mu      sync.Mutex
	waiting map[[2]string]*Change
	of      map[string]int // how many of a user wait
}

// NewCollector makes a Collector.
func NewCollector(s Reports, now func() time.Time) *Collector {
	return &Collector{store: s, now: now, waiting: map[[2]string]*Change{}, of: map[string]int{}}
}

// Add notes what a program of a user reports. What names no session, or is no count, is left out. It fails with fault.RateLimited when too many sessions
// are reported at once; nothing of all is noted then.
func (c *Collector) Add(user string, all []Reported) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	fresh := map[string]bool{}
	for i := range all {
		if all[i].valid() && c.waiting[[2]string{user, all[i].Session}] == nil {
			fresh[all[i].Session] = true
		}
	}
	if len(fresh) > 0 && (c.of[user]+len(fresh) > maxOfOne || len(c.waiting)+len(fresh) > maxWaiting) {
		e := fault.New(fault.RateLimited, "agent.Collector", "Too many sessions are reported at once. Try again in some seconds.")
		e.RetryAfter = 5 * time.Second
		return e
	}
	at := c.now().UTC().Truncate(time.Microsecond)
	since := map[string]*[Counts]int64{} // of this report: there is one for each of the metric's series
	for i := range all {
		r := &all[i]
		if !r.valid() {
			continue
		}
		key := [2]string{user, r.Session}
		w := c.waiting[key]
		if w == nil {
			w = &Change{User: user, Session: r.Session}
			c.waiting[key] = w
			c.of[user]++
		}
		w.At = at
		if r.Client != "" {
			w.Client = r.Client
		}
		n := int64(math.Round(r.N))
		if r.Since {
			if since[r.Session] == nil {
				since[r.Session] = new([Counts]int64)
			}
			since[r.Session][r.Count] += n
			w.Least[r.Count] = max(w.Least[r.Count], since[r.Session][r.Count])
		} else {
			w.Add[r.Count] += n
		}
	}
	return nil
}

func (r *Reported) valid() bool {
	return r.Session != "" && len(r.Session) <= MaxSession && r.N >= 0 && r.N <= mostCount // not a number is neither
}

// Flush writes what waits. What cannot be written waits on.
func (c *Collector) Flush(ctx context.Context) error {
	c.mu.Lock()
	taken, of := c.waiting, c.of
	c.waiting, c.of = map[[2]string]*Change{}, map[string]int{}
	c.mu.Unlock()
	if len(taken) == 0 {
		return nil
	}
	all := make([]Change, 0, len(taken))
	for _, w := range taken {
		all = append(all, *w)
	}
	err := c.store.AddReports(ctx, all, MaxReports)
	if err == nil {
		return nil
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	for key, w := range taken { // newer changes of the same sessions are put to them
		if newer := c.waiting[key]; newer != nil {
			for i := range w.Add {
				w.Add[i] += newer.Add[i]
				w.Least[i] = max(w.Least[i], newer.Least[i])
			}
			w.At = newer.At
			if newer.Client != "" {
				w.Client = newer.Client
			}
		}
	}
	for key, w := range c.waiting {
		if taken[key] == nil && len(taken) < maxWaiting {
			taken[key] = w
			of[key[0]]++
		}
	}
	c.waiting, c.of = taken, of
	return err
}

// ReportOf finds the report of a session of a user. It fails with fault.NotFound.
func (c *Collector) ReportOf(ctx context.Context, user, session string) (Report, error) {
	if err := c.Flush(ctx); err != nil {
		return Report{}, err
	}
	return c.store.ReportOf(ctx, user, session)
}
