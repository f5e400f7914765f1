package kit

import (
	"strconv"
	"strings"
	"unicode/utf8"
)

// matching writes a string that matches a regular expression of the kind that schemas use: literals, classes, groups,
// alternatives, repetition, anchors. It returns false for anything else, such as a look-ahead. Its work is subtracted from left.
func matching(pattern string, rnd *Random, left *int) (string, bool) {
	most := min(*left, maxPatternAtoms)
	budget := most
	defer func() { *left -= most - max(budget, 0) }()
	m := matcher{rest: pattern, rnd: rnd, ok: true, budget: &budget}
	m.alternatives(&m.out, 0)
	return m.out.String(), m.ok && m.rest == ""
}

type matcher struct {
	rest string
	rnd  *Random
	out  strings.Builder
	ok   bool

	budget *int // atoms that may still be written: nested repetitions can grow without limit
}

const (
	maxPattern      = 4096 // bytes
	maxPatternDepth = 20
	maxPatternAtoms = 20_000
)

// alternatives reads a|b|c and appends one of them.
func (m *matcher) alternatives(to *strings.Builder, depth int) {
	if depth > maxPatternDepth {
		m.ok = false
		return
	}
	var branches []string
	for {
		var b strings.Builder
		m.sequence(&b, depth)
		branches = append(branches, b.String())
		if !m.ok || !m.take('|') {
			break
		}
	}
	to.WriteString(m.rnd.pick(branches))
}

func (m *matcher) take(c byte) bool {
	if m.rest == "" || m.rest[0] != c {
		return false
	}
	m.rest = m.rest[1:]
	return true
}

func (m *matcher) sequence(to *strings.Builder, depth int) {
	for m.ok && m.rest != "" && m.rest[0] != '|' && m.rest[0] != ')' {
		if m.take('^') || m.take('$') {
			m.ok = m.rest == "" || strings.IndexByte("*+?{", m.rest[0]) < 0 // an anchor cannot be repeated
			continue
		}
		from := m.rest
		var atom strings.Builder
		m.atom(&atom, depth)
		source := from[:len(from)-len(m.rest)]
		low, high := m.repetition()
		if !m.ok {
			return
		}
		if low == 1 && high == 1 {
			to.WriteString(atom.String())
			continue
		}
		// each repetition is generated separately, so that \d{4} is not one digit four times
		for range low + m.rnd.Below(high-low+1) {
			again := matcher{rest: source, rnd: m.rnd, ok: true, budget: m.budget}
			if again.atom(to, depth); !again.ok {
				m.ok = false
				return
			}
		}
	}
}

func (m *matcher) atom(to *strings.Builder, depth int) {
	if *m.budget--; *m.budget < 0 {
		m.ok = false
		return
	}
	r, size := utf8.DecodeRuneInString(m.rest)
	m.rest = m.rest[size:]
	switch r {
	case '(':
		if strings.HasPrefix(m.rest, "?:") {
			m.rest = m.rest[2:]
		} else if strings.HasPrefix(m.rest, "?") {
			m.ok = false
			return
		}
		m.alternatives(to, depth+1)
		m.ok = m.ok && m.take(')')
	case '[':
		to.WriteRune(m.class())
	case '.':
		to.WriteByte("abcdefghij"[m.rnd.Below(10)])
	case '\\':
		to.WriteRune(m.escape())
	case '*', '+', '?', '{':
		m.ok = false
	default:
		to.WriteRune(r)
	}
}

const (
	digitSet = "0123456789"
	wordSet  = "abcdefghijklmnopqrstuvwxyz0123456789_"
)

func (m *matcher) escape() rune {
	if m.rest == "" {
		m.ok = false
		return 0
	}
	r, size := utf8.DecodeRuneInString(m.rest)
	m.rest = m.rest[size:]
	switch r {
	case 'd':
		return rune(digitSet[m.rnd.Below(len(digitSet))])
	case 'w':
		return rune(wordSet[m.rnd.Below(len(wordSet))])
	case 's':
		return ' '
	case 'n':
		return '\n'
	case 't':
		return '\t'
	case 'D', 'W', 'S':
		return map[rune]rune{'D': 'x', 'W': '-', 'S': 'x'}[r]
	}
	if r < utf8.RuneSelf && Letter(r) {
		m.ok = false // \b, \p{..}, \1 and their like
	}
	return r
}

// class reads [...] after its opening bracket.
func (m *matcher) class() rune {
	negated := m.take('^')
	type span struct{ low, high rune }
	var spans []span
	for m.rest != "" && !m.take(']') {
		if *m.budget--; *m.budget < 0 {
			m.ok = false
			return 0
		}
		r, size := utf8.DecodeRuneInString(m.rest)
		m.rest = m.rest[size:]
		if r == '\\' {
			if m.rest != "" && strings.IndexByte("dws", m.rest[0]) >= 0 {
				switch m.rest[0] {
				case 'd':
					spans = append(spans, span{'0', '9'})
				case 'w':
					spans = append(spans, span{'a', 'z'}, span{'0', '9'}, span{'_', '_'})
				case 's':
					spans = append(spans, span{' ', ' '})
				}
				m.rest = m.rest[1:]
				continue
			}
			r = m.escape()
		}
		high := r
		if len(m.rest) > 1 && m.rest[0] == '-' && m.rest[1] != ']' {
			h, size := utf8.DecodeRuneInString(m.rest[1:])
			m.rest, high = m.rest[1+size:], h
		}
		spans = append(spans, span{r, high})
	}
	if len(spans) == 0 {
		m.ok = false
		return 0
	}
	if !negated {
		s := spans[m.rnd.Below(len(spans))]
		return s.low + rune(m.rnd.Below(int(s.high-s.low)+1))
	}
	for _, r := range wordSet + "-. ABC" {
		free := true
		for _, s := range spans {
			free = free && (r < s.low || r > s.high)
		}
		if free {
			return r
		}
	}
	m.ok = false
	return 0
}

// repetition reads the quantifier after an atom; unlimited ones get a small limit.
func (m *matcher) repetition() (low, high int) {
	low, high = 1, 1
	switch {
	case m.take('*'):
		low, high = 0, 3
	case m.take('+'):
		low, high = 1, 4
	case m.take('?'):
		low, high = 0, 1
	case strings.HasPrefix(m.rest, "{"):
		inside, rest, found := strings.Cut(m.rest[1:], "}")
		first, second, ranged := strings.Cut(inside, ",")
		var fine, fine2 bool
		low, fine = ParseCount(first)
		high, fine2 = low, true
		if ranged && second == "" {
			high = low + 3
		} else if ranged {
			high, fine2 = ParseCount(second)
		}
		m.rest = rest
		m.ok = m.ok && found && fine && fine2 && high >= low && high <= 1000
	}
	m.take('?') // lazy or greedy: any count in the range matches
	return low, high
}

// ParseCount reads a number without sign or leading zeros; engines disagree on other spellings.
func ParseCount(s string) (int, bool) {
	n, err := strconv.Atoi(s)
	return n, err == nil && n >= 0 && strconv.Itoa(n) == s
}
