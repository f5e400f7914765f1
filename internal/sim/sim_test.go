package sim_test

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"

	"weir/internal/sim"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// start serves a simulator on loopback for the length of a test.
func start(t testing.TB, c sim.Config) (*sim.Server, string) {
	t.Helper()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s := sim.New(c)
	served := make(chan error, 1)
	go func() { served <- s.Serve(ln) }()
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
		defer cancel()
		if err := s.Close(ctx); err != nil {
			t.Errorf("close: %v", err)
		}
		if err := <-served; err != nil {
			t.Errorf("serve: %v", err)
		}
	})
	return s, ln.Addr().String()
}

// call answers one request in memory.
func call(s *sim.Server, body string) *httptest.ResponseRecorder {
	r := httptest.NewRequest("POST", "/v1/chat/completions", strings.NewReader(body))
	r.Header.Set("Content-Type", "application/json")
	w := httptest.NewRecorder()
	s.ServeHTTP(w, r)
	return w
}

// request is a body with a model, one user text and further members.
func request(model, prompt, more string) string {
	text, err := json.Marshal(prompt)
	if err != nil {
		panic(err)
	}
	if more != "" {
		more = "," + more
	}
	return fmt.Sprintf(`{"model":%q,"messages":[{"role":"user","content":%s}]%s}`, model, text, more)
}

type usage struct {
	Prompt     json.Number `json:"prompt_tokens"`
	Completion json.Number `json:"completion_tokens"`
	Total      json.Number `json:"total_tokens"`
	PromptMore struct {
		CachedTokens int `json:"cached_tokens"`
		AudioTokens  int `json:"audio_tokens"`
	} `json:"prompt_tokens_details"`
	CompletionMore struct {
		Reasoning int `json:"reasoning_tokens"`
		Audio     int `json:"audio_tokens"`
		Image     int `json:"image_tokens"`
	} `json:"completion_tokens_details"`
}

type toolCall struct {
	Index    int    `json:"index"`
	ID       string `json:"id"`
	Type     string `json:"type"`
	Function struct {
		Name      string `json:"name"`
		Arguments string `json:"arguments"`
	} `json:"function"`
	Custom struct {
		Name  string `json:"name"`
		Input string `json:"input"`
	} `json:"custom"`
}

type message struct {
	Role      string     `json:"role"`
	Content   *string    `json:"content"`
	Reasoning string     `json:"reasoning_content"`
	ToolCalls []toolCall `json:"tool_calls"`
	Images    []struct {
		ImageURL struct {
			URL string `json:"url"`
		} `json:"image_url"`
	} `json:"images"`
	Audio *struct {
		ID         string `json:"id"`
		Data       []byte `json:"data"`
		Transcript string `json:"transcript"`
		ExpiresAt  int64  `json:"expires_at"`
	} `json:"audio"`
}

type logprobs struct {
	Content []struct {
		Token   string
		Logprob float64
		Bytes   []int
		Top     []struct{ Token string } `json:"top_logprobs"`
	}
}

type answer struct {
	ID      string `json:"id"`
	Object  string `json:"object"`
	Model   string `json:"model"`
	Choices []struct {
		Index    int       `json:"index"`
		Message  message   `json:"message"`
		Delta    message   `json:"delta"`
		Logprobs *logprobs `json:"logprobs"`
		Finish   string    `json:"finish_reason"`
	} `json:"choices"`
	Usage *usage `json:"usage"`
	Error *struct {
		Message, Type string
		Code, Param   any
	} `json:"error"`
}

func (a *answer) text() string {
	if len(a.Choices) == 0 || a.Choices[0].Message.Content == nil {
		return ""
	}
	return *a.Choices[0].Message.Content
}

func parseAnswer(t testing.TB, b []byte) *answer {
	t.Helper()
	var a answer
	if err := json.Unmarshal(b, &a); err != nil {
		t.Fatalf("%v in %q", err, b)
	}
	return &a
}

// ask is the answer to a request that must succeed.
func ask(t testing.TB, s *sim.Server, body string) *answer {
	t.Helper()
	w := call(s, body)
	if w.Code != 200 {
		t.Fatalf("status %d: %s", w.Code, w.Body)
	}
	return parseAnswer(t, w.Body.Bytes())
}

