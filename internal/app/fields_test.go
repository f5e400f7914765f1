package app_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httputil"
	"net/url"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"weir/internal/apikey"
	"weir/internal/audit"
	"weir/internal/catalog"
	"weir/internal/completion"
	"weir/internal/httpapi"
	"weir/internal/money"
	"weir/internal/rawjson"
)

// outlet is a route that calls models, with models that serve it.
type outlet struct {
	route  string
	models []string          // one of each dialect
	fields map[string]any    // of a request, without the model
	voices map[string]string // by model
	form   []part            // instead of fields, if the request is a form
}

// inForm reports whether the request is a form.
func (s *outlet) inForm() bool { return s.form != nil }

// send sends a request with additional fields.
func (s *outlet) send(t *testing.T, a *account, model string, more map[string]any) *answer {
	t.Helper()
	if !s.inForm() {
		route, body := s.route, map[string]any{"model": model}
		if strings.HasPrefix(route, "/v1beta/") { // the model is part of the address
			route, body = strings.Replace(route, "{vendor}/{model}", model, 1), map[string]any{}
		}
		for name, value := range s.fields {
			body[name] = value
		}
		if voice := s.voices[model]; voice != "" {
			body["voice"] = voice
		}
		for name, value := range more {
			body[name] = value
		}
		return a.do(t, http.MethodPost, route, body)
	}
	parts := append(formFields("model", model), s.form...)
	for name, value := range more {
		text, ok := value.(string)
		if !ok {
			b, err := json.Marshal(value)
			if err != nil {
				t.Fatal(err)
			}
			text = string(b)
		}
		parts = append(parts, part{name: name, value: text})
	}
	body, contentType := form(t, parts...)
	return a.send(t, http.MethodPost, s.route, body, map[string]string{"Content-Type": contentType})
}

// witness is a gateway with all wires, whose providers record their requests.
type witness struct {
	*gateway
	outlets []outlet

	mu   sync.Mutex
	sent []sent
}

func (w *witness) asked() []sent {
	w.mu.Lock()
	defer w.mu.Unlock()
	return slices.Clone(w.sent)
}

func startWitness(t *testing.T, change ...func(*setup)) *witness {
	t.Helper()
	w := new(witness)
	w.gateway = startGateway(t, append([]func(*setup){func(s *setup) {
		d := &s.Declared
		at := slices.IndexFunc(d.Providers, func(p catalog.Provider) bool { return p.ID == "works" })
		origin := strings.TrimSuffix(d.Providers[at].BaseURL, "/v1")
		conformanceCatalog(t, d, origin)
		d.Offers = slices.DeleteFunc(d.Offers, func(o catalog.Offer) bool { return o.Provider == "closed" || strings.Contains(o.UpstreamID, "@fault=") })
		for _, p := range []string{"closed", "translated"} {
			d.Providers = slices.DeleteFunc(d.Providers, func(x catalog.Provider) bool { return x.ID == p && p == "closed" })
		}
		d.Providers = append(d.Providers, catalog.Provider{ID: "closed", Name: "closed", Dialect: "openai", BaseURL: origin + "/v1"})
		declareTasks(t, d, slices.Concat(embedders, moderators, rerankers)...)
		declarePainters(t, d, painters)
		declareListeners(t, d)
		declareSpeakers(t, d)
		var videos []string
		for i := range videoWires {
			f := &videoWires[i]
			key := f.key
			if key == "" {
				key = "sk-upstream-key"
			}
			id, slug := "film-"+f.name, "film-"+f.name+"/works"
			d.Providers = append(d.Providers, catalog.Provider{ID: id, Name: id, Dialect: f.dialect, BaseURL: origin + f.base, Key: key, Quirks: f.quirks})
			d.Models = append(d.Models, catalog.ModelInfo{Slug: slug, Type: catalog.TypeVideo, Video: &catalog.VideoFacts{Durations: []int{f.seconds}, Resolutions: []string{f.resolution}, AspectRatios: []string{"16:9"}}})
			d.Offers = append(d.Offers, matrixOffer(t, id, slug, f.model))
			videos = append(videos, slug)
		}
		w.outlets = outletsOf(videos)
		to, err := url.Parse(origin)
		if err != nil {
			t.Fatal(err)
		}
		proxy := httputil.NewSingleHostReverseProxy(to)
		server := &http.Server{ReadHeaderTimeout: time.Minute, Handler: http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
			body, err := io.ReadAll(r.Body)
			if err != nil {
				return
			}
			w.mu.Lock()
			w.sent = append(w.sent, sent{r.URL.RequestURI(), r.Header.Clone(), body})
			w.mu.Unlock()
			r.Body = io.NopCloser(bytes.NewReader(body))
			proxy.ServeHTTP(rw, r)
		})}
		l := listen(t)
		go func() { _ = server.Serve(l) }()
		t.Cleanup(func() { _ = server.Close() })
		for i := range d.Providers {
			p := &d.Providers[i]
			p.BaseURL = strings.Replace(p.BaseURL, origin, "http://"+l.Addr().String(), 1)
		}
	}}, change...)...)
	return w
}

