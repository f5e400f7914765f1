package edit

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"weir/internal/catalog"
	"weir/internal/fault"
	"weir/internal/outbound"
	"weir/internal/rate"
)

// Row is the database's row of one provider or endpoint: all of it, or its differences from the built-in one.
type Row struct {
	Kind      Kind
	ID        string // of the provider, or of the endpoint: "provider/vendor/model[/region][/variant][/tier]"
	Spec      Spec
	Over      bool  // it overrides a built-in row, and means nothing without it
	Keys      []Key // the provider's credentials, the oldest first
	Version   int64 // of the catalog, at which it was changed last
	UpdatedAt time.Time
}

// Disabled reports whether the row switches off its provider or endpoint.
func (r *Row) Disabled() bool { return r.Spec["disabled"] == "true" }

// State is all that the database says of the catalog at one moment.
type State struct {
	Version int64 // number of changes made so far
	Rows    []Row
	Rates   []rate.Record // in the order of their versions
	Prices  Prices        // the list that was published last
	Found   []Found       // what servers have said that are asked for their models
	// Scheduled are publications that have not been made rows yet, in the order in which they take effect.
	Scheduled []Draft
}

// Row finds a row, or nil.
func (s *State) Row(k Kind, id string) *Row {
	for i := range s.Rows {
		if s.Rows[i].Kind == k && s.Rows[i].ID == id {
			return &s.Rows[i]
		}
	}
	return nil
}

// with is the state after a row was put or, with a nil row, removed.
func (s *State) with(k Kind, id string, row *Row) State {
	out := *s
	out.Version++
	out.Rows = slices.DeleteFunc(slices.Clone(s.Rows), func(r Row) bool { return r.Kind == k && r.ID == id })
	if row != nil {
		out.Rows = append(out.Rows, *row)
	}
	return out
}

// Origin is the owner of a provider or endpoint.
type Origin string

// The origins.
const (
	FromBuiltin  Origin = "builtin"
	FromFile     Origin = "file"
	FromDatabase Origin = "database"
	FromServer   Origin = "server" // its server has named it
)

// given reports whether it is there without the configuration and the database: a row of it means nothing when it is gone.
func (o Origin) given() bool { return o == FromBuiltin || o == FromServer }

// Base is the catalog without the database.
type Base struct {
	catalog.Declared                       // the enabled part
	Known            []catalog.Provider    // built-in providers that are off: they lack a credential
	FileProviders    map[string]string     // ids of providers that the configuration declares -> where
	FileEndpoints    map[string]string     // likewise endpoints
	Discoveries      map[string]*Discovery // of FileProviders that are asked for their models
	Env              outbound.Lookup       // variables that proxies of rows name; nil: none is set
}

// Credential is the keys of a provider that its row names.
type Credential struct {
	Key      string            // "": none here, and what the environment has counts
	Keys     []string          // further ones
	Draining []string          // those that get no new calls
	Tags     map[string]string // id of a key -> catalog.KeyTag
	Err      error             // why it could not be built
	failed   error             // why one of several could not be read
}

// ProviderView is a provider as administrators see it.
type ProviderView struct {
	catalog.Provider
	Origin  Origin
	Where   string            // in the configuration, "" elsewhere
	On      bool              // it is enabled
	Row     *Row              // nil: never changed
	Reason  string            // why it is off although it was not disabled; ""
	KeyTags map[string]string // of the row's keys by their ids; see catalog.KeyTag

	Discovery *Discovery // its server is asked for its models; nil: they are declared
	Found     *Found     // what that said; nil: nothing yet
}

// EndpointView is an endpoint as administrators see it.
type EndpointView struct {
	catalog.Offer
	ID     string
	Origin Origin
	Where  string
	On     bool
	Row    *Row
	Listed catalog.Pricing // what it would be charged by without Row
}

// Built is the result of base and state together.
type Built struct {
	Snapshot  *catalog.Snapshot
	Version   int64 // of the state
	Rate      rate.Effective
	Providers []ProviderView // by id
	Endpoints []EndpointView // by id
	Left      []string       // rows that were left out, in sentences for the log
	Out       []Out          // what operators took out of service, by target; some of it may be back
	Beside    []Row          // other names of models, and orders of their endpoints, by kind and id
}

// Build applies the state to the base and builds the catalog. credentials are those of the state's rows, by provider id. It fails with
// fault.Conflict when the configuration declares a row that the database owns.
func Build(b *Base, s *State, r rate.Effective, credentials map[string]Credential) (*Built, error) {
	out, err := build(b, s, r, credentials)
	if err == nil || len(s.Found) == 0 {
		return out, err
	}
	without := *s
	without.Found = nil
	out, wrong := build(b, &without, r, credentials)
	if wrong != nil {
		return nil, wrong
	}
	out.Left = append(out.Left, "the models that servers name, because the catalog would be invalid with them: "+fault.From(err).Public)
	return out, nil
}

