package compact_test

import (
	"bytes"
	"math/rand/v2"
	"strings"
	"testing"

	"weir/internal/store/compact"
)

// texts are records with parts that repeat: in themselves, in their names and in one another.
func texts(random *rand.Rand, n int) (all []compact.Sample) {
	for range n {
		id := make([]byte, 24)
		for i := range id {
			id[i] = "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"[random.IntN(62)]
		}
		names := []byte("\x1cusr_" + string(id[:20]) + "\x0dvendor/model-" + string(id[:2]))
		rec := []byte("\x01" + string(id) + "\x1cusr_" + string(id[:20]) + "\x0dvendor/model-" + string(id[:2]) + "provider/vendor/model-" + string(id[:2]) + "provider/vendor/model-" + string(id[:2]) +
			"cbr-2026-11-21@81.2345+0.15" + string(id[5:9]) + "an agent of many/1.99.1" + strings.Repeat("\x00", random.IntN(40)))
		all = append(all, compact.Sample{Names: names, Record: rec})
	}
	return all
}

func TestRoundTrip(t *testing.T) {
	t.Parallel()
	random := rand.New(rand.NewPCG(1, 2))
	samples := texts(random, 64)
	none := compact.New(0, nil)
	learned := none.Learn(samples, compact.MostWords)
	if !bytes.Contains(learned, []byte("cbr-2026-11-21@81.2345+0.15")) || !bytes.Contains(learned, []byte("an agent of many/1.99.1")) || bytes.Contains(learned, []byte("usr_")) {
		t.Errorf("learned %q", learned)
	}
	if again := none.Learn(samples, compact.MostWords); !bytes.Equal(again, learned) {
		t.Error("the same samples taught other words")
	}
	if short := none.Learn(samples, 30); len(short) > 30 || len(short) < 8 {
		t.Errorf("learned %q", short)
	}
	words := compact.New(7, learned)
	raw, plain, packed := 0, 0, 0
	for _, x := range texts(random, 1000) {
		for _, w := range []*compact.Words{none, words} {
			p := w.Append([]byte("x"), x.Names, x.Record)
			if id, ok := compact.Packed(p[1:]); !ok || id != w.ID {
				t.Fatalf("%d, %t", id, ok)
			}
			back, err := w.Expand([]byte("y"), x.Names, p[1:])
			if err != nil || string(back) != "y"+string(x.Record) {
				t.Fatalf("%q became %q, %v", x.Record, back, err)
			}
			if w == words {
				packed += len(p) - 1
			} else {
				plain += len(p) - 1
			}
		}
		raw += len(x.Record)
	}
	if plain*3 > raw*2 || packed*4 > raw*2 {
		t.Errorf("%d bytes became %d, and %d with words", raw, plain, packed)
	}
}

// A record comes back as it was or not at all.
func TestDamage(t *testing.T) {
	t.Parallel()
	random := rand.New(rand.NewPCG(1, 2))
	x := texts(random, 1)[0]
	w := compact.New(300, []byte("an agent of many/1.99.1"))
	packed := w.Append(nil, x.Names, x.Record)
	for i := range packed {
		if back, err := w.Expand(nil, x.Names, packed[:i]); err == nil {
			t.Errorf("cut at %d it became %q", i, back)
		}
		for bit := range 8 {
			other := bytes.Clone(packed)
			other[i] ^= 1 << bit
			if back, err := w.Expand(nil, x.Names, other); err == nil && !bytes.Equal(back, x.Record) {
				t.Errorf("with byte %d changed it became %q", i, back)
			}
		}
	}
	names := bytes.Clone(x.Names)
	names[7]++
	if _, err := w.Expand(nil, names, packed); err == nil {
		t.Error("another row took it")
	}
	if _, err := compact.New(300, []byte("an agent of many/1.99.2")).Expand(nil, x.Names, packed); err == nil {
		t.Error("other words gave it back")
	}
	if _, err := compact.New(301, []byte("an agent of many/1.99.1")).Expand(nil, x.Names, packed); err == nil {
		t.Error("words of another number gave it back")
	}
}

func TestNotPacked(t *testing.T) {
	t.Parallel()
	w := compact.New(0, nil)
	for name, rec := range map[string][]byte{"empty": {}, "short": {1, 2, 3}, "the mark": []byte("\xc1" + strings.Repeat("a", 99)), "long": bytes.Repeat([]byte("a"), 64<<10)} {
		if p := w.Append(nil, []byte("names"), rec); !bytes.Equal(p, rec) {
			t.Errorf("%s became %d bytes", name, len(p))
		}
	}
}

func FuzzRoundTrip(f *testing.F) {
	f.Add([]byte("\x04abcd"), []byte("\x01\x04abcd\x04abcdabcdabcd"), []byte("abcdefgh"))
	f.Fuzz(func(t *testing.T, names, rec, learned []byte) {
		w := compact.New(1, learned)
		p := w.Append(nil, names, rec)
		if _, packed := compact.Packed(p); !packed {
			if !bytes.Equal(p, rec) {
				t.Fatalf("%q became %q", rec, p)
			}
			return
		}
		if len(rec) > 0 && rec[0] == p[0] && bytes.Equal(p, rec) {
			return // a record that begins with the mark is left as it is
		}
		back, err := w.Expand(nil, names, p)
		if err != nil || !bytes.Equal(back, rec) {
			t.Fatalf("%q became %q, %v", rec, back, err)
		}
	})
}

func FuzzExpand(f *testing.F) {
	w := compact.New(1, []byte("some words that were learned"))
	f.Add([]byte("\x04abcd"), w.Append(nil, []byte("\x04abcd"), []byte("\x01\x04abcd\x04abcdabcd some words that were learned")))
	f.Fuzz(func(t *testing.T, names, packed []byte) {
		if back, err := w.Expand(nil, names, packed); err == nil && len(back) > 48<<10 {
			t.Fatalf("%d bytes became %d", len(packed), len(back))
		}
	})
}

func BenchmarkAppend(b *testing.B) {
	samples := texts(rand.New(rand.NewPCG(1, 2)), 64)
	w := compact.New(0, nil)
	w = compact.New(1, w.Learn(samples, compact.MostWords))
	var to []byte
	for i := 0; b.Loop(); i++ {
		x := &samples[i%64]
		to = w.Append(to[:0], x.Names, x.Record)
	}
}

func BenchmarkExpand(b *testing.B) {
	samples := texts(rand.New(rand.NewPCG(1, 2)), 64)
	w := compact.New(1, nil)
	for i := range samples {
		samples[i].Record = w.Append(nil, samples[i].Names, samples[i].Record)
	}
	var to []byte
	for i := 0; b.Loop(); i++ {
		x := &samples[i%64]
		to, _ = w.Expand(to[:0], x.Names, x.Record)
	}
}
