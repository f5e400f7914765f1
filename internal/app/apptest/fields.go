package apptest

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
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
	"weir/internal/money"
)

// Outlet is a route that calls models, with models that serve it.
type Outlet struct {
	Route  string
	Models []string          // one of each dialect
	Fields map[string]any    // of a request, without the model
	voices map[string]string // by model
	form   []Part            // instead of fields, if the request is a form
}

// InForm reports whether the request is a form.
func (s *Outlet) InForm() bool { return s.form != nil }

// Send sends a request with additional fields.
func (s *Outlet) Send(t *testing.T, a *Account, model string, more map[string]any) *Answer {
	t.Helper()
	if !s.InForm() {
		route, body := s.Route, map[string]any{"model": model}
		if strings.HasPrefix(route, "/v1beta/") { // the model is part of the address
			route, body = strings.Replace(route, "{vendor}/{model}", model, 1), map[string]any{}
		}
		for name, value := range s.Fields {
			body[name] = value
		}
		if voice := s.voices[model]; voice != "" {
			body["voice"] = voice
		}
		for name, value := range more {
			body[name] = value
		}
		return a.Do(t, http.MethodPost, route, body)
	}
	parts := append(FormFields("model", model), s.form...)
	for name, value := range more {
		text, ok := value.(string)
		if !ok {
			b, err := json.Marshal(value)
			if err != nil {
				t.Fatal(err)
			}
			text = string(b)
		}
		parts = append(parts, Part{Name: name, Value: text})
	}
	body, contentType := form(t, parts...)
	return a.Send(t, http.MethodPost, s.Route, body, map[string]string{"Content-Type": contentType})
}

// witness is a gateway with all wires, whose providers record their requests.
type witness struct {
	*Gateway
	Outlets []Outlet

	mu   sync.Mutex
	sent []Sent
}

func (w *witness) Asked() []Sent {
	w.mu.Lock()
	defer w.mu.Unlock()
	return slices.Clone(w.sent)
}

func StartWitness(t *testing.T, change ...func(*Setup)) *witness {
	t.Helper()
	w := new(witness)
	w.Gateway = StartGateway(t, append([]func(*Setup){func(s *Setup) {
		d := &s.Declared
		at := slices.IndexFunc(d.Providers, func(p catalog.Provider) bool { return p.ID == "works" })
		origin := strings.TrimSuffix(d.Providers[at].BaseURL, "/v1")
		conformanceCatalog(t, d, origin)
		d.Offers = slices.DeleteFunc(d.Offers, func(o catalog.Offer) bool { return o.Provider == "closed" || strings.Contains(o.UpstreamID, "@fault=") })
		for _, p := range []string{"closed", "translated"} {
			d.Providers = slices.DeleteFunc(d.Providers, func(x catalog.Provider) bool { return x.ID == p && p == "closed" })
		}
		d.Providers = append(d.Providers, catalog.Provider{ID: "closed", Name: "closed", Dialect: "openai", BaseURL: origin + "/v1"})
		DeclareTasks(t, d, slices.Concat(Embedders, Moderators, Rerankers)...)
		DeclarePainters(t, d, Painters)
		DeclareListeners(t, d)
		DeclareSpeakers(t, d)
		var videos []string
		for i := range VideoWires {
			f := &VideoWires[i]
			key := f.Key
			if key == "" {
				key = "sk-upstream-key"
			}
			id, slug := "film-"+f.Name, "film-"+f.Name+"/works"
			d.Providers = append(d.Providers, catalog.Provider{ID: id, Name: id, Dialect: f.Dialect, BaseURL: origin + f.Base, Key: key, Quirks: f.Quirks})
			d.Models = append(d.Models, catalog.ModelInfo{Slug: slug, Type: catalog.TypeVideo, Video: &catalog.VideoFacts{Durations: []int{f.Seconds}, Resolutions: []string{f.Resolution}, AspectRatios: []string{"16:9"}}})
			d.Offers = append(d.Offers, MatrixOffer(t, id, slug, f.Model))
			videos = append(videos, slug)
		}
		w.Outlets = OutletsOf(videos)
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
			w.sent = append(w.sent, Sent{r.URL.RequestURI(), r.Header.Clone(), body})
			w.mu.Unlock()
			r.Body = io.NopCloser(bytes.NewReader(body))
			proxy.ServeHTTP(rw, r)
		})}
		l := Listen(t)
		go func() { _ = server.Serve(l) }()
		t.Cleanup(func() { _ = server.Close() })
		for i := range d.Providers {
			p := &d.Providers[i]
			p.BaseURL = strings.Replace(p.BaseURL, origin, "http://"+l.Addr().String(), 1)
		}
	}}, change...)...)
	return w
}

