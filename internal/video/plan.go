package video

import (
	"math"
	"slices"
	"strconv"
	"strings"

	"weir/internal/catalog"
	"weir/internal/fault"
	"weir/internal/money"
	"weir/internal/routing"
)

// Router is a Planner that uses the catalog and the routing rules.
type Router struct {
	Health func(endpoint string) routing.Health         // nil: nothing is known
	Outs   func() func(endpoint string) routing.Service // what operators took out of service, as it is now; nil: nothing
	Rand   func() float64
}

func (x *Router) outs() func(endpoint string) routing.Service {
	if x.Outs == nil {
		return nil
	}
	return x.Outs()
}

const (
	maxOffers      = 6
	defaultSeconds = 5 // for a model that does not list its durations
)

// Plan implements Planner.
func (x *Router) Plan(r *Request, defaults *routing.Preferences, own []routing.Own, snap *catalog.Snapshot) (Plan, error) {
	m, _, known := snap.Resolve(r.Model)
	if known && m.Type == catalog.TypeVideo {
		if err := r.fit(m.Video); err != nil {
			return Plan{}, err
		}
	}
	pref := r.Preferences
	if defaults != nil {
		pref = routing.Merge(*defaults, pref)
	}
	plan, err := routing.Choose(routing.Query{Models: []string{r.Model}, Type: catalog.TypeVideo, Preferences: pref, Health: x.Health, Rand: x.Rand,
		Needs: routing.Needs{Input: r.input(), Output: catalog.Video}, MaxAttempts: maxOffers, Own: own, Price: r.price, Out: x.outs()}, snap)
	if err != nil {
		return Plan{}, err
	}
	if pref.ZDR { // a provider keeps the video until it has been fetched
		e := fault.New(fault.NoEndpoints, "video.Plan", "Videos cannot be made with zero data retention: providers store them for some time.")
		e.Details = map[string]any{"excluded_by": []string{"zdr"}}
		return Plan{}, e
	}
	p := Plan{Model: r.Model, Offers: make([]Offer, len(plan.Attempts))}
	for i := range plan.Attempts {
		p.Offers[i] = offerOf(plan.Attempts[i].Endpoint, r)
	}
	return p, nil
}

func offerOf(ep *catalog.Endpoint, r *Request) Offer {
	price, key := &ep.Pricing, ""
	if ep.Own != nil {
		key = ep.Own.Key
	}
	return Offer{OwnKey: key, Endpoint: ep.ID, Provider: ep.Provider.ID, ProviderName: ep.Provider.Name, UpstreamModel: ep.UpstreamID,
		Second: price.SecondOf(r.Resolution, r.WithAudio()), Request: price.Base.Request, List: price.List, Rate: price.Rate, Source: price.Source}
}

// price is what the job costs at an endpoint, for routing to compare.
func (r *Request) price(ep *catalog.Endpoint) money.Nano {
	o := offerOf(ep, r)
	_, cost, err := o.cost(r.Seconds, max(r.Outputs, 1))
	if err != nil {
		return math.MaxInt64
	}
	return cost
}

// input returns the kinds of content of the references. Which frames a model takes follows from its facts, not from its modalities.
func (r *Request) input() catalog.Modality {
	var kinds catalog.Modality
	for i := range r.References {
		kinds |= r.References[i].Kind
	}
	return kinds
}

// fit checks the request against the abilities of the model and fills in missing fields. Without facts it rejects nothing.
func (r *Request) fit(facts *catalog.VideoFacts) error {
	if facts == nil {
		facts = &catalog.VideoFacts{}
	}
	for _, check := range [...]func(*catalog.VideoFacts) error{r.fitSeconds, r.fitSize, r.fitShape, r.fitGuide, r.fitFrames, r.fitAudio} {
		if err := check(facts); err != nil {
			return err
		}
	}
	if !facts.Seed {
		r.Seed = nil
	}
	r.Params = slices.DeleteFunc(slices.Clone(r.Params), func(p Param) bool { return !slices.Contains(facts.Passthrough, p.Name) })
	r.Outputs = max(r.Outputs, 1)
	return nil
}

// notAllowed refuses a value that the model does not list.
func notAllowed[T any](param, value string, allowed []T) error {
	e := fault.Field("video.Plan", param, "The model does not take %s for %s.", value, param)
	list := make([]any, len(allowed))
	for i := range allowed {
		list[i] = allowed[i]
	}
	e.Details = map[string]any{"allowed": list}
	return e
}

func (r *Request) fitSeconds(facts *catalog.VideoFacts) error {
	switch {
	case r.Seconds == 0 && len(facts.Durations) > 0:
		r.Seconds = int64(facts.Durations[0])
	case r.Seconds == 0:
		r.Seconds = defaultSeconds
	case r.Seconds < 0 || len(facts.Durations) > 0 && !slices.Contains(facts.Durations, int(r.Seconds)):
		return notAllowed("duration", strconv.FormatInt(r.Seconds, 10), facts.Durations)
	}
	return nil
}

