package all_test

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/binary"
	"flag"
	"fmt"
	"hash/crc32"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/txtar"
	"go.yaml.in/yaml/v3"

	"weir/internal/catalog"
	"weir/internal/completion"
	"weir/internal/dialect"
	"weir/internal/dialect/all"
	"weir/internal/fault"
	"weir/internal/outbound"
	"weir/internal/rawjson"
	"weir/internal/task"
	"weir/internal/upstream"
	"weir/internal/upstream/upstreamtest"
	"weir/internal/usage"
	"weir/internal/video"
	"weir/internal/wire"
	"weir/internal/wire/chat"
	"weir/internal/wire/embeddings"
	"weir/internal/wire/gemini"
	"weir/internal/wire/images"
	"weir/internal/wire/messages"
	"weir/internal/wire/moderations"
	"weir/internal/wire/rerank"
	"weir/internal/wire/responses"
	"weir/internal/wire/speech"
	"weir/internal/wire/transcriptions"
	"weir/internal/wire/videos"
)

var update = flag.Bool("update", false, "write what is got into the golden files")

// TestWires runs the fixtures in testdata/wire of every dialect through the client that the gateway uses. A fixture is a txtar file:
//
//	A sentence: what happens.
//	-- endpoint.yaml --   quirks of the provider, and model, key, without, tier, max_completion, facts; may be missing
//	-- chat.json --       what the client sends; the name of the section is that of the wire, see the table decoders
//	-- do --              for a video: submit, poll, open, cancel, recover, in this order; otherwise missing
//	-- 200 json --        what the provider answers, in order: a status, a kind of body (see answer), header fields such as Retry-After=7
//	-- want.request --    what the provider received
//	-- want.answer --     the canonical result
//
// {origin} is the address of the provider.
func TestWires(t *testing.T) {
	t.Parallel()
	for name, d := range all.Dialects() {
		for _, file := range fixtures(t, name) {
			t.Run(name+"/"+strings.TrimSuffix(filepath.Base(file), ".txtar"), func(t *testing.T) {
				t.Parallel()
				a, err := txtar.ParseFile(file)
				if err != nil {
					t.Fatal(err)
				}
				if s := strings.TrimSpace(string(a.Comment)); !strings.HasSuffix(s, ".") {
					t.Error("the file does not begin with a sentence")
				}
				x := run(t, name, d, a)
				same := true
				for _, want := range []struct{ section, got string }{{"want.request", x.sent.String()}, {"want.answer", x.got.String()}} {
					if section(a, want.section) == want.got {
						continue
					}
					same = false
					if *update {
						set(a, want.section, want.got)
						continue
					}
					t.Errorf("%s\ngot\n%s\nwant\n%s", want.section, want.got, section(a, want.section))
				}
				if !same && *update {
					if err := os.WriteFile(file, txtar.Format(a), 0o644); err != nil {
						t.Fatal(err)
					}
				}
			})
		}
	}
}

func fixtures(t testing.TB, name string) []string {
	t.Helper()
	files, err := filepath.Glob(filepath.Join("..", name, "testdata", "wire", "*.txtar"))
	if err != nil {
		t.Fatal(err)
	}
	return files
}

func section(a *txtar.Archive, name string) string {
	for _, f := range a.Files {
		if f.Name == name {
			return string(f.Data)
		}
	}
	return ""
}

func set(a *txtar.Archive, name, text string) {
	for i := range a.Files {
		if a.Files[i].Name == name {
			a.Files[i].Data = []byte(text)
			return
		}
	}
	a.Files = append(a.Files, txtar.File{Name: name, Data: []byte(text)})
}

// exchange is one run of a fixture.
type exchange struct {
	origin  string
	answers []string // of the provider, not given yet
	mu      sync.Mutex
	sent    strings.Builder
	got     strings.Builder
}

var at = time.Date(2026, 3, 4, 5, 6, 7, 0, time.UTC)

