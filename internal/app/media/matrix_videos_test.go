package media_test

import (
	"cmp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"weir/internal/app/apptest"
	"weir/internal/catalog"
	"weir/internal/sim"
)

// wireVideoCell is a fault at one step of a job, with the results for one provider and with a second one.
type wireVideoCell struct {
	name          string // describes the fault
	settings      string
	alone, behind string // final states; "": skipped, because it takes a provider's minute
	finds         string // the result if a submission can be found again; "": skipped
}

// Package upstreamtest tests all faults; these are the ones with different results for the job.
var wireVideoMatrix = []wireVideoCell{
	{"works", "polls=2", "completed", "", "completed"},
	{"prompt_is_refused", "job=refuse", "failed", "failed", "failed"}, // no provider would accept it
	{"submission_400", "fault=u12", "failed", "", "failed"},
	{"submission_401", "fault=u13", "failed", "completed", "failed"},
	{"submission_429", "fault=u9", "", "completed", ""},
	{"submission_closed_before_answer", "fault=u2", "failed", "failed", ""}, // the first provider may have it, so no other is called
	{"submission_answer_is_cut_json", "fault=u18-truncated", "failed", "", "completed"},
	{"one_look_closed_before_answer", "on=poll,fault=u2,times=1", "completed", "", "completed"},
	{"one_look_500", "on=poll,fault=u15,times=1", "completed", "", "completed"},
	{"job_fails", "job=fail", "failed", "", "failed"},
	{"job_fails_by_content_policy", "job=policy", "failed", "", "failed"},
	{"job_is_forgotten_by_the_provider", "job=lost", "failed", "", "failed"},
}

func (c *wireVideoCell) slug(w *apptest.VideoWire, spare bool) string {
	name := w.Name + "/" + strings.NewReplacer("=", "-", ",", "-").Replace(c.settings)
	if spare {
		return name + "-spare"
	}
	return name
}

// Whatever a provider does to a submission or a poll, on any wire, a job ends once, with a charged video or without a charge, and at most
// one provider makes it.
func TestFailureMatrixOfVideoWires(t *testing.T) {
	t.Parallel()
	gw := apptest.StartGateway(t, func(s *apptest.Setup) {
		s.Video.FirstPoll, s.Video.MostPoll = 50*time.Millisecond, 200*time.Millisecond
		d := &s.Declared
		at := slices.IndexFunc(d.Providers, func(p catalog.Provider) bool { return p.ID == "works" })
		origin := strings.TrimSuffix(d.Providers[at].BaseURL, "/v1")
		d.Providers = append(d.Providers, catalog.Provider{ID: "spare", Name: "spare", Dialect: "openai", BaseURL: origin + "/openrouter/api/v1", Key: "sk-spare", Quirks: catalog.Quirks{VideosWire: "openrouter"}})
		for i := range apptest.VideoWires {
			w := &apptest.VideoWires[i]
			key := w.Key
			if key == "" {
				key = "sk-upstream-key"
			}
			d.Providers = append(d.Providers, catalog.Provider{ID: w.Name, Name: w.Name, Dialect: w.Dialect, BaseURL: origin + w.Base, Key: key, Quirks: w.Quirks})
			for j := range wireVideoMatrix {
				c := &wireVideoMatrix[j]
				for _, spare := range []bool{false, true} {
					slug, settings := c.slug(w, spare), c.settings
					if strings.Contains(settings, "times=") {
						settings += ",id=" + strings.ReplaceAll(slug, "/", "-")
					}
					d.Models = append(d.Models, catalog.ModelInfo{Slug: slug, Type: catalog.TypeVideo, Video: &catalog.VideoFacts{Durations: []int{w.Seconds}, Resolutions: []string{w.Resolution}, AspectRatios: []string{"16:9"}}})
					d.Offers = append(d.Offers, apptest.MatrixOffer(t, w.Name, slug, w.Model+"@"+settings))
					if spare {
						d.Offers = append(d.Offers, apptest.MatrixOffer(t, "spare", slug, "some/video"))
					}
				}
			}
		}
	})
	var all sync.WaitGroup // cells mostly wait
	places := make(chan struct{}, 8)
	for i := range apptest.VideoWires {
		w := &apptest.VideoWires[i]
		for j := range wireVideoMatrix {
			c := &wireVideoMatrix[j]
			alone, behind := c.alone, c.behind
			if w.Finds {
				alone, behind = c.finds, ""
			}
			for spare, want := range map[bool]string{false: alone, true: behind} {
				if want == "" {
					continue
				}
				all.Go(func() {
					places <- struct{}{}
					defer func() { <-places }()
					t.Run(w.Name+"/"+c.name+map[bool]string{true: "/spare"}[spare], func(t *testing.T) { c.check(t, gw, w, spare, want) })
				})
			}
		}
	}
	all.Wait()
	gw.WantBalanced(t)
}

func (c *wireVideoCell) check(t *testing.T, gw *apptest.Gateway, w *apptest.VideoWire, spare bool, want string) {
	a := gw.NewAccount(t)
	body := apptest.Shoot(c.slug(w, spare), "A heron.")
	body["provider"] = map[string]any{"order": []string{w.Name, "spare"}}
	f := a.AwaitVideo(t, a.Shoot(t, body).ID, want)
	if (f.Error == "") != (want == "completed") || strings.Contains(f.Error, "127.0.0.1") {
		t.Errorf("the job says %q", f.Error)
	}
	a.WantNothingHeld(t)
	if is := a.Credits(t); (apptest.Parse(t, is.TotalUsage) > 0) != (want == "completed") {
		t.Errorf("charged %s", is.TotalUsage)
	}
}

