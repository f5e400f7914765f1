package edit

import (
	"context"
	"slices"
	"strings"
	"time"

	"weir/internal/audit"
	"weir/internal/fault"
	"weir/internal/rate"
)

// Condition is what must hold of a row for a change of it. The zero Condition always holds.
type Condition struct {
	New     bool  // there is no such row yet
	Version int64 // the row has this version; 0: any
	Dry     bool  // the change is only checked
}

// Put is a row as a whole: a field that is not in Set is unset.
type Put struct {
	Kind Kind
	ID   string
	Set  Spec
	Key  *string // the provider's credential; nil: the one that it has stays, "": it has none
	Condition
}

// Outcome is what a Put did, or would do.
type Outcome string

// The outcomes.
const (
	Unchanged Outcome = "unchanged"
	Created   Outcome = "created"
	Changed   Outcome = "changed"
)

// Put makes a row what p says. If it is so already, nothing is written, and nothing is in the history. It fails as Change does, and with
// fault.Conflict when its condition does not hold.
func (e *Editor) Put(ctx context.Context, p Put, by audit.Actor) (built *Built, done Outcome, err error) {
	if err = e.acceptable(p.Kind, p.Set); err != nil {
		return nil, "", err
	}
	if p.Kind.beside() {
		return e.putBeside(ctx, &p, by)
	}
	err = e.commit(ctx, func(s *State) (*Commit, error) {
		old := s.Row(p.Kind, p.ID)
		if err := p.holds(p.Kind, p.ID, old); err != nil {
			return nil, err
		}
		before, _ := e.builder.BuildCatalog(s, false)
		origin, where := e.origin(before, p.Kind, p.ID)
		if origin == FromFile {
			return nil, ofFile(p.Kind, p.ID, where)
		}
		c, same, err := e.whole(&p, old, old == nil && !origin.given())
		if err != nil {
			return nil, err
		}
		if same {
			done = Unchanged
			built, err = e.builder.BuildCatalog(s, true)
			return nil, err
		}
		done = Changed
		if old == nil {
			done = Created
		}
		var commit *Commit
		if commit, built, err = e.decide(s, c, by); err != nil || p.Dry {
			return nil, err
		}
		return commit, nil
	}, by)
	return built, done, err
}

// holds fails with fault.Conflict unless the condition holds of a row, which is nil where there is none.
func (c *Condition) holds(k Kind, id string, row *Row) error {
	switch {
	case c.New && row != nil:
		return fault.Newf(fault.Conflict, "edit.Put", "There is a %s %q already.", k, id)
	case c.Version != 0 && row == nil:
		return fault.Newf(fault.Conflict, "edit.Put", "The %s %q was removed meanwhile.", k, id)
	case c.Version != 0 && row.Version != c.Version:
		return fault.Newf(fault.Conflict, "edit.Put", "The %s %q was changed meanwhile: it has version %d, not %d.", k, id, row.Version, c.Version)
	}
	return nil
}

// whole is the change that makes a row what p says, and whether the row is so already.
func (e *Editor) whole(p *Put, old *Row, create bool) (c *Change, same bool, err error) {
	c = &Change{Kind: p.Kind, ID: p.ID, Create: create, Set: p.Set.Plain(p.Kind), Key: p.Key}
	if p.Kind == Endpoint && !create {
		if err := c.keepIdentity(); err != nil {
			return nil, false, err
		}
	}
	has := Spec{}
	if old != nil {
		has = old.Spec
	}
	plain := has.Plain(p.Kind)
	for name := range has {
		is, stays := c.Set[name]
		switch {
		case !stays && (p.Kind != Endpoint || !slices.Contains(identity, name)):
			c.Unset = append(c.Unset, name)
		case stays && is == plain[name]:
			c.Set[name] = has[name] // as it was written
		}
	}
	was, is := Difference(plain, c.Set.Plain(p.Kind))
	for _, name := range identity {
		if p.Kind == Endpoint && !create {
			delete(was, name)
		}
	}
	return c, !create && len(was) == 0 && len(is) == 0 && e.sameKey(old, p.Key), nil
}

