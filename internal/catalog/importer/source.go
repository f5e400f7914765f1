package importer

import (
	"io/fs"
	"strconv"
	"strings"

	"weir/internal/catalog/builtin"
	"weir/internal/fault"
	"weir/internal/rawjson"
)

// quote is what one source says a model costs: dollars per million tokens as plain decimal text, "" for what it does not say.
// The sources write a zero both for "free" and for "not charged separately", so a zero in a lesser price says nothing.
type quote struct {
	prompt, completion, cacheRead, cacheWrite, reasoning, audio string

	above map[int64]quote // prices of prompts with more tokens than the key
	mode  string          // litellm only: "chat", "responses", "embedding", ...
	odd   string          // why the quote cannot be taken as it stands, "" when it can
}

// sources are the three price lists, each indexed by a model's name in it.
type sources struct {
	modelsDev map[string][]byte // provider -> its models object
	liteLLM   map[string][]byte
	portkey   map[string]map[string][]byte // file -> model -> object
}

func readSources(dir fs.FS, providers []builtin.Provider) (*sources, error) {
	s := &sources{modelsDev: map[string][]byte{}, portkey: map[string]map[string][]byte{}}
	data, err := readJSON(dir, "models-dev/providers.json")
	if err != nil {
		return nil, err
	}
	for m := rawjson.MembersOf(data); m.Next(); {
		s.modelsDev[string(m.Name)] = rawjson.Find(m.Value, "models")
	}
	if data, err = readJSON(dir, "litellm/model_prices_and_context_window.json"); err != nil {
		return nil, err
	}
	s.liteLLM = index(data)
	for i := range providers {
		name := providers[i].Sources.Portkey
		if data, err = readJSON(dir, "portkey-models/pricing/"+name+".json"); err != nil {
			return nil, err
		}
		s.portkey[name] = index(data)
	}
	return s, nil
}

func readJSON(dir fs.FS, name string) ([]byte, error) {
	data, err := fs.ReadFile(dir, name)
	if err != nil {
		return nil, fault.Newf(fault.Invalid, "importer.Import", "The folder lacks %s.", name).Because(err)
	}
	if err := rawjson.Check(data, rawjson.Limits{}); err != nil {
		return nil, fault.Newf(fault.Invalid, "importer.Import", "%s is no valid JSON.", name).Because(err)
	}
	return data, nil
}

func index(object []byte) map[string][]byte {
	out := map[string][]byte{}
	for m := rawjson.MembersOf(object); m.Next(); {
		out[string(m.Name)] = m.Value
	}
	return out
}

// price is the number at a path, shifted to dollars per million; "" when it is absent or no number.
func price(v []byte, places int, path ...string) string {
	text, ok := shift(string(rawjson.FindPath(v, path...)), places)
	if !ok {
		return ""
	}
	return text
}

// lesser is price for those prices where a zero says nothing.
func lesser(v []byte, places int, path ...string) string {
	if text := price(v, places, path...); text != "0" {
		return text
	}
	return ""
}

// quoteModelsDev reads a model of models-dev: dollars per million.
func quoteModelsDev(model []byte) quote {
	cost := rawjson.Find(model, "cost")
	q := modelsDevPrices(cost)
	for e := rawjson.ElementsOf(rawjson.Find(cost, "tiers")); e.Next(); {
		size, ok := rawjson.Int(rawjson.FindPath(e.Value, "tier", "size"))
		if kind := rawjson.Text(rawjson.FindPath(e.Value, "tier", "type")); !ok || size <= 0 || kind != "" && kind != "context" {
			q.odd = "models-dev has a tier of a kind that is not known"
			continue
		}
		q.threshold(size, modelsDevPrices(e.Value))
	}
	if over := rawjson.Find(cost, "context_over_200k"); over != nil {
		q.threshold(200_000, modelsDevPrices(over))
	}
	return q
}

