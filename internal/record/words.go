package record

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// longestQuote is how many bytes within quotation marks are kept of a provider's text: names and values are shorter, and what is longer may be a
// part of a prompt.
const longestQuote = 64

// closing are the quotation marks that end what others begin.
var closing = map[rune]string{'"': `"`, '\'': `'`, '`': "`", '“': "”", '‘': "’", '«': "»"}

// Words makes the error text of a provider fit for a record: one line, without long quotes, cut where it is too long.
func Words(text string) string {
	var b strings.Builder
	before := ' '
	for rest := Text(text); rest != ""; {
		r, n := utf8.DecodeRuneInString(rest)
		b.WriteString(rest[:n])
		rest = rest[n:]
		end, opens := closing[r]
		if opens && !unicode.IsLetter(before) && !unicode.IsDigit(before) { // else an apostrophe, or a mark that ends
			quoted, after, closed := strings.Cut(rest, end)
			if len(quoted) > longestQuote {
				quoted = "…"
			}
			b.WriteString(quoted)
			if rest = after; closed {
				b.WriteString(end)
			}
		}
		before = r
	}
	return cut(strings.Join(strings.Fields(b.String()), " "), maxWords)
}

// longestCause is how many bytes of a text distinguish causes of failures.
const longestCause = 120

// Cause is what the error texts of one cause have in common: numbers, ids and what is quoted are left out.
func Cause(words string) string {
	var b strings.Builder
	for i, word := range strings.Fields(words) {
		if i > 0 {
			b.WriteByte(' ')
		}
		digits := strings.ContainsFunc(word, unicode.IsDigit)
		switch quote, _ := utf8.DecodeRuneInString(word); {
		case digits && (len(word) > 12 || closing[quote] != ""):
			b.WriteString("…")
		case digits:
			zero := false
			for _, r := range word {
				if d := unicode.IsDigit(r); !d || !zero {
					if zero = d; d {
						r = '0'
					}
					b.WriteRune(r)
				}
			}
		default:
			b.WriteString(word)
		}
		if b.Len() > longestCause {
			break
		}
	}
	return cut(b.String(), longestCause)
}