func run(t *testing.T, name string, d dialect.Dialect, a *txtar.Archive) *exchange {
	t.Helper()
	x := &exchange{}
	srv := httptest.NewServer(x)
	t.Cleanup(srv.Close)
	x.origin = srv.URL
	for _, f := range a.Files {
		if f.Name[0] >= '1' && f.Name[0] <= '9' {
			x.answers = append(x.answers, answer(t, f.Name, strings.ReplaceAll(string(f.Data), "{origin}", x.origin)))
		}
	}
	ep := endpoint(t, name, x.origin, section(a, "endpoint.yaml"))
	c := upstreamtest.New(upstream.Config{
		Dialects: map[string]dialect.Dialect{name: d}, Now: func() time.Time { return at }, Fetcher: x,
		Wait: func(context.Context, time.Duration) error { return nil },
	})
	t.Cleanup(c.Close)
	for _, f := range a.Files {
		body := []byte(strings.TrimSpace(string(f.Data)))
		switch wire := strings.TrimSuffix(f.Name, ".json"); {
		case wire == "video":
			x.video(t, c, ep, body, strings.Fields(section(a, "do")))
		case wire == "count":
			decode := messages.DecodeCount
			if name == "gemini" {
				decode = func(body []byte) (*completion.Request, error) { return gemini.DecodeCount(body, "x/y") }
			}
			req, err := decode(body)
			if err != nil {
				t.Fatal(err)
			}
			n, err := c.CountTokens(t.Context(), ep, req)
			x.say("%d tokens", err, n)
		case decoders[wire] != nil:
			req, err := decoders[wire](body)
			if err != nil {
				t.Fatalf("%s: %v", f.Name, err)
			}
			x.complete(t, c, ep, req)
		}
	}
	if len(x.answers) > 0 {
		t.Errorf("%d answers were not asked for", len(x.answers))
	}
	return x
}

// decoders make requests of the sections that are named so.
var decoders = map[string]func(body []byte) (*completion.Request, error){
	"chat": chat.Decode, "messages": messages.Decode, "embeddings": embeddings.Decode, "rerank": rerank.Decode, "speech": speech.Decode,
	"responses": func(body []byte) (*completion.Request, error) {
		r, err := responses.Decode(body)
		if err != nil {
			return nil, err
		}
		return r.Request, nil
	},
	"gemini":        func(body []byte) (*completion.Request, error) { return gemini.Decode(body, "x/y", false) },
	"gemini-stream": func(body []byte) (*completion.Request, error) { return gemini.Decode(body, "x/y", true) },
	"moderations":   func(body []byte) (*completion.Request, error) { return moderations.Decode(body, "openai") },
	"images":        func(body []byte) (*completion.Request, error) { return images.Decode(body, false) },
	"edits":         func(body []byte) (*completion.Request, error) { return images.Decode(body, true) },
	"transcription": transcription,
}

// transcription makes a form of {"field":"value"} with the bytes of the shortest wave file.
func transcription(body []byte) (*completion.Request, error) {
	f := &wire.Form{File: bytes.NewReader(wave()), FileName: "a.wav", FileType: "audio/wav"}
	for m := rawjson.MembersOf(body); m.Next(); {
		f.Fields = append(f.Fields, task.Field{Name: string(m.Name), Value: rawjson.Text(m.Value)})
	}
	return transcriptions.Decode(f)
}

// wave is a tenth of a second of silence.
func wave() []byte {
	const rate = 8000
	data := bytes.Repeat([]byte{0x80}, rate/10)
	b := append([]byte("RIFF"), binary.LittleEndian.AppendUint32(nil, uint32(36+len(data)))...)
	b = append(b, "WAVEfmt \x10\x00\x00\x00\x01\x00\x01\x00"...)
	b = binary.LittleEndian.AppendUint32(b, rate)
	b = binary.LittleEndian.AppendUint32(b, rate)
	b = append(b, "\x01\x00\x08\x00data"...)
	return append(binary.LittleEndian.AppendUint32(b, uint32(len(data))), data...)
}

func endpoint(t testing.TB, name, origin, declared string) *catalog.Endpoint {
	t.Helper()
	var more struct {
		catalog.Quirks `yaml:",inline"`
		Model          string        `yaml:"model"`
		Key            string        `yaml:"key"`
		Without        []string      `yaml:"without"`
		Tier           string        `yaml:"tier"`
		MaxCompletion  int64         `yaml:"max_completion"`
		Facts          catalog.Facts `yaml:"facts"`
	}
	dec := yaml.NewDecoder(strings.NewReader(strings.ReplaceAll(declared, "{origin}", origin)))
	dec.KnownFields(true)
	if err := dec.Decode(&more); err != nil && err != io.EOF {
		t.Fatal(err)
	}
	if more.Model == "" {
		more.Model = "acme-large"
	}
	if more.Key == "" {
		more.Key = "acme-secret-key"
	}
	p := &catalog.Provider{ID: "acme", Name: "Acme", Dialect: name, BaseURL: origin, Key: more.Key, Quirks: more.Quirks}
	ep := &catalog.Endpoint{ID: "acme/m", Provider: p, UpstreamID: more.Model, Params: catalog.AllParams, Facts: more.Facts, Tier: more.Tier, MaxCompletion: more.MaxCompletion,
		Model: &catalog.Model{Slug: "x/y", Video: &catalog.VideoFacts{Audio: true, Seed: true}}}
	for _, param := range more.Without {
		ep.Params &^= catalog.ParamNamed(param)
	}
	return ep
}

