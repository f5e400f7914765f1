package media_test

import (
	"bytes"
	"context"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"weir/internal/apikey"
	"weir/internal/app/apptest"
	"weir/internal/catalog"
	"weir/internal/sim"
)

// asked records which keys a provider was asked with, by path.
type asked struct {
	mu   sync.Mutex
	keys map[string][]string
	sim  *sim.Server
}

func (a *asked) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	a.mu.Lock()
	path := r.Method + " " + r.URL.Path
	if strings.HasPrefix(r.URL.Path, "/v1/videos/") {
		path = r.Method + " video"
	}
	a.keys[path] = append(a.keys[path], strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer "))
	a.mu.Unlock()
	a.sim.ServeHTTP(w, r)
}

// only fails unless all requests whose path begins so came with a key, and forgets them.
func (a *asked) only(t *testing.T, path, key string) {
	t.Helper()
	a.mu.Lock()
	defer a.mu.Unlock()
	n := 0
	for at, keys := range a.keys {
		if strings.HasPrefix(at, path) {
			n += len(keys)
			if slices.ContainsFunc(keys, func(k string) bool { return k != key }) {
				t.Errorf("%s was asked with %v, want %s", at, keys, key)
			}
			delete(a.keys, at)
		}
	}
	if n == 0 {
		t.Errorf("%s was never asked: %v", path, a.keys)
	}
}

const (
	theirKey = "operator-key-of-media"
	mine     = "own-key-0123456789-mine"
)

