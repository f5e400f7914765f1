// Package kit has what all wires of the simulator share: reading requests, computing answers, sending them, settings, faults and
// counts. It must not depend on a wire.
package kit

import (
	"context"
	"io"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

// Config of a Server. The zero value is usable.
type Config struct {
	Key                    string           // required as a bearer token; "": any key is accepted
	AWSKeyID, AWSSecretKey string           // for signatures of requests to Bedrock's wire; "": the constants of these names
	MaxBodyBytes           int64            // larger requests get 413; 0: 64 MiB
	Now                    func() time.Time // clock for the times in answers; nil: time.Now

	KlingAccessKey, KlingSecretKey string        // for tokens on Kling's wire; "": the constants of these names
	JobTime                        time.Duration // duration of jobs whose request sets none; 0: they end at the second poll

	Shapes uint64 // seed by which answers are dressed as those of real providers, where the request sets no shape; 0: they are not

	// The defaults for requests that set none: before the head, before the first content, between content frames.
	Delay, First, Gap time.Duration
}

// Host is the state that all wires share: the settings, the counts and the prompt cache.
type Host struct {
	Config Config
	cache  prefixCache
	Stats  stats
	turns  turns
	keys   keys
	bill   bill

	Stalls context.Context // ends when the server begins to close, and ends stalls
	abort  context.Context // ends when the server has waited long enough, and ends answers
}

const defaultMaxBody = 64 << 20

// NewHost returns a Host. Its stalls end with the first context and its answers with the second.
func NewHost(stalls, abort context.Context, c Config) *Host {
	if c.MaxBodyBytes <= 0 {
		c.MaxBodyBytes = defaultMaxBody
	}
	if c.Now == nil {
		c.Now = time.Now
	}
	h := &Host{Config: c, Stalls: stalls, abort: abort}
	h.Stats.reset()
	return h
}

// Reset clears the counts, the prompt cache and the calls counted for limited faults.
func (s *Host) Reset() {
	s.Stats.reset()
	s.cache.reset()
	s.turns.reset()
	s.bill.reset()
}

// Bearer returns the bearer token of a request, "" without one.
func Bearer(r *http.Request) string {
	token, _ := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer ")
	return token
}

// HasKey reports whether one of the given keys is the configured one, or another that is accepted. Without a configured key it is true. A key
// that was revoked is never accepted.
func (s *Host) HasKey(given ...string) bool {
	if some := s.keys.some.Load(); some {
		s.keys.mu.Lock()
		defer s.keys.mu.Unlock()
		for _, key := range given {
			if accepted, known := s.keys.all[key]; known {
				return accepted
			}
		}
	}
	return s.Config.Key == "" || slices.Contains(given, s.Config.Key)
}

// keys are those that were accepted or revoked since the start.
type keys struct {
	some atomic.Bool
	mu   sync.Mutex
	all  map[string]bool // whether it is accepted
}

// SetKey has a further key accepted, or a key refused from now on.
func (s *Host) SetKey(key string, accepted bool) {
	s.keys.mu.Lock()
	defer s.keys.mu.Unlock()
	if s.keys.all == nil {
		s.keys.all = map[string]bool{}
	}
	s.keys.all[key] = accepted
	s.keys.some.Store(true)
}

// WrongKey returns the refusal of a request without the right key.
func WrongKey(status int, message string) *Refusal {
	return &Refusal{Status: status, Kind: "invalid_request_error", Code: "invalid_api_key", Message: message}
}

// body reads a request's body into buf. It returns a Refusal when the body is too large or cannot be read.
func (s *Host) body(r *http.Request, buf []byte) ([]byte, *Refusal) {
	if r.ContentLength > s.Config.MaxBodyBytes {
		return buf, TooLarge
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
		case int64(len(buf)) > s.Config.MaxBodyBytes:
			return buf, TooLarge
		case err == io.EOF:
			return buf, nil
		case err != nil:
			return buf, &Refusal{Status: 400, Kind: "invalid_request_error", Message: "The body of the request could not be read."}
		}
	}
}

