package all_test

import (
	"bytes"
	"context"
	"errors"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/txtar"

	"weir/internal/catalog"
	"weir/internal/completion"
	"weir/internal/dialect"
	"weir/internal/dialect/all"
	"weir/internal/fault"
	"weir/internal/task"
	"weir/internal/video"
)

// Whatever a dialect can do has a fixture, as has a failure. What it can do is found by asking it, so a new dialect, and a new task of an old one,
// need theirs.
func TestEveryCapabilityHasAFixture(t *testing.T) {
	t.Parallel()
	for name, d := range all.Dialects() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			has := shown(t, name)
			for _, what := range needed(d) {
				if !has[what] {
					t.Errorf("no fixture in internal/dialect/%s/testdata/wire shows: %s", name, what)
				}
			}
		})
	}
}

// Whatever is asked for in a conversation, and read of its answer.
var ofTexts = []string{"chat", "a whole answer", "a stream", "a tool call, whole", "a tool call, streamed", "usage", "a refusal"}

// needed are the words of shown for what a dialect can do.
func needed(d dialect.Dialect) []string {
	list := []string{"a failure"}
	if _, ok := d.(dialect.Texter); ok {
		list = append(list, ofTexts...)
	}
	if _, ok := d.(dialect.TokenCounter); ok {
		list = append(list, "count")
	}
	if p, ok := d.(dialect.Performer); ok {
		for section, of := range tasks {
			if performs(p, of) {
				list = append(list, section)
			}
		}
	}
	if m, ok := d.(dialect.VideoMaker); ok {
		list = append(list, "video", "submit", "poll", "open", "a video that failed")
		s := &video.Submission{Request: &video.Request{}}
		if k := newProbe(&completion.Request{}); asks(k, func() error { return m.CancelVideo(k, k.ep, &video.Job{UpstreamID: "a/b"}) }) {
			list = append(list, "cancel")
		}
		if k := newProbe(&completion.Request{}); asks(k, func() error { _, err := m.RecoverVideo(k, k.ep, s); return err }) {
			list = append(list, "recover")
		}
	}
	return list
}

// tasks are one of each kind, by the section that asks for it.
var tasks = map[string]task.Task{
	"embeddings": &task.Embedding{Inputs: []task.Input{{Parts: []task.Part{{Text: "a"}}}}}, "moderations": &task.Moderation{Inputs: []task.ModerationInput{{Parts: []task.Part{{Text: "a"}}}}},
	"rerank": &task.Rerank{Query: "a", Documents: []string{"b"}}, "speech": &task.Speech{Input: "a", Voice: "alloy", Format: "mp3"},
	"images": &task.Image{Prompt: "a", N: 1, Compression: -1}, "transcription": &task.Transcription{File: bytes.NewReader(wave()), Format: "wav", MediaType: "audio/wav"},
}

// performs reports whether a dialect asks its provider when it is given a task.
func performs(p dialect.Performer, of task.Task) bool {
	req := &completion.Request{Task: of, N: 1}
	k := newProbe(req)
	return asks(k, func() error {
		for _, err := range p.Perform(k, k.ep, req) {
			if err != nil {
				return err
			}
		}
		return nil
	})
}

func asks(k *probe, do func() error) bool {
	_ = do() // it fails, since the probe does
	return k.asked
}

// probe is an Ask that notes that it was asked, and fails.
type probe struct {
	ep    *catalog.Endpoint
	req   *completion.Request
	asked bool
}

func newProbe(req *completion.Request) *probe {
	p := &catalog.Provider{ID: "acme", Name: "Acme", BaseURL: "http://acme.test"}
	return &probe{ep: &catalog.Endpoint{Provider: p, UpstreamID: "acme-large", Params: catalog.AllParams}, req: req}
}

var errProbe = errors.New("a probe")

func (k *probe) Do(dialect.Call) (*dialect.Answer, error) { k.asked = true; return nil, errProbe }
func (k *probe) Failure(int, http.Header, []byte) *fault.Error {
	return dialect.Broken(k.ep, errProbe)
}
func (k *probe) Wait(time.Duration) error                       { return errProbe }
func (k *probe) Now() time.Time                                 { return at }
func (k *probe) Fetch(string) ([]byte, string, error)           { return nil, "", errProbe }
func (k *probe) FetchForClient(string) ([]byte, bool, error)    { return nil, false, errProbe }
func (k *probe) AfterClient() (dialect.Ask, context.CancelFunc) { return k, func() {} }
func (k *probe) Endpoint() *catalog.Endpoint                    { return k.ep }
func (k *probe) Request() *completion.Request                   { return k.req }

// shown is what the fixtures of a dialect show.
func shown(t *testing.T, name string) map[string]bool {
	t.Helper()
	has := map[string]bool{}
	for _, file := range fixtures(t, name) {
		a, err := txtar.ParseFile(file)
		if err != nil {
			t.Fatal(err)
		}
		got := section(a, "want.answer")
		failed := strings.HasPrefix(got, "fault ")
		for _, f := range a.Files {
			words := strings.Fields(f.Name)
			switch {
			case strings.HasSuffix(f.Name, ".json"):
				has[strings.TrimSuffix(f.Name, ".json")] = has[strings.TrimSuffix(f.Name, ".json")] || !failed
			case f.Name == "do":
				for _, step := range strings.Fields(string(f.Data)) {
					has[step] = true
				}
			case words[0] >= "400" && words[0] <= "599" && failed, failed && slices.Contains(words, "json"):
				has["a failure"] = true
			}
		}
		streamed := strings.Contains(section(a, "want.request"), "Accept: text/event-stream") || strings.Contains(section(a, "want.request"), "vnd.amazon.eventstream")
		if text := section(a, "chat.json") != "" && !failed; text {
			has["a whole answer"] = has["a whole answer"] || !streamed
			has["a stream"] = has["a stream"] || streamed
			if strings.Contains(got, " call0{") {
				has["a tool call, whole"] = has["a tool call, whole"] || !streamed
				has["a tool call, streamed"] = has["a tool call, streamed"] || streamed
			}
			has["usage"] = has["usage"] || strings.Contains(got, "usage{prompt=")
			has["a refusal"] = has["a refusal"] || strings.Contains(got, "finish=content_filter") || strings.Contains(got, " refusal=")
		}
		has["a video that failed"] = has["a video that failed"] || strings.Contains(got, "poll: failed")
	}
	return has
}
