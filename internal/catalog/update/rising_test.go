package update_test

import (
	"fmt"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"testing"

	"weir/internal/catalog/builtin"
	"weir/internal/catalog/edit"
	"weir/internal/catalog/update"
)

// rising is an updater of a store with a list in use, which an operator has published.
func rising(before []byte) (*update.Updater, *memory) {
	store := &memory{now: update.Published{Last: before, Approved: before}}
	return update.New(update.Config{Store: store, Bounds: update.Default().Bounds}), store
}

// offerLine is a line of a list in the form of the importer.
func offerLine(model string) string {
	return fmt.Sprintf(`{"model":"openai/%[1]s","id":"%[1]s","context":1000,"output":100,"usd":{"prompt":"1","completion":"2"}}`, model)
}

// listOf is a list of the provider openai.
func listOf(asOf string, offers ...string) []byte {
	return []byte(`{"as_of": "` + asOf + `",
"models": {
},
"aliases": {
},
"offers": {
"openai": [
` + strings.Join(offers, ",\n") + `]
}}
`)
}

// TestRising publishes what is new and what rises, and leaves what falls or is gone. Where something is implausible it publishes nothing.
func TestRising(t *testing.T) {
	t.Parallel()
	var twenty []string
	for i := range 20 {
		twenty = append(twenty, offerLine(fmt.Sprintf("m%02d", i)))
	}
	twenty = slices.Clip(twenty)
	with := func(i int, old, now string) []string {
		all := append([]string(nil), twenty...)
		all[i] = strings.Replace(all[i], old, now, 1)
		return all
	}
	const prompt = `"prompt":"1"`
	for _, c := range []struct {
		name               string
		offers             []string
		published, waiting int
		beyond             string
		has, lacks         string
	}{
		{"nothing", twenty, 0, 0, "", "", ""},
		{"new", append(twenty, offerLine("n")), 1, 0, "", `"id":"n"`, ""},
		{"raised", with(0, prompt, `"prompt":"1.5"`), 1, 0, "", `"prompt":"1.5"`, ""},
		{"lowered", with(0, prompt, `"prompt":"0.9"`), 0, 1, "", "", `"0.9"`},
		{"one rises and one falls", with(0, `"prompt":"1","completion":"2"`, `"prompt":"1.5","completion":"1"`), 0, 1, "", "", `"1.5"`},
		{"gone", twenty[1:], 0, 1, "", `"id":"m00"`, ""},
		{"new and gone", append(slices.Clip(twenty[1:]), offerLine("n")), 1, 1, "", `"id":"n"`, ""},
		{"longer", with(0, `"context":1000`, `"context":2000`), 1, 0, "", `"context":2000`, ""},
		{"shorter", with(0, `"context":1000`, `"context":500`), 0, 1, "", "", `"context":500,`},
		{"other words of effort", with(0, `"usd"`, `"facts":{"efforts":["low","max"],"budget_most":9},"usd"`), 1, 0, "", `"efforts":["low","max"]`, ""},
		{"other words, and a price falls", with(0, `"usd":{"prompt":"1"`, `"facts":{"efforts":["low","max"]},"usd":{"prompt":"0.9"`), 0, 1, "", "", `"efforts"`},
		{"a thousand times", append(with(0, prompt, `"prompt":"1000"`), offerLine("n")), 0, 2, "prompt of openai m00 changes by +99900.0 %", "", `"id":"n"`},
		{"half is gone", twenty[:10], 0, 10, "10 of 20 offers are gone", `"id":"m19"`, ""},
		{"many are new", append(twenty, strings.Split(strings.TrimSuffix(strings.Repeat(offerLine("NEW")+"\n", 12), "\n"), "\n")...), 0, 12, "12 offers are new, in addition to 20", "", "n11"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			before := listOf("2027-01-01", twenty...)
			u, store := rising(before)
			n := 0
			after := regexp.MustCompile("NEW").ReplaceAllFunc(listOf("2027-01-02", c.offers...), func([]byte) []byte { n++; return fmt.Appendf(nil, "n%02d", (n-1)/2) })
			store.last = &edit.Import{Data: after}
			out, err := u.PublishRising(t.Context())
			if err != nil || out != (update.Outcome{Published: c.published, Waiting: c.waiting, Beyond: c.beyond}) {
				t.Fatalf("%+v, %v", out, err)
			}
			now := string(store.now.Last)
			if (c.published > 0) == (now == string(before)) || !strings.Contains(now, c.has) || c.lacks != "" && strings.Contains(now, c.lacks) {
				t.Errorf("in use is %s", now)
			}
			if string(store.now.Approved) != string(before) {
				t.Error("it counts as what an operator has published")
			}
		})
	}
}

// TestRisingForADay does not double a price each day: what an operator has published last is what it is compared with.
func TestRisingForADay(t *testing.T) {
	t.Parallel()
	list := func(price string) []byte {
		return listOf("2027-01-01", strings.Replace(offerLine("m"), `"prompt":"1"`, `"prompt":"`+price+`"`, 1), offerLine("k"))
	}
	u, store := rising(list("1"))
	for _, c := range []struct {
		price     string
		published int
	}{{"1.6", 1}, {"2", 1}, {"2.5", 0}} {
		store.last = &edit.Import{Data: list(c.price)}
		if out, err := u.PublishRising(t.Context()); err != nil || out.Published != c.published {
			t.Errorf("%s: %+v, %v", c.price, out, err)
		}
	}
}

// TestSourceFailsInOneLine has a server away that has a list for each provider: it is one line, and the others are not waited for.
func TestSourceFailsInOneLine(t *testing.T) {
	t.Parallel()
	s := serve(t)
	u := s.updater(t, t.TempDir(), nil)
	first, err := u.Fetch(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	asked := 0
	for path := range s.files {
		if strings.HasPrefix(path, "portkey-models/") {
			s.odd[path] = func(w http.ResponseWriter, _ *http.Request) {
				asked++ // one request at a time
				http.Error(w, "away", http.StatusBadGateway)
			}
		}
	}
	again, err := u.Fetch(t.Context())
	if err != nil || again.List != first.List {
		t.Fatalf("%v", err)
	}
	var lines []string
	for _, note := range again.Notes {
		if strings.Contains(note, "status 502") {
			lines = append(lines, note)
		}
	}
	if len(lines) != 1 || !strings.Contains(lines[0], "(and 2 or more others of portkey-models)") || asked != 3 {
		t.Errorf("asked %d times: %q", asked, again.Notes)
	}
	if _, err := builtin.ReadList(again.Data); err != nil {
		t.Error(err)
	}
}
