// Package tunneltest has proxies over loopback for tests, written from the documents and sharing no code with the client: CONNECT over TCP and TLS
// (RFC 9110), SOCKS5 with and without a password (RFC 1928, RFC 1929). They fail on demand in the ways in which proxies do.
package tunneltest

import (
	"bufio"
	"crypto/tls"
	"crypto/x509"
	"encoding/base64"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
)

// Kinds are the schemes of proxies.
var Kinds = []string{"http", "https", "socks5"}

// Fault is what a proxy does instead of its work.
type Fault int

// The faults.
const (
	None   Fault = iota
	Hang         // takes the connection and says nothing
	Close        // closes it without an answer
	Speak        // sends bytes behind its answer, before the server spoke
	Noise        // answers in no protocol
	Chatty       // sends informational answers first, and a length that CONNECT does not have
)

// Proxy is one that runs until the end of its test.
type Proxy struct {
	Kind           string
	User, Password string            // it asks for, if any
	Names          map[string]string // host and port as asked -> address to connect to; others are connected to as they are
	Status         int               // of every answer, in place of a tunnel; for SOCKS the reply
	Challenge      string            // value of Proxy-Authenticate; "": Basic
	Fault          Fault
	DieAfter       int // events of a stream, after which tunnels are closed; 0: never

	Tunnels atomic.Int64 // that were opened
	pool    *x509.CertPool
	at      net.Listener

	mu    sync.Mutex
	asked []string
	open  map[net.Conn]bool
}

// Start starts it.
func (p *Proxy) Start(t testing.TB) *Proxy {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	p.open = map[net.Conn]bool{}
	if p.Kind == "https" {
		cert := certificate(t)
		p.pool = x509.NewCertPool()
		p.pool.AddCert(cert.Leaf)
		l = tls.NewListener(l, &tls.Config{Certificates: []tls.Certificate{cert}, MinVersion: tls.VersionTLS12})
	}
	p.at = l
	var all sync.WaitGroup
	all.Go(func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			all.Go(func() { p.serve(conn) })
		}
	})
	t.Cleanup(func() {
		_ = l.Close()
		p.CloseTunnels()
		all.Wait()
	})
	return p
}

// certificate is that of net/http's tests, for 127.0.0.1.
func certificate(t testing.TB) tls.Certificate {
	t.Helper()
	s := httptest.NewTLSServer(http.NotFoundHandler())
	defer s.Close()
	c := s.TLS.Certificates[0]
	c.Leaf = s.Certificate()
	return c
}

// URL is its address, with what it asks for.
func (p *Proxy) URL() string {
	login := ""
	if p.User != "" {
		login = p.User + ":" + p.Password + "@"
	}
	return p.Kind + "://" + login + p.at.Addr().String()
}

// Name is its address as it is shown.
func (p *Proxy) Name() string { return p.Kind + "://" + p.at.Addr().String() }

// Roots vouch for it, nil for one without TLS.
func (p *Proxy) Roots() *x509.CertPool { return p.pool }

// Asked lists to which hosts and ports tunnels were asked for.
func (p *Proxy) Asked() []string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return append([]string(nil), p.asked...)
}

// CloseTunnels ends all connections, as a proxy does with idle ones, or when it restarts.
func (p *Proxy) CloseTunnels() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for c := range p.open {
		_ = c.Close()
	}
}

func (p *Proxy) serve(conn net.Conn) {
	p.mu.Lock()
	p.open[conn] = true
	p.mu.Unlock()
	defer func() {
		_ = conn.Close()
		p.mu.Lock()
		delete(p.open, conn)
		p.mu.Unlock()
	}()
	in := bufio.NewReader(conn)
	switch p.Fault {
	case Hang:
		_, _ = io.Copy(io.Discard, in)
		return
	case Close:
		_, _ = in.ReadByte()
		return
	case Noise:
		_, _ = in.ReadByte()
		_, _ = io.WriteString(conn, "220 mail.example ESMTP\r\n\r\n")
		return
	}
	var server net.Conn
	var err error
	if p.Kind == "socks5" {
		server, err = p.socks(conn, in)
	} else {
		server, err = p.connect(conn, in)
	}
	if err != nil {
		return
	}
	defer func() { _ = server.Close() }()
	p.Tunnels.Add(1)
	p.carry(conn, in, server)
}

// carry passes bytes both ways until one side ends.
func (p *Proxy) carry(conn net.Conn, in io.Reader, server net.Conn) {
	done := make(chan struct{})
	go func() {
		defer close(done)
		_, _ = io.Copy(server, in)
		_ = server.Close()
	}()
	if p.DieAfter > 0 {
		p.die(conn, server)
	} else {
		_, _ = io.Copy(conn, server)
	}
	_ = conn.Close()
	<-done
}

// die passes lines until there were enough events.
func (p *Proxy) die(conn io.Writer, server io.Reader) {
	lines := bufio.NewReader(server)
	for events := 0; events < p.DieAfter; {
		line, err := lines.ReadString('\n')
		if _, failed := io.WriteString(conn, line); failed != nil || err != nil {
			return
		}
		if strings.HasPrefix(line, "data:") {
			events++
		}
	}
}

