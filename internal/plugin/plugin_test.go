package plugin_test

import (
	"context"
	"encoding/base64"
	"fmt"
	"io"
	"iter"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"weir/internal/catalog"
	"weir/internal/completion"
	"weir/internal/fault"
	"weir/internal/plugin"
	"weir/internal/plugin/pdf"
	"weir/internal/plugin/pdftext"
	"weir/internal/rawjson"
	"weir/internal/wire/chat"
)

// words counts words: short texts are then easy to reckon with.
type words struct{}

func (words) Count(text iter.Seq[[]byte]) (n int64) {
	for piece := range text {
		n += int64(len(strings.Fields(string(piece))))
	}
	return n
}

// inProcess reads files without a child.
func inProcess(_ context.Context, file io.Reader, _ int, lim pdftext.Limits) (pdftext.Outcome, error) {
	data, err := io.ReadAll(file)
	if err != nil {
		return pdftext.Outcome{}, err
	}
	o, err := pdf.Text(data, lim.PDF)
	return pdftext.Outcome{Text: o.Text, Cut: o.Cut, Work: o.Work}, err
}

// failer is a test or a property.
type failer interface {
	Helper()
	Fatal(args ...any)
}

func decode(t failer, members string) *completion.Request {
	t.Helper()
	req, err := chat.Decode([]byte(`{"model":"v/m",` + members + `}`))
	if err != nil {
		t.Fatal(err)
	}
	return req
}

const hello = `"messages":[{"role":"user","content":"hello"}]`

func schemaOf(strict bool) string {
	return fmt.Sprintf(`"response_format":{"type":"json_schema","json_schema":{"name":"person","strict":%v,"schema":{"type":"object","properties":{"name":{"type":"string"}},"required":["name"],"additionalProperties":false}}}`, strict)
}

// shaped is what comes of events that answer req at ep.
func shaped(t failer, ep *catalog.Endpoint, req *completion.Request, events ...completion.Event) (sent *completion.Request, got []completion.Event, err error) {
	t.Helper()
	sent, reshape, err := plugin.New(words{}, inProcess, plugin.Default()).Begin("usr_1").Shape(context.Background(), ep, req)
	if err != nil {
		return nil, nil, err
	}
	source := func(yield func(*completion.Event, error) bool) {
		for i := range events {
			if !yield(&events[i], nil) {
				return
			}
		}
	}
	if reshape == nil {
		return sent, events, nil
	}
	for ev, err := range reshape(source) {
		if err != nil {
			return sent, got, err
		}
		kept := *ev
		if ev.Text != nil {
			kept.Text = append([]byte{}, ev.Text...)
		}
		got = append(got, kept)
	}
	return sent, got, nil
}

func said(events []completion.Event) string {
	text := ""
	for i := range events {
		text += string(events[i].Text)
	}
	return text
}

func whole(text string) completion.Event {
	return completion.Event{Head: &completion.Head{ID: "u", Notice: "First."}, Text: []byte(text), Finish: completion.Stop, Done: true}
}

// numbered is a JSON list of n numbers.
func numbered(n int) string {
	b := []byte{'['}
	for i := range n {
		b = append(strconv.AppendInt(b, int64(i), 10), ',')
	}
	return string(append(b, "0.5]"...))
}