// streamed puts a stream together again: the same form as a whole answer, and the number of frames with content.
type streamed struct {
	answer
	frames   int // that carry content
	usages   int
	done     bool
	raw      []string
	logTexts string
}

func readStream(t testing.TB, body string) *streamed {
	t.Helper()
	var out streamed
	for _, frame := range strings.Split(strings.TrimSuffix(body, "\n\n"), "\n\n") {
		data, ok := strings.CutPrefix(frame, "data: ")
		if !ok || out.done {
			t.Fatalf("frame %q", frame)
		}
		out.raw = append(out.raw, data)
		if data == "[DONE]" {
			out.done = true
			continue
		}
		out.add(t, parseAnswer(t, []byte(data)))
	}
	return &out
}

func (s *streamed) add(t testing.TB, a *answer) {
	t.Helper()
	if a.Object != "chat.completion.chunk" {
		t.Fatalf("object %q", a.Object)
	}
	s.ID, s.Model = a.ID, a.Model
	if a.Usage != nil {
		s.Usage = a.Usage
		s.usages++
	}
	for _, c := range a.Choices {
		for len(s.Choices) <= c.Index {
			s.Choices = append(s.Choices, c)
			s.Choices[len(s.Choices)-1].Message = message{Content: new(string)}
		}
		to := &s.Choices[c.Index]
		if c.Finish != "" {
			to.Finish = c.Finish
		}
		if c.Delta.Content != nil && *c.Delta.Content != "" {
			*to.Message.Content += *c.Delta.Content
			s.frames++
		}
		if c.Logprobs != nil {
			for _, l := range c.Logprobs.Content {
				s.logTexts += l.Token
			}
		}
		to.Message.Reasoning += c.Delta.Reasoning
		to.Message.Images = append(to.Message.Images, c.Delta.Images...)
		for _, call := range c.Delta.ToolCalls {
			for len(to.Message.ToolCalls) <= call.Index {
				to.Message.ToolCalls = append(to.Message.ToolCalls, toolCall{})
			}
			have := &to.Message.ToolCalls[call.Index]
			have.ID += call.ID
			have.Type += call.Type
			have.Function.Name += call.Function.Name
			have.Function.Arguments += call.Function.Arguments
			have.Custom.Name += call.Custom.Name
			have.Custom.Input += call.Custom.Input
		}
		if c.Delta.Audio != nil {
			if to.Message.Audio == nil {
				to.Message.Audio = c.Delta.Audio
				continue
			}
			to.Message.Audio.Data = append(to.Message.Audio.Data, c.Delta.Audio.Data...)
			to.Message.Audio.Transcript += c.Delta.Audio.Transcript
			to.Message.Audio.ExpiresAt += c.Delta.Audio.ExpiresAt
		}
	}
}

func askStream(t testing.TB, s *sim.Server, body string) *streamed {
	t.Helper()
	w := call(s, body)
	if w.Code != 200 || w.Header().Get("Content-Type") != "text/event-stream; charset=utf-8" {
		t.Fatalf("status %d, %q: %s", w.Code, w.Header().Get("Content-Type"), w.Body)
	}
	return readStream(t, w.Body.String())
}

func TestTextIsDeterministic(t *testing.T) {
	t.Parallel()
	for _, prompt := range []string{"How does a weir work?", "Как работает плотина?", "水坝是怎么工作的？", ""} {
		t.Run(prompt, func(t *testing.T) {
			t.Parallel()
			first := ask(t, sim.New(sim.Config{}), request("chat", prompt, ""))
			again := ask(t, sim.New(sim.Config{}), request("chat", prompt, ""))
			other := ask(t, sim.New(sim.Config{}), request("chat", prompt+"!", ""))
			if first.text() != again.text() || first.ID != again.ID {
				t.Errorf("the same request got %q and %q", first.text(), again.text())
			}
			if first.text() == other.text() {
				t.Errorf("another request got the same text")
			}
			stream := askStream(t, sim.New(sim.Config{}), request("chat", prompt, `"stream":true`))
			if got := *stream.Choices[0].Message.Content; got != first.text() {
				t.Errorf("streamed %q, whole %q", got, first.text())
			}
			if stream.Choices[0].Finish != "stop" || first.Choices[0].Finish != "stop" {
				t.Error("no finish reason")
			}
		})
	}
}

