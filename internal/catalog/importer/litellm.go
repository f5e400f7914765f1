package importer

import (
	"strconv"
	"strings"

	"weir/internal/catalog"
	"weir/internal/rawjson"
)

// litellm finds a model of a provider in litellm, nil when it is not there.
func (s *sources) litellm(n *Names, id string) []byte {
	if whole, ok := n.IDs["litellm "+id]; ok {
		id = whole
	}
	for _, provider := range n.LiteLLMProvider {
		for _, prefix := range n.LiteLLM {
			if v := s.liteLLM[provider][prefix+id]; v != nil {
				return v
			}
		}
	}
	return nil
}

// litellmIDs are the ids of all models of a provider in litellm.
func (s *sources) litellmIDs(n *Names) []string {
	var out []string
	for _, provider := range n.LiteLLMProvider {
		for name := range s.liteLLM[provider] {
			for _, prefix := range n.LiteLLM {
				if id, ok := strings.CutPrefix(name, prefix); ok && id != "" {
					out = append(out, id)
					break
				}
			}
		}
	}
	return out
}

// litellmTypes maps litellm's modes to our types; models of other modes cannot be called through Weir.
var litellmTypes = map[string]string{"chat": catalog.TypeChat, "responses": catalog.TypeChat, "embedding": catalog.TypeEmbedding, "moderation": catalog.TypeModeration,
	"audio_transcription": catalog.TypeTranscription, "image_generation": catalog.TypeImage, "audio_speech": catalog.TypeSpeech, "rerank": catalog.TypeRerank, "video_generation": catalog.TypeVideo}

// quoteLiteLLM reads a model of litellm: dollars per token. Names like input_cost_per_token_above_200k_tokens are thresholds, and
// those that end in _flex or _priority service tiers.
func quoteLiteLLM(model []byte, kind string) quote {
	q := quote{source: "litellm", base: litellmPrices(model, kind, "")}
	for m := rawjson.MembersOf(model); m.Next(); {
		name := string(m.Name)
		if name == "tiered_pricing" {
			q.bands(m.Value, kind)
		}
		rest, ok := strings.CutPrefix(name, "input_cost_per_token")
		if !ok {
			continue
		}
		rest, tier := cutTier(rest)
		to := &q
		if tier != "" {
			to = q.tier(strings.Replace(tier, "batches", batch, 1))
			tier = "_" + tier
		}
		if rest == "" {
			to.base = litellmPrices(model, kind, tier)
			continue
		}
		thousands, above := strings.CutPrefix(rest, "_above_")
		thousands, tokens := strings.CutSuffix(thousands, "k_tokens")
		if n, err := strconv.ParseInt(thousands, 10, 32); err == nil && above && tokens {
			to.threshold(n*1000, litellmPrices(model, kind, rest+tier))
		}
	}
	if kind == catalog.TypeVideo {
		q.video = map[string]string{}
		if text := price(model, 0, "output_cost_per_video_per_second"); text != "" {
			q.video["720p"] = text
		}
	}
	return q
}

// bands reads prices by length of the prompt, each with the range that it holds for: from more than the first number of tokens.
func (q *quote) bands(v []byte, kind string) {
	for e := rawjson.ElementsOf(v); e.Next(); {
		from, ok := "", false
		if r := rawjson.ElementsOf(rawjson.Find(e.Value, "range")); r.Next() {
			from, ok = shift(string(r.Value), 0)
		}
		above, err := strconv.ParseInt(from, 10, 64)
		if !ok || err != nil {
			q.odd = "litellm has a band of prompt lengths without a range"
			continue
		}
		if p := litellmPrices(e.Value, kind, ""); above == 0 {
			q.base = p
		} else {
			q.threshold(above, p)
		}
	}
}

func cutTier(name string) (rest, tier string) {
	for _, tier := range []string{"flex", "priority", "batches"} {
		if rest, ok := strings.CutSuffix(name, "_"+tier); ok {
			return rest, tier
		}
	}
	return name, ""
}

// litellmPrices reads the prices whose names end in suffix.
func litellmPrices(v []byte, kind, suffix string) prices {
	p := prices{}
	for i := range sourceNames {
		p.putNamed(i, price(v, 6, sourceNames[i].litellm+suffix))
	}
	if suffix != "" {
		return p
	}
	if p["cache_read"] == "" {
		p.putLesser("cache_read", price(v, 6, "input_cost_per_token_cache_hit"))
	}
	switch kind {
	case catalog.TypeTranscription:
		p.putLesser(perMinute, minute(price(v, 0, "input_cost_per_second"))) // the output price beside it is the same one again
	case catalog.TypeSpeech:
		p.putLesser(perCharacters, price(v, 6, "input_cost_per_character"))
	case catalog.TypeImage:
		p.putLesser("image_output_each", price(v, 0, "output_cost_per_image"))
		if p["image_output_each"] == "" && p["prompt"] == "" {
			p.putLesser("image_output_each", price(v, 0, "input_cost_per_image"))
		}
	case catalog.TypeRerank:
		p.putLesser("request", price(v, 0, "input_cost_per_query"))
		if p["request"] != "" {
			delete(p, "prompt")
		}
	}
	search := price(v, 0, "search_context_cost_per_query", "search_context_size_low")
	if rawjson.TextAt(v, "litellm_provider") == "perplexity" {
		p.putLesser("request", search) // every answer begins with a search
	} else {
		p.putLesser("web_search", search)
	}
	return p
}
