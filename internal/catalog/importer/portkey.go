package importer

import (
	"strconv"
	"strings"

	"weir/internal/catalog"
	"weir/internal/rawjson"
)

// quotePortkey reads a model of portkey-models: cents per token. A tier for prompts longer than the model takes needs no prices.
func quotePortkey(model []byte, kind string, maxPrompt int64) quote {
	q := quote{source: "portkey-models", base: portkeyPrices(rawjson.FindPath(model, "pricing_config", "pay_as_you_go"), kind)}
	custom := rawjson.Find(model, "custom_pricing")
	modes := rawjson.FindPath(custom, "regions", "default", "execution_modes")
	q.contextTiers(custom, rawjson.Find(modes, "standard"), kind, maxPrompt)
	local := portkeyPrices(rawjson.FindPath(modes, "standard", "pricing_config", "pay_as_you_go"), kind)
	if dearer(local["prompt"], q.base["prompt"]) || dearer(local["completion"], q.base["completion"]) {
		q.odd = "it costs more in a region than in general"
	}
	for _, name := range []string{"flex", "priority"} {
		mode := rawjson.Find(modes, name)
		if mode == nil {
			continue
		}
		t := q.tier(name)
		t.base = portkeyPrices(rawjson.FindPath(mode, "pricing_config", "pay_as_you_go"), kind)
		t.contextTiers(custom, mode, kind, maxPrompt)
		t.odd = "" // a tier that is not offered for long prompts is taken for the others
	}
	if v := rawjson.FindPath(model, "pricing_config", "batch_config"); v != nil {
		q.tier(batch).base = portkeyPrices(v, kind)
	}
	pay := rawjson.FindPath(model, "pricing_config", "pay_as_you_go")
	switch kind {
	case catalog.TypeImage:
		q.portkeyImages(rawjson.Find(pay, "image"))
	case catalog.TypeVideo:
		q.portkeyVideo(rawjson.Find(pay, "additional_units"))
	}
	return q
}

// contextTiers reads the prices of one execution mode by length of the prompt.
func (q *quote) contextTiers(custom, mode []byte, kind string, maxPrompt int64) {
	tiers := rawjson.Find(mode, "context_tiers")
	for m := rawjson.MembersOf(rawjson.Find(custom, "context_tier_map")); m.Next(); {
		above, err := strconv.ParseInt(string(m.Name), 10, 64)
		tier := rawjson.Find(tiers, rawjson.Text(m.Value))
		if err == nil && tier == nil && above >= maxPrompt {
			continue
		}
		if err != nil || tier == nil {
			q.odd = "portkey-models has a context tier without prices"
			continue
		}
		p := portkeyPrices(rawjson.FindPath(tier, "pricing_config", "pay_as_you_go"), kind)
		if above > 0 {
			q.threshold(above, p)
		} else if len(q.base) == 0 {
			q.base = p
		}
	}
}

// halfCent is the price from which a "price per token" of a speech model is in fact one per minute of audio: no token costs half a cent.
const halfCent = "5000" // dollars per million

func portkeyPrices(v []byte, kind string) prices {
	p := prices{}
	at := func(path ...string) string { return price(v, 4, append(path, "price")...) }
	each := func(path ...string) string { return price(v, -2, append(path, "price")...) }
	for i := range sourceNames {
		text := ""
		for _, path := range sourceNames[i].portkey {
			text = first(text, at(path...))
		}
		p.putNamed(i, text)
	}
	p.putLesser("request", each("additional_units", "web_search_low_context")) // Perplexity: every answer begins with a search
	if p["request"] == "" {
		p.putLesser("web_search", each("additional_units", "web_search"))
	}
	switch kind {
	case catalog.TypeTranscription:
		if dearer(p["prompt"], halfCent) {
			p = prices{perMinute: each("request_token")}
		} else if dearer(p["audio"], halfCent) {
			delete(p, "audio")
		}
	case catalog.TypeSpeech:
		if p["audio_output"] == "" { // the source calls a character a token
			p = prices{perCharacters: p["prompt"]}
		}
	case catalog.TypeRerank:
		if dearer(p["prompt"], "500") { // the source calls a search a token
			p = prices{"request": each("request_token")}
		}
	case catalog.TypeImage:
		if p["completion"] == "0" {
			delete(p, "completion")
		}
		p.putLesser("image_output_each", each("image", "default", "default"))
	}
	return p
}

// first is the first text that is there.
func first(texts ...string) string {
	for _, text := range texts {
		if text != "" {
			return text
		}
	}
	return ""
}

func (q *quote) portkeyImages(table []byte) {
	q.images = map[image]string{}
	for variant := rawjson.MembersOf(table); variant.Next(); {
		for size := rawjson.MembersOf(variant.Value); size.Next(); {
			line := image{string(variant.Name), string(size.Name)}
			if line.variant != "default" && line.resolution != "default" {
				q.images[line] = price(size.Value, -2, "price")
			}
		}
	}
}

// portkeyVideo reads units such as video_duration_seconds_1280_720. A resolution is named by its shorter side.
func (q *quote) portkeyVideo(units []byte) {
	q.video = map[string]string{}
	for m := rawjson.MembersOf(units); m.Next(); {
		size, ok := strings.CutPrefix(string(m.Name), "video_duration_seconds_")
		width, height, found := strings.Cut(size, "_")
		w, errW := strconv.Atoi(width)
		h, errH := strconv.Atoi(height)
		if ok && found && errW == nil && errH == nil {
			q.video[strconv.Itoa(min(w, h))+"p"] = price(m.Value, -2, "price")
		}
	}
}
