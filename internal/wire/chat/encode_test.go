package chat_test

import (
	"bytes"
	"errors"
	"flag"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/rogpeppe/go-internal/txtar"

	"weir/internal/catalog"
	"weir/internal/completion"
	"weir/internal/money"
	"weir/internal/rawjson"
	"weir/internal/relay"
	"weir/internal/usage"
	"weir/internal/wire/chat"
	"weir/internal/wire/sse"
)

var update = flag.Bool("update", false, "write what is produced into the golden files; read the difference before keeping it")

// TestGolden runs the calls of each file in testdata/golden through a Stream and a Whole, and compares what they write.
//
// A line of the section calls is an object: {"event":{...}} with the fields of a completion.Event in lower case; {"start":{...}},
// {"end":{...}}, {"fail":...} or {"keepalive":true}. The section options holds those of chat.Options.
func TestGolden(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("testdata/golden/*.txtar")
	if err != nil || len(files) == 0 {
		t.Fatal("no golden files", err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txtar"), func(t *testing.T) {
			t.Parallel()
			ar, err := txtar.ParseFile(file)
			if err != nil {
				t.Fatal(err)
			}
			changed := false
			for i := range ar.Files {
				f := &ar.Files[i]
				var got []byte
				switch f.Name {
				case "want.sse":
					got = runStream(t, ar)
				case "want.json", "want.strict.json":
					got = runWhole(t, ar, f.Name == "want.strict.json")
				default:
					continue
				}
				if *update {
					changed = changed || !bytes.Equal(f.Data, got)
					f.Data = got
				} else if !bytes.Equal(f.Data, got) {
					t.Errorf("%s:\n got %s\nwant %s", f.Name, got, f.Data)
				}
			}
			if changed {
				if err := os.WriteFile(file, txtar.Format(ar), 0o644); err != nil {
					t.Fatal(err)
				}
			}
		})
	}
}

func section(ar *txtar.Archive, name string) []byte {
	for _, f := range ar.Files {
		if f.Name == name {
			return bytes.TrimSpace(f.Data)
		}
	}
	return nil
}

func options(ar *txtar.Archive) chat.Options {
	raw := section(ar, "options")
	o := chat.Options{Generation: "gen-1700000000-abc", Created: 1_700_000_000, N: 1, Model: "acme/asked"}
	o.IncludeUsage, _ = rawjson.Bool(rawjson.Find(raw, "include_usage"))
	o.ExcludeReasoning, _ = rawjson.Bool(rawjson.Find(raw, "exclude_reasoning"))
	if n, ok := rawjson.Int(rawjson.Find(raw, "n")); ok {
		o.N = int(n)
	}
	return o
}

// frames keeps what was written, one Write after another, and checks the rules that hold for every stream.
type frames struct {
	t   *testing.T
	all bytes.Buffer
}

func (f *frames) Write(b []byte) (int, error) {
	text := string(b)
	if text != sse.KeepAlive && text != sse.Done {
		body := strings.TrimSuffix(strings.TrimPrefix(text, "data: "), "\n\n")
		if len(body) != len(text)-8 || strings.ContainsAny(body, "\r\n") {
			f.t.Errorf("one Write is not one frame: %q", text)
		}
		if err := rawjson.Check([]byte(body), rawjson.Defaults); err != nil {
			f.t.Errorf("a frame is no JSON: %q: %v", text, err)
		}
	}
	return f.all.Write(b)
}

func runStream(t *testing.T, ar *txtar.Archive) []byte {
	t.Helper()
	out := &frames{t: t}
	s := chat.NewStream(out, options(ar))
	defer s.Close()
	calls(t, ar, s, s)
	return out.all.Bytes()
}

func runWhole(t *testing.T, ar *txtar.Archive, strict bool) []byte {
	t.Helper()
	var out bytes.Buffer
	o := options(ar)
	o.Strict = strict
	x := chat.NewWhole(&out, o)
	defer x.Close()
	calls(t, ar, x, nil)
	if err := rawjson.Check(out.Bytes(), rawjson.Defaults); err != nil {
		t.Errorf("the document is no JSON: %v", err)
	}
	return append(out.Bytes(), '\n')
}

// calls makes the calls of a golden file. The bytes of an event are overwritten after each one: they must not be kept.
func calls(t *testing.T, ar *txtar.Archive, sink relay.Sink, s *chat.Stream) {
	t.Helper()
	for line := range bytes.Lines(section(ar, "calls")) {
		line = bytes.Clone(bytes.TrimSpace(line))
		if err := rawjson.Check(line, rawjson.Defaults); err != nil {
			t.Fatalf("%s: %v", line, err)
		}
		var err error
		switch m := rawjson.MembersOf(line); {
		case !m.Next():
			t.Fatalf("no call: %s", line)
		case string(m.Name) == "start":
			err = sink.Start(served(m.Value))
		case string(m.Name) == "event":
			err = sink.Event(event(m.Value))
			for i := range line {
				line[i] = '#'
			}
		case string(m.Name) == "end":
			err = sink.End(receipt(m.Value))
		case string(m.Name) == "fail" && s != nil:
			err = s.Fail(m.Value)
		case string(m.Name) == "keepalive" && s != nil:
			err = s.KeepAlive()
		}
		if err != nil {
			t.Fatal(err)
		}
	}
}

