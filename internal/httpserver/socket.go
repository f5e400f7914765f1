package httpserver

import (
	"bufio"
	"context"
	"encoding/base64"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/coder/websocket"

	"weir/internal/fault"
	"weir/internal/loop"
)

// Codes with which a node closes WebSockets (RFC 6455, section 7.4.1).
const (
	CloseAway    = int(websocket.StatusGoingAway)
	ClosePolicy  = int(websocket.StatusPolicyViolation)
	CloseLarge   = int(websocket.StatusMessageTooBig)
	CloseRestart = int(websocket.StatusServiceRestart)
)

// What an idle socket has in memory beside these is its goroutine and the fields of its request.
const (
	socketReads  = 1 << 10 // buffer for what the client sends; messages are read past it
	socketWrites = 4 << 10 // and for frames on their way: most fit, and go with one call of the system
	writePiece   = 64 << 10
)

const (
	socketPing = 30 * time.Second // between pings: proxies end connections that are silent for a minute
	socketPong = 30 * time.Second // a client that does not answer one for so long is gone

	// A client may send so many frames that ask for nothing in such a time: pings, and messages that are refused.
	noiseMost = 200
	noiseTime = 10 * time.Second
)

// Socket is a WebSocket of a client: it receives messages one after another, and sends text. Its context ends with it, or when the server ends the
// requests that are left. One goroutine may call Receive, with what reads its messages; the other methods are safe for concurrent use.
type Socket struct {
	conn   *websocket.Conn
	raw    *socketConn
	server *Server // nil: none knows it
	ctx    context.Context
	cancel context.CancelCauseFunc
	ping   *time.Timer

	mu    sync.Mutex
	began time.Time // of the noise that is counted
	noise int
	busy  bool
	ended bool
	leave *leaving
}

// leaving is how a socket is closed as soon as it is idle.
type leaving struct {
	code int
	why  string
	say  []byte // sent before; nil: nothing
}

// IsSocket reports whether a request asks to go on with a WebSocket on its connection.
func IsSocket(r *http.Request) bool {
	return r.Method == http.MethodGet && r.ProtoMajor == 1 && strings.EqualFold(r.Header.Get("Upgrade"), "websocket")
}

// CheckSocket refuses handshakes that are no WebSocket's.
func CheckSocket(r *http.Request) error {
	const op = "httpserver.CheckSocket"
	key, err := base64.StdEncoding.DecodeString(strings.TrimSpace(r.Header.Get("Sec-Websocket-Key")))
	switch {
	case r.ProtoMinor < 1:
		return fault.New(fault.Invalid, op, "A WebSocket needs HTTP/1.1.")
	case !hasToken(r.Header["Connection"], "upgrade"):
		return fault.Field(op, "Connection", "A WebSocket needs the header Connection: Upgrade. A proxy on the way may have taken it out.")
	case r.Header.Get("Sec-Websocket-Version") != "13":
		return fault.Field(op, "Sec-WebSocket-Version", "Sec-WebSocket-Version must be 13.")
	case err != nil || len(key) != 16 || len(r.Header["Sec-Websocket-Key"]) != 1:
		return fault.Field(op, "Sec-WebSocket-Key", "Sec-WebSocket-Key must be 16 bytes in base64, once.")
	}
	return nil
}

func hasToken(values []string, token string) bool {
	for _, v := range values {
		for one := range strings.SplitSeq(v, ",") {
			if strings.EqualFold(strings.TrimSpace(one), token) {
				return true
			}
		}
	}
	return false
}

