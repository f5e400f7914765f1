package httpapi

import (
	"weir/internal/fault"
	"weir/internal/record"
	"weir/internal/trace"
)

// Traces traces calls. *trace.Tracer is one.
type Traces interface {
	// Begin is the trace of a call with these traceparent headers, nil for none.
	Begin(headers []string, trusted bool) *trace.Call
	End(c *trace.Call, a *trace.Answer)
}

// traceTrusted reports whether the client may decide about traces.
func (x *request) traceTrusted() bool {
	if len(x.api.cfg.TraceTrust) == 0 {
		return false
	}
	ip := x.client()
	for _, p := range x.api.cfg.TraceTrust {
		if p.Contains(ip) {
			return true
		}
	}
	return false
}

// traceID is the id of a trace that is sent, "" for any other.
func traceID(t *trace.Call) string {
	if t == nil || !t.Sampled {
		return ""
	}
	return t.ID()
}

// traceparent names the span of the call to what goes on with it later, "" when it is not sent.
func traceparent(t *trace.Call) string {
	if t == nil || !t.Sampled {
		return ""
	}
	return trace.Parent{Trace: t.Trace, Span: t.Span, Sampled: true}.String()
}

// endTrace ends the trace of the request while its body is there: a trace may have content.
func (x *request) endTrace(status int) {
	x.api.Traces.End(x.trace, x.answered(status, x.r.URL.Path, x.fault, x.record))
}

// answered is what became of a call, for its trace. It does not look at the request, which may have ended.
func (x *request) answered(status int, path string, e *fault.Error, c *record.Call) *trace.Answer {
	a := &trace.Answer{
		At: x.at, Took: x.api.Now().Sub(x.at), Method: x.route.Method, Route: x.route.Pattern, Path: path, Status: status,
		Request: x.id, Asked: x.asked, User: x.caller.User, Key: x.caller.Key, Record: c, InBatch: x.part != nil,
	}
	if e != nil {
		a.Reason = e.Kind.String()
	}
	return a
}
