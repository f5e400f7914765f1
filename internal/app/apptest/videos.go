package apptest

import (
	"encoding/json"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"weir/internal/catalog"
	"weir/internal/sim"
)

// Videos adds video models on the wire of the simulator at origin ("": the gateway's own simulator), each with the simulator's name for it.
// Polls are frequent.
func Videos(t *testing.T, origin string, models map[string]string) func(*Setup) {
	return func(s *Setup) {
		s.Video.FirstPoll, s.Video.MostPoll = 20*time.Millisecond, 200*time.Millisecond
		d := &s.Declared
		at := slices.IndexFunc(d.Providers, func(p catalog.Provider) bool { return p.ID == "works" })
		base := d.Providers[at].BaseURL
		if origin != "" {
			base = origin + "/v1"
		}
		for _, id := range []string{"filmer", "spare"} {
			d.Providers = append(d.Providers, catalog.Provider{ID: id, Name: id, Dialect: "openai", BaseURL: base, Key: "sk-" + id})
		}
		for slug, upstream := range models {
			d.Models = append(d.Models, catalog.ModelInfo{Slug: slug, Type: catalog.TypeVideo, Video: &catalog.VideoFacts{
				Durations: []int{4, 8}, Resolutions: []string{"720p"}, AspectRatios: []string{"16:9", "9:16"}, FrameImages: []string{"first_frame"}, Audio: true,
			}})
			d.Offers = append(d.Offers, videoOffer(t, "filmer", slug, upstream))
		}
	}
}

func videoOffer(t *testing.T, provider, slug, upstream string) catalog.Offer {
	return catalog.Offer{Provider: provider, Model: slug, UpstreamID: upstream, Input: catalog.Text | catalog.Image, Output: catalog.Video,
		Pricing: catalog.Pricing{List: "test", Video: []catalog.VideoRule{{PerSecond: Price(t, "1")}, {WithAudio: true, PerSecond: Price(t, "2")}}}}
}

// ShownVideo is a job as clients see it.
type ShownVideo struct {
	ID         string   `json:"id"`
	Status     string   `json:"status"`
	Generation string   `json:"generation_id"`
	Polling    string   `json:"polling_url"`
	URLs       []string `json:"unsigned_urls"`
	Error      string   `json:"error"`
	Usage      *struct {
		Cost json.Number `json:"cost"`
	} `json:"usage"`
	CreatedAt   int64 `json:"created_at"`
	CompletedAt int64 `json:"completed_at"`
	ExpiresAt   int64 `json:"expires_at"`
}

func (f *ShownVideo) active() bool { return f.Status == "pending" || f.Status == "in_progress" }

// Shoot returns the shortest request for a video.
func Shoot(model, prompt string) map[string]any {
	return map[string]any{"model": model, "prompt": prompt}
}

func (a *Answer) Video(t *testing.T, status int) *ShownVideo {
	t.Helper()
	var f ShownVideo
	if err := json.Unmarshal(a.Body, &f); err != nil || a.Status != status || !strings.HasPrefix(f.ID, "vj_") {
		t.Fatalf("status %d, want %d, %v: %s", a.Status, status, err, a.Body)
	}
	return &f
}

// Shoot submits a job that must be accepted.
func (a *Account) Shoot(t *testing.T, body map[string]any) *ShownVideo {
	t.Helper()
	got := a.Do(t, http.MethodPost, "/v1/videos", body)
	f := got.Video(t, http.StatusAccepted)
	if f.Status != "pending" || f.Generation != got.Header.Get("X-Generation-Id") || f.Polling != a.Gw.URL+"/v1/videos/"+f.ID {
		t.Errorf("a new job: %s", got.Body)
	}
	return f
}

func (a *Account) Video(t *testing.T, id string) *ShownVideo {
	t.Helper()
	return a.Do(t, http.MethodGet, "/v1/videos/"+id, nil).Video(t, http.StatusOK)
}

// AwaitVideo waits until the job is in one of the states.
func (a *Account) AwaitVideo(t *testing.T, id string, states ...string) (f *ShownVideo) {
	t.Helper()
	WaitFor(t, "the job "+id+" to be "+strings.Join(states, " or "), func() bool {
		f = a.Video(t, id)
		return slices.Contains(states, f.Status) || !f.active()
	})
	if !slices.Contains(states, f.Status) {
		t.Fatalf("the job is %+v, want it %v", *f, states)
	}
	return f
}

// WantWord checks an error's status, envelope and machine word, and returns its metadata.
func (a *Answer) WantWord(t *testing.T, status int, word string) map[string]any {
	t.Helper()
	a.WantEnvelope(t)
	var e struct {
		Error struct{ Metadata map[string]any }
	}
	if err := json.Unmarshal(a.Body, &e); err != nil || a.Status != status || e.Error.Metadata["error_type"] != word {
		t.Errorf("status %d, want %d %s: %s", a.Status, status, word, a.Body)
	}
	return e.Error.Metadata
}

// VideoCounts returns the simulator's counts of video requests.
func VideoCounts(s *sim.Server) (c sim.JobCounts) {
	for _, one := range s.Jobs() {
		c.Submits, c.Polls, c.Cancels, c.Downloads = c.Submits+one.Submits, c.Polls+one.Polls, c.Cancels+one.Cancels, c.Downloads+one.Downloads
	}
	return c
}

func (a *Answer) WantVideoLimit(t *testing.T, active []string) {
	t.Helper()
	m := a.WantWord(t, http.StatusTooManyRequests, "rate_limit_exceeded")
	var reported []string
	list, _ := m["active_jobs"].([]any)
	for _, id := range list {
		s, _ := id.(string)
		reported = append(reported, s)
	}
	slices.Sort(reported)
	if m["limit"] != 2.0 || !slices.Equal(reported, active) || a.Header.Get("Retry-After") != "30" {
		t.Errorf("Retry-After %q, want jobs %v: %s", a.Header.Get("Retry-After"), active, a.Body)
	}
}
