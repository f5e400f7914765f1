package dialect

import (
	"cmp"
	"net/http"

	"weir/internal/catalog"
)

// Credential returns the header of a provider: its credential in the field of that name, after the word scheme if there is one, and the
// provider's own fields, which win. The quirks auth_header and auth_scheme override both; a field named by a quirk has only a quirk's
// scheme.
func Credential(p *catalog.Provider, name, scheme string) http.Header {
	h := make(http.Header, len(p.Headers)+2)
	if p.Quirks.AuthHeader != "" {
		name, scheme = p.Quirks.AuthHeader, ""
	}
	switch scheme = cmp.Or(p.Quirks.AuthScheme, scheme); {
	case p.Key == "":
	case scheme == "":
		h.Set(name, p.Key)
	default:
		h.Set(name, scheme+" "+p.Key)
	}
	for name, value := range p.Headers {
		h.Set(name, value)
	}
	return h
}

// Bearer is Credential for a bearer token.
func Bearer(p *catalog.Provider) http.Header { return Credential(p, "Authorization", "Bearer") }