func TestTextFollowsLanguage(t *testing.T) {
	t.Parallel()
	s := sim.New(sim.Config{})
	for _, c := range []struct {
		name, prompt string
		has          string
	}{
		{"russian", "Расскажи о реке", "Вы написали"},
		{"english", "Tell me of a river", "You wrote"},
		{"chinese", "告诉我关于河流", "您写道"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			if got := ask(t, s, request("chat", c.prompt, "")).text(); !strings.Contains(got, c.has) {
				t.Errorf("answer %q lacks %q", got, c.has)
			}
		})
	}
}

func TestLength(t *testing.T) {
	t.Parallel()
	s := sim.New(sim.Config{})
	for _, c := range []struct {
		name, prompt, more string
		tokens, frames     int
		finish             string
	}{
		{"tokens", "[[sim tokens=200]] hello", "", 200, 200, "stop"},
		{"tokens of Russian", "[[sim tokens=77]] привет", "", 77, 77, "stop"},
		{"frames", "[[sim frames=40]] hello", "", 40, 40, "stop"},
		{"frames and tokens", "[[sim frames=7 tokens=100]] hello", "", 100, 7, "stop"},
		{"chunk", "[[sim tokens=70 chunk=7]] hello", "", 70, 10, "stop"},
		{"max_tokens", "[[sim tokens=200]] hello", `"max_tokens":10`, 10, 10, "length"},
		{"max_completion_tokens", "[[sim tokens=200]] hello", `"max_completion_tokens":11`, 11, 11, "length"},
		{"finish", "[[sim tokens=9 finish=length]] hello", "", 9, 9, "length"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			more := `"stream":true,"stream_options":{"include_usage":true}`
			if c.more != "" {
				more += "," + c.more
			}
			got := askStream(t, s, request("chat", c.prompt, more))
			if got.Usage.Completion.String() != fmt.Sprint(c.tokens) || got.frames != c.frames || got.Choices[0].Finish != c.finish {
				t.Errorf("%s tokens in %d frames, %s; want %d in %d, %s", got.Usage.Completion, got.frames, got.Choices[0].Finish, c.tokens, c.frames, c.finish)
			}
			whole := ask(t, s, request("chat", c.prompt, c.more))
			if whole.text() != *got.Choices[0].Message.Content || whole.Usage.Completion != got.Usage.Completion {
				t.Errorf("whole answer %q (%s tokens) differs from %q", whole.text(), whole.Usage.Completion, *got.Choices[0].Message.Content)
			}
		})
	}
}

func TestMaxTokensCutsTheSameText(t *testing.T) {
	t.Parallel()
	s := sim.New(sim.Config{})
	all := ask(t, s, request("chat", "hello", "")).text()
	part := ask(t, s, request("chat", "hello", `"max_tokens":5`)).text()
	if part == "" || part == all || !strings.HasPrefix(all, part) {
		t.Errorf("%q is no beginning of %q", part, all)
	}
	word := strings.Fields(all)[4]
	stopped := ask(t, s, request("chat", "hello", fmt.Sprintf(`"stop":[%q]`, word)))
	if want := all[:strings.Index(all, word)]; stopped.text() != want || stopped.Choices[0].Finish != "stop" {
		t.Errorf("stopped at %q: %q, want %q", word, stopped.text(), want)
	}
}

func TestEcho(t *testing.T) {
	t.Parallel()
	s := sim.New(sim.Config{})
	for _, text := range []string{"plain", "  spaces  and\nlines\t", `quotes " and \ and €uro 🌊`, "Привет", "a\u0001b\u2028c"} {
		if got := ask(t, s, request("echo", text, "")).text(); got != text {
			t.Errorf("echo of %q is %q", text, got)
		}
		got := askStream(t, s, request("echo", "[[sim chunk=3]] "+text, `"stream":true`))
		if *got.Choices[0].Message.Content != text {
			t.Errorf("streamed echo of %q is %q", text, *got.Choices[0].Message.Content)
		}
	}
}

