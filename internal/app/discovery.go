package app

import (
	"context"
	"errors"
	"fmt"
	"hash/fnv"
	"log/slog"
	"net/url"
	"os"
	"slices"
	"strings"
	"sync"
	"time"

	"weir/internal/catalog"
	"weir/internal/catalog/discover"
	"weir/internal/catalog/edit"
	"weir/internal/config"
	"weir/internal/loop"
	"weir/internal/outbound"
	"weir/internal/outbound/tunnel"
	"weir/internal/redact"
	"weir/internal/upstream"
)

// How servers are asked for their models: each a minute after it was asked last, by one of the nodes.
const (
	foundEvery = time.Minute
	foundLook  = 5 * time.Second // how often a node looks which is due
	foundFor   = 30 * time.Second
	foundMost  = 8 // servers at a time
)

// finder asks servers for their models, and keeps the answers for all nodes.
type finder struct {
	store   edit.FoundLists
	look    func(ctx context.Context, p *catalog.Provider, address string, body []byte, most int64) (int, []byte, error)
	built   func() *edit.Built
	changed func(context.Context)
	redact  func(text string) string
	now     func() time.Time
	log     *slog.Logger
}

// finding returns a loop that asks the servers of the current catalog.
func (g *Gateway) finding() *loop.Loop {
	return loop.New(0, func(ctx context.Context) time.Duration {
		g.finder.round(ctx)
		return foundLook
	})
}

func redacted(r *redact.Redactor) func(string) string {
	return func(text string) string { return string(r.Redact([]byte(text))) }
}

// asksServers reports whether a server is asked for its models.
func (g *Gateway) asksServers() bool { return slices.ContainsFunc(g.built.Load().Providers, isAsked) }

func isAsked(v edit.ProviderView) bool { return v.On && v.Discovery != nil }

// round asks the servers that are due.
func (f *finder) round(ctx context.Context) {
	b := f.built()
	if !slices.ContainsFunc(b.Providers, isAsked) {
		return
	}
	lists, err := f.store.Found(ctx)
	if err != nil {
		return // those that need the store report it
	}
	var all sync.WaitGroup
	places := make(chan struct{}, foundMost)
	var mu sync.Mutex
	changed := false
	for i := range b.Providers {
		v := &b.Providers[i]
		before := (&edit.State{Found: lists}).FoundOf(v.ID)
		now := f.now().UTC().Truncate(time.Microsecond)
		if !isAsked(*v) || before != nil && now.Sub(before.Asked) < foundEvery+spread(v.ID) {
			continue
		}
		var was time.Time
		if before != nil {
			was = before.Asked
		}
		if mine, err := f.store.ClaimFound(ctx, v.ID, was, now); err != nil || !mine {
			continue
		}
		all.Go(func() {
			places <- struct{}{}
			defer func() { <-places }()
			found, differs := f.ask(ctx, v, before, now)
			if ctx.Err() != nil {
				return
			}
			if err := f.store.PutFound(ctx, &found, differs); err != nil {
				f.log.Warn("the models of a server cannot be kept", "provider", v.ID, "error", err)
				return
			}
			mu.Lock()
			changed = changed || differs
			mu.Unlock()
		})
	}
	all.Wait()
	if changed {
		f.changed(ctx)
	}
}

// spread keeps servers from being asked in the same moment.
func spread(id string) time.Duration {
	h := fnv.New32a()
	_, _ = h.Write([]byte(id))
	return time.Duration(h.Sum32()%10) * time.Second
}

// ask asks one server. Without an answer its former models stay.
func (f *finder) ask(ctx context.Context, v *edit.ProviderView, before *edit.Found, now time.Time) (found edit.Found, differs bool) {
	if before != nil {
		found = *before
	}
	found.Provider, found.Asked = v.ID, now
	answer, err := f.models(ctx, v, before)
	if err != nil {
		was := found.Problem
		found.Problem = err.Error()
		if was == "" {
			f.log.Warn("the server of a provider does not say which models it has; those that it has named before stay", "provider", v.ID, "models", len(found.Models), "error", found.Problem)
		}
		return found, found.Problem != was
	}
	answer.Provider, answer.Asked, answer.At, answer.Version = v.ID, now, now, found.Version
	if before == nil || found.At.IsZero() || found.Problem != "" || !answer.Same(&found) {
		added, gone := difference(found.Models, answer.Models)
		f.log.Info("the server of a provider has said which models it has", "provider", v.ID, "server", answer.Server, "models", len(answer.Models), "new", added, "gone", gone, "notes", strings.Join(answer.Notes, "; "))
		return answer, true
	}
	return answer, false
}

