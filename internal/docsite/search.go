package docsite

import (
	"cmp"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Bounds of a search: of the query in bytes, of its words, and of what is shown.
const (
	maxQuery   = 200
	maxWords   = 8
	maxResults = 30
	maxOfPage  = 3
)

// result is a section that has all words of a query.
type result struct {
	page  *page
	in    *section
	score int
}

// find returns the sections that have all words, best first, a few of each page: in a language, and in English where that one has none.
func (b *book) find(words []string, lang string) []result {
	if len(words) == 0 {
		return nil
	}
	var all []result
	for _, p := range b.order {
		of := p.in(lang).find(words)
		if len(of) == 0 && p.russian != nil {
			of = p.find(words)
		}
		all = append(all, of...)
	}
	slices.SortStableFunc(all, func(a, b result) int { return cmp.Compare(b.score, a.score) })
	return all[:min(len(all), maxResults)]
}

// find returns the sections of a page that have all words, best first.
func (p *page) find(words []string) []result {
	title, of := strings.ToLower(p.title+" "+p.name), []result(nil)
	for i := range p.sections {
		names := title
		if i == 0 { // the page itself is looked for by more words than its sections
			names += " " + p.also
		}
		if score := rate(names, &p.sections[i], i == 0, words); score > 0 {
			if p.lookedUp() && strings.ContainsFunc(words[0], func(r rune) bool { return strings.ContainsRune("_./", r) }) {
				score += 15 // a name of the API or of a setting
			}
			of = append(of, result{p, &p.sections[i], max(score*p.weight()/wholeWeight, 1)})
		}
	}
	slices.SortStableFunc(of, func(a, b result) int { return cmp.Compare(b.score, a.score) })
	return of[:min(len(of), maxOfPage)]
}

// lookedUp reports whether a page is a list of names.
func (p *page) lookedUp() bool {
	return p.parent == "commands" || p.parent == "" && (p.group == "reference" || slices.Contains([]string{"settings", "metrics", "commands"}, p.name))
}

const wholeWeight = 12

// weight is how much a fit counts, of wholeWeight: a reader who asks how something is done wants the page that says so, and not why it was
// built so or when.
func (p *page) weight() int {
	switch {
	case p.name == "changes":
		return 2
	case p.group == "decisions":
		return 4
	case p.group == "code", p.parent == "commands":
		return 6
	case p.parent == referenceName:
		return 9
	}
	return wholeWeight
}

// rate says how well a section fits; 0 if a word is missing. The title of the page counts for its beginning only, so that a page is found by
// its name, and its sections by theirs.
func rate(title string, s *section, first bool, words []string) (score int) {
	heading, _, _ := strings.Cut(s.folded, "\n")
	named, titled := true, first
	for _, w := range words {
		inTitle, inHeading := begins(title, w) >= 0, begins(heading, w) >= 0
		n := 0
		for rest := s.folded; n < 5; n++ {
			i := begins(rest, w)
			if i < 0 {
				break
			}
			rest = rest[i+len(w):]
		}
		if n == 0 && !(inTitle && first) {
			if !inTitle {
				return 0
			}
			n = 1
		}
		score += n
		if inHeading {
			score += 20
		}
		if inTitle {
			score += 5
			if first {
				score += 30
			}
		}
		named, titled = named && inHeading, titled && inTitle
	}
	if named || titled {
		score += 20
	}
	return score
}

// begins is where a word of a text begins with w: "list" does not begin with "is". It is -1 if none does.
func begins(text, w string) int {
	for at := 0; ; {
		i := strings.Index(text[at:], w)
		if i < 0 {
			return -1
		}
		if at += i; at == 0 {
			return at
		}
		if before, _ := utf8.DecodeLastRuneInString(text[:at]); !unicode.IsLetter(before) && !unicode.IsDigit(before) {
			return at
		}
		at += len(w)
	}
}

// split makes the words of a query.
func split(query string) []string {
	words := strings.Fields(strings.ToLower(query))
	return words[:min(len(words), maxWords)]
}

// asTyped is what the keys of a query give on an English keyboard, "" if it has no Russian letters.
func asTyped(query string) string {
	const russian, english = "йцукенгшщзхъфывапролджэячсмитьбюё", "qwertyuiop[]asdfghjkl;'zxcvbnm,.`"
	keys := []rune(russian)
	var b strings.Builder
	found := false
	for _, r := range strings.ToLower(query) {
		if i := slices.Index(keys, r); i >= 0 {
			b.WriteByte(english[i])
			found = true
		} else {
			b.WriteRune(r)
		}
	}
	if !found {
		return ""
	}
	return b.String()
}

// excerpt is the part of a text around the first word that it has.
func excerpt(text string, words []string) string {
	const before, length = 60, 220
	folded, at := strings.ToLower(text), -1
	if len(folded) != len(text) { // a letter whose small form has another length: positions would be wrong
		folded = text
	}
	for _, w := range words {
		if i := begins(folded, w); i >= 0 && (at < 0 || i < at) {
			at = i
		}
	}
	from := max(at-before, 0)
	if from > 0 {
		if i := strings.IndexByte(text[from:], ' '); i >= 0 && i < before {
			from += i + 1
		}
	}
	for from < len(text) && !utf8.RuneStart(text[from]) {
		from++
	}
	to := min(from+length, len(text))
	if to < len(text) {
		if i := strings.LastIndexByte(text[from:to], ' '); i > 0 {
			to = from + i
		}
		for to > from && !utf8.RuneStart(text[to]) {
			to--
		}
	}
	out := text[from:to]
	if from > 0 {
		out = "… " + out
	}
	if to < len(text) {
		out += " …"
	}
	return out
}
