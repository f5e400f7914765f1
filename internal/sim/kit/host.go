// Package kit has what all wires of the simulator share.
package kit

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
	Config Config
	cache  prefixCache
	Stats  stats
	turns  turns

	Stalls context.Context // ends when the server begins to close: stalls end with it
	abort  context.Context // ends when the server has waited long enough: answers end with it
}

const defaultMaxBody = 64 << 20

// NewHost makes a Host whose stalls and answers end with the two contexts.
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

// Reset forgets all counts, remembered prompts and limited faults.
func (s *Host) Reset() {
	s.Stats.reset()
	s.cache.reset()
	s.turns.reset()
}

// Bearer is the token of a request, "" without one.
func Bearer(r *http.Request) string {
	token, _ := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer ")
	return token
}

// HasKey reports whether one of the given is the key that is asked for.
func (s *Host) HasKey(given ...string) bool {
	return s.Config.Key == "" || slices.Contains(given, s.Config.Key)
}

// WrongKey is the refusal of a request without the right key.
func WrongKey(status int, message string) *Refusal {
	return &Refusal{Status: status, Kind: "invalid_request_error", Code: "invalid_api_key", Message: message}
}

// body reads a request's body into buf. It fails with a refusal.
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

// Buffers above this are not kept: one prompt with a large image should not cost memory for ever.
const keptBody = 8 << 20

var bodies = sync.Pool{New: func() any { b := make([]byte, 0, 4096); return &b }}

// Refuse answers with an error and counts it.
func (s *Host) Refuse(on *Wire, w http.ResponseWriter, f *Refusal) {
	s.Stats.Of("").Refused.Add(1)
	on.Refuse(w, f)
}

// Answer works out the answer to an ask and plays it in the form that write gives it.
func (s *Host) Answer(w http.ResponseWriter, r *http.Request, started time.Time, a *Request, write func(*Answer, time.Time) *Reply) {
	answer := s.Reply(a)
	out := write(&answer, s.Config.Now())
	x := s.Exchange(out.Wire, w, r, a.Name, a.Stream, &a.Knobs, started)
	defer x.End()
	x.Play(out)
}

// HandleJSON reads a request of JSON and hands its body on; what is refused is answered here.
func (s *Host) HandleJSON(on *Wire, w http.ResponseWriter, r *http.Request, then func(body []byte) *Refusal) {
	s.HandleBody(acceptable, on, w, r, then)
}

// HandleBody takes what a wire finds acceptable.
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

// The models exist since the beginning of 2025.
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

// Json is the error in OpenAI's shape.
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
		dst = append(dst, r.Code...) // servers that pass a status on as the code write it as a number
	} else {
		dst = orNull(dst, r.Code)
	}
	return append(dst, `}}`...)
}
