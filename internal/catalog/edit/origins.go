package edit

import (
	"slices"

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
	if row.Keys != nil || row.Spec["api_key_env"] != "" {
		var known []string
		if before != nil && before.Provider(c.ID) != nil {
			known = before.Provider(c.ID).Provider.Origins()
		} else if old != nil { // the catalog did not build: the row alone says where the key went
			known = (&catalog.Provider{BaseURL: old.Spec["base_url"]}).Origins()
		}
		if at := strange(is.Provider.Origins(), known); at != "" {
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
	if at := strange(is.Provider.Origins(), home.Provider.Origins()); at != "" {
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
