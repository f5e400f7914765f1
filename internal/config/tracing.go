package config

import (
	"net/url"
	"strings"

	"weir/internal/http1"
)

const leastContent, mostContent = 256, 1 << 20

func (k *checker) tracing() {
	to, t := &k.c.Tracing.Receiver, &k.c.Tracing.Calls
	if t.Ratio > 1 {
		k.fail("tracing.ratio", "it must be a fraction from 0 to 1, such as \"0.1\" for every tenth call")
	}
	if _, err := Networks(t.TrustFrom); err != nil {
		k.fail("tracing.trust_from", "%s", err)
	}
	for _, h := range to.Headers {
		if name, value, ok := strings.Cut(h.Reveal(), ":"); !ok || name == "" || strings.ContainsFunc(name, func(r rune) bool { return r > 127 || !http1.IsToken(byte(r)) }) || strings.ContainsAny(value, "\r\n\x00") {
			k.fail("tracing.headers", "each must be a header such as \"Authorization: Bearer ...\", or env:NAME or file:PATH of one")
		}
	}
	if t.ContentBytes < leastContent || t.ContentBytes > mostContent {
		k.fail("tracing.content_bytes", "it must be from 256 to 1MiB")
	}
	if to.Service == "" {
		k.fail("tracing.service", "it must be a name")
	}
	if to.URL == "" {
		return
	}
	if u, err := url.Parse(to.URL); err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" || u.User != nil {
		k.fail("tracing.endpoint", "it must be the http:// or https:// address that takes OTLP, such as http://localhost:4318/v1/traces; write credentials into headers")
	}
}

// Queue is the memory for spans that wait: prompt and answer of a few calls fit.
func (t *Tracing) Queue() int64 {
	if t.Calls.Content {
		return max(t.Receiver.Queue, 8*t.Calls.ContentBytes)
	}
	return t.Receiver.Queue
}
