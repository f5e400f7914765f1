package main_test

import (
	"net"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// A node notifies systemd when it is ready for calls, which systemctl start waits for, and when it begins to stop.
func TestServiceNotifiesSystemd(t *testing.T) {
	t.Parallel()
	dir, err := os.MkdirTemp("", "weir-notify-") // the path of a socket must be short
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	socket := filepath.Join(dir, "notify")
	l, err := net.ListenUnixgram("unixgram", &net.UnixAddr{Name: socket, Net: "unixgram"})
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	said := make(chan string)
	go func() {
		defer close(said)
		buf := make([]byte, 100)
		for {
			n, err := l.Read(buf)
			if err != nil {
				return
			}
			said <- string(buf[:n])
		}
	}()
	s := startSite(t, settings{price: "0.4", server: "shutdown_delay: 0s"})
	s.kill()
	p := startIn(t, environment("NOTIFY_SOCKET="+socket), nil, "serve", "-c", s.file)
	if got := <-said; got != "READY=1" {
		t.Fatalf("first it says %q", got)
	}
	s.serveAs(t, p)
	if _, bad := s.whole(t.Context(), "hello"); bad != nil {
		t.Error(bad)
	}
	s.signal(t, syscall.SIGTERM)
	if got := <-said; got != "STOPPING=1" {
		t.Errorf("then it says %q", got)
	}
	s.wantExit(t)
	_ = l.Close()
	for more := range said {
		t.Errorf("it also says %q", more)
	}
	if log := s.stderr.String(); strings.Contains(log, "systemd") {
		t.Error(log)
	}
}
