package wire //nolint:testpackage // a prompt is made of its parts

import (
	"encoding/json"
	"fmt"
	"hash/maphash"
	"strings"
	"testing"

	"weir/internal/promptcache"
	"weir/internal/rawjson"
)

var seed = maphash.MakeSeed()

func printsOf(before, messages string) promptcache.Prints {
	p := cachedPrompt{messages: []byte(messages), marked: strings.Contains(before+messages, "cache_control")}
	if before != "" {
		p.before = [][]byte{[]byte(before)}
	}
	return p.prints(seed)
}

// TestCommon compares two prompts of a conversation. The cases are those by which gateways and clients lost caches, or seemed to.
func TestCommon(t *testing.T) {
	t.Parallel()
	const system = `[{"type":"text","text":"You are an agent."}]`
	const marked = `[{"type":"text","text":"You are an agent.","cache_control":{"type":"ephemeral"}}]`
	for _, c := range []struct {
		name            string
		before, earlier string
		after, later    string
		changed         int
		whole           bool // all of the earlier prompt is at the beginning of the later one
		kind            promptcache.Kind
	}{
		{name: "a message more", before: system, earlier: `[{"role":"user","content":"a"}]`, after: system, later: `[{"role":"user","content":"a"},{"role":"assistant","content":"b"},{"role":"user","content":"c"}]`, changed: promptcache.Unchanged, whole: true},
		{name: "the same again", before: system, earlier: `[{"role":"user","content":"a"}]`, after: system, later: `[{"role":"user","content":"a"}]`, changed: promptcache.Unchanged, whole: true},
		{name: "the last message replaced", before: system, earlier: `[{"role":"user","content":"a"},{"role":"user","content":"b"}]`, after: system, later: `[{"role":"user","content":"a"},{"role":"user","content":"c"}]`, changed: 2},
		{name: "a summary instead of the conversation", before: system, earlier: `[{"role":"user","content":"a"},{"role":"assistant","content":"b"},{"role":"user","content":"c"}]`, after: system, later: `[{"role":"user","content":"summary"},{"role":"assistant","content":"b"}]`, changed: 1},
		{name: "other instructions", before: system, earlier: `[{"role":"user","content":"a"}]`, after: `[{"type":"text","text":"It is 10:42."}]`, later: `[{"role":"user","content":"a"}]`, changed: 0},
		{name: "a mark that moves on", before: marked, earlier: `[{"role":"user","content":[{"type":"text","text":"a","cache_control":{"type":"ephemeral"}}]}]`,
			after: marked, later: `[{"role":"user","content":"a"},{"role":"assistant","content":"b"},{"role":"user","content":[{"type":"text","text":"c","cache_control":{"type":"ephemeral"}}]}]`, changed: promptcache.Unchanged, whole: true, kind: promptcache.Marked},
		{name: "a mark for an hour", before: marked, earlier: `[{"role":"user","content":"a"}]`, after: marked, later: `[{"role":"user","content":[{"type":"text","text":"a","cache_control":{"type":"ephemeral","ttl":"1h"}}]}]`, changed: promptcache.Unchanged, whole: true, kind: promptcache.MarkedHour},
		{name: "a mark that comes after the first call", before: marked, earlier: `[{"role":"user","content":"a"},{"role":"tool","content":[{"type":"text","text":"x"},{"type":"text","text":"y"}]}]`,
			after: marked, later: `[{"role":"user","content":"a"},{"role":"tool","content":[{"type":"text","text":"x"},{"cache_control":{"type":"ephemeral"},"type":"text","text":"y"}]}]`, changed: promptcache.Unchanged, whole: true, kind: promptcache.Marked},
		{name: "text about marks is text", before: system, earlier: `[{"role":"user","content":"set \"cache_control\": {\"type\":\"ephemeral\"}"}]`, after: system, later: `[{"role":"user","content":"set \"cache_control\": {\"type\":\"none\"}"}]`, changed: 1, kind: promptcache.Marked},
		{name: "Claude Code's line for billing", before: `[{"type":"text","text":"x-anthropic-billing-header: cc_version=2.1.36.bd9; cch=97bd6;"},{"type":"text","text":"You are an agent."}]`, earlier: `[{"role":"user","content":"a"}]`,
			after: `[{"type":"text","text":"x-anthropic-billing-header: cc_version=2.1.36.2ef; cch=24c2d;"},{"type":"text","text":"You are an agent."}]`, later: `[{"role":"user","content":"a"},{"role":"assistant","content":"b"}]`, changed: promptcache.Unchanged, whole: true},
		{name: "the line within the instructions", before: `[{"type":"text","text":"x-anthropic-billing-header: cch=97bd6;\nYou are an agent."}]`, earlier: `[{"role":"user","content":"a"}]`,
			after: `[{"type":"text","text":"x-anthropic-billing-header: cch=24c2d;\nYou are an agent."}]`, later: `[{"role":"user","content":"a"}]`, changed: promptcache.Unchanged, whole: true},
		{name: "another instruction below the line", before: `[{"type":"text","text":"x-anthropic-billing-header: cch=97bd6;\nYou are an agent."}]`, earlier: `[{"role":"user","content":"a"}]`,
			after: `[{"type":"text","text":"x-anthropic-billing-header: cch=97bd6;\nYou are a poet."}]`, later: `[{"role":"user","content":"a"}]`, changed: 0},
		{name: "an instruction at the end", earlier: `[{"role":"system","content":"s"},{"role":"user","content":"a"}]`, later: `[{"role":"system","content":"s"},{"role":"user","content":"a"},{"role":"system","content":"746 tokens left"}]`, changed: promptcache.Unchanged, whole: true},
		{name: "a text instead of a list", earlier: `"hello"`, later: `"hello"`, changed: promptcache.Unchanged, whole: true},
		{name: "an earlier message again", before: system, earlier: `[{"role":"user","content":"a"},{"role":"assistant","content":"b"}]`, after: system, later: `[{"role":"user","content":"a"}]`, changed: promptcache.Unchanged},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			p, q := printsOf(c.before, c.earlier), printsOf(c.after, c.later)
			size, changed := p.Common(&q)
			if changed != c.changed || (size == p.Bytes()) != c.whole || size > p.Bytes() || size > q.Bytes() {
				t.Errorf("%d of %d bytes in common with %d, changed %d, want %d", size, p.Bytes(), q.Bytes(), changed, c.changed)
			}
			if q.Kind() != c.kind {
				t.Errorf("kind %d, want %d", q.Kind(), c.kind)
			}
		})
	}
}