func TestSeveralChoices(t *testing.T) {
	t.Parallel()
	s := sim.New(sim.Config{})
	whole := ask(t, s, request("chat", "hello", `"n":3`))
	stream := askStream(t, s, request("chat", "hello", `"n":3,"stream":true,"stream_options":{"include_usage":true}`))
	if len(whole.Choices) != 3 || len(stream.Choices) != 3 {
		t.Fatalf("%d and %d choices", len(whole.Choices), len(stream.Choices))
	}
	seen := map[string]bool{}
	for i := range whole.Choices {
		text := *whole.Choices[i].Message.Content
		if seen[text] {
			t.Errorf("two choices say %q", text)
		}
		seen[text] = true
		if *stream.Choices[i].Message.Content != text || stream.Choices[i].Finish != "stop" {
			t.Errorf("choice %d: streamed %q, whole %q", i, *stream.Choices[i].Message.Content, text)
		}
	}
	if whole.Usage.Completion != stream.Usage.Completion {
		t.Error("usage differs")
	}
}

func TestUsageInStreams(t *testing.T) {
	t.Parallel()
	s := sim.New(sim.Config{})
	without := askStream(t, s, request("chat", "hello", `"stream":true`))
	if without.usages != 0 || !without.done {
		t.Errorf("%d usage objects unasked, done %v", without.usages, without.done)
	}
	with := askStream(t, s, request("chat", "hello", `"stream":true,"stream_options":{"include_usage":true}`))
	if with.usages != 1 || !with.done {
		t.Errorf("%d usage objects, done %v", with.usages, with.done)
	}
	if last := with.raw[len(with.raw)-2]; !strings.Contains(last, `"choices":[],"usage":{`) {
		t.Errorf("the last chunk is %s", last)
	}
	if first := with.raw[0]; !strings.Contains(first, `"usage":null`) {
		t.Errorf("the first chunk is %s", first)
	}
}

func TestCachedTokens(t *testing.T) {
	t.Parallel()
	s := sim.New(sim.Config{})
	long := strings.Repeat("water flows ", 700) // 1401 tokens
	for _, c := range []struct {
		name, prompt string
		cached       int
	}{
		{"first time", long, 0},
		{"again", long, 1280},
		{"same beginning", long + "and more of it", 1280},
		{"changed near the end", long[:1100*6] + "x", 1024},
		{"changed at the beginning", "x" + long, 0},
		{"short", "water flows", 0},
		{"short again", "water flows", 0},
	} {
		got := ask(t, s, request("chat", c.prompt, `"max_tokens":1`)).Usage.PromptMore.CachedTokens
		if got != c.cached {
			t.Errorf("%s: %d cached tokens, want %d", c.name, got, c.cached)
		}
	}
	s.Reset()
	if got := ask(t, s, request("chat", long, `"max_tokens":1`)).Usage.PromptMore.CachedTokens; got != 0 {
		t.Errorf("%d cached tokens after a reset", got)
	}
}

func TestReasoning(t *testing.T) {
	t.Parallel()
	s := sim.New(sim.Config{})
	for _, c := range []struct {
		name, model, more string
		tokens            int
	}{
		{"default", "reason", "", 48},
		{"none", "reason", `"reasoning_effort":"none"`, 0},
		{"low", "reason", `"reasoning_effort":"low"`, 16},
		{"high", "reason", `"reasoning_effort":"high"`, 128},
		{"object", "reason", `"reasoning":{"effort":"minimal"}`, 8},
		{"chat asked", "chat", `"reasoning_effort":"low"`, 16},
		{"chat", "chat", "", 0},
		{"cut short", "reason", `"max_completion_tokens":20`, 20},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			whole := ask(t, s, request(c.model, "Why?", c.more))
			m := whole.Choices[0].Message
			if got := whole.Usage.CompletionMore.Reasoning; got != c.tokens || (m.Reasoning != "") != (c.tokens > 0) {
				t.Errorf("%d reasoning tokens, want %d; %q", got, c.tokens, m.Reasoning)
			}
			more := `"stream":true`
			if c.more != "" {
				more += "," + c.more
			}
			stream := askStream(t, s, request(c.model, "Why?", more)).Choices[0]
			if stream.Message.Reasoning != m.Reasoning || *stream.Message.Content != *m.Content || stream.Finish != whole.Choices[0].Finish {
				t.Error("the stream differs from the whole answer")
			}
		})
	}
}

