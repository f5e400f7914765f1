package update_test

import (
	"bytes"
	"compress/gzip"
	"context"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"math/big"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"testing/fstest"
	"time"

	"weir/internal/catalog/builtin"
	"weir/internal/catalog/edit"
	"weir/internal/catalog/update"
	"weir/internal/fault"
	"weir/internal/rawjson"
)

// small is the lists with the models of one provider, which are soon imported; good is the list that is made of them.
var small = sync.OnceValue(func() map[string][]byte {
	out := map[string][]byte{}
	for path, f := range lists() {
		out[path] = []byte("{}")
		switch path {
		case "portkey-models/pricing/openai.json":
			out[path] = f.Data
		case "genai-prices/data.json":
			out[path] = []byte("[]")
		case modelsDev:
			out[path] = append(append([]byte(`{"openai":`), rawjson.Find(f.Data, "openai")...), '}')
		case liteLLM:
			b := []byte("{")
			for m := rawjson.MembersOf(f.Data); m.Next(); {
				if rawjson.TextAt(m.Value, "litellm_provider") == "openai" {
					if len(b) > 1 {
						b = append(b, ',')
					}
					b = append(append(rawjson.AppendText(b, string(m.Name)), ':'), m.Value...)
				}
			}
			out[path] = append(b, '}')
		}
	}
	return out
})

// lists are the lists of the repository, unpacked.
var lists = sync.OnceValue(func() fstest.MapFS {
	out := fstest.MapFS{}
	root := os.DirFS(filepath.Join("..", "sources"))
	err := fs.WalkDir(root, ".", func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || !strings.HasSuffix(path, ".json.gz") {
			return err
		}
		packed, err := fs.ReadFile(root, path)
		if err != nil {
			return err
		}
		r, err := gzip.NewReader(bytes.NewReader(packed))
		if err != nil {
			return err
		}
		data, err := io.ReadAll(r)
		out[strings.TrimSuffix(path, ".gz")] = &fstest.MapFile{Data: data}
		return err
	})
	if err != nil {
		panic(err)
	}
	return out
})

// day is after the newest of them.
var day = time.Date(2026, 9, 1, 12, 0, 0, 0, time.UTC)

// server serves lists, and counts how it answers.
type server struct {
	*httptest.Server
	mu     sync.Mutex
	files  map[string][]byte
	odd    map[string]http.HandlerFunc // instead of a file
	status map[int]int
}

func serve(t *testing.T) *server {
	t.Helper()
	s := &server{files: maps.Clone(small()), odd: map[string]http.HandlerFunc{}, status: map[int]int{}}
	s.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		path := strings.TrimPrefix(r.URL.Path, "/")
		s.mu.Lock()
		data, odd := s.files[path], s.odd[path]
		s.mu.Unlock()
		status := http.StatusOK
		tag := fmt.Sprintf(`"%d"`, len(data))
		switch {
		case odd != nil:
			odd(w, r)
			return
		case data == nil:
			status = http.StatusNotFound
		case r.Header.Get("If-None-Match") == tag && r.Header.Get("If-Modified-Since") == "Tue, 01 Sep 2026 00:00:00 GMT":
			status = http.StatusNotModified
		}
		s.mu.Lock()
		s.status[status]++
		s.mu.Unlock()
		w.Header().Set("ETag", tag)
		w.Header().Set("Last-Modified", "Tue, 01 Sep 2026 00:00:00 GMT")
		w.WriteHeader(status)
		if status == http.StatusOK {
			_, _ = w.Write(data)
		}
	}))
	t.Cleanup(s.Close)
	return s
}

func (s *server) replace(path string, change func(string) string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.files[path] = []byte(change(string(s.files[path])))
}

