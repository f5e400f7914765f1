// Package sim is a model provider that costs nothing and fails on demand: it lets anyone try the gateway without a key, and
// gives tests and benchmarks an upstream whose every byte is known. It must not know the gateway: it shares no code with
// what it is there to test.
package sim

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"time"
)

// Config of a Server. The zero value is usable.
type Config struct {
	Key          string           // required as a bearer token; "" lets everyone in
	MaxBodyBytes int64            // larger requests get 413; 0: 64 MiB
	Now          func() time.Time // clock for time stamps in answers; nil: time.Now

	// How long answers take when a request says nothing of it: before the head, before the first content, between frames of content.
	Delay, First, Gap time.Duration
}

// Server is the simulator. It is an http.Handler, safe for concurrent use.
type Server struct {
	config Config
	mux    *http.ServeMux
	cache  prefixCache
	stats  stats
	turns  turns

	stalls context.Context // ends when Close begins: stalls end with it
	abort  context.Context // ends when Close has waited long enough: answers end with it
	stop   [2]context.CancelFunc

	mu       sync.Mutex
	closed   bool
	servers  []*http.Server
	refusers []io.Closer
}

const defaultMaxBody = 64 << 20

// New makes a Server. Close it to free what Serve and RefusingAddr took.
func New(c Config) *Server {
	if c.MaxBodyBytes <= 0 {
		c.MaxBodyBytes = defaultMaxBody
	}
	if c.Now == nil {
		c.Now = time.Now
	}
	s := &Server{config: c, mux: http.NewServeMux()}
	s.stalls, s.stop[0] = context.WithCancel(context.Background())
	s.abort, s.stop[1] = context.WithCancel(context.Background())
	s.stats.reset()
	s.route("POST", "/v1/chat/completions", s.chat)
	s.route("GET", "/v1/models", s.models)
	s.route("GET", "/v1/models/{model}", s.model)
	s.mux.HandleFunc("GET /healthz", func(w http.ResponseWriter, _ *http.Request) { sendJSON(w, 200, []byte(`{"status":"ok"}`)) })
	s.mux.HandleFunc("GET /sim/stats", func(w http.ResponseWriter, _ *http.Request) { sendJSON(w, 200, s.stats.json()) })
	s.mux.HandleFunc("POST /sim/reset", func(w http.ResponseWriter, _ *http.Request) {
		s.Reset()
		sendJSON(w, 200, []byte(`{"ok":true}`))
	})
	s.mux.HandleFunc("/sim/redirected", func(w http.ResponseWriter, _ *http.Request) {
		s.stats.redirected.Add(1)
		sendJSON(w, 200, []byte(`{"redirected":true}`))
	})
	s.mux.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) {
		sendRefusal(w, &refusal{status: 404, kind: "invalid_request_error", code: "unknown_url", message: "Unknown request URL: " + r.Method + " " + r.URL.Path + "."})
	})
	return s
}

// route adds a route that needs the key. Other methods on its path get 405.
func (s *Server) route(method, path string, serve http.HandlerFunc) {
	s.mux.HandleFunc(path, func(w http.ResponseWriter, r *http.Request) {
		switch {
		case r.Method != method && (method != "GET" || r.Method != "HEAD"):
			w.Header().Set("Allow", method)
			sendRefusal(w, &refusal{status: 405, kind: "invalid_request_error", code: "method_not_supported", message: "Not allowed to " + r.Method + " on " + r.URL.Path + "."})
		case !s.admits(r):
			s.stats.of("").refused.Add(1)
			sendRefusal(w, &refusal{status: 401, kind: "invalid_request_error", code: "invalid_api_key", message: "Incorrect API key provided."})
		default:
			serve(w, r)
		}
	})
}

func (s *Server) admits(r *http.Request) bool {
	if s.config.Key == "" {
		return true
	}
	key, found := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer ")
	return found && key == s.config.Key
}

// ServeHTTP answers one request. Faults that need the connection itself work on HTTP/1.1 only and are refused with 501 elsewhere.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if s.stalls.Err() != nil {
		w.Header().Set("Connection", "close")
		sendRefusal(w, &refusal{status: 503, kind: "server_error", message: "The simulator is closing."})
		return
	}
	// the one hot path does without the pattern matching of a mux
	if r.URL.Path == "/v1/chat/completions" && r.Method == "POST" && s.admits(r) {
		s.chat(w, r)
		return
	}
	s.mux.ServeHTTP(w, r)
}

// Serve answers on ln, which it closes, until Close; then it returns nil.
func (s *Server) Serve(ln net.Listener) error {
	server := &http.Server{Handler: s, ReadHeaderTimeout: 10 * time.Second, IdleTimeout: 2 * time.Minute}
	s.mu.Lock()
	if s.closed {
		s.mu.Unlock()
		return ln.Close()
	}
	s.servers = append(s.servers, server)
	s.mu.Unlock()
	if err := server.Serve(ln); !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return nil
}

// Close stops serving. Stalled answers are cut at once, others may finish until ctx ends and are cut then.
// It fails with ctx's error when something had to be cut, and may be called again.
func (s *Server) Close(ctx context.Context) error {
	s.mu.Lock()
	s.closed = true
	servers, refusers := s.servers, s.refusers
	s.servers, s.refusers = nil, nil
	s.mu.Unlock()
	s.stop[0]()
	defer s.stop[1]()
	for _, r := range refusers {
		r.Close()
	}
	var failed error
	for _, server := range servers {
		if err := server.Shutdown(ctx); err != nil {
			s.stop[1]()
			failed = errors.Join(failed, err, shutdownNow(server))
		}
	}
	return failed
}

// shutdownNow lets handlers see the abort and end by themselves; only who hangs in a write to a client is cut off.
func shutdownNow(server *http.Server) error {
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	if server.Shutdown(ctx) == nil {
		return nil
	}
	return server.Close()
}