func TestLogprobs(t *testing.T) {
	t.Parallel()
	s := sim.New(sim.Config{})
	whole := ask(t, s, request("chat", "Привет", `"logprobs":true,"top_logprobs":3`))
	var text string
	for _, l := range whole.Choices[0].Logprobs.Content {
		text += l.Token
		if len(l.Top) != 3 || l.Top[0].Token != l.Token || l.Logprob > 0 || len(l.Bytes) != len(l.Token) {
			t.Fatalf("entry %+v", l)
		}
	}
	if text != whole.text() {
		t.Errorf("tokens are %q, text is %q", text, whole.text())
	}
	stream := askStream(t, s, request("chat", "[[sim chunk=4]] Привет", `"logprobs":true,"stream":true`))
	if stream.logTexts != whole.text() {
		t.Errorf("tokens of the stream are %q", stream.logTexts)
	}
	if plain := ask(t, s, request("chat", "hi", "")); plain.Choices[0].Logprobs != nil {
		t.Error("logprobs unasked")
	}
}

func TestMediaInThePrompt(t *testing.T) {
	t.Parallel()
	s := sim.New(sim.Config{})
	made := ask(t, s, request("image", "A heron", "")).Choices[0].Message.Images
	if len(made) != 1 {
		t.Fatalf("%d images", len(made))
	}
	body := fmt.Sprintf(`{"model":"vision","messages":[{"role":"user","content":[
		{"type":"text","text":"What is this?"},
		{"type":"image_url","image_url":{"url":%q}},
		{"type":"image_url","image_url":{"url":"https://example.com/a.png","detail":"low"}},
		{"type":"input_audio","input_audio":{"data":"AAAAAAAA","format":"wav"}},
		{"type":"file","file":{"filename":"report.pdf","file_data":"data:application/pdf;base64,JVBERg=="}}]}]}`, made[0].ImageURL.URL)
	got := ask(t, s, body)
	for _, want := range []string{"I was given 4", "image png 8x8", "https://example.com/a.png", "audio wav (6 bytes)", "file report.pdf pdf (4 bytes)"} {
		if !strings.Contains(got.text(), want) {
			t.Errorf("answer %q lacks %q", got.text(), want)
		}
	}
	if got.Usage.PromptMore.AudioTokens != 1 {
		t.Errorf("%d audio tokens", got.Usage.PromptMore.AudioTokens)
	}
}

func TestMadeMedia(t *testing.T) {
	t.Parallel()
	s := sim.New(sim.Config{Now: func() time.Time { return time.Unix(1000, 0) }})
	sound := ask(t, s, request("audio", "Say it", ""))
	m := sound.Choices[0].Message
	if m.Content != nil || m.Audio == nil || !bytes.HasPrefix(m.Audio.Data, []byte("RIFF")) || m.Audio.Transcript == "" || m.Audio.ExpiresAt != 4600 {
		t.Fatalf("message %+v", m)
	}
	if len(m.Audio.Data) != 44+2*2400 || sound.Usage.CompletionMore.Audio == 0 {
		t.Errorf("%d bytes, usage %+v", len(m.Audio.Data), sound.Usage)
	}
	stream := askStream(t, s, request("chat", "Say it", `"stream":true,"modalities":["text","audio"],"audio":{"voice":"alloy","format":"pcm16"}`))
	a := stream.Choices[0].Message.Audio
	if a == nil || len(a.Data) != 2*2400 || a.Transcript == "" || a.ExpiresAt != 4600 {
		t.Errorf("streamed audio %+v", a)
	}
	whole := ask(t, s, request("image", "Draw", ""))
	drawn := askStream(t, s, request("image", "Draw", `"stream":true`)).Choices[0].Message
	if len(drawn.Images) != 1 || drawn.Images[0] != whole.Choices[0].Message.Images[0] || whole.Usage.CompletionMore.Image == 0 {
		t.Errorf("streamed images %+v", drawn.Images)
	}
}

