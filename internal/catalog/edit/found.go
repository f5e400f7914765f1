package edit

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"weir/internal/catalog"
	"weir/internal/fault"
	"weir/internal/money"
)

// Found is what a server that is asked for its models has said. What it said last stays when it does not answer.
type Found struct {
	Provider string
	Server   string    // one of the Server constants; "" until it has answered
	Asked    time.Time // when it was asked last
	At       time.Time // when it answered last; zero: never
	Problem  string    // why it did not answer when it was asked last; "": it did
	Notes    []string  // what of its answer was left out or is doubtful, and why
	Models   []FoundModel
	Version  int64 // of all lists, at which this one was changed last
}

// The servers whose answers are understood.
const (
	ServerOllama   = "ollama"
	ServerVLLM     = "vllm"
	ServerSGLang   = "sglang"
	ServerLlamaCpp = "llama.cpp"
	ServerLMStudio = "lmstudio"
	ServerOther    = "other" // it lists models, and says no more of them
)

// FoundModel is a model as its server reports it.
type FoundModel struct {
	ID           string // the server's own
	Type         string // catalog.TypeChat or catalog.TypeEmbedding
	Context      int64  // tokens that it is served with; 0: unknown
	Trained      int64  // tokens that it could be served with; 0: unknown
	Asked        int64  // tokens that its own settings name; 0: none
	Input        catalog.Modality
	Tools        Ability
	Reasons      Ability
	Quantization string
	Loaded       bool
	Mark         string // changes with the model: what is known of it need not be asked again; "" where the server has none
}

// Ability says whether a model can do something.
type Ability uint8

// The abilities.
const (
	Unknown Ability = iota
	Can
	Cannot
)

// Same reports whether two answers say the same of the models.
func (f *Found) Same(g *Found) bool {
	return f.Server == g.Server && slices.Equal(f.Models, g.Models) && slices.Equal(f.Notes, g.Notes)
}

// FoundLists keeps what servers have said, for all nodes.
type FoundLists interface {
	// FoundVersion changes with each list.
	FoundVersion(ctx context.Context) (int64, error)
	// Found lists all, by provider.
	Found(ctx context.Context) ([]Found, error)
	// ClaimFound marks a provider as asked, unless another node has done so since: of several nodes one asks. was is zero for the first time.
	ClaimFound(ctx context.Context, provider string, was, now time.Time) (bool, error)
	// PutFound keeps an answer. Its version becomes a new one if changed is set.
	PutFound(ctx context.Context, f *Found, changed bool) error
}

// Discovery is how models of a provider are offered that it names itself.
type Discovery struct {
	Vendor  string // first part of their names; "": the provider's id
	Context int64  // tokens that a model is served with of which the server does not say it; 0: unknown
	Pricing catalog.Pricing
	Priced  bool // the operator has set prices
}