// hidden are the fields of a request that say nothing of its wire.
var hidden = []string{"Accept-Encoding", "Content-Length", "User-Agent", "Connection", "Transfer-Encoding"}

var (
	boundary  = regexp.MustCompile(`boundary=("?[-\w]+"?)`)
	signature = regexp.MustCompile(`Signature=[0-9a-f]{64}`)
)

// ServeHTTP is the provider: it notes the request and gives the next answer.
func (x *exchange) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body) // what was cut is noted as such
	x.mu.Lock()
	defer x.mu.Unlock()
	var s strings.Builder
	fmt.Fprintf(&s, "%s %s\n", r.Method, r.URL.RequestURI())
	for _, name := range slices.Sorted(headerNames(r.Header)) {
		value := strings.Join(r.Header[name], " | ")
		if name == "Rquid" {
			value = "(a random UUID)"
		}
		fmt.Fprintf(&s, "%s: %s\n", name, value)
	}
	text := s.String() + "\n" + string(body)
	if png, err := base64.StdEncoding.DecodeString(dot); err == nil {
		text = strings.ReplaceAll(text, string(png), "(the image)")
	}
	if m := boundary.FindStringSubmatch(r.Header.Get("Content-Type")); m != nil {
		text = strings.ReplaceAll(text, strings.Trim(m[1], `"`), "(boundary)")
		text = strings.ReplaceAll(strings.ReplaceAll(text, string(wave()), "(the recording)"), "\r\n", "\n")
	}
	text = strings.ReplaceAll(text, string(wave()), "(the recording)")
	text = strings.ReplaceAll(text, base64.StdEncoding.EncodeToString(wave()), "(the recording in base64)")
	text = signature.ReplaceAllString(x.anon(text), "Signature=(over the port)")
	x.sent.WriteString(strings.TrimRight(text, "\n") + "\n\n")
	conn, _, err := w.(http.Hijacker).Hijack()
	if err != nil {
		return
	}
	defer func() { _ = conn.Close() }()
	next := "HTTP/1.1 599 Unexpected\r\nContent-Length: 0\r\n\r\n"
	if len(x.answers) > 0 {
		next, x.answers = x.answers[0], x.answers[1:]
	}
	_, _ = io.WriteString(conn, next)
}

func headerNames(h http.Header) func(yield func(string) bool) {
	return func(yield func(string) bool) {
		for name := range h {
			if !slices.Contains(hidden, name) && !yield(name) {
				return
			}
		}
	}
}

// anon takes the port out of a text.
func (x *exchange) anon(s string) string {
	host := strings.TrimPrefix(x.origin, "http://")
	return strings.ReplaceAll(strings.ReplaceAll(s, x.origin, "{origin}"), host, "{host}")
}

// answer makes an HTTP response of a section: json, sse and text as they are, base64 decoded, and eventstream of lines "event name {json}".
func answer(t *testing.T, head, body string) string {
	t.Helper()
	words := strings.Fields(head)
	types := map[string]string{"json": "application/json", "sse": "text/event-stream", "text": "text/plain", "eventstream": "application/vnd.amazon.eventstream", "base64": "application/octet-stream"}
	if len(words) < 2 || types[words[1]] == "" {
		t.Fatalf("%q is no head of an answer", head)
	}
	media, fields := types[words[1]], ""
	for _, f := range words[2:] {
		name, value, _ := strings.Cut(f, "=")
		if name == "Content-Type" {
			media = value
			continue
		}
		fields += name + ": " + value + "\r\n"
	}
	switch words[1] {
	case "base64":
		b, err := base64.StdEncoding.DecodeString(strings.TrimSpace(body))
		if err != nil {
			t.Fatal(err)
		}
		body = string(b)
	case "eventstream":
		body = eventStream(body)
	case "json":
		body = strings.TrimSpace(body)
	}
	status, err := strconv.Atoi(words[0])
	if err != nil {
		t.Fatal(err)
	}
	return fmt.Sprintf("HTTP/1.1 %d %s\r\nConnection: close\r\nContent-Type: %s\r\nContent-Length: %d\r\n%s\r\n%s", status, http.StatusText(status), media, len(body), fields, body)
}

