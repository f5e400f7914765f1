package rawjson_test

import (
	"bytes"
	"encoding/json"
	"reflect"
	"strconv"
	"testing"

	"pgregory.net/rapid"

	"weir/internal/encoded"
	"weir/internal/rawjson"
)

func TestWriter(t *testing.T) {
	t.Parallel()
	var w rawjson.Writer
	w.Object()
	w.Name("model").Text("a\"b")
	w.Name("empty").Object()
	w.EndObject()
	w.Name("list").Array()
	w.Int(-1)
	w.Bool(true)
	w.Null()
	w.Raw(nil)
	w.Literal("")
	w.Array()
	w.EndArray()
	w.Object()
	w.Name("in").Bytes([]byte("x\ny"))
	w.EndObject()
	before := len(w.B)
	w.Text("taken back")
	w.B = w.B[:before]
	w.DataURL("a\"b", encoded.Of([]byte{0, 0, 0}))
	w.Base64(encoded.Of([]byte{0, 0, 0}))
	w.EndArray()
	at := len(w.B)
	w.Name("none").Array()
	w.EndArrayOrDrop(at)
	w.Name("none").Object()
	w.EndObjectOrDrop(at)
	w.Name("one").Array()
	w.Text("[")
	w.EndArrayOrDrop(at)
	at = len(w.B)
	w.Name("some").Object()
	w.Name("x").Int(1)
	w.EndObjectOrDrop(at)
	w.Name("raw").Raw([]byte(`{"x":[1]} `))
	w.Member([]byte(`"as" : "it is"`))
	w.Name("texts").Texts([]string{"a", "b"})
	w.Name("ints").Ints([]int{1, -2})
	w.Name("deep").Array()
	w.Object()
	w.Name("x").Array()
	w.Close("]}]")
	w.Name("n").Literal("1.50")
	w.EndObject()
	const want = `{"model":"a\"b","empty":{},"list":[-1,true,null,null,null,[],{"in":"x\ny"},"data:a\"b;base64,AAAA","AAAA"],"one":["["],"some":{"x":1},"raw":{"x":[1]} ,"as" : "it is","texts":["a","b"],"ints":[1,-2],"deep":[{"x":[]}],"n":1.50}`
	if string(w.B) != want {
		t.Errorf("written:\n%s\nwant:\n%s", w.B, want)
	}
}

// Whatever is written in whatever order of values is what a JSON reader finds.
func TestWriterAgreesWithReader(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		var w rawjson.Writer
		want := draw(t, &w, 4)
		d := json.NewDecoder(bytes.NewReader(w.B))
		d.UseNumber()
		var got any
		if err := d.Decode(&got); err != nil {
			t.Fatalf("%v: %s", err, w.B)
		}
		if d.More() || !reflect.DeepEqual(got, want) {
			t.Fatalf("written: %s\nread: %#v\nwant: %#v", w.B, got, want)
		}
		if !rawjson.Valid(w.B) {
			t.Fatalf("not valid: %s", w.B)
		}
	})
}

// draw writes a random value and returns what encoding/json makes of it.
func draw(t *rapid.T, w *rawjson.Writer, depth int) any {
	kinds := 7
	if depth == 0 {
		kinds = 5
	}
	switch rapid.IntRange(0, kinds-1).Draw(t, "kind") {
	case 0:
		w.Null()
		return nil
	case 1:
		v := rapid.Bool().Draw(t, "bool")
		w.Bool(v)
		return v
	case 2:
		v := rapid.Int64().Draw(t, "int")
		w.Int(v)
		return json.Number(strconv.FormatInt(v, 10))
	case 3:
		v := rapid.String().Draw(t, "text")
		w.Text(v)
		return v
	case 4:
		w.Raw([]byte(` {"raw": ":"} `))
		return map[string]any{"raw": ":"}
	case 5:
		list := []any{}
		w.Array()
		for range rapid.IntRange(0, 3).Draw(t, "elements") {
			list = append(list, draw(t, w, depth-1))
		}
		w.EndArray()
		return list
	default:
		object := map[string]any{}
		w.Object()
		for i := range rapid.IntRange(0, 3).Draw(t, "members") {
			name := string(rune('a'+i)) + rapid.SampledFrom([]string{"", ":", "{", "\"", "\\"}).Draw(t, "name")
			w.Name(name)
			object[name] = draw(t, w, depth-1)
		}
		w.EndObject()
		return object
	}
}

