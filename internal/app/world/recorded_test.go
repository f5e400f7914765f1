package world_test

import (
	"bytes"
	"cmp"
	"compress/gzip"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"math"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"weir/internal/app/apptest"
	"weir/internal/catalog/builtin"
	"weir/internal/config"
	"weir/internal/money"
)

// recording is one interaction of an official client with a provider, recorded live.
type recording struct {
	ID      string            `json:"id"`
	File    string            `json:"file"`
	Index   int               `json:"index"`
	Vendor  string            `json:"vendor"`
	Wire    string            `json:"wire"`
	Model   string            `json:"model"`
	Stream  bool              `json:"stream"`
	URL     string            `json:"url"`
	Request json.RawMessage   `json:"request"`
	Status  int               `json:"status"`
	Headers map[string]string `json:"headers"`
	Body    string            `json:"body"`
	Binary  string            `json:"body_b64"`
}

// recordings reads the corpus.
var recordings = sync.OnceValue(func() (all []*recording) {
	f, err := os.Open("testdata/recorded/interactions.jsonl.gz")
	if err != nil {
		panic(err)
	}
	defer f.Close()
	z, err := gzip.NewReader(f)
	if err != nil {
		panic(err)
	}
	for d := json.NewDecoder(z); ; {
		r := &recording{}
		if err := d.Decode(r); err == io.EOF {
			return all
		} else if err != nil {
			panic(err)
		}
		if string(r.Request) == "null" {
			r.Request = nil
		}
		all = append(all, r)
	}
})

// ofStyle names the wire of each style, and ofWire the style of each wire that has one.
var (
	wireOfStyle = [...]string{chatStyle: "openai", responsesStyle: "responses", messagesStyle: "anthropic", geminiStyle: "gemini"}
	styleNames  = [...]string{chatStyle: "chat", responsesStyle: "responses", messagesStyle: "messages", geminiStyle: "gemini"}
)

var notInSlugs = regexp.MustCompile(`[^a-z0-9._-]+`)

func (r *recording) slug() string {
	return r.provider() + "/m-" + strings.Trim(notInSlugs.ReplaceAllString(strings.ToLower(r.Model), "-"), "-.") + "--" + r.ID
}

// provider is the id of the provider of a recording: that of OpenAI and Azure says whose reasoning it can read.
func (r *recording) provider() string {
	if r.Wire == "responses" && (r.Vendor == "openai" || r.Vendor == "azure") {
		return r.Vendor
	}
	return "on-" + notInSlugs.ReplaceAllString(r.Vendor, "-") + "-" + r.Wire
}

func (r *recording) upstreamID() string {
	return cmp.Or(strings.TrimPrefix(r.Model, "models/"), "model") + "--" + r.ID
}

// replay is a provider on loopback that answers with recordings, and a node that has it as all of the recorded providers.
type replay struct {
	*apptest.Gateway
	mu   sync.Mutex
	got  map[string]apptest.Sent // newest request, by recording
	byID map[string]*recording
	key  *apptest.Account
}

var recordingID = regexp.MustCompile(`--(c[0-9a-f]{10})\b`)

func (r *replay) ServeHTTP(w http.ResponseWriter, req *http.Request) {
	body, err := io.ReadAll(req.Body)
	if err != nil {
		return
	}
	at := recordingID.FindStringSubmatch(req.URL.EscapedPath())
	if at == nil {
		var named struct {
			Model string
		}
		_ = json.Unmarshal(body, &named)
		at = recordingID.FindStringSubmatch(named.Model)
	}
	if at == nil {
		w.WriteHeader(http.StatusNotFound)
		return
	}
	is := r.byID[at[1]]
	r.mu.Lock()
	r.got[is.ID] = apptest.Sent{Path: req.URL.RequestURI(), Header: req.Header.Clone(), Body: body}
	r.mu.Unlock()
	for name, value := range is.Headers {
		w.Header().Set(name, value)
	}
	w.WriteHeader(is.Status)
	_, _ = w.Write(is.bytesOf())
}

