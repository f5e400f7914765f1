package certificate

import (
	"bytes"
	"io"
	"net/http"
	"strings"
	"sync"

	"weir/internal/rawjson"
)

// lastRefusal is a transport that remembers why an authority last refused something.
type lastRefusal struct {
	next http.RoundTripper

	mu  sync.Mutex
	why string
}

func (h *lastRefusal) reason() string {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.why == "" {
		return "the authority has not answered yet"
	}
	return h.why
}

func (h *lastRefusal) forget() { h.set("") }

func (h *lastRefusal) set(why string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.why = why
}

// RoundTrip passes a request on.
func (h *lastRefusal) RoundTrip(r *http.Request) (*http.Response, error) {
	res, err := h.next.RoundTrip(r)
	if err != nil {
		h.set(err.Error())
		return nil, err
	}
	if !strings.Contains(res.Header.Get("Content-Type"), "json") {
		return res, nil
	}
	head, err := io.ReadAll(io.LimitReader(res.Body, mostRead))
	res.Body = rest{io.MultiReader(bytes.NewReader(head), &failing{res.Body, err}), res.Body}
	if why := refusal(res.StatusCode, head); why != "" {
		h.set(why)
	}
	return res, nil
}

// mostRead is how much of an answer is looked at. Problems are short.
const mostRead = 64 << 10

// rest is an answer of which something was read already.
type rest struct {
	io.Reader
	io.Closer
}

// failing fails as the reading before it did.
type failing struct {
	io.Reader
	err error
}

func (f *failing) Read(p []byte) (int, error) {
	if f.err != nil {
		return 0, f.err
	}
	return f.Reader.Read(p)
}

// refusal is what an authority's answer says against a certificate (RFC 8555, 6.7 and 7.1.4), "" if nothing.
func refusal(status int, body []byte) string {
	if !rawjson.Valid(body) {
		return ""
	}
	const repeated = ":badNonce" // is usual: the library tries again
	if status >= http.StatusBadRequest && !strings.HasSuffix(rawjson.TextAt(body, "type"), repeated) {
		return brief(rawjson.TextAt(body, "detail"))
	}
	for c := rawjson.ElementsOf(rawjson.Find(body, "challenges")); c.Next(); {
		if why := rawjson.TextAt(rawjson.Find(c.Value, "error"), "detail"); why != "" {
			return brief(why)
		}
	}
	return ""
}

func brief(text string) string {
	const most = 500
	if len(text) > most {
		return strings.ToValidUTF8(text[:most], "") + "…"
	}
	return text
}
