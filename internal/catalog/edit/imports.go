package edit

import (
	"context"
	"slices"
	"strings"
	"time"

	"weir/internal/audit"
	"weir/internal/fault"
)

// Import is the price list that was made last of the public ones. It is not in use: parts of it are taken into a draft.
type Import struct {
	List    string // version of the list
	AsOf    string // its day
	At      time.Time
	Actor   string            // who had it made
	Notes   []string          // what happened to the public lists, one line each
	Sources map[string]string // by offer: which public lists its prices are from
	Differs int               // prices on which the public lists disagree
	Refused int               // ids that were left out
	Data    []byte
}

// Source is which public lists the prices of an offer are from, "" for one that they do not have.
func (i *Import) Source(offer string) string {
	parts := strings.SplitN(offer, " ", 3) // without its variant
	return i.Sources[strings.Join(parts[:min(2, len(parts))], " ")]
}

// Imports keeps the last import, for all nodes.
type Imports interface {
	// LastImport returns nil without one.
	LastImport(ctx context.Context) (*Import, error)
	// PutImport replaces the last one.
	PutImport(ctx context.Context, i *Import) error
}

// The kinds of changes between two price lists. An offer of which prices rise and others fall is a raised one.
const (
	ListNew     = "new"
	ListRaised  = "raised"
	ListLowered = "lowered"
	ListGone    = "gone"
	ListLimits  = "limits" // only lengths and facts differ, no price
)

// ListKinds are the kinds in the order in which they are shown.
var ListKinds = []string{ListNew, ListRaised, ListLowered, ListGone, ListLimits}

// ListChange is an offer that differs between two price lists.
type ListChange struct {
	Offer           string // its id: provider, id with that provider, and variant
	Kind            string
	Provider, Model string
	Prices          []ListPrice
}

// ListPrice is a price in dollars, a length in tokens, or a fact, such as the words of effort with commas, that differs. "" where a list has none.
type ListPrice struct{ Name, Old, New string }

// PriceLists reads price lists.
type PriceLists interface {
	// ListInUse is the list that a published one leaves in use: itself, or that of the program.
	ListInUse(p *Prices) Prices
	// CompareLists lists the offers that differ, by kind and then by name.
	CompareLists(before, after []byte) []ListChange
	// PickFromList makes a list of one in which some offers are as in another. It fails with fault.Invalid.
	PickFromList(from, to []byte, offers map[string]bool) (Prices, error)
}

// WithLists has the Editor take imports into drafts.
func (e *Editor) WithLists(l PriceLists) *Editor {
	e.lists = l
	return e
}

// LastImport is the last import, nil without one, and by what it differs from the list in use.
func (e *Editor) LastImport(ctx context.Context) (*Import, []ListChange, error) {
	i, err := e.store.LastImport(ctx)
	if err != nil || i == nil {
		return nil, nil, err
	}
	s, err := e.store.CatalogState(ctx)
	if err != nil {
		return nil, nil, err
	}
	return i, e.compared(&s, i), nil
}

func (e *Editor) compared(s *State, i *Import) []ListChange {
	now := s.PricesAt(e.now())
	inUse := e.lists.ListInUse(&now)
	return e.lists.CompareLists(inUse.Data, i.Data)
}

// Taken says of which changes of an import a draft, which may be nil, has them already.
func (e *Editor) Taken(d *Draft, i *Import, changes []ListChange) map[string]bool {
	if d == nil || d.Prices.List == "" {
		return nil
	}
	taken := map[string]bool{}
	for _, c := range changes {
		taken[c.Offer] = true
	}
	for _, c := range e.lists.CompareLists(d.Prices.Data, i.Data) {
		delete(taken, c.Offer)
	}
	return taken
}

// Take says which changes of the last import a draft takes.
type Take struct {
	Offers   []string // nil: all of the next ones
	Kind     string   // "": all kinds
	Search   string   // only offers whose id or model contains this
	Provider string   // only offers of it; "": of all
	Vendor   string   // only models of it
	Model    string   // only offers of it
}

// Chooses reports whether a change is taken.
func (t *Take) Chooses(c *ListChange) bool {
	if t.Offers != nil {
		return slices.Contains(t.Offers, c.Offer)
	}
	vendor, _, _ := strings.Cut(c.Model, "/")
	return (t.Kind == "" || t.Kind == c.Kind) && (t.Provider == "" || t.Provider == c.Provider) && (t.Vendor == "" || t.Vendor == vendor) && (t.Model == "" || t.Model == c.Model) && (Matches(c.Offer, t.Search) || Matches(c.Model, t.Search))
}

// TakeImport takes changes of the last import into the draft of that version, 0 where there is none.
func (e *Editor) TakeImport(ctx context.Context, version int64, t Take, by audit.Actor) (*Draft, error) {
	d, err := e.open(ctx, version)
	if err != nil {
		return nil, err
	}
	i, err := e.store.LastImport(ctx)
	if err != nil {
		return nil, err
	}
	if i == nil {
		return nil, fault.New(fault.NotFound, "edit.TakeImport", "No public price lists were fetched yet.").Coded("no_import")
	}
	s, err := e.store.CatalogState(ctx)
	if err != nil {
		return nil, err
	}
	chosen := map[string]bool{}
	for _, c := range e.compared(&s, i) {
		if t.Chooses(&c) {
			chosen[c.Offer] = true
		}
	}
	if len(chosen) == 0 {
		return nil, fault.New(fault.Invalid, "edit.TakeImport", "None of these offers differs from the price list in use.").Coded("take_nothing")
	}
	now := s.PricesAt(e.now())
	from := e.lists.ListInUse(&now)
	base := from.Data
	if d.Prices.List != "" && d.Prices.Previous == now.List {
		base = d.Prices.Data
	}
	picked, err := e.lists.PickFromList(base, i.Data, chosen)
	if err != nil {
		return nil, err
	}
	picked.Previous = now.List
	d.Prices = picked
	return e.keep(ctx, d, &s, by)
}

// LeaveImport takes the price list out of the draft of that version.
func (e *Editor) LeaveImport(ctx context.Context, version int64, by audit.Actor) (*Draft, error) {
	d, err := e.open(ctx, version)
	if err != nil || d.ID == 0 {
		return nil, err
	}
	s, err := e.store.CatalogState(ctx)
	if err != nil {
		return nil, err
	}
	d.Prices = Prices{}
	return e.keep(ctx, d, &s, by)
}
