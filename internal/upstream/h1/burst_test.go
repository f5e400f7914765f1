package h1_test

import (
	"context"
	"io"
	"net"
	"runtime"
	"strings"
	"testing"
	"time"

	"weir/internal/upstream/h1"
)

// What has arrived of a burst is known without waiting for it, and never what has not: frames before it would wait in vain.
func TestBufferedInBurst(t *testing.T) {
	t.Parallel()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = ln.Close() }()
	const piece = 1 << 10
	more, read := make(chan struct{}), make(chan struct{})
	done := make(chan error, 1)
	go func() {
		done <- func() error {
			c, err := ln.Accept()
			if err != nil {
				return err
			}
			defer func() { _ = c.Close() }()
			if _, err := c.Read(make([]byte, 4<<10)); err != nil {
				return err
			}
			if _, err := io.WriteString(c, "HTTP/1.1 200 OK\r\nContent-Length: 3072\r\n\r\n"); err != nil {
				return err
			}
			for range 3 {
				<-more
				if _, err := io.WriteString(c, strings.Repeat("x", piece)); err != nil {
					return err
				}
			}
			<-read
			return nil
		}()
	}()
	host := newHost(h1.Config{Dial: func(ctx context.Context, _ string) (net.Conn, error) {
		var d net.Dialer
		return d.DialContext(ctx, "tcp", ln.Addr().String())
	}}, "http", "acme.test")
	defer host.Close()
	var x h1.Exchange
	defer x.Close()
	if _, err := x.Send(host, &h1.Request{Method: "POST", Path: "/", Body: []byte("{}")}); err != nil {
		t.Fatal(err)
	}
	if x.Buffered() {
		t.Error("something is buffered before the body")
	}
	p := make([]byte, piece)
	for i := range 3 {
		more <- struct{}{}
		if i > 0 { // the read before has filled its buffer, so the connection is asked
			for until := time.Now().Add(3 * time.Minute); runtime.GOOS != "windows" && !x.Buffered(); runtime.Gosched() {
				if time.Now().After(until) {
					t.Fatal("what has arrived is not noticed")
				}
			}
		}
		if _, err := io.ReadFull(&x, p); err != nil {
			t.Fatal(err)
		}
		if x.Buffered() != (i == 2) {
			t.Fatalf("after piece %d of 3: buffered is %t", i+1, i != 2)
		}
	}
	close(read)
	if err := <-done; err != nil {
		t.Error(err)
	}
}
