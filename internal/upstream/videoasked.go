package upstream

import (
	"net/http"
	"strings"

	"weir/internal/catalog"
	"weir/internal/dialect"
	"weir/internal/fault"
)

// requestFields are header fields in which providers name a request, the more telling first: OpenAI, Runway and Luma write the first, Google the
// fourth, MiniMax the fifth; the last ones belong to the provider before them.
var requestFields = [...]string{"X-Request-Id", "Request-Id", "X-Fal-Request-Id", "X-Goog-Request-Id", "Trace-Id", "X-Trace-Id", "X-Amzn-Requestid", "X-Cloud-Trace-Context", "Cf-Ray"}

const maxRequestName = 128

// requestName is what a provider calls a request, "" when it does not say or when that could be anything but a name.
func requestName(h http.Header) string {
	for _, field := range requestFields {
		if name := plainName(h.Get(field), maxRequestName); name != "" {
			return name
		}
	}
	return ""
}

// plainName is a name of a provider's as it is, "" for what is too long or has anything but visible letters of ASCII in it.
func plainName(name string, most int) string {
	if len(name) > most || strings.ContainsFunc(name, func(r rune) bool { return r <= ' ' || r >= 0x7F || r == '"' }) {
		return ""
	}
	return name
}

// maxJobName bounds a provider's name for a job; the longest known is half as long.
const maxJobName = 1 << 10

// unnamed is the fault of an answer that accepts a job without a name that it could be polled by.
func unnamed(ep *catalog.Endpoint) *fault.Error {
	return dialect.Unavailable(ep, "The provider accepted the job without an id.", nil)
}

// asked is the fault of a submission, with the provider's name for the request.
func asked(f *fault.Error, request string) *fault.Error {
	if f.Upstream == nil {
		return f
	}
	if f.Upstream.Request = plainName(f.Upstream.Request, maxRequestName); f.Upstream.Request == "" {
		f.Upstream.Request = request
	}
	return f
}