// FoundSlug is the name of a model that a server calls by an id, "" where none can be made: its slashes become hyphens, files lose their folder.
func FoundSlug(vendor, id string) string {
	name := strings.TrimSuffix(id, ":latest")
	if file := strings.TrimSuffix(name, ".gguf"); file != name || strings.HasPrefix(name, "/") || strings.HasPrefix(name, ".") {
		name = file[strings.LastIndexAny(file, `/\`)+1:]
	}
	name = strings.Map(func(r rune) rune {
		switch {
		case r >= 'a' && r <= 'z', r >= 'A' && r <= 'Z', r >= '0' && r <= '9', strings.ContainsRune("-._:@+", r):
			return r
		}
		return '-'
	}, name)
	slug := vendor + "/" + strings.TrimLeft(name, "-._:@+")
	if base, variant := catalog.SplitVariant(slug); variant != catalog.NoVariant { // a request for it would mean something else
		slug = base + "-" + string(variant)
	}
	if catalog.CheckSlug(slug) != nil {
		return ""
	}
	return slug
}

// The parameters that a model has which can do something.
const (
	toolParams   = catalog.ParamTools | catalog.ParamToolChoice | catalog.ParamParallelToolCalls
	reasonParams = catalog.ParamIncludeReasoning | catalog.ParamReasoning | catalog.ParamReasoningEffort
)

// offer is a model as it is offered.
func (m *FoundModel) offer(provider, slug string, d *Discovery) catalog.Offer {
	o := catalog.Offer{
		Provider: provider, Model: slug, UpstreamID: m.ID, Quantization: m.Quantization, Pricing: d.Pricing, Input: m.Input,
		ContextLength: cmp.Or(m.Context, m.Trained),
	}
	if m.Type == catalog.TypeEmbedding {
		o.Pricing.Base = catalog.Prices{Prompt: d.Pricing.Base.Prompt, Request: d.Pricing.Base.Request}
		return o
	}
	without := catalog.Params(0)
	if m.Tools == Cannot {
		without |= toolParams
	}
	if m.Reasons == Cannot {
		without |= reasonParams
	}
	if without != 0 {
		o.Params = catalog.AllParams &^ without
	}
	return o
}

// discovered adds the models that servers have named themselves. A server is not trusted: what would make the catalog invalid is left out.
func (m *merger) discovered(add func(EndpointView) error) error {
	types := map[string]string{}
	for i := range m.models {
		types[m.models[i].Slug] = cmp.Or(m.models[i].Type, catalog.TypeChat)
	}
	for i := range m.out.Providers {
		v := &m.out.Providers[i]
		if v.Discovery == nil {
			continue
		}
		if v.Found = m.state.FoundOf(v.ID); v.Found == nil {
			continue
		}
		var left []string
		seen := map[string]bool{}
		for j := range v.Found.Models {
			found := &v.Found.Models[j]
			slug := FoundSlug(cmp.Or(v.Discovery.Vendor, v.ID), found.ID)
			kind, known := types[slug]
			switch {
			case slug == "" || seen[slug] || known && kind != found.Type:
				left = append(left, found.ID)
				continue
			case !known && found.Type != catalog.TypeChat:
				m.models = append(m.models, catalog.ModelInfo{Slug: slug, Type: found.Type})
			}
			seen[slug], types[slug] = true, found.Type
			o := found.offer(v.ID, slug, v.Discovery)
			o.UpdatedAt = v.Found.At
			if err := add(EndpointView{Offer: o, ID: o.EndpointID(), Origin: FromServer}); err != nil {
				return err
			}
		}
		if len(left) > 0 {
			m.leave("models that the server of the provider %q names: no other name can be made of theirs, or another model has it: %s", v.ID, someOf(left))
		}
	}
	return nil
}

// discovery reads from a row whether the server of a provider is asked for its models.
func (m *merger) discovery(v *ProviderView) error {
	s := v.Row.Spec
	if s["models"] == "" {
		return nil
	}
	if v.Origin != FromDatabase {
		return fault.Field("edit.Provider", "models", "The models of a provider that is built in are known: add a provider of your own for a server of yours.")
	}
	d := Discovery{Vendor: s["vendor"], Context: s.integer("context_length")}
	if s.priced() {
		var err error
		if d.Pricing, err = s.pricing(m.out.Rate); err != nil {
			return err
		}
	}
	d.Pricing.List = "database-" + strconv.FormatInt(v.Row.Version, 10)
	d.Complete(s.priced())
	v.Discovery = &d
	return nil
}

// Complete gives prices to what has none: a model of a server of one's own is free, unless the operator says otherwise.
func (d *Discovery) Complete(priced bool) {
	d.Priced = priced
	for _, p := range []*money.Price{&d.Pricing.Base.Prompt, &d.Pricing.Base.Completion} {
		if !p.Set {
			*p = money.Price{Set: true}
		}
	}
}

// checkDiscovery checks what rows say of asking a server.
func checkDiscovery(s Spec, p *catalog.Provider) error {
	asks := s["models"] != ""
	for name := range s {
		group, _, _ := strings.Cut(name, ".")
		if !asks && slices.Contains([]string{"vendor", "context_length", "prices", "price_usd"}, group) {
			return fault.Field("edit.Provider", name, "%s is for a provider with models: discover.", name)
		}
	}
	switch {
	case !asks:
	case s["models"] != DiscoverModels:
		return fault.Field("edit.Provider", "models", "models must be %s, which has the server asked for its models. Others are endpoints of their own.", DiscoverModels)
	case s["vendor"] != "" && catalog.CheckSlug(s["vendor"]+"/x") != nil:
		return fault.Field("edit.Provider", "vendor", "vendor may hold only letters, digits and -._:@+, and begin with a letter or digit.")
	case p.Dialect != "openai":
		return fault.Field("edit.Provider", "models", "models: discover needs the dialect openai: only servers with that wire are asked.")
	}
	return nil
}

// DiscoverModels, in the place of models, has their server asked for them.
const DiscoverModels = "discover"

// someOf are the first of a list, and how many more there are.
func someOf(list []string) string {
	const most = 5
	if len(list) <= most {
		return strings.Join(list, ", ")
	}
	return fmt.Sprintf("%s and %d more", strings.Join(list[:most], ", "), len(list)-most)
}

// FoundVersion is that of what servers have said.
func (s *State) FoundVersion() (version int64) {
	for i := range s.Found {
		version = max(version, s.Found[i].Version)
	}
	return version
}

// FoundOf is what the server of a provider has said, nil if it was never asked.
func (s *State) FoundOf(provider string) *Found {
	for i := range s.Found {
		if s.Found[i].Provider == provider {
			return &s.Found[i]
		}
	}
	return nil
}
