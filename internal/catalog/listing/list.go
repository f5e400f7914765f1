package listing

import (
	"bytes"
	"slices"
	"sync"
)

// Query selects and orders the entries of a list. Equal questions have equal queries; the zero Query is the whole list.
type Query struct {
	Search        string // folded by Fold, its words parted by one blank
	Type          string // of models; "" all
	By            SortKey
	Descending    bool
	Page, PerPage int // from 1; 0: everything
}

// List answers queries for one list. It is safe for concurrent use.
type List struct {
	head   string // of its bodies
	items  []item // in the order of the zero Query
	ranked bool   // some item has a rank
	whole  *Body
	orders [sortKeys][2]arranged // ascending, descending; each is made when it is first asked for
	kept   answers
}

type arranged struct {
	once sync.Once
	at   []int32 // indexes into items
}

func newList(head string, items []item, write Append) *List {
	l := &List{head: head, items: items, ranked: slices.ContainsFunc(items, func(it item) bool { return it.rank > 0 })}
	order(items, l.ranked)
	l.whole = render(head, items, write)
	return l
}

// Whole is the answer to the zero Query.
func (l *List) Whole() *Body { return l.whole }

// sorted lists the indexes of all items in an order, nil for the order in which they are kept.
func (l *List) sorted(by SortKey, descending bool) []int32 {
	if by == ByDefault || by == ByRank && (!l.ranked || !descending) {
		return nil // where nothing was counted, by rank means the newest first
	}
	direction := 0
	if descending {
		direction = 1
	}
	o := &l.orders[by][direction]
	o.once.Do(func() {
		o.at = make([]int32, len(l.items))
		for i := range o.at {
			o.at[i] = int32(i)
		}
		slices.SortFunc(o.at, func(a, b int32) int { return l.items[a].compare(&l.items[b], by, descending) })
	})
	return o.at
}

// choose adds the items of a query to dst, in its order, pages aside. Where nothing has its words, they may have been typed with the other layout
// of a keyboard, or with a slip.
func (l *List) choose(dst []*item, q *Query) []*item {
	var room [16]word
	words := wordsOf(room[:0], q.Search)
	if dst = l.having(dst, q, words, (*item).has); len(dst) > 0 || len(words) == 0 {
		return dst
	}
	if dst = l.having(dst, q, wordsOf(nil, swapped(q.Search)), (*item).has); len(dst) > 0 {
		return dst
	}
	for i := range words {
		words[i].certain = false
	}
	return l.having(dst, q, words, (*item).nearly)
}

// having adds the items of a query whose words fit to dst.
func (l *List) having(dst []*item, q *Query, words []word, fits func(*item, []word) bool) []*item {
	var wanted pairs
	for _, w := range words {
		if w.certain {
			wanted.add(w.text)
		}
	}
	at := l.sorted(q.By, q.Descending)
	for i := range l.items {
		it := &l.items[i]
		if at != nil {
			it = &l.items[at[i]]
		}
		if (q.Type == "" || q.Type == it.Model.Type) && it.pairs.holds(&wanted) && fits(it, words) {
			dst = append(dst, it)
		}
	}
	return dst
}

var chosenItems = sync.Pool{New: func() any { return new([]*item) }}

// Answer is the body for a query, without the entries whose ids are hidden. A body without any hidden that is asked for again is kept; release
// gives back the memory of one that is not.
func (l *List) Answer(q *Query, hidden map[string]bool) (b *Body, release func()) {
	if *q == (Query{}) && hidden == nil {
		return l.whole, func() {}
	}
	keep := false
	if hidden == nil {
		if b, keep = l.kept.find(*q); b != nil {
			return b, func() {}
		}
	}
	pooled := chosenItems.Get().(*[]*item)
	chosen := slices.DeleteFunc(l.choose((*pooled)[:0], q), func(it *item) bool { return hidden[it.ID] })
	defer func() {
		clear(chosen) // the pool must not keep an old snapshot alive
		*pooled = chosen[:0]
		chosenItems.Put(pooled)
	}()
	total, page := len(chosen), chosen
	if q.Page > 0 {
		from := min((q.Page-1)*q.PerPage, total)
		page = chosen[from:min(from+q.PerPage, total)]
	}
	size := len(l.head) + len(tail)
	tag := newTag()
	for _, it := range page {
		size += len(it.json) + 1
		tag.add(it.hash)
	}
	if keep {
		b = newBody(l.appendItems(make([]byte, 0, size), page), tag.text(total), total)
		l.kept.keep(*q, b)
		return b, func() {}
	}
	memory := bodies.Get().(*bytes.Buffer)
	memory.Reset()
	memory.Grow(size)
	return &Body{Bytes: l.appendItems(memory.AvailableBuffer(), page), Tag: tag.text(total), Total: total}, func() { bodies.Put(memory) }
}

var bodies = sync.Pool{New: func() any { return new(bytes.Buffer) }}

const (
	head      = `{"object":"list","data":[`
	videoHead = `{"data":[`
	tail      = `]}`
)

func (l *List) appendItems(b []byte, items []*item) []byte {
	b = append(b, l.head...)
	for i, it := range items {
		if i > 0 {
			b = append(b, ',')
		}
		b = append(b, it.json...)
	}
	return append(b, tail...)
}

// Forget drops the answers that are kept.
func (l *List) Forget() { l.kept.forget() }
