package httpapi

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"io"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"weir/internal/catalog"
	"weir/internal/completion"
	"weir/internal/fault"
	"weir/internal/httpserver"
	"weir/internal/limit"
	"weir/internal/limit/quota"
	"weir/internal/relay"
	"weir/internal/routing"
	"weir/internal/wire/responses"
)

// responsesPath is where requests of the responses style arrive, one by one or as the messages of a WebSocket.
const responsesPath = "/v1/responses"

const (
	// socketShare is the part of the memory for bodies that sockets may have for what they keep: one in so many bytes, beside it.
	socketShare = 4
	// beyondBody is how much larger than a body a message may be that is refused with a word.
	beyondBody = 1 << 20
	// mostWaiting is how many messages of a socket wait for the end of those before them, beside what their memory bounds.
	mostWaiting = 16
	// waitingTime is how long a message may take to arrive that will wait.
	waitingTime = time.Minute
	// peeked is how much of a message is read to see whether it asks for anything.
	peeked = 512
)

// socket is a WebSocket of the responses style. Each message that it receives is answered as the same request over HTTP would be, by the same
// code: with its own id, key, limits, charge and line in the log.
type socket struct {
	api  *API
	conn *httpserver.Socket
	head *http.Request // that opened it
	id   string        // of that request
	user string
	kept turns

	mu      sync.Mutex
	running bool      // a message is being answered
	over    bool      // the socket has ended: no other is
	last    *turn     // the one that is answered or was the last; nil: none yet
	waiting []waiting // to be answered, in the order in which they came
	room    limit.Tab // of what waits
}

// waiting is a message that was read and waits for the end of those before it.
type waiting struct {
	message []byte
	room    int64
}

// servesSocket reports whether the route of a request has WebSockets.
func (x *request) servesSocket() bool {
	if !x.api.cfg.WebSockets {
		return false
	}
	route, _, _ := x.table.find(http.MethodPost, x.r.URL)
	return route != nil && route.Pattern == responsesPath
}

// openSocket serves GET /v1/responses with an upgrade.
func (x *request) openSocket() error {
	x.route = x.api.socketRoute
	if err := x.authorize(); err != nil {
		return err
	}
	if err := x.fromOwnPage(); err != nil {
		return err
	}
	if err := httpserver.CheckSocket(x.r); err != nil {
		return err
	}
	user := x.caller.User
	if err := x.api.quotas.Call(x.at, user); err != nil {
		return err
	}
	most := x.api.cfg.MaxSocketsByUser
	if !x.api.sockets.Enter(user, most) {
		return quota.Crowded(most, "max_sockets_per_user", "This user has reached the limit of open WebSockets. Close some, or send requests over HTTP.")
	}
	s := &socket{api: x.api, head: headOf(x.r), id: x.id, user: user}
	conn, err := x.w.Upgrade(x.r, x.api.cfg.MaxBody+beyondBody)
	if err != nil {
		x.api.sockets.Leave(user)
		return err
	}
	s.conn = conn
	s.kept.memory.Open(x.api.socketBytes, user)
	s.room.Open(x.api.socketBytes, user)
	x.api.openSockets.Add(1)
	go s.run()
	return nil
}

// fromOwnPage refuses a page of another origin where the API is not for such: browsers open WebSockets without asking first.
func (x *request) fromOwnPage() error {
	origin := x.header("Origin")
	if origin == "" || x.cors() || x.ownOrigin(origin) {
		return nil
	}
	return fault.New(fault.PermissionDenied, "httpapi.fromOwnPage", "Pages of other origins may not use this gateway: server.cors is off.")
}

// ofHandshake are fields of the head that are not about the requests which follow.
var ofHandshake = []string{"Connection", "Upgrade", "Content-Type", "Content-Encoding", "Content-Length", "Idempotency-Key",
	"Sec-Websocket-Key", "Sec-Websocket-Version", "Sec-Websocket-Extensions", "Sec-Websocket-Protocol"}

// headOf is the head of the requests of a socket.
func headOf(r *http.Request) *http.Request {
	head := r.Clone(context.Background())
	for _, name := range ofHandshake {
		head.Header.Del(name)
	}
	head.Method, head.Body, head.ContentLength = http.MethodPost, http.NoBody, -1
	return head
}

