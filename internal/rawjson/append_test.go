package rawjson_test

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"github.com/go-json-experiment/json/jsontext"
	"pgregory.net/rapid"

	"weir/internal/rawjson"
)

func TestSplice(t *testing.T) {
	t.Parallel()
	member := func(src, name string) rawjson.Edit {
		for m := rawjson.MembersOf([]byte(src)); m.Next(); {
			if string(m.Name) == name {
				return rawjson.Edit{Start: m.Start, End: m.End, Member: true}
			}
		}
		t.Fatalf("no member %s in %s", name, src)
		return rawjson.Edit{}
	}
	src := `{"a":1, "b" : [2] ,"c":"3"}`
	value := rawjson.Edit{Start: 5, End: 6, With: []byte(`"x"`)}
	for _, tc := range []struct {
		name  string
		edits []rawjson.Edit
		want  string
	}{
		{"nothing", nil, src},
		{"replace a value", []rawjson.Edit{value}, `{"a":"x", "b" : [2] ,"c":"3"}`},
		{"remove the first", []rawjson.Edit{member(src, "a")}, `{"b" : [2] ,"c":"3"}`},
		{"remove a middle one", []rawjson.Edit{member(src, "b")}, `{"a":1, "c":"3"}`},
		{"remove the last", []rawjson.Edit{member(src, "c")}, `{"a":1, "b" : [2] }`},
		{"remove the first two", []rawjson.Edit{member(src, "a"), member(src, "b")}, `{"c":"3"}`},
		{"remove the last two", []rawjson.Edit{member(src, "b"), member(src, "c")}, `{"a":1}`},
		{"remove first and last", []rawjson.Edit{member(src, "a"), member(src, "c")}, `{"b" : [2] }`},
		{"remove all", []rawjson.Edit{member(src, "a"), member(src, "b"), member(src, "c")}, `{}`},
		{"replace and remove", []rawjson.Edit{value, member(src, "b")}, `{"a":"x", "c":"3"}`},
		{"insert", []rawjson.Edit{{Start: 1, End: 1, With: []byte(`"z":0,`)}}, `{"z":0,"a":1, "b" : [2] ,"c":"3"}`},
		{"insert and remove", []rawjson.Edit{{Start: 1, End: 1, With: []byte(`"z":0,`)}, member(src, "a")}, `{"z":0,"b" : [2] ,"c":"3"}`},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			if got := string(rawjson.Splice([]byte(src), tc.edits)); got != tc.want {
				t.Errorf("got  %s\nwant %s", got, tc.want)
			}
		})
	}
}

// Whatever members are removed or replaced, the result is an object of exactly the others, in their order.
func TestSpliceKeepsTheRest(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		space := rapid.SampledFrom([]string{"", " ", "\n\t"})
		n := rapid.IntRange(0, 8).Draw(t, "members")
		var src, want []string
		var action []int
		for i := range n {
			action = append(action, rapid.IntRange(0, 2).Draw(t, "action"))
			sp := func() string { return space.Draw(t, "space") }
			src = append(src, sp()+fmt.Sprintf(`"k%d"`, i)+sp()+":"+sp()+fmt.Sprintf(`[%d,"},"]`, i)+sp())
			switch action[i] {
			case 0:
				want = append(want, fmt.Sprintf(`"k%d":[%d,"},"]`, i, i))
			case 1:
				want = append(want, fmt.Sprintf(`"k%d":true`, i))
			}
		}
		body := []byte("{" + strings.Join(src, ",") + "}")
		before := bytes.Clone(body)
		var edits []rawjson.Edit
		i := 0
		for m := rawjson.MembersOf(body); m.Next(); i++ {
			switch action[i] {
			case 1:
				edits = append(edits, rawjson.Edit{Start: m.At, End: m.End, With: []byte("true")})
			case 2:
				edits = append(edits, rawjson.Edit{Start: m.Start, End: m.End, Member: true})
			}
		}
		got := jsontext.Value(rawjson.Splice(body, edits))
		if !bytes.Equal(body, before) {
			t.Fatal("the source was changed")
		}
		if err := got.Compact(); err != nil || string(got) != "{"+strings.Join(want, ",")+"}" {
			t.Fatalf("%s became %s, want %s (%v)", body, got, want, err)
		}
	})
}

func TestAppendOneLine(t *testing.T) {
	t.Parallel()
	got := rawjson.AppendOneLine([]byte("data: "), []byte("{\n\r\n \"a\":\"b\\n\"}"))
	if string(got) != `data: {    "a":"b\n"}` {
		t.Errorf("got %q", got)
	}
}

func BenchmarkSplice(b *testing.B) {
	body := chatBody(5_000_000, "QUJDREVGR0hJSktMTU5PUFFSU1RVVldYWVo=")
	edits := []rawjson.Edit{{Start: 9, End: 14, With: []byte(`"upstream-model"`)}}
	b.SetBytes(int64(len(body)))
	b.ReportAllocs()
	for b.Loop() {
		rawjson.Splice(body, edits)
	}
}
