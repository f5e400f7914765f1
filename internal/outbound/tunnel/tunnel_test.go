package tunnel_test

import (
	"bufio"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
	"testing"
	"time"

	"weir/internal/outbound"
	"weir/internal/outbound/tunnel"
	"weir/internal/outbound/tunnel/tunneltest"
)

// echo is a server that sends back each line.
func echo(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	go func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			go func() {
				defer func() { _ = conn.Close() }()
				_, _ = io.Copy(conn, conn)
			}()
		}
	}()
	return l.Addr().String()
}

func dial(t *testing.T, p *tunneltest.Proxy, way, address string) (net.Conn, error) {
	t.Helper()
	parsed, err := outbound.Parse(way, nil)
	if err != nil {
		t.Fatal(err)
	}
	d := tunnel.Dialer{Connect: time.Minute, TLS: &tls.Config{RootCAs: p.Roots(), MinVersion: tls.VersionTLS12}}
	if p.Fault == tunneltest.Hang {
		d.Connect = 2 * time.Second // enough to reach it on a busy machine
	}
	return d.Dial(t.Context(), parsed, address)
}

// A tunnel carries bytes both ways, and the proxy is asked for the name: this machine resolves nothing (socks5h of curl, and CONNECT).
func TestTunnel(t *testing.T) {
	t.Parallel()
	for _, kind := range tunneltest.Kinds {
		for _, user := range []string{"", "anna"} {
			for _, fault := range []tunneltest.Fault{tunneltest.None, tunneltest.Chatty} {
				t.Run(fmt.Sprint(kind, "/", user, "/", fault), func(t *testing.T) {
					t.Parallel()
					p := (&tunneltest.Proxy{Kind: kind, User: user, Password: "s3cret-word", Fault: fault, Names: map[string]string{"echo.test:7": echo(t)}}).Start(t)
					conn, err := dial(t, p, p.URL(), "echo.test:7")
					if err != nil {
						t.Fatal(err)
					}
					defer func() { _ = conn.Close() }()
					if _, err := io.WriteString(conn, "hello\n"); err != nil {
						t.Fatal(err)
					}
					if line, err := bufio.NewReader(conn).ReadString('\n'); line != "hello\n" {
						t.Errorf("%q came back, %v", line, err)
					}
					if asked := p.Asked(); len(asked) != 1 || asked[0] != "echo.test:7" {
						t.Errorf("the proxy was asked for %v", asked)
					}
				})
			}
		}
	}
}