func served(v []byte) relay.Served {
	ep := &catalog.Endpoint{Provider: &catalog.Provider{Name: "Acme Cloud"}}
	s := relay.Served{Endpoint: ep, Model: "acme/one:free"}
	s.Head.Fingerprint = rawjson.TextAt(v, "fingerprint")
	s.Head.Tier = rawjson.TextAt(v, "tier")
	return s
}

func event(v []byte) *completion.Event {
	text := func(name string) []byte {
		b, _ := rawjson.Unquote(rawjson.Find(v, name))
		return b
	}
	members := func(v []byte) []byte {
		if v == nil {
			return nil
		}
		return v[1 : len(v)-1]
	}
	ev := &completion.Event{
		Text: text("text"), Reasoning: text("reasoning"), Refusal: text("refusal"), Finish: completion.FinishReason(text("finish")), NativeFinish: string(text("native")),
		ReasoningDetails: rawjson.Find(v, "details"), Images: rawjson.Find(v, "images"), Audio: rawjson.Find(v, "audio"), Annotations: rawjson.Find(v, "annotations"),
		Logprobs: rawjson.Find(v, "logprobs"), FrameExtra: members(rawjson.Find(v, "frame")), ChoiceExtra: members(rawjson.Find(v, "choiceextra")), DeltaExtra: members(rawjson.Find(v, "delta")),
	}
	if n, ok := rawjson.Int(rawjson.Find(v, "choice")); ok {
		ev.Choice = int(n)
	}
	for e := rawjson.ElementsOf(rawjson.Find(v, "tools")); e.Next(); {
		index, _ := rawjson.Int(rawjson.Find(e.Value, "index"))
		arguments, _ := rawjson.Unquote(rawjson.Find(e.Value, "arguments"))
		custom, _ := rawjson.Bool(rawjson.Find(e.Value, "custom"))
		ev.ToolCalls = append(ev.ToolCalls, completion.ToolCall{Index: int(index), ID: rawjson.TextAt(e.Value, "id"), Name: rawjson.TextAt(e.Value, "name"),
			Arguments: arguments, Signature: rawjson.TextAt(e.Value, "signature"), Custom: custom, Extra: members(rawjson.Find(e.Value, "extra"))})
	}
	return ev
}

func receipt(v []byte) relay.Receipt {
	count := func(name string) usage.Count {
		n, ok := rawjson.Int(rawjson.Find(v, name))
		return usage.Count{N: n, Reported: ok}
	}
	r := relay.Receipt{}
	r.Usage = usage.Usage{Prompt: count("prompt"), Completion: count("completion"), CacheRead: count("cached"), CacheWrite: count("written"), CacheWrite1h: count("written1h"),
		Reasoning: count("reasoning"), PromptAudio: count("promptaudio"), OutputAudio: count("outputaudio"), OutputImage: count("outputimage"), WebSearches: count("searches"), Accepted: count("accepted"),
		Tier: rawjson.TextAt(v, "tier")}
	cost, _ := rawjson.Int(rawjson.Find(v, "cost"))
	prompt, _ := rawjson.Int(rawjson.Find(v, "promptcost"))
	r.Cost, r.PromptCost = money.Nano(cost), money.Nano(prompt)
	return r
}

func textEvent(s string) *completion.Event { return &completion.Event{Text: []byte(s)} }

// TestStreamMakesCallIDs: a provider that names no call gets a made up name, once, and the same in the mirrored signature.
func TestStreamMakesCallIDs(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	o := chat.Options{N: 1, Generation: "gen-1700000000-abcdefghijklmnopqrst"}
	s := chat.NewStream(&out, o)
	_ = s.Start(served(nil))
	_ = s.Event(&completion.Event{ToolCalls: []completion.ToolCall{{Name: "f", Signature: "sig"}}})
	_ = s.Event(&completion.Event{ToolCalls: []completion.ToolCall{{Arguments: []byte("{}")}}})
	whole := &bytes.Buffer{}
	x := chat.NewWhole(whole, o)
	_ = x.Start(served(nil))
	_ = x.Event(&completion.Event{ToolCalls: []completion.ToolCall{{Name: "f", Signature: "sig"}}, Finish: completion.Stop})
	_ = x.End(relay.Receipt{})
	for _, text := range []string{out.String(), whole.String()} {
		ids := map[string]int{}
		for _, part := range strings.Split(text, `"id":"call_`)[1:] {
			id, _, _ := strings.Cut(part, `"`)
			ids[id]++
		}
		for id, n := range ids {
			if id != "abcdefghijklmnopqrst_0" || n != 2 || len(ids) != 1 {
				t.Errorf("made up ids are %v in %s", ids, text)
			}
		}
		if len(ids) == 0 {
			t.Errorf("no id in %s", text)
		}
	}
}

