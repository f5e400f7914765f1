package dialect

import (
	"math"
	"strings"

	"weir/internal/fault"
)

// readOverflow finds the numbers of tokens in the sentence with which a provider refuses a request that is too long. Sentences differ, but
// what is asked is always more than the limit, and a total is always the sum of prompt and answer.
func readOverflow(sentence string) fault.Overflow {
	text := strings.ToLower(sentence)
	var list []amount
	for at := 0; at < len(text); {
		n, end := number(text, at)
		if end == at {
			at++
			continue
		}
		if n >= leastTokens && n != 400 && n != 413 && n != 422 && n != 500 { // statuses
			list = append(list, amount{n, at, end})
		}
		at = end
	}
	return overflowOf(text, list)
}

// leastTokens is the least number that may be one of tokens: anything smaller is the beginning of a range, or a version.
const leastTokens = 8

// leastLimit is the least number that may be a limit where it is the only one: MiniMax writes the code of the error, 2013.
const leastLimit = 2048

// amount is a number in a sentence, and where it stands.
type amount struct {
	n       int64
	at, end int
}

// number reads the number that begins at text[at]; digits may be grouped with commas. One inside a word does not count.
func number(text string, at int) (n int64, end int) {
	end = at
	for end < len(text) && (text[end] >= '0' && text[end] <= '9' || text[end] == ',' && end > at && end+3 < len(text) && digits(text[end+1:end+4])) {
		if c := text[end]; c != ',' && n < math.MaxInt32 {
			n = 10*n + int64(c-'0')
		}
		end++
	}
	if end > at && at > 0 && (letter(text[at-1]) || text[at-1] == '-' || text[at-1] == '.') || end < len(text) && end > at && letter(text[end]) {
		return 0, end
	}
	return n, end
}

func digits(s string) bool {
	for i := range len(s) {
		if s[i] < '0' || s[i] > '9' {
			return false
		}
	}
	return true
}

func letter(c byte) bool { return c >= 'a' && c <= 'z' || c == '_' }

func overflowOf(text string, list []amount) fault.Overflow {
	list = distinct(list)
	if len(list) > 4 {
		list = list[:4]
	}
	for i, total := range list { // "a total of 5: 3 from the prompt and 2 for the completion", and a limit
		for j, prompt := range list {
			for k, output := range list {
				if i != j && j != k && k != i && prompt.n+output.n == total.n {
					if asksOutput(text, prompt) && !asksOutput(text, output) {
						prompt, output = output, prompt
					}
					return fault.Overflow{Prompt: prompt.n, Output: output.n, Limit: below(list, total.n, prompt.n, output.n)}
				}
			}
		}
	}
	switch len(list) {
	case 1:
		if n := list[0]; n.n >= leastLimit && !strings.HasSuffix(text[:n.at], "by ") { // not by how much it is exceeded
			return fault.Overflow{Limit: n.n}
		}
	case 2:
		return fault.Overflow{Prompt: max(list[0].n, list[1].n), Limit: min(list[0].n, list[1].n)}
	case 3: // prompt and answer that exceed the limit together
		for i, limit := range list {
			a, b := list[(i+1)%3], list[(i+2)%3]
			if a.n < limit.n && b.n < limit.n && a.n+b.n > limit.n {
				if asksOutput(text, a) || !asksOutput(text, b) && a.n < b.n && !asksPrompt(text, a) {
					a, b = b, a
				}
				return fault.Overflow{Prompt: a.n, Output: b.n, Limit: limit.n}
			}
		}
	}
	return fault.Overflow{}
}

// distinct is the list without repetitions.
func distinct(list []amount) []amount {
	out := list[:0]
next:
	for _, a := range list {
		for _, b := range out {
			if a.n == b.n {
				continue next
			}
		}
		out = append(out, a)
	}
	return out
}

// below is the number of the list that is a limit below total, 0 without one.
func below(list []amount, total, prompt, output int64) int64 {
	for _, a := range list {
		if a.n < total && a.n != prompt && a.n != output {
			return a.n
		}
	}
	return 0
}

// asksOutput reports whether the words at a number speak of the answer.
func asksOutput(text string, a amount) bool {
	after, before := text[a.end:min(a.end+28, len(text))], text[max(a.at-24, 0):a.at]
	return strings.Contains(after, "completion") || strings.Contains(after, "output") || strings.Contains(before, "max_tokens") || strings.Contains(before, "completion")
}

// asksPrompt reports whether the words at a number speak of the prompt.
func asksPrompt(text string, a amount) bool {
	after := text[a.end:min(a.end+28, len(text))]
	return strings.Contains(after, "input") || strings.Contains(after, "message") || strings.Contains(after, "prompt")
}
