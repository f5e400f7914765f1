package httpapi

import (
	"cmp"
	"math"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"weir/internal/catalog"
	"weir/internal/catalog/listing"
	"weir/internal/fault"
	"weir/internal/rawjson"
)

// sortKeys are the values of sort_by.
var sortKeys = map[string]listing.SortKey{
	"": listing.ByDefault, "name": listing.ByName, "display_name": listing.ByName, "vendor": listing.ByVendor, "context_length": listing.ByContext,
	"price": listing.ByPrice, "avg_price": listing.ByPrice, "created_at": listing.ByCreated, "input_price": listing.ByInput, "output_price": listing.ByOutput,
	"rank": listing.ByRank,
}

const maxSearch = 200 // characters

// parseListQuery reads the query of a list that holds those types of models.
func parseListQuery(q url.Values, types ...string) (listing.Query, error) {
	var l listing.Query
	search := q.Get("search")
	if utf8.RuneCountInString(search) > maxSearch {
		return l, fault.Field("httpapi.models", "search", "search must have at most %d characters.", maxSearch)
	}
	l.Search = strings.Join(strings.Fields(listing.Fold(search)), " ")
	if l.Type = q.Get("model_type"); l.Type != "" && !slices.Contains(types, l.Type) {
		return l, fault.Field("httpapi.models", "model_type", "model_type must be %s.", strings.Join(types, " or "))
	}
	by, known := sortKeys[q.Get("sort_by")]
	if l.By = by; !known {
		return l, fault.Field("httpapi.models", "sort_by",
			"sort_by must be name, display_name, vendor, context_length, price, avg_price, created_at, input_price, output_price or rank.")
	}
	switch q.Get("sort_order") {
	case "", "asc":
	case "desc":
		l.Descending = l.By != listing.ByDefault // the order without a wish has but one direction
	default:
		return l, fault.Field("httpapi.models", "sort_order", "sort_order must be asc or desc.")
	}
	if q.Get("page") == "" || q.Get("per_page") == "" { // pages only with both: one alone has no meaning
		return l, nil
	}
	var err error
	if l.Page, err = queryInt(q, "page", math.MaxInt32); err != nil {
		return l, err
	}
	l.PerPage, err = queryInt(q, "per_page", 100)
	return l, err
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

// queryBool reads a yes or no; without it, it is no.
func queryBool(q url.Values, name string) (bool, error) {
	switch q.Get(name) {
	case "", "false", "0":
		return false, nil
	case "true", "1":
		return true, nil
	}
	return false, fault.Field("httpapi.query", name, "%s must be true or false.", name)
}

// query reads the query once, and refuses what is not text.
func (x *request) query() (url.Values, error) {
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
				return nil, fault.Field("httpapi.query", name, "A query parameter is not valid UTF-8.")
			}
		}
	}
	return values, nil
}

func (x *request) getModels() error {
	return x.list(x.lists().Models, catalog.TypeChat, catalog.TypeTranscription)
}

func (x *request) getEmbeddingModels() error {
	return x.list(x.lists().Embeddings, catalog.TypeEmbedding)
}

func (x *request) getVideoModels() error {
	hidden, err := x.hidden()
	if err != nil {
		return err
	}
	b, release := x.lists().Videos.Answer(&listing.Query{}, hidden)
	defer release()
	return x.send(b)
}

// outputs are the values of output_modalities.
var outputs = map[string]catalog.Modality{"text": catalog.Text, "image": catalog.Image, "audio": catalog.Audio, "video": catalog.Video}

// getModelsCount serves GET /v1/models/count: how many models there are whose answers are of one of these modalities.
func (x *request) getModelsCount() error {
	values, err := x.query()
	if err != nil {
		return err
	}
	hidden, err := x.hidden()
	if err != nil {
		return err
	}
	var asked catalog.Modality
	embeddings, all := false, false
	for name := range strings.SplitSeq(cmp.Or(values.Get("output_modalities"), "text"), ",") {
		switch name = strings.TrimSpace(name); {
		case name == "all":
			all = true
		case name == "embeddings":
			embeddings = true
		case outputs[name] != 0:
			asked |= outputs[name]
		default:
			return fault.Field("httpapi.getModelsCount", "output_modalities", "output_modalities must be all, or of text, image, audio, video and embeddings, separated by commas.")
		}
	}
	n := int64(0)
	for _, m := range x.api.Catalog().Models() {
		for _, offer := range listing.Offers(m) {
			if len(offer.Endpoints) > 0 && !hidden[offer.ID] && (all || embeddings && m.Type == catalog.TypeEmbedding || made(m.Type, offer.Endpoints)&asked != 0) {
				n++
			}
		}
	}
	o := newObject(64)
	o.Object()
	o.Name("data").Object()
	o.integer("count", n)
	o.EndObject()
	o.EndObject()
	return x.sendOnce(&o)
}

// made are the modalities that a model answers with. Vectors, ranks and verdicts are none.
func made(kind string, endpoints []*catalog.Endpoint) (out catalog.Modality) {
	switch kind {
	case catalog.TypeTranscription:
		return catalog.Text
	case catalog.TypeSpeech:
		return catalog.Audio
	case catalog.TypeImage:
		return catalog.Image
	case catalog.TypeVideo:
		return catalog.Video
	case catalog.TypeChat:
		out = catalog.Text
		for _, e := range endpoints {
			out |= e.Output
		}
	}
	return out
}

// lists is the rendered lists of the catalog in force.
func (x *request) lists() *listing.Rendered { return x.api.models.Of(x.api.Catalog()) }

