// Package tokenizer counts tokens the way a common model would, for calls whose provider reports no usage.
// It must not be used where a provider has counted, and it loads nothing before the first count.
package tokenizer

import (
	"iter"
	"runtime"
	"sync/atomic"
	"unicode/utf8"

	"weir/internal/usage/o200k"
)

// exactBytes is how much of a text is counted token by token; what is beyond it counts in proportion. It bounds the time and the memory that
// a count can take, whatever a client sends: some 15 ms and 3 MB.
const exactBytes = 64 << 10

// Tokenizer counts tokens with OpenAI's o200k_base vocabulary, which is near enough to other vendors' to estimate by. Few counts run at a
// time and few wait for them, over the whole process: when a thousand calls end at once, most of them are estimated by a Gauge.
// The zero value is ready. It is safe for concurrent use.
type Tokenizer struct {
	queue *queue // nil: the process's
}

// Count is about the number of tokens of a text that comes in pieces, each counted by itself. Bytes that are no UTF-8 count
// like replacement characters. A text of more than 64 KiB is counted to there, and the rest in proportion.
func (t Tokenizer) Count(text iter.Seq[[]byte]) int64 {
	q := t.queue
	if q == nil {
		q = shared
	}
	c := counter{exact: q.enter()}
	if c.exact {
		defer q.leave()
	}
	for piece := range text {
		c.add(piece)
	}
	return c.total()
}

// CountBytes is Count of a text in one piece.
func (t Tokenizer) CountBytes(text []byte) int64 {
	return t.Count(func(yield func([]byte) bool) { yield(text) })
}

// queue bounds how many counts run and how many wait.
type queue struct {
	slots   chan struct{}
	waiting atomic.Int64
}

// mostWaiting is how many counts wait for one that runs. A later one gets an estimate: no call waits longer than for so many.
const mostWaiting = 8

var shared = newQueue()

func newQueue() *queue { return &queue{slots: make(chan struct{}, max(runtime.GOMAXPROCS(0)/2, 1))} }

// enter waits for a place; false when too many do already.
func (q *queue) enter() bool {
	select {
	case q.slots <- struct{}{}:
		return true
	default:
	}
	if q.waiting.Add(1) > mostWaiting {
		q.waiting.Add(-1)
		return false
	}
	defer q.waiting.Add(-1)
	q.slots <- struct{}{}
	return true
}

func (q *queue) leave() { <-q.slots }

type counter struct {
	exact   bool  // tokens may be counted
	bytes   int64 // all
	counted int64 // bytes whose tokens were counted
	tokens  int64 // of those
	sample  Gauge // of those
	rest    Gauge
}

func (c *counter) add(piece []byte) {
	c.bytes += int64(len(piece))
	if !c.exact {
		c.rest.Add(piece)
		return
	}
	first := piece[:min(int64(len(piece)), exactBytes-c.counted)]
	if len(first) < len(piece) {
		first = wholeRunes(first)
	}
	if len(first) > 0 {
		c.counted += int64(len(first))
		c.tokens += o200k.Count(first)
		c.sample.Add(first)
	}
	c.rest.Add(piece[len(first):])
}

func (c *counter) total() int64 {
	return min(c.tokens+Beyond(c.tokens, &c.sample, &c.rest), c.bytes)
}

// Beyond is about how many tokens the rest of a text has of which a sample was counted: the gauge of the rest, corrected by how the
// sample's tokens differ from the sample's gauge.
func Beyond(tokens int64, sample, rest *Gauge) int64 {
	most := rest.Likely()
	if reported := sample.Likely(); most > 0 && reported > 0 && tokens > 0 {
		return int64((float64(most)*float64(tokens) + float64(reported) - 1) / float64(reported)) // an estimate: it need not be exact
	}
	return most
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