// eventStream makes Amazon's binary messages.
func eventStream(lines string) string {
	header := func(name, value string) string {
		return string([]byte{byte(len(name))}) + name + "\x07" + string(binary.BigEndian.AppendUint16(nil, uint16(len(value)))) + value
	}
	var out []byte
	for line := range strings.Lines(lines) {
		words := strings.SplitN(strings.TrimSpace(line), " ", 3)
		if len(words) != 3 {
			continue
		}
		headers := header(":"+words[0]+"-type", words[1]) + header(":content-type", "application/json") + header(":message-type", words[0])
		b := binary.BigEndian.AppendUint32(nil, uint32(16+len(headers)+len(words[2])))
		b = binary.BigEndian.AppendUint32(b, uint32(len(headers)))
		b = binary.BigEndian.AppendUint32(b, crc32.ChecksumIEEE(b))
		b = append(append(b, headers...), words[2]...)
		out = append(out, binary.BigEndian.AppendUint32(b, crc32.ChecksumIEEE(b))...)
	}
	return string(out)
}

var madeUp = regexp.MustCompile(`call_[0-9A-Za-z]{24}\b`)

// say notes what an operation came to.
func (x *exchange) say(format string, err error, args ...any) {
	line := fmt.Sprintf(format, args...)
	if err != nil {
		line = dumpFault(err)
	}
	x.got.WriteString(x.anon(madeUp.ReplaceAllString(line, "call_(random)")) + "\n")
}

func dumpFault(err error) string {
	f := fault.From(err)
	s := upstreamtest.DumpFault(err)
	if f.Param != "" {
		s += " (" + f.Param + ")"
	}
	return s
}

func (x *exchange) complete(t *testing.T, c *upstream.Client, ep *catalog.Endpoint, req *completion.Request) {
	t.Helper()
	for ev, err := range c.Complete(t.Context(), ep, req, nil) {
		if err != nil {
			x.say("", err)
			return
		}
		plain := *ev
		plain.Usage, plain.Done = nil, false
		s := upstreamtest.Dump(&plain)
		if ev.Head != nil && ev.Head.Notice != "" {
			s += fmt.Sprintf(" notice=%q", ev.Head.Notice)
		}
		for _, f := range ev.Frames {
			s += fmt.Sprintf("\n    frame %s %s", f.Name, f.Data)
		}
		if ev.Result != nil {
			s += " " + dumpResult(ev.Result)
		}
		if ev.Called != nil {
			s += counts(" called", ev.Called)
		}
		if ev.Usage != nil {
			s += counts(" usage", ev.Usage)
		}
		if ev.Done {
			s += " done"
		}
		x.say("%s", nil, s)
	}
}

var countNames = []string{"prompt", "cached", "written", "written1h", "prompt_audio", "prompt_image", "prompt_video", "completion", "reasoning", "output_audio", "output_image",
	"accepted", "rejected", "searches", "images", "requests", "millis", "characters", "kilopixels", "seconds", "fetches", "file_searches", "containers", "mcp_calls"}

// counts are all counts that were reported; those of zero that say nothing are left out of what was called.
func counts(name string, u *usage.Usage) string {
	var parts []string
	for i, c := range u.Counts() {
		if c.Reported && (c.N != 0 || name != " called") {
			parts = append(parts, fmt.Sprintf("%s=%d", countNames[i], c.N))
		}
	}
	if u.UpstreamCost != "" {
		parts = append(parts, "cost="+u.UpstreamCost)
	}
	if u.Tier != "" {
		parts = append(parts, "tier="+u.Tier)
	}
	if len(parts) == 0 && name == " called" {
		return ""
	}
	return name + "{" + strings.Join(parts, " ") + "}"
}