// outletsOf returns all routes that call models, each with a model of every dialect that serves it.
func outletsOf(videos []string) []outlet {
	var chats, embeds, judges, ranks, images, edits, hears []string
	for _, d := range append(slices.Clone(dialects), variants...) {
		chats = append(chats, d.name+"/chat")
	}
	for i := range embedders {
		embeds = append(embeds, embedders[i].slug(""))
	}
	for i := range moderators {
		judges = append(judges, moderators[i].slug(""))
	}
	for i := range rerankers {
		ranks = append(ranks, rerankers[i].slug(""))
	}
	for i := range painters {
		images = append(images, painters[i].slug(""))
		if painters[i].edits {
			edits = append(edits, painters[i].slug(""))
		}
	}
	for i := range listeners {
		hears = append(hears, listeners[i].at(""))
	}
	voices, says := map[string]string{}, []string(nil)
	for i := range speakers {
		says = append(says, speakers[i].at(""))
		voices[speakers[i].at("")] = speakers[i].voice
	}
	said := []any{map[string]any{"role": "user", "content": "Over the weir"}}
	png := "data:image/png;base64," + tinyPNG
	contents := []any{map[string]any{"parts": []any{map[string]any{"text": "Over the weir"}}}}
	return []outlet{
		{route: "/v1beta/models/{vendor}/{model}:generateContent", models: chats, fields: map[string]any{"contents": contents}},
		{route: "/v1beta/models/{vendor}/{model}:streamGenerateContent", models: chats, fields: map[string]any{"contents": contents}},
		{route: "/v1beta/models/{vendor}/{model}:countTokens", models: chats, fields: map[string]any{"contents": contents}},
		{route: "/v1beta/models/{vendor}/{model}:embedContent", models: embeds, fields: map[string]any{"content": contents[0]}},
		{route: "/v1beta/models/{vendor}/{model}:batchEmbedContents", models: embeds, fields: map[string]any{"requests": []any{map[string]any{"content": contents[0]}}}},
		{route: "/v1/chat/completions", models: chats, fields: map[string]any{"messages": said}},
		{route: "/v1/responses", models: chats, fields: map[string]any{"input": "Over the weir"}},
		{route: "/v1/responses/input_tokens", models: chats, fields: map[string]any{"input": "Over the weir"}},
		{route: "/v1/messages", models: chats, fields: map[string]any{"messages": said, "max_tokens": 64}},
		{route: "/v1/messages/count_tokens", models: chats, fields: map[string]any{"messages": said}},
		{route: "/v1/embeddings", models: embeds, fields: map[string]any{"input": "Over the weir"}},
		{route: "/v1/moderations", models: judges, fields: map[string]any{"input": "Over the weir"}},
		{route: "/v1/rerank", models: ranks, fields: map[string]any{"query": "weir", "documents": []string{"a", "b"}}},
		{route: "/v1/images", models: images, fields: map[string]any{"prompt": "A weir"}},
		{route: "/v1/images/generations", models: images, fields: map[string]any{"prompt": "A weir"}},
		{route: "/v1/images/edits", models: edits, fields: map[string]any{"prompt": "A weir", "images": []any{map[string]any{"image_url": png}}}},
		{route: "/v1/images/edits", models: edits, form: formFields("prompt", "A weir", "image", png)},
		{route: "/v1/audio/transcriptions", models: hears, form: []part{{"file", "speech.wav", string(wave(10 * time.Second))}}},
		{route: "/v1/audio/speech", models: says, fields: map[string]any{"input": spokenText}, voices: voices},
		{route: "/v1/videos", models: videos, fields: map[string]any{"prompt": "A weir"}},
		{route: "/v1/route/explain", models: chats[:1], fields: map[string]any{"messages": said}},
	}
}

