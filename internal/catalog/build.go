package catalog

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strings"
	"time"
)

// Declared is a catalog as someone wrote it down: plain values without pointers between them, not yet checked.
type Declared struct {
	Providers []Provider
	Models    []ModelInfo // facts about models beyond their offers; a model without an entry here is described by its offers
	Offers    []Offer
	Families  []Family // facts of families of models; a later one counts before an earlier one

	Aliases    map[string]string    // other slugs of models -> their own
	Retired    map[string]time.Time // slugs of offers that are left out because they have retired -> the last of their days
	PricesAsOf time.Time            // day of the built-in price list; zero without one
	KnownSince time.Time            // a day on which models without a date of their own existed; zero: unknown

	AttemptBudget time.Duration // what the time-outs among the facts must be shorter than; 0: unbounded
}

// Append adds another part's declarations, such as the built-in catalog's. What is declared twice, Build refuses.
func (d *Declared) Append(more Declared) {
	d.Providers = append(d.Providers, more.Providers...)
	d.Models = append(d.Models, more.Models...)
	d.Offers = append(d.Offers, more.Offers...)
	d.Families = append(d.Families, more.Families...)
	if d.Aliases == nil {
		d.Aliases = more.Aliases
	}
	if d.Retired == nil {
		d.Retired = more.Retired
	}
	if d.PricesAsOf.IsZero() {
		d.PricesAsOf = more.PricesAsOf
	}
	if d.KnownSince.IsZero() {
		d.KnownSince = more.KnownSince
	}
}

// ModelInfo describes a model independently of its providers.
type ModelInfo struct {
	Slug          string
	Name          string // "": made from the slug
	Description   string
	DescriptionRU string // the same in Russian; "": absent
	Type          string // one of the Type constants; "": TypeChat
	HubID         string
	Created       time.Time
	ContextLength int64       // 0: the longest among its endpoints
	Video         *VideoFacts // of video models
}

// Offer is one provider's declared offer of one model; Build turns it into an Endpoint.
type Offer struct {
	Provider      string // provider id
	Model         string // slug
	UpstreamID    string // "": the slug's part after the slash
	UpstreamModel string // the maker's name of the model where UpstreamID is another; ""
	Region        string // middle part of the tag, such as a region or "turbo"; ""
	Tier          string // "": "default"
	Variant       string // "": "standard"
	Pricing       Pricing
	Quantization  string
	ContextLength int64
	MaxCompletion int64
	Params        Params   // 0: AllParams
	Listed        Facts    // what a price list says of it: those of its family and provider count before these
	Facts         Facts    // what it has counts before those of its family and provider
	Input         Modality // 0: AllModalities
	Output        Modality // 0: the default of its type: Text, Image, Audio or Video
	MaxN          int
	MaxInFlight   int64 // 0: the node's default
	Place, Weight int64 // see Endpoint
	ImplicitCache bool
	UpdatedAt     time.Time
	Retires       time.Time // day from which the provider does not serve it; zero: none is known
	Where         string    // where it was declared, put before error sentences; ""
}

// The model types.
const (
	TypeChat          = "chat"
	TypeEmbedding     = "embedding"
	TypeModeration    = "moderation"
	TypeTranscription = "audio_transcription"
	TypeImage         = "image"
	TypeVideo         = "video"
	TypeSpeech        = "audio_speech"
	TypeRerank        = "rerank"
)

// SimulatedVendor is the vendor of the simulator's models. Only they may be served by a simulated provider,
// so that no real model falls back to it.
const SimulatedVendor = "sim"

// Build checks a declared catalog and freezes it. Its error joins one sentence for each thing that is wrong.
func Build(d Declared) (*Snapshot, error) {
	b := builder{
		snap:  &Snapshot{Providers: make(map[string]*Provider, len(d.Providers)), models: make(map[string]*Model, len(d.Models)), PricesAsOf: d.PricesAsOf},
		names: map[string]string{},
		ids:   map[string]bool{},
		wires: map[string]*Provider{},

		budget: d.AttemptBudget,
	}
	b.known(d.Families)
	for i := range d.Providers {
		b.provider(d.Providers[i])
	}
	for i := range d.Models {
		b.model(&d.Models[i])
	}
	for i := range d.Offers {
		b.offer(&d.Offers[i])
	}
	if len(b.errs) > 0 {
		return nil, errors.Join(b.errs...)
	}
	for _, m := range b.snap.models {
		if m.KnownSince = m.Created; m.KnownSince.IsZero() {
			m.KnownSince = d.KnownSince
		}
	}
	b.snap.aliases = map[string]*Model{}
	for old, slug := range d.Aliases {
		if m := b.snap.models[slug]; m != nil && b.snap.models[old] == nil {
			b.snap.aliases[old] = m
		}
	}
	for m, names := range b.snap.Aliases() {
		m.Names = names
	}
	b.snap.retired = map[string]time.Time{}
	for slug, day := range d.Retired {
		if m := b.snap.models[slug]; m == nil || len(m.Endpoints) == 0 {
			b.snap.retired[slug] = day
		}
	}
	for old, slug := range d.Aliases {
		if day, ok := b.snap.retired[slug]; ok {
			b.snap.retired[old] = day
		}
	}
	for old, m := range b.snap.aliases {
		if len(m.Endpoints) > 0 {
			delete(b.snap.retired, old) // its successor answers
		}
	}
	b.finish()
	return b.snap, nil
}

