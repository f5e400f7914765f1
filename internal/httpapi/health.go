package httpapi

import (
	"context"
	"fmt"
	"net/http"
	"net/http/pprof"

	"weir/internal/fault"
	"weir/internal/httpserver"
)

// Admin is the handler of the listener for operators: metrics, health, profiles, and the routes of administrators. Only these ask for a key:
// keep it off the network.
func (a *API) Admin() http.Handler {
	mux := http.NewServeMux()
	mux.Handle("GET /metrics", a.Metrics.Handler())
	mux.HandleFunc("/api/admin/", func(w http.ResponseWriter, r *http.Request) { a.answer(w, r, a.inner) })
	mux.HandleFunc("GET /healthz", func(w http.ResponseWriter, _ *http.Request) { writeHealth(w, nil) })
	mux.HandleFunc("GET /readyz", func(w http.ResponseWriter, r *http.Request) {
		writeHealth(w, a.ready(r.Context()), a.operatorDetails()...)
	})
	mux.HandleFunc("GET /debug/pprof/", pprof.Index)
	mux.HandleFunc("GET /debug/pprof/cmdline", pprof.Cmdline)
	mux.HandleFunc("GET /debug/pprof/profile", pprof.Profile)
	mux.HandleFunc("GET /debug/pprof/symbol", pprof.Symbol)
	mux.HandleFunc("GET /debug/pprof/trace", pprof.Trace)
	return mux
}

func writeHealth(w http.ResponseWriter, err error, details ...string) {
	w.Header()["Content-Type"] = jsonType
	if err != nil {
		w.Header().Set("Retry-After", "5")
		w.WriteHeader(http.StatusServiceUnavailable)
		_, _ = w.Write(healthBody(err, details...))
		return
	}
	_, _ = w.Write(healthBody(nil, details...))
}

// ready returns why the node should get no new requests, nil when it should get them.
func (a *API) ready(ctx context.Context) error {
	if a.draining.Load() {
		return fault.New(fault.Draining, "httpapi.ready", "The gateway is shutting down.")
	}
	if a.Ready != nil {
		return a.Ready(ctx)
	}
	return nil
}

// details are what the operator should know about a node that works all the same.
func (a *API) details() (list []string) {
	if a.peers.Suspected() {
		list = append(list, httpserver.HiddenProxyRemedy)
	}
	if a.Aside != nil && a.Aside() > 0 {
		list = append(list, fmt.Sprintf("%d charges could not be posted and were set aside; see: weir ledger aside list", a.Aside()))
	}
	return list
}

// operatorDetails are details with what is only said on the operators' listener.
func (a *API) operatorDetails() []string {
	list := a.details()
	if a.Peers != nil {
		list = append(list, a.Peers()...)
	}
	return list
}

func healthBody(err error, details ...string) []byte {
	o := object{}
	o.Object()
	if err == nil {
		o.text("status", "ok")
	} else {
		f := fault.From(err)
		o.text("status", "unavailable")
		o.text("reason", f.Kind.String())
	}
	if details != nil {
		o.texts("details", details)
	}
	o.EndObject()
	return o.B
}

func (x *request) getHealth() error {
	x.writeBody(http.StatusOK, jsonType, healthBody(nil))
	return nil
}

func (x *request) getReady() error {
	err, status := x.api.ready(x.context()), http.StatusOK
	if err != nil {
		x.w.Header()["Retry-After"] = []string{"5"}
		status = http.StatusServiceUnavailable
	}
	x.writeBody(status, jsonType, healthBody(err, x.api.details()...))
	return nil
}
