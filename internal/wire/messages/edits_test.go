package messages_test

import (
	"fmt"
	"strings"
	"testing"

	"weir/internal/completion"
	"weir/internal/rawjson"
	"weir/internal/wire/messages"
	"weir/internal/wire/pack"
)

// edited is the body as an upstream of the same wire gets it, but for the model.
func edited(t testing.TB, req *completion.Request) string {
	t.Helper()
	var b strings.Builder
	from := 0
	edits, _ := req.Edits()
	for _, e := range edits {
		if e.Start < from || e.End < e.Start || e.End > len(req.Body) {
			t.Fatalf("edit %+v behind %d", e, from)
		}
		b.Write(req.Body[from:e.Start])
		b.WriteString(e.With)
		from = e.End
	}
	b.Write(req.Body[from:])
	return b.String()
}

// Thinking that this style had packed is taken out of what goes to an upstream of the wire, and nothing else moves.
func TestEdits(t *testing.T) {
	t.Parallel()
	packed := fmt.Sprintf(`{"type":"thinking","thinking":"t","signature":%q}`, pack.Pack(&completion.ReasoningDetail{Format: completion.FormatGoogle, Signature: "s"}))
	hidden := fmt.Sprintf(`{"data":%q , "type":"redacted_thinking"}`, pack.Pack(&completion.ReasoningDetail{Kind: completion.ReasoningEncrypted, Format: completion.FormatGoogle, ID: "c", Data: "d"}))
	const own, plain, use, result = `{"type":"thinking","thinking":"o","signature":"own"}`, `{"text":"x","type":"text"}`, `{"type":"tool_use","id":"c","name":"f","input":{}}`, `{"role":"user","content":[{"type":"tool_result","tool_use_id":"c"}]}`
	for _, c := range []struct {
		name             string
		before, after    string // the content of the answer, or with it whatever follows
		withoutReasoning bool
		thinking         string // what becomes of it; "": unchanged
	}{
		{name: "nothing of others", before: `[ ` + own + ` , ` + plain + `]`, after: `[ ` + own + ` , ` + plain + `]`},
		{name: "at the beginning", before: `[ ` + packed + ` , ` + plain + ` ]`, after: `[ ` + plain + ` ]`},
		{name: "at the end", before: `[` + plain + ` , ` + hidden + ` ]`, after: `[` + plain + ` ]`},
		{name: "in the middle", before: `[` + own + `,` + packed + `, ` + hidden + `,` + plain + `]`, after: `[` + own + `,` + plain + `]`},
		{name: "everywhere", before: `[` + packed + `,` + own + `,` + hidden + `,` + plain + `,` + packed + `]`, after: `[` + own + `,` + plain + `]`},
		{name: "alone", before: `[` + packed + `,` + hidden + `]},{"role":"user","content":"q"`, after: `[{"type":"text","text":"..."}]},{"role":"user","content":"q"`},
		{name: "alone at the end, which may be empty", before: `[` + packed + `,` + hidden + `]`, after: `[]`},
		{name: "of a turn that goes on", before: `[` + packed + `,` + use + `]},` + result + `,{"role":"user","content":"q"`, after: `[` + use + `]},` + result + `,{"role":"user","content":"q"`, thinking: `{"type":"disabled"}`},
		{name: "own thinking stays before it", before: `[` + own + `,` + packed + `,` + use + `]},` + result + `,{"role":"user","content":"q"`, after: `[` + own + `,` + use + `]},` + result + `,{"role":"user","content":"q"`},
		{name: "of a turn that is over", before: `[` + packed + `,` + use + `]},` + result + `,{"role":"assistant","content":` + `"done"`, after: `[` + use + `]},` + result + `,{"role":"assistant","content":` + `"done"`},
		{name: "refused", before: `[` + own + `,` + packed + `,` + plain + `]`, after: `[` + plain + `]`, withoutReasoning: true},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			for _, form := range []string{
				`{"thinking": {"type":"enabled","budget_tokens":1024},"model":"m","max_tokens":5000,"messages":[ {"role":"user","content":"q"},{"role":"assistant","content":%s}] }`,
				`{"max_tokens":5000,"messages":[{"role":"user","content":"q"},{"role":"assistant","content":%s}],"model":"m","thinking": {"type":"enabled","budget_tokens":1024}}`,
			} {
				req, err := messages.Decode([]byte(fmt.Sprintf(form, c.before)))
				if err != nil {
					t.Fatal(err)
				}
				req.WithoutReasoning = c.withoutReasoning
				want := fmt.Sprintf(form, c.after)
				if c.thinking != "" {
					want = strings.Replace(want, `{"type":"enabled","budget_tokens":1024}`, c.thinking, 1)
				}
				if got := edited(t, req); got != want {
					t.Errorf("got\n%s, want\n%s", got, want)
				}
			}
		})
	}
}

