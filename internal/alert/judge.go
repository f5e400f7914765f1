package alert

import (
	"time"
)

// How incidents begin and end.
const (
	settled   = 5 * time.Minute // that all must be well before an incident ends
	forgotten = time.Hour       // without a fact an incident ends after this: a node that restarts knows nothing of its past
	holds     = 2 * time.Minute // that a journal must lag
)

// Again is what lies between two messages of an incident that lasts.
const Again = 24 * time.Hour

// Change is what becomes of an incident. Messages are written where What is not "".
type Change struct {
	Incident
	What  What
	New   bool
	Since time.Time // SaidAt of the incident that it changes
}

// Judge says what the facts make of the incidents that last. hold remembers since when facts hold that must do so for a while before an
// incident begins; it belongs to the caller.
func Judge(open []Incident, rules []Rule, facts []Fact, hold map[string]time.Time, now time.Time) (changes []Change) {
	by := map[Kind]*Rule{}
	for i := range rules {
		by[rules[i].Kind] = &rules[i]
	}
	found := map[string]*Fact{}
	for i := range facts {
		found[key(facts[i].Kind, facts[i].Subject)] = &facts[i]
	}
	lasts := map[string]bool{}
	for i := range open {
		lasts[key(open[i].Kind, open[i].Subject)] = true
		f := found[key(open[i].Kind, open[i].Subject)]
		if c, any := follow(open[i], by[open[i].Kind], f, now); any {
			changes = append(changes, c)
		}
	}
	for k := range hold {
		if f := found[k]; f == nil || !f.Bad {
			delete(hold, k)
		}
	}
	for i := range facts {
		f := &facts[i]
		k := key(f.Kind, f.Subject)
		if !f.Bad || lasts[k] || !held(f, by[f.Kind], hold, now) {
			continue
		}
		c := Change{Incident: Incident{Kind: f.Kind, Subject: f.Subject, BeganAt: now, SeenAt: now, SaidAt: now}, What: Began, New: true}
		if !f.Since.IsZero() {
			c.BeganAt = f.Since
		}
		c.take(f, by[f.Kind])
		changes = append(changes, c)
	}
	return changes
}

func key(k Kind, subject string) string { return string(k) + " " + subject }

// held reports whether a fact has lasted as long as it must.
func held(f *Fact, r *Rule, hold map[string]time.Time, now time.Time) bool {
	needed := time.Duration(0)
	switch f.Kind {
	case Journal:
		needed = holds
	case Nodes:
		needed = time.Duration(r.Limit) * time.Minute
	case Ejected:
		if !byHand(f.Subject) {
			needed = time.Duration(r.Limit) * time.Minute
		}
	}
	k := key(f.Kind, f.Subject)
	since, known := hold[k]
	if !known {
		since = now
		if !f.Since.IsZero() {
			since = f.Since
		}
		hold[k] = since
	}
	return now.Sub(since) >= needed
}

func (i *Incident) take(f *Fact, r *Rule) {
	if i.Kind == Ejected { // what it does was measured when it began: soon nothing is left to measure
		i.Limit, i.Detail = r.Limit, f.Detail
		return
	}
	i.Value, i.Limit, i.Minutes, i.Failed, i.Calls, i.Detail = f.Value, r.Limit, r.Minutes, f.Failed, f.Calls, f.Detail
}

// follow says what becomes of an incident, and whether anything does.
func follow(i Incident, r *Rule, f *Fact, now time.Time) (Change, bool) {
	c := Change{Incident: i, Since: i.SaidAt}
	switch {
	case r == nil || !r.On:
		c.EndedAt, c.Why, c.What = now, Off, Over
	case f == nil && i.Kind == Ejected && byHand(i.Subject):
		c.EndedAt, c.Why, c.What = now, Fine, Over
	case f == nil && i.Kind == Ejected:
		return fine(c, now)
	case f == nil:
		if now.Sub(i.SeenAt) < forgotten {
			return c, false
		}
		c.EndedAt, c.Why, c.What = now, Quiet, Over
	case f.Bad:
		c.SeenAt, c.FineAt = now, time.Time{}
		c.take(f, r)
		if worse := c.Severity() == Critical && i.Severity() != Critical; worse || now.Sub(i.SaidAt) >= Again { // channels for what is critical hear of it only now
			c.SaidAt, c.What = now, Lasts
		}
	default:
		return fine(c, now)
	}
	return c, true
}

// fine ends an incident that has been well for long enough.
func fine(c Change, now time.Time) (Change, bool) {
	switch {
	case c.FineAt.IsZero():
		c.FineAt = now
	case now.Sub(c.FineAt) >= settled:
		c.EndedAt, c.Why, c.What = now, Fine, Over
	default:
		return c, false
	}
	return c, true
}

// perHour is how many messages a channel gets in an hour; what is beyond goes into one summary, for which messages are gathered for a while.
const (
	perHour = 10
	gather  = 5 * time.Minute
)

// Pick says which of the messages that wait for a channel are sent now, the oldest first: one, or all together as a summary when enough were
// sent within the hour, or none yet.
func Pick(waiting []Message, sent []time.Time, now time.Time) (take []Message, summary bool, next time.Time) {
	lately, oldest := 0, time.Time{}
	for _, at := range sent {
		if now.Sub(at) < time.Hour {
			lately++
			if oldest.IsZero() || at.Before(oldest) {
				oldest = at
			}
		}
	}
	switch {
	case len(waiting) == 0:
		return nil, false, time.Time{}
	case lately < perHour:
		return waiting[:1], false, time.Time{}
	case lately == perHour && now.Sub(waiting[0].At) < gather:
		return nil, false, waiting[0].At.Add(gather)
	case lately == perHour:
		return waiting, len(waiting) > 1, time.Time{}
	}
	return nil, false, oldest.Add(time.Hour)
}
