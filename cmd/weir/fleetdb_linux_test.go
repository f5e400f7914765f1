package main_test

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"weir/internal/apikey"
	"weir/internal/store/postgres/pgtest"
)

// cable is a node's way to PostgreSQL, which can be cut.
type cable struct {
	dir    string // has the socket at which the node finds PostgreSQL
	server string // PostgreSQL's own socket

	mu      sync.Mutex
	changed *sync.Cond
	cut     bool // connections end, and new ones at once
	silent  bool // nothing passes, and no connection is closed
	ends    []net.Conn
}

const socketName = ".s.PGSQL.5432"

// newCable connects a folder of its own to the server in another one.
func newCable(t *testing.T, server string) *cable {
	t.Helper()
	dir, err := os.MkdirTemp("", "weir-cable-") // the path of a socket must be short
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	c := &cable{dir: dir, server: filepath.Join(server, socketName)}
	c.changed = sync.NewCond(&c.mu)
	l, err := net.Listen("unix", filepath.Join(dir, socketName))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close(); c.set(true, false) })
	go func() {
		for {
			node, err := l.Accept()
			if err != nil {
				return
			}
			go c.connect(node)
		}
	}()
	return c
}

func (c *cable) connect(node net.Conn) {
	defer node.Close()
	server, err := net.Dial("unix", c.server)
	if err != nil {
		return
	}
	defer server.Close()
	c.mu.Lock()
	if c.cut {
		c.mu.Unlock()
		return
	}
	c.ends = append(c.ends, node, server)
	c.mu.Unlock()
	go func() { c.pass(server, node); _ = server.Close() }()
	c.pass(node, server)
}

// pass carries bytes one way until an end closes.
func (c *cable) pass(to io.Writer, from io.Reader) {
	buf := make([]byte, 32<<10)
	for {
		n, err := from.Read(buf)
		c.mu.Lock()
		for c.silent && !c.cut {
			c.changed.Wait()
		}
		c.mu.Unlock()
		if n > 0 {
			if _, err := to.Write(buf[:n]); err != nil {
				return
			}
		}
		if err != nil {
			return
		}
	}
}

// set cuts the cable, silences it, or mends it.
func (c *cable) set(cut, silent bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.cut, c.silent = cut, silent
	c.changed.Broadcast()
	if cut {
		for _, end := range c.ends {
			_ = end.Close()
		}
		c.ends = nil
	}
}

// cutOff: one node is cut off from the database. It refuses what it cannot pay, is not ready, and loses what it has borrowed; nothing fails at the
// others. It goes on by itself when the way is mended.
func (f *fleet) cutOff(t *testing.T, how string, cut, silent bool) {
	t.Helper()
	s, c := f.nodes[0], f.cables[0]
	const gone = "its leases went back"
	count := func() int {
		return strings.Count(f.nodes[1].stderr.String(), gone) + strings.Count(f.nodes[2].stderr.String(), gone)
	}
	before, failed, answered := count(), f.failed.Load(), f.got.count()
	c.set(cut, silent)
	began := time.Now()
	waitFor(t, "the node to say that it is not ready", func() bool { return s.status(t, s.AdminURL+"/readyz") == http.StatusServiceUnavailable })
	promised(t, "a node "+how+" is not ready", time.Since(began), 5*time.Second)
	waitFor(t, "its leases to be taken back", func() bool { return count() > before })
	f.answered(t, 100) // by the others
	for _, other := range f.nodes[1:] {
		if status := other.status(t, other.AdminURL+"/readyz"); status != http.StatusOK {
			t.Errorf("another node is not ready: %d", status)
		}
	}
	f.onlyRefused(t, failed, "a node is "+how)
	t.Logf("a node was %s for %v: %d calls refused with 503, %d answered", how, time.Since(began).Round(time.Second), f.failed.Load()-failed, f.got.count()-answered)
	c.set(false, false)
	began = time.Now()
	waitFor(t, "the node to be ready", func() bool { return s.status(t, s.AdminURL+"/readyz") == http.StatusOK })
	promised(t, "a node that was "+how+" is ready again", time.Since(began), 10*time.Second)
	failed = f.failed.Load()
	f.answered(t, 100)
	f.allowed(t, "after a node was "+how, failed, 0)
}

