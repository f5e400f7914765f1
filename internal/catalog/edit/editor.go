package edit

import (
	"cmp"
	"context"
	"errors"
	"maps"
	"slices"
	"strings"
	"time"

	"weir/internal/audit"
	"weir/internal/catalog"
	"weir/internal/fault"
	"weir/internal/outbound"
	"weir/internal/rate"
	"weir/internal/seal"
)

// Entry is one change in the history. Its number is the version of the catalog that it made.
type Entry struct {
	Version int64
	At      time.Time
	audit.Actor
	Action string // an action of the audit log
	Kind   Kind
	ID     string
	Before Spec // nil: there was no row
	After  Spec // nil: deleted
}

// Commit is one change as a store keeps it: the entry, and the row that it makes. Without one the row is removed; a rate has none, nor has a
// price list, which is kept apart. A publication has any number of rows, and the draft that it is made of.
type Commit struct {
	Entry
	Row    *Row
	Prices Prices
	Rows   []Row
	Draft  *Draft
}

// ErrMoved is the cause of a Commit that failed because another was faster: load the state and decide again.
var ErrMoved = errors.New("the catalog was changed by somebody else in the same moment")

// Store keeps rows, rates and history.
type Store interface {
	// CatalogVersion is the number of changes so far. Nodes ask it every two seconds.
	CatalogVersion(ctx context.Context) (int64, error)
	// CatalogState is everything at one moment.
	CatalogState(ctx context.Context) (State, error)
	// CommitCatalog makes one change with its entry and its audit row, in one transaction. It fails with fault.Conflict because of
	// ErrMoved unless c.Version is one above the current version.
	CommitCatalog(ctx context.Context, c Commit, e audit.Event) error
	// CatalogHistory lists changes before a version (0: all), the newest first.
	CatalogHistory(ctx context.Context, before int64, count int) ([]Entry, error)
	// PriceList is a list that the last Prices names, or nil.
	PriceList(ctx context.Context, version string) ([]byte, error)
	Drafts
	Imports
	FoundLists
}

// Builder makes the catalog that a state would give.
type Builder interface {
	// BuildCatalog fails as Build does. Serving reports whether the catalog is to be used: then a provider without its credential is left out.
	BuildCatalog(s *State, serving bool) (*Built, error)
	// DeclaredRate returns the rate and margin of the configuration.
	DeclaredRate() rate.Declared
}

// Editor changes the catalog for administrators.
type Editor struct {
	store   Store
	builder Builder
	ring    *seal.Ring
	now     func() time.Time
	changed func(context.Context) // called after each change that was made here
	lists   PriceLists            // nil: there are no imports

	only      bool // api_key_env and proxy may only name variables
	variables []string
}

// OnlyVariables has the Editor refuse environment variables of other names as providers' keys and in their proxies. A provider's address is the administrator's
// choice: one who cannot read the environment of the nodes could have any variable sent to a server of their own.
func (e *Editor) OnlyVariables(names []string) *Editor {
	e.only, e.variables = true, names
	return e
}

// NewEditor makes an Editor. A nil ring has no master key; changed may be nil.
func NewEditor(s Store, b Builder, ring *seal.Ring, now func() time.Time, changed func(context.Context)) *Editor {
	if changed == nil {
		changed = func(context.Context) {}
	}
	return &Editor{store: s, builder: b, ring: ring, now: now, changed: changed}
}

// Change is an administrator's change of one row.
type Change struct {
	Kind   Kind
	ID     string
	Create bool     // there must be no such row; else there must be one
	Set    Spec     // fields with new values
	Unset  []string // fields, or groups of fields, that are to be as if never written
	Key    *string  // the provider's credential; "" takes it away
	Remove bool     // deletes the row; nothing else is set
	Condition
}

// tries is how often a change is decided again when others are faster.
const tries = 8

// Built returns the catalog of the store's present state.
func (e *Editor) Built(ctx context.Context) (*Built, error) {
	s, err := e.store.CatalogState(ctx)
	if err != nil {
		return nil, err
	}
	return e.builder.BuildCatalog(&s, true)
}

// History lists changes before a version (0: all), the newest first.
func (e *Editor) History(ctx context.Context, before int64, count int) ([]Entry, error) {
	return e.store.CatalogHistory(ctx, before, count)
}