// tinyPNG is an image of one pixel.
const tinyPNG = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="

// counts returns the routes that can answer without calling a provider.
func counts(route string) bool {
	return strings.HasSuffix(route, "_tokens") || strings.HasSuffix(route, ":countTokens") || route == "/v1/route/explain"
}

// batched are the routes that take requests for other routes: each is carried out by that route's handler, with all that holds there.
var batched = []string{"/v1/files", "/v1/batches", "/v1/messages/batches"}

// Every route that calls models is among the outlets, so that a new one is not forgotten here.
func TestOutletsAreComplete(t *testing.T) {
	t.Parallel()
	have := map[string]bool{}
	for _, s := range outletsOf(nil) {
		have[s.route] = true
	}
	for _, r := range httpapi.New(httpapi.Deps{Now: time.Now}, httpapi.Config{}).Routes() {
		if r.Method == http.MethodPost && (strings.HasPrefix(r.Pattern, "/v1/") || strings.HasPrefix(r.Pattern, "/v1beta/models/{vendor}")) && r.Pattern != "/v1/keys" && !strings.HasSuffix(r.Pattern, "/cancel") && !slices.Contains(batched, r.Pattern) && !have[r.Pattern] {
			t.Errorf("%s is no outlet of these tests", r.Pattern)
		}
	}
}

// wishes are preferences that no provider of these tests meets, with the filter named in the refusal.
var wishes = []struct {
	value map[string]any
	by    string
}{
	{map[string]any{"only": []string{"nobody"}}, "only"},
	{map[string]any{"zdr": true}, "zdr"},
	{map[string]any{"data_collection": "deny"}, "data_collection"},
	{map[string]any{"quantizations": []string{"int4"}}, "quantizations"},
}

// Preferences hold on every route and dialect, whether they are in the body, at the key or at the account. If no provider meets them, none
// is called, and the error names the reason.
func TestPreferencesEverywhere(t *testing.T) {
	t.Parallel()
	w := startWitness(t)
	a := w.newAccount(t)
	callers := []struct {
		*account
		at string // where the wish is set
	}{{a, "body"}, {w.withDefaults(t, `{"zdr":true}`, ""), "key"}, {w.withDefaults(t, "", `{"zdr":true}`), "account"}}
	for i := range w.outlets {
		s := &w.outlets[i]
		for j := range s.models {
			model := s.models[j]
			for k := range len(wishes) + len(callers) - 1 {
				caller, wish := callers[max(k-len(wishes)+1, 0)], wishes[1]
				more := map[string]any{}
				if caller.account == a {
					wish = wishes[k]
					more["provider"] = wish.value
				}
				before := len(w.asked())
				got := s.send(t, caller.account, model, more)
				name := fmt.Sprintf("%s of %s with %v at the %s", s.route, model, wish.value, caller.at)
				if counts(s.route) {
					if s.route == "/v1/route/explain" && !bytes.Contains(got.body, []byte(`"`+wish.by+`"`)) {
						t.Errorf("%s: %s", name, got.body)
					}
				} else if got.status != http.StatusNotFound || !bytes.Contains(got.body, []byte(wish.by)) {
					t.Errorf("%s: %d %.300s", name, got.status, got.body)
				}
				if n := len(w.asked()) - before; n != 0 {
					t.Errorf("%s: %d upstream requests", name, n)
				}
			}
		}
	}
	a.wantSpent(t, false)
}

// withDefaults makes a user and a key with default preferences.
func (gw *gateway) withDefaults(t *testing.T, ofKey, ofAccount string) *account {
	t.Helper()
	office, by := gw.node.Office(), audit.Actor{Name: "test"}
	u, err := office.Users.Create(t.Context(), "user with preferences", by)
	if err != nil {
		t.Fatal(err)
	}
	if err := office.Users.SetPreferences(t.Context(), u.ID, ofAccount, by); err != nil {
		t.Fatal(err)
	}
	if _, err := office.TopUp(t.Context(), u, 100*money.Ruble, "", by); err != nil {
		t.Fatal(err)
	}
	_, text, err := office.Keys.Create(t.Context(), apikey.NewKey{Name: "test", User: u.ID, Creator: u.ID, Preferences: ofKey}, by)
	if err != nil {
		t.Fatal(err)
	}
	return &account{gw: gw, key: text}
}

