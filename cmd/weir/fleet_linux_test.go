package main_test

import (
	"context"
	"flag"
	"fmt"
	"math/rand/v2"
	"net"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"weir/internal/store/postgres/pgtest"
)

var fleetLong = flag.Bool("fleet.long", false, "TestFleet also freezes a node, cuts it off, and restarts, kills, fills and replaces PostgreSQL; each node is in a network namespace of its own, so it needs root")

// fleet is three nodes on one PostgreSQL behind nginx, under the load of one user.
type fleet struct {
	server *pgtest.Server
	dsn    string

	net     *network // of the long run, as are these
	standby *pgtest.Server
	cables  []*cable // of the nodes, to PostgreSQL
	disk    string   // of the server; "": it is not bounded

	nodes []*site
	front *node // nginx

	near       []*cable // of the nodes, to the provider near
	everywhere *cable   // of all nodes, to their other providers; never cut
	door       *door    // to the providers of jobs

	rate int // that was set last, in 500 rubles for a dollar

	stop     chan struct{}
	slow     atomic.Bool // few calls, because more would only be more to check
	load     sync.WaitGroup
	got      delivered
	failed   atomic.Int64
	mu       sync.Mutex
	failures []string
}

const (
	fleetWorkers = 8
	fleetSize    = 3
)

func TestFleet(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("takes ten seconds; the full run has it")
	}
	if *fleetLong && !*fleetApart {
		runApart(t)
		return
	}
	f := openFleet(t)
	f.begin(t)
	f.changes(t, "that hear of it", time.Second)
	f.kill(t)
	f.rollingRestart(t)
	f.takenOver(t)
	f.withoutProvider(t, "refused", func() { f.near[0].set(t, true, false) }, func() { f.near[0].set(t, false, false) })
	if *fleetLong {
		f.withoutProvider(t, "without a link", func() { f.net.link(t, 0, toProvider, false) }, func() { f.net.link(t, 0, toProvider, true) })
		f.frozen(t)
		f.databaseEnds(t, "restarted", (*pgtest.Server).Stop)
		f.databaseEnds(t, "killed", (*pgtest.Server).Kill)
		f.noConnections(t)
		f.cutOff(t, "cut off from PostgreSQL", func() { f.cables[0].set(t, true, false) }, func() { f.cables[0].set(t, false, false) })
		f.cutOff(t, "without a link to PostgreSQL", func() { f.net.link(t, 0, toDatabase, false) }, func() { f.net.link(t, 0, toDatabase, true) })
		f.unheard(t)
		f.noDisk(t)
		f.rollingRestart(t)
		f.failOver(t)
	}
	f.end(t)
}

func openFleet(t *testing.T) *fleet {
	t.Helper()
	nginx, err := exec.LookPath("nginx")
	if err != nil {
		if nginx, err = exec.LookPath("/usr/sbin/nginx"); err != nil { // where Debian has it, which is not in everybody's PATH
			t.Fatal("this test needs nginx: make nginx, or on Debian apt-get install nginx")
		}
	}
	f := &fleet{stop: make(chan struct{})}
	if *fleetLong {
		f.net = newNetwork(t, fleetSize)
	}
	f.databases(t)
	upstream := simulator(t)
	f.door = newDoor(t, f.host(toProvider), upstream)
	f.everywhere = newCable(t, f.host(toClients), hostOf(t, upstream))
	shared := t.TempDir()
	for i := range fleetSize {
		dir := t.TempDir()
		s := &site{dir: dir, file: filepath.Join(dir, "weir.yaml"), upstream: "http://" + f.everywhere.address + "/v1", node: &node{client: newClient(t), model: "test/chat"}}
		f.near = append(f.near, newCable(t, f.host(toProvider), hostOf(t, upstream)))
		s.write(t, f.text(t, i, s, shared))
		if f.net != nil {
			s.within = f.net.within(i)
		}
		if i == 0 {
			weir(t, "user", "add", "anna", "-c", s.file)
			weir(t, "topup", "anna", "100000", "-c", s.file)
			s.APIKey = strings.TrimSpace(weir(t, "key", "add", "-q", "anna", "-c", s.file))
			f.addHut(t, s.file, s.upstream)
		} else {
			s.APIKey = f.nodes[0].APIKey
		}
		f.nodes = append(f.nodes, s)
		s.serve(t)
	}
	f.front = &node{client: newClient(t), model: "test/chat", APIKey: f.nodes[0].APIKey, BaseURL: "http://" + freeAddress(t)}
	dir := t.TempDir()
	conf := filepath.Join(dir, "nginx.conf")
	if err := os.WriteFile(conf, []byte(f.configuration(t, dir)), 0o600); err != nil {
		t.Fatal(err)
	}
	f.front.process = startCommand(t, exec.Command(nginx, "-c", conf, "-p", dir), environment(), nil)
	t.Cleanup(func() { _ = f.front.cmd.Process.Signal(syscall.SIGTERM); <-f.front.exited }) // with its workers
	waitFor(t, "nginx to answer", func() bool {
		if f.front.ended() {
			t.Fatalf("nginx ended: %v\n%s", f.front.err, f.front.stderr)
		}
		status, err := f.front.getJSON("/v1/key", &struct{}{})
		return err == nil && status == http.StatusOK
	})
	return f
}