func TestKeyAndRoutes(t *testing.T) {
	t.Parallel()
	s := sim.New(sim.Config{Key: "secret", MaxBodyBytes: 100})
	for _, c := range []struct {
		name, method, path, key, kind, body string
		status                              int
		has                                 string
	}{
		{"no key", "GET", "/v1/models", "", "", "", 401, "invalid_api_key"},
		{"wrong key", "POST", "/v1/chat/completions", "Bearer secret2", "application/json", "{}", 401, "invalid_api_key"},
		{"models", "GET", "/v1/models", "Bearer secret", "", "", 200, `{"id":"chat","object":"model"`},
		{"model", "GET", "/v1/models/echo", "Bearer secret", "", "", 200, `{"id":"echo"`},
		{"unknown model", "GET", "/v1/models/gpt", "Bearer secret", "", "", 404, "model_not_found"},
		{"health", "GET", "/healthz", "", "", "", 200, "ok"},
		{"unknown route", "GET", "/v2/x", "Bearer secret", "", "", 404, "unknown_url"},
		{"wrong method", "GET", "/v1/chat/completions", "Bearer secret", "", "", 405, "method_not_supported"},
		{"content type", "POST", "/v1/chat/completions", "Bearer secret", "text/plain", "{}", 415, "unsupported_content_type"},
		{"too large", "POST", "/v1/chat/completions", "Bearer secret", "application/json", strings.Repeat(" ", 101), 413, "request_too_large"},
		{"stats", "GET", "/sim/stats", "", "", "", 200, `"requests":`},
		{"reset", "POST", "/sim/reset", "", "", "", 200, "ok"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			r := httptest.NewRequest(c.method, c.path, strings.NewReader(c.body))
			r.Header.Set("Authorization", c.key)
			r.Header.Set("Content-Type", c.kind)
			w := httptest.NewRecorder()
			s.ServeHTTP(w, r)
			if w.Code != c.status || !strings.Contains(w.Body.String(), c.has) {
				t.Errorf("%d %s; want %d with %q", w.Code, w.Body, c.status, c.has)
			}
			if !json.Valid(w.Body.Bytes()) {
				t.Errorf("not JSON: %s", w.Body)
			}
		})
	}
}

func TestStats(t *testing.T) {
	t.Parallel()
	s := sim.New(sim.Config{})
	ask(t, s, request("chat", "a", ""))
	askStream(t, s, request("chat", "a", `"stream":true`))
	ask(t, s, request("bench", "a", ""))
	call(s, `{"model":"nope"}`)
	got := s.Stats()
	if c := got.Models["chat"]; c.Requests != 2 || c.Streams != 1 || c.Open != 0 || c.OpenStreams != 0 {
		t.Errorf("chat: %+v", c)
	}
	if got.Models["bench"].Requests != 1 || got.Total.Requests != 3 || got.Total.Refused != 1 {
		t.Errorf("%+v", got)
	}
	s.Reset()
	if got := s.Stats(); got.Total != (sim.Counts{}) {
		t.Errorf("after a reset: %+v", got)
	}
}

// In a bubble of synctest, so that exact times can be tested without waiting for them.
func TestDelays(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, model, prompt, more string
		config                    sim.Config
		want                      time.Duration
	}{
		{"none", "chat", "hi", "", sim.Config{}, 0},
		{"delay", "chat", "[[sim delay=200ms]] hi", "", sim.Config{}, 200 * time.Millisecond},
		{"first", "chat", "[[sim delay=200ms first=1s]] hi", "", sim.Config{}, 1200 * time.Millisecond},
		{"stream", "chat", "[[sim delay=200ms first=1s gap=20ms frames=40]] hi", `"stream":true`, sim.Config{}, 1980 * time.Millisecond},
		{"by name", "chat@gap=10ms,frames=11", "hi", `"stream":true`, sim.Config{}, 100 * time.Millisecond},
		{"by configuration", "chat", "[[sim frames=11]] hi", `"stream":true`, sim.Config{Gap: time.Second}, 10 * time.Second},
		{"bench", "bench@gap=10ms,frames=11,first=1s", "hi", `"stream":true`, sim.Config{}, 1100 * time.Millisecond},
		{"bench by marker", "bench", "[[sim gap=10ms frames=11]] hi", `"stream":true`, sim.Config{}, 100 * time.Millisecond},
		{"drip", "chat", "[[sim fault=u23 gap=1s]] hi", "", sim.Config{}, -1},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				s := sim.New(c.config)
				from := time.Now()
				w := call(s, request(c.model, c.prompt, c.more))
				want := c.want
				if want < 0 { // one byte a second
					want = time.Duration(w.Body.Len()) * time.Second
				}
				if took := time.Since(from); took != want || w.Code != 200 {
					t.Errorf("took %v, want %v; status %d", took, want, w.Code)
				}
			})
		})
	}
}

