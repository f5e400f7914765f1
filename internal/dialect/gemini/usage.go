package gemini

import (
	"weir/internal/rawjson"
	"weir/internal/usage"
)

// readUsage reads usageMetadata, where the candidates' tokens do not include reasoning. It returns nil without one.
func readUsage(v []byte) *usage.Usage {
	if rawjson.KindOf(v) != rawjson.Object {
		return nil
	}
	var u usage.Usage
	var tools, candidates, cached, total usage.Count
	for m := rawjson.MembersOf(v); m.Next(); {
		switch string(m.Name) {
		case "promptTokenCount":
			read(&u.Prompt, m.Value)
		case "toolUsePromptTokenCount":
			read(&tools, m.Value)
		case "candidatesTokenCount":
			read(&candidates, m.Value)
		case "thoughtsTokenCount":
			read(&u.Reasoning, m.Value)
		case "cachedContentTokenCount":
			read(&u.CacheRead, m.Value)
		case "promptTokensDetails":
			byModality(m.Value, &u.PromptAudio, &u.PromptImage, &u.PromptVideo)
		case "cacheTokensDetails":
			byModality(m.Value, &u.CachedAudio, nil, nil)
			for e := rawjson.ElementsOf(m.Value); e.Next(); {
				if n, ok := rawjson.Int(rawjson.Find(e.Value, "tokenCount")); ok {
					cached = usage.Sum(cached, usage.Of(n))
				}
			}
		case "totalTokenCount":
			read(&total, m.Value)
		case "candidatesTokensDetails":
			byModality(m.Value, &u.OutputAudio, &u.OutputImage, nil)
		}
	}
	if cached.N > u.CacheRead.N {
		u.CacheRead = cached
	}
	if u.Prompt.Reported {
		u.Prompt = usage.Sum(u.Prompt, tools)
	}
	if parts := usage.Sum(u.Prompt, candidates); u.Prompt.Reported && !u.Reasoning.Reported && total.N > parts.N {
		u.Reasoning = usage.Of(total.N - parts.N) // only the total has it
	}
	if candidates.Reported || u.Reasoning.Reported {
		u.Completion = usage.Sum(candidates, u.Reasoning)
	}
	if !u.Prompt.Reported && !u.Completion.Reported {
		return nil
	}
	return &u
}

func read(to *usage.Count, v []byte) {
	if n, ok := rawjson.Int(v); ok {
		*to = usage.Of(n)
	}
}

func byModality(list []byte, audio, image, video *usage.Count) {
	for e := rawjson.ElementsOf(list); e.Next(); {
		var to *usage.Count
		switch rawjson.TextAt(e.Value, "modality") {
		case "AUDIO":
			to = audio
		case "IMAGE":
			to = image
		case "VIDEO":
			to = video
		}
		if to != nil {
			read(to, rawjson.Find(e.Value, "tokenCount"))
		}
	}
}
