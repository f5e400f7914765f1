package resource_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"weir/internal/fault"
	"weir/internal/resource"
)

// shop is a gateway in memory: boxes, and what lies in them. A box cannot go while something lies in it, nor can anything lie in none.
type shop struct {
	items   map[string]map[string]resource.Item // by kind and id
	keys    map[string]string                   // of boxes
	version int64
	writes  int
	most    int // writes until everything is refused; 0: no end
}

var box, thing = resource.Kind{Name: "boxes", One: "box", Key: "key"}, resource.Kind{Name: "things", One: "thing", Plain: func(_ string, f resource.Fields) resource.Fields {
	out := resource.Fields{}
	for name, v := range f {
		out[name] = strings.TrimSpace(v)
	}
	return out
}}

func (s *shop) List(_ context.Context, k *resource.Kind) (l resource.Listing, _ error) {
	for _, x := range s.items[k.Name] {
		_, x.HasKey = s.keys[x.ID]
		l.Items = append(l.Items, x)
	}
	return l, nil
}

var errFull = errors.New("the shop is closed")

func (s *shop) write(k *resource.Kind, id string, only resource.Condition) error {
	x, there := s.items[k.Name][id]
	switch {
	case s.most > 0 && s.writes >= s.most:
		return errFull
	case only.New && there, only.Version != 0 && x.Version != only.Version:
		return fault.New(fault.Conflict, "test", "It was changed.")
	}
	return nil
}

func (s *shop) Put(_ context.Context, k *resource.Kind, id string, f resource.Fields, key *string, only resource.Condition) (resource.Outcome, error) {
	if err := s.write(k, id, only); err != nil {
		return "", err
	}
	has, there := s.items[k.Name][id]
	if there && reflect.DeepEqual(has.Fields, f) && (key == nil || s.keys[id] == *key) {
		return resource.Unchanged, nil
	}
	if in := f["in"]; in != "" {
		if _, ok := s.items["boxes"][in]; !ok {
			return "", fault.New(fault.Invalid, "test", "There is no such box.")
		}
	}
	if only.Dry {
		return resource.Changed, nil
	}
	s.version++
	s.writes++
	s.items[k.Name][id] = resource.Item{ID: id, Version: s.version, Fields: maps.Clone(f)}
	if key != nil && *key == "" {
		delete(s.keys, id)
	} else if key != nil {
		s.keys[id] = *key
	}
	return resource.Changed, nil
}

func (s *shop) Delete(_ context.Context, k *resource.Kind, id string, only resource.Condition) error {
	if err := s.write(k, id, only); err != nil {
		return err
	}
	for _, x := range s.items["things"] {
		if k.Name == "boxes" && x.Fields["in"] == id {
			return fault.New(fault.Conflict, "test", "It is not empty.")
		}
	}
	s.writes++
	delete(s.items[k.Name], id)
	if k.Name == "boxes" {
		delete(s.keys, id)
	}
	return nil
}

func newShop() *shop {
	return &shop{items: map[string]map[string]resource.Item{"boxes": {}, "things": {}}, keys: map[string]string{}}
}

func quiet(*resource.Step, resource.Outcome) {}

func (s *shop) plan(t interface{ Fatal(...any) }, sets []resource.Set) *resource.Plan {
	p, err := resource.Make(context.Background(), s, sets)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// drawn is some state as files could have it.
func drawn(t *rapid.T) []resource.Set {
	boxes, things := resource.Set{Kind: box}, resource.Set{Kind: thing}
	for i := range 4 {
		if !rapid.Bool().Draw(t, "box") {
			continue
		}
		w := resource.Wanted{ID: fmt.Sprint("b", i), At: "x:1", Fields: resource.Fields{"size": rapid.SampledFrom([]string{"s", "m", "l"}).Draw(t, "size")}}
		if v := rapid.SampledFrom([]string{"-", "", "one", "two"}).Draw(t, "key"); v != "-" {
			w.Secret = &resource.Secret{From: "VARIABLE", Value: v}
		}
		boxes.Items = append(boxes.Items, w)
		for j := range rapid.IntRange(0, 2).Draw(t, "things") {
			things.Items = append(things.Items, resource.Wanted{ID: fmt.Sprint("t", i, j), At: "y:1", Fields: resource.Fields{"in": w.ID, "note": rapid.SampledFrom([]string{"a", "b", " a"}).Draw(t, "note")}})
		}
	}
	return []resource.Set{boxes, things}
}

// From any state to any other: after a plan with its deletions was applied there is nothing left to do, also when it was refused in the middle
// and made again, and a plan is as its gateway is: nothing is written that the plan did not show.
func TestApplyMakesItSo(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		s := newShop()
		if err := s.plan(t, drawn(t)).Apply(context.Background(), s, quiet); err != nil {
			t.Fatal(err)
		}
		wanted := drawn(t)
		first := s.plan(t, wanted)
		s.writes, s.most = 0, rapid.IntRange(0, 6).Draw(t, "most")
		seen := 0
		err := first.Apply(context.Background(), s, func(*resource.Step, resource.Outcome) { seen++ })
		if (err != nil) != (s.most > 0 && len(first.Steps) > s.most) || seen != s.writes {
			t.Fatalf("%d steps, of which %d may be made and %d were: %v", len(first.Steps), s.most, seen, err)
		}
		s.most = 0
		rest := s.plan(t, wanted)
		if len(rest.Steps) != len(first.Steps)-seen {
			t.Fatalf("%d steps are left after %d of %d", len(rest.Steps), seen, len(first.Steps))
		}
		if err := rest.Apply(context.Background(), s, quiet); err != nil {
			t.Fatal(err)
		}
		if p := s.plan(t, wanted); len(p.Steps) > 0 {
			t.Fatalf("left: %+v", p.Steps)
		}
	})
}