func TestClientLeaving(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ name, model, prompt, more string }{
		{"before the head", "chat", "[[sim delay=1h]] hi", ""},
		{"in a stream", "chat", "[[sim gap=1h]] hi", `"stream":true`},
		{"in a bench stream", "bench@gap=1h", "hi", `"stream":true`},
		{"in a stall", "chat-fault-u3", "hi", ""},
		{"behind the head", "chat-fault-u4", "hi", ""},
		{"in half an answer", "chat-fault-u5", "hi", `"stream":true`},
		{"in a drip", "chat-fault-u23", "hi", `"stream":true`},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			s, addr := start(t, sim.Config{})
			conn := send(t, addr, request(c.model, c.prompt, c.more))
			eventually(t, func() bool { return s.Stats().Total.Open == 1 })
			conn.Close()
			eventually(t, func() bool {
				n := s.Stats().Total
				return n.Cancelled == 1 && n.Open == 0 && n.OpenStreams == 0 && n.MaxCancel > 0 && !n.CancelledAt.IsZero()
			})
		})
	}
}

// eventually looks again and again, without a claim on how long it takes.
func eventually(t testing.TB, is func() bool) {
	t.Helper()
	tick := time.NewTicker(time.Millisecond)
	defer tick.Stop()
	limit := time.After(3 * time.Minute)
	for !is() {
		select {
		case <-tick.C:
		case <-limit:
			t.Fatal("it never happened")
		}
	}
}

func TestCloseLetsAnswersFinish(t *testing.T) {
	t.Parallel()
	s, addr := start(t, sim.Config{})
	conn := bufio.NewReader(send(t, addr, request("chat", "[[sim frames=3 gap=30ms]] hi", `"stream":true`)))
	if _, err := conn.ReadString('\n'); err != nil { // the answer has begun
		t.Fatal(err)
	}
	if err := s.Close(context.Background()); err != nil {
		t.Error(err)
	}
	if got, err := io.ReadAll(conn); err != nil || !bytes.Contains(got, []byte("[DONE]")) {
		t.Errorf("%q, %v", got, err)
	}
}

func TestCloseCutsAnswersAtItsDeadline(t *testing.T) {
	t.Parallel()
	s, addr := start(t, sim.Config{})
	conn := send(t, addr, request("chat", "[[sim gap=1h]] hi", `"stream":true`))
	eventually(t, func() bool { return s.Stats().Total.Open == 1 })
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if err := s.Close(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("close: %v", err)
	}
	got, _ := io.ReadAll(conn)
	if bytes.Contains(got, []byte("[DONE]")) || bytes.HasSuffix(got, []byte("0\r\n\r\n")) {
		t.Errorf("an answer that was cut ends as if it were whole: %q", got)
	}
	eventually(t, func() bool { return s.Stats().Total.Open == 0 })
	if n := s.Stats().Total.Cancelled; n != 0 {
		t.Errorf("%d cancelled by the client", n)
	}
}

func TestRefusingAddr(t *testing.T) {
	t.Parallel()
	s := sim.New(sim.Config{})
	defer s.Close(context.Background())
	addr, err := s.RefusingAddr()
	if err != nil {
		t.Fatal(err)
	}
	if conn, err := net.Dial("tcp", addr); err == nil {
		conn.Close()
		t.Error("the address took a connection")
	}
	if ln, err := net.Listen("tcp", addr); err == nil {
		ln.Close()
		t.Error("somebody else could listen there")
	}
}

func TestCatalog(t *testing.T) {
	t.Parallel()
	s := sim.New(sim.Config{})
	for _, m := range sim.Catalog() {
		if m.Title == "" || m.ContextTokens == 0 || len(m.Input) == 0 || len(m.Output) == 0 || m.Prices.Prompt == "" || m.Prices.Completion == "" {
			t.Errorf("%+v lacks something", m)
		}
		if w := call(s, request(m.Name, "hi", "")); w.Code != http.StatusOK {
			t.Errorf("%s: %s", m.Name, w.Body)
		}
	}
	sim.Catalog()[0].Name = "changed"
	if sim.Catalog()[0].Name != "chat" {
		t.Error("the list can be changed from outside")
	}
}