// list answers with the part of a list that the query selects.
func (x *request) list(l *listing.List, types ...string) error {
	hidden, err := x.hidden()
	if err != nil {
		return err
	}
	if x.r.URL.RawQuery == "" && hidden == nil {
		return x.sendList(l.Whole(), false)
	}
	values, err := x.query()
	if err != nil {
		return err
	}
	q, err := parseListQuery(values, types...)
	if err != nil {
		return err
	}
	b, release := l.Answer(&q, hidden)
	defer release()
	if q.Page > 0 {
		x.pageHeaders(values, b.Total, q.Page, q.PerPage)
	}
	return x.sendList(b, q.Page > 0 && q.Page*q.PerPage < b.Total)
}

// sendList is send with the members by which Anthropic's SDKs page, for clients that name a version of that API.
func (x *request) sendList(b *listing.Body, more bool) error {
	if x.header("Anthropic-Version") == "" {
		return x.send(b)
	}
	ids := [2]string{}
	for e := rawjson.ElementsOf(rawjson.Find(b.Bytes, "data")); e.Next(); {
		if ids[1] = rawjson.TextAt(e.Value, "id"); ids[0] == "" {
			ids[0] = ids[1]
		}
	}
	members := newObject(128)
	members.Object()
	members.boolean("has_more", more)
	members.textOrNull("first_id", ids[0])
	members.textOrNull("last_id", ids[1])
	members.EndObject()
	x.w.Header()["Vary"] = varyPacking
	list := append(make([]byte, 0, len(b.Bytes)+len(members.B)), b.Bytes[:len(b.Bytes)-1]...)
	members.B[0] = ','
	return x.sendOnce(&object{rawjson.Writer{B: append(list, members.B...)}})
}

// pageHeaders describes the page in header fields: clients of this wire read a models list as one page and take nothing else.
func (x *request) pageHeaders(q url.Values, total, page, perPage int) {
	last := max((total+perPage-1)/perPage, 1)
	h := x.w.Header()
	h.Set("X-Total-Count", strconv.Itoa(total))
	h.Set("X-Page", strconv.Itoa(page))
	h.Set("X-Per-Page", strconv.Itoa(perPage))
	var links []string
	q.Del("key") // a key that a client has put there must not come back
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

var (
	catalogAge  = []string{"public, max-age=60"}
	keysAge     = []string{"private, max-age=60"} // of what one key may use
	gzipped     = []string{"gzip"}
	varyPacking = []string{"Accept-Encoding, Anthropic-Version, Authorization, X-Api-Key, X-Goog-Api-Key"}
)

// packedTag is the end of the ETag of a body in gzip: it is another sequence of bytes.
const packedTag = `-gzip"`

// send answers with a rendered body, in gzip to clients that take it, or with 304 to those that have it.
func (x *request) send(b *listing.Body) error {
	x.w.Header()["Vary"] = varyPacking
	body, tag := b.Bytes, `"`+b.Tag+`"`
	packed := b.Packed != nil && x.takesGzip()
	if packed {
		tag = tag[:len(tag)-1] + packedTag
	}
	if x.has(tag) {
		return nil
	}
	if packed {
		x.w.Header()["Content-Encoding"] = gzipped
		body = b.Packed()
	}
	x.writeBody(http.StatusOK, jsonType, body)
	return nil
}

// sendOnce is send for a body that is made for one request.
func (x *request) sendOnce(o *object) error {
	if x.has(`"` + listing.TagOf(o.B) + `"`) {
		return nil
	}
	return x.reply(o)
}

// has sets the ETag of the answer. To a client that has that answer already, packed or not, it replies 304 and returns true.
func (x *request) has(tag string) bool {
	h := x.w.Header()
	h["Etag"] = []string{tag}
	h["Cache-Control"] = catalogAge
	if x.caller != nil && x.caller.Defaults != nil {
		h["Cache-Control"] = keysAge
	}
	for _, line := range x.r.Header["If-None-Match"] {
		for known := range strings.SplitSeq(line, ",") {
			if known = strings.TrimPrefix(strings.TrimSpace(known), "W/"); unpacked(known) == unpacked(tag) || known == "*" {
				x.writeBody(http.StatusNotModified, nil, nil)
				return true
			}
		}
	}
	return false
}

// unpacked is the tag of the same content outside of gzip.
func unpacked(tag string) string {
	if plain, packed := strings.CutSuffix(tag, packedTag); packed {
		return plain + `"`
	}
	return tag
}

// takesGzip reads Accept-Encoding; gzip with a weight of zero is a refusal.
func (x *request) takesGzip() bool {
	for _, line := range x.r.Header["Accept-Encoding"] {
		for coding := range strings.SplitSeq(line, ",") {
			name, weight, _ := strings.Cut(coding, ";")
			if strings.EqualFold(strings.TrimSpace(name), "gzip") {
				return strings.Trim(strings.TrimSpace(weight), "qQ=0. ") != "" || strings.TrimSpace(weight) == ""
			}
		}
	}
	return false
}

// pathModel is the id of the model that the path names: in two segments, or in one whose slash is escaped.
func (x *request) pathModel() string {
	if x.values[1] == "" {
		return x.values[0]
	}
	return x.values[0] + "/" + x.values[1]
}

func noModel(op string) error { return fault.New(fault.ModelNotFound, op, "There is no such model.") }

// getModel describes one model of any type: clients look up whatever id they hold.
func (x *request) getModel() error {
	id := x.pathModel()
	m, _, ok := x.api.Catalog().Resolve(id)
	if !ok {
		return noModel("httpapi.getModel")
	}
	for _, it := range listing.Offers(m) {
		if it.ID == id {
			return x.sendOnce(&object{rawjson.Writer{B: appendModel(make([]byte, 0, 2048), &it)}})
		}
	}
	return noModel("httpapi.getModel")
}
