package media_test

import (
	"io"
	"net"
	"net/http"
	"os"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"testing"

	"weir/internal/app/apptest"
	"weir/internal/catalog"
)

// recordingBytes is the largest recording that is accepted.
const recordingBytes = 26_214_400

// swallower is an upstream that discards recordings, and answers only when all of them have started to arrive.
type swallower struct {
	all  sync.WaitGroup
	mu   sync.Mutex
	heap uint64 // while all were arriving
	most int64  // bytes of the longest
}

func (s *swallower) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	first := make([]byte, 1<<20) // enough of the body to show that it is arriving
	n, err := io.ReadFull(r.Body, first)
	s.all.Done()
	s.all.Wait()
	s.measure()
	rest, more := io.Copy(io.Discard, r.Body)
	if err != nil || more != nil {
		http.Error(w, `{"error":{"message":"cut"}}`, http.StatusBadRequest)
		return
	}
	s.mu.Lock()
	s.most = max(s.most, int64(n)+rest)
	s.mu.Unlock()
	w.Header().Set("Content-Type", "application/json")
	_, _ = io.WriteString(w, `{"text":"Nothing was said."}`)
}

// measure records the heap size, once.
func (s *swallower) measure() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.heap == 0 {
		runtime.GC()
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		s.heap = m.HeapAlloc
	}
}

// uploadAtOnce sends n recordings of that size at the same time. It returns how much the heap grew while all were arriving, including the
// senders and the upstream.
func uploadAtOnce(t *testing.T, n int, size int64) (grown int64) {
	s := &swallower{}
	s.all.Add(n)
	upstream := &http.Server{Handler: s}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	go func() { _ = upstream.Serve(l) }()
	defer upstream.Close()
	gw := apptest.StartGateway(t, func(c *apptest.Setup) {
		c.DataDir = t.TempDir() // on the disk, where recordings are spooled
		d := &c.Declared
		d.Providers = append(d.Providers, catalog.Provider{ID: "swallow", Name: "Swallow", Dialect: "openai", BaseURL: "http://" + l.Addr().String()})
		d.Models = append(d.Models, catalog.ModelInfo{Slug: "swallow/whisper", Type: catalog.TypeTranscription})
		d.Offers = append(d.Offers, catalog.Offer{Provider: "swallow", Model: "swallow/whisper", UpstreamID: "whisper", Pricing: catalog.Pricing{List: "test", Rates: catalog.Rates{Minute: apptest.Price(t, "0.006")}}})
	})
	a := gw.NewAccount(t)
	runtime.GC()
	var before runtime.MemStats
	runtime.ReadMemStats(&before)
	var senders sync.WaitGroup
	for range n {
		senders.Go(func() {
			body, length, contentType := apptest.Silence("swallow/whisper", size)
			req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, gw.URL+"/v1/audio/transcriptions", body)
			if err != nil {
				t.Error(err)
				return
			}
			req.ContentLength = length
			req.Header.Set("Authorization", "Bearer "+a.Key)
			req.Header.Set("Content-Type", contentType)
			res, err := gw.Client.Do(req)
			if err != nil {
				t.Error(err)
				s.all.Done() // the others must not wait for this one
				return
			}
			defer res.Body.Close()
			if answer, _ := io.ReadAll(res.Body); res.StatusCode != http.StatusOK || !strings.Contains(string(answer), "Nothing was said.") {
				t.Errorf("%d %s", res.StatusCode, answer)
			}
		})
	}
	senders.Wait()
	if s.most < size {
		t.Errorf("the upstream had %d bytes of %d", s.most, size)
	}
	a.WantNothingHeld(t)
	return int64(s.heap) - int64(before.HeapAlloc)
}

// Recordings are not buffered in memory: the heap does not grow with their size. WEIR_UPLOADS=50 measures 50 at once.
//
// It does not run in parallel with other tests, because it measures the shared heap.
func TestUploadsStayOutOfMemory(t *testing.T) {
	n := 8
	if v := os.Getenv("WEIR_UPLOADS"); v != "" {
		var err error
		if n, err = strconv.Atoi(v); err != nil {
			t.Fatal(err)
		}
	}
	grown := uploadAtOnce(t, n, recordingBytes)
	t.Logf("%d uploads of %d bytes at once: the heap grew by %.1f MiB", n, recordingBytes, float64(grown)/(1<<20))
	if most := int64(n) * 2 << 20; grown > most {
		t.Errorf("the heap grew by %d bytes, which is more than %d", grown, most)
	}
}
