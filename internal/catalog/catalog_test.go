package catalog_test

import (
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"weir/internal/catalog"
	"weir/internal/money"
)

func server(id string) catalog.Provider {
	return catalog.Provider{ID: id, Dialect: "openai", BaseURL: "https://" + id + ".test/v1"}
}

func priced(o catalog.Offer) catalog.Offer {
	o.Pricing.Base.Prompt = money.Price{Nano: 1, Set: true}
	o.Pricing.Base.Completion = money.Price{Nano: 2, Set: true}
	return o
}

func TestBuild(t *testing.T) {
	t.Parallel()
	snap, err := catalog.Build(catalog.Declared{
		Providers: []catalog.Provider{{ID: "b", Name: "Bee", Dialect: "openai", BaseURL: "https://b.test/v1/"}, server("a")},
		Models:    []catalog.ModelInfo{{Slug: "v/empty", Name: "Nobody serves it"}, {Slug: "v/z", ContextLength: 5}},
		Offers: []catalog.Offer{
			priced(catalog.Offer{Provider: "b", Model: "v/z", ContextLength: 100, Region: "eu", Tier: "flex"}),
			priced(catalog.Offer{Provider: "b", Model: "v/m", ContextLength: 100, UpstreamID: "M-1"}),
			priced(catalog.Offer{Provider: "a", Model: "v/m", ContextLength: 200, Variant: "free", Input: catalog.Text | catalog.Image, Params: catalog.ParamTools}),
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	var slugs []string
	for _, m := range snap.Models() {
		slugs = append(slugs, m.Slug)
	}
	if d := cmp.Diff([]string{"v/empty", "v/m", "v/z"}, slugs); d != "" {
		t.Error(d)
	}
	m, ok := snap.Model("v/m")
	if !ok || m.ContextLength != 200 || m.Vendor != "v" || m.Name != "m" || m.Type != "chat" || !strings.HasPrefix(m.ID, "mdl_") || len(m.Endpoints) != 2 {
		t.Fatalf("v/m is %+v", m)
	}
	free, plain := m.Endpoints[0], m.Endpoints[1]
	if free.ID != "a/v/m/free" || free.Tag != "a/free" || free.UpstreamID != "m" || free.Params != catalog.ParamTools || free.Input != catalog.Text|catalog.Image || free.Output != catalog.Text {
		t.Errorf("free endpoint is %+v", free)
	}
	if plain.ID != "b/v/m" || plain.Tag != "b" || plain.UpstreamID != "M-1" || plain.Params != catalog.AllParams || plain.Tier != "default" || plain.Variant != "standard" ||
		plain.Provider != snap.Providers["b"] || plain.Model != m {
		t.Errorf("plain endpoint is %+v", plain)
	}
	if z, _ := snap.Model("v/z"); z.ContextLength != 5 || z.Endpoints[0].Tag != "b/eu/flex" || z.Endpoints[0].ID != "b/v/z/eu/flex" {
		t.Errorf("v/z is %+v", z)
	}
	if p := snap.Providers["b"]; p.BaseURL != "https://b.test/v1" || p.DataPolicy != catalog.PolicyUnknown {
		t.Errorf("b is %+v", p)
	}
	if snap.Providers["a"].Name != "a" {
		t.Error("a provider without a name is called by its id")
	}
}

func TestBuildRefuses(t *testing.T) {
	t.Parallel()
	ok := priced(catalog.Offer{Provider: "p", Model: "v/m"})
	with := func(change func(*catalog.Offer)) catalog.Offer {
		o := ok
		change(&o)
		return o
	}
	one := []catalog.Provider{server("p")}
	cases := []struct {
		name string
		d    catalog.Declared
		want string
	}{
		{"provider id", catalog.Declared{Providers: []catalog.Provider{server("a/b")}}, "the id must be 1 to 64 letters"},
		{"provider twice", catalog.Declared{Providers: []catalog.Provider{server("p"), server("p")}}, "this id is declared twice"},
		{"names that clash", catalog.Declared{Providers: []catalog.Provider{server("p"), {ID: "q", Name: "P", Dialect: "openai", BaseURL: "http://q"}}}, `the name "P" already means provider "p"`},
		{"no dialect", catalog.Declared{Providers: []catalog.Provider{{ID: "p", BaseURL: "http://p"}}}, "it has no dialect"},
		{"no address", catalog.Declared{Providers: []catalog.Provider{{ID: "p", Dialect: "openai"}}}, "it has no base URL"},
		{"address without scheme", catalog.Declared{Providers: []catalog.Provider{{ID: "p", Dialect: "openai", BaseURL: "p.test/v1"}}}, "must begin with https://"},
		{"address with credentials", catalog.Declared{Providers: []catalog.Provider{{ID: "p", Dialect: "openai", BaseURL: "https://u:geheim@p.test"}}}, "must not contain credentials"},
		{"address with query", catalog.Declared{Providers: []catalog.Provider{{ID: "p", Dialect: "openai", BaseURL: "https://p.test?a=b"}}}, "must not contain a query"},
		{"unreadable address", catalog.Declared{Providers: []catalog.Provider{{ID: "p", Dialect: "openai", BaseURL: "https://geheim:x y@p.test"}}}, "cannot be read"},
		{"data policy", catalog.Declared{Providers: []catalog.Provider{{ID: "p", Dialect: "openai", BaseURL: "http://p", DataPolicy: "kind"}}}, `the data policy "kind" is not one of`},
		{"model twice", catalog.Declared{Models: []catalog.ModelInfo{{Slug: "v/m"}, {Slug: "v/m"}}}, "it is described twice"},
		{"slug", catalog.Declared{Models: []catalog.ModelInfo{{Slug: "m"}}}, `the model id "m" has no vendor`},
		{"unknown provider", catalog.Declared{Offers: []catalog.Offer{ok}}, "no provider of that id is declared"},
		{"place", catalog.Declared{Offers: []catalog.Offer{with(func(o *catalog.Offer) { o.Where = "weir.yaml:7" })}}, `weir.yaml:7: provider "p"`},
		{"twice", catalog.Declared{Providers: one, Offers: []catalog.Offer{ok, ok}}, `it is offered twice under the tag "p"`},
		{"no price", catalog.Declared{Providers: one, Offers: []catalog.Offer{{Provider: "p", Model: "v/m"}}}, "it has no price for prompt and completion"},
		{"negative price", catalog.Declared{Providers: one, Offers: []catalog.Offer{with(func(o *catalog.Offer) { o.Pricing.Base.Image.Nano = -1 })}}, "a price is negative"},
		{"negative threshold price", catalog.Declared{Providers: one, Offers: []catalog.Offer{with(func(o *catalog.Offer) {
			o.Pricing.Thresholds = []catalog.Threshold{{Above: 1, Prices: catalog.Prices{Prompt: money.Price{Nano: -1, Set: true}}}}
		})}}, "a price above 1 prompt tokens is negative"},
		{"threshold order", catalog.Declared{Providers: one, Offers: []catalog.Offer{with(func(o *catalog.Offer) { o.Pricing.Thresholds = []catalog.Threshold{{Above: 2}, {Above: 1}} })}}, "must be above 0 and ascend, but 1 follows 2"},
		{"tier", catalog.Declared{Providers: one, Offers: []catalog.Offer{with(func(o *catalog.Offer) { o.Tier = "slow" })}}, `the tier "slow" is not one of`},
		{"variant", catalog.Declared{Providers: one, Offers: []catalog.Offer{with(func(o *catalog.Offer) { o.Variant = "odd" })}}, `the variant "odd" is not one of`},
		{"quantization", catalog.Declared{Providers: one, Offers: []catalog.Offer{with(func(o *catalog.Offer) { o.Quantization = "int3" })}}, `the quantization "int3" is not one of`},
		{"region", catalog.Declared{Providers: one, Offers: []catalog.Offer{with(func(o *catalog.Offer) { o.Region = "a/b" })}}, `the region "a/b"`},
		{"negative limit", catalog.Declared{Providers: one, Offers: []catalog.Offer{with(func(o *catalog.Offer) { o.MaxN = -1 })}}, "a limit is negative"},
		{"answer above context", catalog.Declared{Providers: one, Offers: []catalog.Offer{with(func(o *catalog.Offer) { o.ContextLength, o.MaxCompletion = 10, 11 })}}, "its max_output of 11 tokens"},
		{"a real model from the simulator", catalog.Declared{Providers: []catalog.Provider{{ID: "p", Dialect: "openai", BaseURL: "http://p", Simulated: true}}, Offers: []catalog.Offer{ok}},
			"the simulator may serve only models named sim/..."},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			snap, err := catalog.Build(c.d)
			if err == nil || snap != nil || !strings.Contains(err.Error(), c.want) {
				t.Fatalf("error is %v, want %s", err, c.want)
			}
			if strings.Contains(err.Error(), "geheim") {
				t.Errorf("the error tells a password: %v", err)
			}
		})
	}
}

func TestBuildByType(t *testing.T) {
	t.Parallel()
	set := func(n int64) money.Price { return money.Price{Nano: n, Set: true} }
	text := catalog.Pricing{Base: catalog.Prices{Prompt: set(1), Completion: set(2)}}
	image := catalog.ImagePrice{Component: "image_output", Unit: catalog.UnitImage, Price: set(1), Basis: catalog.BasisFixed}
	for _, c := range []struct {
		name, kind string
		p          catalog.Pricing
		facts      *catalog.VideoFacts
		want       string // part of the error; "": none
	}{
		{"chat", catalog.TypeChat, text, nil, ""},
		{"chat without completion", catalog.TypeChat, catalog.Pricing{Base: catalog.Prices{Prompt: set(1)}}, nil, "no price for prompt and completion"},
		{"chat by the minute", catalog.TypeChat, catalog.Pricing{Base: text.Base, Rates: catalog.Rates{Minute: set(1)}}, nil, "a price for minute, which only models of type audio_transcription"},
		{"embedding", catalog.TypeEmbedding, catalog.Pricing{Base: catalog.Prices{Prompt: set(1)}}, nil, ""},
		{"embedding without prompt", catalog.TypeEmbedding, catalog.Pricing{Base: catalog.Prices{Completion: set(1)}}, nil, "no price for prompt, by which a model of type embedding"},
		{"free moderation", catalog.TypeModeration, catalog.Pricing{Base: catalog.Prices{Request: set(0)}}, nil, ""},
		{"moderation without price", catalog.TypeModeration, catalog.Pricing{}, nil, "no price for prompt or request"},
		{"transcription by the minute", catalog.TypeTranscription, catalog.Pricing{Rates: catalog.Rates{Minute: set(1)}}, nil, ""},
		{"transcription by tokens", catalog.TypeTranscription, text, nil, ""},
		{"transcription without price", catalog.TypeTranscription, catalog.Pricing{Base: catalog.Prices{Prompt: set(1)}}, nil, "no price for minute"},
		{"image by lines", catalog.TypeImage, catalog.Pricing{Images: []catalog.ImagePrice{image}}, nil, ""},
		{"image each", catalog.TypeImage, catalog.Pricing{Base: catalog.Prices{ImageOutputEach: set(1)}}, nil, ""},
		{"image by tokens", catalog.TypeImage, catalog.Pricing{Base: catalog.Prices{Prompt: set(1), ImageOutput: set(1)}}, nil, ""},
		{"image without price", catalog.TypeImage, catalog.Pricing{Base: catalog.Prices{Prompt: set(1)}}, nil, "no price for images"},
		{"image line twice", catalog.TypeImage, catalog.Pricing{Images: []catalog.ImagePrice{image, image}}, nil, "priced twice"},
		{"image line without price", catalog.TypeImage, catalog.Pricing{Images: []catalog.ImagePrice{{Component: "image_output", Unit: "image"}}}, nil, "has no price"},
		{"image line of an unknown unit", catalog.TypeImage, catalog.Pricing{Images: []catalog.ImagePrice{{Component: "image_output", Unit: "pixel", Price: set(1)}}}, nil, `the unit "pixel" is not one of`},
		{"image line without component", catalog.TypeImage, catalog.Pricing{Images: []catalog.ImagePrice{{Unit: "image", Price: set(1)}}}, nil, "no component"},
		{"video", catalog.TypeVideo, catalog.Pricing{Video: []catalog.VideoRule{{Resolution: "720p", PerSecond: set(1)}, {PerSecond: set(2)}}}, &catalog.VideoFacts{Resolutions: []string{"720p"}, Sizes: []string{"1280x720"}, Durations: []int{4}, AspectRatios: []string{"16:9"}, FrameImages: []string{"first_frame"}}, ""},
		{"video without price", catalog.TypeVideo, catalog.Pricing{}, nil, "no price for video"},
		{"video rule out of reach", catalog.TypeVideo, catalog.Pricing{Video: []catalog.VideoRule{{PerSecond: set(1)}, {Resolution: "720p", PerSecond: set(1)}}}, nil, "never applies"},
		{"video resolution without price", catalog.TypeVideo, catalog.Pricing{Video: []catalog.VideoRule{{Resolution: "720p", PerSecond: set(1)}}}, &catalog.VideoFacts{Resolutions: []string{"4K"}}, "no video rule prices 4K"},
		{"video of no length", catalog.TypeVideo, catalog.Pricing{Video: []catalog.VideoRule{{PerSecond: set(1)}}}, &catalog.VideoFacts{Durations: []int{0}}, "cannot last 0 seconds"},
		{"video of an odd size", catalog.TypeVideo, catalog.Pricing{Video: []catalog.VideoRule{{PerSecond: set(1)}}}, &catalog.VideoFacts{Sizes: []string{"1280*720"}}, "not written like 1280x720"},
		{"video of an odd ratio", catalog.TypeVideo, catalog.Pricing{Video: []catalog.VideoRule{{PerSecond: set(1)}}}, &catalog.VideoFacts{AspectRatios: []string{"16:0"}}, "not written like 16:9"},
		{"video from another frame", catalog.TypeVideo, catalog.Pricing{Video: []catalog.VideoRule{{PerSecond: set(1)}}}, &catalog.VideoFacts{FrameImages: []string{"middle"}}, `the frame image "middle" is not one of`},
		{"video facts of a chat model", catalog.TypeChat, text, &catalog.VideoFacts{Audio: true}, "its type is not video"},
		{"speech", catalog.TypeSpeech, catalog.Pricing{Rates: catalog.Rates{Characters: set(1)}}, nil, ""},
		{"speech without price", catalog.TypeSpeech, catalog.Pricing{}, nil, "no price for characters"},
		{"rerank", catalog.TypeRerank, catalog.Pricing{Base: catalog.Prices{Request: set(1)}}, nil, ""},
		{"rerank without price", catalog.TypeRerank, catalog.Pricing{}, nil, "no price for request or prompt"},
		{"negative minute", catalog.TypeTranscription, catalog.Pricing{Rates: catalog.Rates{Minute: set(-1)}}, nil, "a price is negative"},
		{"empty threshold", catalog.TypeChat, catalog.Pricing{Base: text.Base, Thresholds: []catalog.Threshold{{Above: 1}}}, nil, "changes no price"},
		{"unknown type", "smell", text, nil, `the type "smell" is not one of chat`},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			_, err := catalog.Build(catalog.Declared{Providers: []catalog.Provider{server("p")}, Models: []catalog.ModelInfo{{Slug: "v/m", Type: c.kind, Video: c.facts}},
				Offers: []catalog.Offer{{Provider: "p", Model: "v/m", Pricing: c.p}}})
			if c.want == "" && err != nil || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
				t.Errorf("error is %v, want %q", err, c.want)
			}
		})
	}
}

