package app

import (
	"math/rand/v2"
	"net"
	"net/http"
	"time"

	"weir/internal/httpapi"
	"weir/internal/trace"
	"weir/internal/trace/otlp"
)

// tracesGrace bounds how long the last spans may take at shutdown.
const tracesGrace = 3 * time.Second

// makeTraces makes the tracer of calls, nil when the configuration has no receiver.
func (g *Gateway) makeTraces(metrics *httpapi.Metrics, version string) httpapi.Traces {
	c := &g.cfg.Tracing
	if c.Endpoint == "" {
		return nil
	}
	to := otlp.New(otlp.Config{
		URL: c.Endpoint, Headers: c.Fields(), Service: c.Service, Version: version, Instance: g.book.Node(), Queue: int(c.QueueBytes), Timeout: c.Timeout, Every: time.Second,
		Redact: g.redactor.Redact,
		Transport: &http.Transport{
			DialContext: (&net.Dialer{Timeout: c.Timeout}).DialContext, TLSHandshakeTimeout: c.Timeout, ForceAttemptHTTP2: true, MaxIdleConns: 2, IdleConnTimeout: time.Minute,
		},
		Report: func(err error) {
			if err != nil {
				g.slog.Warn("traces are not delivered", "error", err)
				return
			}
			g.slog.Info("traces are delivered again")
		},
	})
	metrics.WatchSpans(otlp.Results[:], func(r int) int64 { return to.Count(otlp.Result(r)) })
	to.Start()
	g.onClose(within(tracesGrace, to.Close))
	kept := 0
	if c.Content {
		kept = int(c.ContentBytes)
		g.slog.Warn("traces have prompts and answers: tracing.content is on", "endpoint", c.Endpoint)
	}
	return trace.New(trace.Config{Ratio: c.Share(), PassTo: c.PassTo, Bytes: kept, Rand: rand.Uint64}, to)
}
