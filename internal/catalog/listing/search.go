package listing

import (
	"cmp"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// pairs is the set of pairs of bytes that follow each other in a text, several of which share a bit. A text that lacks a pair of a word lacks
// the word: most texts need not be looked through.
type pairs [16]uint64

func (p *pairs) add(text string) {
	for i := 1; i < len(text); i++ {
		h := (uint32(text[i-1])<<8 | uint32(text[i])) * 2654435761 >> 22
		p[h/64] |= 1 << (h % 64)
	}
}

func (p *pairs) holds(wanted *pairs) bool {
	for i, bits := range wanted {
		if p[i]&bits != bits {
			return false
		}
	}
	return true
}

// Fold makes texts equal that differ in case only.
func Fold(s string) string {
	ascii := true
	for i := range len(s) {
		if s[i] >= utf8.RuneSelf {
			ascii = false
			break
		}
	}
	if ascii {
		return strings.ToLower(s)
	}
	return strings.Map(func(r rune) rune {
		least := r // of the letters that differ in case only; some have more than two
		for next := unicode.SimpleFold(r); next != r; next = unicode.SimpleFold(next) {
			least = min(least, next)
		}
		return unicode.ToLower(least)
	}, s)
}

// squeeze leaves out what separates parts of names: gpt-5, GPT 5 and gpt5 are one.
func squeeze(s string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsLetter(r) || unicode.IsDigit(r) {
			return r
		}
		return -1
	}, s)
}

// word is a word of a search, with what it may stand for.
type word struct {
	text, squeezed string
	spoken         string // the name that its Russian spelling stands for, "" none
	certain        bool   // what it fits has every pair of its bytes
}

func newWord(text string) word {
	w := word{text: text, squeezed: squeeze(text), spoken: Spoken[text]}
	w.certain = w.squeezed == text && w.spoken == ""
	if len(w.squeezed) < 2 { // of "b/" no letter must stand for the whole
		w.squeezed = ""
	}
	return w
}

func (it *item) has(words []word) bool {
	for i := range words {
		w := &words[i]
		if !strings.Contains(it.words, w.text) && (w.squeezed == "" || !strings.Contains(it.squeezed, w.squeezed)) && (w.spoken == "" || !strings.Contains(it.squeezed, w.spoken)) {
			return false
		}
	}
	return true
}

// nearly reports whether the names have every word, with one slip in each.
func (it *item) nearly(words []word) bool {
	for i := range words {
		w := &words[i]
		if !strings.Contains(it.words, w.text) && !slips(it.squeezed, w.squeezed) {
			return false
		}
	}
	return true
}

// leastSlip is the shortest word, in letters, in which a slip is forgiven.
const leastSlip = 4

// slips reports whether a part of the text is the word but for one letter that is missing, added, wrong or exchanged with its neighbour. Digits are
// versions: they must be right.
func slips(text, word string) bool {
	w := []rune(word)
	if len(w) < leastSlip || len(w) > maxSlip {
		return false
	}
	letters := func(list ...rune) bool { return !slices.ContainsFunc(list, unicode.IsDigit) }
	// row[j] and before[j] are the fewest slips with which the first j letters of the word end at this letter of the text, and at the one before it.
	var rows [3][maxSlip + 1]uint8
	before, row, next := &rows[0], &rows[1], &rows[2]
	for j := range row {
		row[j] = uint8(min(j, 2))
		before[j] = 2
	}
	last := rune(0)
	for _, r := range text {
		next[0] = 0
		for j := 1; j <= len(w); j++ {
			least := uint8(2)
			if c := w[j-1]; c == r {
				least = row[j-1]
			} else if letters(c, r) {
				least = min(row[j-1]+1, least)
			}
			if letters(r) && j < len(w) { // added to a word at its end is a longer word
				least = min(row[j]+1, least)
			}
			if letters(w[j-1]) {
				least = min(next[j-1]+1, least)
			}
			if j > 1 && w[j-1] == last && w[j-2] == r && last != r && letters(last, r) {
				least = min(before[j-2]+1, least)
			}
			next[j] = least
		}
		if next[len(w)] < 2 {
			return true
		}
		before, row, next, last = row, next, before, r
	}
	return false
}

const maxSlip = 64

const (
	cyrillicKeys = "йцукенгшщзхъфывапролджэячсмитьбюё"
	latinKeys    = "qwertyuiop[]asdfghjkl;'zxcvbnm,.`"
)

var otherLayout = func() map[rune]rune {
	m := map[rune]rune{}
	latin := []rune(latinKeys)
	for i, c := range []rune(cyrillicKeys) {
		m[c], m[latin[i]] = latin[i], c
	}
	return m
}()

// swapped is what the same keys write with the other layout of a Russian keyboard.
func swapped(s string) string {
	return strings.Map(func(r rune) rune {
		if other, ok := otherLayout[r]; ok {
			return other
		}
		return r
	}, s)
}

// Spoken are names as Russian speakers write them by ear, folded, and what they stand for, squeezed.
var Spoken = map[string]string{
	"гпт": "gpt", "чатгпт": "gpt", "джипити": "gpt", "опенаи": "openai", "опенэйай": "openai", "виспер": "whisper", "сора": "sora",
	"клод": "claude", "клауд": "claude", "клауде": "claude", "сонет": "sonnet", "соннет": "sonnet", "опус": "opus", "хайку": "haiku", "антропик": "anthropic",
	"гугл": "google", "гемини": "gemini", "джемини": "gemini", "джеминай": "gemini", "гемма": "gemma", "имаген": "imagen", "вео": "veo",
	"дипсик": "deepseek", "дипсиик": "deepseek", "квен": "qwen", "кьюен": "qwen", "кими": "kimi", "мистраль": "mistral", "лама": "llama", "ллама": "llama", "мета": "meta",
	"грок": "grok", "гигачат": "gigachat", "сбер": "sber", "яндекс": "yandex", "яндексгпт": "yandexgpt", "алиса": "alice", "сана": "sana", "флюкс": "flux", "флакс": "flux",
	"про": "pro", "мини": "mini", "нано": "nano", "флеш": "flash", "флэш": "flash", "макс": "max", "лайт": "lite", "турбо": "turbo", "кодер": "coder",
	"перплексити": "perplexity", "сонар": "sonar", "коэр": "cohere", "кохир": "cohere", "нова": "nova", "микрософт": "microsoft", "нвидиа": "nvidia", "минимакс": "minimax",
}

// wordsOf adds the words of a folded search to dst: the longest first, as they are the rarest, and none that another one contains.
func wordsOf(dst []word, search string) []word {
	for text := range strings.FieldsSeq(search) {
		dst = append(dst, newWord(text))
	}
	slices.SortFunc(dst, func(a, b word) int { return cmp.Compare(len(b.text), len(a.text)) })
	kept := dst[:0]
	for _, w := range dst {
		if !slices.ContainsFunc(kept, func(longer word) bool { return strings.Contains(longer.text, w.text) }) {
			kept = append(kept, w)
		}
	}
	return kept
}
