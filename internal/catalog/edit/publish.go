package edit

import (
	"context"
	"errors"
	"maps"
	"slices"
	"strings"
	"time"

	"weir/internal/audit"
	"weir/internal/fault"
)

// PublishDraft puts the draft of that version into effect, at once or at a time. Without sure it fails with fault.Conflict for prices that
// are asked about.
func (e *Editor) PublishDraft(ctx context.Context, version int64, from time.Time, sure bool, by audit.Actor) (*Draft, error) {
	var published *Draft
	err := e.commit(ctx, func(s *State) (*Commit, error) {
		d, err := e.open(ctx, version)
		if err != nil {
			return nil, err
		}
		if d.ID == 0 {
			return nil, fault.New(fault.NotFound, "edit.Publish", "There is no draft.").Coded("no_draft")
		}
		p, err := e.preview(s, d)
		if err != nil {
			return nil, err
		}
		if len(p.Questions) > 0 && !sure {
			return nil, fault.Newf(fault.Conflict, "edit.Publish", "%d prices look wrong: a margin above 50 %%, a price below the provider's, or one that is free, ten times what it was or a tenth. Look at them, and publish with sure.", len(p.Questions)).
				Coded("prices_doubtful", "count", len(p.Questions))
		}
		if d.Prices.List != "" && d.Prices.Previous != s.Prices.List {
			return nil, fault.New(fault.Conflict, "edit.Publish", "Another price list has come into use since then: take the changes into the draft again.").Coded("list_moved")
		}
		now := e.now().UTC().Truncate(time.Microsecond)
		d.Version++
		d.Catalog, d.From, d.State, d.Actor, d.At = s.Version+1, from.UTC().Truncate(time.Microsecond), Scheduled, by.Name, now
		published = d
		if from.After(now) {
			return &Commit{Entry: d.entry(audit.PricesScheduled, by), Draft: d}, nil
		}
		d.From = now
		return s.publish(d, p.After, by), nil
	}, by)
	return published, err
}

// publish is the commit with which a draft takes effect. Endpoints that are gone or that the configuration declares are left out.
func (s *State) publish(d *Draft, built *Built, by audit.Actor) *Commit {
	out := *d
	out.State, out.Edits = Published, nil
	c := &Commit{Draft: &out}
	for _, x := range d.Edits {
		row := s.row(&x, d.Catalog, d.From)
		v := built.Endpoint(x.ID)
		if row == nil || v == nil || v.Origin == FromFile {
			continue
		}
		x.Before, x.After = nil, maps.Clone(row.Spec)
		if old := s.Row(Endpoint, x.ID); old != nil {
			x.Before = maps.Clone(old.Spec)
		}
		out.Edits = append(out.Edits, x)
		c.Rows = append(c.Rows, *row)
	}
	c.Entry = out.entry(audit.PricesPublished, by)
	if d.Prices.List == "" {
		return c
	}
	c.Prices = s.listed(d)
	out.Prices = c.Prices
	out.Prices.Data = nil // it is kept with the lists in use
	c.Kind, c.Before = PriceList, s.Prices.spec()
	maps.Copy(c.After, c.Prices.spec())
	return c
}

// enact stores the first publication that has taken effect, and reads the state again.
func (e *Editor) enact(ctx context.Context, s *State) error {
	for s.Due(e.now()) > 0 {
		d := s.Scheduled[0]
		built, err := e.builder.BuildCatalog(s, false)
		if err != nil {
			return err
		}
		c := s.publish(&d, built, audit.Actor{Name: d.Actor})
		c.Version, c.At = s.Version+1, e.now().UTC().Truncate(time.Microsecond)
		if err := e.store.CommitCatalog(ctx, *c, c.event()); err != nil {
			return err
		}
		if *s, err = e.store.CatalogState(ctx); err != nil {
			return err
		}
	}
	return nil
}

// Enact stores what was scheduled and has taken effect. Nodes serve it from its time on without this, from what they have read before.
func (e *Editor) Enact(ctx context.Context) error {
	err := e.commit(ctx, func(*State) (*Commit, error) { return nil, nil }, audit.Actor{})
	if errors.Is(err, ErrMoved) { // other nodes do it
		return nil
	}
	return err
}

