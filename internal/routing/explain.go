package routing

import (
	"fmt"
	"strings"

	"weir/internal/catalog"
	"weir/internal/money"
)

// explain lists every candidate in the order in which it was looked at.
func (p *planner) explain(models []asked) []Candidate {
	out := make([]Candidate, len(p.cands))
	for i := range p.cands {
		c := &p.cands[i]
		out[i] = Candidate{Endpoint: c.ep, Slug: p.q.Models[c.model]}
		if c.dropped != Kept {
			out[i].DroppedBy = c.dropped.String()
			out[i].Detail = p.detail(c, models[c.model].variant)
			continue
		}
		out[i].Order, out[i].Score, out[i].Reason, out[i].Detail = c.place, c.score, c.reason, p.cacheDetail(c)
	}
	return out
}

// detail says in one sentence why a candidate was dropped, with the figures that decided.
func (p *planner) detail(c *candidate, v catalog.Variant) string {
	ep, pref, needs := c.ep, &p.q.Preferences, &p.q.Needs
	switch c.dropped {
	case OutOfService:
		if p.q.Out(ep.ID) == Cut {
			return "It was ejected by an operator: it gets no calls."
		}
		return "It is drained by an operator: it gets no new calls."
	case AllowedModels:
		return fmt.Sprintf("The key may call %s, and this model is %s.", listed(pref.Models), ep.Model.Slug)
	case Only:
		for _, list := range pref.Within {
			if !namedBy(list, ep, true) {
				return fmt.Sprintf("The account or the key allows only %s, and this endpoint is %s.", strings.Join(list, ", "), ep.Tag)
			}
		}
		return fmt.Sprintf("Only %s may be used, and this endpoint is %s.", strings.Join(pref.Only, ", "), ep.Tag)
	case Ignore:
		return fmt.Sprintf("%s may not be used.", strings.Join(pref.Ignore, ", "))
	case ZDR:
		return fmt.Sprintf("Zero data retention is required, and the provider's data policy is %s.", ep.Provider.DataPolicy)
	case DataCollection:
		return fmt.Sprintf("Data collection is denied, and the provider's data policy is %s.", ep.Provider.DataPolicy)
	case Quantizations:
		return fmt.Sprintf("Only the quantizations %s may be used, and this endpoint's is %s.", strings.Join(pref.Quantizations, ", "), orUnknown(ep.Quantization))
	case MaxPriceFilter:
		return p.priceDetail(ep)
	case ContextLength:
		return fmt.Sprintf("The prompt of about %d tokens and an answer of %d do not fit into %d.", needs.PromptTokens, needs.MaxTokens, ep.ContextLength)
	case MaxCompletionTokens:
		return fmt.Sprintf("The request asks for up to %d answer tokens, and this endpoint allows at most %d.", needs.MaxTokens, ep.MaxCompletion)
	case InputModalities:
		return fmt.Sprintf("The prompt has %s, which this endpoint does not accept.", needs.Input&^ep.Input)
	case OutputModalities:
		return fmt.Sprintf("The request asks for %s, which this endpoint does not produce.", needs.Output&^ep.Output)
	case NFilter:
		return fmt.Sprintf("The request asks for %d answers at once, and this endpoint allows at most %d.", needs.N, ep.MaxN)
	case RequireParameters:
		return fmt.Sprintf("The request requires its parameters, and this endpoint lacks %s.", needs.Params&^ep.Carried())
	case VariantFilter:
		return variantDetail(ep, v)
	case TierFilter:
		switch {
		case p.q.Needs.Batch:
			return "The request is a part of a provider's batch, which this endpoint does not take."
		case ep.Tier == catalog.BatchTier:
			return "This endpoint takes only requests of batches."
		}
		if p.tier == "flex" {
			return fmt.Sprintf("The request asks for the flex tier, which the model has, and this endpoint is of tier %s.", ep.Tier)
		}
		return fmt.Sprintf("Endpoints of tier %s are used only when the request asks for that tier.", ep.Tier)
	case WebFilter:
		return "The request asks for a web search, which this endpoint does not have."
	case UnpricedFilter:
		return fmt.Sprintf("The request uses a feature that costs more than tokens (%s), and this endpoint has no price for it.", p.unpriced(ep, v))
	case softWire:
		return fmt.Sprintf("The model has endpoints that take the request unchanged, and this one speaks the wire %s.", ep.Provider.Dialect)
	case AllowFallbacks:
		return "No fallbacks are allowed, and another endpoint comes first."
	case OwnKeysFilter:
		return "The order of an own key is \"only\": this model is called with own keys alone."
	case Duplicate:
		return "This endpoint is already among the attempts for an earlier model of the list."
	}
	return fmt.Sprintf("The request uses %s; other endpoints of the model support it, this one does not.", c.dropped)
}

func (p *planner) priceDetail(ep *catalog.Endpoint) string {
	prices, limits := p.prices(ep), &p.ceilings
	for _, x := range []struct {
		what    string
		price   money.Price
		ceiling int64
		unit    string
	}{
		{"prompt", prices.Prompt, limits.prompt, "1000 tokens"},
		{"completion", prices.Completion, limits.completion, "1000 tokens"},
		{"request", prices.Request, limits.request, "request"},
		{"image", prices.ImageOutputEach, limits.image, "image"},
		{"audio", prices.Audio, limits.audio, "1000 tokens"},
	} {
		if x.price.Nano > x.ceiling {
			return fmt.Sprintf("The %s price is %s rubles per %s, the ceiling is %s.", x.what, money.Nano(x.price.Nano), x.unit, money.Nano(max(x.ceiling, 0)))
		}
	}
	return ""
}

func variantDetail(ep *catalog.Endpoint, v catalog.Variant) string {
	if v == catalog.NoVariant {
		return fmt.Sprintf("The request names no variant, and this endpoint is of variant %s.", ep.Variant)
	}
	return fmt.Sprintf("The request asks for variant %s, and this endpoint is of variant %s.", v, ep.Variant)
}

func orUnknown(s string) string {
	if s == "" {
		return "unknown"
	}
	return s
}
