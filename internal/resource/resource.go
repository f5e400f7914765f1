// Package resource describes what an operator sets on a gateway, so that it can be kept as files: what kinds there are, how a gateway differs
// from what files say, and how it is made so. It knows neither files nor HTTP, and no kind by its name: each is registered with the functions
// that its operations use.
package resource

import (
	"context"
	"fmt"
	"maps"
	"slices"

	"weir/internal/audit"
	"weir/internal/fault"
)

// Fields are what a resource says: the names of its fields, with points where they are nested, and their values as text. They never contain a
// secret.
type Fields = map[string]string

// Kind is a kind of resources.
type Kind struct {
	Name  string                                 // of its file, and of its part in a file: "providers"
	One   string                                 // for sentences: "provider"
	Path  string                                 // of the operations that put and delete one, with {id}; "" for the last where it cannot be deleted
	Lone  string                                 // id of the only one there is; "" where there may be many. Fields that files leave out stay as they are
	Names []string                               // fields that are part of the id: where there is such a resource they are not compared
	Key   string                                 // field that is a secret, "" without one
	Lists string                                 // path of the operation that lists them; "": that of what operators set
	JSON  func(name string) bool                 // reports which fields are JSON, as it is: what is nested in them is no field of its own; nil: none
	Check func(id string, f Fields) error        // refuses fields that there are not; nil: any
	Plain func(id string, f Fields) Fields       // writes what means the same in the same way; nil: texts are compared
	Tree  func(f Fields) (nested map[string]any) // the body of its operation
}

// Condition is what must hold of a resource when it is changed.
type Condition struct {
	New     bool  // there is none yet
	Version int64 // it has this version; 0: any
	Dry     bool  // nothing is changed
}

// Outcome is what was done.
type Outcome string

// The outcomes.
const (
	Created   Outcome = "created"
	Changed   Outcome = "changed"
	Unchanged Outcome = "unchanged"
	Deleted   Outcome = "deleted"
)

// Item is a resource of a gateway.
type Item struct {
	ID      string
	Version int64  // of its last change
	Fields  Fields // of the database; nil where the configuration owns it
	Where   string // the position in the configuration that owns it, "" otherwise
	HasKey  bool   // it has a secret
	Last4   string // the last characters of that, "" where they are not shown
	Builtin bool   // without these fields it is as the program has it
}

// Listing is all resources of a kind.
type Listing struct {
	Items []Item   // by id
	Notes []string // sentences about what is not among them
}

// Source is a kind with what its gateway does with it.
type Source struct {
	Kind
	List   func(ctx context.Context) (Listing, error)
	Put    func(ctx context.Context, id string, f Fields, key *string, only Condition, by audit.Actor) (Outcome, error)
	Delete func(ctx context.Context, id string, only Condition, by audit.Actor) error
}

// Gateway is where resources are.
type Gateway interface {
	// List lists the resources of a kind.
	List(ctx context.Context, k *Kind) (Listing, error)
	// Put makes one what the fields say, as a whole. A nil key leaves its secret as it is, and "" takes it away.
	Put(ctx context.Context, k *Kind, id string, f Fields, key *string, only Condition) (Outcome, error)
	// Delete removes one.
	Delete(ctx context.Context, k *Kind, id string, only Condition) error
}

// Local is a Gateway over sources, on behalf of an actor.
type Local struct {
	Sources []Source
	By      audit.Actor
}

func (l *Local) source(k *Kind) (*Source, error) {
	for i := range l.Sources {
		if l.Sources[i].Name == k.Name {
			return &l.Sources[i], nil
		}
	}
	return nil, fault.Newf(fault.NotFound, "resource.Local", "There is no kind of resources %q.", k.Name)
}

// List lists the resources of a kind.
func (l *Local) List(ctx context.Context, k *Kind) (Listing, error) {
	s, err := l.source(k)
	if err != nil {
		return Listing{}, err
	}
	return s.List(ctx)
}

// Put makes one what the fields say.
func (l *Local) Put(ctx context.Context, k *Kind, id string, f Fields, key *string, only Condition) (Outcome, error) {
	s, err := l.source(k)
	if err != nil {
		return "", err
	}
	return s.Put(ctx, id, f, key, only, l.By)
}

// Delete removes one.
func (l *Local) Delete(ctx context.Context, k *Kind, id string, only Condition) error {
	s, err := l.source(k)
	if err != nil {
		return err
	}
	return s.Delete(ctx, id, only, l.By)
}

// plain are fields as they are compared.
func (k *Kind) plain(id string, f Fields) Fields {
	if k.Plain == nil {
		return f
	}
	return k.Plain(id, f)
}

// Within is an error with the place that it is about before its sentence.
func Within(at string, err error) error {
	f := *fault.From(err)
	if f.Public == "" {
		return fmt.Errorf("%s: %w", at, err)
	}
	f.Public = at + ": " + f.Public
	return &f
}

// names are the names of both, in order.
func names(was, is Fields) []string {
	all := map[string]bool{}
	for name := range was {
		all[name] = true
	}
	for name := range is {
		all[name] = true
	}
	return slices.Sorted(maps.Keys(all))
}