func TestQuirksAreChecked(t *testing.T) {
	t.Parallel()
	for want, q := range map[string]catalog.Quirks{
		"max_tokens_field": {MaxTokensField: "max"}, "reasoning_request": {ReasoningRequest: "yes"}, "reasoning_reply": {ReasoningReply: "yes"}, "reasoning_count": {ReasoningCount: "yes"},
		"audio_step": {AudioStep: -1}, "audio_least": {AudioLeast: 3601},
		"cost_digits": {CostDigits: -1}, "auth_header": {AuthHeader: "api key"}, "auth_scheme": {AuthScheme: "Api Key:"},
	} {
		p := server("p")
		p.Quirks = q
		if _, err := catalog.Build(catalog.Declared{Providers: []catalog.Provider{p}}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", want, err)
		}
	}
}

func TestResolve(t *testing.T) {
	t.Parallel()
	snap, err := catalog.Build(catalog.Declared{Models: []catalog.ModelInfo{{Slug: "v/m"}, {Slug: "v/m:online"}, {Slug: "v/odd:name"}}})
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name, slug string
		variant    catalog.Variant
		ok         bool
	}{
		{"v/m", "v/m", "", true}, {"v/m:free", "v/m", "free", true}, {"v/m:nitro", "v/m", "nitro", true}, {"v/m:floor", "v/m", "floor", true},
		{"v/m:thinking", "v/m", "thinking", true}, {"v/m:extended", "v/m", "extended", true}, {"v/m:exacto", "v/m", "exacto", true},
		{"v/m:online", "v/m:online", "", true}, {"v/odd:name", "v/odd:name", "", true}, {"v/odd:name:free", "v/odd:name", "free", true},
		{"v/m:fast", "", "", false}, {"v/m:", "", "", false}, {"v/m:free:free", "", "", false}, {":free", "", "", false}, {"", "", "", false}, {"v/M", "", "", false},
	} {
		m, variant, ok := snap.Resolve(c.name)
		slug := ""
		if m != nil {
			slug = m.Slug
		}
		if slug != c.slug || variant != c.variant || ok != c.ok {
			t.Errorf("%q is %q with %q, %v; want %q with %q, %v", c.name, slug, variant, ok, c.slug, c.variant, c.ok)
		}
	}
}

