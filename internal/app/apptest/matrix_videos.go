package apptest

import (
	"testing"

	"weir/internal/catalog"
	"weir/internal/sim"
)

// VideoWire is a wire for videos in the failure matrix.
type VideoWire struct {
	Name, Dialect, Base, Model, Key string
	Quirks                          catalog.Quirks
	Seconds                         int
	Resolution                      string
	Finds                           bool // a submission whose response was lost can be found again
}

var VideoWires = []VideoWire{
	{Name: "openai", Dialect: "openai", Base: "/v1", Model: "sora-2", Seconds: 4, Resolution: "720p", Finds: true},
	{Name: "router", Dialect: "openai", Base: "/openrouter/api/v1", Model: "google/veo-3.1", Quirks: catalog.Quirks{VideosWire: "openrouter"}, Seconds: 4, Resolution: "720p"},
	{Name: "studio", Dialect: "gemini", Base: "/v1beta", Model: "veo-3.1-generate-preview", Seconds: 4, Resolution: "720p"},
	{Name: "vertex", Dialect: "gemini", Base: "/v1/projects/p/locations/l/publishers/google", Model: "veo-3.1-generate-001", Quirks: catalog.Quirks{AuthHeader: "Authorization", AuthScheme: "Bearer"}, Seconds: 4, Resolution: "720p"},
	{Name: "runway", Dialect: "runway", Base: "/runway/v1", Model: "gen4.5", Seconds: 5, Resolution: "720p"},
	{Name: "kling", Dialect: "kling", Base: "/kling/v1", Model: "kling-v2-6", Key: sim.KlingAccessKey + ":" + sim.KlingSecretKey, Seconds: 5, Resolution: "720p", Finds: true},
	{Name: "minimax", Dialect: "minimax", Base: "/minimax/v1", Model: "MiniMax-Hailuo-2.3", Seconds: 6, Resolution: "768p"},
	{Name: "luma", Dialect: "luma", Base: "/luma/dream-machine/v1", Model: "ray-2", Seconds: 5, Resolution: "720p", Finds: true},
	{Name: "fal", Dialect: "fal", Base: "/fal/queue", Model: "fal-ai/video/text-to-video", Seconds: 5, Resolution: "720p"},
}

func MatrixOffer(t *testing.T, provider, slug, upstream string) catalog.Offer {
	o := videoOffer(t, provider, slug, upstream)
	o.Pricing.Video = []catalog.VideoRule{{PerSecond: Price(t, "1")}}
	return o
}
