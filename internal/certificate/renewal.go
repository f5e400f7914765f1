package certificate

import (
	"bytes"
	"context"
	"crypto/x509"
	"io"
	"net/http"
	"strings"
	"sync"
	"time"

	"weir/internal/loop"
	"weir/internal/rawjson"
)

// Start asks for the certificates, so that the first client does not wait for the authority, and a mistake shows in the log at once. Then it
// watches that they are renewed, which the library does without a word.
func (s *automatic) Start(ctx context.Context) {
	seen := map[string]*sight{}
	for _, d := range s.domains {
		seen[d] = &sight{}
	}
	for {
		pause := longestLook
		for _, d := range s.domains {
			if ctx.Err() != nil {
				return
			}
			pause = min(pause, s.look(d, seen[d]))
		}
		if loop.Wait(ctx, pause) != nil {
			return
		}
	}
}

const (
	longestLook  = time.Hour
	shortestLook = time.Second
	sayEvery     = 24 * time.Hour
)

// sight is what was seen of a certificate.
type sight struct {
	ends time.Time
	said time.Time // when it was reported that it is not renewed
	why  string    // as reported
}

// look reports a new certificate, and one that should have been renewed. It returns when to look again at the latest.
func (s *automatic) look(domain string, seen *sight) time.Duration {
	c, err := s.get(modern(domain))
	if err != nil { // which is in the log
		return leastPause
	}
	if !c.Leaf.NotAfter.Equal(seen.ends) {
		*seen = sight{ends: c.Leaf.NotAfter}
		s.heard.forget()
		s.log.Info("the certificate is there", "domain", domain, "ends", c.Leaf.NotAfter)
	}
	if left := time.Until(late(c.Leaf)); left > 0 {
		return max(left, shortestLook)
	}
	if why := s.heard.last(); why != seen.why || time.Since(seen.said) > sayEvery {
		seen.said, seen.why = time.Now(), why
		s.log.Error("the certificate is not renewed; clients are shown the one before, until it ends", "domain", domain, "ends", c.Leaf.NotAfter, "error", why, "remedy", remedy)
	}
	left := time.Until(c.Leaf.NotAfter)
	if left < 0 {
		return leastPause
	}
	return max(left/4, shortestLook)
}

// late is when a certificate should have been replaced. The library begins when a third of its time is left, or a month, or a little later.
func late(c *x509.Certificate) time.Time {
	threshold := min(c.NotAfter.Sub(c.NotBefore)/3, 30*24*time.Hour)
	return c.NotAfter.Add(-threshold + min(threshold/2, 2*time.Hour))
}

// hearsay remembers what an authority last refused, and why.
type hearsay struct {
	next http.RoundTripper

	mu  sync.Mutex
	why string
}

func (h *hearsay) last() string {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.why == "" {
		return "the authority has not answered yet"
	}
	return h.why
}

func (h *hearsay) forget() { h.set("") }

func (h *hearsay) set(why string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.why = why
}

// RoundTrip passes a request on.
func (h *hearsay) RoundTrip(r *http.Request) (*http.Response, error) {
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
	const repeated = ":badNonce" // happens to everybody, and the library tries again
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