func build(b *Base, s *State, r rate.Effective, credentials map[string]Credential) (*Built, error) {
	if err := conflicts(b, s); err != nil {
		return nil, err
	}
	m := merger{base: b, state: s, models: slices.Clone(b.Models), credentials: credentials, out: &Built{Version: s.Version, Rate: r, Out: s.out(), Beside: s.beside()}, on: map[string]bool{}}
	if err := m.providers(); err != nil {
		return nil, err
	}
	if err := m.endpoints(); err != nil {
		return nil, err
	}
	m.prefer()
	var err error
	d := catalog.Declared{Models: m.models, PricesAsOf: b.PricesAsOf, KnownSince: b.KnownSince, Aliases: b.Aliases, Retired: b.Retired, Families: b.Families, AttemptBudget: b.AttemptBudget}
	m.rename(&d)
	for i := range m.out.Providers {
		if m.out.Providers[i].On {
			d.Providers = append(d.Providers, m.out.Providers[i].Provider)
		}
	}
	for i := range m.out.Endpoints {
		m.out.Endpoints[i].Pricing.Rate = cmp.Or(m.out.Endpoints[i].Pricing.Rate, r.VAT.InRubles())
		if m.out.Endpoints[i].On {
			d.Offers = append(d.Offers, m.out.Endpoints[i].Offer)
			if d.Models, err = described(d.Models, &m.out.Endpoints[i]); err != nil {
				return nil, err
			}
		}
	}
	if m.out.Snapshot, err = catalog.Build(d); err != nil {
		return nil, fault.New(fault.Invalid, "edit.Build", sentence(err)).Because(err)
	}
	slices.SortFunc(m.out.Providers, func(x, y ProviderView) int { return strings.Compare(x.ID, y.ID) })
	slices.SortFunc(m.out.Endpoints, func(x, y EndpointView) int { return strings.Compare(x.ID, y.ID) })
	return m.out, nil
}

// described adds the facts about its model from the row of an endpoint: type, name and so on. A row must not contradict an existing
// description, because it would change the endpoints of others, too.
func described(models []catalog.ModelInfo, v *EndpointView) ([]catalog.ModelInfo, error) {
	if v.Row == nil {
		return models, nil
	}
	at := slices.IndexFunc(models, func(m catalog.ModelInfo) bool { return m.Slug == v.Model })
	info := catalog.ModelInfo{Slug: v.Model}
	if at >= 0 {
		info = models[at]
		info.Type = cmp.Or(info.Type, catalog.TypeChat)
	}
	var created string
	if !info.Created.IsZero() {
		created = info.Created.UTC().Format(time.DateOnly)
	}
	said := false
	for _, f := range []struct {
		name string
		into *string
	}{{"type", &info.Type}, {"about.name", &info.Name}, {"about.description", &info.Description}, {"about.hub_id", &info.HubID}, {"about.created", &created}} {
		text := v.Row.Spec[f.name]
		switch {
		case text == "":
			continue
		case *f.into != "" && *f.into != text:
			return nil, fault.Field("edit.Build", f.name, "The endpoint %q has %q for %s, but another declaration of the model has %q.", v.ID, text, v.Model, clip(*f.into))
		}
		*f.into, said = text, true
	}
	if created != "" {
		day, err := time.Parse(time.DateOnly, created)
		if err != nil {
			return nil, fault.Field("edit.Build", "about.created", "about.created must be a day such as 2026-01-31.")
		}
		if info.Created.IsZero() {
			info.Created = day
		}
	}
	switch {
	case at >= 0:
		models[at] = info
	case said:
		models = append(models, info)
	}
	return models, nil
}

// sentence makes the joined lines of an error one sentence.
func sentence(err error) string {
	return "The catalog would be invalid: " + strings.ReplaceAll(err.Error(), "\n", "; ") + "."
}

// conflicts refuses rows that two own.
func conflicts(b *Base, s *State) error {
	var found []string
	for i := range s.Rows {
		r := &s.Rows[i]
		if at, declared := b.where(r.Kind, r.ID); declared {
			found = append(found, fmt.Sprintf("The %s %q is declared at %s and is in the database, too: remove it from one of them (from the database: weir catalog %s remove %s).",
				r.Kind, r.ID, at, r.Kind, r.ID))
		}
	}
	if found == nil {
		return nil
	}
	return fault.New(fault.Conflict, "edit.Build", strings.Join(found, " "))
}

// where reports whether the configuration declares a row, and at which place.
func (b *Base) where(k Kind, id string) (at string, declared bool) {
	switch k {
	case Provider:
		at, declared = b.FileProviders[id]
	case Endpoint:
		at, declared = b.FileEndpoints[id]
	}
	if declared && at == "" {
		at = "the configuration"
	}
	return at, declared
}

type merger struct {
	base        *Base
	state       *State
	credentials map[string]Credential
	out         *Built
	on          map[string]bool // providers that take part
	models      []catalog.ModelInfo
}

func (m *merger) leave(format string, args ...any) string {
	text := fmt.Sprintf(format, args...)
	m.out.Left = append(m.out.Left, text)
	return text
}

