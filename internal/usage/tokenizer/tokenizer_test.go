package tokenizer_test

import (
	"bytes"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/tiktoken-go/tokenizer/codec"

	"weir/internal/usage/tokenizer"
)

func pieces(text ...string) func(func([]byte) bool) {
	return func(yield func([]byte) bool) {
		for _, s := range text {
			if !yield([]byte(s)) {
				return
			}
		}
	}
}

func TestCount(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name string
		text []string
		want int64
	}{
		{"nothing", nil, 0},
		{"an empty piece", []string{""}, 0},
		{"a greeting", []string{"Hello, world!"}, 4},
		{"in pieces", []string{"Hello, world!", "Hello, world!"}, 8},
		{"control characters", []string{"\x7f", strings.Repeat("\x7f", 300)}, 301},
		{"Russian", []string{"Привет, мир!"}, 5},
		{"bytes that are no text", []string{"\xff\xfe\xc3"}, 1},
	} {
		if got := tokenizer.Alone().Count(pieces(c.text...)); got != c.want {
			t.Errorf("%s: %d tokens, want %d", c.name, got, c.want)
		}
	}
}

// A long text is counted in proportion beyond 64 KiB, however it is cut into pieces, and never by much more time.
func TestLongTextsAreCountedInProportion(t *testing.T) {
	t.Parallel()
	const line = "Плотина пропускает реку, направляет её и измеряет. A weir lets the river through. 12345\n"
	text := []byte(strings.Repeat(line, 8<<20/len(line)))
	perLine, err := codec.NewO200kBase().Count(line)
	if err != nil {
		t.Fatal(err)
	}
	want := int64(perLine) * int64(len(text)/len(line))
	var c tokenizer.Tokenizer
	whole := c.CountBytes(text)
	cut := c.Count(slices.Chunk(text, 64<<10))
	for _, got := range []int64{whole, cut} {
		if off := got - want; off > want/100 || off < -want/100 {
			t.Errorf("%d tokens, want %d within one percent", got, want)
		}
	}
}

func TestCountingIsSafeTogether(t *testing.T) {
	t.Parallel()
	one := tokenizer.Alone()
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() {
			for range 20 {
				if got := one.CountBytes([]byte("Hello, world!")); got != 4 {
					t.Errorf("%d tokens", got)
				}
			}
		})
	}
	all.Wait()
}

func FuzzCount(f *testing.F) {
	f.Add([]byte("Hello"), 3)
	f.Add([]byte("\x7f"), 0)
	f.Add([]byte("\xf0\x9f\x98\x80\xff"), 2)
	f.Fuzz(func(t *testing.T, text []byte, cut int) {
		cut = min(max(cut, 0), len(text))
		got := tokenizer.Alone().Count(slices.Values([][]byte{text[:cut], text[cut:]}))
		if got < 0 || got > int64(len(text)) || got == 0 && len(text) > 0 {
			t.Fatalf("%d tokens in %d bytes", got, len(text))
		}
	})
}

// The texts that are hardest to split, at the size that is counted exactly: the bound of what one count can take.
func BenchmarkCount(b *testing.B) {
	const size = 256 << 10
	for _, c := range []struct {
		name string
		unit string
	}{
		{"prose", "A weir lets the river through, steers it and measures it. "},
		{"one-letter", "a"},
		{"capitals", "A"},
		{"spaces", " "},
		{"ideographs", "河"},
		{"emoji", "😀"},
		{"signs", "!?"},
	} {
		text := bytes.Repeat([]byte(c.unit), size/len(c.unit))
		b.Run(c.name, func(b *testing.B) {
			b.SetBytes(size)
			for b.Loop() {
				tokenizer.Tokenizer{}.CountBytes(text)
			}
		})
	}
}
