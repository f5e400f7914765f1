package operation

import (
	"reflect"
	"sync"
	"time"

	"weir/internal/catalog"
	"weir/internal/catalog/listing"
)

// Cached is an answer that clients keep, described as a T: it has an ETag, and a request that names it in If-None-Match is answered with 304.
type Cached[T any] struct{ body *listing.Body }

// Once is a Cached that is made for one request.
func Once[T any](v T) (Cached[T], error) {
	b, err := JSON(v)
	return Cached[T]{&listing.Body{Bytes: b, Tag: listing.TagOf(b)}}, err
}

// Tag identifies the content.
func (c Cached[T]) Tag() string { return c.body.Tag }

func (c Cached[T]) kept() *listing.Body { return c.body }
func (Cached[T]) of() reflect.Type      { return reflect.TypeFor[T]() }

// cached is a Cached.
type cached interface {
	kept() *listing.Body
	of() reflect.Type
}

// CachedOf is the type T of a Cached[T], nil for other types.
func CachedOf(t reflect.Type) reflect.Type {
	if c, ok := reflect.Zero(t).Interface().(cached); ok {
		return c.of()
	}
	return nil
}

// Rendering is an answer that is the same for everybody: it is made again when it is old, or when the catalog has changed. It is sent in gzip to
// clients that take it. The zero value is ready, and safe for concurrent use.
type Rendering[T any] struct {
	mu       sync.Mutex
	snapshot *catalog.Snapshot
	until    time.Time
	body     *listing.Body
}

// renderedFor is how long an answer with figures of health is good.
const renderedFor = time.Minute

// Of returns the answer, which one caller makes and the others wait for.
func (r *Rendering[T]) Of(s *catalog.Snapshot, now time.Time, make func() T) (Cached[T], error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.body == nil || r.snapshot != s || !now.Before(r.until) {
		b, err := JSON(make())
		if err != nil {
			return Cached[T]{}, err
		}
		r.body, r.snapshot, r.until = listing.BodyOf(b), s, now.Add(renderedFor)
	}
	return Cached[T]{r.body}, nil
}
