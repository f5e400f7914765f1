package httpserver

import (
	"io"
	"log/slog"
	"net"
	"testing"
	"time"

	"weir/internal/limit"
)

// Lingering connections have a bound, in all and by address; beyond it connections end at once.
func TestLingeringIsBounded(t *testing.T) {
	t.Parallel()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	limited := New(Deps{Slog: slog.New(slog.DiscardHandler)}, Default()).limit(l, false)
	limited.lingering = limit.NewBudget(1, 1)
	defer l.Close()
	for i := range 2 {
		client, err := net.Dial("tcp", l.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		defer client.Close()
		c, err := limited.Accept()
		if err != nil {
			t.Fatal(err)
		}
		c.(*tcpConn).unread.Store(true)
		if err := c.Close(); err != nil {
			t.Fatal(err)
		}
		_ = c.Close() // twice does no harm
		if limited.lingering.Used() != 1 {
			t.Fatalf("%d connections linger behind %d that were closed", limited.lingering.Used(), i+1)
		}
		if i == 1 { // this one has ended
			_ = client.SetReadDeadline(time.Now().Add(time.Minute))
			if _, err := client.Read(make([]byte, 1)); err != io.EOF {
				t.Fatalf("reading: %v", err)
			}
		}
	}
}