func TestAnswers(t *testing.T) {
	t.Parallel()
	all := &catalog.Endpoint{Params: catalog.AllParams}
	heal := `,"plugins":[{"id":"response-healing"}]`
	for _, c := range []struct {
		name, members, answer, want string
		finish                      completion.FinishReason
		noted, unchecked            bool
		fails                       string
	}{
		{name: "nothing asked for", members: hello, answer: "{a:1}", want: "{a:1}"},
		{name: "healing without a format", members: hello + heal, answer: "{a:1}", want: "{a:1}"},
		{name: "a format without healing", members: hello + `,"response_format":{"type":"json_object"}`, answer: "{a:1}", want: "{a:1}"},
		{name: "mended", members: hello + heal + `,"response_format":{"type":"json_object"}`, answer: "Here: {a:1}", want: `{"a":1}`, noted: true},
		{name: "JSON stays", members: hello + heal + `,"response_format":{"type":"json_object"}`, answer: ` {"a": 1} `, want: ` {"a": 1} `},
		{name: "not in a stream", members: hello + heal + `,"stream":true,"response_format":{"type":"json_object"}`, answer: "{a:1}", want: "{a:1}"},
		{name: "cut off and mended", members: hello + heal + `,"response_format":{"type":"json_object"}`, answer: `{"a":"b`, finish: completion.Length, want: `{"a":"b"}`, noted: true},
		{name: "what nobody can mend", members: hello + heal + `,"response_format":{"type":"json_object"}`, answer: "no", want: "no"},
		{name: "conforms", members: hello + "," + schemaOf(true), answer: `{"name":"A"}`, want: `{"name":"A"}`},
		{name: "does not conform", members: hello + "," + schemaOf(true), answer: `{"name":1}`, fails: "$.name must be string"},
		{name: "is no JSON", members: hello + "," + schemaOf(true), answer: `Sure! {"name":"A"}`, fails: "$ is no JSON"},
		{name: "mended and conforms", members: hello + heal + "," + schemaOf(true), answer: `Sure! {'name':'A'}`, want: `{"name":"A"}`, noted: true},
		{name: "mended and does not conform", members: hello + heal + "," + schemaOf(true), answer: `Sure! {'nome':'A'}`, fails: "$.nome is not allowed"},
		{name: "not strict", members: hello + "," + schemaOf(false), answer: `{"name":1}`, want: `{"name":1}`},
		{name: "a stream cannot be taken back", members: hello + `,"stream":true,` + schemaOf(true), answer: `{"name":1}`, want: `{"name":1}`},
		{name: "cut off", members: hello + "," + schemaOf(true), answer: `{"na`, finish: completion.Length, want: `{"na`},
		{name: "filtered", members: hello + "," + schemaOf(true), answer: `{"na`, finish: completion.ContentFilter, want: `{"na`},
		{name: "a schema that nobody understands", members: hello + `,"response_format":{"type":"json_schema","json_schema":{"name":"n","strict":true,"schema":{"pattern":"(?=a)"}}}`, answer: "1", want: "1", unchecked: true},
		{name: "a schema that costs too much", members: hello + `,"response_format":{"type":"json_schema","json_schema":{"name":"n","strict":true,"schema":{"uniqueItems":true}}}`,
			answer: numbered(20_000), want: numbered(20_000), unchecked: true},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			ev := whole(c.answer)
			if c.finish != "" {
				ev.Finish = c.finish
			}
			_, got, err := shaped(t, all, decode(t, c.members), ev)
			if c.fails != "" {
				f := fault.From(err)
				if f == nil || f.Kind != fault.ProviderUnavailable || f.Next != fault.NextEndpoint || f.Upstream != nil || !strings.Contains(f.Public, c.fails) {
					t.Fatalf("got %v", err)
				}
				return
			}
			if err != nil || said(got) != c.want {
				t.Fatalf("got %q, %v", said(got), err)
			}
			if notice := got[len(got)-1].Head.Notice; strings.Contains(notice, "repaired") != c.noted || !strings.HasPrefix(notice, "First.") {
				t.Errorf("notice: %q", notice)
			}
			if notice := got[len(got)-1].Head.Notice; strings.Contains(notice, "was not checked") != c.unchecked {
				t.Errorf("notice: %q", notice)
			}
			if ev.Head.Notice != "First." || string(ev.Text) != c.answer {
				t.Error("the upstream's event was changed")
			}
		})
	}
	t.Run("each of several choices, in pieces", func(t *testing.T) {
		t.Parallel()
		req := decode(t, hello+`,"n":2`+heal+`,"response_format":{"type":"json_object"}`)
		_, got, err := shaped(t, all, req,
			completion.Event{Head: &completion.Head{}, Choice: 0, Text: []byte(`{a:`)}, completion.Event{Choice: 1, Text: []byte(`{"b":2}`)},
			completion.Event{Choice: 0, Text: []byte("1}"), Finish: completion.Stop}, completion.Event{Choice: 1, Finish: completion.Stop}, completion.Event{Choice: -1, Done: true})
		if err != nil || len(got) != 5 || string(got[2].Text) != `{"a":1}` || string(got[3].Text) != `{"b":2}` {
			t.Errorf("got %q, %v", said(got), err)
		}
	})
	t.Run("calls of tools and refusals are no answers to check", func(t *testing.T) {
		t.Parallel()
		req := decode(t, hello+","+schemaOf(true))
		for _, ev := range []completion.Event{
			{Text: []byte("I call"), ToolCalls: []completion.ToolCall{{ID: "1", Name: "f"}}, Finish: completion.Stop},
			{Refusal: []byte("no"), Finish: completion.Stop},
		} {
			if _, got, err := shaped(t, all, req, ev); err != nil || len(got) != 1 || len(got[0].ToolCalls) != len(ev.ToolCalls) {
				t.Errorf("got %v, %v", got, err)
			}
		}
	})
}

