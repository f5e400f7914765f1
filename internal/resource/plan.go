package resource

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"slices"
	"strings"

	"weir/internal/fault"
)

// Secret is what files say of a secret: where it is, and what it is there.
type Secret struct {
	From  string // "HUT_KEY", "file:hut.key", "none"
	Value string // "": there is to be none
}

// Wanted is a resource as files have it.
type Wanted struct {
	ID     string
	Fields Fields
	Secret *Secret // nil: it stays
	Kept   bool    // the files say that it stays, so that there was one
	At     string  // the place in the files, such as "providers.yaml:12"
}

// Set is all that files have of a kind.
type Set struct {
	Kind
	Items []Wanted
}

// Action is what a plan does with a resource.
type Action string

// The actions.
const (
	Create Action = "create"
	Change Action = "change"
	Delete Action = "delete"
)

// Field is a field that a step changes; nil where there is none.
type Field struct {
	Name          string
	Before, After *string
}

// Step is one change of a plan.
type Step struct {
	Action  Action
	Kind    *Kind
	ID      string
	At      string  // the place in the files, "" for what they do not have
	Fields  []Field // by name
	Builtin bool    // a deletion that leaves what the program has
	version int64
	wanted  *Wanted
}

// Plan is what is to be done for a gateway to be as files say: first what is created and changed, then what is deleted.
type Plan struct {
	Steps  []Step
	Digest string // of the steps, and of the versions that they start from
}

// Deletes is how many steps delete something.
func (p *Plan) Deletes() (n int) {
	for i := range p.Steps {
		if p.Steps[i].Action == Delete {
			n++
		}
	}
	return n
}

// WithoutDeletes is the plan without what it deletes.
func (p *Plan) WithoutDeletes() *Plan {
	return digested(slices.DeleteFunc(slices.Clone(p.Steps), func(s Step) bool { return s.Action == Delete }))
}

// Make compares a gateway with sets, in their order: that of a set's kind must be such that what it needs comes before. A kind without a set
// is left alone. It fails with fault.Conflict for what the gateway's configuration owns.
func Make(ctx context.Context, g Gateway, sets []Set) (*Plan, error) {
	var steps, deletes []Step
	for i := range sets {
		listing, err := g.List(ctx, &sets[i].Kind)
		if err != nil {
			return nil, err
		}
		put, gone, err := sets[i].compare(ctx, g, &listing)
		if err != nil {
			return nil, err
		}
		steps, deletes = append(steps, put...), append(gone, deletes...) // an endpoint goes before its provider
	}
	return digested(append(steps, deletes...)), nil
}

func (s *Set) compare(ctx context.Context, g Gateway, has *Listing) (put, gone []Step, err error) {
	seen := map[string]bool{}
	for i := range s.Items {
		w := &s.Items[i]
		seen[w.ID] = true
		at := slices.IndexFunc(has.Items, func(x Item) bool { return x.ID == w.ID })
		var item *Item
		if at >= 0 {
			item = &has.Items[at]
		}
		step, err := s.step(ctx, g, w, item)
		if err != nil {
			return nil, nil, err
		}
		if step != nil {
			put = append(put, *step)
		}
	}
	if s.Lone != "" {
		return put, nil, nil
	}
	for i := range has.Items {
		if x := &has.Items[i]; x.Where == "" && !seen[x.ID] {
			step := Step{Action: Delete, Kind: &s.Kind, ID: x.ID, version: x.Version, Builtin: x.Builtin}
			for _, name := range names(x.Fields, nil) {
				step.Fields = append(step.Fields, Field{Name: name, Before: text(x.Fields, name)})
			}
			gone = append(gone, step)
		}
	}
	return put, gone, nil
}