// host is an address of what is not a node, for the nodes that come by one of their ways.
func (f *fleet) host(way string) string {
	if f.net == nil {
		return "127.0.0.1"
	}
	return f.net.host(way)
}

// text is the configuration of a node.
func (f *fleet) text(t *testing.T, i int, s *site, shared string) string {
	t.Helper()
	text := s.config(settings{price: "0.4", server: "shutdown_delay: 1500ms\n  trusted_proxies: [127.0.0.1, 10.99.0.0/16]"})
	listen, admin := freeAddress(t), "127.0.0.1:0"
	if f.net != nil {
		listen, admin = f.net.node(i, toClients)+":8080", f.net.node(i, toClients)+":8081"
	}
	text = strings.Replace(text, "admin_listen: 127.0.0.1:0", "admin_listen: "+admin, 1)
	text = strings.Replace(text, " listen: 127.0.0.1:0", " listen: "+listen, 1)
	return text + f.providers(i) + "store: {dsn: \"" + f.way(t) + "\"}\nledger: {lease_for: 8s, lapse_after: 12s, store_for: 15s}\nlog: {access: false}\n" +
		"health: {ejection: 1s, max_ejection: 2s}\nupstream: {connect_timeout: 3s, first_byte_timeout: 10s, stream_first_byte_timeout: 10s}\n" +
		"batch: {min_free_bytes: 1, folder: " + shared + "}\nvideo: {first_poll: 100ms, most_poll: 200ms}\n"
}

// freeAddress returns an address on which nothing listens. Its port is below those that the system assigns to connections, so a program finds
// it free again after a restart.
func freeAddress(t *testing.T) string {
	t.Helper()
	for {
		l, err := net.Listen("tcp", fmt.Sprintf("127.0.0.1:%d", 10_000+rand.IntN(20_000)))
		if err != nil {
			continue
		}
		defer l.Close()
		return l.Addr().String()
	}
}

// configuration is that of nginx: packaging/nginx/weir.conf with these nodes, without encryption, and with a shorter delay.
func (f *fleet) configuration(t *testing.T, dir string) string {
	t.Helper()
	text, err := os.ReadFile("../../packaging/nginx/weir.conf")
	if err != nil {
		t.Fatal(err)
	}
	server := string(text)
	replace := func(old, by string) {
		if strings.Count(server, old) != 1 {
			t.Fatalf("%q is not once in nginx's configuration", old)
		}
		server = strings.Replace(server, old, by, 1)
	}
	for i, s := range f.nodes {
		replace(fmt.Sprintf("10.0.0.%d:8080", 11+i), hostOf(t, s.BaseURL))
	}
	replace("listen 443 ssl;", "listen "+hostOf(t, f.front.BaseURL)+";")
	replace("ssl_certificate /etc/nginx/weir.crt;", "")
	replace("ssl_certificate_key /etc/nginx/weir.key;", "")
	replace("keepalive_timeout 3s;", "keepalive_timeout 100ms;")
	replace("proxy_read_timeout 1000s;", "proxy_read_timeout 20s;")
	user := ""
	if os.Getuid() == 0 { // the folder is this user's alone
		user = "user root;\n"
	}
	return user + fmt.Sprintf(`daemon off;
worker_processes 2;
pid %[1]s/nginx.pid;
error_log %[1]s/error.log;
events { worker_connections 4096; }
http {
  access_log off;
  client_body_temp_path %[1]s/body;
  proxy_temp_path %[1]s/proxy;
  fastcgi_temp_path %[1]s/fastcgi;
  uwsgi_temp_path %[1]s/uwsgi;
  scgi_temp_path %[1]s/scgi;
%[2]s}
`, dir, server)
}

func hostOf(t *testing.T, address string) string {
	t.Helper()
	u, err := url.Parse(address)
	if err != nil {
		t.Fatal(err)
	}
	return u.Host
}

