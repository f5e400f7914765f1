package completion

import "strings"

// ToolKind is a type of tools without the date at its end, as in web_search_20250305 and web_search_preview_2025_03_11. Other digits are
// kept.
func ToolKind(kind string) string {
	for _, date := range [...]string{"_00000000", "_0000_00_00", "-0000-00-00", "-00000000"} {
		if at := len(kind) - len(date); at > 0 && strings.Map(zeroed, kind[at:]) == date {
			return kind[:at]
		}
	}
	return kind
}

func zeroed(r rune) rune {
	if '0' <= r && r <= '9' {
		return '0'
	}
	return r
}

// NoticeAdvisor says that an advisor was left out.
const NoticeAdvisor = "The advisor was left out, because its price is known only after the answer."

// IsAdvisor reports the type of a tool by which the provider lets the model ask a second one. Its tokens are charged at the prices of that model and
// may cost many times the answer: a recorded answer of 0.0002 dollars had advice for 0.016. No hold covers that, so the model answers without.
func IsAdvisor(kind string) bool {
	switch ToolKind(kind) {
	case "advisor", "openrouter:advisor", "openrouter:subagent", "openrouter:fusion":
		return true
	}
	return false
}