func TestVersionDependsOnContents(t *testing.T) {
	t.Parallel()
	build := func(change func(*catalog.Declared)) string {
		d := catalog.Declared{Providers: []catalog.Provider{server("p"), server("q")},
			Offers: []catalog.Offer{priced(catalog.Offer{Provider: "p", Model: "v/m"}), priced(catalog.Offer{Provider: "q", Model: "v/m"})}}
		change(&d)
		snap, err := catalog.Build(d)
		if err != nil {
			t.Fatal(err)
		}
		return snap.Version
	}
	base := build(func(*catalog.Declared) {})
	if got := build(func(d *catalog.Declared) { slices.Reverse(d.Offers); slices.Reverse(d.Providers) }); got != base {
		t.Error("the order of declarations changes the version")
	}
	if got := build(func(d *catalog.Declared) { d.Providers[0].Key = "secret" }); got != base {
		t.Error("a key changes the version")
	}
	one := money.Price{Nano: 1, Set: true}
	video := func(d *catalog.Declared) {
		d.Models = []catalog.ModelInfo{{Slug: "v/m", Type: catalog.TypeVideo, Video: &catalog.VideoFacts{Sizes: []string{"1x1"}}}}
		for i := range d.Offers {
			d.Offers[i].Pricing = catalog.Pricing{Video: []catalog.VideoRule{{PerSecond: one}}}
		}
	}
	paint := func(d *catalog.Declared) {
		d.Models = []catalog.ModelInfo{{Slug: "v/m", Type: catalog.TypeImage}}
		d.Offers[0].Pricing.Images = []catalog.ImagePrice{{Component: "image_output", Unit: "image", Price: one}}
		d.Offers[1].Pricing.Images = d.Offers[0].Pricing.Images
	}
	seen := map[string]string{base: "nothing"}
	for name, change := range map[string]func(*catalog.Declared){
		"price":  func(d *catalog.Declared) { d.Offers[0].Pricing.Base.Prompt.Nano++ },
		"hub id": func(d *catalog.Declared) { d.Models = []catalog.ModelInfo{{Slug: "v/m", HubID: "V/M"}} },
		"minute": func(d *catalog.Declared) {
			d.Models = []catalog.ModelInfo{{Slug: "v/m", Type: catalog.TypeTranscription}}
			d.Offers[0].Pricing.Minute = one
		},
		"characters": func(d *catalog.Declared) {
			d.Models = []catalog.ModelInfo{{Slug: "v/m", Type: catalog.TypeSpeech}}
			d.Offers[0].Pricing.Characters = one
			d.Offers[1].Pricing.Characters = one
		},
		"auth": func(d *catalog.Declared) { d.Providers[0].Quirks.AuthHeader = "api-key" },
		"threshold": func(d *catalog.Declared) {
			d.Offers[0].Pricing.Thresholds = []catalog.Threshold{{Above: 5, Prices: catalog.Prices{Prompt: one}}}
		},
		"video":  video,
		"size":   func(d *catalog.Declared) { video(d); d.Models[0].Video.Sizes = []string{"2x2"} },
		"length": func(d *catalog.Declared) { video(d); d.Models[0].Video.Durations = []int{4} },
		"list": func(d *catalog.Declared) {
			video(d)
			d.Models[0].Video.Sizes, d.Models[0].Video.Passthrough = nil, []string{"1x1"}
		},
		"sound": func(d *catalog.Declared) { video(d); d.Models[0].Video.Audio = true },
		"rule": func(d *catalog.Declared) {
			video(d)
			d.Offers[0].Pricing.Video = []catalog.VideoRule{{WithAudio: true, PerSecond: one}}
		},
		"image": paint,
		"quality": func(d *catalog.Declared) {
			paint(d)
			d.Offers[0].Pricing.Images = []catalog.ImagePrice{{Component: "image_output", Unit: "image", Variant: "low", Price: one}}
		},
	} {
		got := build(change)
		if other, known := seen[got]; known {
			t.Errorf("%s and %s have one version", name, other)
		}
		seen[got] = name
	}
}

