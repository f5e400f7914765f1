package httpapi

import (
	"cmp"
	"hash/fnv"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"unicode/utf8"

	"weir/internal/catalog"
	"weir/internal/fault"
	"weir/internal/money"
)

// modelItem is one entry of the models list, with what it is sorted and found by.
type modelItem struct {
	id, name, vendor string
	model            *catalog.Model
	context, created int64
	in, out          int64  // rubles x 10^9 per 1000 tokens
	words            string // lower case: what search looks through
	json             []byte
}

// modelsCache holds the items of one snapshot: a catalog is read much more often than it changes.
type modelsCache struct {
	current atomic.Pointer[modelList]
}

type modelList struct {
	snapshot *catalog.Snapshot
	items    []modelItem // newest first, then by id
}

func (c *modelsCache) of(s *catalog.Snapshot) *modelList {
	if l := c.current.Load(); l != nil && l.snapshot == s {
		return l
	}
	l := &modelList{snapshot: s}
	for _, m := range s.Models() {
		var plain, free []*catalog.Endpoint
		for _, e := range m.Endpoints {
			if e.Variant == string(catalog.Free) {
				free = append(free, e)
			} else {
				plain = append(plain, e)
			}
		}
		if len(plain) > 0 || len(free) == 0 {
			l.items = append(l.items, newModelItem(m, m.Slug, plain))
		}
		if len(free) > 0 {
			l.items = append(l.items, newModelItem(m, m.Slug+":free", free))
		}
	}
	slices.SortFunc(l.items, func(a, b modelItem) int {
		return cmp.Or(cmp.Compare(b.created, a.created), cmp.Compare(a.id, b.id))
	})
	c.current.Store(l)
	return l
}

func newModelItem(m *catalog.Model, id string, endpoints []*catalog.Endpoint) modelItem {
	it := modelItem{id: id, name: m.Name, vendor: m.Vendor, model: m, context: m.ContextLength}
	if !m.Created.IsZero() {
		it.created = m.Created.Unix()
	}
	var prices catalog.Prices
	if e := catalog.Cheapest(endpoints); e != nil {
		prices = e.Pricing.Base
	}
	it.in, it.out = prices.Prompt.Nano, prices.Completion.Nano
	it.words = strings.ToLower(id + "\n" + m.Name + "\n" + m.Vendor + "\n" + m.Description)

	o := object{b: make([]byte, 0, 1024)}
	o.open()
	o.text("id", id)
	o.text("canonical_slug", m.Slug)
	o.text("base_model", baseModel(m.Slug))
	o.text("object", "model")
	o.integer("created", it.created)
	o.text("owned_by", m.Vendor)
	o.text("vendor", m.Vendor)
	o.text("name", m.Name)
	o.text("model_type", m.Type)
	o.text("description", m.Description)
	o.integer("context_length", m.ContextLength)
	o.text("price_in_per_1k", decimal(prices.Prompt))
	o.text("price_out_per_1k", decimal(prices.Completion))
	appendPricing(&o, &prices)
	appendAbilities(&o, endpoints)
	o.close()
	it.json = o.b
	return it
}

// baseModel is the slug without a date at its end, as in "vendor/model-2026-01-31" or "vendor/model-20260131".
func baseModel(slug string) string {
	for _, form := range []string{"-####-##-##", "-########"} {
		if len(slug) <= len(form) {
			continue
		}
		tail := slug[len(slug)-len(form):]
		matches := true
		for i := range len(form) {
			if digit := tail[i] >= '0' && tail[i] <= '9'; form[i] == '#' && !digit || form[i] == '-' && tail[i] != '-' {
				matches = false
				break
			}
		}
		if matches {
			return slug[:len(slug)-len(form)]
		}
	}
	return slug
}

func decimal(p money.Price) string {
	if !p.Set {
		return "0"
	}
	return p.String()
}

// appendPricing writes the ten keys that clients multiply by tokens, and so per token, and what they are in.
func appendPricing(o *object, p *catalog.Prices) {
	perToken := func(name string, p money.Price) {
		if !p.Set {
			o.text(name, "0")
			return
		}
		o.text(name, string(p.AppendPerToken(nil)))
	}
	o.name("pricing")
	o.open()
	perToken("prompt", p.Prompt)
	perToken("completion", p.Completion)
	perToken("input_cache_read", p.CacheRead)
	perToken("input_cache_write", p.CacheWrite)
	perToken("internal_reasoning", p.Reasoning)
	perToken("audio", p.Audio)
	perToken("audio_output", p.AudioOutput)
	o.text("image_output", decimal(p.ImageOutputEach))
	o.text("web_search", decimal(p.WebSearch))
	o.text("request", decimal(p.Request))
	o.text("currency", "RUB")
	o.text("unit", "token")
	o.close()
}

