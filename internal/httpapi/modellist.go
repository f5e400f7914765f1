package httpapi

import (
	"bytes"
	"cmp"
	"compress/gzip"
	"hash/fnv"
	"math/bits"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"unicode"
	"unicode/utf8"

	"weir/internal/catalog"
)

// modelsCache holds the rendered lists of one snapshot: a catalog is read much more often than it changes.
type modelsCache struct {
	current atomic.Pointer[shelf]
	mu      sync.Mutex // one builds, the others wait for the result
	ranks   ranks
}

// of is the shelf of a snapshot. Who comes first builds it.
func (c *modelsCache) of(s *catalog.Snapshot) *shelf {
	if sh := c.current.Load(); sh != nil && sh.snapshot == s {
		return sh
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if sh := c.current.Load(); sh != nil && sh.snapshot == s {
		return sh
	}
	sh := newShelf(s, c.ranks)
	c.current.Store(sh)
	return sh
}

// rank takes over how popular models are. The lists are made anew here and not on the path of a request.
func (c *modelsCache) rank(r ranks, s *catalog.Snapshot) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if r.equal(c.ranks) {
		return
	}
	c.ranks = r
	c.current.Store(newShelf(s, r))
}

// shelf is all lists of one snapshot.
type shelf struct {
	snapshot                   *catalog.Snapshot
	models, embeddings, images *modelList
	videos                     *rendered
}

func newShelf(s *catalog.Snapshot, r ranks) *shelf {
	var models, embeddings, images, videos []modelItem
	for _, m := range s.Models() {
		for _, o := range offersOf(m) {
			if len(o.endpoints) == 0 {
				continue // nobody serves it: a price of it would be a guess
			}
			switch m.Type {
			case catalog.TypeChat, catalog.TypeTranscription:
				models = append(models, newModelItem(o, r))
			case catalog.TypeEmbedding:
				embeddings = append(embeddings, newModelItem(o, r))
			case catalog.TypeImage:
				images = append(images, newModelItem(o, r))
			case catalog.TypeVideo:
				videos = append(videos, newModelItem(o, nil))
			}
		}
	}
	return &shelf{
		snapshot: s, models: newModelList(models, appendModel), embeddings: newModelList(embeddings, appendEmbeddingModel),
		images: newModelList(images, appendModel), videos: renderVideos(videos),
	}
}

// offered is a model under one of its ids, with the endpoints that serve it there.
type offered struct {
	model     *catalog.Model
	id        string
	endpoints []*catalog.Endpoint
}

// offersOf lists a model's ids: its slug, and the slug with ":free" when some endpoints are free. A model that has none but those
// stands under the second one alone.
func offersOf(m *catalog.Model) []offered {
	var plain, free []*catalog.Endpoint
	for _, e := range m.Endpoints {
		if e.Variant == string(catalog.Free) {
			free = append(free, e)
		} else {
			plain = append(plain, e)
		}
	}
	var all []offered
	if len(plain) > 0 || len(free) == 0 {
		all = append(all, offered{m, m.Slug, plain})
	}
	if len(free) > 0 {
		all = append(all, offered{m, m.Slug + ":" + string(catalog.Free), free})
	}
	return all
}

// modelItem is one entry of a list, with what it is sorted and found by.
type modelItem struct {
	offered
	name, vendor string // case folded
	words        string // case folded: what search looks through
	pairs        pairs  // of words
	created      int64  // Unix seconds; 0 unknown
	in, out      int64  // rubles x 10^9 per 1000 tokens
	rank         int    // 1: the most used; 0: not used
	json         []byte // part of the whole list's body
	hash         uint64 // of json
}

func newModelItem(o offered, r ranks) modelItem {
	m := o.model
	it := modelItem{offered: o, name: fold(m.Name), vendor: fold(m.Vendor), rank: r[o.id]}
	if !m.Created.IsZero() {
		it.created = m.Created.Unix()
	}
	if e := cheapest(o.endpoints); e != nil {
		it.in, it.out = e.Pricing.Base.Prompt.Nano, e.Pricing.Base.Completion.Nano
	}
	it.words = fold(o.id + "\n" + m.Name + "\n" + m.Vendor + "\n" + m.Description)
	it.pairs.add(it.words)
	return it
}

// pairs is the set of pairs of bytes that follow each other in a text, several of which share a bit. What lacks a pair of a word lacks
// the word: most texts need not be looked through.
type pairs [16]uint64

func (p *pairs) add(text string) {
	for i := 1; i < len(text); i++ {
		h := (uint32(text[i-1])<<8 | uint32(text[i])) * 2654435761 >> 22
		p[h/64] |= 1 << (h % 64)
	}
}

func (p *pairs) holds(wanted *pairs) bool {
	for i, bits := range wanted {
		if p[i]&bits != bits {
			return false
		}
	}
	return true
}