func TestWriterDoesNotAllocate(t *testing.T) {
	w := rawjson.Writer{B: make([]byte, 0, 4096)}
	schema := []byte(`{"type":"object"}`)
	if n := testing.AllocsPerRun(100, func() { w.B = w.B[:0]; sample(&w, schema) }); n != 0 {
		t.Errorf("%v allocations a request", n)
	}
}

func BenchmarkWriter(b *testing.B) {
	w := rawjson.Writer{B: make([]byte, 0, 4096)}
	schema := []byte(`{"type":"object"}`)
	b.ReportAllocs()
	for b.Loop() {
		w.B = w.B[:0]
		sample(&w, schema)
	}
	b.SetBytes(int64(len(w.B)))
}

// sample writes what a chat request looks like.
func sample(w *rawjson.Writer, schema []byte) {
	w.Object()
	w.Name("model").Text("claude-sonnet-4-5")
	w.Name("max_tokens").Int(1024)
	w.Name("tools").Array()
	for range 4 {
		w.Object()
		w.Name("name").Text("get_weather")
		w.Name("input_schema").Raw(schema)
		w.EndObject()
	}
	w.EndArray()
	w.Name("messages").Array()
	for range 8 {
		w.Object()
		w.Name("role").Text("user")
		w.Name("content").Array()
		w.Object()
		w.Name("type").Text("text")
		w.Name("text").Text("What is the weather like in Paris today? Answer in one sentence.")
		w.EndObject()
		w.EndArray()
		w.EndObject()
	}
	w.EndArray()
	w.Name("stream").Bool(true)
	w.EndObject()
}

// What is not copied is in the pieces, at its place, whatever is written around it.
func TestPieces(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		plain, viewing := new(rawjson.Writer), &rawjson.Writer{Long: rapid.IntRange(1, 8).Draw(t, "long")}
		both := func(write func(*rawjson.Writer)) { write(plain); write(viewing) }
		value := rapid.SampledFrom([]string{`1`, `""`, `"abc"`, `[1,2]`, `{"long":"value"}`, `"ab"`, `-12.5`})
		both((*rawjson.Writer).Array)
		for range rapid.IntRange(0, 12).Draw(t, "values") {
			v := []byte(value.Draw(t, "value"))
			switch rapid.IntRange(0, 5).Draw(t, "kind") {
			case 0:
				both(func(w *rawjson.Writer) { w.Raw(v) })
			case 1:
				both(func(w *rawjson.Writer) { w.Base64(encoded.Of(v)); w.DataURL("image/png", encoded.Of(v)) })
			case 2:
				both(func(w *rawjson.Writer) { w.Object(); w.Member(append([]byte(`"name":`), v...)); w.EndObject() })
			case 3:
				both(func(w *rawjson.Writer) { w.Object(); w.Name("n").Raw(v); w.Name("m").Raw(v); w.EndObject() })
			case 4:
				both(func(w *rawjson.Writer) { at := len(w.B); w.Array(); w.EndArrayOrDrop(at) })
			default:
				both(func(w *rawjson.Writer) { w.Verbatim([]byte(" \n\t ")); w.Text("x") })
			}
		}
		both((*rawjson.Writer).EndArray)
		first, more := viewing.Pieces()
		if got := string(bytes.Join(append([][]byte{first}, more...), nil)); got != string(plain.B) {
			t.Fatalf("%s\nwant %s", got, plain.B)
		}
		if first, more = plain.Pieces(); more != nil || &first[0] != &plain.B[0] {
			t.Fatal("without long values there is one piece")
		}
	})
}
