package bedrock

import (
	"weir/internal/rawjson"
	"weir/internal/usage"
)

// readUsage reads the usage and the tier of an answer or of its last event; nil when neither input nor output tokens were reported.
// inputTokens do not include tokens read from the cache or written to it, except in streams of OpenAI's models, which may include them: then all
// says so, and what includes them is no less than they are (https://github.com/maximhq/bifrost/pull/6942, https://github.com/earendil-works/pi/issues/8752).
// The total does not decide it: it adds them in both cases.
func readUsage(v []byte, all bool) *usage.Usage {
	var u usage.Usage
	var input, written usage.Count
	for m := rawjson.MembersOf(rawjson.Find(v, "usage")); m.Next(); {
		switch string(m.Name) {
		case "inputTokens":
			read(&input, m.Value)
		case "outputTokens":
			read(&u.Completion, m.Value)
		case "cacheReadInputTokens":
			read(&u.CacheRead, m.Value)
		case "cacheWriteInputTokens":
			read(&written, m.Value)
		case "cacheDetails":
			byLife(m.Value, &u)
		}
	}
	if !input.Reported && !u.Completion.Reported {
		return nil
	}
	if u.CacheWrite1h.Reported {
		written.N = max(written.N, u.Written().N)
		u.CacheWrite = usage.Of(written.N - u.CacheWrite1h.N)
	} else if written.Reported {
		u.CacheWrite = written
	}
	if cached := usage.Sum(u.CacheRead, written); input.Reported && all && input.N >= cached.N {
		u.Prompt = input
	} else if input.Reported {
		u.Prompt = usage.Sum(input, cached)
	}
	switch tier := rawjson.Text(rawjson.FindPath(v, "serviceTier", "type")); tier {
	case "default", "flex", "priority":
		u.Tier = tier
	}
	return &u
}

func read(to *usage.Count, v []byte) {
	if n, ok := rawjson.Int(v); ok {
		*to = usage.Of(n)
	}
}

// byLife reads cache writes by lifetime.
func byLife(list []byte, u *usage.Usage) {
	for e := rawjson.ElementsOf(list); e.Next(); {
		n := rawjson.Find(e.Value, "inputTokens")
		switch rawjson.TextAt(e.Value, "ttl") {
		case "1h":
			read(&u.CacheWrite1h, n)
		case "5m":
			read(&u.CacheWrite, n)
		}
	}
}