func (s *server) updater(t *testing.T, dir string, change func(*update.Config)) *update.Updater {
	t.Helper()
	cfg := update.Config{
		Dir: dir, Timeout: time.Minute, MaxBytes: 8 << 20, Now: func() time.Time { return day },
		Lists: update.Lists{
			ModelsDev: s.URL + "/" + modelsDev, LiteLLM: s.URL + "/" + liteLLM, Portkey: s.URL + "/portkey-models/pricing/{file}.json", GenAIPrices: s.URL + "/genai-prices/data.json",
		},
		Bounds: update.Bounds{Drop: "0.2", Rise: "1", Gone: "0.1", New: "0.5"},
	}
	if change != nil {
		change(&cfg)
	}
	return update.New(cfg)
}

const (
	modelsDev = "models-dev/providers.json"
	liteLLM   = "litellm/model_prices_and_context_window.json"
)

// memory keeps published lists in memory.
type memory struct {
	now  update.Published
	last *edit.Import
}

func (s *memory) Import(_ context.Context, i *edit.Import) error {
	s.last = i
	return nil
}

func (s *memory) LastImport(context.Context) (*edit.Import, error) { return s.last, nil }

func (s *memory) Published(context.Context) (update.Published, error) { return s.now, nil }

func (s *memory) Publish(_ context.Context, choose func(update.Published) (*update.Choice, error)) error {
	c, err := choose(s.now)
	if err == nil && c != nil {
		s.now.Last = c.List.Data()
		if c.Approved {
			s.now.Approved = s.now.Last
		}
	}
	return err
}

func current(t *testing.T, u *update.Updater) *builtin.List {
	t.Helper()
	list, err := u.Current(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return list
}

// A second fetch moves no list; a draft without most providers needs an operator; what is published is in use.
func TestFetchAndPublish(t *testing.T) {
	t.Parallel()
	s, dir := serve(t), t.TempDir()
	u := s.updater(t, dir, func(c *update.Config) { c.Store = &memory{} })
	d, err := u.Fetch(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	fetched := s.status[http.StatusOK]
	if len(d.Changes.New) > 0 || len(d.Changes.Gone) < 500 || len(d.Changes.Changed) > 10 || u.Beyond(&d) == "" || d.AsOf != "2026-09-01" || fetched < 20 {
		t.Errorf("draft has %d new, %d gone, as of %s; %v", len(d.Changes.New), len(d.Changes.Gone), d.AsOf, s.status)
	}
	if _, err := u.Fetch(t.Context()); err != nil || s.status[http.StatusNotModified] != fetched || s.status[http.StatusOK] != fetched {
		t.Errorf("second fetch: %v, %v", err, s.status)
	}
	if current(t, u) != builtin.Embedded() {
		t.Error("a draft is in use")
	}
	if _, err := u.Publish(t.Context()); err != nil {
		t.Fatal(err)
	}
	if got := current(t, u); got.Version != d.List {
		t.Errorf("in use is %s; want %s", got.Version, d.List)
	}
	if _, err := u.Publish(t.Context()); !fault.Is(err, fault.NotFound) {
		t.Errorf("a draft is published twice: %v", err)
	}
}

// Without a network a folder serves, compressed or not.
func TestReadFolder(t *testing.T) {
	t.Parallel()
	u := update.New(update.Config{Dir: t.TempDir(), Now: time.Now})
	d, err := u.Read(t.Context(), os.DirFS(filepath.Join("..", "sources")), time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC))
	if err != nil || len(d.Changes.New)+len(d.Changes.Gone)+len(d.Changes.Changed) > 0 || d.List != builtin.Embedded().Version {
		t.Errorf("%+v, %v", d.Changes, err)
	}
	if _, err := u.Read(t.Context(), fstest.MapFS{}, day); !fault.Is(err, fault.Invalid) {
		t.Errorf("an empty folder: %v", err)
	}
}

// A server that fails later leaves the list that was fetched before; the draft is as old as that.
func TestListThatFailsLater(t *testing.T) {
	t.Parallel()
	s, dir := serve(t), t.TempDir()
	if _, err := s.updater(t, dir, nil).Fetch(t.Context()); err != nil {
		t.Fatal(err)
	}
	s.odd[liteLLM] = func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusBadGateway) }
	later := func(c *update.Config) { c.Now = func() time.Time { return day.AddDate(0, 0, 9) } }
	d, err := s.updater(t, dir, later).Fetch(t.Context())
	if err != nil || !strings.Contains(strings.Join(d.Notes, "\n"), liteLLM+" is of 2026-09-01: status 502") || d.AsOf != "2026-09-01" {
		t.Errorf("%v, %v, %v", d.Notes, d.List, err)
	}
}