// Whatever a proxy does, the error names it, what it did and what to do, and never user name or password.
func TestFailures(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name  string
		proxy *tunneltest.Proxy
		login string // in place of what the proxy asks for; "-": none
		want  []string
	}{
		{"407 without a login", &tunneltest.Proxy{Kind: "http", User: "anna", Password: "s3cret-word"}, "-", []string{"answered 407 Proxy Authentication Required", "write user name and password"}},
		{"407 with a wrong login", &tunneltest.Proxy{Kind: "http", User: "anna", Password: "s3cret-word"}, "anna:other-w0rd", []string{"answered 407", "does not accept the user name"}},
		{"407 over TLS", &tunneltest.Proxy{Kind: "https", User: "anna", Password: "s3cret-word"}, "-", []string{"answered 407"}},
		{"407 that wants NTLM", &tunneltest.Proxy{Kind: "http", Status: 407, Challenge: "NTLM"}, "anna:s3cret-word", []string{"it wants ntlm", "Basic"}},
		{"403", &tunneltest.Proxy{Kind: "http", Status: 403}, "-", []string{"answered 403 Forbidden", "allow CONNECT to echo.test:7", "port 443 only"}},
		{"502", &tunneltest.Proxy{Kind: "http", Status: 502}, "-", []string{"answered 502 Bad Gateway", "no connection to echo.test:7"}},
		{"an odd status", &tunneltest.Proxy{Kind: "http", Status: 302}, "-", []string{"answered 302 Found", "allows CONNECT"}},
		{"hangs", &tunneltest.Proxy{Kind: "http", Fault: tunneltest.Hang}, "-", []string{"did not answer within 2s"}},
		{"hangs in SOCKS", &tunneltest.Proxy{Kind: "socks5", Fault: tunneltest.Hang}, "-", []string{"did not answer within 2s"}},
		{"closes", &tunneltest.Proxy{Kind: "http", Fault: tunneltest.Close}, "-", []string{"closed the connection without an answer"}},
		{"closes in SOCKS", &tunneltest.Proxy{Kind: "socks5", Fault: tunneltest.Close}, "-", []string{"closed the connection without an answer"}},
		{"no HTTP", &tunneltest.Proxy{Kind: "http", Fault: tunneltest.Noise}, "-", []string{"did not answer in HTTP", "check scheme and port"}},
		{"no SOCKS", &tunneltest.Proxy{Kind: "socks5", Fault: tunneltest.Noise}, "-", []string{"did not answer in SOCKS5", "check scheme and port"}},
		{"speaks for the server", &tunneltest.Proxy{Kind: "http", Fault: tunneltest.Speak}, "-", []string{"data behind the answer"}},
		{"SOCKS without a login", &tunneltest.Proxy{Kind: "socks5", User: "anna", Password: "s3cret-word"}, "-", []string{"wants a user name and a password"}},
		{"SOCKS with a wrong login", &tunneltest.Proxy{Kind: "socks5", User: "anna", Password: "s3cret-word"}, "anna:other-w0rd", []string{"refused user name and password"}},
		{"SOCKS ruleset", &tunneltest.Proxy{Kind: "socks5", Status: 2}, "-", []string{"connection not allowed by ruleset", "allow connections to echo.test:7"}},
		{"SOCKS unreachable", &tunneltest.Proxy{Kind: "socks5", Status: 4}, "-", []string{"host unreachable", "no connection to echo.test:7"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			p := c.proxy
			p.Names = map[string]string{"echo.test:7": echo(t)}
			p.Start(t)
			scheme, at, _ := strings.Cut(p.Name(), "://")
			way := p.URL()
			if c.login == "-" {
				way = p.Name()
			} else if c.login != "" {
				way = scheme + "://" + c.login + "@" + at
			}
			conn, err := dial(t, p, way, "echo.test:7")
			if err == nil {
				_ = conn.Close()
				t.Fatal("there is a tunnel")
			}
			if f := new(outbound.Failure); !errors.As(err, &f) {
				t.Fatalf("%T: %v", err, err)
			}
			for _, want := range append(c.want, "the proxy "+p.Name()+" ") {
				if !strings.Contains(err.Error(), want) {
					t.Errorf("%q does not say %q", err, want)
				}
			}
			for _, secret := range []string{"s3cret-word", "other-w0rd", "anna"} {
				if text := fmt.Sprintf("%v %+v %#v", err, err, errors.Unwrap(err)); strings.Contains(text, secret) {
					t.Errorf("%q has %q", text, secret)
				}
			}
		})
	}
}

// A proxy that is not there: nothing listens, it has no name, or no TLS where https is written.
func TestUnreachable(t *testing.T) {
	t.Parallel()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	_ = l.Close()
	plain := (&tunneltest.Proxy{Kind: "http", Fault: tunneltest.Noise}).Start(t)
	_, port, _ := strings.Cut(strings.TrimPrefix(plain.Name(), "http://"), ":")
	for _, c := range []struct{ way, want string }{
		{"http://" + l.Addr().String(), "cannot be reached (connection refused)"},
		{"socks5://" + l.Addr().String(), "cannot be reached (connection refused)"},
		{"http://proxy.invalid:3128", "cannot be resolved"},
		{"https://127.0.0.1:" + port, "has no valid TLS"},
	} {
		conn, err := dial(t, plain, c.way, "echo.test:7")
		if err == nil {
			_ = conn.Close()
			t.Errorf("%s: there is a tunnel", c.way)
		} else if !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %q", c.way, err, c.want)
		}
	}
}

// The end of the caller ends the wait for a proxy at once, whatever time it has.
func TestCallerGone(t *testing.T) {
	t.Parallel()
	for _, kind := range tunneltest.Kinds {
		p := (&tunneltest.Proxy{Kind: kind, Fault: tunneltest.Hang}).Start(t)
		way, err := outbound.Parse(p.URL(), nil)
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		d := tunnel.Dialer{Connect: time.Hour, TLS: &tls.Config{RootCAs: p.Roots(), MinVersion: tls.VersionTLS12}}
		ended := make(chan error, 1)
		go func() {
			_, err := d.Dial(ctx, way, "echo.test:7")
			ended <- err
		}()
		cancel()
		if err := <-ended; err == nil {
			t.Errorf("%s: there is a tunnel", kind)
		}
	}
}
