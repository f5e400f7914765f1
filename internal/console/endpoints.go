package console

import (
	"context"
	"time"

	"weir/internal/health"
)

// State is how an endpoint stands, of all nodes.
type State string

// The states.
const (
	Healthy  State = "healthy"
	Slow     State = "slow"     // it gets calls after others, fails, or is much slower than it was today
	Ejected  State = "ejected"  // some node sends it no calls
	Draining State = "draining" // an operator took it out of service, and calls are still running
	Off      State = "off"      // disabled, or taken out of service
)

// Standing is how an endpoint stands, and what it did.
type Standing struct {
	State     State
	Since     time.Time // when an ejection or an absence began, zero: not known
	Until     time.Time // when an ejection or an absence ends, zero: not known
	InFlight  int64
	Limited   float64       // attempts in a minute that its rate limit refused
	PerHour   float64       // calls that it served in an hour, of late
	OK        float64       // percent of the attempts of the last day that it served
	Tried     bool          // there were any
	First     time.Duration // median time to the first content, of late; 0: not measured
	SlowFirst time.Duration // 19 of 20 calls
	Ticks     [health.DayHours]Tick
}

// Tick is an hour of an endpoint.
type Tick struct{ Served, Failed int64 }

const (
	recentHours = 2  // hours that figures "of late" are of: the running one and the one before
	fewest      = 20 // calls below which a median says nothing
	slower      = 2  // how many times slower than in the whole day is slow
	slowest     = 500 * time.Millisecond
)

// Standings are those of the endpoints that were tried within a day, or stand otherwise than healthy, by their ids.
func (c *Console) Standings(ctx context.Context, nodes []Node, ids []string) (map[string]Standing, error) {
	day, _ := c.History.LastDay()
	late, since, err := c.History.Of(ctx, ids, recentHours)
	if err != nil {
		return nil, err
	}
	recent := map[string]*health.Hour{}
	for i := range late {
		if recent[late[i].Endpoint] == nil {
			recent[late[i].Endpoint] = &health.Hour{}
		}
		recent[late[i].Endpoint].Merge(&late[i])
	}
	hours := max(c.Now().Sub(since).Hours(), 1)
	out := make(map[string]Standing, len(ids))
	for _, id := range ids {
		s := Standing{State: Healthy}
		d, r := day[id], recent[id]
		if d != nil {
			s.OK, s.Tried = d.Whole.Uptime()
			for i := range d.Hours {
				s.Ticks[i] = Tick{d.Hours[i].Served, d.Hours[i].Failed}
			}
		}
		if r != nil {
			s.PerHour, s.First, s.SlowFirst = float64(r.Served)/hours, r.FirstContent(), r.SlowFirstContent()
		}
		if d != nil && r != nil && r.Served >= fewest && d.Whole.Served >= fewest && s.First >= slowest && s.First >= slower*d.Whole.FirstContent() {
			s.State = Slow
		}
		out[id] = s
	}
	for i := range nodes {
		for _, e := range nodes[i].Endpoints {
			s, asked := out[e.ID]
			if !asked {
				continue
			}
			s.InFlight += e.InFlight
			s.Limited += float64(e.Limited) / 5
			switch {
			case e.Ejected:
				s.State = Ejected
				if e.Until.After(s.Until) {
					s.Until = e.Until
				}
				if s.Since.IsZero() || !e.Since.IsZero() && e.Since.Before(s.Since) {
					s.Since = e.Since
				}
			case e.Slow && s.State == Healthy:
				s.State = Slow
			}
			out[e.ID] = s
		}
	}
	return out, nil
}

// Performance is what all nodes saw of an endpoint in the last hours, the running one among them, and since when.
func (c *Console) Performance(ctx context.Context, id string, hours int) (all health.Hour, from time.Time, err error) {
	each, from, err := c.History.Of(ctx, []string{id}, hours)
	for i := range each {
		all.Merge(&each[i])
	}
	return all, from, err
}