// An endpoint that has no schemas but tools is asked to call one, whose arguments are the answer.
func TestEmulation(t *testing.T) {
	t.Parallel()
	tools := &catalog.Endpoint{Params: catalog.ParamTools | catalog.ParamToolChoice}
	bare := &catalog.Endpoint{}
	call := func(index int, id, name, arguments string) []completion.ToolCall {
		return []completion.ToolCall{{Index: index, ID: id, Name: name, Arguments: []byte(arguments)}}
	}
	t.Run("request", func(t *testing.T) {
		t.Parallel()
		sent, _, err := shaped(t, tools, decode(t, hello+","+schemaOf(true)))
		if err != nil {
			t.Fatal(err)
		}
		p, err := sent.Prompt()
		if err != nil {
			t.Fatal(err)
		}
		if len(p.Tools) != 1 || p.Tools[0].Name != "person" || p.Choice.Name != "person" || p.Choice.Mode != completion.ChoiceTool || p.Format.Kind != completion.FormatText ||
			sent.Revised != completion.RevisedTools|completion.RevisedFormat {
			t.Errorf("%+v, %+v", p.Tools, p.Choice)
		}
	})
	for _, c := range []struct {
		name   string
		stream bool
		events []completion.Event
		want   string
	}{
		{"whole", false, []completion.Event{{ToolCalls: call(0, "1", "person", `{"name":"A"}`), Finish: completion.ToolCalls}}, `{"name":"A"}`},
		{"beside words", false, []completion.Event{{Text: []byte("Here it is."), ToolCalls: call(0, "1", "person", `{"name":"A"}`), Finish: completion.ToolCalls}}, `{"name":"A"}`},
		{"words alone", false, []completion.Event{{Text: []byte(`{"name":"B"}`), Finish: completion.Stop}}, `{"name":"B"}`},
		{"streamed", true, []completion.Event{{Text: []byte("Well.")}, {ToolCalls: call(0, "1", "person", "")}, {ToolCalls: call(0, "", "", `{"name"`)}, {ToolCalls: call(0, "", "", `:"A"}`)}, {ToolCalls: call(1, "2", "person", "{}")},
			{Text: []byte("Done.")}, {Finish: completion.ToolCalls}}, `{"name":"A"}`},
		{"in pieces and checked", false, []completion.Event{{ToolCalls: call(0, "1", "person", `{"name"`)}, {ToolCalls: call(0, "", "", `:"A"}`)}, {Finish: completion.ToolCalls}}, `{"name":"A"}`},
		{"streamed words alone", true, []completion.Event{{Text: []byte(`{"name":`)}, {Text: []byte(`"C"}`)}, {Finish: completion.Stop}}, `{"name":"C"}`},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			_, got, err := shaped(t, tools, decode(t, hello+fmt.Sprintf(`,"stream":%v,`, c.stream)+schemaOf(true)), c.events...)
			if err != nil || said(got) != c.want {
				t.Fatalf("got %q, %v", said(got), err)
			}
			if last := got[len(got)-1]; last.Finish != completion.Stop {
				t.Errorf("finish %q", last.Finish)
			}
			for i := range got {
				if got[i].ToolCalls != nil {
					t.Error("a call was delivered")
				}
			}
		})
	}
	t.Run("arguments that do not conform", func(t *testing.T) {
		t.Parallel()
		_, _, err := shaped(t, tools, decode(t, hello+","+schemaOf(true)), completion.Event{ToolCalls: call(0, "1", "person", "{}"), Finish: completion.ToolCalls})
		if !fault.Is(err, fault.ProviderUnavailable) {
			t.Error(err)
		}
	})
	for _, c := range []struct {
		name, members string
		ep            *catalog.Endpoint
		revised       completion.Revision
	}{
		{"the client's own tools come first", hello + "," + schemaOf(false) + `,"tools":[{"type":"function","function":{"name":"f"}}]`, tools, 0},
		{"an endpoint with JSON", hello + "," + schemaOf(false), &catalog.Endpoint{Params: tools.Params | catalog.ParamResponseFormat}, 0},
		{"neither tools nor healing", hello + "," + schemaOf(false), bare, 0},
		{"no tools, and healing", hello + "," + schemaOf(false) + `,"plugins":[{"id":"response-healing"}]`, bare, completion.RevisedTurns | completion.RevisedFormat},
		{"any JSON, and healing", hello + `,"response_format":{"type":"json_object"},"plugins":[{"id":"response-healing"}]`, tools, completion.RevisedTurns | completion.RevisedFormat},
		{"a list is no arguments", hello + `,"response_format":{"type":"json_schema","json_schema":{"name":"n","schema":{"type":"array"}}}`, tools, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			sent, _, err := shaped(t, c.ep, decode(t, c.members))
			if err != nil || sent.Revised != c.revised {
				t.Fatalf("revised %b, %v", sent.Revised, err)
			}
			if p, err := sent.Prompt(); err != nil || (c.revised != 0) != (len(p.Turns) == 2) || c.revised != 0 && !strings.Contains(p.Turns[0].Parts[0].Text, "JSON") {
				t.Errorf("%+v, %v", p.Turns, err)
			}
		})
	}
}

