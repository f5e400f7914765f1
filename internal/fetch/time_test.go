package fetch_test

import (
	"bufio"
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"net/netip"
	"testing"
	"testing/synctest"
	"time"

	"weir/internal/fault"
	"weir/internal/fetch"
	"weir/internal/outbound"
)

// slow returns a client in a world whose server answers each request with talk. The time is that of the test's bubble.
func slow(talk func(conn net.Conn)) *fetch.Client {
	return fetch.New(fetch.Config{
		RemoteMedia: true, HTTP: true, Connect: 5 * time.Second, FirstByte: 30 * time.Second, Idle: 10 * time.Second, Total: 2 * time.Minute, MaxBytes: 1 << 20,
		Lookup: func(context.Context, string) ([]netip.Addr, error) { return []netip.Addr{public}, nil },
		Dial: func(context.Context, netip.AddrPort) (net.Conn, error) {
			here, there := net.Pipe()
			go func() {
				defer there.Close()
				if _, err := http.ReadRequest(bufio.NewReader(there)); err == nil {
					talk(there)
				}
			}()
			return here, nil
		},
	})
}

func say(conn net.Conn, text string) bool {
	_, err := io.WriteString(conn, text)
	return err == nil
}

func pass(d time.Duration) { <-time.After(d) }

const headOf1000 = "HTTP/1.1 200 OK\r\nContent-Type: video/mp4\r\nContent-Length: 1000\r\n\r\n"

func TestSlowAnswers(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		talk  func(net.Conn)
		after time.Duration
		kind  fault.Kind // for a provider's file; Internal: the response is complete
	}{
		"no head": {func(conn net.Conn) { _, _ = io.Copy(io.Discard, conn) }, 30 * time.Second, fault.Timeout},
		"no body": {func(conn net.Conn) { say(conn, headOf1000); _, _ = io.Copy(io.Discard, conn) }, 10 * time.Second, fault.Timeout},
		"it stalls": {func(conn net.Conn) {
			say(conn, headOf1000+"xxx")
			pass(9 * time.Second)
			say(conn, "y")
			_, _ = io.Copy(io.Discard, conn)
		}, 19 * time.Second, fault.Timeout},
		"it drips": {func(conn net.Conn) {
			for ok := say(conn, headOf1000); ok; ok = say(conn, "x") {
				pass(9 * time.Second)
			}
		}, 2 * time.Minute, fault.Timeout},
		"it is in time": {func(conn net.Conn) {
			say(conn, headOf1000)
			for range 10 {
				pass(5 * time.Second)
				say(conn, string(make([]byte, 100)))
			}
		}, 50 * time.Second, fault.Internal},
		"it is cut late": {func(conn net.Conn) { say(conn, headOf1000); pass(5 * time.Second) }, 5 * time.Second, fault.ProviderUnavailable},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				begin := time.Now()
				_, _, err := slow(c.talk).ProviderBytes(t.Context(), "P", outbound.Home{}, "http://example.com/", 1<<20)
				if c.kind == fault.Internal && err != nil || c.kind != fault.Internal && !fault.Is(err, c.kind) {
					t.Errorf("%v, want %s", err, c.kind)
				}
				if took := time.Since(begin); took != c.after {
					t.Errorf("it took %s, want %s", took, c.after)
				}
				pass(time.Minute) // for the server to detect the closed connection
			})
		})
	}
}

// A slow reader does not count as a slow server.
func TestSlowReader(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := slow(func(conn net.Conn) { say(conn, headOf1000+string(make([]byte, 1000))) })
		r, err := c.Get(t.Context(), "http://example.com/", fetch.Limits{Total: time.Hour})
		if err != nil {
			t.Fatal(err)
		}
		n := 0
		for buf := make([]byte, 100); err == nil; {
			var k int
			k, err = r.Body.Read(buf)
			n += k
			pass(time.Minute)
		}
		if n != 1000 || !errors.Is(err, io.EOF) {
			t.Errorf("%d bytes, %v", n, err)
		}
		r.Body.Close()
	})
}

func TestSlowNames(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := fetch.New(fetch.Config{
			Connect: 5 * time.Second, FirstByte: time.Minute, Idle: time.Minute, Total: time.Minute, MaxBytes: 1,
			Lookup: func(ctx context.Context, _ string) ([]netip.Addr, error) { <-ctx.Done(); return nil, ctx.Err() },
		})
		begin := time.Now()
		_, _, err := c.ProviderBytes(t.Context(), "P", outbound.Home{}, "https://example.com/", 1)
		if !fault.Is(err, fault.Timeout) || time.Since(begin) != 5*time.Second {
			t.Errorf("%v after %s", err, time.Since(begin))
		}
		synctest.Wait()
	})
}
