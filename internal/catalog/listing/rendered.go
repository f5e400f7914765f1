package listing

import (
	"maps"
	"sync"
	"sync/atomic"

	"weir/internal/catalog"
)

// Append appends an offer as an entry of a list, a JSON object, to b, which is empty.
type Append func(b []byte, o *Offer) []byte

// Encoders write the entries of the lists.
type Encoders struct{ Model, Embedding, Video Append }

// Cache holds the lists of one snapshot: a catalog is read much more often than it changes. It is safe for concurrent use.
type Cache struct {
	encoders Encoders
	current  atomic.Pointer[Rendered]
	mu       sync.Mutex // one builds, the others wait for the result
	ranks    Ranks
}

// NewCache makes an empty one.
func NewCache(e Encoders) *Cache { return &Cache{encoders: e} }

// Of gives the lists of a snapshot. The first caller builds them.
func (c *Cache) Of(s *catalog.Snapshot) *Rendered {
	if r := c.current.Load(); r != nil && r.snapshot == s {
		return r
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if r := c.current.Load(); r != nil && r.snapshot == s {
		return r
	}
	r := newRendered(s, c.ranks, &c.encoders)
	c.current.Store(r)
	return r
}

// Rank sets the popularity of models. It rebuilds the lists, so that no request has to.
func (c *Cache) Rank(r Ranks, s *catalog.Snapshot) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if maps.Equal(r, c.ranks) {
		return
	}
	c.ranks = r
	c.current.Store(newRendered(s, r, &c.encoders))
}

// Ranks is the popularity that was set last. Do not change it.
func (c *Cache) Ranks() Ranks {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.ranks
}

// Rendered is all lists of one snapshot.
type Rendered struct {
	snapshot                   *catalog.Snapshot
	Models, Embeddings, Images *List
	Videos                     *List // without ranks: the newest first
}

func newRendered(s *catalog.Snapshot, r Ranks, e *Encoders) *Rendered {
	var models, embeddings, images, videos []item
	for _, m := range s.Models() {
		for _, o := range Offers(m) {
			if len(o.Endpoints) == 0 {
				continue // no endpoint serves it: a price of it would be a guess
			}
			switch m.Type {
			case catalog.TypeChat, catalog.TypeTranscription:
				models = append(models, newItem(o, r))
			case catalog.TypeEmbedding:
				embeddings = append(embeddings, newItem(o, r))
			case catalog.TypeImage:
				images = append(images, newItem(o, r))
			case catalog.TypeVideo:
				videos = append(videos, newItem(o, nil))
			}
		}
	}
	return &Rendered{
		snapshot: s, Models: newList(head, models, e.Model), Embeddings: newList(head, embeddings, e.Embedding), Images: newList(head, images, e.Model),
		Videos: newList(videoHead, videos, e.Video),
	}
}
