package embed_test

import (
	"encoding/base64"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"weir/internal/dialect/embed"
	"weir/internal/rawjson"
	"weir/internal/vector"
)

// pack is the base64 of values.
func pack(list ...float32) string {
	var raw []byte
	for _, x := range list {
		raw = binary.LittleEndian.AppendUint32(raw, math.Float32bits(x))
	}
	return base64.StdEncoding.EncodeToString(raw)
}

func many(n int) []float32 {
	list := make([]float32, n)
	for i := range list {
		list[i] = float32(i) / 7
	}
	return list
}

func numbers(list []float32) string { return strings.Join(strings.Fields(fmt.Sprint(list)), ",") }

// What a provider may answer for two inputs, and what is not taken for an answer.
func TestRead(t *testing.T) {
	t.Parallel()
	long := many(500)
	slashes := strings.ReplaceAll(pack(many(500)...), "/", `\/`)
	for name, tt := range map[string]struct {
		in   string
		want string // "" an error
	}{
		"numbers":          {`{"data":[{"embedding":[1,2]},{"embedding":[3,4]}]}`, "[[1 2] [3 4]]"},
		"any order":        {`{"data":[{"index":1,"embedding":[1,2]},{"embedding":[3,4],"index":0}]}`, "[[3 4] [1 2]]"},
		"packed":           {`{"data":[{"embedding":"` + pack(1, 2) + `"},{"embedding":"` + pack(long...) + `"}]}`, fmt.Sprint([][]float32{{1, 2}, long})},
		"escaped":          {`{"data":[{"embedding":"` + slashes + `"},{"embedding":"AACAP\u0077=="}]}`, fmt.Sprint([][]float32{long, {1}})},
		"both forms":       {`{"data":[{"embedding":"` + pack(1) + `"},{"embedding":` + numbers(long) + `}]}`, fmt.Sprint([][]float32{{1}, long})},
		"other lists":      {`{"took":[404,1],"note":"` + pack(long...) + `","data":[{"t":[7],"embedding":[1,2]},{"embedding":[3,4]}]}`, "[[1 2] [3 4]]"},
		"quotes and lists": {`{"n\"[1,":"[2,\\","data":[{"embedding":[1,2]},{"embedding":[3,4]}]}`, "[[1 2] [3 4]]"},
		"one of two":       {`{"data":[{"embedding":[1]}]}`, "[[1] []]"},
		"no vectors":       {`{"data":[]}`, "[]"},

		// Gemini's OpenAI interface leaves out an index of 0 (samfoy/pi-session-search#13), others say null or 0 for all (ik_llama.cpp#1303,
		// BerriAI/litellm#25656), or number through the inputs of several callers (xorbitsai/inference#5240).
		"no index of 0":     {`{"data":[{"embedding":[1,2]},{"index":1,"embedding":[3,4]}]}`, "[[1 2] [3 4]]"},
		"nulls":             {`{"data":[{"index":null,"embedding":[1,2]},{"index":null,"embedding":[3,4]}]}`, "[[1 2] [3 4]]"},
		"zeros":             {`{"data":[{"index":0,"embedding":[1,2]},{"index":0,"embedding":[3,4]}]}`, "[[1 2] [3 4]]"},
		"of another caller": {`{"data":[{"index":1,"embedding":[1,2]},{"index":2,"embedding":[3,4]}]}`, "[[1 2] [3 4]]"},

		"nothing": {``, ""}, "no object": {`[1,2]`, ""}, "cut in a number": {`{"data":[{"embedding":[1,`, ""}, "cut in a text": {`{"data":[{"embedding":"AACA`, ""}, "cut after a vector": {`{"data":[{"embedding":[1]`, ""},
		"more after the end":          {`{"data":[{"embedding":[1]}]}}`, ""},
		"no number":                   {`{"data":[{"embedding":[NaN]}]}`, ""},
		"too large a number":          {`{"data":[{"embedding":[1,1e39]}]}`, ""},
		"a list in a vector":          {`{"data":[{"embedding":[1,[2]]}]}`, ""},
		"a text in a vector":          {`{"data":[{"embedding":[1,"]"]}]}`, ""},
		"a text is the vector":        {`{"data":[{"embedding":"weir!"}]}`, ""},
		"a long text is the vector":   {`{"data":[{"embedding":"` + strings.Repeat("weir!", 500) + `"}]}`, ""},
		"a long vector is not finite": {`{"data":[{"embedding":"` + pack(append(many(500), float32(math.NaN()))...) + `"}]}`, ""},
		"a line break in base64":      {`{"data":[{"embedding":"` + pack(long...) + "\n" + `"}]}`, ""},
		"a vector as a name":          {`{"` + pack(long...) + `":1,"data":[]}`, ""},
		"null":                        {`{"data":[{"embedding":null}]}`, ""}, "an object is the vector": {`{"data":[{"embedding":{"0":1}}]}`, ""}, "an empty vector": {`{"data":[{"embedding":[]}]}`, ""}, "none": {`{"data":[{}]}`, ""},
		"one twice": {`{"data":[{"index":1,"embedding":[1]},{"index":1,"embedding":[1]}]}`, ""}, "an index too large": {`{"data":[{"index":2,"embedding":[1]}]}`, ""}, "a gap": {`{"data":[{"index":0,"embedding":[1]},{"index":2,"embedding":[1]}]}`, ""},
		"an index below": {`{"data":[{"index":-1,"embedding":[1]}]}`, ""}, "an index is text": {`{"data":[{"index":"0","embedding":[1]}]}`, ""}, "three": {`{"data":[{"embedding":[1]},{"embedding":[1]},{"embedding":[1]}]}`, ""},
		"a thousand": {`{"data":[` + strings.Repeat(`{"embedding":[1]},`, 1000) + `{"embedding":[1]}]}`, ""},
	} {
		got, err := indexed([]byte(tt.in))
		if (err == nil) != (tt.want != "") || err == nil && fmt.Sprint(got) != tt.want {
			t.Errorf("%s: %v, %v", name, got, err)
		}
	}
}