func file(name, kind, data string) string {
	return fmt.Sprintf(`{"type":"file","file":{"filename":%q,"file_data":"data:%s;base64,%s"}}`, name, kind, base64.StdEncoding.EncodeToString([]byte(data)))
}

const page = "%PDF-1.4\n1 0 obj <</Type/Catalog/Pages 2 0 R>> endobj 2 0 obj <</Type/Pages/Kids[3 0 R]>> endobj 3 0 obj <</Type/Page/Contents 4 0 R/Resources<</Font<</F<</Subtype/Type1>>>>>>>> endobj\n" +
	"4 0 obj <</Length 43>>\nstream\nBT /F 12 Tf (The total is 42 rubles.) Tj ET   \nendstream endobj\n"

func TestFiles(t *testing.T) {
	t.Parallel()
	ep := &catalog.Endpoint{Params: catalog.AllParams, Input: catalog.Text}
	ask := func(parts string) string {
		return `"messages":[{"role":"user","content":[{"type":"text","text":"Sum?"},` + parts + `]}]`
	}
	t.Run("read", func(t *testing.T) {
		t.Parallel()
		req := decode(t, ask(file("a.pdf", "application/pdf", page)+","+file("b.csv", "text/csv", "a,b")))
		sent, got, err := shaped(t, ep, req, completion.Event{Head: &completion.Head{}}, completion.Event{Text: []byte("42"), Annotations: []byte(`[{"type":"url_citation"}]`)}, completion.Event{Finish: completion.Stop})
		if err != nil {
			t.Fatal(err)
		}
		p, err := sent.Prompt()
		if err != nil {
			t.Fatal(err)
		}
		want := []completion.Part{{Text: "Sum?"}, {Text: "<file name=\"a.pdf\">\nThe total is 42 rubles.\n</file>"}, {Text: "<file name=\"b.csv\">\na,b\n</file>"}}
		if d := cmp.Diff(want, p.Turns[0].Parts); d != "" || p.Turns[0].At != (completion.Span{}) {
			t.Error(d)
		}
		if sent.Needs.Input != catalog.Text || sent.Needs.PromptTokens != 21 || req.Needs.Input&catalog.File == 0 {
			t.Errorf("needs %+v", sent.Needs)
		}
		var names []string
		list := got[1].Annotations
		for e := rawjson.ElementsOf(list); e.Next(); {
			names = append(names, rawjson.TextAt(e.Value, "type")+" "+rawjson.Text(rawjson.FindPath(e.Value, "file", "name")))
		}
		if d := cmp.Diff([]string{"file a.pdf", "file b.csv", "url_citation "}, names); d != "" || got[0].Annotations != nil || got[2].Annotations != nil {
			t.Errorf("annotations %s: %s", list, d)
		}
	})
	t.Run("told before", func(t *testing.T) {
		t.Parallel()
		req := decode(t, ask(file("a.pdf", "application/pdf", page)))
		_, first, err := shaped(t, ep, req, whole("42"))
		if err != nil {
			t.Fatal(err)
		}
		reported := strings.Replace(string(first[0].Annotations), "42 rubles", "43 rubles", 1) // so that it shows where the text comes from
		next := decode(t, strings.TrimSuffix(ask(file("a.pdf", "application/pdf", page)), "]")+`,{"role":"assistant","content":"42","annotations":`+reported+`},{"role":"user","content":"Sure?"}]`)
		sent, second, err := shaped(t, ep, next, whole("Yes"))
		if err != nil {
			t.Fatal(err)
		}
		if p, err := sent.Prompt(); err != nil || !strings.Contains(p.Turns[0].Parts[1].Text, "43 rubles") || second[0].Annotations != nil {
			t.Errorf("%+v, %v, %s", p.Turns[0], err, second[0].Annotations)
		}
	})
	for _, c := range []struct{ name, parts, want string }{
		{"encrypted", file("a.pdf", "application/pdf", page+"trailer <</Encrypt 9 0 R>>"), `"a.pdf": it is encrypted`},
		{"pictures", file("a.pdf", "application/pdf", strings.Replace(page, "Tj", "  ", 1)), "it has no text"},
		{"another kind", file("a.zip", "application/zip", "PK"), "it is no PDF file"},
		{"by address", `{"type":"file","file":{"file_data":"https://a.test/b.pdf"}}`, "given by URL or id"},
		{"by id", `{"type":"file","file":{"file_id":"file-1"}}`, "given by URL or id"},
		{"too many", strings.TrimSuffix(strings.Repeat(file("a.txt", "text/plain", "x")+",", 33), ","), "32 files"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			_, _, err := shaped(t, ep, decode(t, ask(c.parts)))
			if f := fault.From(err); f == nil || f.Kind != fault.InvalidPrompt || f.Next != fault.NextModel || !strings.Contains(f.Public, c.want) || !strings.Contains(f.Public, "file-parser") {
				t.Errorf("got %v", err)
			}
		})
	}
}