// changes: what commands change of a user, all nodes see.
func (f *fleet) changes(t *testing.T, how string, promise time.Duration) {
	t.Helper()
	name := fmt.Sprint("user", time.Now().UnixNano())
	file := f.nodes[1].file
	weir(t, "user", "add", name, "-c", file)
	weir(t, "topup", name, "100", "-c", file)
	key := strings.TrimSpace(weir(t, "key", "add", "-q", name, "-c", file))
	call := func(s *site, path string) (status int, text string) {
		req, err := http.NewRequest(http.MethodGet, s.BaseURL+path, nil)
		if path == "" {
			req, err = http.NewRequest(http.MethodPost, s.BaseURL+"/v1/chat/completions", strings.NewReader(`{"model": "test/chat", "messages": [{"role": "user", "content": "hello"}]}`))
		}
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("Authorization", "Bearer "+key)
		req.Header.Set("Content-Type", "application/json")
		res, err := s.client.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		defer res.Body.Close()
		body, err := io.ReadAll(res.Body)
		if err != nil {
			t.Fatal(err)
		}
		return res.StatusCode, string(body)
	}
	for _, s := range f.nodes {
		if status, text := call(s, ""); status != http.StatusOK {
			t.Fatalf("before: %d %s", status, text)
		}
	}
	for _, x := range []struct {
		what    string
		command []string
		seen    func(*site) bool
	}{
		{"a limit", []string{"key", "rates", apikey.Hash(key), "--requests", "1234"}, func(s *site) bool {
			_, text := call(s, "/v1/key")
			return strings.Contains(text, "1234")
		}},
		{"a preference", []string{"user", "preferences", name, `{"only": ["nobody"]}`}, func(s *site) bool {
			status, _ := call(s, "")
			return status == http.StatusNotFound
		}},
		{"a revoked key", []string{"key", "disable", apikey.Hash(key)}, func(s *site) bool {
			status, _ := call(s, "")
			return status == http.StatusUnauthorized
		}},
	} {
		weir(t, append(x.command, "-c", file)...)
		began := time.Now()
		for _, s := range f.nodes {
			waitFor(t, "all nodes to see "+x.what, func() bool { return x.seen(s) })
		}
		promised(t, x.what+" is seen by three nodes "+how, time.Since(began), promise)
	}
}

// unheard: the same while no node can hear of changes, because its connection for that is ended again and again.
func (f *fleet) unheard(t *testing.T) {
	t.Helper()
	ctx, stop := context.WithCancel(t.Context())
	var ends sync.WaitGroup
	ends.Go(func() {
		conn, err := pgx.Connect(ctx, f.dsn)
		if err != nil {
			t.Error(err)
			return
		}
		defer func() { _ = conn.Close(context.WithoutCancel(ctx)) }()
		for ctx.Err() == nil {
			_, err := conn.Exec(ctx, "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE query = 'LISTEN weir' AND datname = current_database()")
			if err != nil && ctx.Err() == nil {
				t.Error(err)
				return
			}
		}
	})
	const looks = "this node looks for them by the clock"
	for _, s := range f.nodes {
		waitFor(t, "the node to hear nothing", func() bool { return strings.Contains(s.stderr.String(), looks) })
	}
	f.changes(t, "that hear nothing", 5*time.Second)
	stop()
	ends.Wait()
}

// failOver: PostgreSQL is gone for good, and its standby takes its place. Charges were replicated synchronously, so none is lost.
func (f *fleet) failOver(t *testing.T) {
	t.Helper()
	f.server.AwaitCopies(t)
	before := f.failed.Load()
	f.server.Kill(t)
	began := time.Now()
	waitFor(t, "calls to be refused", func() bool { return f.failed.Load() > before+20 })
	f.standby.Promote(t)
	promoted := time.Now()
	f.answered(t, 100)
	promised(t, "a hundred answers after the standby was promoted", time.Since(promoted), 10*time.Second)
	for _, s := range f.nodes {
		waitFor(t, "the node to be ready", func() bool { return s.status(t, s.AdminURL+"/readyz") == http.StatusOK })
	}
	t.Logf("PostgreSQL failed over to its standby: promoted after %v, %d calls refused", promoted.Sub(began).Round(time.Millisecond), f.failed.Load()-before)
	before = f.failed.Load()
	f.answered(t, 100)
	f.allowed(t, "after PostgreSQL failed over", before, 0)
}

