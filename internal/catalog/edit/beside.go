package edit

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"strconv"
	"time"

	"weir/internal/audit"
	"weir/internal/catalog"
	"weir/internal/fault"
)

// Preference is an operator's say in who serves a model first. It counts where neither the request nor the account says otherwise.
type Preference struct {
	Endpoint string // id
	Place    int64  // those with a lower place come first, and those without one (0) last
	Weight   int64  // share of the first attempts among those of the same place; 0: by price, or 1 where another has a weight
}

// Bounds of preferences.
const (
	MostPreferences = maxListed
	MostPlace       = 100
	MostWeight      = 1000
	MostAliases     = 1000
)

var aliasFields = map[string]Type{"model": Text}

var orderFields = map[string]Type{"endpoints.#.id": Text, "endpoints.#.place": Integer, "endpoints.#.weight": Integer}

// beside reports whether rows of the kind stand beside those of providers and endpoints: they belong to what the configuration declares, too.
func (k Kind) beside() bool { return k == Alias || k == Order || k == Setting }

// act is the action of the audit log for a change of a row of the kind.
func (k Kind) act(action string) string {
	switch {
	case k != Setting:
		return action
	case action == audit.CatalogRemoved:
		return audit.SettingReset
	}
	return audit.SettingSet
}

// OrderSpec is the row that keeps preferences.
func OrderSpec(list []Preference) Spec {
	s := Spec{}
	for i, p := range list {
		at := "endpoints." + strconv.Itoa(i) + "."
		s[at+"id"] = p.Endpoint
		if p.Place != 0 {
			s[at+"place"] = strconv.FormatInt(p.Place, 10)
		}
		if p.Weight != 0 {
			s[at+"weight"] = strconv.FormatInt(p.Weight, 10)
		}
	}
	return s
}

// Preferences are what a row of kind Order says.
func (r *Row) Preferences() (list []Preference) {
	for _, at := range r.Spec.indexes("endpoints") {
		list = append(list, Preference{Endpoint: r.Spec[at+"id"], Place: r.Spec.integer(at + "place"), Weight: r.Spec.integer(at + "weight")})
	}
	return list
}

// beside are the rows that stand beside the others.
func (s *State) beside() (rows []Row) {
	for i := range s.Rows {
		if s.Rows[i].Kind.beside() {
			rows = append(rows, s.Rows[i])
		}
	}
	slices.SortFunc(rows, func(a, b Row) int { return cmp.Or(cmp.Compare(a.Kind, b.Kind), cmp.Compare(a.ID, b.ID)) })
	return rows
}

// BesideOf is such a row, nil where there is none.
func (b *Built) BesideOf(k Kind, id string) *Row {
	i := slices.IndexFunc(b.Beside, func(r Row) bool { return r.Kind == k && r.ID == id })
	if i < 0 {
		return nil
	}
	return &b.Beside[i]
}

// rename adds the operators' other names of models to those built in. A name that a model has is the model's.
func (m *merger) rename(d *catalog.Declared) {
	own := maps.Clone(d.Aliases)
	if own == nil {
		own = map[string]string{}
	}
	for i := range m.state.Rows {
		r := &m.state.Rows[i]
		if r.Kind != Alias {
			continue
		}
		switch to := r.Spec["model"]; {
		case m.serves(r.ID):
			m.leave("the other name %q of %q is not used: there is a model of that name", r.ID, to)
		case !m.serves(to):
			m.leave("the other name %q is not used: there is no model %q", r.ID, to)
		default:
			own[r.ID] = to
		}
	}
	d.Aliases = own
}

// serves reports whether a model has an endpoint that takes part.
func (m *merger) serves(slug string) bool {
	return slices.ContainsFunc(m.out.Endpoints, func(v EndpointView) bool { return v.On && v.Model == slug })
}

// prefer gives endpoints the places and weights that operators set.
func (m *merger) prefer() {
	for i := range m.state.Rows {
		r := &m.state.Rows[i]
		if r.Kind != Order {
			continue
		}
		for _, p := range r.Preferences() {
			if v := m.out.Endpoint(p.Endpoint); v != nil && v.Model == r.ID {
				v.Place, v.Weight = p.Place, p.Weight
			} else {
				m.leave("the order of %q names the endpoint %q, which it does not have", r.ID, p.Endpoint)
			}
		}
	}
}

// checkBeside refuses a row that would say nothing in this catalog.
func checkBeside(b *Built, row *Row) error {
	switch row.Kind {
	case Order:
		return checkOrder(b, row)
	case Setting:
		return nil // SetFor has checked it
	}
	const op = "edit.Alias"
	if err := catalog.CheckSlug(row.ID); err != nil {
		return fault.Newf(fault.Invalid, op, "The other name: %s.", err).Coded("alias_name")
	}
	to := row.Spec["model"]
	if m, ok := b.Snapshot.Model(to); ok {
		to = m.Slug // a name of a name would end with it
	} else if len(b.Ordered(to)) == 0 { // one that is switched off may serve again
		return fault.Field(op, "model", "There is no model %q.", clip(row.Spec["model"])).Coded("alias_target", "model", clip(row.Spec["model"]))
	}
	if m, is := b.Snapshot.Model(row.ID); is && m.Slug == row.ID {
		return fault.Newf(fault.Conflict, op, "There is a model %q: another name would hide it.", row.ID).Coded("alias_taken", "name", row.ID)
	}
	row.Spec["model"] = to
	return nil
}

