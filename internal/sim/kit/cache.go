package kit

import "sync"

// As OpenAI does it: prompts of 1024 tokens and more are cached in steps of 128.
const (
	cacheFrom  = 1024
	cacheStep  = 128
	cacheLimit = 1 << 16 // prefixes remembered
)

// prefixCache remembers the prompt prefixes that were seen, the newest cacheLimit of them.
type prefixCache struct {
	mu    sync.Mutex
	known map[Digest]bool
	ring  []Digest
	at    int
}

// seen returns how many tokens at the prompt's beginning are cached, and caches all of the prompt.
func (c *prefixCache) seen(a *Request) int {
	steps := prefixes(a)
	if len(steps) == 0 {
		return 0
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	hit := 0
	for i, d := range steps {
		if c.known[d] {
			hit = cacheFrom + i*cacheStep
			continue
		}
		c.remember(d)
	}
	return hit
}

func (c *prefixCache) remember(d Digest) {
	if c.known == nil {
		c.known = make(map[Digest]bool)
	}
	if len(c.ring) < cacheLimit {
		c.ring = append(c.ring, d)
	} else {
		delete(c.known, c.ring[c.at])
		c.ring[c.at] = d
		c.at = (c.at + 1) % cacheLimit
	}
	c.known[d] = true
}

func (c *prefixCache) reset() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.known, c.ring, c.at = nil, nil, 0
}

// prefixes returns the digests of the prompt's first 1024, 1152, 1280, ... tokens. Tools come first, as in a real prompt.
func prefixes(a *Request) []Digest {
	d, n := NewDigest, a.Overhead
	d.Add(a.Model.Name)
	for i := range a.Tools {
		d.Add(a.Tools[i].Name)
		if a.Tools[i].Schema != nil {
			d.Add(string(a.Tools[i].Schema.Raw))
		}
	}
	var out []Digest
	reach := func(add int) {
		for n += add; n >= cacheFrom+len(out)*cacheStep; {
			// one long part can pass several steps: each gets its own digest
			out = append(out, d+Digest(len(out)))
		}
	}
	for i := range a.Turns {
		t := &a.Turns[i]
		d.Add(t.Role)
		reach(TokensPerTurn)
		for s := t.Text; s != ""; {
			end := TokenEnd(s)
			d.Add(s[:end])
			s = s[end:]
			reach(1)
		}
		for j := range t.Media {
			d.Add(t.Media[j].String())
			reach(t.Media[j].Tokens())
		}
		for _, c := range t.Calls {
			d.Add(c)
			reach(CountTokens(c))
		}
	}
	return out
}

// Marks holds the places up to which a caller wants its prompt cached, as digests of all blocks before them.
type Marks struct {
	Digest Digest
	tokens int
	blocks []prefix
	at     []mark
}

// prefix is the prompt up to the end of one block.
type prefix struct {
	digest Digest
	tokens int
}

type mark struct {
	block int // index into blocks
	hour  bool
}

// Providers with marks search this many blocks before a mark for a cached prefix, and allow this many marks.
const (
	lookBack = 20
	MaxMarks = 4
)

// Block adds a block of the prompt. form is any text that differs for different blocks.
func (m *Marks) Block(form string, tokens int) {
	m.Digest.Add(form)
	m.tokens += tokens
	m.blocks = append(m.blocks, prefix{m.Digest, m.tokens})
}

// Mark marks the end of the last block, for an hour or for minutes.
func (m *Marks) Mark(hour bool) {
	if n := len(m.blocks); n > 0 {
		m.at = append(m.at, mark{n - 1, hour})
	}
}

// settle finds the longest cached prefix, and caches the marked prefixes that are long enough.
func (m *Marks) settle(c *prefixCache, t *Tally) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, k := range m.at {
		for i := k.block; i >= 0 && i > k.block-lookBack; i-- {
			if c.known[m.blocks[i].digest] {
				t.Cached = max(t.Cached, m.blocks[i].tokens)
				break
			}
		}
	}
	reached := t.Cached
	for _, k := range m.at {
		p := m.blocks[k.block]
		if p.tokens < cacheFrom || p.tokens <= reached {
			continue
		}
		if k.hour {
			t.WrittenHour += p.tokens - reached
		} else {
			t.Written += p.tokens - reached
		}
		reached = p.tokens
		c.remember(p.digest)
	}
}