// Upgrade goes on with a WebSocket in place of an answer. CheckSocket must have taken the request, and no head been written; largest is the size of
// a message that is read.
func (a *Answer) Upgrade(r *http.Request, largest int64) (*Socket, error) {
	s := &Socket{}
	base := context.Background()
	s.server, _ = r.Context().Value(serverKey{}).(*Server)
	if s.server != nil {
		base = s.server.base
		if s.server.leaves() {
			return nil, fault.New(fault.Draining, "httpserver.Upgrade", "The gateway is shutting down.")
		}
	}
	h := &hijacker{ResponseWriter: a.to, stall: a.stall}
	a.status = http.StatusSwitchingProtocols
	conn, err := websocket.Accept(h, r, &websocket.AcceptOptions{
		InsecureSkipVerify: true, // whose pages may call the API is known above
		OnPingReceived:     func(context.Context, []byte) bool { return s.mayPing() },
		OnPongReceived:     func(context.Context, []byte) { s.mayPing() },
	})
	if err != nil {
		return nil, fault.New(fault.Internal, "httpserver.Upgrade", "").Because(err)
	}
	conn.SetReadLimit(largest)
	s.conn, s.raw = conn, h.conn
	s.ctx, s.cancel = context.WithCancelCause(base)
	s.ping = time.AfterFunc(socketPing, s.alive)
	if s.server != nil && !s.server.adopt(s) {
		s.Leave(CloseRestart, "The gateway is restarting.", nil)
	}
	return s, nil
}

// Context ends with the socket.
func (s *Socket) Context() context.Context { return s.ctx }

// Receive waits for the next message, which must be read to its end before the next call. It fails when the socket has ended.
func (s *Socket) Receive() (message io.Reader, text bool, err error) {
	kind, message, err := s.conn.Reader(context.Background())
	return message, kind == websocket.MessageText, err
}

// Rest drops what was not read of a message.
func (s *Socket) Rest(message io.Reader) error {
	_ = s.SetReadDeadline(time.Now().Add(lingerTotal)) // deadlines of sockets are by the system's clock
	_, err := io.Copy(io.Discard, message)
	_ = s.SetReadDeadline(time.Time{})
	return err
}

// SetReadDeadline ends a message that comes too slowly, and the socket with it.
func (s *Socket) SetReadDeadline(t time.Time) error { return s.raw.SetReadDeadline(t) }

// Send sends a text. A client that takes none of it for as long as answers may stall is dropped.
func (s *Socket) Send(text []byte) error {
	err := s.conn.Write(context.Background(), websocket.MessageText, text)
	if err != nil {
		s.Cut() // what was sent may be half a frame
	}
	return err
}

// Begin has the socket wait with closing until Done, and reports whether it is not closing already.
func (s *Socket) Begin() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.busy = s.leave == nil
	return s.busy
}

// Done ends what Begin began. A socket that was to leave does so.
func (s *Socket) Done() {
	s.mu.Lock()
	s.busy = false
	leave := s.leave
	s.mu.Unlock()
	if leave != nil {
		s.close(leave)
	}
}

// Leave closes the socket as soon as it is idle, after it has said something; nil is nothing. The first reason counts.
func (s *Socket) Leave(code int, why string, say []byte) {
	s.mu.Lock()
	first := s.leave == nil
	if first {
		s.leave = &leaving{code, why, say}
	}
	idle, leave := !s.busy, s.leave
	s.mu.Unlock()
	if first && idle {
		go s.close(leave) // the client may take its time
	}
}

func (s *Socket) close(l *leaving) {
	if l.say != nil {
		_ = s.Send(l.say)
	}
	_ = s.conn.Close(websocket.StatusCode(l.code), l.why)
}

// Cut ends the socket without a word.
func (s *Socket) Cut() { _ = s.conn.CloseNow() }

// End gives back what the socket has; its client has gone, or was sent away. What still works for it is stopped.
func (s *Socket) End() {
	s.mu.Lock()
	s.ended = true
	s.mu.Unlock()
	s.ping.Stop()
	s.cancel(context.Canceled)
	s.Cut()
}

// Forget has the server know that nothing works for the socket any more.
func (s *Socket) Forget() {
	if s.server != nil {
		s.server.forget(s)
	}
}