func checkOrder(b *Built, row *Row) error {
	const op = "edit.Order"
	seen := map[string]bool{}
	for i, p := range row.Preferences() {
		at := "endpoints." + strconv.Itoa(i)
		v := b.Endpoint(p.Endpoint)
		switch {
		case v == nil || v.Model != row.ID:
			return fault.Field(op, at+".id", "%q is no endpoint of the model %q.", clip(p.Endpoint), clip(row.ID)).Coded("order_endpoint", "endpoint", clip(p.Endpoint), "model", clip(row.ID))
		case seen[p.Endpoint]:
			return fault.Field(op, at+".id", "%q is there twice.", clip(p.Endpoint)).Coded("order_twice", "endpoint", clip(p.Endpoint))
		case p.Place > MostPlace:
			return fault.Field(op, at+".place", "A place must be at most %d.", MostPlace).Coded("order_place", "most", MostPlace)
		case p.Weight > MostWeight:
			return fault.Field(op, at+".weight", "A weight must be at most %d.", MostWeight).Coded("order_weight", "most", MostWeight)
		case p.Place == 0 && p.Weight == 0:
			return fault.Field(op, at, "Give %q a place, a weight or both, or leave it out.", clip(p.Endpoint)).Coded("order_nothing", "endpoint", clip(p.Endpoint))
		}
		seen[p.Endpoint] = true
	}
	if len(seen) == 0 {
		return fault.Field(op, "endpoints", "Give at least one endpoint a place or a weight. To go back to prices, remove the order.").Coded("order_empty")
	}
	return nil
}

// putBeside is Put of a row that stands beside the others.
func (e *Editor) putBeside(ctx context.Context, p *Put, by audit.Actor) (built *Built, done Outcome, err error) {
	err = e.commit(ctx, func(s *State) (*Commit, error) {
		old := s.Row(p.Kind, p.ID)
		if err := p.holds(p.Kind, p.ID, old); err != nil {
			return nil, err
		}
		before, err := e.builder.BuildCatalog(s, false)
		if err != nil {
			return nil, err
		}
		if p.Kind == Alias && old == nil && len(slices.DeleteFunc(s.beside(), func(r Row) bool { return r.Kind != Alias })) >= MostAliases {
			return nil, fault.Newf(fault.Conflict, "edit.Alias", "There are %d other names already: remove one.", MostAliases).Coded("alias_most", "most", MostAliases)
		}
		row := &Row{Kind: p.Kind, ID: p.ID, Spec: maps.Clone(p.Set), Version: s.Version + 1, UpdatedAt: e.now().UTC().Truncate(time.Microsecond)}
		if err := checkBeside(before, row); err != nil {
			return nil, err
		}
		if old != nil && maps.Equal(old.Spec, row.Spec) {
			done, built = Unchanged, before
			return nil, nil
		}
		done = Changed
		if old == nil {
			done = Created
		}
		after := s.with(p.Kind, p.ID, row)
		if built, err = e.builder.BuildCatalog(&after, true); err != nil || p.Dry {
			return nil, err
		}
		return &Commit{Entry: Entry{Kind: p.Kind, ID: p.ID, Before: old.shown(), After: row.shown(), Action: row.Kind.act(action(old, row))}, Row: row}, nil
	}, by)
	return built, done, err
}

// removeBeside removes such a row.
func (e *Editor) removeBeside(ctx context.Context, c *Change, by audit.Actor) (built *Built, err error) {
	err = e.commit(ctx, func(s *State) (*Commit, error) {
		old := s.Row(c.Kind, c.ID)
		if err := c.holds(c.Kind, c.ID, old); err != nil {
			return nil, err
		}
		if old == nil {
			return nil, fault.Newf(fault.NotFound, "edit.Change", "There is no such %s.", c.Kind)
		}
		after := s.with(c.Kind, c.ID, nil)
		if built, err = e.builder.BuildCatalog(&after, true); err != nil || c.Dry {
			return nil, err
		}
		return &Commit{Entry: Entry{Kind: c.Kind, ID: c.ID, Before: old.shown(), Action: c.Kind.act(audit.CatalogRemoved)}}, nil
	}, by)
	return built, err
}

// Answers reports whether another name is used: its model serves, and no model has the name itself.
func (b *Built) Answers(alias *Row) bool {
	m, ok := b.Snapshot.Model(alias.ID)
	return ok && m.Slug == alias.Spec["model"] && m.Slug != alias.ID
}

// Ordered are the endpoints of a model as load balancing takes them while all are well: by place, and by id within one.
func (b *Built) Ordered(model string) (all []*EndpointView) {
	for i := range b.Endpoints {
		if b.Endpoints[i].Model == model {
			all = append(all, &b.Endpoints[i])
		}
	}
	slices.SortFunc(all, func(x, y *EndpointView) int {
		last := func(place int64) int64 { return cmp.Or(place, MostPlace+1) }
		return cmp.Or(cmp.Compare(last(x.Place), last(y.Place)), cmp.Compare(x.ID, y.ID))
	})
	return all
}