// Change makes one change, and returns the catalog with it. It fails with fault.Invalid, naming the field, for values that are not valid
// in the catalog, with fault.NotFound when the row does not exist, and with fault.Conflict for a row that exists already or that the
// configuration owns.
func (e *Editor) Change(ctx context.Context, c Change, by audit.Actor) (*Built, error) {
	if err := e.acceptable(c.Kind, c.Set); err != nil {
		return nil, err
	}
	for _, name := range c.Unset {
		if FieldType(c.Kind, name) == None && !IsGroup(c.Kind, name) {
			return nil, unknownField(c.Kind, name)
		}
	}
	if c.Kind.beside() && c.Remove {
		return e.removeBeside(ctx, &c, by)
	}
	var built *Built
	err := e.commit(ctx, func(s *State) (commit *Commit, err error) {
		if err := c.holds(c.Kind, c.ID, s.Row(c.Kind, c.ID)); err != nil {
			return nil, err
		}
		if commit, built, err = e.decide(s, &c, by); err != nil || c.Dry {
			return nil, err
		}
		if old := s.Row(c.Kind, c.ID); old != nil && commit.Row != nil && c.Key == nil && old.Over == commit.Row.Over && maps.Equal(old.Spec, commit.Row.Spec) {
			built, err = e.builder.BuildCatalog(s, true) // it is so already
			return nil, err
		}
		return commit, nil
	}, by)
	return built, err
}

// acceptable checks what is to be set of a row by itself.
func (e *Editor) acceptable(k Kind, set Spec) error {
	if err := set.Check(k); err != nil {
		return err
	}
	if name := set["api_key_env"]; name != "" && e.only && !slices.Contains(e.variables, name) {
		return fault.Field("edit.Change", "api_key_env", "The variable %s is not among secrets.key_variables of the configuration. Add it there, run weir catalog on the machine of a node, or give api_key.", clip(name))
	}
	for _, name := range outbound.References(set["proxy"]) {
		if e.only && !slices.Contains(e.variables, name) {
			return fault.Field("edit.Change", "proxy", "The variable %s is not among secrets.key_variables of the configuration. Add it there, or run weir catalog on the machine of a node.", clip(name))
		}
	}
	return nil
}

// commit decides and stores, and repeats that when another change came first. decide returns nil when there is nothing to do.
func (e *Editor) commit(ctx context.Context, decide func(*State) (*Commit, error), by audit.Actor) error {
	var err error
	for range tries {
		var s State
		if s, err = e.store.CatalogState(ctx); err != nil {
			return err
		}
		if err = e.enact(ctx, &s); errors.Is(err, ErrMoved) {
			continue
		} else if err != nil {
			return err
		}
		c, decideErr := decide(&s)
		if decideErr != nil || c == nil {
			return decideErr
		}
		c.Version, c.At, c.Actor = s.Version+1, e.now().UTC().Truncate(time.Microsecond), by
		if err = e.store.CommitCatalog(ctx, *c, c.event()); err == nil {
			e.changed(context.WithoutCancel(ctx)) // a client that hangs up now has made the change
			return nil
		}
		if !errors.Is(err, ErrMoved) {
			return err
		}
	}
	return err
}

// event is the entry in the words of the audit log.
func (c *Commit) event() audit.Event {
	was, is := Difference(c.Before, c.After)
	return audit.Event{Actor: c.Actor, Action: c.Action, Target: strings.TrimSuffix(string(c.Kind)+":"+c.ID, ":"), Before: was.String(), After: is.String()}
}

// decide computes the effect of a change on a state, and the resulting catalog.
func (e *Editor) decide(s *State, c *Change, by audit.Actor) (*Commit, *Built, error) {
	before, beforeErr := e.builder.BuildCatalog(s, false)
	row, err := e.row(s, before, c)
	if err != nil {
		return nil, nil, err
	}
	old := s.Row(c.Kind, c.ID)
	if c.Remove {
		err = removable(s, c)
	} else {
		err = e.edit(row, c, by)
	}
	if err != nil {
		return nil, nil, err
	}
	commit := &Commit{Entry: Entry{Kind: c.Kind, ID: c.ID, Before: old.shown(), After: row.shown(), Action: action(old, row)}, Row: row}
	if row != nil {
		row.Version, row.UpdatedAt = s.Version+1, e.now().UTC().Truncate(time.Microsecond)
	}
	after := s.with(c.Kind, c.ID, row)
	checked, err := e.builder.BuildCatalog(&after, false)
	if err != nil && !(beforeErr != nil && loosens(c)) {
		return nil, nil, e.blame(s, c, row, err)
	}
	if err == nil && c.Kind == Provider && row != nil {
		if err := e.keepsItsKey(s, c, before, checked, old, row); err != nil {
			return nil, nil, err
		}
	}
	if c.Create && c.Kind == Endpoint && checked.Provider(row.Spec["provider"]) == nil {
		return nil, nil, fault.Field("edit.Change", "provider", "There is no provider %q.", clip(row.Spec["provider"]))
	}
	// the result is what nodes serve, with credentials; the check above is without them
	built, err := e.builder.BuildCatalog(&after, true)
	if err != nil {
		built = before
	}
	if built == nil {
		built = &Built{Version: after.Version, Snapshot: &catalog.Snapshot{}}
	}
	return commit, built, nil
}

