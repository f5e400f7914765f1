package main_test

import (
	"context"
	"errors"
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

	"weir/internal/apikey"
	"weir/internal/store/postgres/pgtest"
)

var fleetLong = flag.Bool("fleet.long", false, "TestFleet also freezes a node, and restarts, kills and fills PostgreSQL")

// fleet is three nodes on one PostgreSQL behind nginx, under the load of one user.
type fleet struct {
	server *pgtest.Server
	dsn    string
	nodes  []*site
	front  *node // nginx
	conf   string
	number atomic.Int64 // of nginx's configuration
	worker int          // process of nginx that works by it

	stop     chan struct{}
	load     sync.WaitGroup
	got      delivered
	failed   atomic.Int64
	mu       sync.Mutex
	failures []string
}

const fleetWorkers = 8

func TestFleet(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("takes ten seconds; the full run has it")
	}
	f := openFleet(t)
	f.begin(t)
	f.revocation(t)
	f.kill(t)
	f.rollingRestart(t)
	if *fleetLong {
		f.frozen(t)
		f.databaseEnds(t, "restarted", (*pgtest.Server).Stop)
		f.databaseEnds(t, "killed", (*pgtest.Server).Kill)
		f.noConnections(t)
		f.rollingRestart(t)
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
	f := &fleet{server: pgtest.Start(t), stop: make(chan struct{}), conf: filepath.Join(t.TempDir(), "nginx.conf")}
	f.dsn = f.server.New(t)
	upstream := simulator(t)
	for range 3 {
		dir := t.TempDir()
		s := &site{dir: dir, file: filepath.Join(dir, "weir.yaml"), upstream: upstream, node: &node{client: newClient(t), model: "test/chat"}}
		text := strings.Replace(s.config(settings{price: "0.4", server: "shutdown_delay: 0s"}), "listen: 127.0.0.1:0", "listen: "+freeAddress(t), 1)
		s.write(t, text+"store: {dsn: \""+f.dsn+"\"}\nledger: {lease_for: 3s, lapse_after: 6s}\nlog: {access: false}\n")
		if len(f.nodes) == 0 {
			weir(t, "user", "add", "anna", "-c", s.file)
			weir(t, "topup", "anna", "100000", "-c", s.file)
			s.APIKey = strings.TrimSpace(weir(t, "key", "add", "-q", "anna", "-c", s.file))
		} else {
			s.APIKey = f.nodes[0].APIKey
		}
		f.nodes = append(f.nodes, s)
		s.serve(t)
	}
	f.front = &node{client: newClient(t), model: "test/chat", APIKey: f.nodes[0].APIKey, BaseURL: "http://" + freeAddress(t)}
	f.write(t, f.nodes)
	f.front.process = startCommand(t, exec.Command(nginx, "-c", f.conf, "-p", filepath.Dir(f.conf)), environment(), nil)
	t.Cleanup(func() { _ = f.front.cmd.Process.Signal(syscall.SIGTERM); <-f.front.exited }) // with its workers
	f.applied(t)
	return f
}

// freeAddress is an address on which nothing listens, that a program can be given again after a restart: the system gives such ports to nobody
// who asks for any.
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

