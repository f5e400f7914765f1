package app

import (
	"math/rand/v2"
	"net"
	"net/http"
	"time"

	"weir/internal/catalog"
	"weir/internal/httpapi"
	"weir/internal/record"
	"weir/internal/trace"
	"weir/internal/trace/otlp"
	"weir/internal/video"
)

// tracesGrace bounds how long the last spans may take at shutdown.
const tracesGrace = 3 * time.Second

// makeTraces makes the tracer of calls, nil when the configuration has no receiver.
func (g *Gateway) makeTraces(metrics *httpapi.Metrics, version string) *trace.Tracer {
	c, calls := g.cfg.Tracing.Receiver, g.cfg.Tracing.Calls
	if c.URL == "" {
		return nil
	}
	c.Queue, c.Version, c.Instance, c.Every, c.Redact = g.cfg.Tracing.Queue(), version, g.book.Node(), time.Second, g.redactor.Redact
	c.Transport = &http.Transport{
		DialContext: (&net.Dialer{Timeout: c.Timeout}).DialContext, TLSHandshakeTimeout: c.Timeout, ForceAttemptHTTP2: true, MaxIdleConns: 2, IdleConnTimeout: time.Minute,
	}
	c.Report = func(err error) {
		if err != nil {
			g.slog.Warn("traces are not delivered", "error", err)
			return
		}
		g.slog.Info("traces are delivered again")
	}
	to := otlp.New(c)
	metrics.WatchSpans(otlp.Results[:], func(r int) int64 { return to.Count(otlp.Result(r)) })
	to.Start()
	g.onClose(within(tracesGrace, to.Close))
	if calls.Content {
		g.slog.Warn("traces have prompts and answers: tracing.content is on", "endpoint", c.URL)
	}
	calls.Rand = rand.Uint64
	return trace.New(calls, to)
}

// tracesOf is the tracer as the API takes it: nil for none.
func tracesOf(t *trace.Tracer) httpapi.Traces {
	if t == nil {
		return nil
	}
	return t
}

// videoTraces traces jobs that have ended, as what came of the request that made them; nil without a tracer.
func (g *Gateway) videoTraces(t *trace.Tracer) func(*video.Job) {
	if t == nil {
		return nil
	}
	return func(j *video.Job) {
		from, ok := trace.Parse(j.Trace)
		if !ok {
			return
		}
		c, rec := t.Continue(from), j.Call
		rec.Cost, rec.Settled = j.Cost, j.Ended == video.Settled
		for i := range rec.Attempts {
			c.Tried = append(c.Tried, g.videoEndpoint(j, &rec.Attempts[i]))
		}
		t.End(c, &trace.Answer{At: rec.At, Took: j.CompletedAt.Sub(rec.At), Reason: j.Reason, Job: j.ID, Asked: j.Model, User: j.User, Key: j.Key, Record: &rec})
	}
}

// videoEndpoint is the endpoint of an attempt. One that the catalog does not have any more has what the job knows of it.
func (g *Gateway) videoEndpoint(j *video.Job, at *record.Attempt) *catalog.Endpoint {
	if m, _, ok := g.catalog.Load().Resolve(j.Model); ok {
		for _, ep := range m.Endpoints {
			if ep.ID == at.Endpoint {
				return ep
			}
		}
	}
	ep := &catalog.Endpoint{ID: at.Endpoint, Provider: &catalog.Provider{ID: at.Provider}, Model: &catalog.Model{Type: catalog.TypeVideo}}
	for i := range j.Offers {
		if o := &j.Offers[i]; o.Endpoint == at.Endpoint {
			ep.UpstreamID = o.UpstreamModel
		}
	}
	return ep
}