// begin starts the load: whole and streamed calls, one after another by each worker.
func (f *fleet) begin(t *testing.T) {
	for i := range fleetWorkers {
		f.load.Go(func() {
			for j := 0; ; j++ {
				select {
				case <-f.stop:
					return
				default:
				}
				var r reply
				var bad *broken
				delay := 10
				if f.slow.Load() {
					delay = 200
				}
				if prompt := fmt.Sprintf("[[sim delay=%dms]] call %d of %d", delay, j, i); j%2 == 0 {
					r, bad = f.front.whole(context.WithoutCancel(t.Context()), prompt)
				} else {
					r, bad = f.front.stream(context.WithoutCancel(t.Context()), prompt, nil)
				}
				if bad == nil {
					f.got.add(r)
					continue
				}
				f.failed.Add(1)
				f.mu.Lock()
				f.failures = append(f.failures, bad.String())
				f.mu.Unlock()
			}
		})
	}
	f.answered(t, 50)
}

// answered waits for that many more answers.
func (f *fleet) answered(t *testing.T, more int) {
	t.Helper()
	want := f.got.count() + more
	waitFor(t, "answers", func() bool { return f.got.count() >= want })
}

// allowed checks that no more calls failed since before than most.
func (f *fleet) allowed(t *testing.T, what string, before, most int64) {
	t.Helper()
	failed := f.failed.Load() - before
	t.Logf("%s: %d calls failed, of %d answered so far", what, failed, f.got.count())
	if failed > most {
		f.mu.Lock()
		defer f.mu.Unlock()
		t.Errorf("%s: %d calls failed, at most %d may; the last: %s", what, failed, most, f.failures[len(f.failures)-1])
	}
}

// kill: only calls that were at the node fail.
func (f *fleet) kill(t *testing.T) {
	t.Helper()
	before := f.failed.Load()
	f.nodes[1].kill()
	f.answered(t, 100)
	f.allowed(t, "a node is killed", before, fleetWorkers)
	before = f.failed.Load()
	f.nodes[1].serve(t)
	f.answered(t, 100)
	f.allowed(t, "it starts again", before, 0)
}

// rollingRestart restarts one node after another without a change to nginx. No call fails.
func (f *fleet) rollingRestart(t *testing.T) {
	t.Helper()
	before := f.failed.Load()
	for _, s := range f.nodes {
		s.signal(t, syscall.SIGTERM)
		s.wantExit(t)
		f.answered(t, 30)
		s.serve(t)
		f.answered(t, 30)
	}
	f.allowed(t, "all nodes are restarted", before, 0)
}

// takenBack counts how often nodes have taken leases back from silent ones.
func (f *fleet) takenBack(nodes ...int) (n int) {
	for _, i := range nodes {
		n += strings.Count(f.nodes[i].stderr.String(), "its leases went back")
	}
	return n
}

// frozen: the others take back the leases of a node that is stopped. When it goes on, it starts afresh.
func (f *fleet) frozen(t *testing.T) {
	t.Helper()
	s := f.nodes[2]
	before := f.takenBack(0, 1)
	s.signal(t, syscall.SIGSTOP)
	waitFor(t, "its leases to be taken back", func() bool { return f.takenBack(0, 1) > before })
	s.signal(t, syscall.SIGCONT)
	waitFor(t, "the frozen node to start afresh", func() bool { return s.stderr.with("it starts again") != "" })
	f.answered(t, 100)
	t.Logf("a node was frozen: %d answered so far, %d failed", f.got.count(), f.failed.Load())
}

// databaseEnds: calls that have borrowed money end, others are refused, and all goes on when the database is back.
func (f *fleet) databaseEnds(t *testing.T, how string, end func(*pgtest.Server, testing.TB)) {
	t.Helper()
	end(f.server, t)
	before := f.failed.Load()
	waitFor(t, "calls to be refused", func() bool { return f.failed.Load() > before+20 })
	f.databaseReturns(t, how)
}

// noConnections: somebody else has all connections that PostgreSQL has left. Nodes go on with theirs.
func (f *fleet) noConnections(t *testing.T) {
	t.Helper()
	var all []*pgx.Conn
	for {
		conn, err := pgx.Connect(t.Context(), f.dsn)
		if err != nil {
			t.Logf("PostgreSQL refuses after %d connections: %v", len(all), err)
			break
		}
		all = append(all, conn)
	}
	before := f.failed.Load()
	f.answered(t, 200)
	f.allowed(t, "PostgreSQL is out of connections", before, 0)
	for _, conn := range all {
		if err := conn.Close(t.Context()); err != nil {
			t.Error(err)
		}
	}
}

// end stops load and nodes, and compares the books with what clients received.
func (f *fleet) end(t *testing.T) {
	t.Helper()
	close(f.stop)
	f.load.Wait()
	for _, s := range f.nodes {
		s.signal(t, syscall.SIGTERM)
	}
	for _, s := range f.nodes {
		s.wantExit(t)
	}
	verify(t, "-c", f.nodes[0].file)
	s := f.nodes[0]
	s.serve(t)
	s.checkCharges(t, f.got.replies)
	s.kill()
	verify(t, "-c", s.file)
}
