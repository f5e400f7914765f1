package limit

import (
	"math"
	"sync/atomic"
)

// Budget is an amount, of bytes for instance, that names share: each may take a part of it and all of them together no more than there is.
// It is safe for concurrent use; names in different shards do not meet.
type Budget struct {
	all, each int64
	used      atomic.Int64
	byName    *Count
}

// NewBudget shares all; one name may have each of it, and all of it where each is 0 or larger.
func NewBudget(all, each int64) *Budget {
	if each <= 0 || each >= all {
		each = math.MaxInt64 // then the limit of all names is lower than that of one
	}
	return &Budget{all: all, each: each, byName: NewCount()}
}

// Shortage says whose limit a Take has met.
type Shortage uint8

// None is the answer of a Take that took.
const (
	None   Shortage = iota
	OfName          // the name has its part
	OfAll           // nothing is left for anybody
)

// Take takes n for a name, or nothing. Each successful Take needs a Give.
func (b *Budget) Take(name string, n int64) Shortage { return b.take(name, n, b.each) }

func (b *Budget) take(name string, n, each int64) Shortage {
	// The name first: a refused request must not take room from others, even for a moment.
	if !b.byName.Add(name, n, each) {
		return OfName
	}
	for {
		used := b.used.Load()
		if used+n > b.all {
			b.byName.Sub(name, n)
			return OfAll
		}
		if b.used.CompareAndSwap(used, used+n) {
			return None
		}
	}
}

// Give returns n that a name has taken.
func (b *Budget) Give(name string, n int64) {
	b.used.Add(-n)
	b.byName.Sub(name, n)
}

// Used is how much is taken.
func (b *Budget) Used() int64 { return b.used.Load() }

// Of is how much a name has taken.
func (b *Budget) Of(name string) int64 { return b.byName.Of(name) }

// Each is the part of one name.
func (b *Budget) Each() int64 { return b.each }

// Force takes n for a name even beyond the budget: for data that has been paid for, and must not be thrown away. Until it is returned,
// Take grants less.
func (b *Budget) Force(name string, n int64) {
	b.byName.Add(name, n, math.MaxInt64)
	b.used.Add(n)
}

// Tab records what one request has taken of a budget. It is safe for concurrent use; the zero Tab has no budget and takes nothing.
type Tab struct {
	budget *Budget
	name   string
	n      atomic.Int64
	closed atomic.Bool
}

// Open begins a tab of a name. It must not be in use.
func (t *Tab) Open(b *Budget, name string) {
	t.budget, t.name = b, name
	t.closed.Store(false)
}

// Take takes n more.
func (t *Tab) Take(n int64) Shortage {
	if t.budget == nil || n <= 0 {
		return None
	}
	s := t.budget.Take(t.name, n)
	if s == None {
		t.add(n)
	}
	return s
}

// TakeAlone is Take, but the name's share is no limit when the name has taken nothing else: a single legal request is never refused
// because shares are small.
func (t *Tab) TakeAlone(n int64) Shortage {
	if t.budget == nil || n <= 0 {
		return None
	}
	s := t.budget.take(t.name, n, max(t.budget.each, t.n.Load()+n))
	if s == None {
		t.add(n)
	}
	return s
}

// Force takes n more even beyond the budget; see Budget.Force.
func (t *Tab) Force(n int64) {
	if t.budget != nil && n > 0 {
		t.budget.Force(t.name, n)
		t.add(n)
	}
}

// add records what was taken. A closed tab returns it at once.
func (t *Tab) add(n int64) {
	t.n.Add(n)
	if t.closed.Load() {
		t.settle()
	}
}

// Give gives n back.
func (t *Tab) Give(n int64) {
	if t.budget != nil && n > 0 {
		t.n.Add(-n)
		t.budget.Give(t.name, n)
	}
}

// Taken is how much is on the tab.
func (t *Tab) Taken() int64 { return t.n.Load() }

// Close returns everything on the tab, and at once anything that is added later.
func (t *Tab) Close() {
	t.closed.Store(true)
	t.settle()
}

func (t *Tab) settle() {
	if n := t.n.Swap(0); n > 0 {
		t.budget.Give(t.name, n)
	}
}
