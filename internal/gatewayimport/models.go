package gatewayimport

import (
	"strings"

	"weir/internal/catalog"
)

// Models finds models of a catalog by the names that others use: the slug, an alias, the id at a provider, or the name without its vendor,
// where only one model has it. "vendor/*" is found when the vendor has a model.
func Models(s *catalog.Snapshot) func(name string) (slug string, ok bool) {
	others := map[string]string{}
	put := func(name, slug string) {
		name = strings.ToLower(name)
		if was, taken := others[name]; taken && was != slug {
			slug = "" // it means more than one
		}
		others[name] = slug
	}
	vendors := map[string]bool{}
	for _, m := range s.Models() {
		vendor, bare, _ := strings.Cut(m.Slug, "/")
		vendors[vendor+"/*"] = true
		put(bare, m.Slug)
		for _, ep := range m.Endpoints {
			if ep.UpstreamID != m.Slug && ep.UpstreamID != bare {
				put(ep.UpstreamID, m.Slug)
			}
		}
	}
	return func(name string) (string, bool) {
		if vendors[name] {
			return name, true
		}
		if m, variant, ok := s.Resolve(name); ok {
			if variant != catalog.NoVariant {
				return name, true
			}
			return m.Slug, true
		}
		slug := others[strings.ToLower(name)]
		return slug, slug != ""
	}
}