func TestCurrent(t *testing.T) {
	t.Parallel()
	var c catalog.Current
	if s := c.Load(); s == nil || len(s.Models()) != 0 {
		t.Fatal("the zero Current must hold an empty catalog")
	}
	snap, err := catalog.Build(catalog.Declared{Models: []catalog.ModelInfo{{Slug: "v/m"}}})
	if err != nil {
		t.Fatal(err)
	}
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() { c.Store(snap); _ = c.Load().Models() })
	}
	wg.Wait()
	if c.Load() != snap {
		t.Error("Load does not give what was stored")
	}
}

func TestNames(t *testing.T) {
	t.Parallel()
	for _, name := range catalog.AllParams.Names() {
		if catalog.ParamNamed(name).String() != name {
			t.Errorf("parameter %s does not come back", name)
		}
	}
	for _, name := range []string{"text", "image", "audio", "file", "video"} {
		if catalog.ModalityNamed(name).String() != name {
			t.Errorf("modality %s does not come back", name)
		}
	}
	if catalog.ModalityNamed("pdf") != catalog.File || catalog.ModalityNamed("smell") != 0 || catalog.ParamNamed("smell") != 0 {
		t.Error("a name is misread")
	}
	var p catalog.Prices
	for i, name := range catalog.PriceNames() {
		p.Field(name).Nano = int64(i + 1)
	}
	if p.Field("other") != nil || !catalog.PerTokens("image_output") || catalog.PerTokens("request") {
		t.Error("a name of a price is misread")
	}
	seen := map[int64]bool{}
	for v, i := reflect.ValueOf(p), 0; i < v.NumField(); i++ {
		n := v.Field(i).Interface().(money.Price).Nano
		if n == 0 || seen[n] {
			t.Errorf("catalog.PriceKinds has no row of its own for %s", v.Type().Field(i).Name)
		}
		seen[n] = true
	}
}

