// Package promptcache knows what providers' caches of prompts are worth: how much of a conversation an endpoint has in its cache, how often it
// really reads it from there, what the rest of a conversation will cost for that, and why a call found less in a cache than it could have. It
// keeps hashes of prompts, never their text, and decides nothing: package routing chooses.
package promptcache

import (
	"hash/maphash"
	"slices"
)

// LeastTokens is the length of a prompt from which providers cache it. Some want more; what they really read is measured.
const LeastTokens = 1024

// Of a conversation that is kept, the marks of so many messages at its beginning and at its end. Changes are seldom between them: clients change
// their instructions, drop reasoning of the last turn, or replace all by a summary.
const (
	keptFirst = 24
	keptLast  = 40
)

// mark is the beginning of a prompt up to the end of a message.
type mark struct {
	sum  uint32 // of all up to here
	size uint32 // bytes of all up to here
}

// Prints are the fingerprints of a prompt: the first is that of what comes before the messages, each other one ends with a message.
type Prints struct {
	marks []mark
	gap   int // marks that were dropped after the first keptFirst
	led   bool
	kind  Kind
}

// Bytes is the size of the whole prompt.
func (p *Prints) Bytes() uint32 {
	if p.Empty() {
		return 0
	}
	return p.marks[len(p.marks)-1].size
}

// Empty reports whether there are no prints.
func (p *Prints) Empty() bool { return len(p.marks) == 0 }

// instructions are the prints of what conversations with the same instructions and tools share.
func (p *Prints) instructions() Prints {
	n := 1
	if p.led && len(p.marks) > 1 {
		n = 2
	}
	return Prints{marks: p.marks[:n:n], kind: p.kind}
}

// begins reports whether the conversation begins: nothing was answered before.
func (p *Prints) begins() bool { return len(p.marks)+p.gap <= 3 }

// Kind is how the request asks for caching.
func (p *Prints) Kind() Kind { return p.kind }

// kept are the prints in bounded memory.
func (p *Prints) kept() Prints {
	gap := len(p.marks) - keptFirst - keptLast
	if gap <= 0 {
		return Prints{marks: slices.Clone(p.marks)}
	}
	return Prints{marks: slices.Concat(p.marks[:keptFirst], p.marks[keptFirst+gap:]), gap: gap}
}

// Printer makes prints. It is given a prompt in the order in which providers read it: what comes before the messages, and each message.
type Printer struct {
	h    maphash.Hash
	size uint64
	out  Prints
}

// NewPrinter makes a Printer. Prints with different seeds cannot be compared.
func NewPrinter(seed maphash.Seed) *Printer {
	w := &Printer{out: Prints{marks: make([]mark, 0, 16)}}
	w.h.SetSeed(seed)
	return w
}

// Write adds a part of a value.
func (w *Printer) Write(b []byte) {
	_, _ = w.h.Write(b)
	w.size += uint64(len(b))
}

// End ends a value, so that those of two do not run into one another.
func (w *Printer) End() { _ = w.h.WriteByte(0) }

// Mark ends what comes before the messages, the first time, and then each message.
func (w *Printer) Mark() {
	w.End()
	w.out.marks = append(w.out.marks, mark{uint32(w.h.Sum64()), uint32(min(w.size, 1<<32-1))})
}

// Prints are those of all that was given. led says that the first message is an instruction.
func (w *Printer) Prints(led bool, k Kind) Prints {
	w.out.led, w.out.kind = led, k
	return w.out
}

// Unchanged is the change of a prompt that another one only adds to.
const Unchanged = -1

// Common is how many bytes at its beginning q has in common with p, an earlier prompt that was kept, and the number of the first message that
// differs: 0 for what comes before the messages, Unchanged where q goes on from where p ended or ends before. Where marks were dropped, it is the
// first message without one.
func (p *Prints) Common(q *Prints) (size uint32, changed int) {
	for i, m := range p.marks {
		at := i
		if i >= keptFirst {
			at += p.gap
		}
		if at >= len(q.marks) {
			break
		}
		if q.marks[at] != m {
			if i == keptFirst && p.gap > 0 {
				at = keptFirst
			}
			return size, at
		}
		size = m.size
	}
	return min(p.Bytes(), q.Bytes()), Unchanged
}