// Embeddings, recordings, speech, images and videos go with the owner's key, polls and downloads of the video, too; another account's go with the
// operator's, and each is charged by who answered.
func TestOwnKeysOfMedia(t *testing.T) {
	t.Parallel()
	a := &asked{keys: map[string][]string{}, sim: sim.New(sim.Config{})}
	server := &http.Server{Handler: a, ReadHeaderTimeout: time.Minute}
	l := apptest.Listen(t)
	go func() { _ = server.Serve(l) }()
	t.Cleanup(func() { _, _ = server.Close(), a.sim.Close(context.Background()) })
	master := filepath.Join(t.TempDir(), "master")
	if err := os.WriteFile(master, []byte("00112233445566778899aabbccddeeff0123456789abcdef0123456789abcdef"), 0o600); err != nil {
		t.Fatal(err)
	}
	gw := apptest.StartGateway(t, apptest.Videos(t, "http://"+l.Addr().String(), map[string]string{"film/quick": "video"}), func(s *apptest.Setup) {
		s.Sealing.MasterKeyFile = master
		d := &s.Declared
		for i := range d.Providers {
			if d.Providers[i].ID == "filmer" {
				d.Providers[i].Key = theirKey
			}
		}
		for slug, is := range map[string]struct {
			kind, upstream string
			prices         catalog.Pricing
		}{
			"own/vectors": {catalog.TypeEmbedding, "embed", catalog.Pricing{Base: catalog.Prices{Prompt: apptest.Price(t, "0.1")}}},
			"own/ears":    {catalog.TypeTranscription, "transcribe", catalog.Pricing{Rates: catalog.Rates{Minute: apptest.Price(t, "6")}}},
			"own/voice":   {catalog.TypeSpeech, "speech", catalog.Pricing{Rates: catalog.Rates{Characters: apptest.Price(t, "2")}}},
			"own/picture": {catalog.TypeImage, "image", catalog.Pricing{Base: catalog.Prices{ImageOutputEach: apptest.Price(t, "3")}}},
		} {
			is.prices.List = "test"
			d.Models = append(d.Models, catalog.ModelInfo{Slug: slug, Type: is.kind})
			o := catalog.Offer{Provider: "filmer", Model: slug, UpstreamID: is.upstream, Input: catalog.Text | catalog.Image | catalog.Audio, Output: catalog.Text | catalog.Image | catalog.Audio, ContextLength: 8192, Pricing: is.prices}
			d.Offers = append(d.Offers, o)
		}
	})
	o, other := gw.NewOwner(t, 1000, apikey.NewKey{}), gw.NewOwner(t, 1000, apikey.NewKey{})
	added := o.Pages.Do(t, http.MethodPost, "/api/provider-keys", map[string]any{"provider": "filmer", "key": mine, "order": "before"})
	if added.Status != http.StatusCreated {
		t.Fatalf("%d %s", added.Status, added.Body)
	}
	id := apptest.Decode[struct{ Data struct{ ID string } }](t, added.Body).Data.ID
	for _, c := range []struct {
		path string
		body map[string]any
	}{
		{"/v1/embeddings", map[string]any{"model": "own/vectors", "input": "A heron."}},
		{"/v1/audio/speech", map[string]any{"model": "own/voice", "input": "A heron stands.", "voice": "alloy"}},
		{"/v1/images/generations", map[string]any{"model": "own/picture", "prompt": "A heron."}},
	} {
		var costs [2]string
		for i, who := range []*apptest.Owner{o, other} {
			got := who.Account.Do(t, http.MethodPost, c.path, c.body)
			if got.Status != http.StatusOK {
				t.Fatalf("%s: %d %s", c.path, got.Status, got.Body)
			}
			call := who.Page(t, "/api/calls/"+got.Header.Get("X-Generation-Id"))
			costs[i], _ = call["cost"].(string)
			if (call["own_key"] == id) != (i == 0) || !bytes.Contains(got.Body, []byte(`"is_byok":true`)) && i == 0 && c.path != "/v1/audio/speech" {
				t.Errorf("%s: %v answered %s", c.path, call["own_key"], got.Body[:min(len(got.Body), 300)])
			}
			a.only(t, "POST /v1", []string{mine, theirKey}[i])
		}
		if costs[0] == costs[1] || costs[0] == "0" {
			t.Errorf("%s: the fee is %s, the price %s", c.path, costs[0], costs[1])
		}
	}
	var heard [2]string
	for i, who := range []*apptest.Owner{o, other} {
		got := who.Account.Transcribe(t, "own/ears")
		if got.Status != http.StatusOK {
			t.Fatalf("a transcription: %d %s", got.Status, got.Body)
		}
		call := who.Page(t, "/api/calls/"+got.Header.Get("X-Generation-Id"))
		heard[i], _ = call["cost"].(string)
		if (call["own_key"] == id) != (i == 0) {
			t.Errorf("a transcription: %v answered %s", call["own_key"], got.Body)
		}
		a.only(t, "POST /v1", []string{mine, theirKey}[i])
	}
	if heard != [2]string{"0.05", "1"} {
		t.Errorf("a transcription: the fee is %s, the price %s", heard[0], heard[1])
	}
	film := func(who *apptest.Owner, key string, byok string) string {
		t.Helper()
		job := who.Account.Shoot(t, apptest.Shoot("film/quick", "A heron."))
		apptest.WaitFor(t, "the video", func() bool {
			return apptest.Decode[struct{ Status string }](t, who.Account.Do(t, http.MethodGet, "/v1/videos/"+job.ID, nil).Body).Status == "completed"
		})
		if got := who.Account.Do(t, http.MethodGet, "/v1/videos/"+job.ID, nil); !bytes.Contains(got.Body, []byte(byok)) {
			t.Errorf("%s", got.Body)
		}
		if got := who.Account.Do(t, http.MethodGet, "/v1/videos/"+job.ID+"/content", nil); got.Status != http.StatusOK {
			t.Errorf("%d", got.Status)
		}
		a.only(t, "", key)
		return job.ID
	}
	theirs := film(other, theirKey, `"usage":{"cost":8,"is_byok":false}`)
	mineToo := film(o, mine, `"usage":{"cost":0.4,"is_byok":true}`)
	if got := o.Pages.Do(t, http.MethodDelete, "/api/provider-keys/"+id, nil); got.Status != http.StatusOK {
		t.Fatalf("%d %s", got.Status, got.Body)
	}
	if got := o.Account.Do(t, http.MethodGet, "/v1/videos/"+mineToo+"/content", nil); got.Status != http.StatusForbidden || !bytes.Contains(got.Body, []byte("own key")) {
		t.Errorf("a video of a key that was removed: %d %s", got.Status, got.Body)
	}
	if got := other.Account.Do(t, http.MethodGet, "/v1/videos/"+theirs+"/content", nil); got.Status != http.StatusOK {
		t.Errorf("%d", got.Status)
	}
	film(o, theirKey, `"is_byok":false`)
	o.Account.AwaitSettled(t)
	gw.WantBalanced(t)
}