// loosens reports whether a change only removes something, which is allowed even when the catalog does not build.
func loosens(c *Change) bool {
	return c.Remove || len(c.Set) == 1 && c.Set["disabled"] == "true" && c.Key == nil
}

func action(old, row *Row) string {
	switch {
	case old == nil:
		return audit.CatalogAdded
	case row == nil:
		return audit.CatalogRemoved
	}
	return audit.CatalogChanged
}

// shown is the row's spec with the visible facts about its credential.
func (r *Row) shown() Spec {
	if r == nil {
		return nil
	}
	out := maps.Clone(r.Spec)
	if out == nil {
		out = Spec{}
	}
	for name, state := range map[string]KeyState{"api_key": KeyInUse, "draining_keys": KeyDraining, "keys_out": KeyOff} {
		if keys := r.In(state); keys != nil {
			out[name] = "..." + lasts(keys)
		}
	}
	return out
}

// row is a copy of the row to change, or a new one; nil when it is removed.
func (e *Editor) row(s *State, before *Built, c *Change) (*Row, error) {
	old := s.Row(c.Kind, c.ID)
	if old != nil && c.Remove {
		return nil, nil
	}
	origin, where := e.origin(before, c.Kind, c.ID)
	switch {
	case origin == FromFile:
		return nil, ofFile(c.Kind, c.ID, where)
	case c.Create && origin.given():
		return nil, fault.Newf(fault.Conflict, "edit.Change", "The %s %q is built in: change it instead of adding it.", c.Kind, c.ID)
	case c.Create && old != nil:
		return nil, fault.Newf(fault.Conflict, "edit.Change", "There is a %s %q already.", c.Kind, c.ID)
	case c.Remove && origin.given():
		return nil, fault.Newf(fault.Conflict, "edit.Change", "The %s %q is built in and cannot be removed: disable it.", c.Kind, c.ID)
	case old != nil:
		row := *old
		return &row, nil
	case c.Create:
		return &Row{Kind: c.Kind, ID: c.ID}, nil
	case origin.given():
		return &Row{Kind: c.Kind, ID: c.ID, Over: true}, nil
	}
	return nil, fault.Newf(fault.NotFound, "edit.Change", "There is no such %s.", c.Kind)
}

// ofFile refuses to change what the configuration declares.
func ofFile(k Kind, id, where string) error {
	return fault.Newf(fault.Conflict, "edit.Change", "The %s %q is declared at %s: change it there.", k, id, where)
}

func (e *Editor) origin(b *Built, k Kind, id string) (Origin, string) {
	if b == nil {
		return "", ""
	}
	if k == Provider {
		if v := b.Provider(id); v != nil {
			return v.Origin, v.Where
		}
	} else if v := b.Endpoint(id); v != nil {
		return v.Origin, v.Where
	}
	return "", ""
}

// edit makes the change in the row.
func (e *Editor) edit(row *Row, c *Change, by audit.Actor) error {
	if !c.Create {
		for _, name := range identity {
			_, set := c.Set[name]
			if c.Kind == Endpoint && (set || slices.Contains(c.Unset, name)) {
				return fault.Field("edit.Change", name, "%s is part of an endpoint's name and cannot be changed: add another endpoint.", name)
			}
		}
	}
	row.Spec = row.Spec.merged(c.Set, c.Unset)
	if c.Kind == Endpoint && !row.Over {
		if err := named(row); err != nil {
			return err
		}
	}
	if c.Key != nil {
		if err := e.setKey(row, *c.Key, c.Set["api_key_env"] != "", by); err != nil {
			return err
		}
	}
	if c.Set["api_key_env"] != "" {
		row.Keys = nil
	}
	return nil
}

