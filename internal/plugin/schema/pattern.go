package schema

import (
	"regexp"
	"regexp/syntax"
	"strings"
)

// compile reads a pattern, which is paid for before its program is made: "(a{1000}){1000}" are 17 bytes and a million instructions.
func (c *compiler) compile(text string) (*pattern, error) {
	if err := c.take(written(text)); err != nil {
		return nil, err
	}
	if strange(text) {
		return nil, foreign(text)
	}
	tree, err := syntax.Parse(text, syntax.Perl)
	if err != nil {
		return nil, foreign(text)
	}
	size := instructions(tree)
	if err := c.take(size); err != nil {
		return nil, err
	}
	re, err := regexp.Compile(text)
	if err != nil {
		return nil, foreign(text)
	}
	return &pattern{re, size}, nil
}

const patternMemory = 128 // approximate bytes per instruction: itself, and the data that speeds up matching

func (c *compiler) take(size int) error {
	if c.patterns -= size; c.patterns < 0 {
		return ErrTooLarge
	}
	if err := c.keep(size * patternMemory); err != nil {
		return err
	}
	return c.spend(size)
}

// classSize is the cost of reading a class of Unicode characters: hundreds of ranges for two bytes.
const classSize = 500

// written is the cost of reading the text of a pattern.
func written(text string) int {
	return 1 + len(text)/4 + classSize*(strings.Count(text, `\p`)+strings.Count(text, `\P`))
}

// strange reports whether a pattern has constructs that JSON schemas' regular expressions give another meaning or none: flags, of which
// one also makes reading slow, and a few escapes.
func strange(text string) bool {
	for i := 0; i < len(text); i++ {
		rest := text[i:]
		switch {
		case rest[0] == '\\' && len(rest) > 1:
			if strings.IndexByte("AzQECa", rest[1]) >= 0 {
				return true
			}
			i++
		case strings.HasPrefix(rest, "[[:"), strings.HasPrefix(rest, "(?P"):
			return true
		case strings.HasPrefix(rest, "(?") && !strings.HasPrefix(rest, "(?:") && !strings.HasPrefix(rest, "(?<"):
			return true
		}
	}
	return false
}

const tooMany = 1 << 30

// instructions is the largest number of instructions of a program, plus the cost of its classes.
func instructions(re *syntax.Regexp) int {
	n := 2 + len(re.Rune)/8
	if re.Op == syntax.OpLiteral {
		n = 2 + len(re.Rune)
	}
	for _, sub := range re.Sub {
		n += instructions(sub)
	}
	if re.Op == syntax.OpRepeat {
		times := max(re.Min+1, re.Max)
		if n > tooMany/(times+1) {
			return tooMany
		}
		n *= times + 1
	}
	return min(n, tooMany)
}

// matches pays for a match, for each byte and instruction, and makes it. It reports true, too, where it could not be paid.
func (k *checker) matches(p *pattern, text []byte) bool {
	return !k.spend(1+(len(text)+1)*p.size/instructionsPerStep) || p.re.Match(text)
}

const instructionsPerStep = 4
