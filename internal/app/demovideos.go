package app

import (
	"crypto/rand"
	"encoding/hex"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"weir/internal/catalog"
	"weir/internal/config"
	"weir/internal/money"
)

// simVideo is one of the simulator's models that make videos, on one wire.
type simVideo struct {
	slug, name, about       string
	provider, dialect, path string
	upstream                string
	quirks                  catalog.Quirks
	facts                   catalog.VideoFacts
	silent, sounding        int64 // kopecks a second of 720p, without audio and with it; twice that of anything larger
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

// simVideos are the models of the simulator that make videos.
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

// demoPoll is how soon the demonstration asks its simulator how far a video is, which has it ready at the second time.
const demoPoll = time.Second

// demoVideos has the demonstration show how a job goes without much waiting, and call back receivers on this machine.
func demoVideos(cfg *config.Config) {
	cfg.Video.FirstPoll = demoPoll
	for _, list := range []*[]string{&cfg.Fetch.AllowProviderMedia, &cfg.Fetch.AllowCallbacks} {
		*list = append(*list, "127.0.0.0/8", "localhost")
	}
}

// demoMasterKey is the file with the key that seals the demonstration's secrets: those that events are signed with. It is made at the first
// start, beside what it seals.
func demoMasterKey(dataDir string) (path string, err error) {
	path = filepath.Join(dataDir, "master.key")
	if _, err := os.Stat(path); !errors.Is(err, fs.ErrNotExist) {
		return path, err
	}
	if err := makeDataDir(dataDir); err != nil {
		return "", err
	}
	var key [32]byte
	_, _ = rand.Read(key[:]) // never fails
	return path, os.WriteFile(path, []byte(hex.EncodeToString(key[:])+"\n"), 0o600)
}