func message(role, text string) string { return fmt.Sprintf(`{"role":%q,"content":%q}`, role, text) }

func TestShorten(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("word ", 100)
	turns := []string{message("system", "rules"), message("user", "first "+long)}
	for i := range 6 {
		turns = append(turns, message("assistant", fmt.Sprintf("answer %d ", i)+long), message("user", fmt.Sprintf("question %d ", i)+long))
	}
	messages := `"messages":[` + strings.Join(turns, ",") + `]`
	count := func(n int64, answer int64) *catalog.Endpoint {
		return &catalog.Endpoint{Params: catalog.AllParams, Input: catalog.AllModalities, ContextLength: n, MaxCompletion: answer}
	}
	starts := func(p *completion.Prompt) (list []string) {
		for i := range p.Turns {
			f := strings.Fields(p.Turns[i].Parts[0].Text)
			list = append(list, strings.Join(f[:min(2, len(f))], " "))
		}
		return list
	}
	t.Run("out of the middle", func(t *testing.T) {
		t.Parallel()
		sent, got, err := shaped(t, count(800, 100), decode(t, messages+`,"transforms":["middle-out"],"max_tokens":100`), whole("x"))
		if err != nil {
			t.Fatal(err)
		}
		p, err := sent.Prompt()
		if err != nil {
			t.Fatal(err)
		}
		if d := cmp.Diff([]string{"first word", "answer 0", "question 0", "question 4", "answer 5", "question 5"}, starts(p)); d != "" {
			t.Error(d)
		}
		if len(p.System) != 1 || sent.Needs.PromptTokens > 700 {
			t.Errorf("system %v, %d tokens", p.System, sent.Needs.PromptTokens)
		}
		if n := got[0].Head.Notice; n != "First. The conversation was too long for the model: in its middle, 7 messages were left out and 0 shortened." {
			t.Errorf("notice: %s", n)
		}
	})
	t.Run("one message shortened", func(t *testing.T) {
		t.Parallel()
		sent, got, err := shaped(t, count(1480, 100), decode(t, messages+`,"transforms":["middle-out"],"max_tokens":100`), whole("x"))
		if err != nil {
			t.Fatal(err)
		}
		p, err := sent.Prompt()
		if err != nil || len(p.Turns) != 13 || !strings.HasSuffix(got[0].Head.Notice, "0 messages were left out and 1 shortened.") {
			t.Fatalf("%d turns, %v, %s", len(p.Turns), err, got[0].Head.Notice)
		}
		cut := 0
		for i := range p.Turns {
			if p.Turns[i].At.End == 0 {
				cut++
				if !strings.Contains(p.Turns[i].Parts[0].Text, "\n[...]\n") {
					t.Errorf("%q", p.Turns[i].Parts[0].Text)
				}
			}
		}
		if cut != 1 {
			t.Errorf("%d turns are not the client's own", cut)
		}
	})
	t.Run("it fits after all", func(t *testing.T) {
		t.Parallel()
		req := decode(t, messages+`,"transforms":["middle-out"],"max_tokens":100`)
		ep := count(req.Needs.PromptTokens, 100)
		if sent, _, err := shaped(t, ep, req); err != nil || sent.Revised != 0 || sent.Needs.PromptTokens >= req.Needs.PromptTokens {
			t.Errorf("%+v, %v", sent, err)
		}
	})
	t.Run("what must stay is too long", func(t *testing.T) {
		t.Parallel()
		_, _, err := shaped(t, count(200, 100), decode(t, messages+`,"transforms":["middle-out"],"max_tokens":100`))
		if f := fault.From(err); f == nil || f.Kind != fault.ContextLength || f.Next != fault.NextModel || !strings.Contains(f.Public, "maximum context length is 200 tokens") {
			t.Errorf("got %v", err)
		}
	})
}

