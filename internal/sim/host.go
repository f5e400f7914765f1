// Package kit has what all wires of the simulator share.
package sim

import (
	"context"
	"io"
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

// Host is what all wires share: the settings, the counts and the cache of prompts.
type Host struct {
	config Config
	cache  prefixCache
	stats  stats
	turns  turns

	stalls context.Context // ends when the server begins to close: stalls end with it
	abort  context.Context // ends when the server has waited long enough: answers end with it
}

const defaultMaxBody = 64 << 20

// NewHost makes a Host whose stalls and answers end with the two contexts.
func NewHost(c Config, stalls, abort context.Context) *Host {
	if c.MaxBodyBytes <= 0 {
		c.MaxBodyBytes = defaultMaxBody
	}
	if c.Now == nil {
		c.Now = time.Now
	}
	h := &Host{config: c, stalls: stalls, abort: abort}
	h.stats.reset()
	return h
}

// reset forgets all counts, remembered prompts and limited faults.
func (s *Host) reset() {
	s.stats.reset()
	s.cache.reset()
	s.turns.reset()
}

// bearer is the token of a request, "" without one.
func bearer(r *http.Request) string {
	token, _ := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer ")
	return token
}

// hasKey reports whether one of the given is the key that is asked for.
func (s *Host) hasKey(given ...string) bool {
	return s.config.Key == "" || slices.Contains(given, s.config.Key)
}

func wrongKey(status int, message string) *refusal {
	return &refusal{status: status, kind: "invalid_request_error", code: "invalid_api_key", message: message}
}

// body reads a request's body into buf. It fails with a refusal.
func (s *Host) body(r *http.Request, buf []byte) ([]byte, *refusal) {
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

// refuse answers with an error and counts it.
func (s *Host) refuse(on *wire, w http.ResponseWriter, f *refusal) {
	s.stats.of("").refused.Add(1)
	on.refuse(w, f)
}

// answer works out the answer to an ask and plays it in the form that write gives it.
func (s *Host) answer(w http.ResponseWriter, r *http.Request, started time.Time, a *ask, write func(*answer, time.Time) *reply) {
	said := s.reply(a)
	out := write(&said, s.config.Now())
	x := s.exchange(out.wire, w, r, a.name, a.stream, &a.knobs, started)
	defer x.end()
	x.play(out)
}

// take reads a request of JSON and hands its body on; what is refused is answered here.
func (s *Host) take(on *wire, w http.ResponseWriter, r *http.Request, then func(body []byte) *refusal) {
	s.takeAs(acceptable, on, w, r, then)
}

// takeAs takes what a wire finds acceptable.
func (s *Host) takeAs(acceptable func(*http.Request) *refusal, on *wire, w http.ResponseWriter, r *http.Request, then func(body []byte) *refusal) {
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