func (r *replay) sent(id string) apptest.Sent {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.got[id]
}

// prices are rubles for a thousand tokens, and for calls of the provider's tools.
var prices = map[string]string{"prompt": "0.1", "completion": "0.4", "cache_read": "0.01", "cache_write": "0.125", "cache_write_1h": "0.2",
	"web_search": "0", "web_fetch": "0", "file_search": "0", "code_execution": "0", "mcp": "0"}

func startReplay(t *testing.T, all []*recording) *replay {
	t.Helper()
	r := &replay{got: map[string]apptest.Sent{}, byID: map[string]*recording{}}
	server := &http.Server{Handler: r, ReadHeaderTimeout: time.Minute}
	l := apptest.Listen(t)
	go func() { _ = server.Serve(l) }()
	t.Cleanup(func() { _ = server.Close() })
	origin := "http://" + l.Addr().String()
	providers := map[string]object{}
	var models []object
	for _, is := range all {
		r.byID[is.ID] = is
		p := providers[is.provider()]
		if p == nil {
			p = is.declared(origin)
			providers[is.provider()] = p
		}
		offer := object{"id": is.slug(), "upstream_id": is.upstreamID(), "context_length": 1_000_000, "max_output": 100_000, "prices": prices, "input": []string{"text", "image", "audio", "file", "video"}}
		if strings.Contains(is.Wire, "embed") {
			offer["prices"] = object{"prompt": "0.1"}
			models = append(models, object{"id": is.slug(), "type": "embedding", "context_length": 100_000})
		}
		p["models"] = append(p["models"].([]object), offer)
	}
	file := filepath.Join(t.TempDir(), "weir.yaml")
	text, err := json.Marshal(object{"providers": slices.Collect(maps.Values(providers)), "models": models})
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, text, 0o600); err != nil {
		t.Fatal(err)
	}
	loaded, err := config.Load(file, func(string) (string, bool) { return "", false }, nil)
	if err != nil {
		t.Fatal(err)
	}
	r.Gateway = apptest.StartGateway(t, func(s *apptest.Setup) {
		as := s.Config
		s.Config = loaded
		s.DataDir, s.Server, s.Runtime, s.Builtin, s.Health, s.Ledger, s.Stream, s.Journal, s.Upstream = as.DataDir, as.Server, as.Runtime, as.Builtin, as.Health, as.Ledger, as.Stream, as.Journal, as.Upstream
	})
	r.key = r.Open(t, apptest.Opening{Amount: 100_000 * money.Ruble, Keys: []*apikeyLimit{nil}})[0]
	return r
}

// declared is the provider of a recording: like the built-in one, where there is one.
func (r *recording) declared(origin string) object {
	p := object{"id": r.provider(), "api_key": "sk-upstream", "models": []object{}, "base_url": origin + "/v1"}
	switch r.Wire {
	case "anthropic", "responses":
		p["dialect"] = r.Wire
		if r.Vendor == "anthropic" {
			p["like"] = "anthropic"
		}
		if r.Wire == "anthropic" {
			p["base_url"] = origin
		}
		return p
	case "gemini", "gemini-embed":
		p["like"], p["base_url"] = "google", origin+"/v1beta"
		if r.Vendor == "vertex" {
			p["base_url"] = origin + "/v1/projects/project/locations/global/publishers/google"
		}
		return p
	case "bedrock":
		p["like"], p["base_url"], p["quirks"] = "bedrock", origin, object{"region": "us-east-1"}
		return p
	case "cohere-embed":
		p["dialect"], p["base_url"] = "cohere", origin
		return p
	}
	p["dialect"] = "openai"
	if known, ok := builtin.Named(r.Vendor); ok {
		delete(p, "dialect")
		p["like"] = known.ID
		if known.Quirks.Responses { // its responses are recordings of their own
			quirks := known.Quirks
			quirks.Responses = false
			p["quirks"] = settings(&quirks)
		}
	}
	return p
}

