package edit

import (
	"context"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"weir/internal/audit"
	"weir/internal/fault"
)

// DraftState is what has become of a draft.
type DraftState string

// The states. An open draft is edited, and there is at most one; it becomes scheduled or published, a scheduled one published or cancelled.
const (
	Open      DraftState = "open"
	Scheduled DraftState = "scheduled"
	Published DraftState = "published"
	Cancelled DraftState = "cancelled"
)

// Draft is changes of endpoints, and another price list, that take effect together.
type Draft struct {
	ID      int64
	Version int64 // number of times that it was changed, so that an operator overwrites only what they have seen
	State   DraftState
	Actor   string // who changed it last
	At      time.Time
	From    time.Time // when it takes effect, zero while it is open
	Catalog int64     // version of the catalog that its rows have, 0 while it is open
	Edits   []Edit    // by ID
	Prices  Prices    // the price list that it brings, without its data once that is in use. List "": it leaves the list as it is
}

// Edit is a change of one endpoint.
type Edit struct {
	ID    string
	Set   Spec
	Unset []string
	Over  bool // the endpoint is built in: the row means nothing without it
	// What the row was, and what it became, once it is published. nil: there was none.
	Before, After Spec
}

// Drafts keeps drafts and publications.
type Drafts interface {
	// DraftByID fails with fault.NotFound.
	DraftByID(ctx context.Context, id int64) (Draft, error)
	// OpenDraft returns the draft that is being edited, nil without one.
	OpenDraft(ctx context.Context) (*Draft, error)
	// PutDraft stores an open draft of which it knows Version-1; version 1 is a new one, which gets its ID. It fails with fault.Conflict.
	PutDraft(ctx context.Context, d *Draft) error
	// DropDraft removes an open draft of that version. It fails with fault.Conflict.
	DropDraft(ctx context.Context, id, version int64) error
	// Publications lists what was scheduled or published before an id (0: all), the newest first.
	Publications(ctx context.Context, before int64, count int) ([]Draft, error)
}

// MaxEdits is how many endpoints a draft changes at most.
const MaxEdits = 5000

// edit finds the change of an endpoint, or nil.
func (d *Draft) edit(id string) *Edit {
	at, found := slices.BinarySearchFunc(d.Edits, id, func(e Edit, id string) int { return strings.Compare(e.ID, id) })
	if !found {
		return nil
	}
	return &d.Edits[at]
}

// Of is the change of an endpoint, or nil. d may be nil.
func (d *Draft) Of(id string) *Edit {
	if d == nil {
		return nil
	}
	return d.edit(id)
}

// put adds a change to the draft, over an earlier one of the same endpoint.
func (d *Draft) put(e Edit) {
	at, found := slices.BinarySearchFunc(d.Edits, e.ID, func(x Edit, id string) int { return strings.Compare(x.ID, id) })
	if !found {
		d.Edits = slices.Insert(d.Edits, at, e)
		return
	}
	old := &d.Edits[at]
	unset := slices.Concat(old.Unset, e.Unset)
	slices.Sort(unset)
	old.Set, old.Unset, old.Over = old.Set.merged(e.Set, e.Unset), slices.Compact(unset), e.Over
}

// drop takes the change of an endpoint out.
func (d *Draft) drop(id string) {
	d.Edits = slices.DeleteFunc(d.Edits, func(e Edit) bool { return e.ID == id })
}

// row is the endpoint's row with the change, nil where it means nothing: the endpoint is no longer in the database.
func (s *State) row(e *Edit, version int64, at time.Time) *Row {
	row := Row{Kind: Endpoint, ID: e.ID, Over: true}
	if old := s.Row(Endpoint, e.ID); old != nil {
		row = *old
	} else if !e.Over {
		return nil
	}
	row.Spec = row.Spec.merged(e.Set, e.Unset)
	row.Version, row.UpdatedAt = version, at
	return &row
}

