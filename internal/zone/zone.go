// Package zone says which day a moment belongs to for an account: days begin at midnight where the account is, and every hour of UTC belongs
// whole to the day in which it begins. It must not know what is counted by day.
package zone

import (
	"slices"
	"strings"
	"time"
	_ "time/tzdata" // machines without time zones have these

	"weir/internal/fault"
)

// Ahead is how long before it holds a change is known, so that every node has heard of it by then.
const Ahead = time.Hour

// Change is a time zone, and the hour from which days are counted in it.
type Change struct {
	Since time.Time
	Name  string // of the IANA database
	place *time.Location
}

// NewChange reads a change as it is kept. It fails with fault.Invalid when there is no such zone.
func NewChange(name string, since time.Time) (Change, error) {
	place, err := Load(name)
	return Change{since.UTC(), name, place}, err
}

// History is an account's changes of its time zone, oldest first. Before the first one days are those of UTC. A change is never
// taken back once it holds, so that a day that was reported stays what it was.
type History []Change

// Load is the place of a zone. It fails with fault.Invalid for a name that is not known.
func Load(name string) (*time.Location, error) {
	place, err := time.LoadLocation(name)
	if err != nil || name == "" || name == "Local" {
		shown := strings.ToValidUTF8(name[:min(len(name), 60)], "?")
		return nil, fault.Field("zone.Load", "timezone", "timezone must be the name of a time zone, such as Europe/Moscow or UTC, and %q is none.", shown).
			Coded("timezone_unknown", "timezone", shown)
	}
	return place, nil
}

// Local is what a clock in the account's zone shows when the hour that has t begins, written as a time of UTC: its date is the day of t.
func (h History) Local(t time.Time) time.Time {
	t = t.UTC().Truncate(time.Hour)
	i, found := slices.BinarySearchFunc(h, t, func(c Change, t time.Time) int { return c.Since.Compare(t) })
	if !found {
		i--
	}
	if i < 0 {
		return t
	}
	wall := t.In(h[i].place)
	return time.Date(wall.Year(), wall.Month(), wall.Day(), wall.Hour(), wall.Minute(), wall.Second(), 0, time.UTC)
}

// Day is the day of t, written as its midnight in UTC.
func (h History) Day(t time.Time) time.Time { return midnight(h.Local(t)) }

// Start is when a day, as Day writes it, begins: its first hour, or that of the next day if no hour has it.
func (h History) Start(day time.Time) time.Time {
	day = midnight(day.UTC())
	if len(h) == 0 {
		return day
	}
	const widest = 15 * time.Hour // between the clock of a zone and that of UTC, and an hour more
	t := day.Add(-widest)
	for h.Day(t).Before(day) && t.Before(day.Add(widest)) {
		t = t.Add(time.Hour)
	}
	return t
}

// Name is the zone that holds at t.
func (h History) Name(t time.Time) string {
	name := "UTC"
	for _, c := range h {
		if !c.Since.After(t) {
			name = c.Name
		}
	}
	return name
}

// Pending is the change that does not hold yet at t, if there is one.
func (h History) Pending(t time.Time) (Change, bool) {
	if n := len(h); n > 0 && h[n-1].Since.After(t) {
		return h[n-1], true
	}
	return Change{}, false
}

// Choose is the history with a zone that is wanted at now, from the first midnight there of which every node can hear; added is false when
// that zone holds then anyway. What was chosen before and holds within Ahead stays, since nodes count by it already; what holds later is
// replaced. It fails with fault.Invalid for a name that is not known, and where days would go back.
func (h History) Choose(name string, now time.Time) (all History, added bool, err error) {
	place, err := Load(name)
	if err != nil {
		return nil, false, err
	}
	heard := now.Add(Ahead)
	all = slices.Clone(h)
	for len(all) > 0 && !all[len(all)-1].Since.Before(heard) {
		all = all[:len(all)-1]
	}
	former := all.Name(heard)
	if former == name {
		return all, false, nil
	}
	alone := History{{Name: name, place: place}}
	day := alone.Day(heard.Add(-time.Nanosecond)).AddDate(0, 0, 1)
	since := alone.Start(day)
	if all.Day(since.Add(-time.Hour)).After(day) {
		return nil, false, fault.Field("zone.Choose", "timezone", "%s is a day behind %s. Choose UTC first, and this zone a day later.", name, former).
			Coded("timezone_behind", "timezone", name, "former", former)
	}
	return append(all, Change{since, name, place}), true, nil
}

func midnight(t time.Time) time.Time {
	return time.Date(t.Year(), t.Month(), t.Day(), 0, 0, 0, 0, time.UTC)
}