func dumpResult(r *task.Result) string {
	switch {
	case r.Image != nil:
		i := *r.Image
		size := len(i.Data)
		i.Data = nil
		return fmt.Sprintf("image of %d bytes %+v", size, i)
	case r.Audio != nil:
		return fmt.Sprintf("audio %q %s", r.Audio.Data, r.Audio.MediaType)
	case r.Transcript != nil:
		tr := *r.Transcript
		s := ""
		if tr.Segment != nil {
			s = fmt.Sprintf("\n    segment %+v", *tr.Segment)
		}
		tr.Segment = nil
		for _, g := range tr.Segments {
			w := ""
			if g.Whisper != nil {
				w = fmt.Sprintf(" %+v", *g.Whisper)
			}
			g.Whisper = nil
			s += fmt.Sprintf("\n    segment %+v%s", g, w)
		}
		for _, w := range tr.Words {
			s += fmt.Sprintf("\n    word %+v", w)
		}
		tr.Segments, tr.Words = nil, nil
		return fmt.Sprintf("transcript %+v%s", tr, s)
	case r.Vectors != nil:
		return fmt.Sprintf("vectors %v", upstreamtest.Numbers(r.Vectors))
	case r.Ranks != nil:
		return fmt.Sprintf("ranks %v", r.Ranks)
	}
	return fmt.Sprintf("verdicts %+v", r.Verdicts)
}

// video makes the steps of a video's life. A step goes on with what the one before it gave.
func (x *exchange) video(t *testing.T, c *upstream.Client, ep *catalog.Endpoint, body []byte, steps []string) {
	t.Helper()
	r, err := videos.Decode(body)
	if err != nil {
		t.Fatal(err)
	}
	up := upstream.NewVideos(c, x)
	s := &video.Submission{Job: "vj_000000000000000000000001", Token: "vj_000000000000000000000001-0-0", Request: r, At: at}
	j := &video.Job{ID: s.Job}
	for _, step := range steps {
		switch step {
		case "submit":
			a, err := up.Submit(t.Context(), ep, s)
			x.say("submit: %s, wait %s", err, a.ID, a.Wait)
			j.UpstreamID = a.ID
		case "recover":
			r, err := up.Recover(t.Context(), ep, s)
			x.say("recover: %s %q alike %q", err, []string{"unknown", "adopted", "absent"}[r.Fate], r.ID, r.Alike)
		case "poll":
			p, err := up.Poll(t.Context(), ep, j)
			line := fmt.Sprintf("poll: %s %d%% length %s cost %q wait %s", p.State, p.Percent, p.Length, p.Cost, p.Wait)
			for _, o := range p.Outputs {
				line += fmt.Sprintf("\n    output %+v", o)
			}
			if p.Failure != nil {
				line += "\n    " + dumpFault(p.Failure)
			}
			x.say("%s", err, line)
			j.Outputs = p.Outputs
		case "open":
			if len(j.Outputs) == 0 {
				t.Fatal("there is nothing to open")
			}
			content, err := up.Open(t.Context(), ep, j, &j.Outputs[0], nil)
			if err != nil {
				x.say("", err)
				continue
			}
			data, err := io.ReadAll(content.Body)
			_ = content.Body.Close()
			x.say("open: %q of type %s", err, data, content.MediaType)
		case "cancel":
			x.say("cancel: done", up.Cancel(t.Context(), ep, j))
		default:
			t.Fatalf("there is no step %q", step)
		}
	}
}

// OpenFile is upstream.Opener's: it notes what is read, and who gets the credential.
func (x *exchange) OpenFile(_ context.Context, _, address string, home outbound.Home, credentials http.Header, _ *video.Range) (*video.Content, error) {
	x.sent.WriteString(x.anon(fmt.Sprintf("GET %s (credential of %q: %v)\n\n", address, home.URL, slices.Sorted(headerNames(credentials)))))
	return &video.Content{Body: io.NopCloser(strings.NewReader("a video")), Length: 7, Size: 7, MediaType: "video/mp4"}, nil
}

// dot is a PNG file of one pixel.
const dot = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNkYPhfDwAChwGA60e6kgAAAABJRU5ErkJggg=="

// ProviderBytes is upstream.Fetcher's.
func (x *exchange) ProviderBytes(_ context.Context, _ string, _ outbound.Home, address string, _ int64) (data []byte, mediaType string, err error) {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.sent.WriteString(x.anon("GET " + address + " (a file)\n\n"))
	data, err = base64.StdEncoding.DecodeString(dot)
	return data, "image/png", err
}