// run answers one message after the other, until the client or the node ends the socket.
func (s *socket) run() {
	defer func() {
		s.conn.End()
		s.mu.Lock()
		s.over, s.waiting = true, nil
		last := s.last
		s.mu.Unlock()
		if last != nil {
			<-last.done
		}
		s.kept.memory.Close()
		s.room.Close()
		s.api.sockets.Leave(s.user)
		s.api.openSockets.Add(-1)
		s.conn.Forget()
	}()
	minutes := int(s.api.cfg.SocketLife.Minutes())
	life := time.AfterFunc(s.api.cfg.SocketLife, func() {
		e := fault.Newf(fault.SocketEnds, "httpapi.socket", "This WebSocket has been open for %d minutes, its longest time. Open another one to go on.", minutes)
		s.conn.Leave(httpserver.CloseAway, "The longest time of a WebSocket is over.", socketError(e, s.id, nil))
	})
	defer life.Stop()
	for {
		message, text, err := s.conn.Receive()
		if err != nil {
			return
		}
		if s.receive(message, text) != nil {
			return
		}
	}
}

// receive takes a message in. It fails when the socket has ended.
func (s *socket) receive(message io.Reader, text bool) error {
	if !text {
		return s.refuse(message, fault.New(fault.Invalid, "httpapi.socket", "Messages must be text, not binary."))
	}
	begin := bufio.NewReaderSize(message, peeked)
	switch b, err := begin.Peek(peeked); {
	case err == io.EOF && responses.Acknowledges(b):
		return s.refuse(begin, nil)
	case err != nil && err != io.EOF:
		return err
	}
	s.mu.Lock()
	if s.running && len(s.waiting) == 0 && s.last.ended.Load() { // it is over for the client: its next message need not be kept
		last := s.last
		s.mu.Unlock()
		<-last.done
		s.mu.Lock()
	}
	if s.running {
		full := len(s.waiting) >= mostWaiting
		s.mu.Unlock()
		return s.queue(begin, full)
	}
	t := s.start(begin, 0)
	s.mu.Unlock()
	if t == nil {
		return errEnds
	}
	<-t.read
	return s.conn.Rest(begin)
}

// start begins to answer a message; nil: the socket ends. It is called with the lock.
func (s *socket) start(message io.Reader, room int64) *turn {
	s.running = !s.over && s.conn.Begin()
	if !s.running {
		s.waiting = nil
		return nil
	}
	t := &turn{s: s, message: message, room: room, read: make(chan struct{}), done: make(chan struct{}), header: http.Header{}}
	s.last = t
	go t.run()
	return t
}

// queue has a message wait for the end of those before it: OpenAI's WebSocket mode answers them in the order in which they came, one at a time in each stream.
func (s *socket) queue(message io.Reader, full bool) error {
	busy := func(why string) error {
		return s.refuse(message, fault.New(fault.SocketBusy, "httpapi.socket", why+" Wait for the end of a response, or open another WebSocket."))
	}
	if full {
		return busy("16 messages wait for the end of the response that is under way.")
	}
	most := s.api.cfg.MaxBody + 1 // a longer one is refused when it is its turn
	var all []byte
	_ = s.conn.SetReadDeadline(time.Now().Add(waitingTime)) // deadlines of sockets are by the system's clock
	for piece := int64(peeked); int64(len(all)) < most; piece *= 2 {
		if s.room.Take(piece) != limit.None {
			s.room.Give(int64(cap(all)))
			return busy("There is no room for a message that waits.")
		}
		next := make([]byte, int64(cap(all))+piece)
		n := copy(next, all)
		got, err := io.ReadFull(io.LimitReader(message, most-int64(n)), next[n:])
		all = next[:n+got]
		if err == io.EOF || err == io.ErrUnexpectedEOF {
			break
		}
		if err != nil {
			s.room.Give(int64(cap(all)))
			return err
		}
	}
	_ = s.conn.SetReadDeadline(time.Time{})
	room := int64(cap(all))
	if err := s.conn.Rest(message); err != nil {
		s.room.Give(room)
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.running {
		s.waiting = append(s.waiting, waiting{all, room})
		return nil
	}
	if s.start(bytes.NewReader(all), room) == nil { // the one before has ended meanwhile
		s.room.Give(room)
		return errEnds
	}
	return nil
}

// next begins the answer of the message that has waited for longest.
func (s *socket) next() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.waiting) == 0 {
		s.running = false
		return
	}
	w := s.waiting[0]
	s.waiting = s.waiting[1:]
	if s.start(bytes.NewReader(w.message), w.room) == nil {
		s.room.Give(w.room)
	}
}

// errEnds is the end of a socket that is being closed.
var errEnds = errors.New("the socket is closed")

// refuse drops a message that no request is made of; nil is no fault.
func (s *socket) refuse(message io.Reader, e *fault.Error) error {
	if !s.conn.Noise() {
		s.conn.Leave(httpserver.ClosePolicy, "Too many messages that ask for nothing.", nil)
		return errEnds
	}
	if err := s.conn.Rest(message); err != nil || e == nil {
		return err
	}
	return s.conn.Send(socketError(e, s.id, nil))
}