// FuzzPrints makes prints of whatever a client sends.
func FuzzPrints(f *testing.F) {
	f.Add([]byte(`[{"type":"text","text":"s","cache_control":{"type":"ephemeral"}}]`), []byte(`[{"role":"user","content":[{"text":"a"}]}]`))
	f.Add([]byte(`"x-anthropic-billing-header: a\nb"`), []byte(`["a",1,null,{"content":[]}]`))
	f.Fuzz(func(t *testing.T, before, messages []byte) {
		p := cachedPrompt{before: [][]byte{before}, messages: messages, marked: true}
		a, b := p.prints(seed), p.prints(seed)
		if size, changed := a.Common(&b); json.Valid(messages) && json.Valid(before) && (changed != promptcache.Unchanged || size != b.Bytes()) {
			t.Errorf("a prompt differs from itself at %d: %d of %d bytes", changed, size, b.Bytes())
		}
	})
}

// BenchmarkPrints is the work that a call of an agent costs: 60 messages of 3 KB, with and without marks. The check of a body, which each request passes,
// is beside it to compare with.
func BenchmarkPrints(b *testing.B) {
	for _, marked := range []bool{false, true} {
		var list []string
		for i := range 60 {
			text, _ := json.Marshal(strings.Repeat(fmt.Sprintf("line %d of \"a file\"\n", i), 150))
			list = append(list, `{"role":"user","content":`+string(text)+`}`)
		}
		if marked {
			list = append(list, `{"role":"user","content":[{"type":"text","text":"go on","cache_control":{"type":"ephemeral"}}]}`)
		}
		p := cachedPrompt{messages: []byte("[" + strings.Join(list, ",") + "]"), marked: marked}
		b.Run(fmt.Sprintf("checked, marked %t", marked), func(b *testing.B) {
			b.SetBytes(int64(len(p.messages)))
			for b.Loop() {
				if err := rawjson.Check(p.messages, rawjson.Limits{}); err != nil {
					b.Fatal(err)
				}
			}
		})
		b.Run(fmt.Sprintf("marked %t", marked), func(b *testing.B) {
			b.SetBytes(int64(len(p.messages)))
			b.ReportAllocs()
			for b.Loop() {
				p.prints(seed)
			}
		})
	}
}