func (m *merger) providers() error {
	seen := map[string]bool{}
	add := func(v ProviderView) error {
		seen[v.ID] = true
		if v.Row = m.state.Row(Provider, v.ID); v.Row != nil {
			if err := m.lay(&v); err != nil {
				return err
			}
		}
		m.on[v.ID] = v.On
		m.out.Providers = append(m.out.Providers, v)
		return nil
	}
	for i := range m.base.Providers {
		v := ProviderView{Provider: m.base.Providers[i], Origin: FromBuiltin, On: true}
		if at, declared := m.base.where(Provider, v.ID); declared {
			v.Origin, v.Where, v.Discovery = FromFile, at, m.base.Discoveries[v.ID]
		}
		if err := add(v); err != nil {
			return err
		}
	}
	for i := range m.base.Known {
		if seen[m.base.Known[i].ID] { // an enabled provider was declared outside the configuration, under an id that is also built in
			continue
		}
		if err := add(ProviderView{Provider: m.base.Known[i], Origin: FromBuiltin}); err != nil {
			return err
		}
	}
	for i := range m.state.Rows {
		r := &m.state.Rows[i]
		if r.Kind != Provider || seen[r.ID] || r.Over {
			continue
		}
		if err := add(ProviderView{Provider: catalog.Provider{ID: r.ID, Dialect: "openai"}, Origin: FromDatabase, On: true}); err != nil {
			return err
		}
	}
	return nil
}

// lay puts a provider's row over it.
func (m *merger) lay(v *ProviderView) error {
	if err := v.Row.Spec.overProvider(&v.Provider); err != nil {
		return within(err, v.Row)
	}
	if err := m.discovery(v); err != nil {
		return within(err, v.Row)
	}
	if text, ok := v.Row.Spec["proxy"]; ok {
		var err error
		if v.Proxy, err = outbound.Parse(text, m.base.Env); err != nil {
			v.On = false
			v.Reason = m.leave("the provider %q is off: its proxy cannot be used: %s", v.ID, err)
		}
	}
	if c, ok := m.credentials[v.ID]; ok {
		v.KeyTags, v.Draining, v.Kept = c.Tags, c.Draining, v.Row.Keys != nil
		if c.Key != "" || c.Err != nil {
			v.Key, v.Keys = c.Key, c.Keys
		}
		if c.failed != nil && c.Err == nil {
			m.leave("a key of the provider %q is not used: %s", v.ID, reason(c.failed))
		}
		if c.Err != nil {
			v.On = false
			v.Reason = m.leave("the provider %q is off: %s", v.ID, reason(c.Err))
		}
	}
	if v.Row.Disabled() {
		v.On, v.Reason = false, ""
	}
	return nil
}

func reason(err error) string {
	if f := fault.From(err); f.Public != "" {
		return f.Public
	}
	return "its credential cannot be read"
}

// within names the row in a fault of one of its fields.
func within(err error, r *Row) error {
	f := *fault.From(err)
	f.Public = fmt.Sprintf("The %s %q: %s", r.Kind, r.ID, f.Public)
	return &f
}

func (m *merger) endpoints() error {
	seen := map[string]bool{}
	add := func(v EndpointView) error {
		seen[v.ID] = true
		v.On = m.on[v.Provider]
		v.Listed = v.Pricing
		if v.Row = m.state.Row(Endpoint, v.ID); v.Row != nil {
			if err := v.Row.Spec.overOffer(&v.Offer, m.out.Rate, v.Row.Version); err != nil {
				return within(err, v.Row)
			}
			v.On = v.On && !v.Row.Disabled()
			v.UpdatedAt = v.Row.UpdatedAt
		}
		m.out.Endpoints = append(m.out.Endpoints, v)
		return nil
	}
	for i := range m.base.Offers {
		v := EndpointView{Offer: m.base.Offers[i], ID: m.base.Offers[i].EndpointID(), Origin: FromBuiltin}
		if at, declared := m.base.where(Endpoint, v.ID); declared {
			v.Origin, v.Where = FromFile, at
		}
		if err := add(v); err != nil {
			return err
		}
	}
	if err := m.discovered(func(v EndpointView) error {
		if seen[v.ID] {
			return nil // it is declared
		}
		return add(v)
	}); err != nil {
		return err
	}
	for i := range m.state.Rows {
		r := &m.state.Rows[i]
		if r.Kind != Endpoint || seen[r.ID] || r.Over {
			continue
		}
		if _, known := m.on[r.Spec["provider"]]; !known {
			m.leave("the endpoint %q is off: there is no provider %q", r.ID, r.Spec["provider"])
		}
		if err := add(EndpointView{Offer: catalog.Offer{Provider: r.Spec["provider"]}, ID: r.ID, Origin: FromDatabase}); err != nil {
			return err
		}
	}
	return nil
}

// Provider finds a provider, or nil.
func (b *Built) Provider(id string) *ProviderView {
	for i := range b.Providers {
		if b.Providers[i].ID == id {
			return &b.Providers[i]
		}
	}
	return nil
}

// Endpoint finds an endpoint, or nil.
func (b *Built) Endpoint(id string) *EndpointView {
	for i := range b.Endpoints {
		if b.Endpoints[i].ID == id {
			return &b.Endpoints[i]
		}
	}
	return nil
}
