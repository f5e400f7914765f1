// Package tunnel opens connections through proxies: with CONNECT (RFC 9110, section 9.3.6) over http and https, and with SOCKS5 (RFC 1928, RFC
// 1929). It does not decide which connection goes where, and never lets a proxy see what passes inside.
package tunnel

import (
	"bufio"
	"context"
	"crypto/tls"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"slices"
	"strings"
	"time"

	"golang.org/x/net/proxy"

	"weir/internal/outbound"
)

const (
	maxHead          = 64 << 10 // of a proxy's answer
	maxInformational = 16
	usualConnect     = 5 * time.Second
)

// Dialer opens connections, directly or through a proxy. It is safe for concurrent use.
type Dialer struct {
	Ways    *outbound.Ways
	Connect time.Duration // for a connection to the proxy, for its TLS, and again for its answer; 0: 5 s
	TLS     *tls.Config   // base for proxies with https; nil: the system's authorities
}

// DialContext connects by the way of the whole gateway, for an http.Transport.
func (d *Dialer) DialContext(ctx context.Context, _, address string) (net.Conn, error) {
	return d.Dial(ctx, d.Ways.To(outbound.Proxy{}, address), address)
}

// Dial connects to a host and port. What fails at the proxy is an *outbound.Failure. The proxy gets the host as it is, so that it resolves names.
func (d *Dialer) Dial(ctx context.Context, way outbound.Proxy, address string) (net.Conn, error) {
	within := d.Connect
	if within <= 0 {
		within = usualConnect
	}
	dialer := net.Dialer{Timeout: within, KeepAlive: 30 * time.Second}
	if !way.Through() {
		return dialer.DialContext(ctx, "tcp", address)
	}
	conn, err := dialer.DialContext(ctx, "tcp", way.Address())
	if err != nil {
		return nil, unreachable(way, within, err)
	}
	out, err := d.through(ctx, conn, way, address, within)
	if err != nil {
		_ = conn.Close()
		return nil, err
	}
	return out, nil
}

func (d *Dialer) through(ctx context.Context, conn net.Conn, way outbound.Proxy, address string, within time.Duration) (net.Conn, error) {
	if way.Scheme() == "https" {
		secure := tls.Client(conn, d.config(way))
		soon, cancel := context.WithTimeout(ctx, within)
		err := secure.HandshakeContext(soon)
		cancel()
		if err != nil {
			return nil, insecure(way, within, err)
		}
		conn = secure
	}
	soon, cancel := context.WithTimeout(ctx, within)
	defer cancel()
	if way.Scheme() == "socks5" {
		return conn, socks(soon, conn, way, address, within)
	}
	return conn, connect(soon, conn, way, address, within)
}

func (d *Dialer) config(way outbound.Proxy) *tls.Config {
	c := &tls.Config{MinVersion: tls.VersionTLS12}
	if d.TLS != nil {
		c = d.TLS.Clone()
	}
	c.ServerName, c.NextProtos = way.Host(), []string{"http/1.1"}
	return c
}

// connect asks an HTTP proxy for a tunnel. Its whole answer is bounded: net/http itself sets no time for it.
func connect(ctx context.Context, conn net.Conn, way outbound.Proxy, address string, within time.Duration) error {
	if deadline, set := ctx.Deadline(); set {
		_ = conn.SetDeadline(deadline)
	}
	stop := context.AfterFunc(ctx, func() { _ = conn.SetDeadline(time.Unix(1, 0)) })
	status, wants, err := ask(conn, way, address)
	if !stop() && err == nil {
		err = ctx.Err()
	}
	switch {
	case err != nil:
		return unanswered(way, within, err)
	case status < 200 || status > 299: // any 2xx opens the tunnel
		return refused(way, address, status, wants)
	}
	return conn.SetDeadline(time.Time{})
}

var errEarly = errors.New("there is data behind the answer of the proxy")

// ask returns the status of the proxy's answer, and the schemes by which it wants to know who asks.
func ask(conn net.Conn, way outbound.Proxy, address string) (status int, wants []string, err error) {
	head := "CONNECT " + address + " HTTP/1.1\r\nHost: " + address + "\r\nUser-Agent: weir\r\n"
	if user, password := way.Login(); user != "" {
		head += "Proxy-Authorization: Basic " + base64.StdEncoding.EncodeToString([]byte(user+":"+password)) + "\r\n"
	}
	if _, err := io.WriteString(conn, head+"\r\n"); err != nil {
		return 0, nil, err
	}
	read := bufio.NewReader(io.LimitReader(conn, maxHead))
	for range maxInformational {
		resp, err := http.ReadResponse(read, &http.Request{Method: http.MethodConnect}) //nolint:bodyclose // the body is the tunnel
		if err != nil {
			return 0, nil, err
		}
		if resp.StatusCode < 200 {
			continue
		}
		for _, challenge := range resp.Header.Values("Proxy-Authenticate") {
			scheme, _, _ := strings.Cut(challenge, " ")
			wants = append(wants, strings.ToLower(scheme))
		}
		// The server speaks when it is asked. Bytes that come before would be taken for its own.
		if resp.StatusCode <= 299 && read.Buffered() > 0 {
			return 0, nil, errEarly
		}
		return resp.StatusCode, wants, nil
	}
	return 0, nil, errors.New("too many informational answers")
}

// connected is a connection that is there already, for the client of SOCKS.
type connected struct{ net.Conn }

func (c connected) Dial(string, string) (net.Conn, error) { return c.Conn, nil }

