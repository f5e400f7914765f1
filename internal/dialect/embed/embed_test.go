package embed_test

import (
	"encoding/base64"
	"encoding/binary"
	"math"
	"strconv"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"weir/internal/dialect/embed"
	"weir/internal/task"
)

func text(s string) task.Input { return task.Input{Parts: []task.Part{{Text: s}}} }

// Whatever the limits, every input is in exactly one batch, in order, and no batch has more than it may.
func TestShare(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		l := embed.Limits{Inputs: rapid.IntRange(1, 9).Draw(t, "inputs"), Tokens: rapid.Int64Range(0, 40).Draw(t, "tokens")}
		var inputs []task.Input
		for i := range rapid.IntRange(1, 40).Draw(t, "n") {
			if rapid.Bool().Draw(t, "tokenized") {
				inputs = append(inputs, task.Input{Tokens: make([]int32, rapid.IntRange(1, 60).Draw(t, "length"))})
			} else {
				inputs = append(inputs, text(strconv.Itoa(i)+strings.Repeat("x", rapid.IntRange(0, 180).Draw(t, "length"))))
			}
		}
		at := 0
		for _, batch := range embed.Share(inputs, l) {
			tokens := int64(0)
			for i := range batch {
				if &batch[i] != &inputs[at] {
					t.Fatalf("input %d is out of order", at)
				}
				tokens += embed.Tokens(&batch[i])
				at++
			}
			if len(batch) == 0 || len(batch) > l.Inputs || l.Tokens > 0 && tokens > l.Tokens && len(batch) > 1 {
				t.Fatalf("a batch of %d inputs and %d tokens within %+v", len(batch), tokens, l)
			}
		}
		if at != len(inputs) {
			t.Fatalf("%d of %d inputs are in batches", at, len(inputs))
		}
	})
}

func TestVector(t *testing.T) {
	t.Parallel()
	packed := func(values ...float32) string {
		var raw []byte
		for _, v := range values {
			raw = binary.LittleEndian.AppendUint32(raw, math.Float32bits(v))
		}
		return `"` + base64.StdEncoding.EncodeToString(raw) + `"`
	}
	for name, tt := range map[string]struct {
		in   string
		want []float32
	}{
		"numbers": {`[1, -0.5,2e-3]`, []float32{1, -0.5, 0.002}}, "packed": {packed(1, -0.5, 0.002), []float32{1, -0.5, 0.002}},
		"without padding": {strings.ReplaceAll(packed(1), "=", ""), []float32{1}}, "escaped": {strings.ReplaceAll(packed(-2), "/", `\/`), []float32{-2}},
		"nothing": {``, nil}, "null": {`null`, nil}, "empty list": {`[]`, nil}, "empty text": {`""`, nil}, "no base64": {`"weir!"`, nil}, "half a number": {`"AAA="`, nil},
		"a text among numbers": {`[1,"2"]`, nil}, "a number too large": {`[1e99]`, nil}, "no number": {packed(float32(math.NaN())), nil}, "infinite": {packed(float32(math.Inf(1))), nil}, "object": {`{}`, nil},
	} {
		got, err := embed.Vector([]byte(tt.in))
		if (err == nil) != (tt.want != nil) || len(got) != len(tt.want) {
			t.Errorf("%s: %v, %v", name, got, err)
			continue
		}
		for i := range got {
			if got[i] != tt.want[i] {
				t.Errorf("%s: %v, want %v", name, got, tt.want)
			}
		}
	}
}

func TestNormalize(t *testing.T) {
	t.Parallel()
	v := []float32{3, 4}
	if embed.Normalize(v); v[0] != 0.6 || v[1] != 0.8 {
		t.Errorf("%v", v)
	}
	zero := []float32{0, 0}
	if embed.Normalize(zero); zero[0] != 0 {
		t.Errorf("%v", zero)
	}
}

// A vector is read as numbers that there are, or not at all; what was packed comes out as it was.
func FuzzVector(f *testing.F) {
	for _, s := range []string{`[1,2]`, `"AACAPw=="`, `"AACAPw"`, `[`, `[1,`, `"`, `[[1]]`, `"\u0041AAA"`} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, in []byte) {
		v, err := embed.Vector(in)
		if (err == nil) == (len(v) == 0) {
			t.Fatalf("%d numbers with error %v", len(v), err)
		}
		for _, x := range v {
			if math.IsNaN(float64(x)) || math.IsInf(float64(x), 0) {
				t.Fatalf("%v", v)
			}
		}
	})
}
