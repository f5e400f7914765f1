// Package blobtest is the conformance suite for blob stores. It does not depend on how a store works.
package blobtest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"
	"testing/iotest"
	"time"

	"weir/internal/blob"
	"weir/internal/fault"
)

// Run checks a store. open returns an empty store, and closes it after the test.
func Run(t *testing.T, open func(*testing.T) blob.Store) {
	cases := map[string]func(*testing.T, blob.Store){
		"what was put comes back":          roundTrip,
		"a part of a file":                 parts,
		"a file that is replaced":          replaced,
		"a file that cannot be read":       brokenSource,
		"a file that is given up":          givenUp,
		"what is not there":                notThere,
		"deleted":                          deleted,
		"a sweep":                          sweep,
		"keys":                             keys,
		"media types":                      mediaTypes,
		"many at once":                     atOnce,
		"a file larger than any buffer":    large,
		"a file that is deleted meanwhile": deletedMeanwhile,
	}
	for name, check := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			check(t, open(t))
		})
	}
}

func put(t *testing.T, s blob.Store, key, text string) string {
	t.Helper()
	size, etag, err := s.Put(t.Context(), key, "video/mp4", strings.NewReader(text))
	if err != nil || size != int64(len(text)) || etag == "" || strings.Contains(etag, `"`) {
		t.Fatalf("put %s: %d %q %v", key, size, etag, err)
	}
	return etag
}

func wantFile(t *testing.T, s blob.Store, key, want string) blob.Info {
	t.Helper()
	return wantPart(t, s, key, 0, -1, want)
}

func wantPart(t *testing.T, s blob.Store, key string, offset, length int64, want string) blob.Info {
	t.Helper()
	r, info, err := s.Open(t.Context(), key, offset, length)
	if err != nil {
		t.Errorf("open %s: %v", key, err)
		return info
	}
	defer r.Close()
	data, err := io.ReadAll(r)
	if err != nil || string(data) != want {
		t.Errorf("%s from %d, %d bytes: %.100q %v, want %.100q", key, offset, length, data, err, want)
	}
	return info
}

func wantKind(t *testing.T, err error, kind fault.Kind) {
	t.Helper()
	if !fault.Is(err, kind) {
		t.Errorf("%v, want the kind %s", err, kind)
	}
}

func wantMissing(t *testing.T, s blob.Store, key string) {
	t.Helper()
	for _, length := range []int64{-1, 0, 5} {
		r, _, err := s.Open(t.Context(), key, 0, length)
		if err == nil {
			r.Close()
		}
		wantKind(t, err, fault.NotFound)
	}
}

func roundTrip(t *testing.T, s blob.Store) {
	if err := s.Ready(t.Context()); err != nil {
		t.Error(err)
	}
	for key, text := range map[string]string{"vj_1/0": "0123456789", "vj_1/1": "", "a": "\x00\xff\r\n"} {
		etag := put(t, s, key, text)
		want := blob.Info{Size: int64(len(text)), MediaType: "video/mp4", ETag: etag}
		if got := wantFile(t, s, key, text); got != want {
			t.Errorf("%s is %+v, want %+v", key, got, want)
		}
	}
}

func parts(t *testing.T, s blob.Store) {
	etag := put(t, s, "k", "0123456789")
	for _, c := range []struct {
		offset, length int64
		want           string
	}{{0, 10, "0123456789"}, {0, 1, "0"}, {2, 3, "234"}, {9, 1, "9"}, {9, 5, "9"}, {5, -1, "56789"}, {0, 100, "0123456789"}, {0, 0, ""}, {4, 0, ""}, {10, -1, ""}, {10, 1, ""}} {
		if got, want := wantPart(t, s, "k", c.offset, c.length, c.want), (blob.Info{Size: 10, MediaType: "video/mp4", ETag: etag}); got != want {
			t.Errorf("%+v: %+v, want %+v", c, got, want)
		}
	}
	for _, offset := range []int64{11, 1 << 40, -1} {
		for _, length := range []int64{-1, 0, 1} {
			_, _, err := s.Open(t.Context(), "k", offset, length)
			wantKind(t, err, fault.Invalid)
		}
	}
}

func replaced(t *testing.T, s blob.Store) {
	first := put(t, s, "k", "first")
	second := put(t, s, "k", "the second")
	if first == second {
		t.Error("two files have one etag")
	}
	if got := wantFile(t, s, "k", "the second"); got.ETag != second {
		t.Errorf("%+v", got)
	}
	if third := put(t, s, "k", "the second"); third == first {
		t.Error("two files have one etag")
	}
}

// A source that fails leaves no file, even if its error is the one that readers use for the end of a file.
func brokenSource(t *testing.T, s blob.Store) {
	put(t, s, "old", "before")
	mine := fault.New(fault.Timeout, "test", "it stalled")
	for name, cause := range map[string]error{"ours": mine, "cut": io.ErrUnexpectedEOF, "any": errors.New("broken")} {
		for _, key := range []string{"old", "new"} {
			_, _, err := s.Put(t.Context(), key, "video/mp4", io.MultiReader(strings.NewReader("some of it"), iotest.ErrReader(cause)))
			if !errors.Is(err, cause) {
				t.Errorf("%s: %v, want %v", name, err, cause)
			}
		}
	}
	wantFile(t, s, "old", "before")
	wantMissing(t, s, "new")
}