// good is the list that is made of the small ones.
func good(t *testing.T) []byte {
	t.Helper()
	dir := fstest.MapFS{}
	for path, data := range small() {
		dir[path] = &fstest.MapFile{Data: data}
	}
	d, err := update.New(update.Config{Dir: t.TempDir(), Now: time.Now}).Read(t.Context(), dir, day)
	if err != nil {
		t.Fatal(err)
	}
	return d.Data
}

// The lists of a good server may be published without an operator.
func TestUnchangedListsAreWithinBounds(t *testing.T) {
	t.Parallel()
	u := serve(t).updater(t, t.TempDir(), func(c *update.Config) { c.Store = &memory{now: update.Published{Last: good(t)}} })
	if d, err := u.Fetch(t.Context()); err != nil || u.Beyond(&d) != "" || len(d.Changes.Changed) > 0 {
		t.Errorf("%v, %v", d.Changes, err)
	}
}

// Prices that fall a little every day stop where an operator would have been asked at once; an operator's word is the new beginning.
func TestPricesDoNotDrift(t *testing.T) {
	t.Parallel()
	list := string(good(t))
	store := &memory{now: update.Published{Last: []byte(list), Approved: []byte(list)}}
	u := update.New(update.Config{Dir: t.TempDir(), Store: store, Now: time.Now, Bounds: update.Bounds{Drop: "0.2", Rise: "1", Gone: "0.1", New: "0.1"}})
	const price = `"prompt":"2.5","completion":"15"`
	if !strings.Contains(list, price) {
		t.Fatal("the list lacks the price that falls")
	}
	draft := func(completion string) {
		t.Helper()
		text := strings.ReplaceAll(list, price, `"prompt":"2.5","completion":"`+completion+`"`)
		store.last = &edit.Import{Data: []byte(text)}
	}
	for _, completion := range []string{"14", "13", "12.5"} {
		draft(completion)
		if beyond, err := u.PublishWithinBounds(t.Context()); beyond != "" || err != nil {
			t.Fatalf("%s: %s, %v", completion, beyond, err)
		}
	}
	draft("11.9") // a little less than yesterday, and more than a fifth less than what an operator saw
	if beyond, err := u.PublishWithinBounds(t.Context()); !strings.Contains(beyond, "completion of openai") || err != nil {
		t.Errorf("beyond is %q, %v", beyond, err)
	}
	if _, err := u.Publish(t.Context()); err != nil {
		t.Fatal(err)
	}
	draft("11")
	if beyond, err := u.PublishWithinBounds(t.Context()); beyond != "" || err != nil {
		t.Errorf("after an operator: %s, %v", beyond, err)
	}
}

// A server that never ends its answer takes its part of the time, and no more: the other lists are fetched.
func TestSlowListLeavesTimeForOthers(t *testing.T) {
	t.Parallel()
	s, dir := serve(t), t.TempDir()
	if _, err := s.updater(t, dir, nil).Fetch(t.Context()); err != nil {
		t.Fatal(err)
	}
	before := s.status[http.StatusNotModified]
	s.odd["genai-prices/data.json"] = func(w http.ResponseWriter, r *http.Request) { // the first of all
		_, _ = w.Write([]byte("["))
		w.(http.Flusher).Flush()
		<-r.Context().Done()
	}
	d, err := s.updater(t, dir, func(c *update.Config) { c.Timeout = 40 * time.Second }).Fetch(t.Context())
	if err != nil || len(d.Notes) != 1 || !strings.Contains(d.Notes[0], "genai-prices/data.json is of 2026-09-01") || s.status[http.StatusNotModified] == before {
		t.Errorf("%v, %v", d.Notes, err)
	}
}

