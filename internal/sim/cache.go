package sim

import "sync"

// Like the best known provider: prompts from 1024 tokens on are remembered in steps of 128.
const (
	cacheFrom  = 1024
	cacheStep  = 128
	cacheLimit = 1 << 16 // prefixes remembered
)

// prefixCache remembers which prompt prefixes were seen, the newest cacheLimit of them.
type prefixCache struct {
	mu    sync.Mutex
	known map[digest]bool
	ring  []digest
	at    int
}

// seen is how many tokens of the prompt's beginning came before; from now on all of it did.
func (c *prefixCache) seen(a *ask) int {
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

func (c *prefixCache) remember(d digest) {
	if c.known == nil {
		c.known = make(map[digest]bool)
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

// prefixes are the digests of the prompt's first 1024, 1152, 1280, ... tokens. Tools come first, as in a real prompt.
func prefixes(a *ask) []digest {
	d, n := newDigest, a.overhead
	d.add(a.persona.Name)
	for i := range a.tools {
		d.add(a.tools[i].name)
		if a.tools[i].schema != nil {
			d.add(string(a.tools[i].schema.raw))
		}
	}
	var out []digest
	reach := func(add int) {
		for n += add; n >= cacheFrom+len(out)*cacheStep; {
			// one long part can pass several steps: each is a prefix of its own
			out = append(out, d+digest(len(out)))
		}
	}
	for i := range a.turns {
		t := &a.turns[i]
		d.add(t.role)
		reach(tokensPerTurn)
		for s := t.text; s != ""; {
			end := tokenEnd(s)
			d.add(s[:end])
			s = s[end:]
			reach(1)
		}
		for j := range t.media {
			d.add(t.media[j].String())
			reach(t.media[j].tokens())
		}
		for _, c := range t.calls {
			d.add(c)
			reach(countTokens(c))
		}
	}
	return out
}

// marks are the places up to which a caller wants its prompt remembered, as digests of all blocks before them.
type marks struct {
	digest digest
	tokens int
	blocks []prefix
	at     []mark
}

// prefix is the prompt up to the end of one block.
type prefix struct {
	digest digest
	tokens int
}

type mark struct {
	block int // index into blocks
	hour  bool
}

// Providers with marks look so many blocks before one for what they remember, and allow so many marks.
const (
	lookBack = 20
	maxMarks = 4
)

// block adds a block of the prompt, in any form that tells it from others.
func (m *marks) block(form string, tokens int) {
	m.digest.add(form)
	m.tokens += tokens
	m.blocks = append(m.blocks, prefix{m.digest, m.tokens})
}

func (m *marks) here(hour bool) {
	if n := len(m.blocks); n > 0 {
		m.at = append(m.at, mark{n - 1, hour})
	}
}

// settle finds the longest remembered beginning and remembers what was marked, if it is long enough.
func (m *marks) settle(c *prefixCache, t *tally) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, k := range m.at {
		for i := k.block; i >= 0 && i > k.block-lookBack; i-- {
			if c.known[m.blocks[i].digest] {
				t.cached = max(t.cached, m.blocks[i].tokens)
				break
			}
		}
	}
	reached := t.cached
	for _, k := range m.at {
		p := m.blocks[k.block]
		if p.tokens < cacheFrom || p.tokens <= reached {
			continue
		}
		if k.hour {
			t.writtenHour += p.tokens - reached
		} else {
			t.written += p.tokens - reached
		}
		reached = p.tokens
		c.remember(p.digest)
	}
}
