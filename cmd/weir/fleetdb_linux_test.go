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

	"weir/internal/store/postgres/pgtest"
)

// cable is a way from a node to a server, which can be cut.
type cable struct {
	address string // where the node finds the server
	server  string // socket of PostgreSQL, or address of a provider

	mu      sync.Mutex
	changed *sync.Cond
	l       net.Listener
	cut     bool // connections end, and new ones are refused
	silent  bool // nothing passes, and no connection is closed
	ends    []net.Conn
}

const socketName = ".s.PGSQL.5432"

// newCable listens at a free port of host for what listens at a socket or an address.
func newCable(t *testing.T, host, server string) *cable {
	t.Helper()
	c := &cable{address: net.JoinHostPort(host, "0"), server: server}
	c.changed = sync.NewCond(&c.mu)
	c.mu.Lock()
	defer c.mu.Unlock()
	c.listen(t)
	t.Cleanup(func() { c.set(t, true, false) })
	return c
}

// listen accepts connections. The lock must be held.
func (c *cable) listen(t *testing.T) {
	t.Helper()
	l, err := net.Listen("tcp", c.address)
	if err != nil {
		t.Fatal(err)
	}
	c.l, c.address = l, l.Addr().String()
	go func() {
		for {
			node, err := l.Accept()
			if err != nil {
				return
			}
			go c.connect(node)
		}
	}()
}

func (c *cable) connect(node net.Conn) {
	defer node.Close()
	network := "tcp"
	if filepath.IsAbs(c.server) {
		network = "unix"
	}
	server, err := net.Dial(network, c.server)
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
func (c *cable) set(t *testing.T, cut, silent bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	switch {
	case cut && !c.cut:
		_ = c.l.Close()
		for _, end := range c.ends {
			_ = end.Close()
		}
		c.ends = nil
	case c.cut && !cut:
		c.listen(t)
	}
	c.cut, c.silent = cut, silent
	c.changed.Broadcast()
}

// cutOff: one node is cut off from the database. It refuses what it cannot pay, is not ready, and loses what it has borrowed; nothing fails at the
// others. It goes on by itself when the way is mended.
func (f *fleet) cutOff(t *testing.T, how string, cut, mend func()) {
	t.Helper()
	s := f.nodes[0]
	before, failed, answered := f.takenBack(1, 2), f.failed.Load(), f.got.count()
	cut()
	began := time.Now()
	waitFor(t, "the node to say that it is not ready", func() bool { return s.status(t, s.AdminURL+"/readyz") == http.StatusServiceUnavailable })
	promised(t, "a node "+how+" is not ready", time.Since(began), 5*time.Second)
	waitFor(t, "its leases to be taken back", func() bool { return f.takenBack(1, 2) > before })
	f.answered(t, 100) // by the others
	for _, other := range f.nodes[1:] {
		if status := other.status(t, other.AdminURL+"/readyz"); status != http.StatusOK {
			t.Errorf("another node is not ready: %d", status)
		}
	}
	f.onlyRefused(t, failed, "a node is "+how)
	t.Logf("a node was %s for %v: %d calls refused with 503, %d answered", how, time.Since(began).Round(time.Second), f.failed.Load()-failed, f.got.count()-answered)
	mend()
	began = time.Now()
	waitFor(t, "the node to be ready", func() bool { return s.status(t, s.AdminURL+"/readyz") == http.StatusOK })
	promised(t, "a node that was "+how+" is ready again", time.Since(began), 10*time.Second)
	failed = f.failed.Load()
	f.answered(t, 100)
	f.allowed(t, "after a node was "+how, failed, 0)
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
	_, rest, _ := strings.Cut(s.metrics(t), "\n"+name+" ")
	value := -1.0
	if _, err := fmt.Sscan(rest, &value); err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	return value
}

func (s *site) metrics(t *testing.T) string {
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
	return string(text)
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
	if f.net == nil {
		return f.dsn
	}
	start, server, ok := strings.Cut(f.dsn, "?host=")
	if !ok {
		t.Fatal(f.dsn)
	}
	host, ports := f.net.host(toDatabase), make([]string, 2)
	for i, dir := range []string{server, f.standby.Dir()} {
		c := newCable(t, host, filepath.Join(dir, socketName))
		_, ports[i], _ = net.SplitHostPort(c.address)
		if i == 0 {
			f.cables = append(f.cables, c)
		}
	}
	return start + "?host=" + host + "," + host + "&port=" + strings.Join(ports, ",") + "&sslmode=disable&target_session_attrs=read-write"
}