// What a hostile or broken server sends leaves the prices as they are: the update fails, or its draft is beyond the bounds and has no price of zero.
func TestHostileLists(t *testing.T) {
	t.Parallel()
	number := func(instead string) func(string) string { // in place of every price of models-dev and litellm
		return func(list string) string {
			var b strings.Builder
			for _, name := range []string{`"input":`, `"output":`, `cost_per_token":`} {
				b.Reset()
				rest := list
				for {
					before, after, found := strings.Cut(rest, name)
					b.WriteString(before)
					if !found {
						break
					}
					b.WriteString(name)
					trimmed := strings.TrimLeft(after, " ")
					if trimmed != "" && trimmed[0] >= '0' && trimmed[0] <= '9' {
						after = instead + strings.TrimLeft(trimmed, "0123456789.eE-+")
					}
					rest = after
				}
				list = b.String()
			}
			return list
		}
	}
	whole := func(text string) func(string) string { return func(string) string { return text } }
	many := func(n int, id string) func(string) string {
		return func(string) string {
			var b strings.Builder
			b.WriteString(`{"openai":{"models":{`)
			for i := range n {
				if i > 0 {
					b.WriteByte(',')
				}
				fmt.Fprintf(&b, `"%s%d":{"cost":{"input":1,"output":1}}`, id, i)
			}
			b.WriteString(`}}}`)
			return b.String()
		}
	}
	for name, change := range map[string]func(string) string{
		"zero": number("0"), "negative": number("-1"), "huge price": number("1e300"), "less huge price": number("1e25"), "text": number(`"free"`),
		"no JSON": whole(`{"openai":`), "an array": whole(`[1]`), "empty": whole(``), "null": whole(`null`), "deep": whole(strings.Repeat("[", 100_000) + strings.Repeat("]", 100_000)),
		"many models": many(30_000, "m"), "a page": whole("<html>"), "endless context": func(list string) string {
			return strings.ReplaceAll(list, `"context":`, `"context":9000000000000000000,"was":`)
		}, "control characters": many(10, `\u001b[2J\u0000\n`), "long names": many(10, strings.Repeat("x", 10_000)),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s, dir := serve(t), t.TempDir()
			s.replace(modelsDev, change)
			if !strings.Contains(name, "models") && !strings.Contains(name, "names") && !strings.Contains(name, "characters") {
				s.replace(liteLLM, change)
			}
			u := s.updater(t, dir, func(c *update.Config) { c.Store = &memory{now: update.Published{Last: good(t)}} })
			before := current(t, u).Version
			d, err := u.Fetch(t.Context())
			if err == nil && u.Beyond(&d) == "" {
				t.Errorf("would be published: %d new, %d gone, %d changed", len(d.Changes.New), len(d.Changes.Gone), len(d.Changes.Changed))
			}
			if err != nil && !fault.Is(err, fault.Invalid) {
				t.Errorf("error is %v", err)
			}
			if err == nil && (bytes.ContainsAny(d.Data, "\x00\x1b") || bytes.Contains(d.Data, []byte(`\u001b`))) {
				t.Error("control characters are in the draft")
			}
			if current(t, u).Version != before {
				t.Error("another list is in use")
			}
		})
	}
}