// TestStreamState: what can be asked and done before, during and after a stream.
func TestStreamState(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	s := chat.NewStream(&out, chat.Options{N: 1})
	if s.Started() {
		t.Error("started before anything was written")
	}
	_ = s.Start(served(nil))
	if s.Started() {
		t.Error("started although nothing was written")
	}
	_ = s.KeepAlive()
	if !s.Started() || out.String() != ": keep-alive\n" {
		t.Errorf("keep-alive wrote %q", out.String())
	}
	_ = s.Event(textEvent("a"))
	_ = s.End(relay.Receipt{})
	n := out.Len()
	_ = s.Event(textEvent("late"))
	_ = s.End(relay.Receipt{})
	_ = s.Fail([]byte(`{}`))
	_ = s.KeepAlive()
	s.Close()
	_ = s.KeepAlive()
	if out.Len() != n {
		t.Errorf("written after the end: %q", out.Bytes()[n:])
	}
}

// A broken stream has one error, in a frame that the client understands.
func TestOneError(t *testing.T) {
	t.Parallel()
	for agent, choices := range map[string]bool{
		"": true, "OpenAI/Python 2.7.1": true, "OpenAI/JS 6.9.0": true, "OpenAI/Go 3.43.0": true, "speakeasy-sdk/typescript 0.1.2 2.753.6 1.0.0 @openrouter/sdk": true,
		"ai/5.0.99 ai-sdk/openai-compatible/1.0.27 ai-sdk/provider-utils/3.0.17 runtime/node.js/22": false, "ai-sdk/openrouter/1.2.3": false,
		"ai-sdk-openai/4.0.118 ai-sdk-provider-utils/5.0.81 node.js/v20.20.2": false,
	} {
		var out bytes.Buffer
		s := chat.NewStream(&out, chat.Options{N: 1, BareErrors: chat.NoChoices(agent)})
		_ = s.Start(relay.Served{Endpoint: &catalog.Endpoint{Provider: &catalog.Provider{}}})
		_ = s.Event(textEvent("a"))
		_ = s.Fail([]byte(`{"code":502}`))
		s.Close()
		frames := strings.Split(strings.TrimSpace(out.String()), "\n\n")
		last := frames[len(frames)-2]
		if strings.Count(out.String(), `"error":`) != 1 || !strings.Contains(last, `"error":{"code":502}`) || strings.Contains(last, `"choices"`) != choices || frames[len(frames)-1] != "data: [DONE]" {
			t.Errorf("%s: %s", agent, out.String())
		}
	}
}

type brokenPipe struct{ after int }

var errGone = errors.New("gone")

func (p *brokenPipe) Write(b []byte) (int, error) {
	if p.after--; p.after < 0 {
		return 0, errGone
	}
	return len(b), nil
}

func TestStreamReportsClientGone(t *testing.T) {
	t.Parallel()
	s := chat.NewStream(&brokenPipe{after: 2}, chat.Options{N: 1})
	_ = s.Start(served(nil))
	if err := s.Event(textEvent("a")); err != nil {
		t.Errorf("failed too early: %v", err)
	}
	for range 2 {
		if err := s.Event(textEvent("b")); !errors.Is(err, errGone) {
			t.Errorf("got %v", err)
		}
	}
	if err := s.End(relay.Receipt{}); !errors.Is(err, errGone) {
		t.Errorf("got %v", err)
	}
	if err := s.KeepAlive(); !errors.Is(err, errGone) {
		t.Errorf("got %v", err)
	}
}

// TestKeepAliveWhileStreaming is for the race detector, and checks that frames are not torn.
func TestKeepAliveWhileStreaming(t *testing.T) {
	t.Parallel()
	out := &frames{t: t}
	s := chat.NewStream(out, chat.Options{N: 1, IncludeUsage: true})
	_ = s.Start(served(nil))
	var wg sync.WaitGroup
	wg.Go(func() {
		for range 500 {
			_ = s.KeepAlive()
			_ = s.Started()
		}
	})
	for range 500 {
		_ = s.Event(textEvent("hello"))
	}
	_ = s.Event(&completion.Event{Finish: completion.Stop})
	_ = s.End(relay.Receipt{})
	wg.Wait()
	if n := strings.Count(out.all.String(), `"content":"hello"`); n != 500 {
		t.Errorf("%d of 500 events arrived", n)
	}
}