// fold makes texts equal that differ in case only.
func fold(s string) string {
	ascii := true
	for i := range len(s) {
		if s[i] >= utf8.RuneSelf {
			ascii = false
			break
		}
	}
	if ascii {
		return strings.ToLower(s)
	}
	return strings.Map(func(r rune) rune {
		least := r // of the letters that differ in case only; some have more than two
		for next := unicode.SimpleFold(r); next != r; next = unicode.SimpleFold(next) {
			least = min(least, next)
		}
		return unicode.ToLower(least)
	}, s)
}

// modelList answers queries for one list. It is safe for concurrent use.
type modelList struct {
	items  []modelItem // in the order of a query without wishes
	ranked bool        // some item has a rank
	whole  *rendered
	orders [sortKeys][2]order // ascending, descending; each is made when it is first asked for
	kept   answers
}

type order struct {
	once sync.Once
	at   []int32 // indexes into items
}

func newModelList(items []modelItem, appendItem func(*object, *offered)) *modelList {
	l := &modelList{items: items, ranked: slices.ContainsFunc(items, func(it modelItem) bool { return it.rank > 0 })}
	slices.SortFunc(items, func(a, b modelItem) int {
		if l.ranked {
			return a.compare(&b, byRank, false)
		}
		return a.compare(&b, byCreated, true)
	})
	o := newObject(64 + 1536*len(items))
	o.Object()
	o.text("object", "list")
	l.whole = renderItems(&o, items, appendItem)
	return l
}

// renderItems writes the member data and the end of a list. The items' own JSON is part of the body: it costs no memory of its own.
func renderItems(o *object, items []modelItem, appendItem func(*object, *offered)) *rendered {
	o.Name("data").Array()
	ends := make([]int, len(items))
	for i := range items {
		appendItem(o, &items[i].offered)
		ends[i] = len(o.B)
	}
	o.EndArray()
	o.EndObject()
	body := slices.Clip(o.B)
	from := bytes.IndexByte(body, '[') + 1
	tag := newTag()
	for i := range items {
		items[i].json = body[from:ends[i]]
		items[i].hash = hashOf(items[i].json)
		tag.add(items[i].hash)
		from = ends[i] + 1 // behind the comma
	}
	return newRendered(body, tag.text(len(items)), len(items))
}

// sortKey is what a list is sorted by.
type sortKey uint8

const (
	byDefault sortKey = iota
	byName
	byVendor
	byContext
	byPrice
	byCreated
	byInput
	byOutput
	byRank
	sortKeys
)

// compare orders by a key, what lacks it last in both directions, and equals by id.
func (it *modelItem) compare(other *modelItem, by sortKey, descending bool) int {
	x, y := it.figure(by), other.figure(by)
	n := 0
	switch {
	case by == byName:
		n = strings.Compare(it.name, other.name)
	case by == byVendor:
		n = strings.Compare(it.vendor, other.vendor)
	case x != missing && y != missing:
		n = cmp.Compare(x, y)
	}
	if descending {
		n = -n
	}
	return cmp.Or(falseFirst(x == missing, y == missing), n, strings.Compare(it.id, other.id))
}

const missing = -1

// figure is what numbers are compared by; texts are never missing.
func (it *modelItem) figure(by sortKey) int64 {
	switch by {
	case byContext:
		return orMissing(it.model.ContextLength)
	case byCreated:
		return orMissing(it.created)
	case byRank:
		return orMissing(int64(it.rank))
	case byInput:
		return it.in
	case byOutput:
		return it.out
	case byPrice:
		return it.in + it.out
	}
	return 0
}

func orMissing(n int64) int64 {
	if n == 0 {
		return missing
	}
	return n
}

func falseFirst(a, b bool) int {
	switch {
	case a == b:
		return 0
	case b:
		return -1
	}
	return 1
}

