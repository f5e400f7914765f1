package importer

import (
	"strings"

	"weir/internal/catalog"
	"weir/internal/catalog/builtin"
)

// vendors maps how hosting providers write a maker's name, in lower case, to the vendor of our slugs.
var vendors = map[string]string{
	"deepseek-ai": "deepseek", "zai-org": "z-ai", "minimaxai": "minimax", "xiaomimimo": "xiaomi", "mistral": "mistralai", "xai": "x-ai", "nvidia": "nvidia",
}

// Slug is the slug of a provider's model, by the first rule that applies:
//
//   - the provider's alias table names it;
//   - the provider serves only its own models: vendor/id;
//   - the id is "maker/model": both in lower case, the maker by the table of vendors.
//
// So the same weights under the usual maker/model name get one slug at every provider. What matches none of these has none.
func Slug(p *builtin.Provider, id string) (string, bool) {
	slug, ok := p.Aliases[id]
	switch {
	case ok:
	case p.Vendor != "":
		slug = p.Vendor + "/" + strings.ToLower(id)
	default:
		maker, model, found := strings.Cut(strings.ToLower(id), "/")
		if !found {
			return "", false
		}
		if v, ok := vendors[maker]; ok {
			maker = v
		}
		slug = maker + "/" + model
	}
	// a colon would read as a variant, and a provider's own alias models begin with other signs
	if strings.Contains(slug, ":") || catalog.CheckSlug(slug) != nil {
		return "", false
	}
	return slug, true
}
