package builtin_test

import (
	"strings"
	"testing"
	"time"

	"weir/internal/catalog"
	"weir/internal/catalog/builtin"
	"weir/internal/rawjson"
)

// A parameter is claimed only where the model takes it.
func TestCapabilities(t *testing.T) {
	t.Parallel()
	d, err := builtin.Declare(all(), rate(t, "1"))
	if err != nil {
		t.Fatal(err)
	}
	address(&d)
	snap, err := catalog.Build(d)
	if err != nil {
		t.Fatal(err)
	}
	const reasoningRefuses = catalog.ParamTemperature | catalog.ParamLogitBias | catalog.ParamPrediction | catalog.ParamStop | catalog.ParamLogprobs
	seen := 0
	for _, m := range snap.Models() {
		for _, ep := range m.Endpoints {
			if m.Type != catalog.TypeChat {
				continue
			}
			refused := catalog.Params(0)
			closed := strings.HasPrefix(m.Slug, "openai/gpt-5") || strings.HasPrefix(m.Slug, "openai/o")
			switch {
			case closed && ep.Params&catalog.ParamReasoning != 0:
				refused |= reasoningRefuses
			case strings.HasPrefix(m.Slug, "openai/gpt-3.5"), m.Slug == "openai/gpt-4", strings.HasPrefix(m.Slug, "openai/gpt-4-"):
				refused |= catalog.ParamVerbosity | catalog.ParamWebSearchOptions | catalog.ParamStructuredOutputs | catalog.ParamPrediction
				if ep.Pricing.Base.WebSearch.Set {
					t.Errorf("%s has a price of searches, which it cannot do", ep.ID)
				}
			case ep.Provider.ID == "deepseek":
				refused |= catalog.ParamStructuredOutputs
			case ep.Provider.ID == "xai" && ep.Params&catalog.ParamReasoning != 0:
				refused |= catalog.ParamStop | catalog.ParamPresencePenalty
			}
			if refused != 0 {
				seen++
			}
			if claimed := ep.Params & refused; claimed != 0 {
				t.Errorf("%s claims %s", ep.ID, claimed)
			}
			if strings.Contains(m.Slug, "-audio") && (ep.Input|ep.Output)&catalog.Audio == 0 {
				t.Errorf("%s is offered without audio", ep.ID)
			}
			if strings.Contains(m.Slug, "deep-research") {
				t.Errorf("%s is offered for chat", ep.ID)
			}
		}
	}
	if seen < 50 {
		t.Errorf("only %d endpoints were checked", seen)
	}
	for slug, want := range map[string]catalog.Params{
		"openai/gpt-5.4": catalog.ParamVerbosity | catalog.ParamReasoning | catalog.ParamTools, "openai/gpt-4o": catalog.ParamPrediction | catalog.ParamTemperature | catalog.ParamStop,
		"deepseek/deepseek-v4-pro": catalog.ParamResponseFormat | catalog.ParamStop,
	} {
		m, ok := snap.Model(slug)
		if !ok || m.Endpoints[0].Params&want == 0 {
			t.Errorf("%s lacks %s", slug, want)
		}
	}
}

// What is retired by a day is left out from then on, and shows the day before.
func TestRetiredModels(t *testing.T) {
	t.Parallel()
	on := func(day string) (found bool, retires time.Time) {
		t.Helper()
		at, err := time.Parse(time.RFC3339, day)
		if err != nil {
			t.Fatal(err)
		}
		d, err := builtin.Embedded().On(at).Declare(map[string]string{"openai": "k"}, rate(t, "1"))
		if err != nil {
			t.Fatal(err)
		}
		for i := range d.Offers {
			if o := &d.Offers[i]; o.UpstreamID == "gpt-4o" {
				found, retires = true, o.Retires
			}
		}
		return found, retires
	}
	if found, retires := on("2027-01-13T23:59:59Z"); !found || retires.Format(time.DateOnly) != "2027-01-14" {
		t.Errorf("the day before: %v, %s", found, retires)
	}
	if found, _ := on("2027-01-14T00:00:00Z"); found {
		t.Error("it is offered after it has retired")
	}
}

// A catalog knows the models that it once had, and their old names.
func TestRetiredModelsAreKnown(t *testing.T) {
	t.Parallel()
	for day, want := range map[string]bool{"2027-01-13": false, "2027-01-14": true} {
		at, err := time.Parse(time.DateOnly, day)
		if err != nil {
			t.Fatal(err)
		}
		d, err := builtin.Embedded().On(at).Declare(map[string]string{"openai": "k"}, rate(t, "1"))
		if err != nil {
			t.Fatal(err)
		}
		only, err := catalog.Build(d)
		if err != nil {
			t.Fatal(err)
		}
		for _, name := range []string{"openai/gpt-4o", "openai/gpt-4o:nitro"} {
			if on, retired := only.Retired(name); retired != want || retired && on.Format(time.DateOnly) != "2027-01-14" {
				t.Errorf("%s: %s: %v, %s", day, name, retired, on)
			}
		}
	}
}

// The slugs that a model had before lead to it, and no two slugs are one model's.
func TestAliases(t *testing.T) {
	t.Parallel()
	d, err := builtin.Declare(all(), rate(t, "1"))
	if err != nil {
		t.Fatal(err)
	}
	address(&d)
	snap, err := catalog.Build(d)
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	for m := rawjson.MembersOf(rawjson.Find(builtin.Embedded().Data(), "aliases")); m.Next(); {
		n++
		old, slug := string(m.Name), rawjson.Text(m.Value)
		got, ok := snap.Model(old)
		if !ok || got.Slug != slug {
			t.Errorf("%s leads to %v, want %s", old, got, slug)
		}
		if variant, _, ok := snap.Resolve(old + ":nitro"); !ok || variant.Slug != slug {
			t.Errorf("%s with a variant leads to %v", old, variant)
		}
	}
	if n < 10 {
		t.Errorf("there are %d aliases", n)
	}
}
