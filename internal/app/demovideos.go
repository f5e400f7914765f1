package app

import (
	"time"

	"weir/internal/catalog"
	"weir/internal/config"
	"weir/internal/money"
)

// simVideo is a video model of the simulator on one wire.
type simVideo struct {
	slug, name, about       string
	provider, dialect, path string
	upstream                string
	quirks                  catalog.Quirks
	facts                   catalog.VideoFacts
	silent, sounding        int64 // kopecks per second of 720p, without and with audio; twice that for larger videos
}

var simVideoModels = []simVideo{
	{
		slug: "sim/video", name: "Sim Video", about: "Makes a grey video of the requested size and length, in a few seconds.",
		provider: "sim-videos", dialect: "openai", path: "/v1", upstream: "video", silent: 150, sounding: 200,
		facts: catalog.VideoFacts{
			Resolutions: []string{"720p", "1K"}, AspectRatios: []string{"16:9", "9:16"}, Sizes: []string{"1280x720", "720x1280", "1792x1024", "1024x1792"},
			Durations: []int{4, 8, 12}, FrameImages: []string{"first_frame"}, Audio: true,
		},
	},
	{
		slug: "sim/video-router", name: "Sim Video (OpenRouter)", about: "Makes grey videos through OpenRouter's API, which has nearly all settings.",
		provider: "sim-router", dialect: "openai", path: "/openrouter/api/v1", upstream: "video", silent: 100, sounding: 125, quirks: catalog.Quirks{VideosWire: "openrouter"},
		facts: catalog.VideoFacts{
			Resolutions: []string{"720p", "1080p"}, AspectRatios: []string{"16:9", "1:1", "9:16"}, Durations: []int{5, 10}, FrameImages: []string{"first_frame", "last_frame"}, Audio: true, Seed: true,
		},
	},
}

// simVideos returns the simulator's video models.
func simVideos(origin string) (d catalog.Declared) {
	for i := range simVideoModels {
		f := &simVideoModels[i]
		d.Providers = append(d.Providers, catalog.Provider{ID: f.provider, Name: "Simulated " + f.provider[len("sim-"):], Dialect: f.dialect, BaseURL: origin + f.path, Key: "sk-sim",
			Quirks: f.quirks, DataPolicy: catalog.PolicyZero, Simulated: true})
		d.Models = append(d.Models, catalog.ModelInfo{Slug: f.slug, Type: catalog.TypeVideo, Name: f.name, Description: f.about, Video: &f.facts})
		d.Offers = append(d.Offers, catalog.Offer{Provider: f.provider, Model: f.slug, UpstreamID: f.upstream, Input: catalog.Text | catalog.Image, Output: catalog.Video,
			Pricing: catalog.Pricing{List: "sim", Video: f.rules()}})
	}
	return d
}

func (f *simVideo) rules() []catalog.VideoRule {
	rule := func(resolution string, audio bool, kopecks int64) catalog.VideoRule {
		return catalog.VideoRule{Resolution: resolution, WithAudio: audio, PerSecond: money.Price{Nano: kopecks * int64(money.Ruble) / 100, Set: true}}
	}
	return []catalog.VideoRule{rule("720p", false, f.silent), rule("720p", true, f.sounding), rule("", false, 2*f.silent), rule("", true, 2*f.sounding)}
}

// demoPoll is the interval at which the demo polls the simulator. The simulator reports a video as done at the second poll.
const demoPoll = time.Second

// demoVideos makes jobs of the demo finish quickly, and allows callbacks to this machine.
func demoVideos(cfg *config.Config) {
	cfg.Video.FirstPoll = demoPoll
	for _, list := range []*[]string{&cfg.Fetch.AllowProviderMedia, &cfg.Fetch.AllowCallbacks} {
		*list = append(*list, "127.0.0.0/8", "localhost")
	}
}
