package anthropic

import (
	"weir/internal/rawjson"
	"weir/internal/usage"
)

// counts are the figures of this wire, where cached tokens are not part of input_tokens. They are cumulative: the figures of a later frame
// replace those of an earlier one.
type counts struct {
	input, output, cacheRead, cacheWrite, write5m, write1h, searches, fetches, thinking usage.Count
	tier                                                                                string

	sandbox, foreign int64  // containers in which code ran, and calls of tools of a client's MCP server, counted while they were read
	turns            []byte // the counts of each model turn (iterations), where there were several: then the counts above leave some out
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
			count64(&c.fetches, rawjson.Find(m.Value, "web_fetch_requests"))
			if n, ok := rawjson.Int(rawjson.Find(m.Value, "code_execution_requests")); ok && n > 0 {
				c.sandbox = 1 // a request has one sandbox
			}
		case "iterations":
			c.turns = append(c.turns[:0], m.Value...)
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

// usage returns the counts in canonical form, nil when the provider reported none.
func (c *counts) usage() *usage.Usage {
	if !c.input.Reported && !c.output.Reported {
		return nil
	}
	c.sum()
	u := usage.Usage{Completion: c.output, CacheRead: c.cacheRead, Reasoning: c.thinking, WebSearches: c.searches, WebFetches: c.fetches, Tier: c.tier}
	if c.sandbox > 0 {
		u.Containers = usage.Of(c.sandbox)
	}
	if c.foreign > 0 {
		u.MCPCalls = usage.Of(c.foreign)
	}
	u.CacheWrite, u.CacheWrite1h = c.byLife()
	if c.input.Reported {
		u.Prompt = usage.Sum(c.input, c.cacheRead, u.CacheWrite, u.CacheWrite1h)
	}
	return &u
}

// byLife returns the cache writes by lifetime. Later reports of a stream may have a higher total without a split: what is beyond the split lives as
// long as the rest if all of that lives for an hour, and else for five minutes.
func (c *counts) byLife() (short, hour usage.Count) {
	short, hour = c.write5m, c.write1h
	split := usage.Sum(short, hour)
	beyond := usage.Of(c.cacheWrite.N - split.N)
	switch {
	case !split.Reported:
		return c.cacheWrite, hour
	case beyond.N <= 0:
	case hour.N > 0 && short.N <= 0:
		hour = usage.Sum(hour, beyond)
	default:
		short = usage.Sum(short, beyond)
	}
	return short, hour
}

// again reads the usage of a second message_start. Zeros alone do not replace what the first one has.
func (c *counts) again(v []byte) {
	var next counts
	next.read(v)
	if sum := usage.Sum(next.input, next.output, next.cacheRead, next.cacheWrite, next.write5m, next.write1h); sum.N > 0 {
		c.read(v)
	}
}

// later reads a further report. The result has output tokens only if that report has them: the count at the beginning is not final.
func (c *counts) later(v []byte) *usage.Usage {
	before := c.output
	c.output = usage.Count{}
	c.read(v)
	u := c.usage()
	if !c.output.Reported {
		c.output = before
	}
	return u
}

// sum adds up the counts of all turns where the counts above leave some out: a model that shortens its own context is paid for that, too,
// and the usage outside the iterations covers only the last of them. The larger count is charged.
func (c *counts) sum() {
	if len(c.turns) == 0 {
		return
	}
	var all counts
	for e := rawjson.ElementsOf(c.turns); e.Next(); {
		var one counts
		one.read(e.Value)
		for _, x := range [...]struct{ to, from *usage.Count }{{&all.input, &one.input}, {&all.output, &one.output}, {&all.cacheRead, &one.cacheRead}, {&all.cacheWrite, &one.cacheWrite},
			{&all.write5m, &one.write5m}, {&all.write1h, &one.write1h}} {
			if x.from.Reported && x.from.N > 0 {
				*x.to = usage.Of(x.to.N + min(x.from.N, 1<<40))
			}
		}
	}
	for _, x := range [...]struct{ to, from *usage.Count }{{&c.input, &all.input}, {&c.output, &all.output}, {&c.cacheRead, &all.cacheRead}, {&c.cacheWrite, &all.cacheWrite},
		{&c.write5m, &all.write5m}, {&c.write1h, &all.write1h}} {
		if x.from.N > x.to.N {
			*x.to = *x.from
		}
	}
}
