package catalog_test

import (
	"strings"
	"testing"

	"weir/internal/catalog"
	"weir/internal/money"
)

func priceOf(t *testing.T, text string) money.Price {
	t.Helper()
	p, err := money.ParsePrice(text)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// imageLines are lines of a price list of images: quality, size, price of one.
func imageLines(t *testing.T, rows ...[3]string) *catalog.Pricing {
	t.Helper()
	p := &catalog.Pricing{Base: catalog.Prices{Prompt: priceOf(t, "1"), ImageOutputEach: priceOf(t, "9")}}
	for _, r := range rows {
		p.Images = append(p.Images, catalog.ImagePrice{Component: "image_output", Unit: catalog.UnitImage, Variant: r[0], Resolution: r[1], Price: priceOf(t, r[2])})
	}
	return p
}

// Which line of a price list an image is charged by.
func TestImageTariff(t *testing.T) {
	t.Parallel()
	full := [][3]string{{"low", "1024x1024", "1"}, {"low", "1536x1024", "2"}, {"medium", "1024x1024", "4"}, {"medium", "1536x1024", "6"}, {"high", "1024x1024", "16"}, {"high", "1536x1024", "25"}}
	sizes := [][3]string{{"", "256x256", "1"}, {"", "512x512", "2"}, {"", "1024x1024", "3"}}
	qualities := [][3]string{{"standard", "", "4"}, {"hd", "", "8"}}
	for _, x := range []struct {
		name          string
		rows          [][3]string
		quality, size string
		want          string
	}{
		{"both", full, "low", "1536x1024", "2"},
		{"the usual quality of a size", full, "", "1536x1024", "6"},
		{"a quality that is auto", full, "auto", "1024x1024", "4"},
		{"a size that is not known", full, "high", "auto", "25"},
		{"neither is known", full, "", "", "6"},
		{"a size that nobody priced", full, "high", "2048x2048", "25"},
		{"a quality that nobody priced", full, "ultra", "1024x1024", "25"},
		{"only sizes", sizes, "high", "512x512", "2"},
		{"only sizes, none known", sizes, "", "", "3"},
		{"only sizes, another one", sizes, "", "768x768", "3"},
		{"only qualities", qualities, "hd", "1024x1024", "8"},
		{"only qualities, none known", qualities, "", "1024x1024", "4"},
		{"one price for all", [][3]string{{"", "", "5"}}, "high", "1024x1024", "5"},
		{"no lines: the base price", nil, "high", "1024x1024", "9"},
	} {
		t.Run(x.name, func(t *testing.T) {
			t.Parallel()
			tariff := imageLines(t, x.rows...).ImageTariff(0, x.quality, x.size)
			if tariff.ImageOutputEach != priceOf(t, x.want) || tariff.Prompt != priceOf(t, "1") {
				t.Errorf("%+v, want %s", tariff.ImageOutputEach, x.want)
			}
		})
	}
}

// Each component and unit of a price list is a separate price, and what no image is asked of yet is held at the dearest.
func TestImageComponents(t *testing.T) {
	t.Parallel()
	line := func(component, unit, quality, text string) catalog.ImagePrice {
		return catalog.ImagePrice{Component: component, Unit: unit, Variant: quality, Price: priceOf(t, text)}
	}
	p := &catalog.Pricing{Images: []catalog.ImagePrice{
		line("text_input", catalog.UnitTokens, "", "1"), line("image_input", catalog.UnitTokens, "", "2"), line("text_output", catalog.UnitTokens, "", "3"), line("image_output", catalog.UnitTokens, "low", "4"),
		line("image_output", catalog.UnitTokens, "high", "40"),
	}}
	got := p.ImageTariff(0, "low", "")
	want := catalog.Tariff{Prices: catalog.Prices{Prompt: priceOf(t, "1"), Image: priceOf(t, "2"), Completion: priceOf(t, "3"), ImageOutput: priceOf(t, "4")}}
	if got != want {
		t.Errorf("%+v", got)
	}
	if dearest := p.DearestImageTariff(0); dearest.ImageOutput != priceOf(t, "40") || dearest.Prompt != priceOf(t, "1") {
		t.Errorf("%+v", dearest)
	}
	pixels := &catalog.Pricing{Images: []catalog.ImagePrice{line("image_output", catalog.UnitMegapixel, "", "7")}}
	if got := pixels.ImageTariff(0, "", ""); got.Megapixel != priceOf(t, "7") || got.ImageOutputEach.Set {
		t.Errorf("%+v", got)
	}
}

// Whatever an image turns out to be, it costs no more than was held for it.
func TestDearestIsDearest(t *testing.T) {
	t.Parallel()
	p := imageLines(t, [3]string{"low", "1024x1024", "1"}, [3]string{"high", "", "16"}, [3]string{"", "4K", "20"}, [3]string{"", "", "3"})
	p.Base.ImageOutputEach = money.Price{}
	most := p.DearestImageTariff(0).ImageOutputEach
	for _, quality := range []string{"", "auto", "low", "medium", "high", "hd"} {
		for _, size := range []string{"", "auto", "1024x1024", "2048x2048", "1K", "4K"} {
			if got := p.ImageTariff(0, quality, size).ImageOutputEach; got.Nano > most.Nano || !got.Set {
				t.Errorf("%q %q costs %+v, more than %+v", quality, size, got, most)
			}
		}
	}
}

// What a second of video costs: a video without sound never costs what one with sound does, where there is a price without.
func TestVideoTariff(t *testing.T) {
	t.Parallel()
	rule := func(resolution string, audio bool, price string) catalog.VideoRule {
		return catalog.VideoRule{Resolution: resolution, WithAudio: audio, PerSecond: priceOf(t, price)}
	}
	both := []catalog.VideoRule{rule("720p", false, "1"), rule("720p", true, "3"), rule("1080p", false, "2"), rule("1080p", true, "5")}
	for _, x := range []struct {
		name       string
		rules      []catalog.VideoRule
		resolution string
		audio      bool
		want       string
	}{
		{"silent", both, "720p", false, "1"},
		{"with sound", both, "720p", true, "3"},
		{"silent, of an unknown resolution", both, "4K", false, "2"},
		{"with sound, of an unknown resolution", both, "4K", true, "5"},
		{"silent, of none", both, "", false, "2"},
		{"no price with sound", both[:1], "720p", true, "1"},
		{"no price without", both[1:2], "720p", false, "3"},
		{"for any resolution", []catalog.VideoRule{rule("", true, "3"), rule("", false, "1")}, "4K", false, "1"},
	} {
		p := &catalog.Pricing{Video: x.rules}
		if got := p.SecondOf(x.resolution, x.audio); got.String() != x.want {
			t.Errorf("%s: %s, want %s", x.name, got, x.want)
		}
	}
}

// A model without sound has a price without.
func TestSilentModelsHaveTheirPrice(t *testing.T) {
	t.Parallel()
	for sound, refused := range map[bool]bool{true: false, false: true} {
		_, err := catalog.Build(catalog.Declared{
			Providers: []catalog.Provider{{ID: "p", Dialect: "openai", BaseURL: "https://p.example"}},
			Models:    []catalog.ModelInfo{{Slug: "v/film", Type: catalog.TypeVideo, Video: &catalog.VideoFacts{Resolutions: []string{"720p"}, Audio: sound}}},
			Offers: []catalog.Offer{{Provider: "p", Model: "v/film", UpstreamID: "film",
				Pricing: catalog.Pricing{List: "l", Video: []catalog.VideoRule{{Resolution: "720p", WithAudio: true, PerSecond: priceOf(t, "3")}}}}},
		})
		if (err != nil) != refused || refused && !strings.Contains(err.Error(), "no video rule without audio prices 720p") {
			t.Errorf("with sound %t: %v", sound, err)
		}
	}
}
