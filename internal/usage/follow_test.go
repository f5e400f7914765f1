package usage_test

import (
	"reflect"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"weir/internal/catalog"
	"weir/internal/money"
	"weir/internal/usage"
)

// someTariff has some of the prices, in rubles or in dollars at a rate.
func someTariff(t *rapid.T, r money.Rate) (tariff catalog.Tariff) {
	dollars := rapid.SampledFrom([]string{"0.25", "3", "1e-3", "0"})
	draw := func(to *money.Price, per string) {
		switch rapid.IntRange(0, 2).Draw(t, "price") {
		case 1:
			*to = money.Price{Nano: rapid.Int64Range(0, 1e9).Draw(t, "nano"), Set: true}
		case 2:
			var err error
			if per == "million" {
				*to, err = r.PerThousand(dollars.Draw(t, "dollars"), money.Million)
			} else {
				*to, err = r.Each(dollars.Draw(t, "dollars"), 1)
			}
			if err != nil {
				t.Fatal(err)
			}
		}
	}
	for _, name := range catalog.PriceNames() {
		per := "one"
		if catalog.PerTokens(name) {
			per = "million"
		}
		draw(tariff.Field(name), per)
	}
	draw(&tariff.Minute, "one")
	draw(&tariff.Characters, "million")
	draw(&tariff.Megapixel, "one")
	draw(&tariff.Second, "one")
	return tariff
}

// Lines that were made of a usage follow from it, with all kinds of prices and parts; after any change of a quantity they do not. Prices of dollars
// come to the same at the same rate.
func TestLinesFollowFromUsage(t *testing.T) {
	t.Parallel()
	r, err := money.NewRate("81.2345", "0.15")
	if err != nil {
		t.Fatal(err)
	}
	rapid.Check(t, func(t *rapid.T) {
		var u usage.Usage
		for _, c := range u.Counts() {
			*c = usage.Count{N: rapid.Int64Range(0, 1000).Draw(t, "count"), Reported: rapid.Bool().Draw(t, "reported")}
		}
		tariff := someTariff(t, r)
		lines, _, err := usage.TaskCost(&u, &tariff)
		if err != nil {
			t.Fatal(err)
		}
		if why := usage.Follow(&u, lines); why != "" {
			t.Fatalf("%s: %+v of %+v", why, lines, u)
		}
		for _, l := range lines {
			if l.Dollars == "" {
				continue
			}
			if price, err := l.PriceOf(r); err != nil || price != l.Price {
				t.Fatalf("%s of %s dollars: %d, %v; want %d", l.Kind, l.Dollars, price, err, l.Price)
			}
		}
		for i := range lines {
			less := slices.Clone(lines)
			less[i].Quantity--
			// a count that old records have not kept is taken from the line where the record has none
			if why := usage.Follow(&u, less); why == "" {
				t.Fatalf("%+v pass for those of %+v", less, u)
			}
			if twice := append(slices.Clone(lines), lines[i]); usage.Follow(&u, twice) == "" {
				t.Fatalf("%+v pass for those of %+v", twice, u)
			}
			if tokens := lines[i].Kind.Unit() == "1k_tokens"; tokens && usage.Follow(&u, slices.Delete(slices.Clone(lines), i, i+1)) == "" {
				t.Fatalf("%+v pass for those of %+v without %s", lines, u, lines[i].Kind)
			}
		}
	})
}

// Every kind of line has a price in a tariff, or a line of it could never be recomputed.
func TestEveryKindHasAPrice(t *testing.T) {
	t.Parallel()
	var u usage.Usage
	for _, c := range u.Counts() {
		*c = usage.Of(1000)
	}
	parts := []*usage.Count{&u.CacheRead, &u.CacheWrite, &u.CacheWrite1h, &u.PromptAudio, &u.PromptImage, &u.Reasoning, &u.OutputAudio, &u.OutputImage}
	for _, c := range parts {
		*c = usage.Of(10)
	}
	u.CachedAudio = usage.Of(5)
	var tariff catalog.Tariff
	fill(reflect.ValueOf(&tariff).Elem())
	lines, _, err := usage.TaskCost(&u, &tariff)
	if err != nil {
		t.Fatal(err)
	}
	seen := map[usage.Kind]bool{usage.KindMinute: true} // in records of old alone
	for _, l := range lines {
		seen[l.Kind] = true
	}
	for k := usage.KindPrompt; k.String() != ""; k++ {
		if !seen[k] {
			t.Errorf("nothing makes a line of %s", k)
		}
	}
	if why := usage.Follow(&u, lines); why != "" {
		t.Error(why)
	}
	if why := usage.Follow(&usage.Usage{Millis: usage.Of(1000)}, []usage.Line{{Kind: usage.KindMinute, Quantity: 17, Price: 1}}); why != "" {
		t.Errorf("minutes in records of old: %s", why)
	}
}

func fill(v reflect.Value) {
	if p, ok := v.Addr().Interface().(*money.Price); ok {
		*p = money.Price{Nano: 1, Set: true}
		return
	}
	for i := range v.NumField() {
		fill(v.Field(i))
	}
}
