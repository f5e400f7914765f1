package calls_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"weir/internal/completion"
	"weir/internal/completion/calls"
)

type said struct{ ID, Name, Arguments string }

// Whatever the order of fragments, a client gets each call once and whole, and all text; one that takes calls in turn never gets anything
// between the beginning and the end of a call.
func TestAnyOrder(t *testing.T) {
	t.Parallel()
	rapid.Check(t, anyOrder)
}

func FuzzAnyOrder(f *testing.F) { f.Fuzz(rapid.MakeFuzz(anyOrder)) }

func anyOrder(t *rapid.T) {
	order := rapid.SampledFrom([]calls.Order{calls.Mixed, calls.InTurn, calls.Whole}).Draw(t, "order")
	n := rapid.IntRange(1, 4).Draw(t, "calls")
	want, parts := make([]said, n), make([][]completion.ToolCall, n)
	for i := range n {
		w := &want[i]
		w.ID = rapid.SampledFrom([]string{"", "same", fmt.Sprint("id", i)}).Draw(t, "id")
		w.Name = rapid.SampledFrom([]string{"get_weather", "f"}).Draw(t, "name")
		w.Arguments = rapid.SampledFrom([]string{"{}", `{"city":"Oslo"}`, `{"a":{"b":"}\""},"c":[1]}`}).Draw(t, "arguments")
		written := w.Arguments
		if written == "{}" {
			written = rapid.SampledFrom([]string{"", "{}", "null"}).Draw(t, "none")
		}
		first := completion.ToolCall{Index: i, ID: w.ID, Name: w.Name}
		if rapid.Bool().Draw(t, "late") { // the name
			first.Name = ""
			parts[i] = append(parts[i], first, completion.ToolCall{Index: i, Name: w.Name})
		} else {
			parts[i] = append(parts[i], first)
		}
		cut := len(written)
		if cut > 4 { // {} and null come whole
			cut = rapid.IntRange(0, len(written)).Draw(t, "cut")
		}
		for _, piece := range []string{written[:cut], written[cut:]} {
			parts[i] = append(parts[i], completion.ToolCall{Index: i, Arguments: []byte(piece)})
		}
		parts[i][len(parts[i])-1].Last = rapid.Bool().Draw(t, "last")
	}
	a := calls.Assembler{Order: order, Answer: "gen-1-abc"}
	var got []said
	var text, wantText strings.Builder
	open := -1
	put := func(ev *completion.Event) {
		if len(ev.Text) > 0 && open >= 0 && order != calls.Mixed {
			t.Fatalf("text inside call %d", open)
		}
		text.Write(ev.Text)
		for _, c := range ev.ToolCalls {
			if c.First {
				if c.Index != len(got) || c.ID == "" || c.Name == "" || open >= 0 && order != calls.Mixed {
					t.Fatalf("call %+v begins after %v, %d is open", c, got, open)
				}
				got, open = append(got, said{ID: c.ID, Name: c.Name}), c.Index
			}
			if open >= 0 && c.Index != open && order != calls.Mixed {
				t.Fatalf("a fragment of %d inside %d", c.Index, open)
			}
			got[c.Index].Arguments += string(c.Arguments)
			if c.Last && order != calls.Mixed {
				open = -1
			}
		}
	}
	begun := 0 // calls begin in order
	for slices.ContainsFunc(parts, func(p []completion.ToolCall) bool { return len(p) > 0 }) {
		if rapid.IntRange(0, 4).Draw(t, "text") == 0 {
			wantText.WriteString("x")
			a.Event(&completion.Event{Text: []byte("x")}, put)
		}
		i := rapid.IntRange(0, min(begun, n-1)).Draw(t, "next")
		if len(parts[i]) == 0 {
			if begun < n {
				i = begun
			} else {
				i = slices.IndexFunc(parts, func(p []completion.ToolCall) bool { return len(p) > 0 })
			}
		}
		if i == begun {
			begun++
		}
		piece := parts[i][0]
		piece.Arguments = slices.Clone(piece.Arguments)
		a.Event(&completion.Event{ToolCalls: []completion.ToolCall{piece}}, put)
		for k := range piece.Arguments { // views are valid during the call only
			piece.Arguments[k] = '?'
		}
		parts[i] = parts[i][1:]
	}
	if rapid.Bool().Draw(t, "finish") {
		a.Event(&completion.Event{Finish: completion.ToolCalls}, put)
	} else {
		a.End(put)
	}
	ids := map[string]bool{}
	for i := range got {
		ids[got[i].ID] = true
		if want[min(i, n-1)].ID != got[i].ID && (want[min(i, n-1)].ID == "" || want[min(i, n-1)].ID == "same") {
			got[i].ID = want[i].ID
		}
	}
	if !slices.Equal(got, want) || len(ids) != n || text.String() != wantText.String() {
		t.Fatalf("got %q %q, want %q %q, ids %v", got, text.String(), want, wantText.String(), ids)
	}
}

// What has neither a name nor arguments is no call, and text costs nothing.
func TestNoCalls(t *testing.T) {
	for _, order := range []calls.Order{calls.Mixed, calls.InTurn, calls.Whole} {
		a := calls.Assembler{Order: order}
		put := func(ev *completion.Event) {
			if len(ev.ToolCalls) > 0 {
				t.Errorf("%v", ev.ToolCalls)
			}
		}
		ev := &completion.Event{Text: []byte("x")}
		if n := testing.AllocsPerRun(100, func() { a.Event(ev, put) }); n > 0 {
			t.Errorf("%v allocations for a text", n)
		}
		a.Event(&completion.Event{ToolCalls: []completion.ToolCall{{ID: "a"}, {Index: 1, Arguments: []byte("{}")}}}, put)
		a.Event(&completion.Event{Finish: completion.Stop}, put)
		if a.Begun() != 0 {
			t.Errorf("%d calls", a.Begun())
		}
	}
}