// However a conversation is shortened, it stays one that providers take: results of tools follow their calls, what was said first and last
// is there, in order, and it fits.
func TestShortenKeepsConversationsWhole(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		text := func(label string) string {
			return label + strings.Repeat(" word", rapid.IntRange(0, 80).Draw(t, "words"))
		}
		turns := []string{message("system", "rules"), message("user", text("first"))}
		for i := range rapid.IntRange(0, 12).Draw(t, "turns") {
			switch rapid.IntRange(0, 3).Draw(t, "kind") {
			case 0:
				turns = append(turns, message("assistant", text("a")), message("user", text("q")))
			case 1:
				turns = append(turns, message("system", text("s")))
			default:
				calls, results := "", ""
				for j := range rapid.IntRange(1, 3).Draw(t, "calls") {
					calls += fmt.Sprintf(`,{"id":"c%d-%d","type":"function","function":{"name":"f","arguments":"{}"}}`, i, j)
					results += fmt.Sprintf(`,{"role":"tool","tool_call_id":"c%d-%d","content":%q}`, i, j, text("r"))
				}
				turns = append(turns, `{"role":"assistant","content":null,"tool_calls":[`+calls[1:]+`]}`, results[1:])
			}
		}
		turns = append(turns, message("user", text("last")))
		req := decode(t, `"messages":[`+strings.Join(turns, ",")+`],"transforms":["middle-out"],"max_tokens":10`)
		ep := &catalog.Endpoint{Params: catalog.AllParams, Input: catalog.AllModalities, ContextLength: int64(rapid.IntRange(50, 600).Draw(t, "context"))}
		if !req.Needs.TooLong(ep) {
			return
		}
		sent, _, err := shaped(t, ep, req)
		if err != nil {
			if !fault.Is(err, fault.ContextLength) {
				t.Fatal(err)
			}
			return
		}
		p, err := sent.Prompt()
		if err != nil {
			t.Fatal(err)
		}
		n := words{}.Count(p.Text())
		open, systems := map[string]bool{}, 0
		for i := range p.Turns {
			n += 8
			if p.Turns[i].Role == completion.System {
				systems++
			}
			for j := range p.Turns[i].Parts {
				if c := p.Turns[i].Parts[j].Call; c != nil {
					open[c.ID] = true
				}
				if r := p.Turns[i].Parts[j].Result; r != nil {
					if !open[r.CallID] {
						t.Fatalf("the result %s has no call", r.CallID)
					}
					delete(open, r.CallID)
				}
			}
		}
		if len(open) > 0 || n > ep.ContextLength-10 || systems != strings.Count(strings.Join(turns[1:], ""), `"role":"system"`) {
			t.Fatalf("calls without results %v, %d tokens for %d, %d instructions", open, n, ep.ContextLength, systems)
		}
		if !strings.HasPrefix(p.Turns[0].Parts[0].Text, "first") || !strings.HasPrefix(p.Turns[len(p.Turns)-1].Parts[0].Text, "last") || n > sent.Needs.PromptTokens {
			t.Fatalf("begins with %q, ends with %q, %d tokens told as %d", p.Turns[0].Parts[0].Text, p.Turns[len(p.Turns)-1].Parts[0].Text, n, sent.Needs.PromptTokens)
		}
	})
}
