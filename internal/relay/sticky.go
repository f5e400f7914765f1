package relay

import (
	"hash/maphash"
	"sync"
	"sync/atomic"
	"time"

	"weir/internal/completion"
	"weir/internal/routing"
)

// sticky stores which endpoint has the beginning of a conversation in its cache, so that the next call of it goes there: reading from a
// cache costs a fraction of the prompt's price elsewhere. It also stores who signed reasoning, because only the issuer is sure to accept
// it again. Entries that were not used for a while expire, and their number is bounded.
type sticky struct {
	idle   time.Duration
	seed   maphash.Seed
	held   atomic.Bool // something was ever kept
	shards [16]struct {
		mu     sync.Mutex
		places map[uint64]lastServed
	}
}

// lastServed is where a conversation was last served.
type lastServed struct {
	endpoint string
	used     int64 // Unix nanoseconds
}

const (
	perShard   = 4096
	maxOpening = 64 << 10 // bytes of each opening message that distinguish conversations
)

func newSticky(idle time.Duration) *sticky {
	s := &sticky{idle: idle, seed: maphash.MakeSeed()}
	for i := range s.shards {
		s.shards[i].places = map[uint64]lastServed{}
	}
	return s
}

// preferred is the endpoint to which a call should return, or "". issuer reports that it has signed the conversation's reasoning.
func (s *sticky) preferred(c *Call) (endpoint string, issuer bool) {
	if !s.held.Load() || len(c.Request.Preferences.Order) > 0 {
		return "", false
	}
	slug := c.Request.Models[0]
	m, _, known := c.Catalog.Resolve(slug)
	if !known || len(m.Endpoints) < 2 {
		return "", false
	}
	if signature := c.Request.Signature; signature != "" {
		if id := s.at(c, s.signatureKey(c, signature)); id != "" {
			return id, true
		}
	}
	key, ok := s.key(c, slug, true)
	if !ok {
		return "", false
	}
	return s.at(c, key), false
}

// at is the endpoint stored under a key, or "" where that is missing or was not used for too long.
func (s *sticky) at(c *Call, key uint64) string {
	shard := &s.shards[key%uint64(len(s.shards))]
	shard.mu.Lock()
	defer shard.mu.Unlock()
	p := shard.places[key]
	if c.At.UnixNano()-p.used > int64(s.idle) {
		return ""
	}
	return p.endpoint
}

// issued stores who signed reasoning that the client may send back.
func (s *sticky) issued(c *Call, at *routing.Attempt, signature string) {
	if s.idle <= 0 || signature == "" || len(at.Endpoint.Model.Endpoints) < 2 {
		return
	}
	s.put(c, s.signatureKey(c, signature), at)
}

func (s *sticky) signatureKey(c *Call, signature string) uint64 {
	var h maphash.Hash
	h.SetSeed(s.seed)
	_, _ = h.WriteString(c.Caller.Wallet)
	_, _ = h.WriteString("\x00signature\x00")
	_, _ = h.WriteString(signature)
	return h.Sum64()
}

// keep stores who served a call, where returning there would save something.
func (s *sticky) keep(c *Call, at *routing.Attempt) {
	prices := &at.Endpoint.Pricing.Base
	if s.idle <= 0 || len(at.Endpoint.Model.Endpoints) < 2 || !prices.CacheRead.Set || prices.CacheRead.Nano >= prices.Prompt.Nano {
		return
	}
	if key, ok := s.key(c, at.Slug, true); ok {
		s.put(c, key, at)
	}
}

func (s *sticky) put(c *Call, key uint64, at *routing.Attempt) {
	s.held.Store(true)
	shard := &s.shards[key%uint64(len(s.shards))]
	shard.mu.Lock()
	defer shard.mu.Unlock()
	if _, known := shard.places[key]; !known && len(shard.places) >= perShard {
		makeRoom(shard.places)
	}
	shard.places[key] = lastServed{at.Endpoint.ID, c.At.UnixNano()}
}

// makeRoom drops the least recently used of a few, whichever the map gives: as good as the least of all, at no cost of order.
func makeRoom(places map[uint64]lastServed) {
	var oldest uint64
	var used int64
	n := 0
	for key, p := range places {
		if n == 0 || p.used < used {
			oldest, used = key, p.used
		}
		if n++; n == 8 {
			break
		}
	}
	delete(places, oldest)
}

// key identifies a conversation of a wallet with a model: by the session that the client names, else by its name for the shared cache,
// else by how the conversation opens: with its instruction if that is to be the same, too. Without any of these it has none.
func (s *sticky) key(c *Call, slug string, instruction bool) (key uint64, ok bool) {
	var h maphash.Hash
	h.SetSeed(s.seed)
	part := func(text string) {
		_, _ = h.WriteString(text)
		_ = h.WriteByte(0)
	}
	part(c.Caller.Wallet)
	part(slug)
	req := c.Request
	switch {
	case req.SessionID != "":
		part("session")
		part(req.SessionID)
	case req.CacheKey.End > 0:
		part("cache")
		_, _ = h.Write(inside(req.Body, req.CacheKey))
	case req.Opening[1].End > 0:
		part("opening")
		for i, span := range req.Opening {
			if i == 0 && !instruction {
				continue
			}
			text := inside(req.Body, span)
			_, _ = h.Write(text[:min(len(text), maxOpening)])
			_ = h.WriteByte(0)
		}
	default:
		return 0, false
	}
	return h.Sum64(), true
}

func inside(body []byte, at completion.Span) []byte { return body[at.Start:at.End] }