// OutletsOf returns all routes that call models, each with a model of every dialect that serves it.
func OutletsOf(videos []string) []Outlet {
	var chats, embeds, judges, ranks, images, edits, hears, translates []string
	for _, d := range append(slices.Clone(Dialects), variants...) {
		chats = append(chats, d.Name+"/chat")
	}
	for i := range Embedders {
		embeds = append(embeds, Embedders[i].Slug(""))
	}
	for i := range Moderators {
		judges = append(judges, Moderators[i].Slug(""))
	}
	for i := range Rerankers {
		ranks = append(ranks, Rerankers[i].Slug(""))
	}
	for i := range Painters {
		images = append(images, Painters[i].Slug(""))
		if Painters[i].Edits {
			edits = append(edits, Painters[i].Slug(""))
		}
	}
	for i := range Listeners {
		hears = append(hears, Listeners[i].At(""))
		if Listeners[i].Translates() {
			translates = append(translates, Listeners[i].At(""))
		}
	}
	voices, says := map[string]string{}, []string(nil)
	for i := range Speakers {
		says = append(says, Speakers[i].At(""))
		voices[Speakers[i].At("")] = Speakers[i].voice
	}
	said := []any{map[string]any{"role": "user", "content": "Over the weir"}}
	png := "data:image/png;base64," + tinyPNG
	contents := []any{map[string]any{"parts": []any{map[string]any{"text": "Over the weir"}}}}
	return []Outlet{
		{Route: "/v1beta/models/{vendor}/{model}:generateContent", Models: chats, Fields: map[string]any{"contents": contents}},
		{Route: "/v1beta/models/{vendor}/{model}:streamGenerateContent", Models: chats, Fields: map[string]any{"contents": contents}},
		{Route: "/v1beta/models/{vendor}/{model}:countTokens", Models: chats, Fields: map[string]any{"contents": contents}},
		{Route: "/v1beta/models/{vendor}/{model}:embedContent", Models: embeds, Fields: map[string]any{"content": contents[0]}},
		{Route: "/v1beta/models/{vendor}/{model}:batchEmbedContents", Models: embeds, Fields: map[string]any{"requests": []any{map[string]any{"content": contents[0]}}}},
		{Route: "/v1/chat/completions", Models: chats, Fields: map[string]any{"messages": said}},
		{Route: "/v1/responses", Models: chats, Fields: map[string]any{"input": "Over the weir"}},
		{Route: "/v1/responses/compact", Models: chats, Fields: map[string]any{"input": "Over the weir"}},
		{Route: "/v1/completions", Models: chats, Fields: map[string]any{"prompt": "Over the weir"}},
		{Route: "/v1/responses/input_tokens", Models: chats, Fields: map[string]any{"input": "Over the weir"}},
		{Route: "/v1/messages", Models: chats, Fields: map[string]any{"messages": said, "max_tokens": 64}},
		{Route: "/v1/messages/count_tokens", Models: chats, Fields: map[string]any{"messages": said}},
		{Route: "/v1/embeddings", Models: embeds, Fields: map[string]any{"input": "Over the weir"}},
		{Route: "/v1/moderations", Models: judges, Fields: map[string]any{"input": "Over the weir"}},
		{Route: "/v1/rerank", Models: ranks, Fields: map[string]any{"query": "weir", "documents": []string{"a", "b"}}},
		{Route: "/v1/images", Models: images, Fields: map[string]any{"prompt": "A weir"}},
		{Route: "/v1/images/generations", Models: images, Fields: map[string]any{"prompt": "A weir"}},
		{Route: "/v1/images/edits", Models: edits, Fields: map[string]any{"prompt": "A weir", "images": []any{map[string]any{"image_url": png}}}},
		{Route: "/v1/images/edits", Models: edits, form: FormFields("prompt", "A weir", "image", png)},
		{Route: "/v1/images/variations", Models: edits, form: FormFields("image", png)},
		{Route: "/v1/audio/translations", Models: translates, form: []Part{{"file", "speech.wav", string(Wave(10 * time.Second))}}},
		{Route: "/v1/audio/transcriptions", Models: hears, form: []Part{{"file", "speech.wav", string(Wave(10 * time.Second))}}},
		{Route: "/v1/audio/speech", Models: says, Fields: map[string]any{"input": SpokenText}, voices: voices},
		{Route: "/v1/videos", Models: videos, Fields: map[string]any{"prompt": "A weir"}},
		{Route: "/v1/route/explain", Models: chats[:1], Fields: map[string]any{"messages": said}},
	}
}

// tinyPNG is an image of one pixel.
const tinyPNG = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="

// PNG is that image as a file.
func PNG(t *testing.T) string {
	t.Helper()
	b, err := base64.StdEncoding.DecodeString(tinyPNG)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// WithDefaults makes a user and a key with default preferences.
func (gw *Gateway) WithDefaults(t *testing.T, ofKey, ofAccount string) *Account {
	t.Helper()
	admin, by := gw.Node.Admin(), audit.Actor{Name: "test"}
	u, err := admin.Users.Create(t.Context(), "user with preferences", by)
	if err != nil {
		t.Fatal(err)
	}
	if err := admin.Users.SetPreferences(t.Context(), u.ID, ofAccount, by); err != nil {
		t.Fatal(err)
	}
	if _, err := admin.TopUp(t.Context(), u, 100*money.Ruble, "", by); err != nil {
		t.Fatal(err)
	}
	_, text, err := admin.Keys.Create(t.Context(), apikey.NewKey{Name: "test", User: u.ID, Creator: u.ID, Preferences: ofKey}, by)
	if err != nil {
		t.Fatal(err)
	}
	return &Account{Gw: gw, Key: text}
}
