package edit_test

import (
	"context"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"weir/internal/audit"
	"weir/internal/catalog"
	"weir/internal/catalog/edit"
	"weir/internal/fault"
	"weir/internal/money"
	"weir/internal/rate"
	"weir/internal/seal"
)

// memory is a store in memory.
type memory struct {
	mu      sync.Mutex
	state   edit.State
	entries []edit.Entry
	events  []audit.Event
	drafts  []edit.Draft
	last    *edit.Import
	lists   map[string][]byte // published ones
	racing  int               // so many commits lose against another that was faster
}

func (m *memory) CatalogVersion(context.Context) (int64, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.state.Version, nil
}

func (m *memory) CatalogState(context.Context) (edit.State, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	s := m.state
	s.Rows = append([]edit.Row(nil), s.Rows...)
	return s, nil
}

func (m *memory) CommitCatalog(_ context.Context, c edit.Commit, e audit.Event) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.racing > 0 {
		m.racing--
		m.state.Version++
		m.entries = append(m.entries, edit.Entry{Version: m.state.Version})
	}
	if c.Version != m.state.Version+1 {
		return fault.New(fault.Conflict, "memory.Commit", "Somebody was faster.").Because(edit.ErrMoved)
	}
	m.state.Version = c.Version
	var rows []edit.Row
	for _, r := range m.state.Rows {
		if r.Kind != c.Kind || r.ID != c.ID {
			rows = append(rows, r)
		}
	}
	if c.Row != nil {
		rows = append(rows, *c.Row)
	}
	if c.Kind == edit.Rate {
		m.state.Rates = append(m.state.Rates, c.Rate())
	}
	if c.Kind == edit.PriceList {
		m.state.Prices = c.Prices
		m.lists[c.Prices.List] = c.Prices.Data
	}
	if c.Draft != nil {
		rows = m.published(&c, rows)
	}
	m.state.Rows = rows
	m.entries = append(m.entries, c.Entry)
	m.events = append(m.events, e)
	return nil
}

// published puts a publication into the state, and returns its rows.
func (m *memory) published(c *edit.Commit, rows []edit.Row) []edit.Row {
	for _, r := range c.Rows {
		rows = append(slices.DeleteFunc(rows, func(old edit.Row) bool { return old.Kind == r.Kind && old.ID == r.ID }), r)
	}
	m.state.Scheduled = slices.DeleteFunc(slices.Clone(m.state.Scheduled), func(d edit.Draft) bool { return d.ID == c.Draft.ID })
	if c.Draft.State == edit.Scheduled {
		m.state.Scheduled = append(m.state.Scheduled, *c.Draft)
	}
	m.drafts[c.Draft.ID-1] = *c.Draft
	return rows
}

func (m *memory) DraftByID(_ context.Context, id int64) (edit.Draft, error) {
	return m.drafts[id-1], nil
}

func (m *memory) OpenDraft(context.Context) (*edit.Draft, error) {
	for _, d := range m.drafts {
		if d.State == edit.Open {
			d.Edits = slices.Clone(d.Edits)
			return &d, nil
		}
	}
	return nil, nil
}

func (m *memory) PutDraft(_ context.Context, d *edit.Draft) error {
	if d.Version == 1 {
		d.ID = int64(len(m.drafts) + 1)
		m.drafts = append(m.drafts, edit.Draft{})
	}
	m.drafts[d.ID-1] = *d
	return nil
}

func (m *memory) DropDraft(_ context.Context, id, _ int64) error {
	m.drafts[id-1].State = "dropped"
	return nil
}

func (m *memory) Publications(context.Context, int64, int) ([]edit.Draft, error) {
	return m.drafts, nil
}

func (m *memory) PriceList(_ context.Context, version string) ([]byte, error) {
	return m.lists[version], nil
}

func (m *memory) LastImport(context.Context) (*edit.Import, error) { return m.last, nil }

func (m *memory) PutImport(_ context.Context, i *edit.Import) error {
	m.last = i
	return nil
}