// models is what one server answers; the error is a sentence for the operator.
func (f *finder) models(ctx context.Context, v *edit.ProviderView, before *edit.Found) (edit.Found, error) {
	ctx, stop := context.WithTimeout(ctx, foundFor)
	defer stop()
	ask := func(ctx context.Context, address string, body []byte) (int, []byte, error) {
		return f.look(ctx, &v.Provider, address, body, discover.MaxBytes+1)
	}
	answer, err := discover.Models(ctx, ask, f.address(v), v.Discovery.Context, before)
	switch {
	case errors.Is(err, context.DeadlineExceeded):
		return answer, fmt.Errorf("it has not answered within %s", foundFor)
	case err != nil:
		return answer, errors.New(f.redact(err.Error()))
	case answer.Server == edit.ServerOther && !v.Discovery.Priced:
		return answer, errors.New("it is none of Ollama, vLLM, SGLang, llama.cpp and LM Studio, so that its models may cost money: set prices of the provider")
	}
	return answer, nil
}

// address is that of a provider as calls use it: an operator may write it in other ways.
func (f *finder) address(v *edit.ProviderView) string {
	if p := f.built().Snapshot.Providers[v.ID]; p != nil {
		return p.BaseURL
	}
	return v.BaseURL
}

// difference counts the models that are in one list only.
func difference(before, after []edit.FoundModel) (added, gone int) {
	has := func(list []edit.FoundModel, id string) bool {
		return slices.ContainsFunc(list, func(m edit.FoundModel) bool { return m.ID == id })
	}
	for i := range after {
		if !has(before, after[i].ID) {
			added++
		}
	}
	for i := range before {
		if !has(after, before[i].ID) {
			gone++
		}
	}
	return added, gone
}

// once asks the server of a provider now, whenever it was asked last, and returns what it has said as a trial. nil: it is not asked for its models.
func (f *finder) once(ctx context.Context, v *edit.ProviderView, ways *tunnel.Dialer) (*Trial, error) {
	if v == nil || v.Discovery == nil {
		return nil, nil
	}
	lists, err := f.store.Found(ctx)
	if err != nil {
		return nil, err
	}
	began := f.now()
	found, differs := f.ask(ctx, v, (&edit.State{Found: lists}).FoundOf(v.ID), began.UTC().Truncate(time.Microsecond))
	t := foundTrial(v, &found, ways)
	t.Took = f.now().Sub(began)
	if err := f.store.PutFound(ctx, &found, differs); err != nil {
		return nil, err
	}
	if differs && f.changed != nil {
		f.changed(ctx)
	}
	return &t, nil
}

// foundModels is the type of a trial in which a server is asked for its models.
const foundModels = "models"

func foundTrial(v *edit.ProviderView, found *edit.Found, ways *tunnel.Dialer) Trial {
	t := Trial{Type: foundModels, Dialect: v.Dialect, Address: v.BaseURL, Way: outbound.Direct}
	if u, err := url.Parse(v.BaseURL); err == nil {
		t.Way = ways.Ways.To(v.Proxy, outbound.HostPort(u)).String()
	}
	if found.Problem != "" {
		t.Wrong, t.Detail = wrongAddress, found.Problem
		if len(found.Models) > 0 {
			t.Advice = append(t.Advice, fmt.Sprintf("The %d models that it named at %s stay.", len(found.Models), found.At.UTC().Format(time.DateTime)))
		}
		return t
	}
	t.Advice = append(t.Advice, foundSentence(v, found))
	for _, note := range found.Notes {
		t.Advice = append(t.Advice, sentence(note))
	}
	return t
}

// serverNames are the names of servers as people write them.
var serverNames = map[string]string{
	edit.ServerOllama: "Ollama", edit.ServerVLLM: "vLLM", edit.ServerSGLang: "SGLang", edit.ServerLlamaCpp: "llama.cpp", edit.ServerLMStudio: "LM Studio", edit.ServerOther: "The server",
}

