// Package sim is a model provider that costs nothing and fails on demand: it lets anyone try the gateway without a key, and
// gives tests and benchmarks an upstream whose every byte is known. It must not import the gateway: it shares no code with
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

	"weir/internal/sim/audio"
	"weir/internal/sim/batches"
	"weir/internal/sim/bills"
	"weir/internal/sim/chat"
	"weir/internal/sim/kit"
	"weir/internal/sim/media"
	"weir/internal/sim/pay"
	"weir/internal/sim/tasks"
)

// Types and constants of the folders below that callers of New use.
type (
	Config    = kit.Config
	Stats     = kit.Stats
	Counts    = kit.Counts
	Model     = kit.Model
	Prices    = kit.Prices
	JobCounts = media.JobCounts

	BillOrder   = bills.Order
	SeededError = bills.Seeded
)

// Credentials of wires that sign, when none are configured.
const (
	AWSKeyID       = chat.AWSKeyID
	AWSSecretKey   = chat.AWSSecretKey
	KlingAccessKey = media.KlingAccessKey
	KlingSecretKey = media.KlingSecretKey
)

// Credentials of the shop with play money, whose API is below /yookassa/v3.
const (
	PayShop   = "100500"
	PaySecret = "test_play-money"
)

// Pay is the payment provider with play money.
func (s *Server) Pay() *pay.Shop { return s.pay }

// Catalog lists the models, each time as a copy. The names are those an upstream sees, without a vendor before them.
func Catalog() []Model { return kit.Catalog() }

// Server is the simulator. It is an http.Handler, safe for concurrent use.
type Server struct {
	host  *kit.Host
	mux   *http.ServeMux
	chat  *chat.Wires
	audio *audio.Wires
	tasks *tasks.Wires
	media *media.Wires
	pay   *pay.Shop

	batches *batches.Wires

	stop [2]context.CancelFunc

	mu       sync.Mutex
	closed   bool
	servers  []*http.Server
	refusers []io.Closer
}

// New makes a Server. Close it to free what Serve and RefusingAddr took.
func New(c Config) *Server {
	if c.AWSKeyID == "" {
		c.AWSKeyID, c.AWSSecretKey = chat.AWSKeyID, chat.AWSSecretKey
	}
	if c.KlingAccessKey == "" {
		c.KlingAccessKey, c.KlingSecretKey = media.KlingAccessKey, media.KlingSecretKey
	}
	s := &Server{mux: http.NewServeMux()}
	stalls, stopStalls := context.WithCancel(context.Background())
	abort, stopAnswers := context.WithCancel(context.Background())
	s.stop = [2]context.CancelFunc{stopStalls, stopAnswers}
	host := kit.NewHost(stalls, abort, c)
	s.host = host
	s.chat, s.audio, s.tasks, s.media = chat.New(host), audio.New(host), tasks.New(host), media.New(host)
	s.batches = batches.New(host, s)
	s.chat.Google(s.tasks.GoogleMethod, s.media.GoogleMethod, s.batches.GoogleMethod)
	routes := kit.NewRoutes(host, s.mux)
	s.chat.Mount(routes)
	s.tasks.Mount(routes)
	s.audio.Mount(routes)
	s.media.Mount(routes)
	s.pay = pay.New(pay.Config{ShopID: PayShop, SecretKey: PaySecret})
	s.mux.Handle("/yookassa/", http.StripPrefix("/yookassa", s.pay))
	s.batches.Mount(routes)
	s.mux.HandleFunc("GET /healthz", func(w http.ResponseWriter, _ *http.Request) { kit.SendJSON(w, 200, []byte(`{"status":"ok"}`)) })
	s.mux.HandleFunc("GET /sim/stats", func(w http.ResponseWriter, _ *http.Request) { kit.SendJSON(w, 200, s.statsJSON()) })
	s.mux.HandleFunc("POST /sim/reset", func(w http.ResponseWriter, _ *http.Request) {
		s.Reset()
		kit.SendJSON(w, 200, []byte(`{"ok":true}`))
	})
	s.mux.HandleFunc("POST /sim/keys", s.setKeys)
	s.mux.HandleFunc("GET /sim/bill", bills.Serve(host))
	s.mux.HandleFunc("/sim/redirected", func(w http.ResponseWriter, _ *http.Request) {
		s.host.Stats.Redirected.Add(1)
		kit.SendJSON(w, 200, []byte(`{"redirected":true}`))
	})
	s.mux.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) {
		on := kit.ChatWire
		if strings.HasPrefix(r.URL.Path, "/anthropic/") {
			on = chat.MessagesWire
		}
		on.Refuse(w, &kit.Refusal{Status: 404, Kind: "invalid_request_error", Code: "unknown_url", Message: "Unknown request URL: " + r.Method + " " + r.URL.Path + "."})
	})
	return s
}

// ServeHTTP answers one request. Faults that need the connection itself work on HTTP/1.1 only and are refused with 501 elsewhere.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if s.host.Stalls.Err() != nil {
		w.Header().Set("Connection", "close")
		kit.ChatWire.Refuse(w, &kit.Refusal{Status: 503, Kind: "server_error", Message: "The simulator is closing."})
		return
	}
	// the one hot path does without the pattern matching of a mux
	if r.URL.Path == "/v1/chat/completions" && r.Method == "POST" && s.host.HasKey(kit.Bearer(r)) {
		s.chat.Chat(w, r)
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
	s.host.Reset()
	s.chat.Reset()
	s.audio.Reset()
	s.media.Reset()
	s.batches.Reset()
}

// RefusingAddr is a loopback address "127.0.0.1:port" that refuses connections until Close: fault U1.
func (s *Server) RefusingAddr() (string, error) {
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", err
	}
	defer ln.Close()
	// The port of a client's end is taken, so that no program can listen there, and none does.
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

// Jobs returns the counts of requests for images and videos since the start or the last Reset, by wire and key.
func (s *Server) Jobs() []JobCounts { return s.media.Jobs() }

// Batches are the wires of batches.
func (s *Server) Batches() *batches.Wires { return s.batches }

// statsJSON is the body of GET /sim/stats.
func (s *Server) statsJSON() []byte {
	dst := s.host.Stats.JSON()
	dst = append(dst[:len(dst)-1], `,"jobs":`...)
	all := []any{}
	for _, c := range s.media.Jobs() {
		all = append(all, media.JSONOf("wire", c.Wire, "key", c.Key, "submits", c.Submits, "polls", c.Polls, "cancels", c.Cancels, "downloads", c.Downloads))
	}
	made, cancelled := s.batches.Counts()
	dst = append(media.AppendAny(dst, all), `,"batches":`...)
	return append(media.AppendAny(dst, media.JSONOf("made", int64(made), "cancelled", int64(cancelled), "kept", int64(s.batches.Kept()))), '}')
}

// Bill exports what was served as a provider does, with the errors that are asked for.
func (s *Server) Bill(o *BillOrder) ([]byte, []SeededError, error) {
	return bills.Export(s.host.Served(), o)
}

// Served are the answers that a provider would bill.
func (s *Server) Served() []kit.Served { return s.host.Served() }

// Stats is a copy of the counts.
func (s *Server) Stats() Stats { return s.host.Stats.Snapshot() }