// indexed reads the vectors for two inputs.
func indexed(body []byte) ([][]float32, error) {
	d, err := embed.Read(body, 2)
	if err != nil {
		return nil, err
	}
	list, err := d.Indexed(rawjson.Find(d.JSON, "data"), 2, nil)
	out := make([][]float32, len(list))
	for i := range list {
		out[i] = list[i].Values()
	}
	return out, err
}

// A vector is a view of the answer, so that it can be passed on as it came.
func TestReadPassesOn(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		list := rapid.SliceOfN(rapid.Float32(), 1, 600).Draw(t, "list")
		text := `"` + pack(list...) + `"`
		packed := rapid.Bool().Draw(t, "packed")
		if !packed {
			text = strings.ReplaceAll(numbers(list), ",", rapid.SampledFrom([]string{",", ", ", ",\n "}).Draw(t, "comma"))
		}
		d, err := embed.Read([]byte(`{"embedding": `+text+` }`), 1)
		if err != nil {
			t.Fatal(err)
		}
		v, err := d.Vector(rawjson.Find(d.JSON, "embedding"))
		if err != nil || v.Packed() != packed {
			t.Fatalf("%s: %v", text, err)
		}
		out := v.AppendNumbers(nil)
		if packed {
			out = v.AppendBase64(nil)
		}
		if string(out) != text {
			t.Fatalf("%s came, %s went", text, out)
		}
	})
}

var errPlain = errors.New("no answer")

// plain is indexed as one would write it without haste.
func plain(body []byte) ([][]float32, error) {
	if !rawjson.Valid(body) || rawjson.KindOf(body) != rawjson.Object {
		return nil, errPlain
	}
	var out [][]float32
	var indexes []int64
	for list := rawjson.ElementsOf(rawjson.Find(body, "data")); list.Next(); {
		at := int64(len(indexes))
		if v := rawjson.Find(list.Value, "index"); !rawjson.IsNull(v) {
			var ok bool
			if at, ok = rawjson.Int(v); !ok || at < 0 || at >= math.MaxInt32 {
				return nil, errPlain
			}
		}
		indexes = append(indexes, at)
	}
	if len(indexes) == 2 && (indexes[0] == 0 && indexes[1] == 0 || indexes[1] == indexes[0]+1) {
		indexes = []int64{0, 1} // no numbers of inputs, and in order
	}
	list := rawjson.ElementsOf(rawjson.Find(body, "data"))
	for i := 0; list.Next(); i++ {
		if out == nil {
			out = make([][]float32, 2)
		}
		at, value := indexes[i], rawjson.Find(list.Value, "embedding")
		if at > 1 || out[at] != nil {
			return nil, errPlain
		}
		switch rawjson.KindOf(value) {
		case rawjson.String:
			text, ok := rawjson.Unquote(value)
			if !ok {
				return nil, errPlain
			}
			v, err := vector.Base64(text) // which has a fuzz target of its own
			if err != nil {
				return nil, err
			}
			out[at] = v.Values()
		case rawjson.Array:
			for e := rawjson.ElementsOf(value); e.Next(); {
				x, err := strconv.ParseFloat(string(e.Value), 32)
				if rawjson.KindOf(e.Value) != rawjson.Number || err != nil {
					return nil, errPlain
				}
				out[at] = append(out[at], float32(x))
			}
		}
		if out[at] == nil {
			return nil, errPlain
		}
	}
	return out, nil
}

// FuzzRead compares with a plain decoder. What is read is the same; what is refused is no answer, or has a list that is neither a vector nor
// without numbers, in a place where this wire has none.
func FuzzRead(f *testing.F) {
	for _, s := range []string{
		`{"data":[{"index":1,"embedding":[1,2.5e-3]},{"index":0,"embedding":"AACAPwAAAEA="}],"model":"m","usage":{"prompt_tokens":7}}`,
		`{"data":[{"embedding":"` + pack(many(500)...) + `"}],"x":"[1"}`, `{"data":[{"embedding":[0]},{"embedding":[ 1 , 0 ]}],"a":[1,[2]]}`, `{"data":[{"embedding":"AACAP\u0077=="}]}`, `{"data":[[0],0,[1,2]]}`,
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		want, refused := plain(body)
		got, err := indexed(body)
		if err == nil && refused != nil {
			t.Fatalf("%v read, which is no answer", got)
		}
		if err == nil && !slices.EqualFunc(got, want, slices.Equal) {
			t.Fatalf("%v, want %v", got, want)
		}
		if err != nil && refused == nil && !odd(body) {
			t.Fatalf("%v, want %v", err, want)
		}
	})
}

// odd reports whether a list that begins with a number has something else, or there are many, or a name is long.
func odd(v []byte) bool {
	switch rawjson.KindOf(v) {
	case rawjson.Object:
		for m := rawjson.MembersOf(v); m.Next(); {
			if len(m.Name) > 1000 || odd(m.Value) {
				return true
			}
		}
	case rawjson.Array:
		e, numbers := rawjson.ElementsOf(v), 0
		for i := 0; e.Next(); i++ {
			if odd(e.Value) || i > 0 && numbers > 0 && rawjson.KindOf(e.Value) != rawjson.Number {
				return true
			}
			if rawjson.KindOf(e.Value) == rawjson.Number {
				if _, err := strconv.ParseFloat(string(e.Value), 32); err != nil {
					return true
				}
				numbers++
			}
			if i > 20 && numbers == 0 {
				return true
			}
		}
	}
	return false
}