// listed is the price list in use after a draft.
func (s *State) listed(d *Draft) Prices {
	if d.Prices.List == "" {
		return s.Prices
	}
	p := d.Prices
	p.Previous, p.Approved = s.Prices.List, p.List
	return p
}

// PricesAt is the price list that is in use at a time.
func (s *State) PricesAt(now time.Time) Prices {
	out := *s
	for i := range s.Scheduled {
		if d := &s.Scheduled[i]; !d.From.After(now) {
			out.Prices = out.listed(d)
		}
	}
	return out.Prices
}

// edited is the state with the changes of a draft.
func (s *State) edited(d *Draft, version int64, at time.Time) State {
	changed := map[string]*Row{}
	for i := range d.Edits {
		if row := s.row(&d.Edits[i], version, at); row != nil {
			changed[row.ID] = row
		}
	}
	out := *s
	out.Rows, out.Prices = nil, s.listed(d)
	for _, r := range s.Rows {
		if r.Kind != Endpoint || changed[r.ID] == nil {
			out.Rows = append(out.Rows, r)
		}
	}
	for _, id := range slices.Sorted(maps.Keys(changed)) {
		out.Rows = append(out.Rows, *changed[id])
	}
	return out
}

// Due is how many of the scheduled publications have taken effect.
func (s *State) Due(now time.Time) (n int) {
	for i := range s.Scheduled {
		if !s.Scheduled[i].From.After(now) {
			n++
		}
	}
	return n
}

// Next is when the next scheduled publication takes effect, zero without one.
func (s *State) Next(now time.Time) time.Time {
	for i := range s.Scheduled {
		if s.Scheduled[i].From.After(now) {
			return s.Scheduled[i].From
		}
	}
	return time.Time{}
}

// At is the state as it is served at a time: with the rows of what has taken effect, whether or not a node has stored them yet. Endpoints
// that the configuration declares meanwhile are left to it.
func (s *State) At(now time.Time, b *Base) *State {
	out := *s
	for i := range s.Scheduled {
		d := s.Scheduled[i]
		if d.From.After(now) {
			continue
		}
		d.Edits = slices.DeleteFunc(slices.Clone(d.Edits), func(e Edit) bool {
			_, declared := b.where(Endpoint, e.ID)
			return declared
		})
		out = out.edited(&d, d.Catalog, d.From)
	}
	return &out
}

func draftMoved() error {
	return fault.New(fault.Conflict, "edit.Draft", "Somebody else has changed the draft since then: load it again.").Coded("draft_moved")
}

// open returns the draft to change: the open one if it has that version, or a new one where there is none and version is 0.
func (e *Editor) open(ctx context.Context, version int64) (*Draft, error) {
	d, err := e.store.OpenDraft(ctx)
	switch {
	case err != nil:
		return nil, err
	case d == nil && version == 0:
		return &Draft{State: Open}, nil
	case d == nil || d.Version != version:
		return nil, draftMoved()
	}
	return d, nil
}

// Draft returns the draft that is being edited, nil without one.
func (e *Editor) Draft(ctx context.Context) (*Draft, error) { return e.store.OpenDraft(ctx) }

// EditDraft adds changes to the draft of that version, 0 where there is none. A change of nothing takes the endpoint out of the draft. It
// fails with fault.Conflict when somebody else has changed the draft, or the configuration owns an endpoint, and as Change does.
func (e *Editor) EditDraft(ctx context.Context, version int64, edits []Edit, by audit.Actor) (*Draft, error) {
	d, err := e.open(ctx, version)
	if err != nil {
		return nil, err
	}
	s, err := e.store.CatalogState(ctx)
	if err != nil {
		return nil, err
	}
	listed := s
	listed.Prices = s.listed(d)
	before, err := e.builder.BuildCatalog(&listed, false)
	if err != nil {
		return nil, err
	}
	for i := range edits {
		if err := e.intoDraft(d, before, &edits[i]); err != nil {
			return nil, err
		}
	}
	return e.keep(ctx, d, &s, by)
}

