package main

import (
	"bytes"
	"context"
	"io"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"sync"
	"sync/atomic"
	"time"
)

// The hand-tuned handler is the reference, 1.00: the least work of a Go program between client and provider, with net/http on both sides.
// It reads the body, inserts the provider's name of the model, forwards the request, and reads the token counts from the response. It
// checks no key, chooses no provider, stores no record and charges nothing.

type handtuned struct {
	upstream  url.URL
	transport *http.Transport
	buffers   sync.Pool
	tokens    atomic.Int64
}

func serveHandtuned(ln net.Listener, upstream string) error {
	h := &handtuned{
		upstream: url.URL{Scheme: "http", Host: upstream},
		transport: &http.Transport{
			MaxIdleConns:        8192,
			MaxIdleConnsPerHost: 8192,
			IdleConnTimeout:     5 * time.Minute,
			DisableCompression:  true,
		},
		buffers: sync.Pool{New: func() any { return &buffer{b: make([]byte, 8<<10)} }},
	}
	server := &http.Server{Handler: h, ReadHeaderTimeout: 10 * time.Second}
	return server.Serve(ln)
}

// buffer is pooled by pointer, so that returning it to the pool allocates nothing.
type buffer struct{ b []byte }

// fill reads r, with an expected length (-1: unknown), and returns the bytes.
func (buf *buffer) fill(r io.Reader, length int64) ([]byte, error) {
	if length >= int64(len(buf.b)) {
		buf.b = make([]byte, length+1) // one more, so that the end is detected without growing
	}
	n := 0
	for {
		if n == len(buf.b) {
			buf.b = append(buf.b, make([]byte, len(buf.b))...)
		}
		m, err := r.Read(buf.b[n:])
		n += m
		if err == io.EOF {
			return buf.b[:n], nil
		}
		if err != nil {
			return nil, err
		}
	}
}

func (h *handtuned) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	in := h.buffers.Get().(*buffer)
	defer h.buffers.Put(in)
	body, err := in.fill(r.Body, r.ContentLength)
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	body, ok := withoutVendor(body)
	if !ok {
		http.Error(w, "the body has no model of the form vendor/name", http.StatusBadRequest)
		return
	}
	reply, err := h.forward(r.Context(), r.URL.Path, body)
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadGateway)
		return
	}
	defer reply.Body.Close()
	w.Header()["Content-Type"] = reply.Header["Content-Type"]
	if reply.ContentLength >= 0 {
		h.whole(w, reply)
		return
	}
	h.stream(w, reply)
}

func (h *handtuned) forward(ctx context.Context, path string, body []byte) (*http.Response, error) {
	target := h.upstream
	target.Path = path
	request := &http.Request{
		Method: http.MethodPost, URL: &target, Host: target.Host, Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
		Header:        http.Header{"Content-Type": {"application/json"}, "Authorization": {"Bearer upstream"}, "User-Agent": nil},
		Body:          io.NopCloser(bytes.NewReader(body)), // the transport writes this type of body together with the head
		ContentLength: int64(len(body)),
	}
	return h.transport.RoundTrip(request.WithContext(ctx))
}

func (h *handtuned) whole(w http.ResponseWriter, reply *http.Response) {
	out := h.buffers.Get().(*buffer)
	defer h.buffers.Put(out)
	body, err := out.fill(reply.Body, reply.ContentLength)
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadGateway)
		return
	}
	h.count(body)
	w.Header()["Content-Length"] = []string{strconv.Itoa(len(body))}
	w.WriteHeader(reply.StatusCode)
	_, _ = w.Write(body) // a client that has disconnected does not matter here
}

func (h *handtuned) stream(w http.ResponseWriter, reply *http.Response) {
	out := h.buffers.Get().(*buffer)
	defer h.buffers.Put(out)
	w.WriteHeader(reply.StatusCode)
	flusher := w.(http.Flusher)
	for {
		n, err := reply.Body.Read(out.b)
		if n > 0 {
			h.count(out.b[:n])
			if _, err := w.Write(out.b[:n]); err != nil {
				return
			}
			flusher.Flush()
		}
		if err != nil {
			return
		}
	}
}

// count adds up the tokens of a usage object in b, if there is one.
func (h *handtuned) count(b []byte) {
	_, usage, found := bytes.Cut(b, []byte(`"usage":{`))
	if !found {
		return
	}
	for _, name := range []string{`"prompt_tokens":`, `"completion_tokens":`} {
		_, digits, _ := bytes.Cut(usage, []byte(name))
		n := int64(0)
		for _, d := range digits {
			if d < '0' || d > '9' {
				break
			}
			n = n*10 + int64(d-'0')
		}
		h.tokens.Add(n)
	}
}

// withoutVendor removes the vendor from the top-level model of a JSON object, in place. It moves the few bytes before the name, not the
// possible megabytes after it.
func withoutVendor(body []byte) ([]byte, bool) {
	depth := 0
	for i := 0; i < len(body); i++ {
		switch body[i] {
		case '{', '[':
			depth++
		case '}', ']':
			depth--
		case '"':
			end := stringEnd(body, i)
			if end < 0 {
				return nil, false
			}
			if depth == 1 && string(body[i:end]) == `"model"` {
				return cutVendor(body, end)
			}
			i = end - 1
		}
	}
	return nil, false
}

func cutVendor(body []byte, at int) ([]byte, bool) {
	for at < len(body) && (body[at] == ':' || body[at] == ' ') {
		at++
	}
	if at == len(body) || body[at] != '"' {
		return nil, false
	}
	end := stringEnd(body, at)
	slash := bytes.IndexByte(body[at:max(at, end)], '/')
	if slash < 0 {
		return nil, false
	}
	copy(body[slash:], body[:at+1])
	return body[slash:], true
}

// stringEnd returns the index after the JSON string that starts at i, -1 if it has no end.
func stringEnd(b []byte, i int) int {
	for i++; i < len(b); i++ {
		next := bytes.IndexByte(b[i:], '"')
		if next < 0 {
			return -1
		}
		i += next
		escapes := 0
		for b[i-1-escapes] == '\\' {
			escapes++
		}
		if escapes%2 == 0 {
			return i + 1
		}
	}
	return -1
}
