package app

import (
	"bytes"
	"context"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"weir/internal/catalog/update"
	"weir/internal/config"
	"weir/internal/store"
)

// ledgerMarks are marks in memory.
type ledgerMarks map[string]string

func (m ledgerMarks) Mark(_ context.Context, name string) (string, error) { return m[name], nil }

func (m ledgerMarks) SwapMark(_ context.Context, name, old, value string) (bool, error) {
	if m[name] != old {
		return false, nil
	}
	m[name] = value
	return true, nil
}

// TestDailyUpdate fetches once a day on one of two nodes, again an hour after a failure, and shows the result at both.
func TestDailyUpdate(t *testing.T) {
	t.Parallel()
	var asked atomic.Int64
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if asked.Add(1); r.UserAgent() != "weir" || len(r.Header) != 3 || r.Method != http.MethodGet || r.URL.RawQuery != "" {
			t.Errorf("sent: %s %s %v", r.Method, r.URL, r.Header)
		}
		http.Error(w, "away", http.StatusBadGateway)
	}))
	defer server.Close()
	db := ledgerMarks{}
	now := time.Date(2027, 1, 1, 12, 0, 0, 0, time.UTC)
	node := func() (*daily, *[]updated, *bytes.Buffer) {
		cfg := config.Default()
		cfg.DataDir = t.TempDir()
		p := &cfg.PriceLists
		p.ModelsDev, p.LiteLLM, p.Portkey, p.GenAIPrices = server.URL+"/m", server.URL+"/l", server.URL+"/{file}", server.URL+"/g"
		var saw []updated
		var log bytes.Buffer
		return &daily{updater: updaterOf(&cfg, dialerOf(&cfg), nil), marks: db, every: 24 * time.Hour, publish: update.Rising, now: func() time.Time { return now },
			log: slog.New(slog.NewTextHandler(&log, nil)), saw: func(u updated) { saw = append(saw, u) }}, &saw, &log
	}
	first, saw, log := node()
	second, heard, _ := node()
	first.round(t.Context())
	fetched := asked.Load()
	second.round(t.Context())
	if fetched == 0 || asked.Load() != fetched || len(*saw) != 1 || (*saw)[0].outcome != updateFailed || len(*heard) != 1 || (*heard)[0].outcome != updateFailed {
		t.Errorf("asked %d, then %d times; %+v, %+v", fetched, asked.Load(), *saw, *heard)
	}
	if lines := strings.Count(log.String(), "\n"); lines != 1 || strings.Count(log.String(), "status 502") != 4 {
		t.Errorf("the log has a line for each of 4 sources, in one: %s", log)
	}
	for _, c := range []struct {
		after time.Duration
		more  bool
	}{{59 * time.Minute, false}, {2 * time.Minute, true}} {
		now, fetched = now.Add(c.after), asked.Load()
		second.round(t.Context())
		if (asked.Load() > fetched) != c.more {
			t.Errorf("after %s: asked %d more times", c.after, asked.Load()-fetched)
		}
	}
	mark := updated{at: now, outcome: updatePublished, published: 3, waiting: 2}
	if got := readUpdated(mark.String()); got != mark {
		t.Errorf("%+v is read as %+v", mark, got)
	}
	db[store.MarkPrices] = mark.String()
	now, fetched = now.Add(23*time.Hour), asked.Load()
	first.round(t.Context())
	if last := (*saw)[len(*saw)-1]; asked.Load() != fetched || last.published != 3 || last.waiting != 2 {
		t.Errorf("a day is not over: %d, %+v", asked.Load()-fetched, *saw)
	}
	now = now.Add(2 * time.Hour)
	first.round(t.Context())
	if asked.Load() == fetched {
		t.Error("nothing is fetched after a day")
	}
}

// TestUpdateSentences say what an operator has to do.
func TestUpdateSentences(t *testing.T) {
	t.Parallel()
	for want, o := range map[string]update.Outcome{
		"nothing of the new price lists is published, because something is implausible: 10 of 20 offers are gone": {Waiting: 10, Beyond: "10 of 20 offers are gone"},
		"new prices are published: 2 endpoints are new or cost more":                                              {Published: 2},
		"3 endpoints of the new price lists wait as a draft: weir catalog publish":                                {Waiting: 3},
		"2 endpoints are new or cost more; 3 that cost less, hold less or are gone wait as a draft":               {Published: 2, Waiting: 3},
	} {
		if got := updateSentence(&o); !strings.Contains(got, want) {
			t.Errorf("%+v: %q", o, got)
		}
	}
}

// TestUpdatesAreOff where nothing may leave the machine, by one word.
func TestUpdatesAreOff(t *testing.T) {
	t.Parallel()
	for word, want := range map[string]bool{update.Off: false, update.ByHand: true, update.Rising: true} {
		g := &Gateway{cfg: config.Default()}
		g.cfg.PriceLists.Publish = word
		if g.updates() != want {
			t.Errorf("%s: %t", word, !want)
		}
	}
}