// CancelPublication takes back a publication that has not taken effect.
func (e *Editor) CancelPublication(ctx context.Context, id int64, by audit.Actor) (*Draft, error) {
	var cancelled *Draft
	err := e.commit(ctx, func(s *State) (*Commit, error) {
		at := slices.IndexFunc(s.Scheduled, func(d Draft) bool { return d.ID == id })
		if at < 0 {
			if _, err := e.store.DraftByID(ctx, id); err != nil {
				return nil, err
			}
			return nil, fault.New(fault.Conflict, "edit.Cancel", "This publication has taken effect or was cancelled: revert it.").Coded("not_scheduled")
		}
		d := s.Scheduled[at]
		d.State = Cancelled
		cancelled = &d
		return &Commit{Entry: d.entry(audit.PricesCancelled, by), Draft: cancelled}, nil
	}, by)
	return cancelled, err
}

// RevertPublication makes a draft that gives the endpoints of a publication the fields that it changed as they were before.
func (e *Editor) RevertPublication(ctx context.Context, id int64, by audit.Actor) (*Draft, error) {
	p, err := e.store.DraftByID(ctx, id)
	if err != nil {
		return nil, err
	}
	if p.State != Published {
		return nil, fault.New(fault.Conflict, "edit.Revert", "Only what has taken effect can be reverted.").Coded("not_published")
	}
	if open, err := e.store.OpenDraft(ctx); err != nil || open != nil {
		if err == nil {
			err = fault.New(fault.Conflict, "edit.Revert", "There is a draft already: publish or discard it first.").Coded("draft_exists")
		}
		return nil, err
	}
	var back []Edit
	for _, x := range p.Edits {
		r := Edit{ID: x.ID, Set: Spec{}}
		was, is := Difference(x.Before, x.After)
		maps.Copy(r.Set, was)
		for _, name := range slices.Sorted(maps.Keys(is)) {
			if _, had := was[name]; !had {
				r.Unset = append(r.Unset, name)
			}
		}
		back = append(back, r)
	}
	s, err := e.store.CatalogState(ctx)
	if err != nil {
		return nil, err
	}
	built, err := e.builder.BuildCatalog(&s, false)
	if err != nil {
		return nil, err
	}
	back = slices.DeleteFunc(back, func(x Edit) bool { // what has left the catalog since
		v := built.Endpoint(x.ID)
		return v == nil || v.Origin == FromFile
	})
	d := &Draft{State: Open}
	if d.Prices, err = e.listBefore(ctx, &s, &p); err != nil {
		return nil, err
	}
	for i := range back {
		if err := e.intoDraft(d, built, &back[i]); err != nil {
			return nil, err
		}
	}
	d, err = e.keep(ctx, d, &s, by)
	if err == nil && d == nil {
		err = fault.New(fault.Conflict, "edit.Revert", "These prices have been reverted already.").Coded("reverted_already")
	}
	return d, err
}

// listBefore is the price list before a publication, if that of the publication is still in use; else the list stays.
func (e *Editor) listBefore(ctx context.Context, s *State, p *Draft) (Prices, error) {
	if p.Prices.List == "" || p.Prices.List != s.Prices.List {
		return Prices{}, nil
	}
	var old Prices
	if p.Prices.Previous != "" {
		data, err := e.store.PriceList(ctx, p.Prices.Previous)
		if err != nil {
			return old, err
		}
		old = Prices{List: p.Prices.Previous, Data: data}
	}
	old = e.lists.ListInUse(&old)
	old.Previous = s.Prices.List
	return old, nil
}

// Raise is prices that change by a percentage.
type Raise struct {
	Percent   string   // decimal text, such as 10 or -5
	Endpoints []string // ids; nil: all that are in use, of those that the next three name
	Provider  string   // "": of all
	Vendor    string   // "": of all
	Search    string   // only endpoints whose id contains this
}

// Matches reports whether an endpoint's id contains what is searched for.
func Matches(id, search string) bool {
	return strings.Contains(strings.ToLower(id), strings.ToLower(strings.TrimSpace(search)))
}