// alive asks the client whether it is there.
func (s *Socket) alive() {
	ctx, stop := context.WithTimeout(s.ctx, socketPong)
	defer stop()
	if s.conn.Ping(ctx) != nil {
		s.Cut()
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.ended {
		s.ping.Reset(socketPing)
	}
}

// Noise counts a frame that asks for nothing, and reports whether the client may go on.
func (s *Socket) Noise() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if now := time.Now(); now.Sub(s.began) > noiseTime { // by the system's clock, as the network
		s.began, s.noise = now, 0
	}
	s.noise++
	return s.noise <= noiseMost
}

func (s *Socket) mayPing() bool {
	if s.Noise() {
		return true
	}
	s.Cut()
	return false
}

// hijacker takes the connection over with small buffers.
type hijacker struct {
	http.ResponseWriter
	stall time.Duration
	conn  *socketConn
}

// Hijack takes the connection over, with what has come of it.
func (h *hijacker) Hijack() (net.Conn, *bufio.ReadWriter, error) {
	c, buffers, err := http.NewResponseController(h.ResponseWriter).Hijack()
	if err != nil {
		return nil, nil, err
	}
	h.conn = &socketConn{Conn: c, stall: h.stall}
	if n := buffers.Reader.Buffered(); n > 0 {
		h.conn.come = make([]byte, n)
		_, _ = io.ReadFull(buffers.Reader, h.conn.come) // it is there
	}
	return h.conn, bufio.NewReadWriter(bufio.NewReaderSize(h.conn, socketReads), bufio.NewWriterSize(h.conn, socketWrites)), nil
}

// socketConn is a connection that was taken over. Each piece that is written has a time to be taken.
type socketConn struct {
	net.Conn
	stall time.Duration
	come  []byte // before it was taken over
}

// Read reads what came before, and then from the connection.
func (c *socketConn) Read(p []byte) (int, error) {
	if len(c.come) > 0 {
		n := copy(p, c.come)
		c.come = c.come[n:]
		return n, nil
	}
	return c.Conn.Read(p)
}

// Write writes piece by piece.
func (c *socketConn) Write(p []byte) (n int, err error) {
	for len(p) > 0 && err == nil {
		_ = c.SetWriteDeadline(time.Now().Add(c.stall)) // deadlines of sockets are by the system's clock
		var m int
		m, err = c.Conn.Write(p[:min(len(p), writePiece)])
		n, p = n+m, p[m:]
	}
	return n, err
}

// serverKey is where a request's context has its server.
type serverKey struct{}

// leaves reports whether sockets are sent away.
func (s *Server) leaves() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.leaving
}

// adopt has a drain wait for a socket, and reports whether none has begun.
func (s *Server) adopt(k *Socket) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.sockets[k] = struct{}{}
	return !s.leaving
}

func (s *Server) forget(k *Socket) {
	s.mu.Lock()
	delete(s.sockets, k)
	s.mu.Unlock()
}

func (s *Server) openSockets() []*Socket {
	s.mu.Lock()
	defer s.mu.Unlock()
	list := make([]*Socket, 0, len(s.sockets))
	for k := range s.sockets {
		list = append(list, k)
	}
	return list
}

// Sockets is how many WebSockets are open.
func (s *Server) Sockets() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.sockets)
}

// sendAway closes idle sockets, and the others when their answer has ended.
func (s *Server) sendAway() {
	s.mu.Lock()
	s.leaving = true
	s.mu.Unlock()
	for _, k := range s.openSockets() {
		k.Leave(CloseRestart, "The gateway is restarting.", nil)
	}
}

// awaitSockets waits until no socket is left.
func (s *Server) awaitSockets(ctx context.Context) error {
	for s.Sockets() > 0 {
		if err := loop.Wait(ctx, freshCheck); err != nil {
			return context.Cause(ctx)
		}
	}
	return nil
}