// smallDisk mounts a file system of 400 MB, which ends with the test; "" where that is not allowed.
func smallDisk(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "weir-disk-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	if err := syscall.Mount("tmpfs", dir, "tmpfs", 0, "size=400m,mode=755"); err != nil {
		t.Logf("no file system can be mounted (%v): PostgreSQL does not run out of disk", err)
		return ""
	}
	t.Cleanup(func() { _ = syscall.Unmount(dir, syscall.MNT_DETACH) })
	return dir
}

// noDisk: PostgreSQL's disk is full, so that it takes no more charges, and perhaps ends. They wait in the journals; calls go on while money is borrowed.
func (f *fleet) noDisk(t *testing.T) {
	t.Helper()
	if f.disk == "" {
		return
	}
	ballast, err := os.Create(filepath.Join(f.disk, "ballast"))
	if err != nil {
		t.Fatal(err)
	}
	defer ballast.Close()
	failed, answered := f.failed.Load(), f.got.count()
	began := time.Now()
	waitFor(t, "charges to wait in a journal", func() bool {
		_, _ = ballast.Write(make([]byte, 16<<20)) // until nothing fits, and what becomes free
		lag := 0.0
		for _, s := range f.nodes {
			lag = max(lag, s.metric(t, "weir_journal_lag_bytes"))
		}
		return lag > 256<<10
	})
	if err := ballast.Truncate(0); err != nil {
		t.Fatal(err)
	}
	f.onlyRefused(t, failed, "PostgreSQL is out of disk")
	t.Logf("PostgreSQL was out of disk for %v: %d calls answered, %d refused with 503", time.Since(began).Round(time.Second), f.got.count()-answered, f.failed.Load()-failed)
	f.databaseReturns(t, "out of disk")
	for _, s := range f.nodes {
		waitFor(t, "the journal to be empty", func() bool { return s.metric(t, "weir_journal_lag_bytes") < 64<<10 })
	}
}

// metric is a number that a node's operators see.
func (s *site) metric(t *testing.T, name string) float64 {
	t.Helper()
	res, err := s.client.Get(s.AdminURL + "/metrics")
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	text, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(text), "\n"+name+" ")
	value := -1.0
	if _, err := fmt.Sscan(rest, &value); err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	return value
}

// onlyRefused checks that calls which failed since then were refused for want of the database.
func (f *fleet) onlyRefused(t *testing.T, since int64, what string) {
	t.Helper()
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, failure := range f.failures[min(int64(len(f.failures)), since):] {
		if !strings.Contains(failure, "status 503") || !strings.Contains(failure, "storage_unavailable") {
			t.Errorf("%s: %s", what, failure)
		}
	}
}

// databaseReturns: PostgreSQL works again, or is started.
func (f *fleet) databaseReturns(t *testing.T, how string) {
	t.Helper()
	if !f.server.Runs() {
		f.server.Start(t)
	}
	began := time.Now()
	f.answered(t, 100)
	promised(t, "a hundred answers after PostgreSQL was "+how, time.Since(began), 10*time.Second)
	for _, s := range f.nodes {
		waitFor(t, "the node to be ready", func() bool { return s.status(t, s.AdminURL+"/readyz") == http.StatusOK })
	}
	before := f.failed.Load()
	f.answered(t, 100)
	f.allowed(t, "after PostgreSQL was "+how, before, 0)
}

// databases starts PostgreSQL: for the long run on a small disk, with a standby.
func (f *fleet) databases(t *testing.T) {
	t.Helper()
	if !*fleetLong {
		f.server = pgtest.Start(t)
		f.dsn = f.server.New(t)
		return
	}
	f.disk = smallDisk(t)
	f.server = pgtest.StartIn(t, f.disk)
	f.dsn = f.server.New(t)
	f.standby = f.server.Standby(t)
}

// way is the DSN of a node: for the long run through a cable of its own, and with the standby.
func (f *fleet) way(t *testing.T) string {
	t.Helper()
	if !*fleetLong {
		return f.dsn
	}
	start, server, ok := strings.Cut(f.dsn, "?host=")
	if !ok {
		t.Fatal(f.dsn)
	}
	c := newCable(t, server)
	f.cables = append(f.cables, c)
	return start + "?host=" + c.dir + "," + f.standby.Dir() + "&target_session_attrs=read-write"
}
