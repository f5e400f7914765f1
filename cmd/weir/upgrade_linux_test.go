package main_test

import (
	"context"
	"errors"
	"flag"
	"net/http"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/jackc/pgx/v5"

	"weir/internal/apikey"
	"weir/internal/store/postgres/pgtest"
)

// make upgrade-test builds that program.
var upgradeFrom = flag.String("upgrade.from", "weir", "program of the release before, which TestUpgrade starts beside this one; by default this one, which tries the steps alone")

// A node of the release before serves calls on PostgreSQL, and goes on when one of this release begins beside it and migrates the tables. Then
// it is replaced on its own data directory. No call fails, and each answer is charged once, whichever release gave it.
func TestUpgrade(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("takes some seconds; the full run has it")
	}
	u := openUpgrade(t)
	before := u.tables(t)
	was := u.serve(t, u.old, *upgradeFrom)
	was.answered(t, 50)
	isNew := u.serve(t, u.new, "weir") // which migrates, under the load of the other
	was.answered(t, 100)
	isNew.answered(t, 100)
	u.keys(t)
	if u.tables(t) > before { // the old release refuses the new tables, and names the version that they need
		again := startCommand(t, exec.Command(*upgradeFrom, "serve", "-c", u.copyOf(t)), environment(), nil)
		<-again.exited
		if err := (*exec.ExitError)(nil); !errors.As(again.err, &err) || !strings.Contains(again.stderr.String(), "newer version of Weir") {
			t.Errorf("the release before starts on newer tables: %v\n%s", again.err, again.stderr)
		}
	} else if *upgradeFrom != "weir" {
		t.Logf("both releases have tables of version %d", before)
	}
	u.quiet(t, was)
	u.old.signal(t, syscall.SIGTERM)
	u.old.wantExit(t)
	isNew.answered(t, 50)
	replaced := u.serve(t, u.old, "weir")
	replaced.answered(t, 50)
	u.quiet(t, replaced)
	u.quiet(t, isNew)
	for _, s := range []*site{u.old, u.new} {
		s.signal(t, syscall.SIGTERM)
		s.wantExit(t)
	}
	verify(t, "-c", u.new.file)
	u.new.serve(t)
	u.new.checkCharges(t, slices.Concat(was.got.replies, isNew.got.replies, replaced.got.replies))
	u.new.kill()
	verify(t, "-c", u.new.file)
}

// upgrade is two nodes on one database: one of the release before, and one of this.
type upgrade struct {
	dsn      string
	old, new *site
}

func openUpgrade(t *testing.T) *upgrade {
	t.Helper()
	u := &upgrade{dsn: pgtest.Start(t).New(t)}
	upstream := simulator(t)
	for _, s := range []**site{&u.old, &u.new} {
		dir := t.TempDir()
		*s = &site{dir: dir, file: filepath.Join(dir, "weir.yaml"), upstream: upstream, node: &node{client: newClient(t), model: "test/chat"}}
		(*s).write(t, u.text(*s))
	}
	run := func(args ...string) string {
		t.Helper()
		cmd := exec.Command(*upgradeFrom, args...)
		cmd.Env = environment()
		out, err := cmd.Output()
		if err != nil {
			t.Fatalf("%q: %v\n%s", cmd.Args, err, out)
		}
		return strings.TrimSpace(string(out))
	}
	run("user", "add", "anna", "-c", u.old.file)
	run("topup", "anna", "100000", "-c", u.old.file)
	u.old.APIKey = run("key", "add", "-q", "anna", "-c", u.old.file)
	u.new.APIKey = u.old.APIKey
	t.Logf("from %s", run("version"))
	return u
}

func (u *upgrade) text(s *site) string {
	return s.config(settings{price: "0.4", server: "shutdown_delay: 0s"}) + "store: {dsn: \"" + u.dsn + "\"}\nledger: {store_for: 20s}\nlog: {access: false}\n" // leases of the default length: a machine that stalls for some seconds is no upgrade that fails
}

// copyOf is the configuration of another node, whose data directory is empty.
func (u *upgrade) copyOf(t *testing.T) string {
	t.Helper()
	s := *u.old
	s.dir = t.TempDir()
	s.file = filepath.Join(s.dir, "weir.yaml")
	s.write(t, u.text(&s))
	return s.file
}

// serve starts a node with a program, and calls it from now on.
func (u *upgrade) serve(t *testing.T, s *site, program string) *fleet {
	t.Helper()
	s.serveAs(t, startCommand(t, exec.Command(program, "serve", "-c", s.file), environment(), nil))
	f := &fleet{nodes: []*site{s}, front: &node{client: s.client, model: s.model, APIKey: s.APIKey, BaseURL: s.BaseURL}, stop: make(chan struct{})}
	f.begin(t)
	return f
}

// quiet ends the calls of a node. None has failed.
func (u *upgrade) quiet(t *testing.T, f *fleet) {
	t.Helper()
	close(f.stop)
	f.load.Wait()
	f.allowed(t, "until it was upgraded", 0, 0)
}

// tables is the version of the tables.
func (u *upgrade) tables(t *testing.T) (version int64) {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), u.dsn)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close(context.WithoutCancel(t.Context())) }()
	if err := conn.QueryRow(t.Context(), `SELECT MAX(version_id) FROM goose_db_version`).Scan(&version); err != nil {
		t.Fatal(err)
	}
	return version
}

// keys: what a command of this release changes is true at the node of the release before.
func (u *upgrade) keys(t *testing.T) {
	t.Helper()
	key := strings.TrimSpace(weir(t, "key", "add", "-q", "anna", "-c", u.new.file))
	status := func(s *site) int {
		n := *s.node
		n.APIKey = key
		status, err := n.getJSON("/v1/key", &struct{}{})
		if err != nil {
			t.Fatal(err)
		}
		return status
	}
	for _, s := range []*site{u.old, u.new} {
		if got := status(s); got != http.StatusOK {
			t.Errorf("a new key: %d", got)
		}
	}
	weir(t, "key", "disable", apikey.Hash(key), "-c", u.new.file)
	for _, s := range []*site{u.old, u.new} {
		waitFor(t, "the key to be refused", func() bool { return status(s) == http.StatusUnauthorized })
	}
}
