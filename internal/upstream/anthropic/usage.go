package anthropic

import (
	"weir/internal/rawjson"
	"weir/internal/usage"
)

// counts are the figures of this wire, where what was cached is counted beside input_tokens. They are cumulative: what a later
// frame tells replaces what an earlier one told.
type counts struct {
	input, output, cacheRead, cacheWrite, write5m, write1h, searches, thinking usage.Count
	tier                                                                       string
}

func (c *counts) read(v []byte) {
	for m := rawjson.MembersOf(v); m.Next(); {
		switch string(m.Name) {
		case "input_tokens":
			count64(&c.input, m.Value)
		case "output_tokens":
			count64(&c.output, m.Value)
		case "cache_read_input_tokens":
			count64(&c.cacheRead, m.Value)
		case "cache_creation_input_tokens":
			count64(&c.cacheWrite, m.Value)
		case "cache_creation":
			count64(&c.write5m, rawjson.Find(m.Value, "ephemeral_5m_input_tokens"))
			count64(&c.write1h, rawjson.Find(m.Value, "ephemeral_1h_input_tokens"))
		case "server_tool_use":
			count64(&c.searches, rawjson.Find(m.Value, "web_search_requests"))
		case "output_tokens_details":
			count64(&c.thinking, rawjson.Find(m.Value, "thinking_tokens"))
		case "service_tier":
			c.tier = tierOf(rawjson.Text(m.Value))
		}
	}
}

func count64(to *usage.Count, v []byte) {
	if n, ok := rawjson.Int(v); ok {
		*to = usage.Of(n)
	}
}

func tierOf(word string) string {
	switch word {
	case "standard":
		return "default"
	case "priority":
		return "priority"
	}
	return ""
}

// usage is the same in the terms of a bill, nil when nothing was told.
func (c *counts) usage() *usage.Usage {
	if !c.input.Reported && !c.output.Reported {
		return nil
	}
	u := usage.Usage{Completion: c.output, CacheRead: c.cacheRead, Reasoning: c.thinking, WebSearches: c.searches, Tier: c.tier}
	written := c.cacheWrite
	if c.write5m.Reported || c.write1h.Reported {
		u.CacheWrite, u.CacheWrite1h = c.write5m, c.write1h
		written = usage.Sum(c.write5m, c.write1h)
	} else {
		u.CacheWrite = c.cacheWrite
	}
	if c.input.Reported {
		u.Prompt = usage.Sum(c.input, c.cacheRead, written)
	}
	return &u
}
