// Package pgtest gives tests a real PostgreSQL: the installed server's own programs, in a folder that is removed again.
// It is for tests alone, knows no table, and touches no server that runs already.
package pgtest

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
)

// patience bounds what takes a second on a quiet machine.
const patience = 2 * time.Minute

// shared is the server of this test program, started for the first test that asks.
var shared struct {
	once   sync.Once
	server *Server
	err    error
}

var databases atomic.Int64

// New makes an empty database on a server that the tests of this program share, and returns its DSN. The database goes with the test,
// the server with Main.
func New(t testing.TB) string {
	t.Helper()
	shared.once.Do(func() { shared.server, shared.err = start() })
	if shared.err != nil {
		t.Fatal(shared.err)
	}
	return shared.server.New(t)
}

// template is the database that Copied copies, made for the first test that asks.
var template struct {
	once sync.Once
	err  error
}

// Copied is New with the tables that prepare makes: it runs once in a test program, on a database that later calls copy. prepare must
// close its connections, and be the same for all tests of a program.
func Copied(t testing.TB, prepare func(dsn string) error) string {
	t.Helper()
	shared.once.Do(func() { shared.server, shared.err = start() })
	if shared.err != nil {
		t.Fatal(shared.err)
	}
	template.once.Do(func() {
		if template.err = shared.server.exec("CREATE DATABASE prepared"); template.err == nil {
			template.err = prepare(shared.server.dsn("prepared"))
		}
	})
	if template.err != nil {
		t.Fatal(template.err)
	}
	return shared.server.database(t, " TEMPLATE prepared")
}

// Copy copies the database that New or Copied has given, as it is now. Its connections must have ended.
func Copy(t testing.TB, dsn string) string {
	t.Helper()
	name, _, _ := strings.Cut(strings.TrimPrefix(dsn, "postgres://weir:geheim@/"), "?")
	return shared.server.database(t, " TEMPLATE "+name)
}

// Main makes m's tests end with the shared server: os.Exit(pgtest.Main(m).Run()).
func Main(m interface{ Run() int }) interface{ Run() int } { return main{m} }

type main struct{ m interface{ Run() int } }

func (m main) Run() int {
	defer func() {
		if shared.server != nil {
			shared.server.close()
		}
	}()
	return m.m.Run()
}

// Server is a running PostgreSQL without safety against power cuts; a server that is killed loses nothing.
type Server struct {
	dir     string // holds data, socket and log
	bin     string
	account *syscall.Credential // the account it runs as; nil: that of this process
	mu      sync.Mutex
	process *os.Process // nil: stopped
	ended   chan ending // gets one when it ends
}

// ending is how a server ended.
type ending struct{ err error }

// Start starts a server for one test, which may stop and start it. It ends with the test.
func Start(t testing.TB) *Server { t.Helper(); return StartIn(t, "") }

// StartIn is Start with the server's folder in another one, such as that of a small file system; "": where temporary files are.
func StartIn(t testing.TB, parent string) *Server {
	t.Helper()
	s, err := startIn(parent)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.close)
	return s
}

func start() (*Server, error) { return startIn("") }

func startIn(parent string) (*Server, error) {
	s, err := folderIn(parent)
	if err != nil {
		return nil, err
	}
	if err := s.create(); err != nil {
		s.close()
		return nil, err
	}
	return s, nil
}

// folderIn makes the folder of a server that has no data yet.
func folderIn(parent string) (*Server, error) {
	bin, err := binaries()
	if err != nil {
		return nil, err
	}
	removeStale()
	// not in the folder of a test: the path of a socket may have about a hundred bytes
	if parent == "" {
		parent = socketDir()
	}
	dir, err := os.MkdirTemp(parent, folder+strconv.Itoa(os.Getpid())+"-")
	if err != nil {
		return nil, err
	}
	s := &Server{dir: dir, bin: bin}
	if os.Getuid() == 0 { // the server refuses to run as root
		if err := s.leaveRoot(); err != nil {
			s.close()
			return nil, err
		}
	}
	return s, nil
}

func (s *Server) create() error {
	out, err := s.command("initdb", "-D", s.data(), "-U", "weir", "-A", "trust", "-E", "UTF8", "--locale=C", "--no-sync").CombinedOutput()
	if err != nil {
		return fmt.Errorf("initdb: %w\n%s", err, out)
	}
	return s.start()
}

func (s *Server) leaveRoot() error {
	var errs []error
	for _, name := range []string{"postgres", "nobody"} {
		u, err := user.Lookup(name)
		if err != nil {
			errs = append(errs, err)
			continue
		}
		uid, uidErr := strconv.ParseUint(u.Uid, 10, 32)
		gid, gidErr := strconv.ParseUint(u.Gid, 10, 32)
		if err := errors.Join(uidErr, gidErr); err != nil {
			return err
		}
		s.account = &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}
		return os.Chown(s.dir, int(uid), int(gid))
	}
	return errors.Join(errs...)
}

func (s *Server) data() string { return filepath.Join(s.dir, "data") }
func (s *Server) log() string  { return filepath.Join(s.dir, "log") }

func (s *Server) command(name string, args ...string) *exec.Cmd {
	cmd := exec.Command(filepath.Join(s.bin, name), args...)
	cmd.Dir = s.dir
	cmd.Env = []string{"PATH=" + s.bin, "LC_ALL=C", "TZ=UTC", "HOME=" + s.dir}
	// Should this process be killed, the server goes as well.
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: s.account, Pdeathsig: syscall.SIGQUIT, Setpgid: true}
	return cmd
}

// Start starts the server again after Stop or Kill.
func (s *Server) Start(t testing.TB) {
	t.Helper()
	if err := s.start(); err != nil {
		t.Fatal(err)
	}
}

