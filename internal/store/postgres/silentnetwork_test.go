package postgres_test

import (
	"context"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"weir/internal/fault"
	"weir/internal/ledger"
	"weir/internal/store/postgres/pgtest"
)

// wire is between a store and its server, and can stop passing bytes, as a network does.
type wire struct {
	server string // path of the server's socket
	dsn    string
	silent sync.RWMutex // locked while nothing passes
}

func newWire(t *testing.T) *wire {
	t.Helper()
	dsn := pgtest.New(t)
	before, server, found := strings.Cut(dsn, "host=")
	if !found {
		t.Fatal(dsn)
	}
	dir, err := os.MkdirTemp("/tmp", "weir-wire-") // the path of a socket may have about a hundred bytes
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	const socket = ".s.PGSQL.5432"
	l, err := net.Listen("unix", filepath.Join(dir, socket))
	if err != nil {
		t.Fatal(err)
	}
	w := &wire{server: filepath.Join(server, socket), dsn: before + "host=" + dir}
	var all sync.WaitGroup
	t.Cleanup(func() { _ = l.Close(); all.Wait() })
	all.Go(func() {
		for {
			client, err := l.Accept()
			if err != nil {
				return
			}
			all.Go(func() { w.carry(client) })
		}
	})
	return w
}

func (w *wire) carry(client net.Conn) {
	defer client.Close()
	server, err := net.Dial("unix", w.server)
	if err != nil {
		return
	}
	defer server.Close()
	back := make(chan struct{})
	go func() {
		defer close(back)
		w.pass(client, server)
	}()
	w.pass(server, client)
	<-back
}

// pass copies until one of the ends is closed, and closes both.
func (w *wire) pass(to, from net.Conn) {
	defer to.Close()
	defer from.Close()
	b := make([]byte, 64<<10)
	for {
		n, err := from.Read(b)
		if err != nil {
			return
		}
		w.silent.RLock()
		_, err = to.Write(b[:n])
		w.silent.RUnlock()
		if err != nil {
			return
		}
	}
}

// A network that swallows everything fails calls as soon as their time is over, and works again when it does.
func TestSilentNetwork(t *testing.T) {
	t.Parallel()
	line := newWire(t)
	s := openDSN(t, line.dsn)
	w := wallet(t, s, "w1")
	borrow := node(t, s, "node")
	const storeFor = 1500 * time.Millisecond // of ledger.store_for
	within := func(ask func(ctx context.Context) error) error {
		ctx, cancel := context.WithTimeout(t.Context(), storeFor)
		defer cancel()
		return ask(ctx)
	}
	calls := map[string]func(ctx context.Context) error{
		"borrow": func(ctx context.Context) error { _, err := s.Ledger.Borrow(ctx, borrow(w, 1)); return err },
		"balance": func(ctx context.Context) error {
			_, err := s.Ledger.Balance(ctx, w)
			return err
		},
		"apply": func(ctx context.Context) error {
			_, err := s.Ledger.Apply(ctx, &ledger.Batch{Node: "node", From: 7, To: 8, Now: time.Unix(1e9, 0)})
			return err
		},
	}
	line.silent.Lock()
	var all sync.WaitGroup
	for name, ask := range calls {
		for range 4 { // on connections that were open, and on new ones
			all.Go(func() {
				began := time.Now()
				err := within(ask)
				if took := time.Since(began); !fault.Is(err, fault.StorageUnavailable) || took > 10*2*time.Second {
					t.Errorf("%s: %v after %s; want StorageUnavailable within 2 s", name, err, took)
				} else {
					t.Logf("%s: after %s", name, took)
				}
			})
		}
	}
	all.Wait()
	line.silent.Unlock()
	deadline, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	for name, ask := range calls {
		for err := ask(deadline); err != nil; err = ask(deadline) {
			if deadline.Err() != nil {
				t.Fatalf("%s still fails: %v", name, err)
			}
		}
	}
}
