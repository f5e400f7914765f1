package video_test

import (
	"testing"

	"pgregory.net/rapid"

	"weir/internal/video"
)

func TestParseRange(t *testing.T) {
	t.Parallel()
	const huge = 1<<63 - 1
	for header, want := range map[string]*video.Range{
		"bytes=0-0": {First: 0, Last: 0}, "bytes=5-9": {First: 5, Last: 9}, "bytes=5-": {First: 5, Last: -1}, "bytes=-5": {First: -1, Last: 5}, "bytes=-0": {First: -1, Last: 0},
		" bytes=1-2 ": {First: 1, Last: 2}, "bytes= 1 - 2": {First: 1, Last: 2}, "bytes=0-99999999999999999999": {First: 0, Last: huge},
		"": nil, "bytes": nil, "bytes=": nil, "bytes=-": nil, "bytes=a-b": nil, "bytes=2-1": nil, "bytes=0-1,3-4": nil, "items=0-1": nil, "bytes=0x1-2": nil, "bytes=+1-2": nil,
		"bytes=--1": nil, "bytes=1": nil, "Bytes=0-1": nil,
	} {
		got := video.ParseRange(header)
		if (got == nil) != (want == nil) || got != nil && *got != *want {
			t.Errorf("%q: %+v, want %+v", header, got, want)
		}
	}
}

// What is cut out of a file is a part of it, and what the header asks for.
func TestRangeIsWithinTheFile(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		end := rapid.Int64Range(-1, 50)
		r := video.Range{First: end.Draw(t, "first"), Last: end.Draw(t, "last")}
		size := rapid.Int64Range(0, 40).Draw(t, "size")
		parsed := video.ParseRange(r.String())
		if (parsed == nil) != (r.First < 0 && r.Last < 0 || r.First >= 0 && r.Last >= 0 && r.Last < r.First) {
			t.Fatalf("%s: %+v", r.String(), parsed)
		}
		if parsed == nil {
			return
		}
		from, length, ok := parsed.In(size)
		want := int64(0) // how many bytes of the file the range names, counted one by one
		for i := range size {
			switch {
			case r.First < 0 && i >= size-r.Last, r.First >= 0 && i >= r.First && (r.Last < 0 || i <= r.Last):
				want++
			}
		}
		if ok != (want > 0) || ok && (length != want || from < 0 || from+length > size) {
			t.Fatalf("%s of %d: from %d, %d long, %t; want %d bytes", r.String(), size, from, length, ok, want)
		}
	})
}

func FuzzParseRange(f *testing.F) {
	for _, seed := range []string{"bytes=0-1", "bytes=-5", "bytes=5-", "bytes=0-1,2-3", "bytes=99999999999999999999-", "bytes=-99999999999999999999"} {
		f.Add(seed, int64(10))
	}
	f.Fuzz(func(t *testing.T, header string, size int64) {
		r := video.ParseRange(header)
		if r == nil || size < 0 {
			return
		}
		if from, length, ok := r.In(size); ok && (from < 0 || length <= 0 || from > size-length) {
			t.Errorf("%q of %d bytes: from %d, %d long", header, size, from, length)
		}
		if again := video.ParseRange(r.String()); again == nil || *again != *r {
			t.Errorf("%q is written %q, which is %+v", header, r.String(), again)
		}
	})
}