// Fields for the gateway reach no provider, on any route.
func TestGatewayFieldsAreNotForwarded(t *testing.T) {
	t.Parallel()
	w := startWitness(t)
	for i := range w.outlets {
		s := &w.outlets[i]
		for _, model := range s.models {
			more := map[string]any{"provider": map[string]any{"sort": "price", "allow_fallbacks": true}, "models": []string{model}, "route": "fallback", "session_id": "s-1",
				"trace": map[string]any{"id": "t"}, "debug": map[string]any{"echo": true}, "usage": map[string]any{"include": true}, "plugins": []any{}, "transforms": []any{}}
			if s.route == "/v1/videos" { // refuses fields that the model does not declare
				more = map[string]any{"provider": map[string]any{"sort": "price"}}
			}
			a := w.newAccount(t) // a user may have few jobs at a time
			before := len(w.asked())
			got := s.send(t, a, model, more)
			if s.route == "/v1/videos" {
				waitFor(t, "the job to reach its provider", func() bool { return len(w.asked()) > before })
			}
			if got.status/100 != 2 {
				t.Errorf("%s of %s: %d %.300s", s.route, model, got.status, got.body)
			}
			asked := w.asked()[before:]
			if len(asked) == 0 && !counts(s.route) {
				t.Errorf("%s of %s: no provider was called", s.route, model)
			}
			for _, is := range asked {
				for _, name := range completion.GatewayFields() {
					if rawjson.Valid(is.body) && rawjson.Find(is.body, name) != nil || bytes.Contains(is.body, []byte(`name="`+name)) {
						t.Errorf("%s of %s: %s of %s went to the provider: %.300s", s.route, model, name, is.path, is.body)
					}
				}
			}
		}
	}
}

// camelOf is a name as the Gemini style shows it.
func camelOf(name string) string {
	var b strings.Builder
	for i := 0; i < len(name); i++ {
		if name[i] == '_' && i > 0 && i+1 < len(name) && name[i+1] >= 'a' && name[i+1] <= 'z' {
			i++
			b.WriteByte(name[i] - 'a' + 'A')
		} else {
			b.WriteByte(name[i])
		}
	}
	return b.String()
}

// A field that would send a request elsewhere, with other credentials or at another price, is refused by name on every route, and no
// provider is called.
func TestDiversionsAreRefused(t *testing.T) {
	t.Parallel()
	w := startWitness(t)
	a := w.newAccount(t)
	for i := range w.outlets {
		s := &w.outlets[i]
		model := s.models[0]
		refused := func(field string, more map[string]any) {
			got := s.send(t, a, model, more)
			if got.status != http.StatusBadRequest || !bytes.Contains(got.body, []byte(field)) && !bytes.Contains(got.body, []byte(camelOf(field))) {
				t.Errorf("%s with %s: %d %.300s", s.route, field, got.status, got.body)
			}
		}
		for _, field := range completion.DivertingFields() {
			if s.route == "/v1/videos" && field == "callback_url" {
				continue
			}
			refused(field, map[string]any{field: "http://evil.test/"})
		}
		for _, field := range []string{"api_key", "api_base", "user_api_key", "litellm_call_id"} {
			refused("metadata."+field, map[string]any{"metadata": map[string]any{field: "x"}})
		}
		refused("provider.options.gpt.api_base", map[string]any{"provider": map[string]any{"options": map[string]any{"gpt": map[string]any{"api_base": "x"}}}})
		refused("image_config.base_url", map[string]any{"image_config": map[string]any{"base_url": "x"}})
		if s.inForm() {
			refused("extra_headers[Authorization]", map[string]any{"extra_headers[Authorization]": "x"})
			refused("metadata.api_key", map[string]any{"metadata[api_key]": "x"})
		}
	}
	if asked := w.asked(); len(asked) > 0 {
		t.Errorf("%d upstream requests, the first %s", len(asked), asked[0].path)
	}
	a.wantSpent(t, false)
}