// keepIdentity takes the fields that name an endpoint out of a change of it, or fails when they name another.
func (c *Change) keepIdentity() error {
	named := Spec{}
	for _, name := range identity {
		if v, given := c.Set[name]; given {
			named[name] = v
			delete(c.Set, name)
		}
	}
	if len(named) > 0 && EndpointID(named) != c.ID {
		return fault.Newf(fault.Invalid, "edit.Put", "The endpoint's fields name %q, not %q.", EndpointID(named), c.ID)
	}
	return nil
}

// sameKey reports whether a row has the credential that a Put gives, alone or with others.
func (e *Editor) sameKey(old *Row, key *string) bool {
	if key == nil {
		return true
	}
	if old == nil || old.Keys == nil {
		return *key == ""
	}
	k := e.holding(old, *key)
	return k != nil && k.State == KeyInUse
}

// Plain is a spec in which what means the same is written in the same way, for comparing two of them.
func (s Spec) Plain(k Kind) Spec {
	out := make(Spec, len(s))
	for name, text := range s {
		switch FieldType(k, name) {
		case Decimal:
			text = PlainDecimal(text)
		case List:
			text = strings.Join(s.words(name), ",")
		case Duration:
			if d, err := time.ParseDuration(text); err == nil {
				text = d.String()
			}
		case Boolean:
			if name == "disabled" && text == "false" {
				continue
			}
		}
		out[name] = text
	}
	return out
}

// PlainDecimal is a decimal number without zeros that say nothing.
func PlainDecimal(text string) string {
	if strings.Contains(text, ".") {
		text = strings.TrimSuffix(strings.TrimRight(text, "0"), ".")
	}
	whole := strings.TrimLeft(text, "0")
	if text != "" && (whole == "" || whole[0] == '.') {
		return "0" + whole
	}
	return whole
}

// PutRate has a rate, a margin or both be what r says, from now on. What is set to that already is not set again: then nothing is written. It
// fails as SetRate does, and with fault.Conflict when its condition does not hold; the version of the rate is that of its newest record.
func (e *Editor) PutRate(ctx context.Context, r rate.Record, only Condition, by audit.Actor) (done Outcome, err error) {
	if err := e.settable(&r); err != nil {
		return "", err
	}
	err = e.commit(ctx, func(s *State) (*Commit, error) {
		if last := rateVersion(s.Rates); only.Version != 0 && only.Version != last || only.New && last != 0 {
			return nil, fault.Newf(fault.Conflict, "edit.PutRate", "The rate or the margin was changed meanwhile: it has version %d.", last)
		}
		rubPerUSD, margin := rate.SetByHand(s.Rates, e.now())
		next := r
		if next.RubPerUSD != "" && PlainDecimal(next.RubPerUSD) == PlainDecimal(rubPerUSD) {
			next.RubPerUSD = ""
		}
		if next.Margin != "" && PlainDecimal(next.Margin) == PlainDecimal(margin) {
			next.Margin = ""
		}
		if next.RubPerUSD == "" && next.Margin == "" {
			done = Unchanged
			return nil, nil
		}
		done = Changed
		c, err := e.rateCommit(s, next, by)
		if only.Dry {
			return nil, err
		}
		return c, err
	}, by)
	return done, err
}

// ByHand is what administrators have set of rate and margin, "" for what is not set by hand.
type ByHand struct {
	RubPerUSD, Margin string
	Version           int64         // of the newest record
	Ahead             []rate.Record // those that are not in effect yet
}

// ByHand returns what administrators have set of rate and margin.
func (e *Editor) ByHand(ctx context.Context) (h ByHand, err error) {
	records, err := e.Rates(ctx)
	now := e.now()
	h.RubPerUSD, h.Margin = rate.SetByHand(records, now)
	h.Version = rateVersion(records)
	for i := range records {
		if records[i].From.After(now) {
			h.Ahead = append(h.Ahead, records[i])
		}
	}
	return h, err
}

// rateVersion is the version of the newest record, 0 without any.
func rateVersion(records []rate.Record) int64 {
	if len(records) == 0 {
		return 0
	}
	return records[len(records)-1].Version
}