// A price whose tokens fall to another one comes after it, and is for tokens like it.
func TestPriceKinds(t *testing.T) {
	t.Parallel()
	names := map[string]bool{}
	for _, k := range catalog.PriceKinds() {
		if k.Else != "" && (!names[k.Else] || !k.Tokens || !catalog.PerTokens(k.Else)) {
			t.Errorf("%s falls to %q", k.Name, k.Else)
		}
		if names[k.Name] {
			t.Errorf("%s is there twice", k.Name)
		}
		names[k.Name] = true
	}
	for _, k := range catalog.NamedRates() {
		if names[k.Name] || k.Listed == "" || k.Lined {
			t.Errorf("%+v", k)
		}
		names[k.Name] = true
	}
	var r catalog.Rates
	v := reflect.ValueOf(&r).Elem()
	if v.NumField() != len(r.Each()) {
		t.Fatalf("Each has %d of %d prices", len(r.Each()), v.NumField())
	}
	for i := range v.NumField() {
		if field := v.Field(i).Addr().Interface().(*money.Price); field != r.Each()[i] || field != r.Rate(catalog.RateID(i+1)) {
			t.Errorf("%s is not price %d of Each", v.Type().Field(i).Name, i)
		}
	}
}

func TestPricingForPrompt(t *testing.T) {
	t.Parallel()
	set := func(n int64) money.Price { return money.Price{Nano: n, Set: true} }
	p := catalog.Pricing{Source: "list", Base: catalog.Prices{Prompt: set(1), Completion: set(2), CacheRead: set(3)},
		Thresholds: []catalog.Threshold{{Above: 100, Prices: catalog.Prices{Prompt: set(10)}}, {Above: 200, Prices: catalog.Prices{Prompt: set(20), Completion: set(40)}}}}
	const first, second = "list; charged by the prices of prompts above 100 tokens", "list; charged by the prices of prompts above 200 tokens"
	for _, c := range []struct {
		tokens, prompt, completion int64
		source                     string
	}{{0, 1, 2, "list"}, {100, 1, 2, "list"}, {101, 10, 2, first}, {200, 10, 2, first}, {201, 20, 40, second}} {
		if got := p.SourceFor(c.tokens); got != c.source {
			t.Errorf("%d tokens: %q", c.tokens, got)
		}
		if got := p.For(c.tokens); got.Prompt != set(c.prompt) || got.Completion != set(c.completion) || got.CacheRead != set(3) {
			t.Errorf("%d tokens: %+v", c.tokens, got)
		}
	}
}

