package importer

import (
	"maps"
	"math/big"
	"slices"
	"strings"

	"weir/internal/catalog"
)

// batchLists are the ids under which lists have the price of a model in batches, apart from fields of the model itself.
func (im *importer) batchLists(n *Names, o *offer, e *entry) (out []prices) {
	if v := im.src.modelsDev["openrouter"][o.model+":"+batch]; v != nil { // a reseller at the prices of the makers
		out = append(out, quoteModelsDev(v, e.kind).base)
	}
	for _, suffix := range []string{"-lte-128k", "-lte-200k"} {
		if v := im.src.portkey[n.Portkey][e.id+suffix]; v != nil {
			if t := quotePortkey(v, e.kind, o.maxPrompt).tiers[batch]; t != nil {
				out = append(out, t.base)
			}
		}
	}
	return out
}

// batches makes the prices of a model in batches of its maker: the share of the usual ones that the maker publishes. Not all models can be
// had in batches: at least one list must have the model with just these prices.
func (im *importer) batches(n *Names, o *offer, e *entry, quotes []quote) *quote {
	b := n.Batches
	share, ok := new(big.Rat), false
	if b != nil {
		share, ok = share.SetString(b.Share)
	}
	if !ok || o.kind != catalog.TypeChat || o.gives != catalog.Text || o.variant != "" || o.quote.hours != nil || !dearer(o.quote.base["prompt"], "0") {
		return nil
	}
	listed := im.batchLists(n, o, e)
	for i := range quotes {
		if t := quotes[i].tiers[batch]; t != nil {
			listed = append(listed, t.base)
		}
	}
	usual := o.quote.base
	q := &quote{source: "the maker's batches", base: prices{}}
	main := []string{"prompt", "completion"}
	for _, name := range main {
		q.base.put(name, part(usual[name], share))
	}
	listed = slices.DeleteFunc(listed, func(p prices) bool { return joined(main)(quote{base: p}) != joined(main)(*q) })
	if len(listed) == 0 {
		return nil
	}
	discounted := func(name string) bool { // what cached tokens cost in batches is not always published
		return b.Cached || !strings.HasPrefix(name, "cache_") || slices.ContainsFunc(listed, func(l prices) bool { return l[name] == part(usual[name], share) })
	}
	q.base = inBatches(usual, share, discounted)
	for above, long := range o.quote.above {
		whole := maps.Clone(usual)
		maps.Copy(whole, long)
		p := inBatches(whole, share, discounted)
		maps.DeleteFunc(p, func(name, _ string) bool { return long[name] == "" })
		q.threshold(above, p)
	}
	return q
}

// inBatches is what prices are in batches. Cached tokens that are not discounted cost what they usually do, but never more than other tokens of
// the prompt.
func inBatches(usual prices, share *big.Rat, discounted func(name string) bool) prices {
	out := prices{}
	for name, text := range usual {
		switch prompt := part(usual["prompt"], share); {
		case !catalog.PerTokens(name):
			out.put(name, text)
		case discounted(name):
			out.put(name, part(text, share))
		case strings.HasPrefix(name, "cache_read") && dearer(text, prompt):
			out.put(name, prompt)
		default:
			out.put(name, text)
		}
	}
	return out
}

// part is a share of a price.
func part(text string, share *big.Rat) string {
	v, ok := new(big.Rat).SetString(text)
	if !ok {
		return ""
	}
	text, _ = shift(v.Mul(v, share).FloatString(12), 0)
	return text
}
