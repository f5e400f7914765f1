package vector_test

import (
	"bytes"
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"math"
	"slices"
	"strconv"
	"strings"
	"testing"

	"pgregory.net/rapid"

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

// plainNumbers is Numbers as one would write it without haste.
func plainNumbers(text []byte) (out []float32, ok bool) {
	var list []json.Number
	if bytes.HasPrefix(text, []byte{'['}) && json.Unmarshal(text, &list) == nil && bytes.HasSuffix(text, []byte{']'}) && !bytes.ContainsAny(text, `"n`) {
		for _, n := range list {
			x, err := strconv.ParseFloat(n.String(), 32)
			if err != nil {
				return nil, false
			}
			out = append(out, float32(x))
		}
	}
	return out, len(out) > 0
}

// plainBase64 is Base64 as one would write it without haste.
func plainBase64(text []byte) (out []float32, ok bool) {
	raw, err := base64.RawStdEncoding.DecodeString(strings.TrimRight(string(text), "="))
	if err != nil || len(raw)%4 != 0 {
		return nil, false
	}
	for ; len(raw) > 0; raw = raw[4:] {
		x := math.Float32frombits(binary.LittleEndian.Uint32(raw))
		if math.IsNaN(float64(x)) || math.IsInf(float64(x), 0) {
			return nil, false
		}
		out = append(out, x)
	}
	return out, len(out) > 0
}

// same checks that a vector is these numbers, in every form.
func same(t interface{ Fatalf(string, ...any) }, v vector.Vector, want []float32) {
	if got := v.Values(); v.Len() != len(want) || !slices.EqualFunc(got, want, identical) {
		t.Fatalf("%v (%d), want %v", got, v.Len(), want)
	}
	if got := string(v.AppendBase64(nil)); got != `"`+pack(want...)+`"` || len(got) > v.Room(true) {
		t.Fatalf("base64 %s of %v, room for %d", got, want, v.Room(true))
	}
	list := v.AppendNumbers(nil)
	if len(list) > v.Room(false) {
		t.Fatalf("%d bytes of numbers, room for %d", len(list), v.Room(false))
	}
	if got, ok := plainNumbers(list); !ok || !slices.EqualFunc(got, want, identical) {
		t.Fatalf("numbers %s of %v", list, want)
	}
}

func identical(a, b float32) bool { return math.Float32bits(a) == math.Float32bits(b) }

func TestVector(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		in   string // base64 without a bracket
		want []float32
		copy bool // it is not passed on as it came
	}{
		"numbers": {in: `[1, -0.5,2e-3]`, want: []float32{1, -0.5, 0.002}}, "white space everywhere": {in: "[ 1\n,\t2 ]", want: []float32{1, 2}},
		"large numbers": {in: `[123456,1E+2,1e38]`, want: []float32{123456, 100, 1e38}}, "negative zero": {in: `[-0,-0.0]`, want: []float32{float32(math.Copysign(0, -1)), float32(math.Copysign(0, -1))}},
		"a number of many digits":        {in: `[0.` + strings.Repeat("3", 80) + `]`, want: []float32{1. / 3}, copy: true},
		"mostly white space":             {in: `[1,` + strings.Repeat(" ", 200) + `2]`, want: []float32{1, 2}, copy: true},
		"too small to be more than zero": {in: `[1e-99]`, want: []float32{0}}, "the middle between two floats": {in: `[1.00000005960464477539062]`, want: []float32{1}},
		"packed": {in: pack(1, -0.5, 0.002), want: []float32{1, -0.5, 0.002}}, "without padding": {in: strings.TrimRight(pack(1), "="), want: []float32{1}, copy: true},
		"bits after the end": {in: "AACAPx==", want: []float32{1}, copy: true},
		"nothing":            {in: ``}, "only padding": {in: `====`}, "empty list": {in: `[]`}, "blank list": {in: `[ ]`}, "no base64": {in: `weir!`}, "half a number": {in: `AAA=`},
		"no end": {in: `[1,2`}, "no number last": {in: `[1,]`}, "no number first": {in: `[,1]`}, "a text among numbers": {in: `[1,"2"]`}, "a list among numbers": {in: `[1,[2]]`},
		"null": {in: `[null]`}, "a number too large": {in: `[1e39]`}, "much too large": {in: `[1e999]`}, "no number in JSON": {in: `[NaN]`}, "infinity": {in: `[1,Infinity]`},
		"a leading zero": {in: `[01]`}, "a plus": {in: `[+1]`}, "no digit before the point": {in: `[.5]`}, "none after it": {in: `[1.]`}, "no exponent": {in: `[1e]`}, "hexadecimal": {in: `[0x1p-2]`},
		"an underscore": {in: `[1_0]`}, "a space in a number": {in: `[1 2]`}, "two signs": {in: `[--1]`}, "a sign alone": {in: `[-]`},
		"NaN": {in: pack(float32(math.NaN()))}, "infinite": {in: pack(1, float32(math.Inf(1)))}, "padding in the middle": {in: "AACAPw==AACAPw=="}, "the other alphabet": {in: "AACA_w=="},
	} {
		parse := vector.Base64
		if strings.HasPrefix(tt.in, "[") {
			parse = vector.Numbers
		}
		v, err := parse([]byte(tt.in))
		if (err == nil) != (tt.want != nil) {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if err != nil {
			continue
		}
		same(t, v, tt.want)
		again := v.AppendNumbers(nil)
		if v.Packed() || !strings.HasPrefix(tt.in, "[") {
			again = bytes.Trim(v.AppendBase64(nil), `"`)
		}
		if (string(again) != tt.in) != tt.copy {
			t.Errorf("%s: written as %s", name, again)
		}
	}
}

// Any numbers, in any form, of any length and spelling, are the same numbers in the other form.
func TestVectorConverts(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		var list []float32
		text := []byte("[")
		for i := range rapid.OneOf(rapid.IntRange(1, 8), rapid.IntRange(180, 600)).Draw(t, "n") {
			x := rapid.OneOf(rapid.Float32Range(-1, 1), rapid.Float32()).Draw(t, "x")
			if i > 0 {
				text = append(text, ',')
			}
			how := rapid.SampledFrom([]byte("gef")).Draw(t, "spelling")
			text = strconv.AppendFloat(text, float64(x), how, rapid.SampledFrom([]int{-1, 9, 17}).Draw(t, "digits"), rapid.SampledFrom([]int{32, 64}).Draw(t, "bits"))
			list = append(list, x)
		}
		text = append(text, ']')
		v, err := vector.Numbers(text)
		want, ok := plainNumbers(text)
		if err != nil || !ok {
			t.Fatalf("%s: %v", text, err)
		}
		same(t, v, want)
		if v, err = vector.Base64([]byte(pack(list...))); err != nil || !v.Packed() {
			t.Fatalf("%v: %v", list, err)
		}
		same(t, v, list)
		same(t, vector.Of(list), list)
	})
}

// FuzzNumbers compares with a plain decoder: the same verdict, the same floats.
func FuzzNumbers(f *testing.F) {
	for _, s := range []string{`[1,2]`, `[-0.012345678,1e-9]`, `[ 1 , 2 ]`, `[1e400]`, `[01]`, `[1,]`, `[16777217,0.1234567890123456789]`, `[1.17549429e-38,340282356779733661637539395458142568448]`} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		want, ok := plainNumbers(text)
		v, err := vector.Numbers(text)
		if (err == nil) != ok {
			t.Fatalf("%v, want %v", err, want)
		}
		if ok {
			same(t, v, want)
		}
	})
}

// FuzzBase64 compares with a plain decoder: the same verdict, the same floats.
func FuzzBase64(f *testing.F) {
	for _, s := range []string{pack(1, 2), "AACAPw", "AACAPx==", "AACA\nPw==", "=", strings.Repeat("AACAPwAA", 300)} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		want, ok := plainBase64(text)
		v, err := vector.Base64(text)
		if (err == nil) != ok {
			t.Fatalf("%v, want %v", err, want)
		}
		if ok {
			same(t, v, want)
		}
	})
}
