package httpapi_test

import (
	"cmp"
	"compress/gzip"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/url"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"pgregory.net/rapid"

	"weir/internal/accountapi"
	"weir/internal/apikey"
	"weir/internal/catalog"
	"weir/internal/catalog/listing"
	"weir/internal/catalogapi"
	"weir/internal/fault"
	"weir/internal/httpapi"
	"weir/internal/money"
)

// library is an API that has a catalog and nothing else.
type library struct {
	t   testing.TB
	api *httpapi.API
}

func openLibrary(t testing.TB, snap *catalog.Snapshot, edit func(*httpapi.Deps)) *library {
	cfg := httpapi.Default()
	cfg.PublicPerMinute, cfg.AnonymousPerSecond = 0, 0
	d := httpapi.Deps{Catalog: func() *catalog.Snapshot { return snap }, Now: time.Now}
	if edit != nil {
		edit(&d)
	}
	return &library{t, httpapi.New(d, cfg)}
}

func (l *library) get(path string, headers ...string) *response {
	r := httptest.NewRequest("GET", path, nil)
	for i := 0; i < len(headers); i += 2 {
		r.Header.Set(headers[i], headers[i+1])
	}
	w := httptest.NewRecorder()
	l.api.ServeHTTP(w, r)
	return &response{w.Result(), w.Body.Bytes()}
}

// Anthropic's SDKs page by members that other clients do not get.
func TestModelsForAnthropic(t *testing.T) {
	t.Parallel()
	l := openLibrary(t, anyKind(t), nil)
	plain := l.get("/v1/models").json(t)
	all := l.get("/v1/models", "Anthropic-Version", "2023-06-01").json(t)
	data := at(all, "data").([]any)
	if at(all, "has_more") != false || at(all, "first_id") != at(data[0], "id") || at(all, "last_id") != at(data[len(data)-1], "id") {
		t.Errorf("the whole list: %v, %v, %v", at(all, "has_more"), at(all, "first_id"), at(all, "last_id"))
	}
	if len(plain) != 2 || len(all) != 5 || !reflect.DeepEqual(plain["data"], all["data"]) {
		t.Errorf("the lists differ: %d and %d members", len(plain), len(all))
	}
	page := l.get("/v1/models?page=1&per_page=1", "Anthropic-Version", "2023-06-01").json(t)
	if at(page, "has_more") != true || at(page, "first_id") != at(page, "last_id") {
		t.Errorf("the first page: %v", page)
	}
	none := l.get("/v1/models?page=2147483647&per_page=100", "Anthropic-Version", "2023-06-01").json(t)
	if at(none, "has_more") != false || at(none, "first_id") != nil || len(at(none, "data").([]any)) != 0 {
		t.Errorf("a page beyond the end: %v", none)
	}
}

// entry is what tests look at of a model.
type entry struct {
	ID            string
	Name          string
	Vendor        string
	Description   string
	ContextLength int64 `json:"context_length"`
	Created       int64
	In            json.Number `json:"price_in_per_1k"`
	Out           json.Number `json:"price_out_per_1k"`
}

func (l *library) list(path string) []entry {
	l.t.Helper()
	r := l.get(path)
	var list struct {
		Object string
		Data   []entry
	}
	if err := json.Unmarshal(r.body, &list); err != nil || r.StatusCode != 200 || list.Object != "list" || list.Data == nil {
		l.t.Fatalf("%s: %d %.300s", path, r.StatusCode, r.body)
	}
	return list.Data
}

func (l *library) ids(path string) []string {
	l.t.Helper()
	ids := []string{}
	for _, e := range l.list(path) {
		ids = append(ids, e.ID)
	}
	return ids
}

func rubles(text string) money.Price {
	p, err := money.ParsePrice(text)
	if err != nil {
		panic(err)
	}
	return p
}

