package importer

import (
	"slices"
	"strings"

	"weir/internal/catalog"
)

// quantizations are the words in an id that describe how weights are stored.
var quantizations = []string{"nvfp4", "mxfp4", "fp4", "fp8", "fp16", "bf16", "int4", "int8"}

// Slug is the slug of a provider's model and the variant its id asks for, by the first rule that applies:
//
//   - the provider's alias table names it, or what is after its profile;
//   - the provider serves only its own models: vendor/id;
//   - the id is "maker/model", perhaps with more before it: both in lower case, the maker by the table of vendors;
//   - the id begins like the names of a known maker.
//
// So the same weights under the usual names get one slug at every provider. What matches none of these has none.
func (b *Book) Slug(n *Names, id string) (slug, variant string, ok bool) {
	model, _ := n.profile(id)
	if slug := n.Aliases[model]; slug != "" {
		if one := b.Joined[slug]; one != "" {
			slug = one
		}
		return slug, "", catalog.CheckSlug(slug) == nil
	}
	if base, suffix, found := strings.Cut(id, ":"); found {
		if suffix != "free" && suffix != "extended" && suffix != "thinking" {
			return "", "", false // "nitro" and others change no model, and what else stands there is no variant
		}
		id, variant = base, suffix
	}
	slug, named := n.Aliases[id]
	if !named {
		slug = b.ruled(n, strings.ToLower(id))
	}
	// a colon would read as a variant, and a provider's own alias models begin with other signs
	if strings.Contains(slug, ":") || catalog.CheckSlug(slug) != nil {
		return "", "", false
	}
	if one := b.Joined[slug]; one != "" {
		slug = one
	}
	return slug, variant, true
}

func (b *Book) ruled(n *Names, id string) string {
	if n.Vendor != "" {
		return n.Vendor + "/" + id
	}
	parts := strings.Split(id, "/")
	model := parts[len(parts)-1]
	if word := quantized(model); word != "" && word != model {
		model = strings.TrimSuffix(model, "-"+word)
	}
	maker := ""
	if len(parts) > 1 {
		maker = parts[len(parts)-2]
		if v, ok := b.Vendors[maker]; ok {
			maker = v
		}
	}
	for _, m := range b.Makers {
		if maker == "" && strings.HasPrefix(model, m[0]) {
			maker = m[1]
		}
	}
	if maker == "meta-llama" { // both spellings are usual for the same weights
		model = strings.TrimPrefix(model, "meta-")
	}
	if maker == "anthropic" { // claude-opus-4-8 and claude-opus-4.8
		model = dotted(model)
	}
	if maker == "" {
		return ""
	}
	return maker + "/" + model
}

// dotted writes the version in a name with a dot: opus-4-8 is opus-4.8, while a date after it stays.
func dotted(model string) string {
	parts := strings.Split(model, "-")
	for i := len(parts) - 1; i > 0; i-- {
		if short(parts[i]) && short(parts[i-1]) {
			parts[i-1] += "." + parts[i]
			parts = slices.Delete(parts, i, i+1)
		}
	}
	return strings.Join(parts, "-")
}

func short(s string) bool { return len(s) == 1 && s[0] >= '0' && s[0] <= '9' }

// quantized is the word at the end of an id that describes how its weights are stored, or "".
func quantized(id string) string {
	id = strings.ToLower(id)
	for _, word := range quantizations {
		if strings.HasSuffix(id, "-"+word) {
			return word
		}
	}
	return ""
}
