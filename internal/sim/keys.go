package sim

import (
	"net/http"

	"weir/internal/sim/kit"
)

// setKeys serves POST /sim/keys?accept=K&revoke=K: further keys that are accepted, and keys that are refused from now on. Each may be given
// several times.
func (s *Server) setKeys(w http.ResponseWriter, r *http.Request) {
	for _, key := range r.URL.Query()["accept"] {
		s.host.SetKey(key, true)
	}
	for _, key := range r.URL.Query()["revoke"] {
		s.host.SetKey(key, false)
	}
	kit.SendJSON(w, 200, []byte(`{"ok":true}`))
}

// Accept has a key accepted beside the configured one.
func (s *Server) Accept(key string) { s.host.SetKey(key, true) }

// Revoke has a key refused from now on.
func (s *Server) Revoke(key string) { s.host.SetKey(key, false) }