func build(t testing.TB, d catalog.Declared) *catalog.Snapshot {
	t.Helper()
	s, err := catalog.Build(d)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func provider(id, name string) catalog.Provider {
	return catalog.Provider{ID: id, Name: name, Dialect: "openai", BaseURL: "https://" + id + ".invalid/v1"}
}

func perThousand(in, out string) catalog.Pricing {
	return catalog.Pricing{Base: catalog.Prices{Prompt: rubles(in), Completion: rubles(out)}, List: "list-1"}
}

// anyKind is a catalog with models of all types, some without endpoints.
func anyKind(t testing.TB) *catalog.Snapshot {
	free := perThousand("0", "0")
	drawing := catalog.Pricing{Images: []catalog.ImagePrice{{Component: "image_output", Unit: catalog.UnitImage, Variant: "high", Resolution: "1024x1024", Price: rubles("4")}}}
	timed, video, dearVideo := free, free, free
	timed.Minute = rubles("0.6")
	video.Video = []catalog.VideoRule{{Resolution: "1080p", PerSecond: rubles("19")}, {PerSecond: rubles("9.5")}, {Resolution: "1080p", WithAudio: true, PerSecond: rubles("28.5")},
		{WithAudio: true, PerSecond: rubles("14")}}
	dearVideo.Video = []catalog.VideoRule{{PerSecond: rubles("99")}}
	plain := dearVideo
	plain.Base.Request = rubles("50")
	return build(t, catalog.Declared{
		Providers: []catalog.Provider{provider("acme", "Acme"), provider("best", "Best")},
		Models: []catalog.ModelInfo{
			{Slug: "acme/talk", Name: "Talk", Created: time.Unix(3000, 0), ContextLength: 1000},
			{Slug: "acme/gone", Name: "Nobody serves it", Created: time.Unix(9000, 0)},
			{Slug: "acme/hear", Name: "Hear", Type: catalog.TypeTranscription, Created: time.Unix(2000, 0)},
			{Slug: "acme/vector-20260131", Name: "Vector", Type: catalog.TypeEmbedding, Description: "512 numbers", Created: time.Unix(1000, 0), ContextLength: 8192},
			{Slug: "best/vector", Name: "Other", Type: catalog.TypeEmbedding, Created: time.Unix(1500, 0)},
			{Slug: "acme/draw", Name: "Draw", Type: catalog.TypeImage},
			{Slug: "acme/guard", Name: "Guard", Type: catalog.TypeModeration},
			{Slug: "acme/film", Name: "Film", Type: catalog.TypeVideo, Description: "Moves", HubID: "Acme/Film", Created: time.Unix(500, 0), Video: &catalog.VideoFacts{
				Resolutions: []string{"720p", "1080p"}, AspectRatios: []string{"16:9"}, Sizes: []string{"1280x720"}, Durations: []int{4, 8}, FrameImages: []string{"first_frame"},
				Passthrough: []string{"style"}, Audio: true}},
			{Slug: "acme/plain-film", Name: "Plain film", Type: catalog.TypeVideo, Created: time.Unix(700, 0)},
			{Slug: "acme/lost-film", Name: "Lost film", Type: catalog.TypeVideo, Created: time.Unix(900, 0)},
		},
		Offers: []catalog.Offer{
			{Provider: "acme", Model: "acme/talk", Pricing: perThousand("0.1", "0.2")},
			{Provider: "acme", Model: "acme/hear", Pricing: timed},
			{Provider: "acme", Model: "acme/vector-20260131", Pricing: perThousand("0.002", "0")},
			{Provider: "best", Model: "best/vector", Pricing: perThousand("0.001", "0")},
			{Provider: "acme", Model: "acme/draw", Pricing: drawing},
			{Provider: "acme", Model: "acme/guard", Pricing: free},
			{Provider: "acme", Model: "acme/film", Pricing: dearVideo},
			{Provider: "best", Model: "acme/film", Pricing: video},
			{Provider: "acme", Model: "acme/plain-film", Pricing: plain},
		},
	})
}

func TestListsByType(t *testing.T) {
	t.Parallel()
	l := openLibrary(t, anyKind(t), nil)
	for path, want := range map[string]string{
		"/v1/models":                                  "acme/talk acme/hear",
		"/v1/models?model_type=chat":                  "acme/talk",
		"/v1/models?model_type=audio_transcription":   "acme/hear",
		"/v1/embeddings/models":                       "best/vector acme/vector-20260131",
		"/v1/embeddings/models?model_type=embedding":  "best/vector acme/vector-20260131",
		"/v1/embeddings/models?sort_by=input_price":   "best/vector acme/vector-20260131",
		"/v1/embeddings/models?search=512":            "acme/vector-20260131",
		"/v1/embeddings/models?page=2&per_page=1":     "acme/vector-20260131",
		"/v1/embeddings/models?sort_by=rank&search=q": "",
	} {
		if got := strings.Join(l.ids(path), " "); got != want {
			t.Errorf("%s: %s; want %s", path, got, want)
		}
	}
	for _, id := range []string{"acme/talk", "acme/gone", "acme/hear", "acme/vector-20260131", "acme/draw", "acme/guard", "acme/film"} {
		for _, path := range []string{"/v1/models/" + id, "/v1/models/" + url.PathEscape(id)} {
			if r := l.get(path); r.StatusCode != 200 || at(r.json(t), "id") != id || at(r.json(t), "object") != "model" {
				t.Errorf("%s: %d %s", path, r.StatusCode, r.body)
			}
		}
	}
	wantError(t, l.get("/v1/models/acme/talk:nitro"), 404, fault.ModelNotFound)
	wantError(t, l.get("/v1/models/acme%2Fother"), 404, fault.ModelNotFound)
	pricing := at(l.get("/v1/models/acme/hear").json(t), "pricing")
	if at(pricing, "audio") != "0.6" || at(pricing, "audio_unit") != "minute" || at(pricing, "prompt") != "0" || at(pricing, "unit") != "token" {
		t.Errorf("transcription by the minute: %v", pricing)
	}
}

// exactly compares JSON with what is wanted, written as JSON.
func exactly(t *testing.T, what string, got any, want string) {
	t.Helper()
	var wanted any
	if err := json.Unmarshal([]byte(want), &wanted); err != nil {
		t.Fatal(err)
	}
	a, _ := json.Marshal(got)
	b, _ := json.Marshal(wanted)
	if string(a) != string(b) {
		t.Errorf("%s:\n%s\nwant\n%s", what, a, b)
	}
}

func TestItemsOfOtherTypes(t *testing.T) {
	t.Parallel()
	l := openLibrary(t, anyKind(t), nil)
	exactly(t, "embedding", at(l.get("/v1/embeddings/models?search=512").json(t), "data", 0), `{
		"id":"acme/vector-20260131","slug":"acme/vector-20260131","base_model":"acme/vector","object":"model","owned_by":"acme","vendor":"acme","vendor_name":"Acme","display_name":"Vector",
		"model_type":"embedding","description":"512 numbers","description_ru":"Vector (Acme) превращает текст в векторы для поиска и сравнения; принимает до 8 192 токенов.","created":1000,"context_length":8192,"price_in_per_1k":"0.002","price_out_per_1k":"0"}`)
	exactly(t, "videos", l.get("/v1/videos/models").json(t), `{"data":[
		{"id":"acme/plain-film","canonical_slug":"acme/plain-film","name":"Plain film","description":"Plain film of Acme makes videos from text.","description_ru":"Plain film (Acme) создаёт видео по тексту.","model_hub_id":"","created":700,"supported_resolutions":[],
		 "supported_aspect_ratios":[],"supported_sizes":[],"supported_frame_images":[],"allowed_passthrough_parameters":[],"supported_durations":[],"generate_audio":false,"seed":false,"creativity":null,"upscale_factor":null,
		 "pricing_skus":{"per-video":"50","per-video-second":"99"}},
		{"id":"acme/film","canonical_slug":"acme/film","name":"Film","description":"Moves","description_ru":"Film (Acme) создаёт видео по тексту.","model_hub_id":"Acme/Film","created":500,"supported_resolutions":["720p","1080p"],
		 "supported_aspect_ratios":["16:9"],"supported_sizes":["1280x720"],"supported_frame_images":["first_frame"],"allowed_passthrough_parameters":["style"],
		 "supported_durations":[4,8],"generate_audio":true,"seed":false,"creativity":null,"upscale_factor":null,
		 "pricing_skus":{"per-video-second":"9.5","per-video-second-1080p":"19","per-video-second-1080p-with-audio":"28.5","per-video-second-with-audio":"14"}}]}`)
}

func TestListQueriesThatAreWrong(t *testing.T) {
	t.Parallel()
	l := openLibrary(t, anyKind(t), nil)
	for _, query := range []string{"page=0&per_page=1", "page=-1&per_page=1", "page=1.0&per_page=1", "page=x&per_page=1", "page=2147483648&per_page=1", "per_page=101&page=1", "per_page=0&page=1", "per_page=-1&page=1",
		"page=9223372036854775808&per_page=9", "page=9223372036854775807&per_page=1", "sort_by=x", "sort_by=Name", "sort_order=up", "sort_order=DESC", "model_type=image", "model_type=Chat",
		"search=" + strings.Repeat("x", 201), "search=" + strings.Repeat("%D1%8F", 201), "search=%00", "search=%ff", "other=%ff", "%zz=1"} {
		for _, path := range []string{"/v1/models?", "/v1/embeddings/models?"} {
			m := wantError(t, l.get(path+query), 400, fault.Invalid)
			if name, _, _ := strings.Cut(query, "="); query != "%zz=1" && !strings.Contains(query, "per_page=1") && at(m, "error", "metadata", "param") != name {
				t.Errorf("%s: the error names %v", query, at(m, "error", "metadata", "param"))
			}
		}
	}
	wantError(t, l.get("/v1/models?model_type=embedding"), 400, fault.Invalid)
	wantError(t, l.get("/v1/embeddings/models?model_type=chat"), 400, fault.Invalid)
	for _, query := range []string{"search=" + strings.Repeat("%D1%8F", 200), "page=1&page=x", "sort_by=name&sort_by=x", "unknown=1", "search=&sort_by=&sort_order=&model_type="} {
		if r := l.get("/v1/models?" + query); r.StatusCode != 200 {
			t.Errorf("%.40s: %d %s", query, r.StatusCode, r.body)
		}
	}
}

func TestSearch(t *testing.T) {
	t.Parallel()
	d := catalog.Declared{Providers: []catalog.Provider{provider("acme", "Acme")}}
	for slug, description := range map[string]string{
		"a/percent": "100% sure", "a/under": "snake_case", "a/back": `C:\temp`, "a/plain": "nothing special", "б"[:0] + "b/cyrillic": "Быстрая МОДЕЛЬ", "b/sharp": "Größe ΣΟΦΟΣ",
	} {
		d.Models = append(d.Models, catalog.ModelInfo{Slug: slug, Name: strings.ToUpper(slug[2:]), Description: description})
		d.Offers = append(d.Offers, catalog.Offer{Provider: "acme", Model: slug, Pricing: perThousand("1", "1")})
	}
	l := openLibrary(t, build(t, d), nil)
	for search, want := range map[string]string{
		"%": "a/percent", "_": "a/under", `\`: "a/back", "100%": "a/percent", "%sure": "", "snake_": "a/under", "snakexcase": "", `:\t`: "a/back",
		"NOTHING": "a/plain", "special nothing": "a/plain", "nothing sure": "", "быстрая": "b/cyrillic", "модель": "a/back a/percent a/plain a/under b/cyrillic b/sharp", "МОДЕЛЬ быстрая": "b/cyrillic",
		"grÖSSe": "", "GRÖẞE": "b/sharp", "σοφος": "b/sharp", "σοφοσ": "b/sharp", "b/": "b/cyrillic b/sharp", "plain plain pla": "a/plain", " \t ": "a/back a/percent a/plain a/under b/cyrillic b/sharp",
	} {
		if got := strings.Join(l.ids("/v1/models?sort_by=vendor&search="+url.QueryEscape(search)), " "); got != want {
			t.Errorf("%q finds %q; want %q", search, got, want)
		}
	}
}

// drawn is a catalog of random models, many of whose values are equal or missing.
func drawn(t *rapid.T) catalog.Declared {
	d := catalog.Declared{Providers: []catalog.Provider{provider("acme", "Acme")}}
	for i := range rapid.IntRange(0, 40).Draw(t, "models") {
		few := rapid.IntRange(0, 3)
		slug := fmt.Sprintf("%c/%s-%d", 'a'+rune(few.Draw(t, "vendor")), rapid.SampledFrom([]string{"x", "X", "yy"}).Draw(t, "word"), i)
		info := catalog.ModelInfo{Slug: slug, Name: rapid.SampledFrom([]string{"Alpha", "alpha", "Beta", "ёлка", "Ёлка"}).Draw(t, "name"), ContextLength: int64(few.Draw(t, "context"))}
		if created := few.Draw(t, "created"); created > 0 {
			info.Created = time.Unix(int64(created), 0)
		}
		price := func(name string) string { return rapid.SampledFrom([]string{"0", "0.5", "1", "10"}).Draw(t, name) }
		d.Models = append(d.Models, info)
		d.Offers = append(d.Offers, catalog.Offer{Provider: "acme", Model: slug, Pricing: perThousand(price("in"), price("out"))})
	}
	return d
}

func nano(n json.Number) int64 { return rubles(n.String()).Nano }

// Whatever the catalog, a list is sorted by what was asked for, what lacks it comes last in both directions, equals go by id, and the
// pages together are the list.
func TestOrderAndPages(t *testing.T) {
	t.Parallel()
	fold := strings.NewReplacer("A", "a", "B", "b", "X", "x", "Ё", "ё")
	number := func(n int64) (int64, string, bool) { return n, "", n == 0 }
	keys := map[string]func(entry) (int64, string, bool){ // what is compared, and whether it is missing
		"name":           func(e entry) (int64, string, bool) { return 0, fold.Replace(e.Name), false },
		"display_name":   func(e entry) (int64, string, bool) { return 0, fold.Replace(e.Name), false },
		"vendor":         func(e entry) (int64, string, bool) { return 0, e.Vendor, false },
		"context_length": func(e entry) (int64, string, bool) { return number(e.ContextLength) },
		"created_at":     func(e entry) (int64, string, bool) { return number(e.Created) },
		"input_price":    func(e entry) (int64, string, bool) { return nano(e.In), "", false },
		"output_price":   func(e entry) (int64, string, bool) { return nano(e.Out), "", false },
		"price":          func(e entry) (int64, string, bool) { return nano(e.In) + nano(e.Out), "", false },
		"avg_price":      func(e entry) (int64, string, bool) { return nano(e.In) + nano(e.Out), "", false },
	}
	names := slices.Sorted(maps.Keys(keys))
	rapid.Check(t, func(rt *rapid.T) {
		l := openLibrary(t, build(t, drawn(rt)), nil)
		by, direction := rapid.SampledFrom(names).Draw(rt, "by"), rapid.SampledFrom([]string{"", "asc", "desc"}).Draw(rt, "order")
		path := "/v1/models?sort_by=" + by + "&sort_order=" + direction
		all := l.list(path)
		if n := len(l.list("/v1/models")); len(all) != n {
			rt.Fatalf("%d models sorted, %d in all", len(all), n)
		}
		for i := 1; i < len(all); i++ {
			a, aText, aMissing := keys[by](all[i-1])
			b, bText, bMissing := keys[by](all[i])
			order := cmp.Or(cmp.Compare(a, b), cmp.Compare(aText, bText))
			if direction == "desc" {
				order = -order
			}
			switch {
			case aMissing && !bMissing, aMissing == bMissing && !aMissing && order > 0, (aMissing && bMissing || aMissing == bMissing && order == 0) && all[i-1].ID >= all[i].ID:
				rt.Fatalf("%s %s: %+v stands before %+v", by, direction, all[i-1], all[i])
			}
		}
		size := rapid.IntRange(1, 15).Draw(rt, "size")
		var paged []entry
		for page := 1; ; page++ {
			part := l.list(fmt.Sprintf("%s&per_page=%d&page=%d", path, size, page))
			if len(part) == 0 {
				break
			}
			paged = append(paged, part...)
		}
		if !slices.Equal(paged, all) {
			rt.Fatalf("the pages have %v, the list %v", paged, all)
		}
	})
}

func TestPageHeaders(t *testing.T) {
	t.Parallel()
	l := openLibrary(t, testCatalog(t), nil)
	for page, rels := range map[int]string{1: "first next last", 2: "first prev next last", 4: "first prev last", 9: "first prev last"} {
		r := l.get(fmt.Sprintf("/v1/models?per_page=1&page=%d&search=a", page))
		var got []string
		for _, part := range strings.Split(r.Header.Get("Link"), ", ") {
			target, rel, _ := strings.Cut(part, "; rel=")
			got = append(got, strings.Trim(rel, `"`))
			if next := l.get(strings.Trim(target, "<>")); next.StatusCode != 200 {
				t.Errorf("%s: %d", target, next.StatusCode)
			}
		}
		if strings.Join(got, " ") != rels || r.Header.Get("X-Total-Count") != "4" || r.Header.Get("X-Page") != itoa(page) || r.Header.Get("X-Per-Page") != "1" {
			t.Errorf("page %d: %v %v", page, got, r.Header)
		}
	}
	if r := l.get("/v1/models?page=1"); r.Header.Get("Link") != "" || r.Header.Get("X-Page") != "" {
		t.Errorf("without per_page: %v", r.Header)
	}
}