// TooLarge is the refusal of a body above the limit.
var TooLarge = &Refusal{Status: 413, Kind: "invalid_request_error", Code: "request_too_large", Message: "The request body is too large."}

// keptBody is the largest buffer that is kept for reuse, in bytes, so that one prompt with a large image does not hold memory forever.
const keptBody = 8 << 20

var bodies = sync.Pool{New: func() any { b := make([]byte, 0, 4096); return &b }}

// Refuse sends an error and counts it.
func (s *Host) Refuse(on *Wire, w http.ResponseWriter, f *Refusal) {
	s.Stats.Of("").Refused.Add(1)
	on.Refuse(w, f)
}

// Answer computes the answer to a request and plays it as the reply that write makes of it.
func (s *Host) Answer(w http.ResponseWriter, r *http.Request, started time.Time, a *Request, write func(*Answer, time.Time) *Reply) {
	answer := s.Reply(a)
	began := s.Config.Now()
	out := write(&answer, began)
	x := s.Exchange(out.Wire, w, r, a.Name, a.Stream, &a.Knobs, started)
	defer x.End()
	if x.Play(out) {
		s.bill.add(&Served{ID: out.Wire.IDs + HexOf(answer.ID), Model: a.Name, Key: keyOf(r), Began: began, Ended: s.Config.Now(), Usage: answer.Usage})
	}
}

// HandleJSON reads a JSON request and calls then with its body, which is valid until then returns. It sends all refusals itself.
func (s *Host) HandleJSON(on *Wire, w http.ResponseWriter, r *http.Request, then func(body []byte) *Refusal) {
	s.HandleBody(acceptable, on, w, r, then)
}

// HandleBody is HandleJSON with another check of the request's headers.
func (s *Host) HandleBody(acceptable func(*http.Request) *Refusal, on *Wire, w http.ResponseWriter, r *http.Request, then func(body []byte) *Refusal) {
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
		s.Refuse(on, w, refused)
	}
}

func acceptable(r *http.Request) *Refusal {
	kind, _, _ := strings.Cut(r.Header.Get("Content-Type"), ";")
	if !strings.EqualFold(strings.TrimSpace(kind), "application/json") {
		return &Refusal{Status: 415, Kind: "invalid_request_error", Code: "unsupported_content_type", Message: "The Content-Type of the request must be application/json."}
	}
	if coding := r.Header.Get("Content-Encoding"); coding != "" && coding != "identity" {
		return &Refusal{Status: 415, Kind: "invalid_request_error", Code: "unsupported_content_encoding", Message: "The Content-Encoding of the request is not supported."}
	}
	return nil
}

// modelsCreated is the beginning of 2025, in Unix seconds.
const modelsCreated = 1735689600

// Append writes the model as an element of OpenAI's list.
func (m *Model) Append(dst []byte) []byte {
	dst = AppendText(append(dst, `{"id":`...), m.Name)
	dst = strconv.AppendInt(append(dst, `,"object":"model","created":`...), modelsCreated, 10)
	return append(dst, `,"owned_by":"sim"}`...)
}

// SendJSON sends a JSON body.
func SendJSON(w http.ResponseWriter, status int, body []byte) {
	h := w.Header()
	h["Content-Type"] = JSONType
	h["Content-Length"] = []string{strconv.Itoa(len(body))}
	w.WriteHeader(status)
	w.Write(body) //nolint:errcheck // a client that has gone needs no answer
}

// JSON returns the error in OpenAI's form.
func (r *Refusal) JSON() []byte {
	orNull := func(dst []byte, s string) []byte {
		if s == "" {
			return append(dst, "null"...)
		}
		return AppendText(dst, s)
	}
	dst := AppendText([]byte(`{"error":{"message":`), r.Message)
	dst = AppendText(append(dst, `,"type":`...), r.Kind)
	dst = orNull(append(dst, `,"param":`...), r.Param)
	dst = append(dst, `,"code":`...)
	if _, err := strconv.Atoi(r.Code); err == nil {
		dst = append(dst, r.Code...) // servers that use an HTTP status as the code write it as a number
	} else {
		dst = orNull(dst, r.Code)
	}
	return append(dst, `}}`...)
}