type builder struct {
	snap  *Snapshot
	names map[string]string    // lower-case id or display name of a provider -> its id
	ids   map[string]bool      // of endpoints
	wires map[string]*Provider // by Provider.Wire: those other than the main ones

	families []Family
	budget   time.Duration // Declared.AttemptBudget

	errs []error
}

func (b *builder) fail(where, format string, args ...any) {
	err := fmt.Errorf(format, args...)
	if where != "" {
		err = fmt.Errorf("%s: %w", where, err)
	}
	b.errs = append(b.errs, err)
}

func (b *builder) provider(p Provider) {
	what := fmt.Sprintf("provider %q", p.ID)
	if !plainPart(p.ID) || len(p.ID) > 64 {
		b.fail(what, "the id must be 1 to 64 letters, digits and -._:@+, beginning with a letter or digit")
		return
	}
	p.Name = cmp.Or(p.Name, p.ID)
	p.DataPolicy = cmp.Or(p.DataPolicy, PolicyUnknown)
	p.BaseURL = baseURL(p.Dialect, p.BaseURL)
	if b.snap.Providers[p.ID] != nil {
		b.fail(what, "this id is declared twice")
		return
	}
	// preferences may name a provider either way, so both share one name space
	for _, name := range []string{p.ID, p.Name} {
		key := strings.ToLower(name)
		if other, taken := b.names[key]; taken && other != p.ID {
			b.fail(what, "the name %q already means provider %q", name, other)
			return
		}
		b.names[key] = p.ID
	}
	if p.Dialect == "" {
		b.fail(what, "it has no dialect; write dialect: openai for an OpenAI-compatible server")
	}
	b.oneOf(what, "dialect", p.Dialect, Dialects())
	for kind, w := range p.Wires {
		b.oneOf(what, "wires."+kind+".dialect", w.Dialect, Dialects())
	}
	if err := checkBaseURL(p.BaseURL); err != nil {
		b.fail(what, "%w", err)
	}
	if !slices.Contains(policies, p.DataPolicy) {
		b.fail(what, "the data policy %q is not one of zero, transient, retained, training, unknown", p.DataPolicy)
	}
	b.checkQuirks(what, &p.Quirks)
	b.checkFacts(what, &p.Facts)
	b.checkWires(what, p.Wires)
	b.snap.Providers[p.ID] = &p
}

func (b *builder) checkWires(what string, wires map[string]Wire) {
	for _, kind := range slices.Sorted(maps.Keys(wires)) {
		b.oneOf(what, "model type of wires", kind, types)
		if base := wires[kind].BaseURL; base != "" {
			if err := checkBaseURL(base); err != nil {
				b.fail(what, "for models of type %s %w", kind, err)
			}
		}
	}
}

// over is the provider as it serves models of a type.
func (b *builder) over(p *Provider, kind string) *Provider {
	w, ok := p.Wires[kind]
	if !ok {
		return p
	}
	name := p.ID + " " + kind // no id has a space
	if have := b.wires[name]; have != nil {
		return have
	}
	q := *p
	q.wire, q.Dialect = name, cmp.Or(w.Dialect, p.Dialect)
	q.BaseURL = baseURL(q.Dialect, cmp.Or(strings.TrimRight(w.BaseURL, "/"), p.BaseURL))
	b.wires[name] = &q
	return &q
}

func checkBaseURL(text string) error {
	u, err := url.Parse(text)
	switch {
	case text == "":
		return errors.New("it has no base URL")
	case err != nil:
		return errors.New("its base URL cannot be read") // the parser's own text would repeat credentials
	case u.Scheme != "http" && u.Scheme != "https" || u.Host == "":
		return errors.New("its base URL must begin with https:// or http:// and a host")
	case u.User != nil:
		return errors.New("its base URL must not contain credentials; use api_key")
	case u.RawQuery != "" || u.Fragment != "":
		return errors.New("its base URL must not contain a query or a fragment")
	}
	return nil
}

func (b *builder) model(info *ModelInfo) {
	what := fmt.Sprintf("model %q", info.Slug)
	if err := CheckSlug(info.Slug); err != nil {
		b.fail("", "%w", err)
		return
	}
	if b.snap.models[info.Slug] != nil {
		b.fail(what, "it is described twice")
		return
	}
	b.checkModel(what, info)
	m := newModel(info.Slug)
	m.Name = cmp.Or(info.Name, m.Name)
	m.Description, m.DescriptionRU, m.Created, m.ContextLength = info.Description, info.DescriptionRU, info.Created, info.ContextLength
	m.Type, m.HubID, m.Video = cmp.Or(info.Type, TypeChat), info.HubID, info.Video
	b.snap.models[info.Slug] = m
}