func TestListTags(t *testing.T) {
	t.Parallel()
	paths := []string{"/v1/models", "/v1/models?sort_by=name", "/v1/models?page=1&per_page=1", "/v1/models?page=2&per_page=1", "/v1/models?search=small", "/v1/embeddings/models",
		"/v1/videos/models", "/v1/models/acme/talk", "/v1/models/acme/talk/providers"}
	one, other := openLibrary(t, anyKind(t), nil), openLibrary(t, anyKind(t), nil)
	seen := map[string]string{}
	for _, path := range paths {
		r := one.get(path)
		tag := r.Header.Get("Etag")
		if tag == "" || tag != other.get(path).Header.Get("Etag") || tag != one.get(path).Header.Get("Etag") {
			t.Errorf("%s: tag %q differs between nodes or requests", path, tag)
		}
		if before, twice := seen[tag]; twice && string(one.get(before).body) != string(r.body) {
			t.Errorf("%s and %s have one tag", path, before)
		}
		seen[tag] = path
		for _, known := range []string{tag, "W/" + tag, `"x", ` + tag, "*"} {
			again := one.get(path, "If-None-Match", known)
			if again.StatusCode != 304 || len(again.body) != 0 || again.Header.Get("Etag") != tag || again.Header.Get("Cache-Control") != "public, max-age=60" {
				t.Errorf("%s with %s: %d %v", path, known, again.StatusCode, again.Header)
			}
		}
		if r := one.get(path, "If-None-Match", `"other"`); r.StatusCode != 200 {
			t.Errorf("%s with another tag: %d", path, r.StatusCode)
		}
	}
}