// turn is one message of a socket and its answer. For the request that is made of it, it is the body and the writer of the answer.
type turn struct {
	s       *socket
	message io.Reader
	room    int64 // of a message that has waited
	frame   responses.Frame

	read, done chan struct{}
	whole      sync.Once   // closes read
	ended      atomic.Bool // the client has, or is about to get, the last event

	header http.Header
	status int
	events bool
	body   []byte // of an answer that is no stream of events: a fault
	failed bool
	err    error // of sending

	previous string    // the response that it continues, "" none
	parent   *keptTurn // the same, if the socket keeps it
}

// run answers the message as the request that it is.
func (t *turn) run() {
	s := t.s
	defer func() {
		if p := recover(); p != nil { // the answer must be cut, which net/http would do
			s.conn.Cut()
		}
		t.stopReading()
		t.message, t.body, t.header, t.parent = nil, nil, nil, nil // the socket has the turn until the next one
		s.room.Give(t.room)
		s.conn.Done()
		s.next()
		close(t.done)
	}()
	r := s.head.WithContext(s.conn.Context())
	r.Body = t
	x := s.api.newRequest(t, r, s.api.table)
	x.turn = t
	x.body.OpenMessage(t, r, &s.api.cfg.Timeouts, &x.memory)
	x.answer()
	t.forget()
	if t.events || t.body == nil {
		return
	}
	t.ended.Store(true)
	_ = s.conn.Send(t.body)
	switch t.status {
	case http.StatusUnauthorized:
		s.conn.Leave(httpserver.ClosePolicy, "The key is not valid any more.", nil)
	case http.StatusRequestEntityTooLarge:
		s.conn.Leave(httpserver.CloseLarge, "The message is too large.", nil)
	}
}

func (t *turn) stopReading() { t.whole.Do(func() { close(t.read) }) }

// Read reads the message.
func (t *turn) Read(p []byte) (int, error) {
	n, err := t.message.Read(p)
	if err != nil {
		t.stopReading()
	}
	return n, err
}

// Close does nothing: what is left of the message is dropped by the socket.
func (t *turn) Close() error { return nil }

// SetReadDeadline bounds reading the message.
func (t *turn) SetReadDeadline(at time.Time) error {
	if t.room > 0 { // it was read
		return nil
	}
	return t.s.conn.SetReadDeadline(at)
}

// Header has the fields of the head, of which clients get none.
func (t *turn) Header() http.Header { return t.header }

// WriteHeader begins the answer.
func (t *turn) WriteHeader(status int) {
	t.status = status
	kind := t.header["Content-Type"]
	t.events = status == http.StatusOK && len(kind) > 0 && kind[0] == streamType[0]
	t.failed = status >= http.StatusBadRequest
}

// Write sends one event of a stream, or keeps a piece of a fault.
func (t *turn) Write(piece []byte) (int, error) {
	if !t.events {
		t.body = append(t.body, piece...)
		return len(piece), nil
	}
	name, data := eventOf(piece)
	if data == nil {
		return len(piece), nil // what breaks the silence over HTTP: sockets are pinged
	}
	switch name {
	case "response.failed":
		t.failed = true
		fallthrough
	case "response.completed", "response.incomplete":
		t.forget()
		t.ended.Store(true)
	}
	if name == "response.created" {
		data = t.withHead(data)
	}
	if stream := t.frame.Stream; stream != "" {
		data = append(append(append(bytes.Clone(data[:len(data)-1]), `,"stream_id":"`...), stream...), `"}`...)
	}
	if t.err == nil {
		t.err = t.s.conn.Send(data)
	}
	return len(piece), t.err
}

// forget drops the response that one which failed was to continue, as the protocol has it.
func (t *turn) forget() {
	if t.failed && t.previous != "" {
		t.s.kept.forget(t.previous)
	}
}

// shownHead are the fields of the head that the first event has.
var shownHead = [...][2]string{{"X-Request-Id", "x-request-id"}, {"X-Generation-Id", "x-generation-id"}, {"X-Ratelimit-Limit", "x-ratelimit-limit"},
	{"X-Ratelimit-Remaining", "x-ratelimit-remaining"}, {"X-Ratelimit-Reset", "x-ratelimit-reset"}}

// withHead adds to the first event what the head of an answer over HTTP would have said.
func (t *turn) withHead(event []byte) []byte {
	o := newObject(len(event) + 192)
	o.B = append(append(o.B, event[:len(event)-1]...), `,"headers":`...)
	t.writeHead(&o)
	return append(o.B, '}')
}

func (t *turn) writeHead(o *object) {
	o.Object()
	for _, name := range shownHead {
		if v := t.header[name[0]]; len(v) > 0 {
			o.text(name[1], v[0])
		}
	}
	if v := t.header["Retry-After"]; len(v) > 0 {
		o.text("retry-after", v[0])
	}
	o.EndObject()
}