// sorted lists the indexes of all items in an order, nil for the order in which they stand.
func (l *modelList) sorted(by sortKey, descending bool) []int32 {
	if by == byDefault || by == byRank && (!l.ranked || !descending) {
		return nil // nobody has counted: by rank means the newest first
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

// choose adds the items that a query wants to dst, in its order, pages aside.
func (l *modelList) choose(dst []*modelItem, q *listQuery) []*modelItem {
	var room [16]string
	words := wordsOf(room[:0], q.search)
	var wanted pairs
	for _, w := range words {
		wanted.add(w)
	}
	at := l.sorted(q.by, q.descending)
	for i := range l.items {
		it := &l.items[i]
		if at != nil {
			it = &l.items[at[i]]
		}
		if (q.modelType == "" || q.modelType == it.model.Type) && it.pairs.holds(&wanted) && it.has(words) {
			dst = append(dst, it)
		}
	}
	return dst
}

func (it *modelItem) has(words []string) bool {
	for _, w := range words {
		if !strings.Contains(it.words, w) {
			return false
		}
	}
	return true
}

// wordsOf adds the words of a folded search to dst: the longest first, as they are the rarest, and none that another one holds.
func wordsOf(dst []string, search string) []string {
	dst = append(dst, strings.Fields(search)...)
	slices.SortFunc(dst, func(a, b string) int { return cmp.Compare(len(b), len(a)) })
	kept := dst[:0]
	for _, w := range dst {
		if !slices.ContainsFunc(kept, func(longer string) bool { return strings.Contains(longer, w) }) {
			kept = append(kept, w)
		}
	}
	return kept
}

var chosenItems = sync.Pool{New: func() any { return new([]*modelItem) }}

// answer is the body for a query. What is asked for again is kept; release gives back the memory of what is not.
func (l *modelList) answer(q *listQuery) (r *rendered, release func()) {
	if q.everything() {
		return l.whole, func() {}
	}
	r, keep := l.kept.find(*q)
	if r != nil {
		return r, func() {}
	}
	pooled := chosenItems.Get().(*[]*modelItem)
	chosen := l.choose((*pooled)[:0], q)
	defer func() {
		clear(chosen) // a snapshot that is gone must not be kept alive from here
		*pooled = chosen[:0]
		chosenItems.Put(pooled)
	}()
	total, page := len(chosen), chosen
	if q.page > 0 {
		from := min((q.page-1)*q.perPage, total)
		page = chosen[from:min(from+q.perPage, total)]
	}
	size := len(listHead) + len(listTail)
	for _, it := range page {
		size += len(it.json) + 1
	}
	memory := takeBuffer(size)
	memory.b = appendList(memory.b, page)
	tag := newTag()
	for _, it := range page {
		tag.add(it.hash)
	}
	if !keep {
		return &rendered{body: memory.b, tag: tag.text(total), total: total}, memory.release
	}
	r = newRendered(bytes.Clone(memory.b), tag.text(total), total)
	memory.release()
	l.kept.keep(*q, r)
	return r, func() {}
}

const (
	listHead = `{"object":"list","data":[`
	listTail = `]}`
)

func appendList(b []byte, items []*modelItem) []byte {
	b = append(b, listHead...)
	for i, it := range items {
		if i > 0 {
			b = append(b, ',')
		}
		b = append(b, it.json...)
	}
	return append(b, listTail...)
}

// answers keeps the bodies of queries that are asked more than once. It is bounded, and starts anew when it is full.
type answers struct {
	mu    sync.Mutex
	known map[listQuery]*rendered // nil: asked for once
	bytes int
}

const (
	maxAnswers     = 256
	maxAnswerBytes = 8 << 20
)

// find returns the answer to q, or whether the next one should be kept.
func (a *answers) find(q listQuery) (r *rendered, keep bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	r, keep = a.known[q]
	if r == nil && !keep {
		a.put(q, nil)
	}
	return r, keep
}

func (a *answers) keep(q listQuery, r *rendered) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.known[q] == nil && len(r.body) <= maxAnswerBytes {
		a.put(q, r)
		a.bytes += len(r.body)
	}
}

func (a *answers) put(q listQuery, r *rendered) {
	size := 0
	if r != nil {
		size = len(r.body)
	}
	if a.known == nil || len(a.known) >= maxAnswers || a.bytes+size > maxAnswerBytes {
		a.known, a.bytes = map[listQuery]*rendered{}, 0
	}
	a.known[q] = r
}

// rendered is a body that is sent many times.
type rendered struct {
	body   []byte
	tag    string        // the ETag, with its quotes
	total  int           // items before pages were cut
	packed func() []byte // the body in gzip; nil for one that is sent once
}

func newRendered(body []byte, tag string, total int) *rendered {
	return &rendered{body: body, tag: tag, total: total, packed: sync.OnceValue(func() []byte {
		var b bytes.Buffer
		z := gzip.NewWriter(&b)
		_, _ = z.Write(body) // to memory: cannot fail
		_ = z.Close()
		return bytes.Clone(b.Bytes())
	})}
}

// tag is an ETag in the making: of the same items in the same order it is the same on every node and after every start.
type tag uint64

func newTag() tag { return 14695981039346656037 }

func (t *tag) add(hash uint64) { *t = tag((bits.RotateLeft64(uint64(*t), 5) ^ hash) * 1099511628211) }

func (t *tag) text(total int) string {
	t.add(uint64(total))
	return quoted(uint64(*t))
}

func hashOf(b []byte) uint64 {
	h := fnv.New64a()
	_, _ = h.Write(b)
	return h.Sum64()
}

func quoted(n uint64) string { return `"` + strconv.FormatUint(n, 16) + `"` }