func TestPackedLists(t *testing.T) {
	t.Parallel()
	l := openLibrary(t, anyKind(t), nil)
	plain := l.get("/v1/models")
	for accept, packed := range map[string]bool{"gzip": true, "br, GZIP;q=0.5": true, "gzip;q=0": false, "gzip; q=0.000": false, "identity": false, "": false, "gzip;q=0.05": true} {
		r := l.get("/v1/models", "Accept-Encoding", accept)
		if r.Header.Get("Vary") != "Accept-Encoding, Anthropic-Version, Authorization, X-Api-Key, X-Goog-Api-Key" || (r.Header.Get("Content-Encoding") == "gzip") != packed || (r.Header.Get("Etag") == plain.Header.Get("Etag")) == packed {
			t.Errorf("%q: %v", accept, r.Header)
		}
		body := r.body
		if packed {
			z, err := gzip.NewReader(strings.NewReader(string(body)))
			if err != nil {
				t.Fatal(err)
			}
			if body, err = io.ReadAll(z); err != nil {
				t.Fatal(err)
			}
			if again := l.get("/v1/models", "Accept-Encoding", accept, "If-None-Match", r.Header.Get("Etag")); again.StatusCode != 304 {
				t.Errorf("%q: known, but %d", accept, again.StatusCode)
			}
		}
		if string(body) != string(plain.body) {
			t.Errorf("%q: %s", accept, body)
		}
		// whatever a client took before, it has the content
		if again := l.get("/v1/models", "Accept-Encoding", accept, "If-None-Match", plain.Header.Get("Etag")); again.StatusCode != 304 {
			t.Errorf("%q: known in plain, but %d", accept, again.StatusCode)
		}
	}
}

