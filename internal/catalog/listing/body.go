package listing

import (
	"bytes"
	"compress/gzip"
	"hash/fnv"
	"math/bits"
	"slices"
	"strconv"
	"sync"
)

// Body is a rendered answer.
type Body struct {
	Bytes  []byte
	Tag    string        // identifies the content: of the same items in the same order it is the same on every node and after every start
	Total  int           // items before pages were cut
	Packed func() []byte // the bytes in gzip; nil for a body that is sent once
}

func newBody(b []byte, tag string, total int) *Body {
	return &Body{Bytes: b, Tag: tag, Total: total, Packed: sync.OnceValue(func() []byte {
		var packed bytes.Buffer
		z := gzip.NewWriter(&packed)
		_, _ = z.Write(b) // to memory: cannot fail
		_ = z.Close()
		return bytes.Clone(packed.Bytes())
	})}
}

// BodyOf is a body that is rendered once and sent many times.
func BodyOf(b []byte) *Body { return newBody(b, TagOf(b), 0) }

// render writes a list. The items' own JSON is part of the body: it costs no further memory.
func render(head string, items []item, write Append) *Body {
	b := append(make([]byte, 0, 64+1536*len(items)), head...)
	ends := make([]int, len(items))
	var entry []byte
	for i := range items {
		if i > 0 {
			b = append(b, ',')
		}
		entry = write(entry[:0], &items[i].Offer)
		b = append(b, entry...)
		ends[i] = len(b)
	}
	b = slices.Clip(append(b, tail...))
	from := len(head)
	tag := newTag()
	for i := range items {
		items[i].json = b[from:ends[i]]
		items[i].hash = hashOf(items[i].json)
		tag.add(items[i].hash)
		from = ends[i] + 1 // after the comma
	}
	return newBody(b, tag.text(len(items)), len(items))
}

// tag is a tag in the making.
type tag uint64

func newTag() tag { return 14695981039346656037 }

func (t *tag) add(hash uint64) { *t = tag((bits.RotateLeft64(uint64(*t), 5) ^ hash) * 1099511628211) }

func (t *tag) text(total int) string {
	t.add(uint64(total))
	return strconv.FormatUint(uint64(*t), 16)
}

// TagOf is the tag of any content.
func TagOf(b []byte) string { return strconv.FormatUint(hashOf(b), 16) }

func hashOf(b []byte) uint64 {
	h := fnv.New64a()
	_, _ = h.Write(b)
	return h.Sum64()
}

// answers keeps the bodies of queries that are asked more than once. It is bounded, and starts again when it is full.
type answers struct {
	mu    sync.Mutex
	known map[Query]*Body // nil: asked for once
	bytes int
}

const (
	maxAnswers     = 256
	maxAnswerBytes = 8 << 20
)

// find returns the answer to q, or whether the next one should be kept.
func (a *answers) find(q Query) (b *Body, keep bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	b, keep = a.known[q]
	if b == nil && !keep {
		a.put(q, nil)
	}
	return b, keep
}

func (a *answers) keep(q Query, b *Body) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.known[q] == nil && len(b.Bytes) <= maxAnswerBytes {
		a.put(q, b)
		a.bytes += len(b.Bytes)
	}
}

func (a *answers) put(q Query, b *Body) {
	size := 0
	if b != nil {
		size = len(b.Bytes)
	}
	if a.known == nil || len(a.known) >= maxAnswers || a.bytes+size > maxAnswerBytes {
		a.known, a.bytes = map[Query]*Body{}, 0
	}
	a.known[q] = b
}

func (a *answers) forget() {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.known, a.bytes = nil, 0
}