func (p *Proxy) dial(address string) (net.Conn, error) {
	p.mu.Lock()
	p.asked = append(p.asked, address)
	p.mu.Unlock()
	if to := p.Names[address]; to != "" {
		address = to
	}
	return net.Dial("tcp", address)
}

func (p *Proxy) connect(conn net.Conn, in *bufio.Reader) (net.Conn, error) {
	req, err := http.ReadRequest(in)
	if err != nil {
		return nil, err
	}
	answer := func(status int, header string) error {
		_, err := fmt.Fprintf(conn, "HTTP/1.1 %d %s\r\n%s\r\n", status, http.StatusText(status), header)
		return errors.Join(err, errors.New("answered"))
	}
	want := "Basic " + base64.StdEncoding.EncodeToString([]byte(p.User+":"+p.Password))
	switch {
	case req.Method != http.MethodConnect || req.Host != req.RequestURI:
		return nil, answer(http.StatusBadRequest, "")
	case p.User != "" && req.Header.Get("Proxy-Authorization") != want, p.Status == http.StatusProxyAuthRequired:
		challenge := p.Challenge
		if challenge == "" {
			challenge = `Basic realm="proxy"`
		}
		return nil, answer(http.StatusProxyAuthRequired, "Proxy-Authenticate: "+challenge+"\r\nConnection: close\r\n")
	case p.Status != 0:
		return nil, answer(p.Status, "Content-Length: 0\r\n")
	}
	server, err := p.dial(req.RequestURI)
	if err != nil {
		return nil, answer(http.StatusBadGateway, "Content-Length: 0\r\n")
	}
	head := "HTTP/1.1 200 Connection established\r\n\r\n"
	switch p.Fault {
	case Speak:
		head += "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}"
	case Chatty:
		head = "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\n\r\nHTTP/1.1 204 Open\r\nContent-Length: 10\r\n\r\n"
	}
	if _, err = io.WriteString(conn, head); err != nil {
		_ = server.Close()
	}
	return server, err
}

// socks answers by RFC 1928, and RFC 1929 where it asks for a password.
func (p *Proxy) socks(conn net.Conn, in *bufio.Reader) (net.Conn, error) {
	refused := errors.New("refused")
	if err := p.greet(conn, in); err != nil {
		return nil, err
	}
	head := make([]byte, 4)
	if _, err := io.ReadFull(in, head); err != nil || head[0] != 5 || head[1] != 1 {
		return nil, refused
	}
	var host string
	switch head[3] {
	case 1, 4:
		ip := make(net.IP, map[byte]int{1: 4, 4: 16}[head[3]])
		if _, err := io.ReadFull(in, ip); err != nil {
			return nil, err
		}
		host = ip.String()
	case 3:
		name, err := counted(in)
		if err != nil {
			return nil, err
		}
		host = name
	default:
		return nil, refused
	}
	port := make([]byte, 2)
	if _, err := io.ReadFull(in, port); err != nil {
		return nil, err
	}
	reply := func(code byte) error {
		_, err := conn.Write([]byte{5, code, 0, 1, 0, 0, 0, 0, 0, 0})
		return err
	}
	if p.Status != 0 {
		return nil, errors.Join(reply(byte(p.Status)), refused)
	}
	server, err := p.dial(net.JoinHostPort(host, strconv.Itoa(int(binary.BigEndian.Uint16(port)))))
	if err != nil {
		return nil, errors.Join(reply(5), refused)
	}
	if err := reply(0); err != nil {
		_ = server.Close()
		return nil, err
	}
	return server, nil
}

func (p *Proxy) greet(conn net.Conn, in *bufio.Reader) error {
	version, err := in.ReadByte()
	if err != nil || version != 5 {
		return errors.New("not SOCKS5")
	}
	methods, err := counted(in)
	if err != nil {
		return err
	}
	if p.User == "" {
		_, err = conn.Write([]byte{5, 0})
		return err
	}
	if !strings.Contains(methods, "\x02") {
		_, _ = conn.Write([]byte{5, 0xff})
		return errors.New("no password offered")
	}
	if _, err := conn.Write([]byte{5, 2}); err != nil {
		return err
	}
	if version, err = in.ReadByte(); err != nil || version != 1 {
		return errors.New("no password")
	}
	user, err := counted(in)
	if err != nil {
		return err
	}
	password, err := counted(in)
	if err != nil {
		return err
	}
	if user != p.User || password != p.Password {
		_, _ = conn.Write([]byte{1, 1})
		return errors.New("wrong password")
	}
	_, err = conn.Write([]byte{1, 0})
	return err
}

// counted reads a byte and as many bytes as it says.
func counted(in *bufio.Reader) (string, error) {
	n, err := in.ReadByte()
	if err != nil {
		return "", err
	}
	b := make([]byte, n)
	_, err = io.ReadFull(in, b)
	return string(b), err
}