// A new catalog is seen at once, and its lists are made once however many ask.
func TestListsFollowTheCatalog(t *testing.T) {
	t.Parallel()
	var mu sync.Mutex
	snap := testCatalog(t)
	l := openLibrary(t, nil, func(d *httpapi.Deps) {
		d.Catalog = func() *catalog.Snapshot { mu.Lock(); defer mu.Unlock(); return snap }
	})
	before := l.get("/v1/models").Header.Get("Etag")
	mu.Lock()
	snap = anyKind(t)
	mu.Unlock()
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() {
			if got := strings.Join(l.ids("/v1/models"), " "); got != "acme/talk acme/hear" {
				t.Errorf("the list is %s", got)
			}
		})
	}
	all.Wait()
	if l.get("/v1/models").Header.Get("Etag") == before {
		t.Error("the tag is that of the old catalog")
	}
}

// popularity is a store whose figures a test sets.
type popularity struct {
	mu       sync.Mutex
	accounts int
	tokens   map[string]int64
	err      error
	asked    []string
}

// PaidTokens has as many accounts as are needed, which all used the same.
func (p *popularity) PaidTokens(_ context.Context, from, to string, each func(wallet, model string, tokens int64)) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.asked = append(p.asked, from+".."+to)
	for i := range p.accounts {
		for slug, n := range p.tokens {
			each(strconv.Itoa(i), slug, n)
		}
	}
	return p.err
}