func givenUp(t *testing.T, s blob.Store) {
	ctx, cancel := context.WithCancel(t.Context())
	_, _, err := s.Put(ctx, "k", "video/mp4", io.MultiReader(strings.NewReader("some"), callback(cancel), strings.NewReader(" more")))
	if err == nil {
		t.Error("it was put after it was given up")
	}
	wantMissing(t, s, "k")
}

// callback calls f when it is read.
type callback func()

func (f callback) Read([]byte) (int, error) { f(); return 0, io.EOF }

func notThere(t *testing.T, s blob.Store) {
	wantMissing(t, s, "vj_1/0")
	put(t, s, "vj_1/0", "x")
	wantMissing(t, s, "vj_1")
	wantMissing(t, s, "vj_1/0/0")
	wantMissing(t, s, "vj_1/00")
}

func deleted(t *testing.T, s blob.Store) {
	put(t, s, "vj_1/0", "x")
	put(t, s, "vj_1/1", "y")
	for range 2 {
		if err := s.Delete(t.Context(), "vj_1/0"); err != nil {
			t.Error(err)
		}
	}
	wantMissing(t, s, "vj_1/0")
	wantFile(t, s, "vj_1/1", "y")
	put(t, s, "vj_1/0", "again")
	wantFile(t, s, "vj_1/0", "again")
}

func sweep(t *testing.T, s blob.Store) {
	for i := range 5 {
		put(t, s, fmt.Sprintf("vj_%d/0", i), "x")
	}
	if n, err := s.Sweep(t.Context(), time.Now().Add(-time.Hour), 100); n != 0 || err != nil {
		t.Errorf("swept %d that are younger, %v", n, err)
	}
	for _, want := range []int{2, 2, 1, 0} {
		if n, err := s.Sweep(t.Context(), time.Now().Add(time.Hour), 2); n != want || err != nil {
			t.Errorf("swept %d %v, want %d", n, err, want)
		}
	}
	wantMissing(t, s, "vj_0/0")
}

func keys(t *testing.T, s blob.Store) {
	for _, key := range []string{"", "/", "a/", "/a", "a//b", "..", "../a", "a/../b", ".a", "a/.b", "-a", "a b", "a\x00", "a\\b", "a~b", "a%2fb", "\u00e9", "a/b/c/d/e", strings.Repeat("a", 201)} {
		if _, _, err := s.Put(t.Context(), key, "", strings.NewReader("x")); err == nil {
			t.Errorf("%q is a key", key)
		}
		if _, _, err := s.Open(t.Context(), key, 0, -1); err == nil || fault.Is(err, fault.NotFound) {
			t.Errorf("open %q: %v", key, err)
		}
		if err := s.Delete(t.Context(), key); err == nil {
			t.Errorf("delete %q", key)
		}
	}
	for _, key := range []string{"a", "A", "a.b-c_d", "a/b/c/d", strings.Repeat("a", 200)} {
		put(t, s, key, "content of "+key)
	}
	wantFile(t, s, "a", "content of a")
	wantFile(t, s, "a/b/c/d", "content of a/b/c/d")
}

func mediaTypes(t *testing.T, s blob.Store) {
	for i, c := range []struct{ put, want string }{{"image/png", "image/png"}, {"video/mp4; codecs=x", "video/mp4; codecs=x"}, {"a/b\r\nX: y", ""}, {strings.Repeat("a", 200), ""}} {
		key := fmt.Sprint("k", i)
		if _, _, err := s.Put(t.Context(), key, c.put, strings.NewReader("x")); err != nil {
			t.Fatal(err)
		}
		if got := wantFile(t, s, key, "x"); got.MediaType != c.want && (c.want != "" || got.MediaType != "application/octet-stream") { // some stores replace a missing type by this one
			t.Errorf("%q is kept as %q", c.put, got.MediaType)
		}
	}
}

func atOnce(t *testing.T, s blob.Store) {
	var wg sync.WaitGroup
	for i := range 8 {
		wg.Go(func() {
			key, text := fmt.Sprint("k", i%4), strings.Repeat(fmt.Sprint(i%4), 10_000)
			if _, _, err := s.Put(t.Context(), key, "", strings.NewReader(text)); err != nil {
				t.Error(err)
				return
			}
			wantFile(t, s, key, text)
		})
	}
	wg.Wait()
}

// large has several parts, in stores that upload parts, and an odd size.
func large(t *testing.T, s blob.Store) {
	data := make([]byte, 11<<20+17)
	_, _ = rand.NewChaCha8([32]byte{}).Read(data)
	size, _, err := s.Put(t.Context(), "k", "video/mp4", iotest.HalfReader(bytes.NewReader(data)))
	if err != nil || size != int64(len(data)) {
		t.Fatal(size, err)
	}
	r, info, err := s.Open(t.Context(), "k", 0, -1)
	if err != nil || info.Size != size {
		t.Fatal(info, err)
	}
	defer r.Close()
	if got, err := io.ReadAll(r); err != nil || !bytes.Equal(got, data) {
		t.Errorf("%d bytes came back, %v", len(got), err)
	}
	wantPart(t, s, "k", 5<<20-1, 3, string(data[5<<20-1:5<<20+2]))
}

func deletedMeanwhile(t *testing.T, s blob.Store) {
	put(t, s, "k", "0123456789")
	r, _, err := s.Open(t.Context(), "k", 0, -1)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	if err := s.Delete(t.Context(), "k"); err != nil {
		t.Fatal(err)
	}
	if data, err := io.ReadAll(r); err == nil && string(data) != "0123456789" {
		t.Errorf("%q is neither the file nor an error", data)
	}
}
