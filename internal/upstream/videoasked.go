package upstream

import (
	"net/http"
	"strings"

	"weir/internal/catalog"
	"weir/internal/dialect"
	"weir/internal/fault"
)

// requestFields are header fields in which providers return the id of a request, the most specific first: OpenAI, Runway and Luma write
// the first, Google the fourth, MiniMax the fifth; the last ones are those of the provider before them.
var requestFields = [...]string{"X-Request-Id", "Request-Id", "X-Fal-Request-Id", "X-Goog-Request-Id", "Trace-Id", "X-Trace-Id", "X-Amzn-Requestid", "X-Cloud-Trace-Context", "Cf-Ray"}

const maxRequestName = 128

// requestName is the provider's id of a request, "" when it is missing or cannot be an id.
func requestName(h http.Header) string {
	for _, field := range requestFields {
		if name := plainName(h.Get(field), maxRequestName); name != "" {
			return name
		}
	}
	return ""
}

// plainName returns a provider's id unchanged, "" when it is too long or has characters other than visible ASCII.
func plainName(name string, most int) string {
	if len(name) > most || strings.ContainsFunc(name, func(r rune) bool { return r <= ' ' || r >= 0x7F || r == '"' }) {
		return ""
	}
	return name
}

// maxJobName bounds the length of a provider's id of a job; the longest known one has half of it.
const maxJobName = 1 << 10

// unnamed is the fault of an answer that accepts a job without an id by which it could be polled.
func unnamed(ep *catalog.Endpoint) *fault.Error {
	return dialect.Unavailable(ep, "The provider accepted the job without an id.", nil)
}

// asked is the fault of a submission, with the provider's id of the request.
func asked(f *fault.Error, request string) *fault.Error {
	if f.Upstream == nil {
		return f
	}
	if f.Upstream.Request = plainName(f.Upstream.Request, maxRequestName); f.Upstream.Request == "" {
		f.Upstream.Request = request
	}
	return f
}
