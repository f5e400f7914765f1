package upstream_test

import (
	"bytes"
	"context"
	"net"
	"strings"
	"sync"
	"testing"

	"weir/internal/upstream"
	"weir/internal/upstream/upstreamtest"
)

// plainServer answers each request with the same bytes. It allocates nothing for a request, so that what is counted is the client's.
func plainServer(b *testing.B, answer string) (url string) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		b.Fatal(err)
	}
	var wg sync.WaitGroup
	b.Cleanup(wg.Wait)
	b.Cleanup(func() { _ = l.Close() })
	wg.Go(func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			wg.Go(func() {
				defer conn.Close()
				buf, reply := make([]byte, 64<<10), []byte(answer)
				for n := 0; ; {
					m, err := conn.Read(buf[n:])
					if err != nil {
						return
					}
					if n += m; bytes.HasSuffix(buf[:n], []byte("}")) { // the end of the request's body
						n = 0
						if _, err := conn.Write(reply); err != nil {
							return
						}
					}
				}
			})
		}
	})
	return "http://" + l.Addr().String()
}

// BenchmarkAttempt is one call over loopback, through each client. Figures of one run are compared with each other only.
func BenchmarkAttempt(b *testing.B) {
	text := strings.Repeat("The weir holds the river back. ", 30)
	frame := "data: {\"choices\":[{\"index\":0,\"delta\":{\"content\":\"The weir holds \"}}]}\n\n"
	for _, kind := range []struct {
		name, answer string
		stream       bool
	}{
		{"whole", upstreamtest.JSON(strings.Replace(whole, "hi", text, 1)), false},
		{"stream", upstreamtest.Stream(frame, frame, frame, last), true},
	} {
		for _, standard := range []bool{true, false} {
			b.Run(kind.name+"/"+map[bool]string{false: "own", true: "standard"}[standard], func(b *testing.B) {
				c := client(b, upstream.Config{Standard: standard})
				ep, req := endpoint(plainServer(b, kind.answer)), request(kind.stream)
				b.ReportAllocs()
				for b.Loop() {
					for _, err := range c.Complete(context.Background(), ep, req, nil) {
						if err != nil {
							b.Fatal(err)
						}
					}
				}
				c.Close() // the server ends with its connections
			})
		}
	}
}