// foundSentence says what a server has.
func foundSentence(v *edit.ProviderView, found *edit.Found) string {
	vendor := v.ID
	if v.Discovery.Vendor != "" {
		vendor = v.Discovery.Vendor
	}
	const most = 12
	var names []string
	for i := range found.Models {
		m := &found.Models[i]
		if len(names) == most {
			names = append(names, fmt.Sprintf("and %d more", len(found.Models)-most))
			break
		}
		length := "length unknown"
		if m.Context > 0 {
			length = fmt.Sprintf("%d tokens", m.Context)
		} else if m.Trained > 0 {
			length = fmt.Sprintf("%d tokens", m.Trained)
		}
		names = append(names, edit.FoundSlug(vendor, m.ID)+" ("+length+")")
	}
	if len(names) == 0 {
		return serverNames[found.Server] + " has no model."
	}
	return fmt.Sprintf("%s has %d models: %s.", serverNames[found.Server], len(found.Models), strings.Join(names, ", "))
}

// asked is the catalog of a configuration and of the store, after the server of a provider was asked for its models; the trial is nil for one that is
// not asked.
func asked(ctx context.Context, cfg config.Config, id string) (*edit.Built, *Trial, error) {
	l := &live{now: time.Now, cfg: cfg}
	var err error
	if l.ring, err = cfg.Ring(os.LookupEnv); err != nil {
		return nil, nil, err
	}
	dialer := dialerOf(&cfg)
	redactor := redact.New(cfg.Secrets()...)
	client := upstream.New(upstreamConfig(cfg, redactor, dialer))
	defer client.Close()
	f := finder{look: client.Look, redact: redacted(redactor), now: time.Now, log: slog.New(slog.DiscardHandler)}
	o, err := OpenAdmin(ctx, cfg, false)
	if IsNoLedger(err) {
		memory := &foundInMemory{}
		return f.rebuilt(ctx, l, id, dialer, memory, func(s *edit.State) error {
			s.Found = memory.list
			return nil
		})
	}
	if err != nil {
		return nil, nil, err
	}
	defer o.Close()
	return f.rebuilt(ctx, l, id, dialer, o.Store.Catalog, func(s *edit.State) (err error) {
		*s, err = o.Store.Catalog.CatalogState(ctx)
		return err
	})
}

func (f *finder) rebuilt(ctx context.Context, l *live, id string, dialer *tunnel.Dialer, store edit.FoundLists, read func(*edit.State) error) (*edit.Built, *Trial, error) {
	f.store = store
	var s edit.State
	if err := read(&s); err != nil {
		return nil, nil, err
	}
	b, err := l.BuildCatalog(&s, true)
	if err != nil {
		return nil, nil, err
	}
	f.built = func() *edit.Built { return b }
	t, err := f.once(ctx, b.Provider(id), dialer)
	if err != nil || t == nil {
		return b, nil, err
	}
	if err := read(&s); err != nil {
		return nil, nil, err
	}
	b, err = l.BuildCatalog(&s, true)
	return b, t, err
}

// foundInMemory keeps answers where there is no ledger yet.
type foundInMemory struct{ list []edit.Found }

func (m *foundInMemory) FoundVersion(context.Context) (int64, error) { return 0, nil }
func (m *foundInMemory) Found(context.Context) ([]edit.Found, error) { return m.list, nil }
func (m *foundInMemory) ClaimFound(context.Context, string, time.Time, time.Time) (bool, error) {
	return true, nil
}

func (m *foundInMemory) PutFound(_ context.Context, f *edit.Found, _ bool) error {
	m.list = []edit.Found{*f}
	return nil
}

// found examines what servers have said that are asked for their models.
func (d *Doctor) found(b *edit.Built) {
	for i := range b.Providers {
		v := &b.Providers[i]
		if v.Discovery == nil || !v.On {
			continue
		}
		part := "provider " + v.ID
		switch f := v.Found; {
		case f == nil || f.At.IsZero() && f.Problem == "":
			d.say(Weak, part, "weir provider test "+v.ID, "its server was not asked for its models yet")
		case f.Problem != "" && f.At.IsZero():
			d.say(Bad, part, "weir provider test "+v.ID, "its server has never said which models it has: %s", f.Problem)
		case f.Problem != "":
			d.say(Weak, part, "weir provider test "+v.ID, "its server does not say which models it has; the %d of %s stay: %s", len(f.Models), f.At.UTC().Format(time.DateTime), f.Problem)
		case len(f.Notes) > 0:
			d.say(Weak, part, "see docs/local-models.md", "%s %s", foundSentence(v, f), strings.Join(f.Notes, "; "))
		default:
			d.good(part, "%s", foundSentence(v, f))
		}
	}
}
