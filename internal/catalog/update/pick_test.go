package update_test

import (
	"maps"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"weir/internal/catalog/builtin"
	"weir/internal/catalog/edit"
	"weir/internal/catalog/update"
)

// offered is a list of one provider with models by their names: a price, or the id and a price.
func offered(models map[string]string) []byte {
	var described, offers []string
	for _, name := range slices.Sorted(maps.Keys(models)) {
		id, price, renamed := strings.Cut(models[name], " ")
		if !renamed {
			id, price = name, models[name]
		}
		described = append(described, `"openai/`+name+`":{"name":"`+name+`"}`)
		offers = append(offers, `{"model":"openai/`+name+`","id":"`+id+`","context":9,"usd":{"prompt":"`+price+`","completion":"1"}}`)
	}
	return []byte(`{"as_of": "2031-01-01","models":{` + strings.Join(described, ",") + `},"offers":{"openai":[` + strings.Join(offers, ",") + `]}}`)
}

// Changes are of an offer, in the order of their kinds, and one of which prices rise and fall is raised.
func TestChangesByOffer(t *testing.T) {
	t.Parallel()
	const before = `{"offers":{"a":[{"model":"v/both","id":"both","usd":{"prompt":"2","completion":"3"}},{"model":"v/down","id":"down","context":10,"usd":{"prompt":"2"}},
		{"model":"v/long","id":"long","context":10,"usd":{"prompt":"2"}},{"model":"v/think","id":"think","facts":{"efforts":["low","high"],"budget_most":9},"usd":{"prompt":"2"}},{"model":"v/old","id":"old","usd":{"prompt":"2"}}]}}`
	const after = `{"offers":{"a":[{"model":"v/both","id":"both","usd":{"prompt":"1","completion":"4"}},{"model":"v/down","id":"down","context":20,"usd":{"prompt":"1"}},
		{"model":"v/long","id":"long","context":20,"usd":{"prompt":"2"}},{"model":"v/think","id":"think","facts":{"efforts":["low","max"]},"usd":{"prompt":"2"}},{"model":"v/new","id":"new","variant":"free","usd":{"prompt":"0"}}]}}`
	var got []string
	for _, c := range update.ByOffer([]byte(before), []byte(after)) {
		line := c.Kind + " " + c.Provider + " " + c.Model + " " + c.Offer
		for _, p := range c.Prices {
			line += "; " + p.Name + " " + p.Old + ">" + p.New
		}
		got = append(got, line)
	}
	want := []string{"new a v/new a new free; prompt >0", "raised a v/both a both; completion 3>4; prompt 2>1", "lowered a v/down a down; context 10>20; prompt 2>1",
		"gone a v/old a old; prompt 2>", "limits a v/long a long; context 10>20", "limits a v/think a think; budget_most 9>; efforts low, high>low, max"}
	if !slices.Equal(got, want) {
		t.Errorf("changes are\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

// Whatever is picked: the list has exactly that, and the rest as it was. All of it is the other list itself.
func TestPick(t *testing.T) {
	t.Parallel()
	from := offered(map[string]string{"same": "1", "up": "1", "down": "2", "gone": "1", "moved": "old-id 1"})
	to := offered(map[string]string{"same": "1", "up": "2", "down": "1", "new": "1", "moved": "new-id 3"})
	all := update.ByOffer(from, to)
	if len(all) != 6 {
		t.Fatalf("changes are %v", all)
	}
	rapid.Check(t, func(rt *rapid.T) {
		chosen, left := map[string]bool{}, map[string]bool{}
		share := rapid.IntRange(0, 3).Draw(rt, "share")
		for _, c := range all {
			if rapid.IntRange(0, 2).Draw(rt, c.Offer) < share {
				chosen[c.Offer] = true
			} else {
				left[c.Offer] = true
			}
		}
		if chosen["openai new-id"] {
			chosen["openai old-id"] = true
			delete(left, "openai old-id")
		}
		list, err := update.Pick(from, to, chosen)
		if err != nil {
			rt.Fatal(err)
		}
		names := func(changes []edit.ListChange) map[string]bool {
			out := map[string]bool{}
			for _, c := range changes {
				out[c.Offer] = true
			}
			return out
		}
		if got := names(update.ByOffer(from, list.Data())); !maps.Equal(got, chosen) {
			rt.Errorf("differs from the first by %v, not by %v", got, chosen)
		}
		if got := names(update.ByOffer(list.Data(), to)); !maps.Equal(got, left) {
			rt.Errorf("differs from the second by %v, not by %v", got, left)
		}
		if len(left) == 0 && list.Version != builtin.ListVersion(to) {
			rt.Error("with all changes it is not the other list")
		}
	})
}