// TestWholeForgetsABrokenAttempt: Start again means that what came before never was.
func TestWholeForgetsABrokenAttempt(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	x := chat.NewWhole(&out, chat.Options{N: 2})
	_ = x.Start(served(nil))
	_ = x.Event(&completion.Event{Text: []byte("first"), Finish: completion.Stop, FrameExtra: []byte(`"x":1`)})
	_ = x.Event(&completion.Event{Choice: 1, Text: []byte("second")})
	_ = x.Start(served(nil))
	_ = x.Event(&completion.Event{Text: []byte("third"), Finish: completion.Stop})
	_ = x.End(relay.Receipt{})
	if s := out.String(); strings.Contains(s, "first") || strings.Contains(s, "second") || strings.Contains(s, `"x"`) || strings.Count(s, `"message"`) != 1 {
		t.Errorf("got %s", s)
	}
}

// FuzzEncode: whatever text an upstream sends, frames and documents are JSON, and a stream read back gives the same text.
func FuzzEncode(f *testing.F) {
	f.Add("hello", "thinking", `{"a":`, "stop", true)
	f.Add("a\nb\r\u2028\x00\"\\", "\xff\xfe", "", "", false)
	f.Fuzz(func(t *testing.T, text, reasoning, arguments, native string, include bool) {
		events := []*completion.Event{
			{Text: []byte(text), Reasoning: []byte(reasoning)},
			{ToolCalls: []completion.ToolCall{{ID: native, Name: text, Arguments: []byte(arguments), Signature: reasoning}}},
			{Finish: completion.Length, NativeFinish: native},
		}
		out := &frames{t: t}
		s := chat.NewStream(out, chat.Options{N: 1, IncludeUsage: include, Generation: native})
		doc := &bytes.Buffer{}
		x := chat.NewWhole(doc, chat.Options{N: 1, Strict: include})
		for _, sink := range []relay.Sink{s, x} {
			_ = sink.Start(served(nil))
			for _, ev := range events {
				_ = sink.Event(ev)
			}
			_ = sink.End(relay.Receipt{})
		}
		if err := rawjson.Check(doc.Bytes(), rawjson.Defaults); err != nil {
			t.Fatalf("the document is no JSON: %s", doc)
		}
		var got []byte
		r := sse.NewReader(bytes.NewReader(out.all.Bytes()), sse.Limits{})
		for frame, err := r.Next(); err == nil; frame, err = r.Next() {
			for e := rawjson.ElementsOf(rawjson.Find(frame.Data, "choices")); e.Next(); {
				got, _ = rawjson.AppendUnquoted(got, rawjson.FindPath(e.Value, "delta", "content"))
			}
		}
		if want := strings.ToValidUTF8(text, "\uFFFD"); string(got) != want {
			t.Fatalf("streamed %q, want %q", got, want)
		}
	})
}

func BenchmarkStreamEvent(b *testing.B) {
	for _, c := range []struct {
		name string
		ev   completion.Event
	}{
		{"text", completion.Event{Text: []byte(" hello world")}},
		{"reasoning", completion.Event{Reasoning: []byte(" hello world")}},
		{"arguments", completion.Event{ToolCalls: []completion.ToolCall{{Arguments: []byte(`{"city":`)}}}},
		{"extra", completion.Event{Text: []byte(" hello world"), FrameExtra: []byte(`"obfuscation":"abcdefgh"`)}},
	} {
		b.Run(c.name, func(b *testing.B) {
			s := chat.NewStream(io.Discard, chat.Options{Generation: "gen-1700000000-abcdefghijklmnopqrst", Created: 1_700_000_000, N: 1})
			_ = s.Start(served(nil))
			_ = s.Event(&completion.Event{ToolCalls: []completion.ToolCall{{ID: "call_1", Name: "f"}}})
			b.ReportAllocs()
			for b.Loop() {
				if err := s.Event(&c.ev); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

func BenchmarkWhole(b *testing.B) {
	ev := &completion.Event{Text: bytes.Repeat([]byte("some words of an answer\n"), 42), Finish: completion.Stop, NativeFinish: "stop"}
	r := relay.Receipt{Cost: 123_456_789, PromptCost: 23_456_789}
	r.Usage.Prompt, r.Usage.Completion, r.Usage.CacheRead = usage.Of(300), usage.Of(250), usage.Of(0)
	who := served(nil)
	b.ReportAllocs()
	for b.Loop() {
		x := chat.NewWhole(io.Discard, chat.Options{Generation: "gen-1700000000-abcdefghijklmnopqrst", Created: 1_700_000_000, N: 1})
		_ = x.Start(who)
		_ = x.Event(ev)
		if err := x.End(r); err != nil {
			b.Fatal(err)
		}
		x.Close()
	}
}