func (e *Editor) intoDraft(d *Draft, before *Built, x *Edit) error {
	if len(x.Set) == 0 && len(x.Unset) == 0 {
		d.drop(x.ID)
		return nil
	}
	v := before.Endpoint(x.ID)
	switch {
	case v == nil:
		return fault.Newf(fault.NotFound, "edit.Draft", "There is no endpoint %q.", clip(x.ID)).Coded("no_endpoint", "id", clip(x.ID))
	case v.Origin == FromFile:
		return fault.Newf(fault.Conflict, "edit.Draft", "The endpoint %q is declared at %s: change it there.", x.ID, v.Where).Coded("endpoint_of_file", "id", x.ID, "where", v.Where)
	}
	if err := x.Set.Check(Endpoint); err != nil {
		return err
	}
	for _, name := range slices.Concat(slices.Sorted(maps.Keys(x.Set)), x.Unset) {
		if slices.Contains(identity, name) || FieldType(Endpoint, name) == None && !IsGroup(Endpoint, name) {
			return fault.Field("edit.Draft", clip(name), "%s cannot be changed in a draft.", clip(name)).Coded("not_in_draft", "name", clip(name))
		}
	}
	if len(d.Edits) >= MaxEdits && d.edit(x.ID) == nil {
		return fault.Newf(fault.Invalid, "edit.Draft", "A draft changes at most %d endpoints.", MaxEdits).Coded("draft_full", "most", MaxEdits)
	}
	x.Over = v.Origin.given()
	d.put(*x)
	return nil
}

// keep stores a draft, without what changes nothing, if the catalog builds with it. A draft of nothing is removed.
func (e *Editor) keep(ctx context.Context, d *Draft, s *State, by audit.Actor) (*Draft, error) {
	d.Edits = slices.DeleteFunc(d.Edits, func(x Edit) bool {
		old, row := s.Row(Endpoint, x.ID), s.row(&x, 0, time.Time{})
		return row == nil || old == nil && len(row.Spec) == 0 || old != nil && maps.Equal(old.Spec, row.Spec)
	})
	if now := s.PricesAt(e.now()); d.Prices.List != "" && d.Prices.List == e.lists.ListInUse(&now).List {
		d.Prices = Prices{}
	}
	if len(d.Edits) == 0 && d.Prices.List == "" {
		if d.ID == 0 {
			return nil, nil
		}
		return nil, e.store.DropDraft(ctx, d.ID, d.Version)
	}
	after := s.edited(d, s.Version+1, e.now())
	if _, err := e.builder.BuildCatalog(&after, false); err != nil {
		return nil, err
	}
	d.Version++
	d.Actor, d.At = by.Name, e.now().UTC().Truncate(time.Microsecond)
	return d, e.store.PutDraft(ctx, d)
}

// DropDraft forgets the draft of that version.
func (e *Editor) DropDraft(ctx context.Context, version int64) error {
	d, err := e.open(ctx, version)
	if err != nil || d.ID == 0 {
		return err
	}
	return e.store.DropDraft(ctx, d.ID, version)
}

// Publications lists what was scheduled or published before an id (0: all), the newest first.
func (e *Editor) Publications(ctx context.Context, before int64, count int) ([]Draft, error) {
	return e.store.Publications(ctx, before, count)
}

// entry is what the history and the audit log say of a publication.
func (d *Draft) entry(action string, by audit.Actor) Entry {
	after := Spec{"endpoints": strconv.Itoa(len(d.Edits)), "from": d.From.UTC().Format(time.RFC3339Nano)}
	if d.Prices.List != "" {
		after["list"] = d.Prices.List
	}
	return Entry{Kind: Publication, ID: strconv.FormatInt(d.ID, 10), Action: action, Actor: by, After: after}
}