func one(s resource.Kind, id string, f resource.Fields) []resource.Set {
	return []resource.Set{{Kind: s, Items: []resource.Wanted{{ID: id, At: "boxes.yaml:2", Fields: f}}}}
}

// Files without a kind say nothing of it: a file that was lost deletes nothing. That there is to be none of a kind is said by an empty list.
func TestWhatFilesDoNotNameStays(t *testing.T) {
	t.Parallel()
	s := newShop()
	s.items["boxes"]["b1"] = resource.Item{ID: "b1", Version: 1, Fields: resource.Fields{"size": "s"}}
	s.items["things"]["t1"] = resource.Item{ID: "t1", Version: 2, Fields: resource.Fields{"in": "b1"}}
	if p := s.plan(t, one(box, "b1", resource.Fields{"size": "s"})); len(p.Steps) != 0 {
		t.Errorf("without the file of things: %+v", p.Steps)
	}
	if p := s.plan(t, nil); len(p.Steps) != 0 {
		t.Errorf("without files: %+v", p.Steps)
	}
	p := s.plan(t, []resource.Set{{Kind: box}, {Kind: thing}})
	if p.Deletes() != 2 || p.Steps[0].ID != "t1" || p.Steps[1].ID != "b1" || len(p.WithoutDeletes().Steps) != 0 {
		t.Errorf("with empty lists: %+v", p.Steps)
	}
	if err := p.Apply(t.Context(), s, quiet); err != nil {
		t.Error(err)
	}
}

// What was changed after the plan is not overwritten, and the plan has another digest.
func TestPlanIsOfOneState(t *testing.T) {
	t.Parallel()
	s := newShop()
	s.items["boxes"]["b1"] = resource.Item{ID: "b1", Version: 1, Fields: resource.Fields{"size": "s"}}
	wanted := one(box, "b1", resource.Fields{"size": "l"})
	p := s.plan(t, wanted)
	if again := s.plan(t, wanted); again.Digest != p.Digest || len(p.Digest) != 16 {
		t.Errorf("the digests are %s, %s", p.Digest, again.Digest)
	}
	s.items["boxes"]["b1"] = resource.Item{ID: "b1", Version: 2, Fields: resource.Fields{"size": "m"}}
	if again := s.plan(t, wanted); again.Digest == p.Digest {
		t.Error("another state has the same plan")
	}
	err := p.Apply(t.Context(), s, quiet)
	if f := fault.From(err); f == nil || f.Kind != fault.Conflict || !strings.HasPrefix(f.Public, `boxes.yaml:2: box "b1": `) || s.items["boxes"]["b1"].Fields["size"] != "m" {
		t.Errorf("%v, and the box is %v", err, s.items["boxes"]["b1"])
	}
}

func TestOwnedByConfiguration(t *testing.T) {
	t.Parallel()
	s := newShop()
	s.items["boxes"]["b1"] = resource.Item{ID: "b1", Where: "weir.yaml:7"}
	if p := s.plan(t, []resource.Set{{Kind: box}}); len(p.Steps) != 0 {
		t.Errorf("%+v", p.Steps)
	}
	_, err := resource.Make(t.Context(), s, one(box, "b1", resource.Fields{"size": "l"}))
	if !fault.Is(err, fault.Conflict) || !strings.Contains(err.Error(), "boxes.yaml:2") || !strings.Contains(err.Error(), "weir.yaml:7") {
		t.Error(err)
	}
}
