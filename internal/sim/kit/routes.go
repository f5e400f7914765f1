package kit

import (
	"maps"
	"net/http"
	"slices"
	"strings"
)

// Routes registers the routes of the wires.
type Routes struct {
	host *Host
	mux  *http.ServeMux
}

// NewRoutes makes Routes that add to mux.
func NewRoutes(h *Host, mux *http.ServeMux) *Routes { return &Routes{h, mux} }

// AddOpen adds a route that needs no key, by a pattern of net/http.
func (m *Routes) AddOpen(pattern string, serve http.HandlerFunc) { m.mux.HandleFunc(pattern, serve) }

// Add adds a route that needs the key. Other methods on its path get 405.
func (m *Routes) Add(on *Wire, method, path string, serve http.HandlerFunc) {
	m.AddAll(on, path, map[string]http.HandlerFunc{method: serve})
}

// AddAll adds the methods of a path that needs the key.
func (m *Routes) AddAll(on *Wire, path string, by map[string]http.HandlerFunc) {
	if get := by["GET"]; get != nil {
		by["HEAD"] = get
	}
	allowed := strings.Join(slices.Sorted(maps.Keys(by)), ", ")
	m.mux.HandleFunc(path, func(w http.ResponseWriter, r *http.Request) {
		serve := by[r.Method]
		switch {
		case serve == nil:
			w.Header().Set("Allow", allowed)
			on.Refuse(w, &Refusal{Status: 405, Kind: "invalid_request_error", Code: "method_not_supported", Message: "Not allowed to " + r.Method + " on " + r.URL.Path + "."})
		default:
			if refused := on.Admit(m.host, r); refused != nil {
				m.host.Refuse(on, w, refused)
				return
			}
			serve(w, r)
		}
	})
}