func (s *Server) start() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	log, err := os.OpenFile(s.log(), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
	if err != nil {
		return err
	}
	defer func() { _ = log.Close() }()
	cmd := s.command("postgres", "-D", s.data(), "-k", s.dir, "-c", "listen_addresses=",
		"-c", "max_connections=600", "-c", "shared_buffers=32MB", "-c", "max_wal_size=256MB", "-c", "log_lock_waits=on")
	cmd.Stdout, cmd.Stderr = log, log
	begun := make(chan error)
	ended := make(chan ending, 1)
	go func() {
		// The signal of Pdeathsig comes with the end of the thread that started the process: this one lasts.
		runtime.LockOSThread()
		err := cmd.Start()
		begun <- err
		if err == nil {
			ended <- ending{cmd.Wait()}
		}
	}()
	if err := <-begun; err != nil {
		return err
	}
	s.process, s.ended = cmd.Process, ended
	return s.ready()
}

// ready waits until the server takes connections.
func (s *Server) ready() error {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for {
		conn, err := pgx.Connect(ctx, s.dsn("postgres"))
		if err == nil {
			return conn.Close(ctx)
		}
		select {
		case end := <-s.ended:
			s.process = nil
			text, _ := os.ReadFile(s.log())
			return fmt.Errorf("postgres ended: %w\n%s", end.err, text)
		case <-ctx.Done():
			return fmt.Errorf("postgres takes no connections: %w", err)
		case <-tick.C:
		}
	}
}

// Stop ends the server in order: transactions are rolled back, connections closed.
func (s *Server) Stop(t testing.TB) { t.Helper(); s.end(t, syscall.SIGINT) }

// Kill ends it as a crash would.
func (s *Server) Kill(t testing.TB) { t.Helper(); s.end(t, syscall.SIGQUIT) }

func (s *Server) end(t testing.TB, signal os.Signal) {
	t.Helper()
	if err := s.signal(signal); err != nil {
		t.Fatal(err)
	}
}

func (s *Server) signal(signal os.Signal) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.process == nil {
		return nil
	}
	if err := s.process.Signal(signal); err != nil {
		return err
	}
	select {
	case <-s.ended:
		s.process = nil
		return nil
	case <-time.After(patience):
		return errors.New("postgres does not end")
	}
}

func (s *Server) close() {
	if err := s.signal(syscall.SIGQUIT); err != nil {
		_, _ = fmt.Fprintln(os.Stderr, err)
	}
	_ = os.RemoveAll(s.dir)
}

func (s *Server) dsn(database string) string {
	return "postgres://weir:geheim@/" + database + "?host=" + s.dir
}

// New makes an empty database and returns its DSN. The database goes with the test.
func (s *Server) New(t testing.TB) string {
	t.Helper()
	return s.database(t, "")
}

func (s *Server) database(t testing.TB, options string) string {
	t.Helper()
	name := fmt.Sprint("weir", databases.Add(1))
	if err := s.exec("CREATE DATABASE " + name + options + s.strategy()); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.exec("DROP DATABASE " + name + " WITH (FORCE)") }) // or the server is gone: then so is the database
	return s.dsn(name)
}

// Program is the path of one of the server's own programs.
func Program(t testing.TB, name string) string {
	t.Helper()
	bin, err := binaries()
	if err != nil {
		t.Fatal(err)
	}
	return filepath.Join(bin, name)
}

// strategy makes servers that would log each page of a new database copy its files, as older ones do anyway: here that is faster.
func (s *Server) strategy() string {
	text, _ := os.ReadFile(filepath.Join(s.data(), "PG_VERSION"))
	if version, err := strconv.Atoi(strings.TrimSpace(string(text))); err != nil || version < 15 {
		return ""
	}
	return " STRATEGY file_copy"
}

func (s *Server) exec(text string) error {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	conn, err := pgx.Connect(ctx, s.dsn("postgres"))
	if err != nil {
		return err
	}
	defer func() { _ = conn.Close(ctx) }()
	_, err = conn.Exec(ctx, text)
	return err
}

// binaries finds the folder of the server's programs: the newest of Debian's, or where the search path has them.
func binaries() (string, error) {
	found, _ := filepath.Glob("/usr/lib/postgresql/*/bin/initdb")
	slices.SortFunc(found, func(a, b string) int { return versionOf(b) - versionOf(a) })
	if len(found) > 0 {
		return filepath.Dir(found[0]), nil
	}
	if path, err := exec.LookPath("initdb"); err == nil {
		if path, err = filepath.EvalSymlinks(path); err == nil {
			return filepath.Dir(path), nil
		}
	}
	return "", errors.New("these tests need a PostgreSQL server, version 13 or later: on Debian and Ubuntu run apt-get install postgresql, " +
		"on others install it and put initdb and postgres into the search path; it need not run")
}

// socketDir returns the folder for temporary files, or /tmp where its path is too long for a socket below it: systems allow about 100 bytes.
func socketDir() string {
	if dir := os.TempDir(); len(dir) <= 40 {
		return dir
	}
	return "/tmp"
}

func versionOf(initdb string) int {
	n, _ := strconv.Atoi(filepath.Base(filepath.Dir(filepath.Dir(initdb))))
	return n
}

// folder begins the names of the servers' folders; the id of the test program follows.
const folder = "weir-pg-"

// removeStale removes what test programs left that were killed.
func removeStale() {
	old, _ := filepath.Glob(filepath.Join(socketDir(), folder+"*"))
	for _, dir := range old {
		text, _, _ := strings.Cut(strings.TrimPrefix(filepath.Base(dir), folder), "-")
		if pid, err := strconv.Atoi(text); err == nil && errors.Is(syscall.Kill(pid, 0), syscall.ESRCH) {
			_ = os.RemoveAll(dir)
		}
	}
}