func modelsDevPrices(v []byte) quote {
	return quote{prompt: price(v, 0, "input"), completion: price(v, 0, "output"), cacheRead: lesser(v, 0, "cache_read"),
		cacheWrite: lesser(v, 0, "cache_write"), reasoning: lesser(v, 0, "reasoning"), audio: lesser(v, 0, "input_audio")}
}

func (q *quote) threshold(above int64, prices quote) {
	if q.above == nil {
		q.above = map[int64]quote{}
	}
	q.above[above] = prices
}

// quoteLiteLLM reads a model of litellm: dollars per token. Names like input_cost_per_token_above_200k_tokens are thresholds.
func quoteLiteLLM(model []byte) quote {
	q := liteLLMPrices(model, "")
	q.mode = rawjson.Text(rawjson.Find(model, "mode"))
	for m := rawjson.MembersOf(model); m.Next(); {
		name := string(m.Name)
		if name == "tiered_pricing" {
			q.odd = "litellm prices it by bands of prompt length"
		}
		rest, ok := strings.CutPrefix(name, "input_cost_per_token_above_")
		if !ok {
			continue
		}
		thousands, ok := strings.CutSuffix(rest, "k_tokens")
		if !ok {
			continue // another tier's
		}
		if n, err := strconv.ParseInt(thousands, 10, 32); err == nil {
			q.threshold(n*1000, liteLLMPrices(model, "_above_"+rest))
		}
	}
	if endpoints := rawjson.Find(model, "supported_endpoints"); endpoints != nil && !contains(endpoints, "/v1/chat/completions") {
		q.mode = "not served by chat completions"
	}
	return q
}

func liteLLMPrices(v []byte, suffix string) quote {
	return quote{prompt: price(v, 6, "input_cost_per_token"+suffix), completion: price(v, 6, "output_cost_per_token"+suffix),
		cacheRead: lesser(v, 6, "cache_read_input_token_cost"+suffix), cacheWrite: lesser(v, 6, "cache_creation_input_token_cost"+suffix),
		reasoning: lesser(v, 6, "output_cost_per_reasoning_token"+suffix), audio: lesser(v, 6, "input_cost_per_audio_token"+suffix)}
}

func contains(array []byte, text string) bool {
	for e := rawjson.ElementsOf(array); e.Next(); {
		if rawjson.Text(e.Value) == text {
			return true
		}
	}
	return false
}

// quotePortkey reads a model of portkey-models: cents per token. A tier for prompts longer than the model takes needs no prices.
func quotePortkey(model []byte, maxPrompt int64) quote {
	q := portkeyPrices(rawjson.FindPath(model, "pricing_config", "pay_as_you_go"))
	standard := rawjson.FindPath(model, "custom_pricing", "regions", "default", "execution_modes", "standard", "context_tiers")
	for m := rawjson.MembersOf(rawjson.FindPath(model, "custom_pricing", "context_tier_map")); m.Next(); {
		above, err := strconv.ParseInt(string(m.Name), 10, 64)
		tier := rawjson.Find(standard, rawjson.Text(m.Value))
		if err == nil && tier == nil && above >= maxPrompt {
			continue
		}
		if err != nil || tier == nil {
			q.odd = "portkey-models has a context tier without prices"
			continue
		}
		if above > 0 {
			q.threshold(above, portkeyPrices(rawjson.FindPath(tier, "pricing_config", "pay_as_you_go")))
		}
	}
	return q
}

func portkeyPrices(v []byte) quote {
	return quote{prompt: price(v, 4, "request_token", "price"), completion: price(v, 4, "response_token", "price"),
		cacheRead: lesser(v, 4, "cache_read_input_token", "price"), cacheWrite: lesser(v, 4, "cache_write_input_token", "price"),
		reasoning: lesser(v, 4, "reasoning_token", "price"), audio: lesser(v, 4, "request_audio_token", "price")}
}
