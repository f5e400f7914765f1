package wire

import (
	"slices"

	"weir/internal/completion"
	"weir/internal/rawjson"
)

// maxParameters bounds what Parameters returns, in bytes: it is stored with each call.
const maxParameters = 1 << 10

// parameters are the members of requests that set how an answer is made and are no content, in all styles and tasks.
var parameters = set(
	"temperature", "top_p", "top_k", "top_a", "min_p", "frequency_penalty", "presence_penalty", "repetition_penalty", "seed", "n",
	"max_tokens", "max_completion_tokens", "max_output_tokens", "reasoning_effort", "verbosity", "parallel_tool_calls", "service_tier", "models",
	"size", "quality", "output_format", "background", "duration", "resolution", "aspect_ratio", "generate_audio", "voice", "speed", "dimensions",
	"reasoning", "thinking", "response_format", "provider", "generationConfig",
)

func set(names ...string) map[string]bool {
	m := make(map[string]bool, len(names))
	for _, name := range names {
		m[name] = true
	}
	return m
}

// inner are the members that are taken of objects: of others, such as a schema or an audio prompt, nothing is.
var inner = []string{
	"effort", "max_tokens", "enabled", "exclude", "type", "budget_tokens",
	"sort", "order", "only", "ignore", "data_collection", "zdr", "allow_fallbacks", "require_parameters",
	"temperature", "topP", "topK", "maxOutputTokens", "seed",
}

// Parameters returns the settings of a request as a JSON object, "" when it has none: numbers, booleans, single words and lists of them under
// known names. Texts, schemas, tools and metadata are never in it. It stays below 1 KiB; what does not fit is left out.
func Parameters(body []byte, members []completion.Member) string {
	var w rawjson.Writer
	for _, m := range members {
		if !parameters[m.Name] || m.Value < 0 || m.End > len(body) || m.Value >= m.End {
			continue
		}
		if w.B == nil {
			w.B = make([]byte, 0, 128) // most have a few numbers
			w.Object()
		}
		before := len(w.B)
		w.Name(m.Name)
		if !appendSetting(&w, body[m.Value:m.End], true) || len(w.B) >= maxParameters {
			w.B = w.B[:before]
		}
	}
	if len(w.B) < 2 {
		return ""
	}
	w.EndObject()
	return string(w.B)
}

// appendSetting writes a value that is no content, and reports whether it was one.
func appendSetting(w *rawjson.Writer, v []byte, nested bool) bool {
	switch rawjson.KindOf(v) {
	case rawjson.Object:
		return nested && appendSettings(w, v)
	case rawjson.Array:
		return appendWords(w, v)
	}
	if !isSetting(v) {
		return false
	}
	w.B = append(w.B, v...)
	return true
}

func appendSettings(w *rawjson.Writer, v []byte) bool {
	w.B = append(w.B, '{')
	empty := len(w.B)
	for m := rawjson.MembersOf(v); m.Next() && len(w.B) < maxParameters; {
		name := string(m.Name)
		if !slices.Contains(inner, name) {
			continue
		}
		before := len(w.B)
		w.Name(name)
		if !appendSetting(w, m.Value, false) {
			w.B = w.B[:before]
		}
	}
	w.B = append(w.B, '}')
	return len(w.B) > empty+1
}

func appendWords(w *rawjson.Writer, v []byte) bool {
	w.B = append(w.B, '[')
	empty := len(w.B)
	for e := rawjson.ElementsOf(v); e.Next(); {
		if !isSetting(e.Value) || len(w.B) >= maxParameters {
			return false
		}
		if len(w.B) > empty {
			w.B = append(w.B, ',')
		}
		w.B = append(w.B, e.Value...)
	}
	w.B = append(w.B, ']')
	return len(w.B) > empty+1
}

// isSetting reports whether a value is a number, a boolean, or a word as names of models, providers and options are: without white space.
func isSetting(v []byte) bool {
	switch rawjson.KindOf(v) {
	case rawjson.Number:
		return len(v) <= 32
	case rawjson.True, rawjson.False:
		return true
	case rawjson.String:
		return len(v) > 2 && len(v) <= 130 && !slices.ContainsFunc(v[1:len(v)-1], func(c byte) bool {
			return (c < 'a' || c > 'z') && (c < 'A' || c > 'Z') && (c < '0' || c > '9') && c != '-' && c != '_' && c != '.' && c != ':' && c != '/' && c != '~'
		})
	}
	return false
}