// appendAbilities writes what at least one endpoint can do.
func appendAbilities(o *object, endpoints []*catalog.Endpoint) {
	var params catalog.Params
	var input, output catalog.Modality
	var longest int64
	for _, e := range endpoints {
		params |= e.Params
		input |= e.Input
		output |= e.Output
		longest = max(longest, e.MaxCompletion)
	}
	o.texts("supported_parameters", params.Names())
	if longest > 0 {
		o.integer("max_completion_tokens", longest)
	}
	o.name("architecture")
	o.open()
	o.texts("input_modalities", modalities(input))
	o.texts("output_modalities", modalities(output))
	o.close()
}

func modalities(m catalog.Modality) []string {
	names := []string{}
	for i, name := range []string{"text", "image", "audio", "file", "video"} {
		if m&(1<<i) != 0 {
			names = append(names, name)
		}
	}
	return names
}

// listQuery is the checked query of a models list.
type listQuery struct {
	words         []string
	modelType     string
	sortBy        string
	descending    bool
	page, perPage int // 0: everything
}

const maxSearch = 200

func parseListQuery(q url.Values) (listQuery, error) {
	var l listQuery
	search := q.Get("search")
	if len(search) > maxSearch || !utf8.ValidString(search) || strings.ContainsRune(search, 0) {
		return l, fault.Field("httpapi.models", "search", "search may have %d bytes of text.", maxSearch)
	}
	l.words = strings.Fields(strings.ToLower(search))
	switch l.modelType = q.Get("model_type"); l.modelType {
	case "", "chat", "audio_transcription":
	default:
		return l, fault.Field("httpapi.models", "model_type", "model_type must be chat or audio_transcription.")
	}
	switch l.sortBy = q.Get("sort_by"); l.sortBy {
	case "", "name", "display_name", "vendor", "context_length", "price", "avg_price", "created_at", "input_price", "output_price", "rank":
	default:
		return l, fault.Field("httpapi.models", "sort_by", "sort_by must be name, display_name, vendor, context_length, price, avg_price, created_at, input_price, output_price or rank.")
	}
	switch q.Get("sort_order") {
	case "", "asc":
	case "desc":
		l.descending = true
	default:
		return l, fault.Field("httpapi.models", "sort_order", "sort_order must be asc or desc.")
	}
	var err error
	if l.page, err = queryInt(q, "page", 1_000_000); err != nil {
		return l, err
	}
	if l.perPage, err = queryInt(q, "per_page", 100); err != nil {
		return l, err
	}
	if l.page == 0 || l.perPage == 0 { // pages only with both
		l.page, l.perPage = 0, 0
	}
	return l, nil
}

// queryInt reads a number from 1 to most; 0 when the parameter is absent.
func queryInt(q url.Values, name string, most int) (int, error) {
	if !q.Has(name) {
		return 0, nil
	}
	n, err := strconv.Atoi(q.Get(name))
	if err != nil || n < 1 || n > most {
		return 0, fault.Field("httpapi.query", name, "%s must be a whole number from 1 to %d.", name, most)
	}
	return n, nil
}

// choose lists the items that a query wants, in its order.
func (l *modelList) choose(q *listQuery) []*modelItem {
	chosen := []*modelItem{}
	for i := range l.items {
		it := &l.items[i]
		if t := it.model.Type; q.modelType != "" && t != q.modelType || q.modelType == "" && t != "chat" && t != "audio_transcription" {
			continue
		}
		if !slices.ContainsFunc(q.words, func(w string) bool { return !strings.Contains(it.words, w) }) {
			chosen = append(chosen, it)
		}
	}
	if q.sortBy == "" || q.sortBy == "rank" {
		return chosen // nobody has counted ranks: the order is that without a wish, newest first
	}
	slices.SortStableFunc(chosen, func(a, b *modelItem) int {
		n := a.compare(b, q.sortBy)
		if q.descending {
			n = -n
		}
		return cmp.Or(missingLast(a, b, q.sortBy), n, cmp.Compare(a.id, b.id))
	})
	return chosen
}

