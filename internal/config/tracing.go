package config

import (
	"net/netip"
	"net/url"
	"strings"

	"weir/internal/http1"
)

const leastContent, mostContent = 256, 1 << 20

func (k *checker) tracing() {
	t := &k.c.Tracing
	if t.Share() > 1 {
		k.fail("tracing.ratio", "it must be a fraction from 0 to 1, such as \"0.1\" for every tenth call")
	}
	if _, err := t.Networks(); err != nil {
		k.fail("tracing.trust_from", "%s", err)
	}
	for _, h := range t.Headers {
		if name, value, ok := strings.Cut(h.Reveal(), ":"); !ok || name == "" || strings.ContainsFunc(name, func(r rune) bool { return r > 127 || !http1.IsToken(byte(r)) }) || strings.ContainsAny(value, "\r\n\x00") {
			k.fail("tracing.headers", "each must be a header such as \"Authorization: Bearer ...\", or env:NAME or file:PATH of one")
		}
	}
	if t.ContentBytes < leastContent || t.ContentBytes > mostContent {
		k.fail("tracing.content_bytes", "it must be from 256 to 1MiB")
	}
	if t.Service == "" {
		k.fail("tracing.service", "it must be a name")
	}
	if t.Endpoint == "" {
		return
	}
	if u, err := url.Parse(t.Endpoint); err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" || u.User != nil {
		k.fail("tracing.endpoint", "it must be the http:// or https:// address that takes OTLP, such as http://localhost:4318/v1/traces; write credentials into headers")
	}
}

// Queue is the memory for spans that wait: prompt and answer of a few calls fit.
func (t *Tracing) Queue() int64 {
	if t.Content {
		return int64(max(t.QueueBytes, 8*t.ContentBytes))
	}
	return int64(t.QueueBytes)
}

// Share is the ratio as a number.
func (t *Tracing) Share() float64 {
	r, _ := t.Ratio.Fraction().Float64() // exact or not
	return r
}

// Networks are where clients are whose traces are continued.
func (t *Tracing) Networks() (all []netip.Prefix, err error) {
	for _, text := range t.TrustFrom {
		p, err := prefixOf(text)
		if err != nil {
			return nil, err
		}
		all = append(all, p)
	}
	return all, nil
}

// Fields are the headers by name. It is only called of a configuration that is valid.
func (t *Tracing) Fields() map[string]string {
	out := make(map[string]string, len(t.Headers))
	for _, h := range t.Headers {
		name, value, _ := strings.Cut(h.Reveal(), ":")
		out[name] = strings.TrimSpace(value)
	}
	return out
}