// fitSize makes a size agree with the resolution and the aspect ratio.
func (r *Request) fitSize(facts *catalog.VideoFacts) error {
	if r.Size == "" {
		return nil
	}
	width, height, ok := dimensions(r.Size, "x")
	if !ok || len(facts.Sizes) > 0 && !slices.Contains(facts.Sizes, r.Size) {
		return notAllowed("size", r.Size, facts.Sizes)
	}
	resolution := resolutionOf(width, height)
	if resolution == "" && len(facts.Resolutions) > 0 && len(facts.Sizes) == 0 { // its price would be unknown
		return notAllowed("size", r.Size, facts.Sizes)
	}
	switch {
	case r.Resolution == "":
		r.Resolution = resolution
	case resolution != "" && r.Resolution != resolution:
		return fault.Field("video.Plan", "size", "size %s has resolution %s, but resolution is %s. Send one of them.", r.Size, resolution, r.Resolution)
	}
	if x, y, ok := dimensions(r.AspectRatio, ":"); ok && !alike(width*y, height*x) {
		return fault.Field("video.Plan", "size", "size %s does not have the aspect_ratio %s. Send one of them.", r.Size, r.AspectRatio)
	}
	return nil
}

func dimensions(text, separator string) (width, height int64, ok bool) {
	x, y, _ := strings.Cut(text, separator)
	width, errX := strconv.ParseInt(x, 10, 32)
	height, errY := strconv.ParseInt(y, 10, 32)
	return width, height, errX == nil && errY == nil && width > 0 && height > 0
}

// alike reports whether two products differ by less than one part in twenty-five: sizes are multiples of 8 or 16, so ratios are not exact.
func alike(a, b int64) bool { return 25*max(a-b, b-a) < max(a, b) }

// resolutionOf returns the usual name of a size, such as "720p"; "" when it has none.
func resolutionOf(width, height int64) string {
	for _, x := range [...]struct {
		short int64
		name  string
	}{{480, "480p"}, {720, "720p"}, {768, "768p"}, {1024, "1K"}, {1080, "1080p"}, {1440, "2K"}, {2160, "4K"}} {
		if min(width, height) == x.short {
			return x.name
		}
	}
	return ""
}

func (r *Request) fitShape(facts *catalog.VideoFacts) error {
	switch {
	case len(facts.Resolutions) == 0:
	case r.Resolution == "":
		r.Resolution = facts.Resolutions[0]
	case !slices.Contains(facts.Resolutions, r.Resolution):
		return notAllowed("resolution", r.Resolution, facts.Resolutions)
	}
	if r.AspectRatio != "" && len(facts.AspectRatios) > 0 && !slices.Contains(facts.AspectRatios, r.AspectRatio) {
		return notAllowed("aspect_ratio", r.AspectRatio, facts.AspectRatios)
	}
	return nil
}

// fitGuide makes the image that guides the video what the model takes it as.
func (r *Request) fitGuide(facts *catalog.VideoFacts) error {
	switch {
	case r.Guide == "":
	case slices.Contains(facts.FrameImages, FirstFrame):
		r.Frames = append(slices.Clone(r.Frames), Media{Kind: catalog.Image, URL: r.Guide, Frame: FirstFrame})
	default:
		r.References = append(slices.Clone(r.References), Media{Kind: catalog.Image, URL: r.Guide})
	}
	r.Guide = ""
	return nil
}

// fitFrames checks the frame images. Each kind may occur once, and frames exclude references.
func (r *Request) fitFrames(facts *catalog.VideoFacts) error {
	for i, f := range r.Frames {
		param := "frame_images[" + strconv.Itoa(i) + "].frame_type"
		if !slices.Contains(facts.FrameImages, f.Frame) {
			return notAllowed(param, f.Frame, facts.FrameImages)
		}
		if slices.ContainsFunc(r.Frames[:i], func(g Media) bool { return g.Frame == f.Frame }) {
			return fault.Field("video.Plan", param, "frame_images must have at most one image for %s.", f.Frame)
		}
	}
	if len(r.Frames) > 0 {
		r.References = nil
	}
	return nil
}

func (r *Request) fitAudio(facts *catalog.VideoFacts) error {
	if r.Audio == nil {
		r.Audio = &facts.Audio
	} else if *r.Audio && !facts.Audio {
		return notAllowed("generate_audio", "true", []bool{false})
	}
	return nil
}

// need is what the videos of a job cost at most, at any endpoint of the plan.
func (p *Plan) need(r *Request) (most money.Nano, err error) {
	for i := range p.Offers {
		o := &p.Offers[i]
		_, cost, err := o.cost(r.Seconds, r.Outputs)
		if err != nil {
			return 0, err
		}
		most = max(most, cost)
	}
	return most, nil
}