// A body is bounded in bytes, also when it is compressed, and in time.
func TestBounds(t *testing.T) {
	t.Parallel()
	stop := make(chan struct{})
	defer close(stop)
	for name, odd := range map[string]http.HandlerFunc{
		"endless": func(w http.ResponseWriter, _ *http.Request) {
			for range 3 {
				_, _ = w.Write(bytes.Repeat([]byte(" "), 1<<20))
			}
		},
		"compressed": func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Encoding", "gzip")
			z := gzip.NewWriter(w)
			_, _ = z.Write(bytes.Repeat([]byte(" "), 3<<20))
			_ = z.Close()
		},
		"cut": func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Length", "100")
			_, _ = w.Write([]byte("{"))
		},
		"redirect": func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, "http://192.0.2.1/", http.StatusFound)
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := serve(t)
			s.odd[modelsDev] = odd
			_, err := s.updater(t, t.TempDir(), func(c *update.Config) { c.MaxBytes = 2 << 20 }).Fetch(t.Context())
			if !fault.Is(err, fault.Invalid) || !strings.Contains(err.Error(), modelsDev) {
				t.Errorf("error is %v", err)
			}
		})
	}
	t.Run("slow", func(t *testing.T) {
		s := serve(t)
		ctx, cancel := context.WithCancel(t.Context())
		s.odd[modelsDev] = func(w http.ResponseWriter, r *http.Request) {
			_, _ = w.Write([]byte("{"))
			w.(http.Flusher).Flush()
			cancel() // as the end of the time does
			select {
			case <-stop:
			case <-r.Context().Done():
			}
		}
		if _, err := s.updater(t, t.TempDir(), nil).Fetch(ctx); !fault.Is(err, fault.Invalid) {
			t.Errorf("error is %v", err)
		}
	})
}

func TestChanges(t *testing.T) {
	t.Parallel()
	const before = `{"as_of":"2026-01-01","offers":{"a":[
		{"model":"v/one","id":"one","usd":{"prompt":"10","completion":"20","cache_read":"1"},"above":[{"tokens":1000,"usd":{"prompt":"20"}}],"flex":{"usd":{"prompt":"5"}}},
		{"model":"v/two","id":"two","context":1000,"usd":{"prompt":"1","request":"0.01"}},{"model":"v/gone","id":"gone","usd":{"prompt":"1"}},
		{"model":"v/clip","id":"clip","video":{"720p":"0.1"}}]}}`
	for _, c := range []struct {
		name, change, to string
		line, beyond     string
	}{
		{"nothing", "", "", "0 new, 0 gone, 0 prices changed\n", ""},
		{"small drop", `"prompt":"10"`, `"prompt":"9"`, "~ a one prompt: 10 -> 9 (-10.0 %)\n", ""},
		{"large drop", `"prompt":"10"`, `"prompt":"7"`, "~ a one prompt: 10 -> 7 (-30.0 %)\n", "prompt of a one changes by -30.0 %"},
		{"tiny drop", `"prompt":"10"`, `"prompt":"9.99"`, "1 prices changed by 1.0 % or less\n", ""},
		{"double", `"prompt":"10"`, `"prompt":"20"`, "(+100.0 %)", ""},
		{"tenfold", `"prompt":"10"`, `"prompt":"100"`, "(+900.0 %)", "changes by +900.0 %"},
		{"free", `"completion":"20"`, `"completion":"0"`, "20 -> 0 (-100.0 %)", "completion of a one"},
		{"fee gone", `,"request":"0.01"`, ``, "0.01 -> none (-100.0 %)", "request of a two"},
		{"cached price gone", `,"cache_read":"1"`, ``, "cache_read: 1 -> 10 (+900.0 %)", "cache_read of a one"},
		{"long prompts gone", `"above":[{"tokens":1000,"usd":{"prompt":"20"}}],`, ``, "prompt above 1000: 20 -> 10 (-50.0 %)", "prompt above 1000 of a one"},
		{"tier gone", `,"flex":{"usd":{"prompt":"5"}}`, ``, "0 prices changed", ""},
		{"tier cheaper", `"flex":{"usd":{"prompt":"5"}}`, `"flex":{"usd":{"prompt":"1"}}`, "flex prompt: 5 -> 1 (-80.0 %)", "flex prompt"},
		{"video", `"720p":"0.1"`, `"720p":"0.01"`, "video 720p: 0.1 -> 0.01 (-90.0 %)", "video 720p of a clip"},
		{"gone", `{"model":"v/gone","id":"gone","usd":{"prompt":"1"}},`, ``, "- a gone\n", "1 of 4 offers are gone"},
		{"longer context", `"context":1000`, `"context":9000`, "context: 1000 -> 9000", ""},
		{"shorter context", `"context":1000`, `"context":1`, "context: 1000 -> 1", "context of a two"},
		{"new", `{"model":"v/gone"`, `{"model":"v/new","id":"new","usd":{"prompt":"1"}},{"model":"v/gone"`, "+ a new\n", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			changes := update.Compare([]byte(before), []byte(strings.Replace(before, c.change, c.to, 1)))
			var b bytes.Buffer
			if err := changes.Print(&b, big.NewRat(1, 100)); err != nil || !strings.Contains(b.String(), c.line) {
				t.Errorf("printed %s; want %s", b.String(), c.line)
			}
			got := changes.Beyond(update.Bounds{Drop: "0.2", Rise: "1", Gone: "0.1", New: "0.5"})
			if (got == "") != (c.beyond == "") || !strings.Contains(got, c.beyond) {
				t.Errorf("beyond is %q; want %q", got, c.beyond)
			}
		})
	}
}