func (p *popularity) set(tokens map[string]int64, err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.tokens, p.err = tokens, err
}

func TestRanks(t *testing.T) {
	t.Parallel()
	snap := testCatalog(t)
	synctest.Test(t, func(t *testing.T) {
		const newest = "acme/large-2026-01-31 zeta/plain acme/small acme/small:free"
		l := openLibrary(t, snap, nil)
		p := &popularity{accounts: 5, tokens: map[string]int64{}}
		check := func(path, want string) {
			t.Helper()
			if got := strings.Join(l.ids(path), " "); got != want {
				t.Errorf("%s: %s; want %s", path, got, want)
			}
		}
		check("/v1/models", newest)
		ranks := listing.NewRankings(func() *catalog.Snapshot { return snap }, time.Now, slog.New(slog.DiscardHandler)).Follow(p, time.Minute, l.api.Rank)
		ranks.Start()
		synctest.Wait()
		check("/v1/models?sort_by=rank&sort_order=desc", newest)
		tag := l.get("/v1/models").Header.Get("Etag")

		p.set(map[string]int64{"acme/small": 5, "acme/small:nitro": 20, "acme/small:free": 7, "zeta/plain": 24, "gone/gone": 100, "acme/large-2026-01-31": 0}, nil)
		time.Sleep(time.Minute)
		synctest.Wait()
		const ranked = "acme/small zeta/plain acme/small:free acme/large-2026-01-31"
		check("/v1/models", ranked)
		check("/v1/models?sort_by=rank", ranked)
		check("/v1/models?sort_by=rank&sort_order=desc", "acme/small:free zeta/plain acme/small acme/large-2026-01-31")
		check("/v1/models?sort_order=desc", ranked)
		check("/v1/models?sort_by=created_at&sort_order=desc", newest)
		after := l.get("/v1/models").Header.Get("Etag")
		if after == tag {
			t.Error("another order has the same tag")
		}

		p.set(nil, errors.New("away"))
		time.Sleep(time.Minute)
		synctest.Wait()
		check("/v1/models", ranked)
		p.set(map[string]int64{"zeta/plain": 1}, nil)
		time.Sleep(time.Minute)
		synctest.Wait()
		check("/v1/models", "zeta/plain acme/large-2026-01-31 acme/small acme/small:free")
		ranks.Stop()
		want := []string{"1999-12-25..1999-12-31", "1999-12-18..1999-12-24", "1999-12-02..1999-12-31", "1999-11-02..1999-12-01"}
		if !slices.Equal(p.asked[:4], want) {
			t.Errorf("asked for %s; want %s", p.asked[:4], want)
		}
	})
}