// named checks that an endpoint's fields say the same as its id.
func named(row *Row) error {
	o := catalog.Offer{Provider: row.Spec["provider"], Model: row.Spec["model"], Region: row.Spec["region"], Tier: row.Spec["tier"], Variant: row.Spec["variant"]}
	for _, name := range identity[:2] {
		if row.Spec[name] == "" {
			return fault.Field("edit.Change", name, "%s is missing.", name)
		}
	}
	if err := catalog.CheckSlug(o.Model); err != nil {
		return fault.Field("edit.Change", "model", "The model: %s.", err)
	}
	if o.EndpointID() != row.ID {
		return fault.Newf(fault.Invalid, "edit.Change", "The endpoint's fields name %q, not %q.", o.EndpointID(), row.ID)
	}
	return nil
}

// EndpointID is the id of the endpoint that the fields of a new one name.
func EndpointID(s Spec) string {
	o := catalog.Offer{Provider: s["provider"], Model: s["model"], Region: s["region"], Tier: s["tier"], Variant: s["variant"]}
	return o.EndpointID()
}

// removable refuses to take a provider away under its endpoints.
func removable(s *State, c *Change) error {
	if s.Row(c.Kind, c.ID) == nil {
		return fault.Newf(fault.NotFound, "edit.Change", "There is no such %s.", c.Kind)
	}
	if c.Kind != Provider || s.Row(c.Kind, c.ID).Over {
		return nil
	}
	for i := range s.Rows {
		if r := &s.Rows[i]; r.Kind == Endpoint && r.Spec["provider"] == c.ID {
			return fault.Newf(fault.Conflict, "edit.Change", "The provider %q has endpoints, such as %q: remove them first.", c.ID, r.ID)
		}
	}
	return nil
}

// blame finds the one field, or list, without which the catalog would build, so that the sentence about it can name it.
func (e *Editor) blame(s *State, c *Change, row *Row, err error) error {
	f := *fault.From(err)
	if f.Kind == fault.Conflict || f.Param != "" || row == nil {
		return err
	}
	var before Spec
	if old := s.Row(c.Kind, c.ID); old != nil {
		before = old.Spec
	}
	for _, name := range suspects(c.Set) {
		without := *row
		without.Spec = row.Spec.merged(nil, []string{name})
		for have, text := range before {
			if have == name || strings.HasPrefix(have, name+".") {
				without.Spec[have] = text
			}
		}
		if name == "base_url" && before[name] == "" {
			without.Spec[name] = "https://provider.invalid" // nothing builds without one
		}
		state := s.with(c.Kind, c.ID, &without)
		if _, err := e.builder.BuildCatalog(&state, false); err == nil {
			f.Param = name
			break
		}
	}
	return &f
}

// suspects are the fields that were set, and then the lists that they are in. Without the fields that name it there is no endpoint.
func suspects(set Spec) []string {
	var fields, lists []string
	for _, name := range slices.Sorted(maps.Keys(set)) {
		if slices.Contains(identity[:2], name) {
			continue
		}
		fields = append(fields, name)
		if list, _, _ := strings.Cut(name, "."); Lists(list) && !slices.Contains(lists, list) {
			lists = append(lists, list)
		}
	}
	return append(fields, lists...)
}

// Credentials resolves the credentials that the rows of a state name. env looks up environment variables.
func (s *State) Credentials(ring *seal.Ring, env func(string) (string, bool)) map[string]Credential {
	out := map[string]Credential{}
	for i := range s.Rows {
		r := &s.Rows[i]
		if r.Kind != Provider || r.Disabled() {
			continue
		}
		c, given := r.credential(ring)
		variable := r.Spec["api_key_env"]
		switch {
		case given:
		case variable != "":
			key, set := env(variable)
			if !set || key == "" {
				c.Err = fault.Newf(fault.Invalid, "edit.Credentials", "the environment variable %s is not set", variable)
			}
			c.Key = key
		case r.Keys == nil, r.Over && len(c.Draining) == 0: // what the environment has counts, if anything
			continue
		case len(c.Draining) == 0:
			c.Err = fault.New(fault.Invalid, "edit.Credentials", "none of its keys is in use")
		}
		out[r.ID] = c
	}
	return out
}

