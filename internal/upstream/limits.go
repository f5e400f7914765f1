package upstream

import (
	"bytes"
	"strings"

	"weir/internal/fault"
)

// accountWords stand before the ids and numbers of the operator's accounts, as Anthropic, xAI, Google and Amazon write them.
var accountWords = []string{"organization", "organisation", "org", "team", "projects", "project", "project_number", "account", "workspace", "tenant", "subscription"}

// withoutNumbered replaces ids of accounts that have no mark of their own: what follows a word for an account and has a digit, and the account in a
// name of Amazon's.
func withoutNumbered(b []byte) []byte {
	var out []byte
	from := 0
	for i := 0; i < len(b); {
		if !nameByte(b[i]) {
			i++
			continue
		}
		end := i
		for end < len(b) && nameByte(b[end]) {
			end++
		}
		token := b[i:end]
		amazons := len(token) == 12 && number(token) == 12 && i > 0 && b[i-1] == ':' && end < len(b) && b[end] == ':'
		if amazons || len(token) >= 8 && bytes.ContainsAny(token, "0123456789") && afterAccount(b[:i]) {
			out = append(append(out, b[from:i]...), "[account]"...)
			from = end
		}
		i = end
	}
	if out == nil {
		return b
	}
	return append(out, b[from:]...)
}

// afterAccount reports whether a text ends with a word for an account and what joins it to an id.
func afterAccount(b []byte) bool {
	trimmed := bytes.TrimRight(b, " :\"'`\\(/=")
	if d := len(b) - len(trimmed); d == 0 || d > 6 {
		return false
	}
	at := len(trimmed)
	for at > 0 && nameByte(trimmed[at-1]) {
		at--
	}
	word := strings.ToLower(string(trimmed[at:]))
	for _, suffix := range [...]string{"_id", "id"} {
		word = strings.TrimSuffix(word, suffix)
	}
	for _, w := range accountWords {
		if word == w {
			return true
		}
	}
	return false
}

func nameByte(c byte) bool {
	return digit(c) || c|0x20 >= 'a' && c|0x20 <= 'z' || c == '-' || c == '_'
}

func digit(c byte) bool { return c >= '0' && c <= '9' }

// ofLimits reports whether the words of a failure are about how much the operator may use.
func ofLimits(f *fault.Error) bool {
	if f.Kind == fault.RateLimited || f.Kind == fault.ProviderOverloaded {
		return true
	}
	text := strings.ToLower(f.Public + f.Upstream.Raw)
	for _, phrase := range [...]string{"(tpm)", "(rpm)", "(tpd)", "(rpd)", "tokens per min", "requests per", "enqueued token", "quota"} {
		if strings.Contains(text, phrase) {
			return true
		}
	}
	return false
}

// withoutLimits replaces the numbers of a text, save those that are part of a name, such as gpt-4o, say how long to wait, or are statuses and
// codes. JSON stays JSON.
func withoutLimits(b []byte) []byte {
	var out []byte
	from, inside := 0, len(b) == 0 || b[0] != '{' && b[0] != '['
	json := !inside
	for i := 0; i < len(b); {
		if json && b[i] == '"' && (i == 0 || b[i-1] != '\\') {
			inside = !inside
		}
		if !digit(b[i]) {
			i++
			continue
		}
		end := i + number(b[i:])
		unit := limitUnit(b[end:])
		if end += unit; unit == 0 && (named(b, i, end) || waits(b[end:]) || status(b[:i], b[i:end])) {
			for i = end; i < len(b) && (nameByte(b[i]) || b[i] == '.' && i+1 < len(b) && digit(b[i+1])); {
				i++
			}
			continue
		}
		mark := "[limit]"
		if !inside {
			mark = "null"
		}
		out = append(append(out, b[from:i]...), mark...)
		from, i = end, end
	}
	if out == nil {
		return b
	}
	return append(out, b[from:]...)
}

// number is how long the number is that a text begins with, with the points and commas inside.
func number(b []byte) (n int) {
	for n < len(b) && (digit(b[n]) || (b[n] == ',' || b[n] == '.') && n+1 < len(b) && digit(b[n+1])) {
		n++
	}
	return n
}

// limitUnit is how long the unit of a limit is that follows a number at once: K, M, TPM, KTPM, RPM, RPD.
func limitUnit(b []byte) (n int) {
	for n < len(b) && (b[n]|0x20 >= 'a' && b[n]|0x20 <= 'z') {
		n++
	}
	switch unit := string(b[:n]); {
	case unit == "K", unit == "k", unit == "M", strings.HasSuffix(unit, "PM"), strings.HasSuffix(unit, "PD"), strings.HasSuffix(unit, "PS"):
		return n
	}
	return 0
}

// named reports whether a number is part of a name, a date or a time.
func named(b []byte, from, end int) bool {
	if from > 0 && (nameByte(b[from-1]) || b[from-1] == '@' || b[from-1] == '.') || from > 1 && b[from-1] == ':' && digit(b[from-2]) {
		return true
	}
	return end < len(b) && (nameByte(b[end]) || b[end] == ':' && end+1 < len(b) && digit(b[end+1]))
}

// waits reports whether a unit of time follows.
func waits(b []byte) bool {
	word, _, _ := strings.Cut(strings.TrimPrefix(string(b[:min(len(b), 16)]), " "), " ")
	for _, unit := range [...]string{"second", "minute", "hour", "millisecond", "ms"} {
		if strings.HasPrefix(word, unit) {
			return true
		}
	}
	return false
}

// status reports whether a number is that of a status, or a code.
func status(before, n []byte) bool {
	before = bytes.TrimRight(before, "\": \\")
	return string(n) == "429" || bytes.HasSuffix(before, []byte("code")) || bytes.HasSuffix(before, []byte("status"))
}
