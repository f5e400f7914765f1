package importer

import "weir/internal/catalog"

// sourceNames lists what each source calls a token price, where its name needs no special rule. models.dev has few of these prices and is
// read without the table.
var sourceNames = []struct {
	ours    string
	litellm string     // with a suffix for tiers and long prompts
	portkey [][]string // the first that is there
	genai   string
	zero    bool // a zero means free; for the other prices a zero means nothing
}{
	{"prompt", "input_cost_per_token", [][]string{{"request_token"}, {"request_text_token"}}, "input_mtok", true},
	{"completion", "output_cost_per_token", [][]string{{"response_token"}, {"response_text_token"}}, "", true},
	{"cache_read", "cache_read_input_token_cost", [][]string{{"cache_read_input_token"}, {"cache_read_text_input_token"}}, "cache_read_mtok", false},
	{"cache_read_audio", "cache_read_input_audio_token_cost", [][]string{{"cache_read_audio_input_token"}}, "cache_audio_read_mtok", false},
	{"cache_write", "cache_creation_input_token_cost", [][]string{{"cache_write_input_token"}}, "cache_write_mtok", false},
	{"cache_write_1h", "cache_creation_input_token_cost_above_1hr", [][]string{{"additional_units", "cache_write_1h"}}, "cache_write_1h_mtok", false},
	{"reasoning", "output_cost_per_reasoning_token", [][]string{{"reasoning_token"}}, "output_reasoning_mtok", false},
	{"audio", "input_cost_per_audio_token", [][]string{{"request_audio_token"}}, "input_audio_mtok", false},
	{"audio_output", "output_cost_per_audio_token", [][]string{{"response_audio_token"}}, "output_audio_mtok", false},
	{"image", "input_cost_per_image_token", [][]string{{"request_image_token"}}, "input_image_mtok", false},
	{"image_output", "output_cost_per_image_token", [][]string{{"response_image_token"}, {"additional_units", "image_token"}}, "output_image_mtok", false},
}

// putNamed stores text, a price that a source has under a name of the table.
func (p prices) putNamed(row int, text string) {
	if sourceNames[row].zero {
		p.put(sourceNames[row].ours, text)
	} else {
		p.putLesser(sourceNames[row].ours, text)
	}
}

// wholeOf is the price of the whole prompt or answer to which the tokens of this price belong.
func wholeOf(name string) string {
	for {
		whole := catalog.PriceKinds()[catalog.PriceKindOf(name)].Else
		if whole == "" {
			return name
		}
		name = whole
	}
}

// elseOf is the price by which these tokens are charged when theirs is missing.
func elseOf(name string) string {
	if i := catalog.PriceKindOf(name); i >= 0 {
		return catalog.PriceKinds()[i].Else
	}
	return ""
}

// perMillion reports whether a price is for a million tokens or characters.
func perMillion(name string) bool { return catalog.PerTokens(name) || name == perCharacters }