// TestRecordings asks for each recording in each style, whole and streamed, and compares what the client hears with the recording.
func TestRecordings(t *testing.T) {
	t.Parallel()
	all := recordings()
	r := startReplay(t, all)
	failing := failingIn(t, "testdata/recorded/failing.txt")
	results := tally{}
	t.Cleanup(func() { results.check(t, all) })
	for i, is := range all {
		if strings.Contains(is.Wire, "embed") || testing.Short() && i%16 != 0 {
			continue
		}
		t.Run(is.ID, func(t *testing.T) {
			t.Parallel()
			defer results.ran()
			for s := chatStyle; s < noStyle; s++ {
				for _, stream := range []bool{false, true} {
					if wireOfStyle[s] == is.Wire && stream != is.Stream {
						continue // what passes through comes in the form that was asked for
					}
					how := "whole"
					if stream {
						how = "stream"
					}
					name := is.ID + "/" + styleNames[s] + "/" + how
					wrong, asked := r.compare(t, is, s, stream)
					results.add(is.Wire, s, asked, len(wrong) == 0)
					switch {
					case len(wrong) > 0 && !failing[name]:
						t.Errorf("%s (%s, %s, %s):\n  %s", name, is.Vendor, is.Wire, is.File, strings.Join(wrong, "\n  "))
					case len(wrong) == 0 && failing[name]:
						t.Errorf("%s is right: remove it from the list", name)
					}
				}
			}
		})
	}
}

func failingIn(t *testing.T, file string) map[string]bool {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	out := map[string]bool{}
	for line := range strings.Lines(string(text)) {
		if line = strings.TrimSpace(line); line != "" {
			out[line] = true
		}
	}
	return out
}

// compare asks for a recording in a style, and says what is wrong with the answer, and whether the provider was asked.
func (r *replay) compare(t *testing.T, is *recording, s style, stream bool) (wrong []string, asked bool) {
	path, body := is.ask(s, stream)
	got := r.key.Send(t, http.MethodPost, path, body, nil)
	if is.Status == http.StatusOK && got.Status != http.StatusOK && wireOfStyle[s] == is.Wire && r.refuses(got) {
		return nil, false
	}
	return is.wrong(s, got), true
}

// wrong is what is wrong with the answer to a recording in a style.
func (r *recording) wrong(s style, got *apptest.Answer) (wrong []string) {
	if r.Status != http.StatusOK {
		if got.Status < 400 {
			wrong = append(wrong, fmt.Sprintf("status %d after %d", got.Status, r.Status))
		}
		return wrong
	}
	native := wireOfStyle[s] == r.Wire
	want, err := read(r.Wire, r.bytesOf())
	if err != nil || want.Finish == "" && want.Text == "" && len(want.Calls) == 0 && want.Prompt == 0 {
		if got.Status < 400 {
			wrong = append(wrong, fmt.Sprintf("status %d after no JSON: %v", got.Status, err))
		}
		return wrong
	}
	if got.Status != http.StatusOK {
		if want.Errors > 0 || want.Finish == "other" && got.Status == http.StatusBadGateway || want.Finish == "filter" && want.Text == "" && got.Status == http.StatusBadRequest {
			return nil
		}
		return []string{fmt.Sprintf("status %d: %.400s", got.Status, got.Body)}
	}
	heard, err := read(wireOfStyle[s], got.Body)
	if err != nil {
		return []string{err.Error()}
	}
	if !native {
		if _, err := hear(s, got.Header.Get("Content-Type"), string(got.Body)); err != nil {
			wrong = append(wrong, err.Error())
		}
	}
	if want.Errors > 0 {
		if heard.Errors == 0 {
			wrong = append(wrong, "an error is lost")
		}
		return wrong
	}
	differ := func(what string, got, want any) {
		if fmt.Sprint(got) != fmt.Sprint(want) {
			wrong = append(wrong, fmt.Sprintf("%s: %.300q, want %.300q", what, fmt.Sprint(got), fmt.Sprint(want)))
		}
	}
	if want.Finish == "other" && heard.Errors > 0 { // a style that has no word for it
		return wrong
	}
	differ("errors", heard.Errors, 0)
	differ("text", imagesInText.ReplaceAllString(heard.Text, ""), want.Text)
	differ("reasoning", squeezed(heard.Reasoning), squeezed(want.Reasoning))
	if s == messagesStyle || s == geminiStyle { // they have no calls with free input
		for i := range want.Calls {
			if free := strings.TrimPrefix(want.Calls[i], want.Names[i]); !strings.HasPrefix(free, "{") {
				want.Calls[i] = called(want.Names[i], object{"input": free})
			}
		}
	}
	differ("calls", heard.Calls, want.Calls)
	if want.Finish == "" { // the server never said why
	} else if want.Finish == "other" {
		if heard.Finish == "stop" || heard.Finish == "tools" {
			differ("finish", heard.Finish, want.Finish)
		}
	} else {
		differ("finish", heard.Finish, want.Finish)
	}
	differ("sources", heard.Sources, want.Sources)
	if want.Prompt > 0 && want.Completion > 0 {
		differ("prompt tokens", heard.Prompt, want.Prompt)
		differ("completion tokens", heard.Completion, want.Completion)
		differ("cached tokens", heard.Read, want.Read)
		if want.Reasoned > 0 && heard.Reasoned > 0 {
			differ("reasoning tokens", heard.Reasoned, want.Reasoned)
		}
		if heard.Cost != "" {
			var is float64
			_, _ = fmt.Sscan(heard.Cost, &is)
			if due := want.due(); math.Abs(is-due) > 1e-6 {
				differ("cost", is, due)
			}
		}
	}
	return wrong
}