// step is what makes a resource as it is wanted; nil when it is so already.
func (s *Set) step(ctx context.Context, g Gateway, w *Wanted, item *Item) (*Step, error) {
	step := &Step{Action: Create, Kind: &s.Kind, ID: w.ID, At: w.At, wanted: w}
	was, is := Fields{}, s.plain(w.ID, w.Fields)
	if item != nil {
		if item.Where != "" {
			return nil, fault.Newf(fault.Conflict, "resource.Make", "%s: the %s %q is declared at %s of the gateway: change it there, or take it out of these files.", w.At, s.One, w.ID, item.Where)
		}
		step.Action, step.version, was = Change, item.Version, s.plain(w.ID, item.Fields)
	}
	for _, name := range names(was, is) {
		_, given := is[name]
		if item != nil && slices.Contains(s.Names, name) || s.Lone != "" && !given {
			continue
		}
		if before, after := text(was, name), text(is, name); before == nil || after == nil || *before != *after {
			step.Fields = append(step.Fields, Field{Name: name, Before: before, After: after})
		}
	}
	if w.Secret != nil {
		if err := s.secret(ctx, g, step, item); err != nil {
			return nil, err
		}
	}
	if len(step.Fields) == 0 {
		return nil, nil
	}
	if w.Kept && item == nil {
		step.Fields = append(step.Fields, Field{Name: s.Key, After: new("kept, and there is none here: give one")})
	}
	return step, nil
}

// secret adds that of a resource to its step, unless the gateway has it already: it alone can tell, and is asked to try.
func (s *Set) secret(ctx context.Context, g Gateway, step *Step, item *Item) error {
	secret := step.wanted.Secret
	field := Field{Name: s.Key}
	if item != nil && item.HasKey {
		field.Before = new("kept ..." + item.Last4)
	}
	if secret.Value != "" {
		field.After = new("from " + secret.From)
	}
	switch {
	case field.Before == nil && field.After == nil:
		return nil
	case field.Before != nil && field.After != nil && len(step.Fields) == 0:
		done, err := g.Put(ctx, &s.Kind, step.ID, step.wanted.Fields, &secret.Value, Condition{Version: step.version, Dry: true})
		if err != nil {
			return Within(step.At, err)
		}
		if done == Unchanged {
			return nil
		}
	}
	step.Fields = append(step.Fields, field)
	slices.SortStableFunc(step.Fields, func(x, y Field) int { return strings.Compare(x.Name, y.Name) })
	return nil
}

func text(f Fields, name string) *string {
	if v, ok := f[name]; ok {
		return &v
	}
	return nil
}

// digested is a plan of steps.
func digested(steps []Step) *Plan {
	h := sha256.New()
	for i := range steps {
		s := &steps[i]
		fmt.Fprintf(h, "%s %s %q %d\n", s.Action, s.Kind.Name, s.ID, s.version)
		for _, f := range s.Fields {
			fmt.Fprintf(h, " %q", f.Name)
			side(h, f.Before)
			side(h, f.After)
		}
	}
	return &Plan{Steps: steps, Digest: hex.EncodeToString(h.Sum(nil))[:16]}
}

func side(w io.Writer, v *string) {
	if v == nil {
		fmt.Fprint(w, " -")
	} else {
		fmt.Fprintf(w, " %q", *v)
	}
}

// Apply makes the changes of a plan one after another, and says each to done. It stops at the first that is refused: another plan then has
// what is left. What has another version than the plan started from is refused.
func (p *Plan) Apply(ctx context.Context, g Gateway, done func(*Step, Outcome)) error {
	for i := range p.Steps {
		s := &p.Steps[i]
		outcome, err := s.apply(ctx, g)
		if err != nil {
			at := s.At
			if at == "" {
				at = string(s.Action)
			}
			return Within(fmt.Sprintf("%s: %s %q", at, s.Kind.One, s.ID), err)
		}
		done(s, outcome)
	}
	return nil
}

func (s *Step) apply(ctx context.Context, g Gateway) (Outcome, error) {
	if s.Action == Delete {
		return Deleted, g.Delete(ctx, s.Kind, s.ID, Condition{Version: s.version})
	}
	var key *string
	if s.wanted.Secret != nil {
		key = &s.wanted.Secret.Value
	}
	return g.Put(ctx, s.Kind, s.ID, s.wanted.Fields, key, Condition{New: s.Action == Create, Version: s.version})
}