// A published list that is damaged, older than the program's, or no catalog leaves the program's in use.
func TestPublishedListIsChecked(t *testing.T) {
	t.Parallel()
	good := string(builtin.Embedded().Data())
	asOf := `"as_of": "` + builtin.Embedded().AsOf.Format(time.DateOnly)
	for name, c := range map[string]struct {
		data string
		used bool
		fail bool
	}{
		"newer": {strings.Replace(good, asOf, `"as_of": "2031-01-01`, 1), true, false}, "older": {strings.Replace(good, asOf, `"as_of": "2020-01-01`, 1), false, false},
		"cut": {good[:len(good)/2], false, true}, "empty": {"", false, true}, "no offers": {`{"as_of":"2031-01-01","models":{},"offers":{}}`, false, true},
		"negative": {`{"as_of":"2031-01-01","models":{"openai/x":{"name":"x"}},"offers":{"openai":[{"model":"openai/x","id":"x","context":9,"usd":{"prompt":"-1","completion":"1"}}]}}`, false, true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			list, err := update.Use([]byte(c.data))
			if (err != nil) != c.fail || (list != builtin.Embedded()) != c.used {
				t.Errorf("in use is %s of %s, %v", list.Version, list.AsOf, err)
			}
		})
	}
}

// ReadList reads any file without harm. A list that it accepts can be compared and served.
func FuzzReadList(f *testing.F) {
	f.Add([]byte(`{"as_of":"2026-01-01","models":{"openai/x":{"name":"x"}},"offers":{"openai":[{"model":"openai/x","id":"x","context":9,"usd":{"prompt":"1","completion":"1"},"hours":[{"from":"01:00","to":"02:00","usd":{"prompt":"2"}}]}]}}`))
	f.Add([]byte(`{"as_of":"2026-01-01","offers":{"openai":[{"above":[{"tokens":-1}],"retires":"x","video":{"":""},"images":[0]}]}}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		list, err := builtin.ReadList(data)
		if err != nil {
			if !fault.Is(err, fault.Invalid) {
				t.Fatal(err)
			}
			return
		}
		changes := update.Compare(builtin.Embedded().Data(), list.Data())
		if err := changes.Print(io.Discard, new(big.Rat)); err != nil {
			t.Fatal(err)
		}
		if _, err := list.Build(); err != nil {
			t.Fatal(err)
		}
	})
}
