package importer

import (
	"strings"

	"weir/internal/catalog"
	"weir/internal/rawjson"
)

// genai finds a model in genai-prices by that list's own matching rules, nil when no rule matches.
func (s *sources) genai(n *Names, id string) []byte {
	id = strings.ToLower(n.in("genai", id))
	for _, provider := range n.GenAI {
		for _, model := range s.genAI[provider] {
			if matches(rawjson.Find(model, "match"), id) {
				return model
			}
		}
	}
	return nil
}

// matches applies a rule of the source. A rule of an unknown kind, such as a regular expression, matches nothing.
func matches(rule []byte, id string) bool {
	for m := rawjson.MembersOf(rule); m.Next(); {
		text := rawjson.Text(m.Value)
		switch string(m.Name) {
		case "equals":
			return id == text
		case "starts_with":
			return strings.HasPrefix(id, text)
		case "ends_with":
			return strings.HasSuffix(id, text)
		case "contains":
			return strings.Contains(id, text)
		case "or":
			for e := rawjson.ElementsOf(m.Value); e.Next(); {
				if matches(e.Value, id) {
					return true
				}
			}
			return false
		case "and":
			for e := rawjson.ElementsOf(m.Value); e.Next(); {
				if !matches(e.Value, id) {
					return false
				}
			}
			return true
		}
	}
	return false
}

// quoteGenAI reads a model of genai-prices as of a day: dollars per million.
func quoteGenAI(model []byte, kind, day string) quote {
	q := quote{source: "genai-prices", base: prices{}}
	v, odd := genaiAt(rawjson.Find(model, "prices"), day)
	q.odd = odd
	for m := rawjson.MembersOf(v); m.Next(); {
		name, per := genaiName(string(m.Name), kind, v)
		if name == "" {
			continue
		}
		if rawjson.KindOf(m.Value) != rawjson.Object {
			q.base.genai(name, price(m.Value, per))
			continue
		}
		q.base.genai(name, price(m.Value, per, "base"))
		for e := rawjson.ElementsOf(rawjson.Find(m.Value, "tiers")); e.Next(); {
			above, ok := rawjson.Int(rawjson.Find(e.Value, "start"))
			if !ok {
				q.odd = "genai-prices has a tier without a size"
				continue
			}
			if q.above[above] == nil {
				q.threshold(above, prices{})
			}
			q.above[above].genai(name, price(e.Value, per, "price"))
		}
	}
	if kind == catalog.TypeModeration && len(q.base) == 0 {
		q.base["prompt"] = "0" // an empty list of prices is how this source writes free
	}
	return q
}

// genai stores a price. A zero counts only for the two main prices.
func (p prices) genai(name, text string) {
	if name == "prompt" || name == "completion" {
		p.put(name, text)
	} else {
		p.putLesser(name, text)
	}
}

// genaiAt returns the price list that is valid on a day: the last that has begun.
func genaiAt(v []byte, day string) (at []byte, odd string) {
	if rawjson.KindOf(v) != rawjson.Array {
		return v, ""
	}
	for e := rawjson.ElementsOf(v); e.Next(); {
		constraint := rawjson.Find(e.Value, "constraint")
		if rawjson.Find(constraint, "start_time") != nil {
			odd = "its price changes with the time of day"
		}
		if rawjson.TextAt(constraint, "start_date") <= day {
			at = rawjson.Find(e.Value, "prices")
		}
	}
	return at, odd
}

// genaiName returns our name of a price and the decimal places by which it is shifted; "" for a price that Weir does not have.
func genaiName(name, kind string, all []byte) (ours string, places int) {
	switch name {
	case "output_mtok":
		switch {
		case kind == catalog.TypeSpeech:
			return "audio_output", 0
		case kind == catalog.TypeImage && rawjson.Find(all, "output_image_mtok") == nil:
			return "image_output", 0
		}
		return "completion", 0
	case "requests_kcount":
		return "request", -3
	case "web_searches_kcount":
		return "web_search", -3
	}
	for i := range sourceNames {
		if sourceNames[i].genai == name && name != "" {
			return sourceNames[i].ours, 0
		}
	}
	return "", 0
}
