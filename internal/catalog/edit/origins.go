package edit

import (
	"net/url"
	"slices"
	"strings"

	"weir/internal/catalog"
	"weir/internal/fault"
)

// keepsItsKey refuses a change that would send a provider's credential to a server for which it was not entered: an administrator of
// addresses must not get a key that others have entered. The change must include the key again; a key of the environment is sent only to
// the built-in provider's address.
func (e *Editor) keepsItsKey(s *State, c *Change, before, after *Built, old, row *Row) error {
	is := after.Provider(c.ID)
	if is == nil || c.Key != nil && *c.Key != "" || c.Set["api_key_env"] != "" {
		return nil
	}
	refusal := func(elsewhere string) error {
		return fault.Field("edit.Change", "api_key", "The key of the provider %q was not given for %s: give api_key or api_key_env in the same change.", c.ID, elsewhere)
	}
	if row.Sealed != nil || row.Spec["api_key_env"] != "" {
		var known []string
		if before != nil && before.Provider(c.ID) != nil {
			known = origins(&before.Provider(c.ID).Provider)
		} else if old != nil { // the catalog did not build: the row alone says where the key went
			known = origins(&catalog.Provider{BaseURL: old.Spec["base_url"]})
		}
		if at := strange(origins(&is.Provider), known); at != "" {
			return refusal(at)
		}
		return nil
	}
	if !row.Over {
		return nil
	}
	bare := s.with(Provider, c.ID, nil)
	built, err := e.builder.BuildCatalog(&bare, false)
	if err != nil {
		return err
	}
	home := built.Provider(c.ID)
	if home == nil || home.On && home.Key == "" { // it needs no key
		return nil
	}
	if at := strange(origins(&is.Provider), origins(&home.Provider)); at != "" {
		return refusal(at)
	}
	return nil
}

// strange is the first origin of a list that another does not have, "" for none.
func strange(list, known []string) string {
	for _, at := range list {
		if !slices.Contains(known, at) {
			return at
		}
	}
	return ""
}

// origins are the servers that a provider's credential is sent to, each as scheme, host and port.
func origins(p *catalog.Provider) []string {
	addresses := []string{p.BaseURL, p.Quirks.AuthURL}
	for _, w := range p.Wires {
		addresses = append(addresses, w.BaseURL)
	}
	var out []string
	for _, a := range addresses {
		if a != "" {
			out = append(out, originOf(a))
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

func originOf(address string) string {
	u, err := url.Parse(address)
	if err != nil {
		return "an address that cannot be read"
	}
	port := u.Port()
	if port == "" {
		port = map[string]string{"https": "443", "http": "80", "wss": "443", "ws": "80"}[strings.ToLower(u.Scheme)]
	}
	return strings.ToLower(u.Scheme) + "://" + strings.TrimSuffix(strings.ToLower(u.Hostname()), ".") + ":" + port
}