func newModel(slug string) *Model {
	vendor, name, _ := strings.Cut(slug, "/")
	sum := sha256.Sum256([]byte(slug))
	return &Model{ID: "mdl_" + hex.EncodeToString(sum[:10]), Slug: slug, Name: name, Vendor: vendor, Type: TypeChat}
}

func (b *builder) offer(o *Offer) {
	before := len(b.errs)
	what := fmt.Sprintf("provider %q, model %q", o.Provider, o.Model)
	if o.Where != "" {
		what = o.Where + ": " + what
	}
	if err := CheckSlug(o.Model); err != nil {
		b.fail(what, "%w", err)
		return
	}
	p := b.snap.Providers[o.Provider]
	if p == nil {
		b.fail(what, "no provider of that id is declared")
		return
	}
	m := b.snap.models[o.Model]
	if m == nil {
		m = newModel(o.Model)
	}
	ep := &Endpoint{
		Provider: b.over(p, m.Type), Model: m, UpstreamID: o.UpstreamID, UpstreamModel: o.UpstreamModel, Pricing: o.Pricing, Quantization: o.Quantization,
		ContextLength: o.ContextLength, MaxCompletion: o.MaxCompletion, Params: o.Params, Input: o.Input, Output: o.Output,
		Tier: cmp.Or(o.Tier, "default"), Region: o.Region, Variant: cmp.Or(o.Variant, "standard"), MaxN: o.MaxN, MaxInFlight: o.MaxInFlight, Place: o.Place, Weight: o.Weight, ImplicitCache: o.ImplicitCache, UpdatedAt: o.UpdatedAt, Retires: o.Retires,
	}
	if ep.UpstreamID == "" {
		_, ep.UpstreamID, _ = strings.Cut(o.Model, "/")
	}
	if ep.Params == 0 {
		ep.Params = AllParams
	}
	if ep.Input == 0 {
		ep.Input = inputOf(m.Type)
	}
	if ep.Output == 0 {
		ep.Output = outputOf(m.Type)
	}
	b.checkFacts(what, &o.Listed)
	b.checkFacts(what, &o.Facts)
	ep.Facts = b.facts(ep, o)
	ep.Tag, ep.ID = tagAndID(o, ep)
	if p.Simulated && m.Vendor != SimulatedVendor {
		b.fail(what, "the simulator may serve only models named %s/...", SimulatedVendor)
	}
	if b.ids[ep.ID] {
		b.fail(what, "it is offered twice under the tag %q; give one of them another region, variant or tier", ep.Tag)
	}
	b.checkOffer(what, o, ep)
	b.checkPricing(what, m, &ep.Pricing)
	b.schedule(what, m.Type, &ep.Pricing)
	if len(b.errs) > before {
		return
	}
	b.ids[ep.ID] = true
	b.snap.models[o.Model] = m
	m.Endpoints = append(m.Endpoints, ep)
}

// inputOf is the input of models of that type whose declaration lists none. It lists only what follows from the type; the provider
// refuses other input itself.
func inputOf(kind string) Modality {
	switch kind {
	case TypeTranscription:
		return Audio
	case TypeSpeech:
		return Text
	}
	return AllModalities
}

// outputOf is the default output of models of a type.
func outputOf(kind string) Modality {
	switch kind {
	case TypeImage:
		return Image
	case TypeVideo:
		return Video
	case TypeSpeech:
		return Audio
	}
	return Text
}

// tagAndID names an endpoint: "provider[/region][/variant][/tier]", and the same with the model's slug after the provider.
// What is usual (variant standard, tier default) is left out.
func tagAndID(o *Offer, ep *Endpoint) (tag, id string) {
	suffix := ""
	if o.Region != "" {
		suffix += "/" + o.Region
	}
	if ep.Variant != "standard" {
		suffix += "/" + ep.Variant
	}
	if ep.Tier != "default" {
		suffix += "/" + ep.Tier
	}
	return o.Provider + suffix, o.Provider + "/" + o.Model + suffix
}

// finish sorts the snapshot and derives the version from its content.
func (b *builder) finish() {
	s := b.snap
	s.ordered = make([]*Model, 0, len(s.models))
	for _, m := range s.models {
		s.ordered = append(s.ordered, m)
		slices.SortFunc(m.Endpoints, func(x, y *Endpoint) int { return strings.Compare(x.ID, y.ID) })
		if m.ContextLength == 0 {
			for _, ep := range m.Endpoints {
				m.ContextLength = max(m.ContextLength, ep.ContextLength)
			}
		}
		m.Summary, m.SummaryRU = m.describe()
	}
	slices.SortFunc(s.ordered, func(x, y *Model) int { return strings.Compare(x.Slug, y.Slug) })
	s.Version = version(s)
}