// FlushError reports whether the events so far were sent.
func (t *turn) FlushError() error { return t.err }

// eventOf takes a frame of an event stream apart, as this gateway writes them: a name and one line of data. What is no event has no data.
func eventOf(frame []byte) (name string, data []byte) {
	first, rest, ok := bytes.Cut(frame, []byte("\ndata: "))
	if !ok || !bytes.HasPrefix(first, []byte("event: ")) {
		return "", nil
	}
	return string(first[len("event: "):]), bytes.TrimRight(rest, "\n")
}

// open turns the message, which was read as a body, into the request that it is.
func (t *turn) open(body []byte) (err error) {
	t.frame, err = responses.Unframe(body)
	return err
}

// throughSocket adds to the settings that are recorded of a call that it came through a WebSocket.
func throughSocket(parameters string) string {
	const member = `"websocket":true}`
	if parameters == "" {
		return "{" + member
	}
	return parameters[:len(parameters)-1] + "," + member
}

// warmUp answers a request that only prepares the next one: it asks no provider, costs nothing, and can be continued.
func (x *request) warmUp(req *responses.Request) error {
	if err := noPreset(req.Models); err != nil {
		return err
	}
	if _, _, ok := x.api.Catalog().Resolve(req.Models[0]); !ok {
		return routing.Unknown(req.Models[0], catalog.TypeChat, x.api.Catalog())
	}
	req.Store = false // there is no answer to store
	r := x.newReply(req)
	s := x.openStream(ResponsesFailure, func(w *frameWriter) frames { return responses.NewStream(w, r.options) })
	defer s.silence()
	if err := s.to.Event(&completion.Event{Finish: completion.Stop}); err != nil {
		return gone(err)
	}
	return gone(s.to.End(relay.Receipt{}))
}

// gone is an error of sending: the client has left.
func gone(err error) error {
	if err == nil {
		return nil
	}
	return fault.New(fault.Canceled, "httpapi.socket", "The client closed the connection.").Because(err)
}

// turns are the latest responses of a socket, with what they continue, from which the next may go on. They are in memory alone.
type turns struct {
	mu     sync.Mutex
	memory limit.Tab
	latest []*keptTurn // the newest last
}

// mostTurns is how many responses of a socket can be continued: the latest, and some before it for those who go on from one twice.
const mostTurns = 16

// keptTurn is a response that can be continued.
type keptTurn struct {
	id     string
	parent *keptTurn // nil: it begins a conversation, or one that is stored
	stored bool      // so that a stored response can be continued from it
	before []byte    // the conversation that it continues where no parent is kept: items, separated by commas
	input  []byte    // items
	output []byte
}

func (k *keptTurn) size() int64 { return int64(len(k.before) + len(k.input) + len(k.output)) }

// items are the lists of items of a conversation to its end.
func (k *keptTurn) items() [][]byte {
	if k == nil {
		return nil
	}
	return append(k.parent.items(), k.before, k.input, k.output)
}

// find is a response that is kept; nil when it is not.
func (h *turns) find(id string) *keptTurn {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, k := range h.latest {
		if k.id == id {
			return k
		}
	}
	return nil
}

// keep keeps the answer of a turn, from which the next may continue.
func (t *turn) keep(id string, req *responses.Request, input, output []byte) {
	k := &keptTurn{id: id, parent: t.parent, stored: req.Store, input: input, output: output}
	if n := len(req.History); t.parent == nil && n > 2 {
		k.before = bytes.Clone(req.History[1 : n-1]) // without the brackets of the list
	}
	t.s.kept.keep(k)
}

// keep keeps a response. Where its user has no more room, older ones of the socket go, and it goes itself when that is not enough.
func (h *turns) keep(k *keptTurn) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for h.latest = append(h.latest, k); len(h.latest) > mostTurns || !h.settle(); {
		h.latest = append([]*keptTurn(nil), h.latest[1:]...)
	}
}

// forget drops a response.
func (h *turns) forget(id string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for i, k := range h.latest {
		if k.id == id {
			h.latest = append(h.latest[:i:i], h.latest[i+1:]...)
			h.settle()
			return
		}
	}
}

// settle takes the memory of all to which a response leads, or gives back what is no longer needed. It reports whether there is room.
func (h *turns) settle() bool {
	seen, n := map[*keptTurn]bool{}, int64(0)
	for _, k := range h.latest {
		for ; k != nil && !seen[k]; k = k.parent {
			seen[k] = true
			n += k.size()
		}
	}
	more := n - h.memory.Taken()
	h.memory.Give(-more)
	return more <= 0 || h.memory.Take(more) == limit.None
}
