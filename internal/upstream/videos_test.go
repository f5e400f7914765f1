package upstream_test

import (
	"testing"
	"time"

	"weir/internal/catalog"
	"weir/internal/dialect/fal"
	"weir/internal/dialect/gemini"
	"weir/internal/dialect/kling"
	"weir/internal/dialect/luma"
	"weir/internal/dialect/minimax"
	"weir/internal/dialect/openai"
	"weir/internal/dialect/runway"
	"weir/internal/sim"
	"weir/internal/upstream/upstreamtest"
	"weir/internal/video"
)

// videoStudio is the simulator as a provider of videos.
type videoStudio struct{ *sim.Server }

func newVideoStudio(now func() time.Time) upstreamtest.Studio {
	return videoStudio{sim.New(sim.Config{Now: now})}
}

func (s videoStudio) Counts() (submits, cancels int64) {
	for _, c := range s.Jobs() {
		submits, cancels = submits+c.Submits, cancels+c.Cancels
	}
	return submits, cancels
}

const vertexPath = "/v1/projects/p/locations/us-central1/publishers/google"

func videoProvider(dialect, path string, quirks catalog.Quirks) catalog.Provider {
	return catalog.Provider{ID: dialect, Name: "The " + dialect, Dialect: dialect, BaseURL: path, Key: "sk-upstream-key-1", Quirks: quirks}
}

// videos are all wires for videos.
func videos() map[string]upstreamtest.Video {
	silent, audio := false, true
	kling2 := videoProvider("kling", "/kling/v1", catalog.Quirks{})
	kling2.Key = sim.KlingAccessKey + ":" + sim.KlingSecretKey
	bearer := catalog.Quirks{AuthHeader: "Authorization", AuthScheme: "Bearer"}
	bucket := bearer
	bucket.VideoBucket = "gs://bucket/films/"
	list := map[string]upstreamtest.Video{
		"openai": {Dialect: new(openai.Dialect), Provider: videoProvider("openai", "/v1", catalog.Quirks{}), Model: "sora-2", Finds: true, Cancels: true, HollowDone: true,
			Request: video.Request{Prompt: "A heron", Seconds: 4, Size: "1280x720", Audio: &audio}},
		"openrouter": {Dialect: new(openai.Dialect), Provider: videoProvider("openai", "/openrouter/api/v1", catalog.Quirks{VideosWire: "openrouter"}), Model: "google/veo-3.1",
			Request: video.Request{Prompt: "A heron", Seconds: 8, Resolution: "720p", AspectRatio: "16:9", Audio: &audio}},
		"ai studio": {Dialect: new(gemini.Dialect), Provider: videoProvider("gemini", "/v1beta", catalog.Quirks{}), Model: "veo-3.1-generate-preview",
			Request: video.Request{Prompt: "A heron", Seconds: 8, Resolution: "720p", AspectRatio: "16:9", Audio: &audio}},
		"vertex": {Dialect: new(gemini.Dialect), Provider: videoProvider("gemini", vertexPath, bearer), Model: "veo-3.1-generate-001", Inline: true,
			Request: video.Request{Prompt: "A heron", Seconds: 4, Resolution: "720p", AspectRatio: "9:16", Audio: &silent, Outputs: 2}},
		"vertex, into a bucket": {Dialect: new(gemini.Dialect), Provider: videoProvider("gemini", vertexPath, bucket), Model: "veo-3.1-generate-001", Kept: true,
			Request: video.Request{Prompt: "A heron", Seconds: 8, Resolution: "1080p", AspectRatio: "9:16", Audio: &silent}},
		"runway": {Dialect: new(runway.Dialect), Provider: videoProvider("runway", "/runway/v1", catalog.Quirks{}), Model: "gen4.5", Cancels: true,
			Request: video.Request{Prompt: "A heron", Seconds: 5, Size: "1280x720", Audio: &silent}},
		"kling": {Dialect: new(kling.Dialect), Provider: kling2, Model: "kling-v2-6", Finds: true,
			Request: video.Request{Prompt: "A heron", Seconds: 5, Resolution: "1080p", AspectRatio: "16:9", Audio: &audio}},
		"minimax": {Dialect: new(minimax.Dialect), Provider: videoProvider("minimax", "/minimax/v1", catalog.Quirks{}), Model: "MiniMax-Hailuo-2.3",
			Request: video.Request{Prompt: "A heron", Seconds: 6, Resolution: "768p", Audio: &silent}},
		"luma": {Dialect: new(luma.Dialect), Provider: videoProvider("luma", "/luma/dream-machine/v1", catalog.Quirks{}), Model: "ray-2", Finds: true, Cancels: true,
			Request: video.Request{Prompt: "A heron", Seconds: 5, Resolution: "720p", AspectRatio: "16:9", Audio: &silent}},
		"fal": {Dialect: new(fal.Dialect), Provider: videoProvider("fal", "/fal/queue", catalog.Quirks{}), Model: "fal-ai/video/text-to-video", Cancels: true,
			Request: video.Request{Prompt: "A heron", Seconds: 5, Resolution: "720p", AspectRatio: "16:9", Audio: &silent}},
	}
	for name, w := range list {
		w.Studio, w.Request.Outputs = newVideoStudio, max(w.Request.Outputs, 1)
		list[name] = w
	}
	return list
}

// Every dialect keeps what package video relies on, whatever its provider does.
func TestVideos(t *testing.T) {
	t.Parallel()
	for name, w := range videos() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			upstreamtest.RunVideos(t, w)
		})
	}
}