// What the wire refuses, and clients send all the same, is taken out of what goes to an upstream of the wire: texts of white space, and image/jpg.
// NousResearch/hermes-agent#55432, anthropics/claude-code#23440, nick1udwig/kibitz#78.
func TestWhatTheWireRefuses(t *testing.T) {
	t.Parallel()
	const jpg, jpeg = `{"type":"image","source":{"type":"base64","media_type":"image/jpg","data":"/9j/4AAQ"}}`, `{"type":"image","source":{"type":"base64","media_type":"image/jpeg","data":"/9j/4AAQ"}}`
	const empty, space, q = `{"type":"text","text":""}`, `{"text":" \n","type":"text","cache_control":{"type":"ephemeral"}}`, `{"type":"text","text":"q"}`
	result := func(content, more string) string {
		return `[{"type":"tool_result","tool_use_id":"c","content":` + content + more + `}]`
	}
	for _, c := range []struct{ what, before, after string }{
		{"an image", `[` + q + `, ` + jpg + `]`, `[` + q + `, ` + jpeg + `]`},
		{"an image of a result", result(`[`+jpg+`]`, ``), result(`[`+jpeg+`]`, ``)},
		{"an image that is fine", `[` + jpeg + `]`, `[` + jpeg + `]`},
		{"a text first", `[` + empty + ` , ` + q + `]`, `[` + q + `]`},
		{"a text last", `[` + q + `,` + space + `]`, `[` + q + `]`},
		{"a text before an image", `[` + space + `,` + jpg + `]`, `[` + jpeg + `]`},
		{"texts alone", `[` + space + `,` + empty + `]`, `[{"type":"text","text":"..."}]`},
		{"a string", `" \t"`, `"..."`},
		{"a text of a result", result(`[`+empty+`,`+q+`]`, ``), result(`[`+q+`]`, ``)},
		{"the text of a result", result(`[`+empty+`]`, ``), result(`[]`, ``)},
		{"the text of a failure", result(`[`+empty+`]`, `,"is_error":true`), result(`[{"type":"text","text":"..."}]`, `,"is_error":true`)},
		{"nothing", `[` + q + `]`, `[` + q + `]`},
	} {
		for _, form := range []string{
			`{"model":"m","max_tokens":5,"messages":[ {"role":"user","content":%s},{"role":"user","content":"q"}] }`,
			`{"messages":[{"role":"user","content":"q"},{"content":%s,"role":"user"}],"model":"m","max_tokens":5}`,
		} {
			wantEdited(t, c.what, fmt.Sprintf(form, c.before), fmt.Sprintf(form, c.after))
		}
	}
	for _, c := range []struct{ what, before, after string }{
		{"a beginning of the answer", `"messages":[{"role":"user","content":"q"},{"role":"assistant","content":" "}]`, `"messages":[{"role":"user","content":"q"},{"role":"assistant","content":""}]`},
		{"one of blocks", `"messages":[{"role":"user","content":"q"},{"role":"assistant","content":[` + empty + `]}]`, `"messages":[{"role":"user","content":"q"},{"role":"assistant","content":[]}]`},
		{"instructions", `"system":[` + empty + `,` + q + `],"messages":[{"role":"user","content":"q"}]`, `"system":[` + q + `],"messages":[{"role":"user","content":"q"}]`},
		{"instructions behind", `"messages":[{"role":"user","content":" "}],"system":[` + space + `]`, `"messages":[{"role":"user","content":"..."}],"system":[{"type":"text","text":"..."}]`},
	} {
		wantEdited(t, c.what, `{"model":"m","max_tokens":5,`+c.before+`}`, `{"model":"m","max_tokens":5,`+c.after+`}`)
	}
}

func wantEdited(t *testing.T, what, before, after string) {
	t.Helper()
	req, err := messages.Decode([]byte(before))
	if err != nil {
		t.Fatalf("%s: %v", what, err)
	}
	if got := edited(t, req); got != after {
		t.Errorf("%s: got\n%s, want\n%s", what, got, after)
	}
	if _, lost := req.Edits(); lost {
		t.Errorf("%s: said to lose something", what)
	}
}

// The newest signature is the provider's own, also where it was packed.
func TestSignature(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ blocks, want string }{
		{`{"type":"text","text":"x"}`, ""},
		{`{"type":"thinking","thinking":"a","signature":"one"},{"type":"thinking","thinking":"b","signature":"two"}`, "two"},
		{`{"type":"redacted_thinking","data":"d"}`, "d"},
		{fmt.Sprintf(`{"type":"thinking","thinking":"a","signature":%q}`, pack.Pack(&completion.ReasoningDetail{Signature: "s"})), "s"},
		{fmt.Sprintf(`{"type":"redacted_thinking","data":%q}`, pack.Pack(&completion.ReasoningDetail{Kind: completion.ReasoningEncrypted, Data: "e"})), "e"},
		{fmt.Sprintf(`{"type":"thinking","thinking":"a","signature":%q}`, pack.Pack(&completion.ReasoningDetail{Format: "unknown"})), ""},
	} {
		req, err := messages.Decode([]byte(`{"model":"m","max_tokens":1,"messages":[{"role":"assistant","content":[` + c.blocks + `]}]}`))
		if err != nil || req.Signature != c.want {
			t.Errorf("%s: %v, %+v", c.blocks, err, req)
		}
	}
}

func FuzzEdits(f *testing.F) {
	packed := pack.Pack(&completion.ReasoningDetail{Format: completion.FormatGoogle, Signature: "s"})
	f.Add([]byte(`{"model":"a","max_tokens":1,"thinking":{"type":"enabled"},"messages":[{"role":"assistant","content":[{"type":"thinking","signature":"`+packed+`"} , {"type":"tool_use"}]},{"role":"user","content":[]}]}`), false)
	f.Add([]byte(`{"system":[{"type":"text","text":""}],"messages":[{"content":[{"type":"tool_result","content":[{"type":"text","text":" "},{"type":"image","source":{"media_type":"image/jpg"}}]},{"type":"text","text":""}]},{"content":""}],"model":"a","max_tokens":1}`), false)
	f.Add([]byte(`{"messages":[{"content":[{"type":"redacted_thinking","data":"`+packed+`"}],"content2":1}],"model":"a","max_tokens":1}`), true)
	f.Fuzz(func(t *testing.T, body []byte, withoutReasoning bool) {
		req, err := messages.Decode(body)
		if err != nil {
			return
		}
		req.WithoutReasoning = withoutReasoning
		text := edited(t, req)
		if !rawjson.Valid([]byte(text)) {
			t.Fatalf("not JSON: %s", text)
		}
	})
}
