package video_test

import (
	"slices"
	"testing"

	"weir/internal/catalog"
	"weir/internal/fault"
	"weir/internal/money"
	"weir/internal/routing"
	"weir/internal/video"
)

func videos(t *testing.T) *catalog.Snapshot {
	t.Helper()
	second := func(resolution string, audio bool, rubles int64) catalog.VideoRule {
		return catalog.VideoRule{Resolution: resolution, WithAudio: audio, PerSecond: money.Price{Nano: rubles * int64(money.Ruble), Set: true}}
	}
	snap, err := catalog.Build(catalog.Declared{
		Providers: []catalog.Provider{{ID: "one", Dialect: "openai", BaseURL: "https://one.test"}, {ID: "two", Dialect: "openai", BaseURL: "https://two.test"}},
		Models: []catalog.ModelInfo{
			{Slug: "v/film", Type: catalog.TypeVideo, Video: &catalog.VideoFacts{Resolutions: []string{"720p", "1080p"}, AspectRatios: []string{"16:9", "9:16"},
				Sizes: []string{"1280x720", "1920x1080"}, Durations: []int{4, 8}, FrameImages: []string{video.FirstFrame}, Passthrough: []string{"style"}, Audio: true, Seed: true}},
			{Slug: "v/plain", Type: catalog.TypeVideo}, {Slug: "v/pair", Type: catalog.TypeVideo}, {Slug: "v/chat"},
		},
		Offers: []catalog.Offer{
			{Provider: "one", Model: "v/film", Pricing: catalog.Pricing{Video: []catalog.VideoRule{second("720p", false, 1), second("720p", true, 2), second("", false, 3), second("", true, 4)}}},
			{Provider: "two", Model: "v/film", Pricing: catalog.Pricing{Video: []catalog.VideoRule{second("", false, 5), second("", true, 5)}}},
			{Provider: "two", Model: "v/plain", Pricing: catalog.Pricing{Video: []catalog.VideoRule{second("", false, 1)}}},
			{Provider: "one", Model: "v/pair", Pricing: catalog.Pricing{Video: []catalog.VideoRule{second("720p", false, 1), second("", false, 30)}}},
			{Provider: "two", Model: "v/pair", Pricing: catalog.Pricing{Video: []catalog.VideoRule{second("", false, 3)}}},
			{Provider: "two", Model: "v/chat", Pricing: catalog.Pricing{Base: catalog.Prices{Prompt: money.Price{Set: true}, Completion: money.Price{Set: true}}}},
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	return snap
}

func TestPlanFillsInWhatThePriceDependsOn(t *testing.T) {
	t.Parallel()
	snap, router := videos(t), &video.Router{Rand: func() float64 { return 0 }}
	no, seed := false, int64(1)
	for name, c := range map[string]struct {
		in         video.Request
		seconds    int64
		resolution string
		audio      bool
		price      int64 // rubles a second at the first provider
	}{
		"nothing said":    {video.Request{Model: "v/film"}, 4, "720p", true, 2},
		"no sound":        {video.Request{Model: "v/film", Audio: &no, Seconds: 8}, 8, "720p", false, 1},
		"by size":         {video.Request{Model: "v/film", Size: "1920x1080"}, 4, "1080p", true, 4},
		"size and agreed": {video.Request{Model: "v/film", Size: "1280x720", Resolution: "720p", AspectRatio: "16:9"}, 4, "720p", true, 2},
		"no facts":        {video.Request{Model: "v/plain", Seed: &seed}, 5, "", false, 1},
	} {
		r := c.in
		r.Preferences.Order = []string{"one"}
		p, err := router.Plan(&r, nil, nil, snap)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if r.Seconds != c.seconds || r.Resolution != c.resolution || r.WithAudio() != c.audio || r.Outputs != 1 || p.Offers[0].Second.Nano != c.price*int64(money.Ruble) || p.Model != r.Model {
			t.Errorf("%s: %+v, %+v", name, r, p)
		}
		if name == "no facts" && r.Seed != nil {
			t.Error("a seed goes to a model that takes none")
		}
	}
}

func TestPlanDropsAndPrefers(t *testing.T) {
	t.Parallel()
	router := &video.Router{Rand: func() float64 { return 0 }}
	r := video.Request{Model: "v/film", Params: []video.Param{{Name: "style", Value: []byte("1")}, {Name: "secret", Value: []byte("2")}},
		Frames: []video.Media{{Kind: catalog.Image, Frame: video.FirstFrame}}, References: []video.Media{{Kind: catalog.Image}}}
	given := r.Params
	p, err := router.Plan(&r, &routing.Preferences{Only: []string{"two"}}, nil, videos(t))
	if err != nil || len(p.Offers) != 1 || p.Offers[0].Provider != "two" {
		t.Fatalf("%+v, %v", p, err)
	}
	if len(r.Params) != 1 || r.Params[0].Name != "style" || len(r.References) != 0 || len(given) != 2 || given[1].Name != "secret" {
		t.Errorf("%+v, given %+v", r, given)
	}
}

// Providers are compared by the price of the video that was asked for.
func TestPlanOrdersByPrice(t *testing.T) {
	t.Parallel()
	router := &video.Router{Rand: func() float64 { return 0 }}
	for _, pref := range []routing.Preferences{{}, {Sort: "price"}} {
		for resolution, want := range map[string]string{"720p": "one", "1080p": "two"} {
			p, err := router.Plan(&video.Request{Model: "v/pair", Resolution: resolution, Preferences: pref}, nil, nil, videos(t))
			if err != nil || len(p.Offers) != 2 || p.Offers[0].Provider != want {
				t.Errorf("%q, %s: %+v, %v", pref.Sort, resolution, p, err)
			}
		}
	}
}

func TestPlanRefuses(t *testing.T) {
	t.Parallel()
	snap, router := videos(t), &video.Router{Rand: func() float64 { return 0 }}
	yes := true
	frame := video.Media{Kind: catalog.Image, Frame: video.FirstFrame}
	for name, c := range map[string]struct {
		in      video.Request
		kind    fault.Kind
		param   string
		allowed []any
	}{
		"an unknown model":        {video.Request{Model: "v/none"}, fault.ModelNotFound, "model", nil},
		"a model of another type": {video.Request{Model: "v/chat", Seconds: 99}, fault.WrongEndpoint, "model", nil},
		"a duration":              {video.Request{Model: "v/film", Seconds: 5}, fault.Invalid, "duration", []any{4, 8}},
		"a negative duration":     {video.Request{Model: "v/plain", Seconds: -1}, fault.Invalid, "duration", []any{}},
		"a resolution":            {video.Request{Model: "v/film", Resolution: "4K"}, fault.Invalid, "resolution", []any{"720p", "1080p"}},
		"a ratio":                 {video.Request{Model: "v/film", AspectRatio: "1:1"}, fault.Invalid, "aspect_ratio", []any{"16:9", "9:16"}},
		"a size":                  {video.Request{Model: "v/film", Size: "640x480"}, fault.Invalid, "size", []any{"1280x720", "1920x1080"}},
		"no size at all":          {video.Request{Model: "v/plain", Size: "big"}, fault.Invalid, "size", []any{}},
		"size against resolution": {video.Request{Model: "v/film", Size: "1280x720", Resolution: "1080p"}, fault.Invalid, "size", nil},
		"size against ratio":      {video.Request{Model: "v/film", Size: "1280x720", AspectRatio: "9:16"}, fault.Invalid, "size", nil},
		"a frame":                 {video.Request{Model: "v/film", Frames: []video.Media{{Frame: video.LastFrame}}}, fault.Invalid, "frame_images[0].frame_type", []any{video.FirstFrame}},
		"a frame twice":           {video.Request{Model: "v/film", Frames: []video.Media{frame, frame}}, fault.Invalid, "frame_images[1].frame_type", nil},
		"sound":                   {video.Request{Model: "v/plain", Audio: &yes}, fault.Invalid, "generate_audio", []any{false}},
		"nobody left":             {video.Request{Model: "v/film", Preferences: routing.Preferences{Only: []string{"three"}}}, fault.NoEndpoints, "", nil},
		"zero retention":          {video.Request{Model: "v/film", Preferences: routing.Preferences{ZDR: true}}, fault.NoEndpoints, "", nil},
	} {
		r := c.in
		_, err := router.Plan(&r, nil, nil, snap)
		f := fault.From(err)
		if f == nil || f.Kind != c.kind || c.param != "" && f.Param != c.param {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if allowed, _ := f.Details["allowed"].([]any); c.allowed != nil && !slices.Equal(allowed, c.allowed) {
			t.Errorf("%s: allowed %v", name, f.Details)
		}
	}
}

// Only what is surely not at the provider may be asked of another one.
func TestRefused(t *testing.T) {
	t.Parallel()
	at := func(status int) *fault.Error {
		e := fault.New(fault.ProviderUnavailable, "x", "")
		e.Upstream = &fault.Upstream{Status: status}
		return e
	}
	unreachable := at(0)
	unreachable.Upstream.Unreachable = true
	for name, c := range map[string]struct {
		err  *fault.Error
		want bool
	}{
		"bad request": {at(400), true}, "unauthorized": {at(401), true}, "too many": {at(429), true}, "server error": {at(500), false}, "not implemented": {at(501), false}, "unavailable": {at(503), false},
		"overloaded": {at(529), false}, "conflict": {at(409), false}, "a proxy that was left": {at(499), false}, "nobody's": {at(477), false}, "a redirect": {at(302), false}, "never reached": {unreachable, true}, "request timeout": {at(408), false}, "bad gateway": {at(502), false}, "gateway timeout": {at(504), false},
		"no answer": {at(0), false}, "an answer that is none": {at(200), false}, "a proxy's": {at(520), false},
		"our own timeout": {fault.New(fault.Timeout, "x", ""), false}, "a bug": {fault.New(fault.Internal, "x", ""), false},
		"not sent": {fault.New(fault.Unprocessable, "x", ""), true}, "cancelled": {fault.New(fault.Canceled, "x", ""), false},
	} {
		if got := video.Refused(c.err); got != c.want {
			t.Errorf("%s: %t", name, got)
		}
	}
}

func TestToken(t *testing.T) {
	t.Parallel()
	j := video.Job{ID: "vj_1"}
	seen := map[string]bool{}
	for j.Offer = range 12 {
		for j.Rounds = range 3 {
			token := j.Token()
			if seen[token] {
				t.Fatalf("%s is not unique", token)
			}
			seen[token] = true
		}
	}
}
