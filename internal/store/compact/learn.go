package compact

import (
	"cmp"
	"maps"
	"slices"
)

// Sample is a record to learn from, with its names.
type Sample struct{ Names, Record []byte }

const (
	shingle  = 8 // bytes that are counted at a time
	frequent = 4 // so many samples have a text that is worth a word
)

// builtIn are texts of nearly all records. They never change: packed records refer to places in them.
const builtIn = "anthropic/claude-openai/gpt-google/gemini-deepseek/deepseek-qwen/qwen3-default\x00\x00\x00image_generationembeddingsmessagesresponsescompletions" +
	"Mozilla/5.0 (Macintosh; Intel Mac OS X 10_15_7) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/" +
	"Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/ Safari/537.36anthropic-sdk-python/AsyncOpenAI/Python Anthropic/JS OpenAI/JS OpenAI/Python " +
	"\x90\x03\x0fcontext_length\x00\x11provider_overloaded\x13rate_limit_exceeded\x0frequest_timeout\x14provider_unavailable\x06canceled\x06lengthtool_use\x0atool_calls\x08end_turn" +
	"\x08end_turn\x06length\x06length\x0atool_calls\x0atool_calls\x90\x03\x00\x04stop\x04stop\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x05price\x06weight\x06single\x07default\x00\x03\x00\x0dmsg_\x0echatcmpl-\x26resp_\x1creq_"

// Learn returns texts that many of the samples have, and that neither their names nor words have, at most most bytes. The same samples give
// the same texts.
func (w *Words) Learn(samples []Sample, most int) []byte {
	counts := map[string]int{}
	var s state
	literals := make([][][2]int, len(samples))
	for i, x := range samples {
		if len(x.Names)+len(x.Record) > longest {
			continue
		}
		seen := map[string]bool{}
		s.pack(nil, w, x.Names, x.Record, func(from, to int) {
			literals[i] = append(literals[i], [2]int{from, to})
			for j := from; j+shingle <= to; j++ {
				if k := string(x.Record[j : j+shingle]); !seen[k] {
					seen[k] = true
					counts[k]++
				}
			}
		})
	}
	// A text is a stretch of a record all of whose shingles are frequent.
	texts := map[string]int{}
	for i, x := range samples {
		for _, l := range literals[i] {
			for j := l[0]; j+shingle <= l[1]; j++ {
				begin, often := j, counts[string(x.Record[j:j+shingle])]
				if often < frequent {
					continue
				}
				for ; j+shingle < l[1] && counts[string(x.Record[j+1:j+1+shingle])] >= frequent; j++ {
					often = min(often, counts[string(x.Record[j+1:j+1+shingle])])
				}
				texts[string(x.Record[begin:j+shingle])] = often
			}
		}
	}
	order := slices.SortedFunc(maps.Keys(texts), func(a, b string) int {
		return cmp.Or(cmp.Compare(texts[b]*len(b), texts[a]*len(a)), cmp.Compare(a, b))
	})
	var out []byte
	covered := map[string]bool{}
	for _, t := range order {
		fresh := false
		for j := 0; j+shingle <= len(t); j++ {
			fresh = fresh || !covered[t[j:j+shingle]]
		}
		if !fresh || len(out)+len(t) > most {
			continue
		}
		for j := 0; j+shingle <= len(t); j++ {
			covered[t[j:j+shingle]] = true
		}
		out = append(out, t...)
	}
	return out
}
