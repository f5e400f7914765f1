// Package sim is a model provider that costs nothing and fails on demand: it lets anyone try the gateway without a key, and
// gives tests and benchmarks an upstream whose every byte is known. It must not know the gateway: it shares no code with
// what it is there to test.
package sim

import (
	"context"
	"errors"
	"io"
	"maps"
	"net"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
)

// Config of a Server. The zero value is usable.
type Config struct {
	Key                    string           // required as a bearer token; "" lets everyone in
	AWSKeyID, AWSSecretKey string           // that requests to Bedrock's wire are signed with; "": the constants of these names
	MaxBodyBytes           int64            // larger requests get 413; 0: 64 MiB
	Now                    func() time.Time // clock for time stamps in answers; nil: time.Now

	KlingAccessKey, KlingSecretKey string        // that tokens on Kling's wire are signed with; "": the constants of these names
	JobTime                        time.Duration // that jobs take when a request says nothing of it; 0: they end at the second poll

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
	stored responseStore
	files  files
	jobs   mediaJobs
	heard  recognitions

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
	if c.AWSKeyID == "" {
		c.AWSKeyID, c.AWSSecretKey = AWSKeyID, AWSSecretKey
	}
	if c.KlingAccessKey == "" {
		c.KlingAccessKey, c.KlingSecretKey = KlingAccessKey, KlingSecretKey
	}
	s := &Server{config: c, mux: http.NewServeMux()}
	s.stalls, s.stop[0] = context.WithCancel(context.Background())
	s.abort, s.stop[1] = context.WithCancel(context.Background())
	s.stats.reset()
	s.route(chatWire, "POST", "/v1/chat/completions", s.chat)
	s.route(chatWire, "GET", "/v1/models", s.models)
	s.route(chatWire, "GET", "/v1/models/{model}", s.model)
	s.route(responsesWire, "POST", "/v1/responses", s.responses)
	s.route(responsesWire, "POST", "/v1/responses/input_tokens", s.inputTokens)
	s.routes(responsesWire, "/v1/responses/{id}", map[string]http.HandlerFunc{"GET": s.getResponse, "DELETE": s.deleteResponse})
	s.route(responsesWire, "GET", "/v1/responses/{id}/input_items", s.inputItems)
	s.route(responsesWire, "POST", "/v1/responses/{id}/cancel", s.cancelResponse)
	s.route(bedrockWire, "POST", "/model/{id}/converse", s.converse(false))
	s.route(bedrockWire, "POST", "/model/{id}/converse-stream", s.converse(true))
	s.mux.HandleFunc("/api/v2/oauth", s.oauth)
	s.route(gigachatWire, "POST", "/api/v1/chat/completions", s.gigachat)
	s.route(gigachatWire, "POST", "/api/v1/files", s.upload)
	s.route(gigachatWire, "GET", "/api/v1/models", s.models)
	s.route(yandexWire, "POST", "/yandex/v1/chat/completions", s.yandex)
	for _, base := range [...]string{"", "/anthropic"} {
		s.route(messagesWire, "POST", base+"/v1/messages", s.messages)
		s.route(messagesWire, "POST", base+"/v1/messages/count_tokens", s.countTokens)
	}
	s.route(messagesWire, "GET", "/anthropic/v1/models", s.models)
	s.route(messagesWire, "GET", "/anthropic/v1/models/{model}", s.model)
	for _, base := range [...]string{"/v1beta/models/", "/v1beta1/projects/{project}/locations/{location}/publishers/google/models/", "/v1/projects/{project}/locations/{location}/publishers/google/models/"} {
		s.routes(geminiWire, base+"{call}", map[string]http.HandlerFunc{"POST": s.gemini, "GET": s.geminiModel})
	}
	s.route(geminiWire, "GET", "/v1beta/models", func(w http.ResponseWriter, _ *http.Request) { sendJSON(w, 200, geminiModels(nil)) })
	s.taskRoutes()
	s.mediaRoutes()
	s.mux.HandleFunc("GET /healthz", func(w http.ResponseWriter, _ *http.Request) { sendJSON(w, 200, []byte(`{"status":"ok"}`)) })
	s.mux.HandleFunc("GET /sim/stats", func(w http.ResponseWriter, _ *http.Request) { sendJSON(w, 200, s.statsJSON()) })
	s.mux.HandleFunc("POST /sim/reset", func(w http.ResponseWriter, _ *http.Request) {
		s.Reset()
		sendJSON(w, 200, []byte(`{"ok":true}`))
	})
	s.mux.HandleFunc("/sim/redirected", func(w http.ResponseWriter, _ *http.Request) {
		s.stats.redirected.Add(1)
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

// route adds a route that needs the key. Other methods on its path get 405.
func (s *Server) route(on *wire, method, path string, serve http.HandlerFunc) {
	s.routes(on, path, map[string]http.HandlerFunc{method: serve})
}

func (s *Server) routes(on *wire, path string, by map[string]http.HandlerFunc) {
	if get := by["GET"]; get != nil {
		by["HEAD"] = get
	}
	allowed := strings.Join(slices.Sorted(maps.Keys(by)), ", ")
	s.mux.HandleFunc(path, func(w http.ResponseWriter, r *http.Request) {
		serve := by[r.Method]
		switch {
		case serve == nil:
			w.Header().Set("Allow", allowed)
			on.refuse(w, &refusal{status: 405, kind: "invalid_request_error", code: "method_not_supported", message: "Not allowed to " + r.Method + " on " + r.URL.Path + "."})
		default:
			if refused := on.admit(s, r); refused != nil {
				s.refuse(on, w, refused)
				return
			}
			serve(w, r)
		}
	})
}

// bearer is the token of a request, "" without one.
func bearer(r *http.Request) string {
	token, _ := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer ")
	return token
}

// hasKey reports whether one of the given is the key that is asked for.
func (s *Server) hasKey(given ...string) bool {
	return s.config.Key == "" || slices.Contains(given, s.config.Key)
}

func wrongKey(status int, message string) *refusal {
	return &refusal{status: status, kind: "invalid_request_error", code: "invalid_api_key", message: message}
}

// ServeHTTP answers one request. Faults that need the connection itself work on HTTP/1.1 only and are refused with 501 elsewhere.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if s.stalls.Err() != nil {
		w.Header().Set("Connection", "close")
		chatWire.refuse(w, &refusal{status: 503, kind: "server_error", message: "The simulator is closing."})
		return
	}
	// the one hot path does without the pattern matching of a mux
	if r.URL.Path == "/v1/chat/completions" && r.Method == "POST" && s.hasKey(bearer(r)) {
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
	s.stored.reset()
	s.files.reset()
	s.jobs.reset()
	s.heard.reset()
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
	s.take(chatWire, w, r, func(body []byte) *refusal {
		if p := peek(body); p.bench() && s.bench(w, r, &p, body, started) {
			return nil
		}
		a, refused := chatRequest(body)
		if refused == nil {
			s.answerChat(chatWire, w, r, started, a)
		}
		return refused
	})
}

// yandex serves the chat wire of Yandex AI Studio.
func (s *Server) yandex(w http.ResponseWriter, r *http.Request) {
	started := time.Now()
	s.take(yandexWire, w, r, func(body []byte) *refusal {
		a, refused := chatRequestFor(body, yandexModel)
		if refused == nil {
			s.answerChat(yandexWire, w, r, started, a)
		}
		return refused
	})
}

func (s *Server) answerChat(on *wire, w http.ResponseWriter, r *http.Request, started time.Time, a *ask) {
	s.answer(w, r, started, a, func(answer *answer, now time.Time) *reply {
		for i := range answer.choices {
			if sound := answer.choices[i].audio; sound != nil {
				sound.expires = now.Unix() + audioLife
			}
		}
		return (&chatReply{on: on, ask: a, answer: answer, created: now.Unix()}).reply()
	})
}

// refuse answers with an error and counts it.
func (s *Server) refuse(on *wire, w http.ResponseWriter, f *refusal) {
	s.stats.of("").refused.Add(1)
	on.refuse(w, f)
}

// answer works out the answer to an ask and plays it in the form that write gives it.
func (s *Server) answer(w http.ResponseWriter, r *http.Request, started time.Time, a *ask, write func(*answer, time.Time) *reply) {
	said := s.reply(a)
	out := write(&said, s.config.Now())
	x := s.exchange(out.wire, w, r, a.name, a.stream, &a.knobs, started)
	defer x.end()
	x.play(out)
}

// take reads a request of JSON and hands its body on; what is refused is answered here.
func (s *Server) take(on *wire, w http.ResponseWriter, r *http.Request, then func(body []byte) *refusal) {
	s.takeAs(acceptable, on, w, r, then)
}

// takeAs takes what a wire finds acceptable.
func (s *Server) takeAs(acceptable func(*http.Request) *refusal, on *wire, w http.ResponseWriter, r *http.Request, then func(body []byte) *refusal) {
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
	if refused == nil {
		refused = then(body)
	}
	if refused != nil {
		s.refuse(on, w, refused)
	}
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

func (s *Server) models(w http.ResponseWriter, r *http.Request) {
	if r.Header.Get("Anthropic-Version") != "" {
		sendJSON(w, 200, messagesModels(nil))
		return
	}
	dst := []byte(`{"object":"list","data":[`)
	for i := range models {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = models[i].append(dst)
	}
	sendJSON(w, 200, append(dst, ']', '}'))
}

func (s *Server) geminiModel(w http.ResponseWriter, r *http.Request) {
	m := modelNamed(r.PathValue("call"))
	if m == nil {
		geminiWire.refuse(w, geminiUnknown(r.PathValue("call")))
		return
	}
	sendJSON(w, 200, m.appendForGemini(nil))
}

func (s *Server) model(w http.ResponseWriter, r *http.Request) {
	name := r.PathValue("model")
	m := modelNamed(name)
	if m == nil {
		if r.Header.Get("Anthropic-Version") != "" {
			messagesWire.refuse(w, &refusal{status: 404, message: "model: " + name})
			return
		}
		chatWire.refuse(w, unknownModel(name))
		return
	}
	if r.Header.Get("Anthropic-Version") != "" {
		sendJSON(w, 200, m.appendForMessages(nil))
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
	dst = append(dst, `,"code":`...)
	if _, err := strconv.Atoi(r.code); err == nil {
		dst = append(dst, r.code...) // servers that pass a status on as the code write it as a number
	} else {
		dst = orNull(dst, r.code)
	}
	return append(dst, `}}`...)
}