func (c connected) DialContext(context.Context, string, string) (net.Conn, error) { return c.Conn, nil }

func socks(ctx context.Context, conn net.Conn, way outbound.Proxy, address string, within time.Duration) error {
	var login *proxy.Auth
	if user, password := way.Login(); user != "" {
		login = &proxy.Auth{User: user, Password: password}
	}
	d, err := proxy.SOCKS5("tcp", way.Address(), login, connected{conn})
	if err == nil {
		_, err = d.(proxy.ContextDialer).DialContext(ctx, "tcp", address)
	}
	if err != nil {
		return unsocked(way, address, within, err)
	}
	return nil
}

func late(err error) bool {
	return errors.Is(err, os.ErrDeadlineExceeded) || errors.Is(err, context.DeadlineExceeded) || isTimeout(err)
}

func isTimeout(err error) bool {
	var t net.Error
	return errors.As(err, &t) && t.Timeout()
}

// unreachable is a proxy to which there is no connection.
func unreachable(way outbound.Proxy, within time.Duration, err error) error {
	f := &outbound.Failure{Proxy: way, Cause: err, What: "cannot be reached (" + plain(err) + ")", Remedy: "check its address and whether it runs"}
	var name *net.DNSError
	switch {
	case late(err):
		f.What = fmt.Sprintf("cannot be reached within %s", within)
		f.Remedy = "check its address, whether it runs, and the firewall"
	case errors.As(err, &name):
		f.What, f.Remedy = "cannot be resolved to an address", "check its name and DNS"
	}
	return f
}

// plain is the innermost text of an error, which holds no address.
func plain(err error) string {
	var op *net.OpError
	for errors.As(err, &op) {
		err = op.Err
	}
	var call *os.SyscallError
	if errors.As(err, &call) {
		err = call.Err
	}
	return err.Error()
}

func insecure(way outbound.Proxy, within time.Duration, err error) error {
	f := &outbound.Failure{Proxy: way, Cause: err, What: "has no valid TLS (" + plain(err) + ")", Remedy: "write http:// if it has none; else trust its authority on this machine, or in a file that SSL_CERT_FILE names"}
	if late(err) {
		f.What, f.Remedy = fmt.Sprintf("did not finish its TLS within %s", within), "check whether it speaks TLS on this port, and whether it is overloaded"
	}
	return f
}

func unanswered(way outbound.Proxy, within time.Duration, err error) error {
	f := &outbound.Failure{Proxy: way, Cause: err, What: "did not answer in HTTP (" + plain(err) + ")", Remedy: "check scheme and port of its address"}
	switch {
	case late(err):
		f.What, f.Remedy = fmt.Sprintf("did not answer within %s", within), "check whether it is overloaded, and whether it may connect to this server"
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		f.What, f.Remedy = "closed the connection without an answer", "check its log, and scheme and port of its address"
	}
	return f
}

// refused is an answer other than 2xx.
func refused(way outbound.Proxy, address string, status int, wants []string) error {
	f := &outbound.Failure{Proxy: way, What: strings.TrimSpace(fmt.Sprintf("answered %d %s", status, http.StatusText(status)))}
	user, _ := way.Login()
	switch {
	case status == http.StatusProxyAuthRequired && len(wants) > 0 && !slices.Contains(wants, "basic"):
		f.Remedy = "it wants " + strings.Join(wants, ", ") + ", and Weir sends user name and password (Basic): allow that there, or let this machine in by its address"
	case status == http.StatusProxyAuthRequired && user == "":
		f.Remedy = "write user name and password into its address, as ${NAME} of variables"
	case status == http.StatusProxyAuthRequired:
		f.Remedy = "it does not accept the user name and the password in its address"
	case status == http.StatusForbidden, status == http.StatusMethodNotAllowed:
		f.Remedy = "allow CONNECT to " + address + " there; many proxies allow port 443 only"
	case status == http.StatusBadGateway, status == http.StatusServiceUnavailable, status == http.StatusGatewayTimeout:
		f.Remedy = "it has no connection to " + address + ": check that address, and the proxy's own network"
	default:
		f.Remedy = "check whether it is a proxy that allows CONNECT to " + address
	}
	return f
}

func unsocked(way outbound.Proxy, address string, within time.Duration, err error) error {
	said := plain(err)
	f := &outbound.Failure{Proxy: way, Cause: err}
	user, _ := way.Login()
	reply, replied := strings.CutPrefix(said, "unknown error ")
	switch {
	case late(err):
		f.What, f.Remedy = fmt.Sprintf("did not answer within %s", within), "check whether it is overloaded, and whether it may connect to this server"
	case replied && reply == "connection not allowed by ruleset":
		f.What, f.Remedy = "answered: "+reply, "allow connections to "+address+" there"
	case replied:
		f.What, f.Remedy = "answered: "+reply, "it has no connection to "+address+": check that address, and the proxy's own network"
	case said == "no acceptable authentication methods" && user == "":
		f.What, f.Remedy = "wants a user name and a password", "write both into its address, as ${NAME} of variables"
	case said == "no acceptable authentication methods", said == "username/password authentication failed":
		f.What, f.Remedy = "refused user name and password", "correct both in its address"
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		f.What, f.Remedy = "closed the connection without an answer", "check its log, and scheme and port of its address"
	default:
		f.What, f.Remedy = "did not answer in SOCKS5 ("+said+")", "check scheme and port of its address"
	}
	return f
}
