package listing

import (
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"weir/internal/catalog"
)

func write(b []byte, o *Offer) []byte {
	return append(append(append(b, `{"id":"`...), o.ID...), `"}`...)
}

// Whatever is asked, the answer is what a plain look at every model finds, in an order in which no neighbours are the wrong way round.
func TestAnswers(t *testing.T) {
	t.Parallel()
	words := []string{"fast", "FAST", "open", "Kod", "KOD", "größe", "GRÖSSE", "a", "ab"}
	rapid.Check(t, func(t *rapid.T) {
		var items []item
		ranks := Ranks{}
		for i := range rapid.IntRange(0, 12).Draw(t, "models") {
			m := &catalog.Model{Slug: "v/m" + string(rune('a'+i)), Vendor: "v", Name: rapid.SampledFrom(words).Draw(t, "name"),
				Description: strings.Join(rapid.SliceOfN(rapid.SampledFrom(words), 0, 4).Draw(t, "description"), " "),
				Type:        rapid.SampledFrom([]string{catalog.TypeChat, catalog.TypeTranscription}).Draw(t, "type"), ContextLength: rapid.Int64Range(0, 3).Draw(t, "context")}
			if at := rapid.Int64Range(0, 3).Draw(t, "created"); at > 0 {
				m.Created = time.Unix(at, 0)
			}
			if rank := rapid.IntRange(0, 3).Draw(t, "rank"); rank > 0 {
				ranks[m.Slug] = rank
			}
			items = append(items, newItem(Offer{Model: m, ID: m.Slug, Endpoints: []*catalog.Endpoint{{Model: m}}}, ranks))
		}
		l := newList(head, slices.Clone(items), write)
		q := Query{
			Search: Fold(strings.Join(rapid.SliceOfN(rapid.SampledFrom(words), 0, 2).Draw(t, "search"), " ")),
			Type:   rapid.SampledFrom([]string{"", catalog.TypeChat}).Draw(t, "wanted"),
			By:     SortKey(rapid.IntRange(0, int(sortKeys)-1).Draw(t, "by")), Descending: rapid.Bool().Draw(t, "descending"),
		}
		if q.By == ByDefault {
			q.Descending = false
		}
		found := l.choose(nil, &q)
		var want []string
		for i := range items {
			text := Fold(items[i].ID + "\n" + items[i].Model.Name + "\n" + items[i].Model.Vendor + "\n" + items[i].Model.Description)
			has := q.Type == "" || q.Type == items[i].Model.Type
			for w := range strings.FieldsSeq(q.Search) {
				has = has && strings.Contains(text, w)
			}
			if has {
				want = append(want, items[i].ID)
			}
		}
		var got []string
		for i, it := range found {
			got = append(got, it.ID)
			if i > 0 && q.By != ByDefault && q.By != ByRank && found[i-1].compare(it, q.By, q.Descending) > 0 {
				t.Fatalf("%s before %s by %d", found[i-1].ID, it.ID, q.By)
			}
		}
		for range 3 { // the third is kept
			b, release := l.Answer(&q, nil)
			if body := string(b.Bytes); body != `{"object":"list","data":[`+entries(got)+`]}` || b.Total != len(got) {
				t.Fatalf("%s: %q", body, got)
			}
			release()
		}
		slices.Sort(got)
		if !slices.Equal(got, want) {
			t.Fatalf("found %q, want %q", got, want)
		}
	})
}

func entries(ids []string) string {
	var b []string
	for _, id := range ids {
		b = append(b, `{"id":"`+id+`"}`)
	}
	return strings.Join(b, ",")
}
