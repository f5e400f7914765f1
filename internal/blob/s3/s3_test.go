package s3_test

import (
	"errors"
	"io"
	"net/http"
	"runtime"
	"strings"
	"testing"
	"testing/iotest"
	"time"

	"go.uber.org/goleak"

	"weir/internal/blob"
	"weir/internal/blob/blobtest"
	"weir/internal/blob/s3"
	"weir/internal/fault"
	"weir/internal/secret"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const prefix = "weir/"

func config(endpoint string) s3.Config {
	return s3.Config{Endpoint: endpoint, Region: region, Bucket: bucket, Prefix: prefix, AccessKey: secret.New(accessKey), SecretKey: secret.New(secretKey), Session: secret.New(session), PartBytes: 5 << 20}
}

func open(t *testing.T, cfg s3.Config) *s3.Bucket {
	t.Helper()
	b, err := s3.Open(cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = b.Close() })
	return b
}

func TestConformance(t *testing.T) {
	t.Parallel()
	blobtest.Run(t, func(t *testing.T) blob.Store {
		return open(t, config(newServer(t).URL))
	})
}

// A file is uploaded in parts of the configured size, and a failed upload is aborted at the store.
func TestParts(t *testing.T) {
	t.Parallel()
	s := newServer(t)
	b := open(t, config(s.URL))
	if _, _, err := b.Put(t.Context(), "vj_1/0", "video/mp4", io.LimitReader(zeros{}, 12<<20)); err != nil {
		t.Fatal(err)
	}
	if s.count("part") != 3 || s.count("complete") != 1 || s.largest != 5<<20 {
		t.Errorf("%v, the largest part has %d bytes", s.requests, s.largest)
	}
	if _, ok := s.objects[prefix+"vj_1/0"]; !ok {
		t.Error("it is not under the prefix")
	}
	_, _, err := b.Put(t.Context(), "vj_2/0", "video/mp4", io.MultiReader(io.LimitReader(zeros{}, 6<<20), iotest.ErrReader(errors.New("broken"))))
	if err == nil || s.count("complete") != 1 || s.count("abort") != 1 || len(s.uploads) != 0 {
		t.Errorf("%v, %v", err, s.requests)
	}
}

type zeros struct{}

func (zeros) Read(p []byte) (int, error) { clear(p); return len(p), nil }

// Put uses the memory of one part, whatever the size of the file. The server discards the parts, so that only the memory of Put is
// measured.
func TestMemory(t *testing.T) { // not parallel: it measures the memory of the whole process
	s := newServer(t)
	b := open(t, config(s.URL))
	s.broken = func(r *http.Request) int {
		if up := s.uploads[r.URL.Query().Get("uploadId")]; up != nil {
			clear(up.parts)
		}
		return 0
	}
	var most, begin uint64
	sample := func() uint64 {
		var m runtime.MemStats
		runtime.GC()
		runtime.ReadMemStats(&m)
		return m.HeapAlloc
	}
	begin = sample()
	n := 0
	src := blob.Source{Reader: readerFunc(func(p []byte) (int, error) {
		if n++; n%20 == 0 {
			most = max(most, sample())
		}
		return len(p), nil
	})}
	_, _, err := b.Put(t.Context(), "k", "", io.LimitReader(&src, 50<<20))
	if err == nil {
		t.Error("the parts were thrown away, and yet it was put")
	}
	if most > begin+40<<20 {
		t.Errorf("%d MiB of memory for parts of 5 MiB", (most-begin)>>20)
	}
}

type readerFunc func(p []byte) (int, error)

func (f readerFunc) Read(p []byte) (int, error) { return f(p) }

// Sweep deletes only files with the prefix and with a valid key.
func TestSweepLeavesOthers(t *testing.T) {
	t.Parallel()
	s := newServer(t)
	b := open(t, config(s.URL))
	for _, key := range []string{"vj_1/0", prefix + "vj_1/0", prefix + ".hidden", prefix + "a b"} {
		s.objects[key] = object{data: []byte("x"), modified: time.Now()}
	}
	if n, err := b.Sweep(t.Context(), time.Now().Add(time.Hour), 10); n != 1 || err != nil || len(s.objects) != 3 {
		t.Errorf("%d %v, left %v", n, err, s.objects)
	}
}

func TestUnreachableStore(t *testing.T) {
	t.Parallel()
	s := newServer(t)
	b := open(t, config(s.URL))
	if _, _, err := b.Put(t.Context(), "k", "", strings.NewReader("x")); err != nil {
		t.Fatal(err)
	}
	s.mu.Lock()
	s.broken = func(*http.Request) int { return http.StatusForbidden }
	s.mu.Unlock()
	want := func(what string, err error) {
		t.Helper()
		if !fault.Is(err, fault.StorageUnavailable) || strings.Contains(err.Error(), secretKey) {
			t.Errorf("%s: %v", what, err)
		}
	}
	_, _, err := b.Put(t.Context(), "k", "", strings.NewReader("x"))
	want("put", err)
	_, _, err = b.Open(t.Context(), "k", 0, -1)
	want("open", err)
	_, _, err = b.Open(t.Context(), "k", 0, 0)
	want("open for nothing", err)
	want("delete", b.Delete(t.Context(), "k"))
	_, err = b.Sweep(t.Context(), time.Now(), 1)
	want("sweep", err)
	want("ready", b.Ready(t.Context()))
	other := config(s.URL)
	other.Bucket = "another"
	want("another bucket", open(t, other).Ready(t.Context()))
}

// A request that fails temporarily is retried, with the same part.
func TestRetried(t *testing.T) {
	t.Parallel()
	s := newServer(t)
	b := open(t, config(s.URL))
	failures := 0
	s.broken = func(r *http.Request) int {
		if r.Method == http.MethodPut && failures < 2 {
			failures++
			return http.StatusServiceUnavailable
		}
		return 0
	}
	if _, _, err := b.Put(t.Context(), "k", "", strings.NewReader("content")); err != nil {
		t.Fatal(err)
	}
	if got := string(s.objects[prefix+"k"].data); got != "content" || failures != 2 {
		t.Errorf("%q after %d failures", got, failures)
	}
}

// A file that the store truncates is an error, not a shorter file.
func TestCut(t *testing.T) {
	t.Parallel()
	s := newServer(t)
	b := open(t, config(s.URL))
	if _, _, err := b.Put(t.Context(), "k", "", io.LimitReader(zeros{}, 1<<20)); err != nil {
		t.Fatal(err)
	}
	s.mu.Lock()
	s.cut = true
	s.mu.Unlock()
	r, _, err := b.Open(t.Context(), "k", 0, -1)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	if data, err := io.ReadAll(r); !fault.Is(err, fault.StorageUnavailable) {
		t.Errorf("%d bytes, %v", len(data), err)
	}
}

func TestBadSettings(t *testing.T) {
	t.Parallel()
	for _, endpoint := range []string{"", "storage.example.com", "https://", "https://example.com/bucket", "::"} {
		if _, err := s3.Open(config(endpoint)); !fault.Is(err, fault.Invalid) {
			t.Errorf("%q: %v", endpoint, err)
		}
	}
}