// Reset forgets all counts, remembered prompts and limited faults.
func (s *Server) Reset() {
	s.stats.reset()
	s.cache.reset()
	s.turns.reset()
}

// RefusingAddr is a loopback address "127.0.0.1:port" that refuses connections until Close: fault U1.
func (s *Server) RefusingAddr() (string, error) {
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", err
	}
	defer ln.Close()
	// The port of a client's end is taken, so that nobody else can listen there, and nobody listens there.
	conn, err := net.Dial("tcp", ln.Addr().String())
	if err != nil {
		return "", err
	}
	peer, err := ln.Accept()
	if err != nil {
		conn.Close()
		return "", err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.refusers = append(s.refusers, conn, peer)
	return conn.LocalAddr().String(), nil
}

// body reads a request's body into buf. It fails with a refusal.
func (s *Server) body(r *http.Request, buf []byte) ([]byte, *refusal) {
	if r.ContentLength > s.config.MaxBodyBytes {
		return buf, tooLarge
	}
	if n := int(r.ContentLength) + 1; n > cap(buf) {
		buf = make([]byte, 0, max(n, 4096))
	}
	for {
		if len(buf) == cap(buf) {
			buf = append(buf, 0)[:len(buf)]
		}
		n, err := r.Body.Read(buf[len(buf):cap(buf)])
		buf = buf[:len(buf)+n]
		switch {
		case int64(len(buf)) > s.config.MaxBodyBytes:
			return buf, tooLarge
		case err == io.EOF:
			return buf, nil
		case err != nil:
			return buf, &refusal{status: 400, kind: "invalid_request_error", message: "The body of the request could not be read."}
		}
	}
}

var tooLarge = &refusal{status: 413, kind: "invalid_request_error", code: "request_too_large", message: "The request body is too large."}

// Buffers above this are not kept: one prompt with a large image should not cost memory for ever.
const keptBody = 8 << 20

var bodies = sync.Pool{New: func() any { b := make([]byte, 0, 4096); return &b }}

// chat serves POST /v1/chat/completions.
func (s *Server) chat(w http.ResponseWriter, r *http.Request) {
	started := time.Now()
	buf := bodies.Get().(*[]byte)
	body, refused := s.body(r, (*buf)[:0])
	defer func() {
		if cap(body) <= keptBody {
			*buf = body
			bodies.Put(buf)
		}
	}()
	if refused == nil {
		refused = acceptable(r)
	}
	if refused != nil {
		s.stats.of("").refused.Add(1)
		sendRefusal(w, refused)
		return
	}
	if p := peek(body); p.bench() && s.bench(w, r, &p, body, started) {
		return
	}
	a, refused := chatRequest(body)
	if refused != nil {
		s.stats.of("").refused.Add(1)
		sendRefusal(w, refused)
		return
	}
	answer := s.reply(a)
	now := s.config.Now().Unix()
	for i := range answer.choices {
		if sound := answer.choices[i].audio; sound != nil {
			sound.expires = now + audioLife
		}
	}
	x := s.exchange(w, r, a.name, a.stream, &a.knobs, started)
	defer x.end()
	x.play((&chatReply{ask: a, answer: &answer, created: now}).reply())
}

func acceptable(r *http.Request) *refusal {
	kind, _, _ := strings.Cut(r.Header.Get("Content-Type"), ";")
	if !strings.EqualFold(strings.TrimSpace(kind), "application/json") {
		return &refusal{status: 415, kind: "invalid_request_error", code: "unsupported_content_type", message: "The Content-Type of the request must be application/json."}
	}
	if coding := r.Header.Get("Content-Encoding"); coding != "" && coding != "identity" {
		return &refusal{status: 415, kind: "invalid_request_error", code: "unsupported_content_encoding", message: "The Content-Encoding of the request is not supported."}
	}
	return nil
}

func (s *Server) models(w http.ResponseWriter, _ *http.Request) {
	dst := []byte(`{"object":"list","data":[`)
	for i := range models {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = models[i].append(dst)
	}
	sendJSON(w, 200, append(dst, ']', '}'))
}

func (s *Server) model(w http.ResponseWriter, r *http.Request) {
	name := r.PathValue("model")
	m := modelNamed(name)
	if m == nil {
		sendRefusal(w, unknownModel(name))
		return
	}
	sendJSON(w, 200, m.append(nil))
}

// The models exist since the beginning of 2025.
const modelsCreated = 1735689600

func (m *Model) append(dst []byte) []byte {
	dst = appendText(append(dst, `{"id":`...), m.Name)
	dst = strconv.AppendInt(append(dst, `,"object":"model","created":`...), modelsCreated, 10)
	return append(dst, `,"owned_by":"sim"}`...)
}

func sendJSON(w http.ResponseWriter, status int, body []byte) {
	h := w.Header()
	h["Content-Type"] = jsonType
	h["Content-Length"] = []string{strconv.Itoa(len(body))}
	w.WriteHeader(status)
	w.Write(body) //nolint:errcheck // a client that has gone needs no answer
}

func sendRefusal(w http.ResponseWriter, r *refusal) { sendJSON(w, r.status, r.json()) }

// json is the error in OpenAI's shape.
func (r *refusal) json() []byte {
	orNull := func(dst []byte, s string) []byte {
		if s == "" {
			return append(dst, "null"...)
		}
		return appendText(dst, s)
	}
	dst := appendText([]byte(`{"error":{"message":`), r.message)
	dst = appendText(append(dst, `,"type":`...), r.kind)
	dst = orNull(append(dst, `,"param":`...), r.param)
	dst = orNull(append(dst, `,"code":`...), r.code)
	return append(dst, `}}`...)
}
