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
	"strings"
	"sync"
	"time"
)

// Server is the simulator. It is an http.Handler, safe for concurrent use.
type Server struct {
	host  *Host
	mux   *http.ServeMux
	chat  *chatWires
	audio *audioWires
	tasks *taskWires
	media *mediaWires

	stop [2]context.CancelFunc

	mu       sync.Mutex
	closed   bool
	servers  []*http.Server
	refusers []io.Closer
}

// New makes a Server. Close it to free what Serve and RefusingAddr took.
func New(c Config) *Server {
	if c.AWSKeyID == "" {
		c.AWSKeyID, c.AWSSecretKey = AWSKeyID, AWSSecretKey
	}
	if c.KlingAccessKey == "" {
		c.KlingAccessKey, c.KlingSecretKey = KlingAccessKey, KlingSecretKey
	}
	s := &Server{mux: http.NewServeMux()}
	stalls, stopStalls := context.WithCancel(context.Background())
	abort, stopAnswers := context.WithCancel(context.Background())
	s.stop = [2]context.CancelFunc{stopStalls, stopAnswers}
	host := NewHost(c, stalls, abort)
	s.host = host
	s.chat, s.audio, s.tasks, s.media = newChatWires(host), newAudioWires(host), newTaskWires(host), newMediaWires(host)
	s.chat.Google(s.tasks.GoogleMethod, s.media.GoogleMethod)
	routes := NewRoutes(host, s.mux)
	s.chat.Mount(routes)
	s.tasks.Mount(routes)
	s.audio.Mount(routes)
	s.media.Mount(routes)
	s.mux.HandleFunc("GET /healthz", func(w http.ResponseWriter, _ *http.Request) { sendJSON(w, 200, []byte(`{"status":"ok"}`)) })
	s.mux.HandleFunc("GET /sim/stats", func(w http.ResponseWriter, _ *http.Request) { sendJSON(w, 200, s.statsJSON()) })
	s.mux.HandleFunc("POST /sim/reset", func(w http.ResponseWriter, _ *http.Request) {
		s.Reset()
		sendJSON(w, 200, []byte(`{"ok":true}`))
	})
	s.mux.HandleFunc("/sim/redirected", func(w http.ResponseWriter, _ *http.Request) {
		s.host.stats.redirected.Add(1)
		sendJSON(w, 200, []byte(`{"redirected":true}`))
	})
	s.mux.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) {
		on := chatWire
		if strings.HasPrefix(r.URL.Path, "/anthropic/") {
			on = messagesWire
		}
		on.refuse(w, &refusal{status: 404, kind: "invalid_request_error", code: "unknown_url", message: "Unknown request URL: " + r.Method + " " + r.URL.Path + "."})
	})
	return s
}

// ServeHTTP answers one request. Faults that need the connection itself work on HTTP/1.1 only and are refused with 501 elsewhere.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if s.host.stalls.Err() != nil {
		w.Header().Set("Connection", "close")
		chatWire.refuse(w, &refusal{status: 503, kind: "server_error", message: "The simulator is closing."})
		return
	}
	// the one hot path does without the pattern matching of a mux
	if r.URL.Path == "/v1/chat/completions" && r.Method == "POST" && s.host.hasKey(bearer(r)) {
		s.chat.chat(w, r)
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
	s.host.reset()
	s.chat.Reset()
	s.audio.Reset()
	s.media.Reset()
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

// Jobs is a copy of what was counted of pictures and videos since the start or the last Reset, by wire and key.
func (s *Server) Jobs() []JobCounts { return s.media.Jobs() }

// statsJSON is what GET /sim/stats tells.
func (s *Server) statsJSON() []byte {
	dst := s.host.stats.json()
	dst = append(dst[:len(dst)-1], `,"jobs":`...)
	all := []any{}
	for _, c := range s.media.Jobs() {
		all = append(all, jsonOf("wire", c.Wire, "key", c.Key, "submits", c.Submits, "polls", c.Polls, "cancels", c.Cancels, "downloads", c.Downloads))
	}
	return append(appendAny(dst, all), '}')
}

// Stats is a copy of the counts.
func (s *Server) Stats() Stats { return s.host.stats.snapshot() }