// A slug that may be declared splits into itself or into a shorter one and a known variant, and is short and plain.
func TestSlugs(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		slug := rapid.StringMatching(`[a-zA-Z0-9/:._ -]{0,12}(:free|:nitro|:x)?`).Draw(t, "slug")
		base, variant := catalog.SplitVariant(slug)
		switch {
		case variant == "" && base != slug:
			t.Fatalf("%q lost something and has no variant: %q", slug, base)
		case variant != "" && base+":"+string(variant) != slug:
			t.Fatalf("%q is not %q and %q", slug, base, variant)
		}
		if catalog.CheckSlug(slug) == nil && (strings.Count(slug, "/") != 1 || strings.ContainsAny(slug, " ") || len(slug) < 3) {
			t.Fatalf("%q passed", slug)
		}
	})
}

func FuzzCheckSlug(f *testing.F) {
	for _, s := range []string{"openai/gpt-4o", "a/b:free", "a//b", "/", "a/\x00", strings.Repeat("a/", 200)} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		if catalog.CheckSlug(s) == nil {
			if _, err := catalog.Build(catalog.Declared{Models: []catalog.ModelInfo{{Slug: s}}}); err != nil {
				t.Fatalf("%q passed but cannot be built: %v", s, err)
			}
		}
	})
}