// write configures nginx to use nodes. It keeps no connection of a client: one that is idle when nginx closes it would fail a call.
func (f *fleet) write(t *testing.T, nodes []*site) {
	t.Helper()
	host := func(address string) string {
		u, err := url.Parse(address)
		if err != nil {
			t.Fatal(err)
		}
		return u.Host
	}
	servers := ""
	for _, s := range nodes {
		servers += "    server " + host(s.BaseURL) + " max_fails=1 fail_timeout=1s;\n"
	}
	dir := filepath.Dir(f.conf)
	user := ""
	if os.Getuid() == 0 { // the folder is this user's alone
		user = "user root;\n"
	}
	text := user + fmt.Sprintf(`daemon off;
worker_processes 1;
pid %[1]s/nginx.pid;
error_log %[1]s/error.log;
events { worker_connections 4096; }
http {
  access_log off;
  keepalive_timeout 0;
  client_body_temp_path %[1]s/body;
  proxy_temp_path %[1]s/proxy;
  fastcgi_temp_path %[1]s/fastcgi;
  uwsgi_temp_path %[1]s/uwsgi;
  scgi_temp_path %[1]s/scgi;
  upstream nodes {
%[2]s  }
  server {
    listen %[3]s;
    location = /configuration { return 200 "%[4]d $pid"; }
    location / {
      proxy_pass http://nodes;
      proxy_http_version 1.1;
      proxy_buffering off;
      proxy_connect_timeout 5s;
      proxy_read_timeout 20s;
      proxy_set_header X-Forwarded-For $remote_addr;
    }
  }
}
`, dir, servers, host(f.front.BaseURL), f.number.Add(1))
	if err := os.WriteFile(f.conf, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

// applied waits until nginx works by the last configuration alone: the process that worked by the one before has ended its calls, and itself.
func (f *fleet) applied(t *testing.T) {
	t.Helper()
	var number int64
	var worker int
	waitFor(t, "nginx to use its configuration", func() bool {
		if f.front.ended() {
			t.Fatalf("nginx ended: %v\n%s", f.front.err, f.front.stderr)
		}
		res, err := f.front.client.Get(f.front.BaseURL + "/configuration")
		if err != nil {
			return false
		}
		defer res.Body.Close()
		_, err = fmt.Fscan(res.Body, &number, &worker)
		return err == nil && number == f.number.Load()
	})
	if old := f.worker; old != 0 {
		waitFor(t, "nginx's former worker to end", func() bool { return errors.Is(syscall.Kill(old, 0), syscall.ESRCH) })
	}
	f.worker = worker
}

// use takes nodes into nginx, or out of it: the rest of the calls that it has begun goes on.
func (f *fleet) use(t *testing.T, nodes []*site) {
	t.Helper()
	f.write(t, nodes)
	f.front.signal(t, syscall.SIGHUP)
	f.applied(t)
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
				if prompt := fmt.Sprintf("[[sim delay=10ms]] call %d of %d", j, i); j%2 == 0 {
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

// revocation: a key that a command disables is refused by every node.
func (f *fleet) revocation(t *testing.T) {
	t.Helper()
	key := strings.TrimSpace(weir(t, "key", "add", "-q", "anna", "-c", f.nodes[0].file))
	refused := func(s *site) bool {
		n := *s.node
		n.APIKey = key
		status, err := n.getJSON("/v1/key", &struct{}{})
		if err != nil {
			t.Fatal(err)
		}
		return status == http.StatusUnauthorized
	}
	for _, s := range f.nodes {
		if refused(s) {
			t.Fatal("a new key is refused")
		}
	}
	weir(t, "key", "disable", apikey.Hash(key), "-c", f.nodes[0].file)
	began := time.Now()
	for _, s := range f.nodes {
		waitFor(t, "the key to be refused", func() bool { return refused(s) })
	}
	promised(t, "a revoked key is refused by three nodes", time.Since(began), time.Second)
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

// rollingRestart restarts each node after the others have taken its calls. None fails.
func (f *fleet) rollingRestart(t *testing.T) {
	t.Helper()
	before := f.failed.Load()
	for i, s := range f.nodes {
		others := append(append([]*site{}, f.nodes[:i]...), f.nodes[i+1:]...)
		f.use(t, others)
		s.signal(t, syscall.SIGTERM)
		s.wantExit(t)
		s.serve(t)
		f.use(t, f.nodes)
		f.answered(t, 30)
	}
	f.allowed(t, "all nodes are restarted", before, 0)
}

// frozen: the others take back the leases of a node that is stopped. When it goes on, it starts afresh.
func (f *fleet) frozen(t *testing.T) {
	t.Helper()
	s := f.nodes[2]
	s.signal(t, syscall.SIGSTOP)
	const gone = "its leases went back"
	waitFor(t, "its leases to be taken back", func() bool {
		return strings.Contains(f.nodes[0].stderr.String(), gone) || strings.Contains(f.nodes[1].stderr.String(), gone)
	})
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
	f.server.Start(t)
	began := time.Now()
	f.answered(t, 100)
	promised(t, "a hundred answers after PostgreSQL was "+how, time.Since(began), 10*time.Second)
	for _, s := range f.nodes {
		waitFor(t, "the node to be ready", func() bool { return s.status(t, s.AdminURL+"/readyz") == http.StatusOK })
	}
	before = f.failed.Load()
	f.answered(t, 100)
	f.allowed(t, "after PostgreSQL was "+how, before, 0)
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
		s.wantExit(t)
	}
	verify(t, "-c", f.nodes[0].file)
	s := f.nodes[0]
	s.serve(t)
	s.checkCharges(t, f.got.replies)
	s.kill()
	verify(t, "-c", s.file)
}