func FuzzListQuery(f *testing.F) {
	for _, query := range []string{"", "search=a+b&page=1&per_page=2", "sort_by=name&sort_order=desc", "page=x", "search=%ff", "a;b", "model_type=chat&search=%25"} {
		f.Add(query)
	}
	l := openLibrary(f, anyKind(f), nil)
	f.Fuzz(func(t *testing.T, query string) {
		r := &http.Request{Method: "GET", URL: &url.URL{Path: "/v1/models", RawQuery: query}, Header: http.Header{}, Proto: "HTTP/1.1", RemoteAddr: "127.0.0.1:1"}
		w := httptest.NewRecorder()
		l.api.ServeHTTP(w, r)
		if w.Code != 200 && w.Code != 400 || !json.Valid(w.Body.Bytes()) {
			t.Fatalf("%q: %d %s", query, w.Code, w.Body)
		}
	})
}

// Visitors see the rankings only where the operator allows it; what is shown are places and whole percent, of models that enough accounts paid
// for.
func TestRankings(t *testing.T) {
	t.Parallel()
	for _, open := range []bool{false, true} {
		n := startAll(t, relayFunc(hello), nil, nil, func(a *accountapi.Deps, d *catalogapi.Deps, _ *accountapi.EventsConfig) {
			a.Rankings, d.Rankings = open, open
		})
		anna := n.join(t, "anna@example.org", apikey.User)
		if got := n.do("GET", "/api/rankings", "", anna...); got.StatusCode != 503 {
			t.Errorf("before they are known: %d %s", got.StatusCode, got.body)
		}
		p := &popularity{accounts: 5, tokens: map[string]int64{"acme/small": 75_000, "acme/small:nitro": 1000, "acme/large-2026-01-31": 24_000, "gone/gone": 1_000_000}}
		n.rank(p)
		r := n.do("GET", "/api/rankings?range=30d", "", anna...)
		want := `{"range":"30d","from":"` + time.Now().UTC().AddDate(0, 0, -30).Format(time.DateOnly) + `"`
		if !strings.HasPrefix(string(r.body), want) || !strings.Contains(string(r.body), `"least":5,"models":[{"place":1,"before":1,"id":"acme/small",`) ||
			!strings.Contains(string(r.body), `"share":76},{"place":2,"before":2,"id":"acme/large-2026-01-31"`) || !strings.HasSuffix(string(r.body), `"share":24}],"vendors":[{"id":"acme","name":"Acme","share":100}]}`) {
			t.Errorf("%d %s", r.StatusCode, r.body)
		}
		if got := r.Header.Get("Cache-Control"); got != "private, max-age=60" {
			t.Errorf("a cache between may keep it: %s", got)
		}
		wantError(t, n.do("GET", "/api/rankings?range=1d", "", anna...), 400, fault.Invalid)
		visitor := n.do("GET", "/api/rankings", "", "Authorization", "")
		if !open {
			wantError(t, visitor, 401, fault.Authentication)
		} else if visitor.StatusCode != 200 {
			t.Errorf("a visitor gets %d %s", visitor.StatusCode, visitor.body)
		}
		if got := at(n.do("GET", "/api/me", "", n.page()...).json(t), "features", "rankings"); got != open {
			t.Errorf("a visitor is told %v", got)
		}
		if got := at(n.do("GET", "/api/me", "", anna...).json(t), "features", "rankings"); got != true {
			t.Errorf("who is signed in is told %v", got)
		}
	}
}