// Undeclared inputs and outputs follow from the type, if they do.
func TestModalitiesByType(t *testing.T) {
	t.Parallel()
	free := money.Price{Set: true}
	prices := map[string]catalog.Pricing{
		catalog.TypeChat:          {Base: catalog.Prices{Prompt: free, Completion: free}},
		catalog.TypeTranscription: {Rates: catalog.Rates{Minute: free}},
		catalog.TypeSpeech:        {Rates: catalog.Rates{Characters: free}},
	}
	for kind, want := range map[string][2]catalog.Modality{
		catalog.TypeChat:          {catalog.AllModalities, catalog.Text},
		catalog.TypeTranscription: {catalog.Audio, catalog.Text},
		catalog.TypeSpeech:        {catalog.Text, catalog.Audio},
	} {
		snap, err := catalog.Build(catalog.Declared{
			Providers: []catalog.Provider{{ID: "a", Dialect: "openai", BaseURL: "http://a.test"}},
			Models:    []catalog.ModelInfo{{Slug: "v/m", Type: kind}},
			Offers:    []catalog.Offer{{Provider: "a", Model: "v/m", Pricing: prices[kind]}},
		})
		if err != nil {
			t.Errorf("%s: %v", kind, err)
			continue
		}
		m, _ := snap.Model("v/m")
		if ep := m.Endpoints[0]; ep.Input != want[0] || ep.Output != want[1] {
			t.Errorf("%s: %s in, %s out", kind, ep.Input, ep.Output)
		}
	}
}

// A model without a date has none. Where a number is required, the day of the list that names the model is used.
func TestKnownSince(t *testing.T) {
	t.Parallel()
	list, own := time.Date(2026, 8, 21, 0, 0, 0, 0, time.UTC), time.Date(2025, 1, 2, 0, 0, 0, 0, time.UTC)
	declared := catalog.Declared{
		Providers: []catalog.Provider{server("a")},
		Models:    []catalog.ModelInfo{{Slug: "v/dated", Created: own}, {Slug: "v/described"}},
		Offers:    []catalog.Offer{priced(catalog.Offer{Provider: "a", Model: "v/offered"})},
	}
	declared.Append(catalog.Declared{KnownSince: list})
	snap, err := catalog.Build(declared)
	if err != nil {
		t.Fatal(err)
	}
	for slug, want := range map[string][2]time.Time{"v/dated": {own, own}, "v/described": {{}, list}, "v/offered": {{}, list}} {
		if m, _ := snap.Model(slug); !m.Created.Equal(want[0]) || !m.KnownSince.Equal(want[1]) {
			t.Errorf("%s: created %v, known since %v", slug, m.Created, m.KnownSince)
		}
	}
}