// lists are price lists of a line for each model with its price in dollars: "small 1". The program's is programs.
type lists struct{}

const programs = "large 1\nsmall 1"

func parsed(data []byte) map[string]string {
	out := map[string]string{}
	for line := range strings.Lines(string(data)) {
		model, price, _ := strings.Cut(strings.TrimSpace(line), " ")
		out[model] = price
	}
	return out
}

func (lists) ListInUse(p *edit.Prices) edit.Prices {
	if p.Data == nil {
		return edit.Prices{List: programs, Data: []byte(programs)}
	}
	return *p
}

func (lists) CompareLists(before, after []byte) (out []edit.ListChange) {
	a, b := parsed(before), parsed(after)
	both := maps.Clone(a)
	maps.Copy(both, b)
	for _, model := range slices.Sorted(maps.Keys(both)) {
		kind := edit.ListRaised
		switch {
		case a[model] == b[model]:
			continue
		case a[model] == "":
			kind = edit.ListNew
		case b[model] == "":
			kind = edit.ListGone
		}
		out = append(out, edit.ListChange{Offer: model, Kind: kind, Model: model})
	}
	return out
}

func (lists) PickFromList(from, to []byte, offers map[string]bool) (edit.Prices, error) {
	a, b := parsed(from), parsed(to)
	for model := range offers {
		if a[model] = b[model]; a[model] == "" {
			delete(a, model)
		}
	}
	var lines []string
	for _, model := range slices.Sorted(maps.Keys(a)) {
		lines = append(lines, model+" "+a[model])
	}
	text := strings.Join(lines, "\n")
	return edit.Prices{List: text, Data: []byte(text)}, nil
}

func (m *memory) CatalogHistory(_ context.Context, before int64, count int) ([]edit.Entry, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	var out []edit.Entry
	for i := len(m.entries) - 1; i >= 0 && len(out) < count; i-- {
		if before == 0 || m.entries[i].Version < before {
			out = append(out, m.entries[i])
		}
	}
	return out, nil
}

// world is what exists outside the database: a built-in provider that is on, one that is off, and one that a file declares.
type world struct {
	declared rate.Declared
	env      map[string]string
	ring     *seal.Ring
	now      time.Time
	file     map[string]string // further providers that the file declares
}

func (w *world) DeclaredRate() rate.Declared { return w.declared }

func (w *world) lookup(name string) (string, bool) {
	v, ok := w.env[name]
	return v, ok
}

func (w *world) base(list map[string]string, r rate.Effective, kept map[string]edit.Credential) (*edit.Base, error) {
	dollars := func(usd string) money.Price {
		p, err := r.PerThousand(usd, 1_000_000)
		if err != nil {
			panic(err)
		}
		return p
	}
	builtin := func(provider, model string) catalog.Offer {
		price := "1"
		if provider == "open" {
			price = list[strings.TrimPrefix(model, "acme/")]
		}
		return catalog.Offer{Provider: provider, Model: model, ContextLength: 1000, Pricing: catalog.Pricing{
			Base: catalog.Prices{Prompt: dollars(price), Completion: dollars("2"), CacheRead: dollars("0.5")}, List: "builtin-1", Rate: r.Version}}
	}
	b := &edit.Base{FileProviders: map[string]string{"filed": "weir.yaml:7"}, FileEndpoints: map[string]string{"filed/acme/small": "weir.yaml:12"}, Env: w.lookup}
	b.Declared = catalog.Declared{
		Providers: []catalog.Provider{
			{ID: "open", Name: "Open", Dialect: "openai", BaseURL: "https://open.example/v1", Key: "sk-of-the-environment", Quirks: catalog.Quirks{Rename: map[string]string{"a": "b"}}},
			{ID: "filed", Dialect: "openai", BaseURL: "https://filed.example/v1"},
		},
		Offers: []catalog.Offer{builtin("filed", "acme/small")},
	}
	for model := range list {
		b.Offers = append(b.Offers, builtin("open", "acme/"+model))
	}
	for id, at := range w.file {
		b.Providers = append(b.Providers, catalog.Provider{ID: id, Dialect: "openai", BaseURL: "https://file.example/v1"})
		b.FileProviders[id] = at
	}
	quiet := catalog.Provider{ID: "quiet", Name: "Quiet", Dialect: "openai", BaseURL: "https://quiet.example/v1"}
	if c, ok := kept["quiet"]; ok {
		quiet.Key = c.Key
		b.Providers = append(b.Providers, quiet)
		b.Offers = append(b.Offers, builtin("quiet", "acme/large"))
	} else {
		b.Known = []catalog.Provider{quiet}
	}
	return b, nil
}

