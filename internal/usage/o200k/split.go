package o200k

import (
	"unicode"
	"unicode/utf8"
)

// The classes of characters by which o200k_base splits a text. A letter of a script without cases, or a mark, is upper and lower.
const (
	upper   = 1 << iota // capital and title letters, letters without a case, marks
	lower               // small letters, letters without a case, marks
	letter              // letters alone, without marks
	number              // of all kinds
	space               // white space
	newline             // \r and \n
)

var asciiClass = func() (table [utf8.RuneSelf]uint8) {
	for r := range table {
		table[r] = classOf(rune(r))
	}
	return table
}()

func classOf(r rune) uint8 {
	switch {
	case r == '\r' || r == '\n':
		return space | newline
	case unicode.IsSpace(r):
		return space
	case unicode.IsLower(r) && unicode.Is(unicode.Ll, r):
		return lower | letter
	case unicode.Is(unicode.Lu, r) || unicode.Is(unicode.Lt, r):
		return upper | letter
	case unicode.IsLetter(r):
		return upper | lower | letter
	case unicode.IsMark(r):
		return upper | lower
	case unicode.IsNumber(r):
		return number
	}
	return 0
}

// class is that of the character at the start of b, and its length in bytes; 0 bytes at the end.
func class(b []byte) (uint8, int) {
	if len(b) == 0 {
		return 0, 0
	}
	if b[0] < utf8.RuneSelf {
		return asciiClass[b[0]], 1
	}
	r, n := utf8.DecodeRune(b)
	return classOf(r), n
}

// piece is how many bytes the next piece of a text has: the first of these that matches. The text must be UTF-8 and not empty.
//
//	[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+(?i:'s|'t|'re|'ve|'m|'ll|'d)?
//	[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*(?i:'s|'t|'re|'ve|'m|'ll|'d)?
//	\p{N}{1,3}
//	 ?[^\s\p{L}\p{N}]+[\r\n/]*
//	\s*[\r\n]+
//	\s+(?!\S)
//	\s+
func piece(b []byte) int {
	first, n := class(b)
	lead := 0 // of a word: a character in front of it
	if first&(newline|letter|number) == 0 {
		lead = n
	}
	for _, word := range [...]func([]byte) int{smallWord, capitalWord} {
		if end := word(b[lead:]); end > 0 {
			return lead + end + contraction(b[lead+end:])
		}
		if lead > 0 && first&(upper|lower) != 0 {
			if end := word(b); end > 0 {
				return end + contraction(b[end:])
			}
		}
	}
	switch {
	case first&number != 0:
		return run(b, 3, func(c uint8) bool { return c&number != 0 })
	case first&space == 0:
		return signs(b, 0)
	case b[0] == ' ':
		if next, _ := class(b[1:]); len(b) > 1 && next&(space|letter|number) == 0 {
			return signs(b, 1)
		}
	}
	return blank(b)
}

// run is how many bytes at most so many characters have that fit, from the start of b.
func run(b []byte, most int, fits func(class uint8) bool) int {
	end := 0
	for ; most != 0; most-- {
		c, n := class(b[end:])
		if n == 0 || !fits(c) {
			break
		}
		end += n
	}
	return end
}

// smallWord matches capitals, then at least one small letter; 0: it does not match.
func smallWord(b []byte) int {
	end, last := 0, 0 // of the capitals; behind the last of them that is small as well
	for {
		c, n := class(b[end:])
		if n == 0 || c&upper == 0 {
			break
		}
		if end += n; c&lower != 0 {
			last = end
		}
	}
	if small := run(b[end:], -1, isLower); small > 0 {
		return end + small
	}
	return last
}

// capitalWord matches at least one capital, then small letters.
func capitalWord(b []byte) int {
	end := run(b, -1, func(c uint8) bool { return c&upper != 0 })
	if end == 0 {
		return 0
	}
	return end + run(b[end:], -1, isLower)
}

func isLower(c uint8) bool { return c&lower != 0 }

// contraction is how many bytes an English ending such as 's has.
func contraction(b []byte) int {
	if len(b) < 2 || b[0] != '\'' {
		return 0
	}
	const longS = "ſ" // folds to s
	switch b[1] | 0x20 {
	case 's', 't', 'm', 'd':
		return 2
	case 'r', 'v':
		if len(b) > 2 && b[2]|0x20 == 'e' {
			return 3
		}
	case 'l':
		if len(b) > 2 && b[2]|0x20 == 'l' {
			return 3
		}
	}
	if len(b) > len(longS) && string(b[1:1+len(longS)]) == longS {
		return 1 + len(longS)
	}
	return 0
}

// signs matches characters that are neither letters, numbers nor white space, from an index, and ends of lines and slashes after them.
func signs(b []byte, from int) int {
	end := from + run(b[from:], -1, func(c uint8) bool { return c&(space|letter|number) == 0 })
	for end < len(b) && (b[end] == '\r' || b[end] == '\n' || b[end] == '/') {
		end++
	}
	return end
}

// blank matches white space: to its last end of line, else all but the last character before a word, else all.
func blank(b []byte) int {
	end, last, previous := 0, 0, 0
	for {
		c, n := class(b[end:])
		if n == 0 || c&space == 0 {
			break
		}
		previous = end
		if end += n; c&newline != 0 {
			last = end
		}
	}
	switch {
	case last > 0:
		return last
	case end < len(b) && previous > 0:
		return previous
	}
	return end
}
