package o200k

import "unicode/utf8"

// short is up to how many bytes of a piece the best pair is looked for in all of it: beyond, a heap is faster.
const short = 64

// merger counts the tokens of pieces, and keeps its memory between them.
type merger struct {
	v      *vocabulary
	starts []int32  // of the parts
	ranks  []uint32 // of what a part and the next one make together
	before []int32  // the part before one, by where it starts; of long pieces
	after  []int32
	heap   []uint64 // rank, then start of the part
}

// Count is how many tokens a text has. Each byte that is no UTF-8 is a replacement character. It counts 4 to 50 MB/s, the least
// of one long piece, which takes some forty bytes of memory for each of its own: bound what you count.
func Count(text []byte) (tokens int64) {
	if !utf8.Valid(text) {
		text = []byte(string([]rune(string(text))))
	}
	m := merger{v: base()}
	for len(text) > 0 {
		end := piece(text)
		tokens += int64(m.count(text[:end]))
		text = text[end:]
	}
	return tokens
}

// count is how many tokens a piece has: it begins as single bytes, and again and again the two neighbours are joined that make the token
// with the lowest rank, the first of them if there are several.
func (m *merger) count(piece []byte) int {
	switch {
	case len(piece) <= 1 || m.v.rank(piece) != none:
		return 1
	case len(piece) <= short:
		return m.scan(piece)
	}
	return m.merge(piece)
}

func grown[T any](s []T, n int) []T {
	if cap(s) < n {
		return make([]T, n)
	}
	return s[:n]
}

func (m *merger) scan(piece []byte) int {
	parts := len(piece)
	m.starts, m.ranks = grown(m.starts, parts+1), grown(m.ranks, parts)
	starts, ranks := m.starts, m.ranks
	for i := range starts {
		starts[i] = int32(i)
	}
	rank := func(i int) { ranks[i] = m.v.rank(piece[starts[i]:starts[i+2]]) }
	for i := range parts - 1 {
		rank(i)
	}
	for parts > 1 {
		at, least := 0, uint32(none)
		for i, r := range ranks[:parts-1] {
			if r < least {
				at, least = i, r
			}
		}
		if least == none {
			break
		}
		copy(starts[at+1:], starts[at+2:parts+1])
		copy(ranks[at:], ranks[at+1:parts-1])
		parts--
		if at < parts-1 {
			rank(at)
		}
		if at > 0 {
			rank(at - 1)
		}
	}
	return parts
}

// merge is scan for long pieces, in n log n.
func (m *merger) merge(piece []byte) int {
	n := len(piece)
	m.before, m.after, m.ranks, m.heap = grown(m.before, n+1), grown(m.after, n+1), grown(m.ranks, n), m.heap[:0]
	for i := range n + 1 {
		m.before[i], m.after[i] = int32(i-1), int32(i+1)
	}
	rank := func(start int32) {
		m.ranks[start] = none
		if next := m.after[start]; int(next) < n {
			if r := m.v.rank(piece[start:m.after[next]]); r != none {
				m.ranks[start] = r
				m.push(uint64(r)<<32 | uint64(start))
			}
		}
	}
	for i := range n {
		rank(int32(i))
	}
	parts := n
	for len(m.heap) > 0 {
		best := m.pop()
		start := int32(best & none)
		if m.ranks[start] != uint32(best>>32) {
			continue // one of its parts is another by now
		}
		gone := m.after[start]
		m.after[start] = m.after[gone]
		m.before[m.after[gone]] = start
		m.ranks[gone] = none
		parts--
		rank(start)
		if before := m.before[start]; before >= 0 {
			rank(before)
		}
	}
	return parts
}

func (m *merger) push(x uint64) {
	m.heap = append(m.heap, x)
	for i := len(m.heap) - 1; i > 0; {
		up := (i - 1) / 2
		if m.heap[up] <= m.heap[i] {
			break
		}
		m.heap[up], m.heap[i] = m.heap[i], m.heap[up]
		i = up
	}
}

func (m *merger) pop() uint64 {
	h := m.heap
	top, last := h[0], len(h)-1
	h[0] = h[last]
	h = h[:last]
	for i := 0; ; {
		down := 2*i + 1
		if down >= last {
			break
		}
		if down+1 < last && h[down+1] < h[down] {
			down++
		}
		if h[i] <= h[down] {
			break
		}
		h[i], h[down] = h[down], h[i]
		i = down
	}
	m.heap = h
	return top
}