// imagesInText are images where a style has no place for them.
var imagesInText = regexp.MustCompile(`!\[image\]\(data:[^)]*\)\n?`)

// refusals are requests that Weir refuses before it asks a provider, and why.
var refusals = []struct{ says, why string }{
	{"belong to the account of the provider's key", "files of the account of whoever recorded"},
	{"uses stores, servers or credentials of the gateway's own account", "stores of the account of whoever recorded"},
	{"conversation is not supported", "conversations are kept by OpenAI, for the account of whoever recorded"},
	{"There is no response with this id", "responses are kept by Weir, by ids of its own"},
	{"has a price for image_generation", "images inside a conversation have no price in this test"},
}

// refuses reports whether a request is refused by what it asks.
func (r *replay) refuses(got *apptest.Answer) bool {
	return slices.ContainsFunc(refusals, func(x struct{ says, why string }) bool { return bytes.Contains(got.Body, []byte(x.says)) })
}

// due is what an answer costs, in rubles.
func (o *outcome) due() float64 {
	plain := o.Prompt - o.Read - o.Written
	return (float64(plain)*0.1 + float64(o.Read)*0.01 + float64(o.Written-o.Hour)*0.125 + float64(o.Hour)*0.2 + float64(o.Completion)*0.4) / 1000
}

// squeezed leaves out white space: styles separate parts of reasoning differently.
func squeezed(s string) string { return strings.Join(strings.Fields(s), "") }

// ask is a request for a recording in a style: the recorded one where that is the style of its wire.
func (r *recording) ask(s style, stream bool) (path string, body []byte) {
	path = [...]string{chatStyle: "/v1/chat/completions", responsesStyle: "/v1/responses", messagesStyle: "/v1/messages", geminiStyle: apptest.GeminiStyle{}.Path(r.slug(), stream)}[s]
	var o object
	if wireOfStyle[s] == r.Wire && r.Request != nil {
		if err := json.Unmarshal(r.Request, &o); err != nil {
			panic(err)
		}
		for _, name := range []string{"provider", "models", "preset"} { // they choose among the providers of another gateway
			delete(o, name)
		}
	} else {
		o = r.wish().in(s)
	}
	if s != geminiStyle {
		o["model"] = r.slug()
		delete(o, "stream")
		if stream {
			o["stream"] = true
		} else {
			delete(o, "stream_options")
		}
	}
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(o); err != nil {
		panic(err)
	}
	return path, b.Bytes()
}
