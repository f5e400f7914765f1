package webhook_test

import (
	"context"
	"crypto/x509"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"sync"
	"testing"
	"time"

	_ "modernc.org/sqlite"

	"weir/internal/fetch"
	"weir/internal/seal"
	"weir/internal/store"
	"weir/internal/store/sqlite"
	"weir/internal/store/sqlite/sqlitetest"
	"weir/internal/webhook"
)

// receiver believes what is signed with the secret of the account in the path.
type receiver struct {
	*httptest.Server
	secrets *webhook.Secrets

	mu   sync.Mutex
	seen map[string]int // by webhook-id
	bad  []string
	all  chan string
}

func newReceiver(t *testing.T) *receiver {
	t.Helper()
	r := &receiver{seen: map[string]int{}, all: make(chan string, 1000)}
	r.Server = httptest.NewTLSServer(r)
	t.Cleanup(r.Close)
	return r
}

func (r *receiver) ServeHTTP(w http.ResponseWriter, req *http.Request) {
	body, _ := io.ReadAll(req.Body)
	id := req.Header.Get("webhook-id")
	r.mu.Lock()
	defer r.mu.Unlock()
	r.seen[id]++
	defer func() { r.all <- id }()
	if r.seen[id] == 1 && id == "again" {
		w.WriteHeader(http.StatusInternalServerError)
		return
	}
	var seconds int64
	_, _ = fmt.Sscan(req.Header.Get("webhook-timestamp"), &seconds)
	secret, err := r.secrets.Secret(req.Context(), req.URL.Path[1:])
	want, wrong := webhook.Signature([]string{secret}, id, time.Unix(seconds, 0), body)
	if err != nil || wrong != nil || want != req.Header.Get("webhook-signature") {
		r.bad = append(r.bad, id)
	}
}

// wait waits for n events.
func (r *receiver) wait(t *testing.T, n int) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	for range n {
		select {
		case <-r.all:
		case <-ctx.Done():
			t.Fatal("events did not come in a minute")
		}
	}
}

// node sends what is in a database to the receiver, under the rules for addresses. It returns what ends it.
func (r *receiver) node(t *testing.T, s *store.Store, now func() time.Time) (end func()) {
	t.Helper()
	roots := x509.NewCertPool()
	roots.AddCert(r.Certificate())
	f := fetch.New(fetch.Config{
		Connect: time.Minute, FirstByte: time.Minute, Idle: time.Minute, Total: time.Minute, MaxBytes: 1,
		Callbacks: fetch.Allowed{Networks: []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")}}, Roots: roots,
	})
	c := webhook.NewCourier(s.Notices, r.secrets, f, webhook.Config{
		Now: now, Chance: func() float64 { return 0 }, Timeout: time.Minute, AtOnce: 4, Poll: 10 * time.Millisecond, KeepFor: time.Hour,
		Report: func(what string, d webhook.Delivery, err error) { t.Errorf("%s: %s: %v", what, d.ID, err) },
	})
	c.Start()
	t.Cleanup(c.Stop)
	return c.Stop
}

// Events come out of a real database and over real connections, once each though two nodes work on them, and a later start goes on with
// what is left.
func TestWhole(t *testing.T) {
	t.Parallel()
	path := sqlitetest.New(t, t.TempDir())
	open := func() *store.Store {
		s, err := sqlite.Open(t.Context(), path)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = s.Close() })
		return s
	}
	s := open()
	r := newReceiver(t)
	ring := keys("a")
	r.secrets = webhook.NewSecrets(s.Notices, func() *seal.Ring { return ring }, time.Now)
	add := func(s *store.Store, id, account string) {
		d := webhook.NewDelivery(id, account, r.URL+"/"+account, "video.generation.completed", []byte(`{"id":"x"}`), time.Now())
		if err := s.Notices.AddDelivery(t.Context(), d); err != nil {
			t.Fatal(err)
		}
	}
	const events = 30
	for i := range events {
		add(s, fmt.Sprint("vj_", i), fmt.Sprint("usr_", i%7))
	}
	one, two := r.node(t, s, time.Now), r.node(t, s, time.Now)
	r.wait(t, events)
	one()
	two()

	add(s, "again", "usr_1")
	later := func() time.Time { return time.Now().Add(time.Hour) }
	if _, err := s.Notices.ClaimDeliveries(t.Context(), time.Now(), time.Now().Add(time.Minute), 2, 1); err != nil { // by a node that dies
		t.Fatal(err)
	}
	_ = s.Close()
	again := open()
	r.secrets = webhook.NewSecrets(again.Notices, func() *seal.Ring { return ring }, time.Now)
	end := r.node(t, again, later)
	r.wait(t, 1) // the first attempt, which fails
	end()
	muchLater := func() time.Time { return time.Now().Add(2 * time.Hour) }
	end = r.node(t, again, muchLater)
	r.wait(t, 1)
	end()
	r.mu.Lock()
	defer r.mu.Unlock()
	for id, n := range r.seen {
		if want := map[bool]int{true: 2, false: 1}[id == "again"]; n != want {
			t.Errorf("%s came %d times, want %d", id, n, want)
		}
	}
	if len(r.bad) > 0 {
		t.Errorf("the signature is not right: %q", r.bad)
	}
}
