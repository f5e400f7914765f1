// Package tokenizer counts tokens the way a common model would, for calls whose provider reports no usage.
// It must not be used where a provider has counted, and it loads nothing before the first count.
package tokenizer

import (
	"iter"
	"sync"
	"unicode/utf8"

	"github.com/tiktoken-go/tokenizer/codec"
)

// exactBytes is how much of a text is counted token by token; what is beyond it counts in proportion. It bounds the time that a
// count can take, whatever a client sends.
const exactBytes = 256 << 10

// vocabulary is loaded at the first count: it takes megabytes, and most nodes never estimate.
var vocabulary = sync.OnceValue(codec.NewO200kBase)

// Tokenizer counts tokens with OpenAI's o200k_base vocabulary, which is near enough to other vendors' to estimate by.
// The zero value is ready. It is safe for concurrent use.
type Tokenizer struct{}

// Count is the number of tokens of a text that comes in pieces, each counted by itself. Bytes that are no UTF-8 count
// like replacement characters. A text of more than 256 KiB is counted to there, and the rest in proportion.
func (Tokenizer) Count(text iter.Seq[[]byte]) int64 {
	var c counter
	for piece := range text {
		c.add(piece)
	}
	return c.total()
}

// CountBytes is Count of a text in one piece.
func (Tokenizer) CountBytes(text []byte) int64 {
	var c counter
	c.add(text)
	return c.total()
}

type counter struct {
	bytes  int64 // counted exactly
	tokens int64 // of those bytes
	beyond int64 // bytes not looked at
}

func (c *counter) add(piece []byte) {
	exact := piece[:min(int64(len(piece)), exactBytes-c.bytes)]
	if len(exact) < len(piece) {
		exact = wholeRunes(exact)
	}
	c.beyond += int64(len(piece) - len(exact))
	if len(exact) == 0 {
		return
	}
	c.bytes += int64(len(exact))
	c.tokens += countExactly(exact)
}

// total adds the rest in the proportion of what was counted, rounded up.
func (c *counter) total() int64 {
	if c.beyond == 0 || c.bytes == 0 {
		return c.tokens
	}
	// it would take a text of terabytes to overflow
	return c.tokens + (c.beyond*c.tokens+c.bytes-1)/c.bytes
}

// longestToken of the vocabulary, in bytes. The codec passes over some control characters as if they were nothing; a text of them
// is not free.
const longestToken = 128

func countExactly(piece []byte) int64 {
	n, err := vocabulary().Count(string(piece))
	if err != nil {
		// the splitting expression gave up: a token is about four bytes
		return (int64(len(piece)) + 3) / 4
	}
	return max(int64(n), (int64(len(piece))+longestToken-1)/longestToken)
}

// wholeRunes is b without a character that was cut at its end.
func wholeRunes(b []byte) []byte {
	for cut := 1; cut < utf8.UTFMax && cut <= len(b); cut++ {
		if last := b[len(b)-cut]; utf8.RuneStart(last) {
			if !utf8.FullRune(b[len(b)-cut:]) {
				return b[:len(b)-cut]
			}
			break
		}
	}
	return b
}
