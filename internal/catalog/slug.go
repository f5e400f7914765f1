package catalog

import (
	"fmt"
	"strings"
)

// MaxSlugBytes is the longest slug, variant suffix included.
const MaxSlugBytes = 256

// Variant is a suffix of a requested slug that changes how the model is served, without its colon.
type Variant string

// The variants a client may append to a slug.
const (
	NoVariant Variant = ""
	Free      Variant = "free"     // only endpoints of variant free
	Nitro     Variant = "nitro"    // by throughput; priority tier allowed
	Floor     Variant = "floor"    // by price; flex tier allowed
	Online    Variant = "online"   // adds web search to the request
	Thinking  Variant = "thinking" // switches reasoning on in the request
	Extended  Variant = "extended" // only endpoints of variant extended
	Exacto    Variant = "exacto"   // quality order; the default order until there are quality signals
)

// VariantNamed finds a variant by the text after the colon.
func VariantNamed(name string) (Variant, bool) {
	switch v := Variant(name); v {
	case Free, Nitro, Floor, Online, Thinking, Extended, Exacto:
		return v, true
	}
	return NoVariant, false
}

// SplitVariant cuts a known variant suffix off a slug. Text after the last colon that names no variant stays in the slug.
func SplitVariant(slug string) (string, Variant) {
	if i := strings.LastIndexByte(slug, ':'); i > 0 {
		if v, ok := VariantNamed(slug[i+1:]); ok {
			return slug[:i], v
		}
	}
	return slug, NoVariant
}

// CheckSlug describes in a sentence the error of a slug that is to be declared, or returns nil. A slug is "vendor/model": two parts of
// letters, digits and -._:@+ with one slash between them, each beginning with a letter or digit.
func CheckSlug(slug string) error {
	vendor, model, found := strings.Cut(slug, "/")
	switch {
	case slug == "":
		return fmt.Errorf("the model id is empty; write it as vendor/model")
	case len(slug) > MaxSlugBytes:
		return fmt.Errorf("the model id %.40q... has %d bytes, more than %d", slug, len(slug), MaxSlugBytes)
	case !found:
		return fmt.Errorf("the model id %q has no vendor; write it as vendor/model", slug)
	case strings.Contains(model, "/"):
		return fmt.Errorf("the model id %q has more than one slash; write it as vendor/model and put the provider's own name into upstream_id", slug)
	case !plainPart(vendor) || !plainPart(model):
		return fmt.Errorf("the model id %q may hold only letters, digits and -._:@+ on both sides of its slash, and begin with a letter or digit", slug)
	}
	return nil
}

func plainPart(s string) bool {
	for i := range len(s) {
		c := s[i]
		switch {
		case 'a' <= c && c <= 'z', 'A' <= c && c <= 'Z', '0' <= c && c <= '9':
		case i > 0 && strings.IndexByte("-._:@+", c) >= 0:
		default:
			return false
		}
	}
	return s != ""
}

// ServedBy reports whether an endpoint that serves the variant own, "" the standard one, serves requests for v.
func (v Variant) ServedBy(own string) bool {
	switch v {
	case Free, Extended:
		return own == string(v)
	case Thinking:
		return own == string(v) || own == "standard" || own == ""
	}
	return own == "standard" || own == ""
}