// RotateSecrets wraps every credential again with the current master key, and returns how many had been wrapped with another.
func (e *Editor) RotateSecrets(ctx context.Context, by audit.Actor) (int, error) {
	s, err := e.store.CatalogState(ctx)
	if err != nil {
		return 0, err
	}
	done := 0
	for i := range s.Rows {
		id := s.Rows[i].ID
		if s.Rows[i].Kind != Provider || s.Rows[i].Keys == nil {
			continue
		}
		changed := 0
		err := e.commit(ctx, func(s *State) (*Commit, error) {
			old := s.Row(Provider, id)
			if old == nil {
				return nil, nil
			}
			row := *old
			row.Keys, changed = slices.Clone(old.Keys), 0
			for k := range row.Keys {
				sealed, again, err := e.ring.Rewrap(row.Keys[k].Sealed, sealedRow(id), sealedColumn)
				if err != nil {
					return nil, err
				}
				if again {
					row.Keys[k].Sealed = sealed
					changed++
				}
			}
			if changed == 0 {
				return nil, nil
			}
			row.Version, row.UpdatedAt = s.Version+1, e.now().UTC().Truncate(time.Microsecond)
			return &Commit{Entry: Entry{Kind: Provider, ID: id, Before: old.shown(), After: row.shown(), Action: audit.SecretRotated}, Row: &row}, nil
		}, by)
		if err != nil {
			return done, err
		}
		done += changed
	}
	return done, nil
}

// DeclaredRate returns the rate and margin of the configuration.
func (e *Editor) DeclaredRate() rate.Declared { return e.builder.DeclaredRate() }

// Rates lists all records in the order of their versions.
func (e *Editor) Rates(ctx context.Context) ([]rate.Record, error) {
	s, err := e.store.CatalogState(ctx)
	return s.Rates, err
}

// SetRate records a rate, a margin or both, unless the last record has the same values. It fails with fault.Invalid for numbers out of
// range or too large for some price, and with fault.Conflict for values that the configuration owns.
func (e *Editor) SetRate(ctx context.Context, r rate.Record, by audit.Actor) error {
	if err := e.settable(&r); err != nil {
		return err
	}
	return e.commit(ctx, func(s *State) (*Commit, error) { return e.rateCommit(s, r, by) }, by)
}

// settable checks a record by itself.
func (e *Editor) settable(r *rate.Record) error {
	if err := r.Check(); err != nil {
		return err
	}
	declared := e.builder.DeclaredRate()
	return declared.Refuse(r)
}

// rateCommit adds a record to a state; nil where it is the bank's that is there already.
func (e *Editor) rateCommit(s *State, record rate.Record, by audit.Actor) (*Commit, error) {
	record.At = e.now().UTC().Truncate(time.Microsecond)
	record.Actor = by.Name
	if record.From.IsZero() {
		record.From = record.At
	}
	record.From = record.From.UTC().Truncate(time.Microsecond)
	if record.Source == rate.CBR && record.Same(rate.Last(s.Rates)) {
		return nil, nil
	}
	after := *s
	after.Version, after.Rates = s.Version+1, append(slices.Clone(s.Rates), record)
	after.Rates[len(s.Rates)].From = record.At // whenever it begins, it must be possible
	if _, err := e.builder.BuildCatalog(&after, false); err != nil {
		return nil, err
	}
	return &Commit{Entry: Entry{Kind: Rate, Action: audit.RateSet, After: rateSpec(&record)}}, nil
}

// rateSpec is a record as the history keeps it.
func rateSpec(r *rate.Record) Spec {
	s := Spec{"source": cmp.Or(r.Source, rate.Manual), "from": r.From.Format(time.RFC3339Nano)}
	for name, text := range map[string]string{"rate": r.RubPerUSD, "margin": r.Margin, "day": r.Day} {
		if text != "" {
			s[name] = text
		}
	}
	return s
}

// Rate is the record that an entry of kind Rate keeps.
func (e *Entry) Rate() rate.Record {
	from, _ := time.Parse(time.RFC3339Nano, e.After["from"])
	return rate.Record{Version: e.Version, RubPerUSD: e.After["rate"], Margin: e.After["margin"], Source: e.After["source"], Day: e.After["day"],
		From: from, At: e.At, Actor: e.Name}
}