func (it *modelItem) compare(other *modelItem, by string) int {
	switch by {
	case "vendor":
		return cmp.Compare(strings.ToLower(it.vendor), strings.ToLower(other.vendor))
	case "context_length":
		return cmp.Compare(it.context, other.context)
	case "created_at":
		return cmp.Compare(it.created, other.created)
	case "input_price":
		return cmp.Compare(it.in, other.in)
	case "output_price":
		return cmp.Compare(it.out, other.out)
	case "price", "avg_price":
		return cmp.Compare(it.in+it.out, other.in+other.out)
	}
	return cmp.Compare(strings.ToLower(it.name), strings.ToLower(other.name))
}

func missingLast(a, b *modelItem, by string) int {
	missing := func(it *modelItem) int {
		if by == "context_length" && it.context == 0 || by == "created_at" && it.created == 0 {
			return 1
		}
		return 0
	}
	return cmp.Compare(missing(a), missing(b))
}

func (x *exchange) getModels() error {
	values, err := x.query()
	if err != nil {
		return err
	}
	q, err := parseListQuery(values)
	if err != nil {
		return err
	}
	chosen := x.api.models.of(x.api.Catalog()).choose(&q)
	if q.page > 0 {
		x.pageHeaders(values, len(chosen), q.page, q.perPage)
		from := min((q.page-1)*q.perPage, len(chosen))
		chosen = chosen[from:min(from+q.perPage, len(chosen))]
	}
	o := object{b: make([]byte, 0, 64+1024*len(chosen))}
	o.open()
	o.text("object", "list")
	o.array("data")
	for _, it := range chosen {
		o.comma()
		o.b = append(o.b, it.json...)
	}
	o.end()
	o.close()
	return x.cached(&o)
}

// query reads the query once, and refuses what is not text.
func (x *exchange) query() (url.Values, error) {
	values, err := url.ParseQuery(x.r.URL.RawQuery)
	if err != nil {
		return nil, fault.New(fault.Invalid, "httpapi.query", "The query of the URL is malformed.")
	}
	for name, list := range values {
		for _, v := range list {
			if !utf8.ValidString(v) || strings.ContainsRune(v, 0) {
				if !utf8.ValidString(name) {
					name = "query"
				}
				return nil, fault.Field("httpapi.query", name, "A query parameter is not text.")
			}
		}
	}
	return values, nil
}

// pageHeaders tells of pages beside the body: clients of this wire read a models list as one page and take nothing else.
func (x *exchange) pageHeaders(q url.Values, total, page, perPage int) {
	last := max((total+perPage-1)/perPage, 1)
	h := x.w.Header()
	h.Set("X-Total-Count", strconv.Itoa(total))
	h.Set("X-Page", strconv.Itoa(page))
	h.Set("X-Per-Page", strconv.Itoa(perPage))
	var links []string
	link := func(n int, rel string) {
		q.Set("page", strconv.Itoa(n))
		links = append(links, `<`+x.route.Pattern+`?`+q.Encode()+`>; rel="`+rel+`"`)
	}
	link(1, "first")
	if page > 1 {
		link(min(page-1, last), "prev")
	}
	if page < last {
		link(page+1, "next")
	}
	link(last, "last")
	h.Set("Link", strings.Join(links, ", "))
}

// cached replies with a tag, or with 304 to a client that has the same already.
func (x *exchange) cached(o *object) error {
	sum := fnv.New64a()
	_, _ = sum.Write(o.b)
	tag := `"` + strconv.FormatUint(sum.Sum64(), 16) + `"`
	h := x.w.Header()
	h.Set("Etag", tag)
	h.Set("Cache-Control", "public, max-age=60")
	for _, known := range strings.Split(x.r.Header.Get("If-None-Match"), ",") {
		if known = strings.TrimPrefix(strings.TrimSpace(known), "W/"); known == tag || known == "*" {
			x.writeBody(http.StatusNotModified, nil, nil)
			return nil
		}
	}
	return x.reply(o)
}

func (x *exchange) getModel() error {
	id := x.values[0]
	if x.values[1] != "" {
		id += "/" + x.values[1]
	}
	for _, it := range x.api.models.of(x.api.Catalog()).items {
		if it.id == id {
			return x.cached(&object{b: it.json})
		}
	}
	return fault.New(fault.ModelNotFound, "httpapi.getModel", "There is no such model.")
}