// unclear are responses to a submission that do not show whether it was accepted.
var unclear = []string{
	"fault=u15,status=500", "fault=u15,status=501", "fault=u15-html,status=502", "fault=u16", "fault=u15-empty,status=504", "fault=u15,status=529", "fault=u2", "fault=u2-reset",
	"fault=u6", "fault=u3", "fault=u18-html", "fault=u18-object",
}

// clue is a part of the prompt, which must not be in any log.
const clue = "a heron that nobody must read of"

// A submission with an unclear response makes at most one job, and none at another provider. If it can be found again, it is completed and
// charged once; if not, its hold is released. The operator is informed, without the prompt.
func TestUnclearSubmissionsOfVideoWires(t *testing.T) {
	t.Parallel()
	type cell struct {
		w    *apptest.VideoWire
		slug string
		made bool
	}
	var cells []cell
	gw := apptest.StartGateway(t, func(s *apptest.Setup) {
		s.Video.FirstPoll, s.Video.MostPoll = 50*time.Millisecond, 200*time.Millisecond
		s.Upstream.FirstByte, s.Server.AdminListen = 3*time.Second, "127.0.0.1:0"
		d := &s.Declared
		at := slices.IndexFunc(d.Providers, func(p catalog.Provider) bool { return p.ID == "works" })
		origin := strings.TrimSuffix(d.Providers[at].BaseURL, "/v1")
		d.Providers = append(d.Providers, catalog.Provider{ID: "spare", Name: "spare", Dialect: "openai", BaseURL: origin + "/openrouter/api/v1", Key: "sk-spare", Quirks: catalog.Quirks{VideosWire: "openrouter"}})
		for i := range apptest.VideoWires {
			w := &apptest.VideoWires[i]
			d.Providers = append(d.Providers, catalog.Provider{ID: w.Name, Name: w.Name, Dialect: w.Dialect, BaseURL: origin + w.Base, Key: cmp.Or(w.Key, "sk-of-"+w.Name), Quirks: w.Quirks})
			for _, fault := range unclear {
				for _, made := range []bool{false, true} {
					if made && fault == "fault=u6" || !made && w.Finds && fault != "fault=u6" { // part of the response was sent only if there is a job; lists are trusted after a minute
						continue
					}
					c := cell{w, w.Name + "/" + strings.NewReplacer("=", "-", ",", "-").Replace(fault), made || fault == "fault=u6"}
					if made {
						c.slug += "-made"
						fault += ",made=1"
					}
					cells = append(cells, c)
					d.Models = append(d.Models, catalog.ModelInfo{Slug: c.slug, Type: catalog.TypeVideo, Video: &catalog.VideoFacts{Durations: []int{w.Seconds}, Resolutions: []string{w.Resolution}, AspectRatios: []string{"16:9"}}})
					d.Offers = append(d.Offers, apptest.MatrixOffer(t, w.Name, c.slug, w.Model+"@"+fault), apptest.MatrixOffer(t, "spare", c.slug, "some/video"))
				}
			}
		}
	})
	var all sync.WaitGroup
	places := make(chan struct{}, 8)
	want := map[string]int64{}
	found, lost := 0, 0
	for _, c := range cells {
		state := "failed"
		switch {
		case c.w.Finds:
			state = "completed"
			found++
		default:
			lost++
		}
		if c.made {
			want[c.w.Name]++
		}
		all.Go(func() {
			places <- struct{}{}
			defer func() { <-places }()
			a := gw.NewAccount(t)
			body := apptest.Shoot(c.slug, clue+", "+c.slug)
			body["provider"] = map[string]any{"order": []string{c.w.Name, "spare"}}
			f := a.AwaitVideo(t, a.Shoot(t, body).ID, state)
			if (f.Error == "") != (state == "completed") || strings.Contains(f.Error, "127.0.0.1") {
				t.Errorf("%s: the job says %q", c.slug, f.Error)
			}
			a.WantNothingHeld(t)
			if is := a.Credits(t); (apptest.Parse(t, is.TotalUsage) > 0) != (state == "completed") {
				t.Errorf("%s: charged %s", c.slug, is.TotalUsage)
			}
		})
	}
	all.Wait()
	got := map[string]int64{}
	for _, c := range gw.Sim.Jobs() {
		got[map[string]string{"sk-spare": "spare", sim.KlingAccessKey: "kling"}[c.Key]+strings.TrimPrefix(strings.TrimPrefix(c.Key, "sk-of-"), sim.KlingAccessKey)] += c.Submits
	}
	for name, n := range got {
		if n != want[name] {
			t.Errorf("%s has begun %d jobs, want %d", name, n, want[name])
		}
	}
	for _, line := range []string{
		`weir_video_submissions_unclear_total{outcome="found"} ` + strconv.Itoa(found), `weir_video_submissions_unclear_total{outcome="lost"} ` + strconv.Itoa(lost),
		`weir_video_submissions_unclear_total{outcome="absent"} 0`, `weir_video_jobs_lost_total ` + strconv.Itoa(lost),
	} {
		if !strings.Contains(gw.Metrics(t), line+"\n") {
			t.Errorf("the metrics do not have %s", line)
		}
	}
	if text := gw.Log.String(); strings.Contains(text, clue) || !strings.Contains(text, "answers neither yes nor no") {
		t.Error("the log repeats what was asked for, or does not report unclear responses")
	}
	gw.WantBalanced(t)
}