func (w *world) BuildCatalog(s *edit.State, serving bool) (*edit.Built, error) {
	r, err := rate.At(w.declared, s.Rates, w.now)
	if err != nil {
		return nil, err
	}
	credentials := s.Credentials(w.ring, w.lookup)
	if !serving {
		for id, c := range credentials {
			c.Err = nil
			credentials[id] = c
		}
	}
	published := s.PricesAt(w.now)
	inUse := lists{}.ListInUse(&published)
	base, err := w.base(parsed(inUse.Data), r, credentials)
	if err != nil {
		return nil, err
	}
	return edit.Build(base, s.At(w.now, base), r, credentials)
}

// shop is an editor over a memory and a world.
type shop struct {
	*edit.Editor
	t     *testing.T
	store *memory
	world *world
}

var admin = audit.Actor{Name: "key:key_admin", From: "192.0.2.1"}

func open(t *testing.T) *shop {
	t.Helper()
	master := make([]byte, 32)
	for i := range master {
		master[i] = byte(i)
	}
	ring, err := seal.NewRing(master)
	if err != nil {
		t.Fatal(err)
	}
	w := &world{declared: rate.Declared{RubPerUSD: "100", Margin: "0", Version: "usd=100 margin=0"}, env: map[string]string{"THEIR_KEY": "sk-from-a-variable"},
		ring: ring, now: time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC), file: map[string]string{}}
	s := &shop{t: t, store: &memory{lists: map[string][]byte{}}, world: w}
	s.Editor = edit.NewEditor(s.store, w, ring, func() time.Time { return w.now }, nil).WithLists(lists{})
	return s
}

func (s *shop) must(c edit.Change) *edit.Built {
	s.t.Helper()
	b, err := s.Change(s.t.Context(), c, admin)
	if err != nil {
		s.t.Fatalf("%s %s: %v", c.Kind, c.ID, err)
	}
	return b
}

func (s *shop) built() *edit.Built {
	s.t.Helper()
	b, err := s.Built(s.t.Context())
	if err != nil {
		s.t.Fatal(err)
	}
	return b
}

// refused checks that a change fails with a fault of a kind about a field, and leaves no trace.
func (s *shop) refused(c edit.Change, kind fault.Kind, param string) *fault.Error {
	s.t.Helper()
	before := s.store.state.Version
	_, err := s.Change(s.t.Context(), c, admin)
	f := fault.From(err)
	if f == nil || f.Kind != kind || f.Param != param {
		s.t.Errorf("%s %s: %v (param %q); want %s about %q", c.Kind, c.ID, err, f.Param, kind, param)
		return &fault.Error{}
	}
	if s.store.state.Version != before || len(s.store.events) != len(s.store.entries) {
		s.t.Error("a refused change left something behind")
	}
	return f
}

var hut = edit.Spec{"base_url": "https://hut.example/v1", "name": "Hut"}

// addHut adds a provider of the database with one endpoint.
func (s *shop) addHut() *edit.Built {
	s.t.Helper()
	s.must(edit.Change{Kind: edit.Provider, ID: "hut", Create: true, Set: hut})
	return s.must(edit.Change{Kind: edit.Endpoint, ID: "hut/acme/tiny", Create: true, Set: edit.Spec{
		"provider": "hut", "model": "acme/tiny", "price_usd.prompt": "0.6", "price_usd.completion": "0.9", "context_length": "8000", "params": "temperature,tools"}})
}
