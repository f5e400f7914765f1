package catalog

import (
	"slices"

	"weir/internal/money"
)

// Tariff has the prices of a call that is not only text: of its tokens and of its other input and output. A price that is not Set is not
// charged.
type Tariff struct {
	Prices
	Rates
}

// Tariff has the prices for that many prompt tokens, except those of images and videos.
func (p *Pricing) Tariff(promptTokens int64) Tariff {
	return Tariff{Prices: *p.For(promptTokens), Rates: p.Rates}
}

// ImageTariff has the prices of images of a quality and a size, which are "" or "auto" where unknown.
//
// The lines of the price list come before the base prices. Of a component's lines the one that fits best counts: one that names both the
// quality and the size, then the size, then the quality, then neither. Where no line fits, the usual quality counts, and else the dearest
// line: a size without a price must not be free.
func (p *Pricing) ImageTariff(promptTokens int64, quality, size string) Tariff {
	t := p.Tariff(promptTokens)
	for _, component := range components {
		line := p.imageLine(component, quality, size)
		if line == nil {
			continue
		}
		if to := t.imageField(component, line.Unit); to != nil {
			*to = line.Price
		}
	}
	return t
}

// DearestImageTariff has the highest prices of images of any quality and size.
func (p *Pricing) DearestImageTariff(promptTokens int64) Tariff {
	t := p.Tariff(promptTokens)
	for i := range p.Images {
		line := &p.Images[i]
		if to := t.imageField(line.Component, line.Unit); to != nil && (!to.Set || line.Price.Nano > to.Nano) {
			*to = line.Price
		}
	}
	return t
}

// imageField is the price that a line of a price list sets.
func (t *Tariff) imageField(component, unit string) *money.Price {
	switch {
	case component == "text_input" && unit == UnitTokens:
		return &t.Prompt
	case component == "image_input" && unit == UnitTokens:
		return &t.Image
	case component == "text_output" && unit == UnitTokens:
		return &t.Completion
	case component == "image_output" && unit == UnitTokens:
		return &t.ImageOutput
	case component == "image_output" && unit == UnitImage:
		return &t.ImageOutputEach
	case component == "image_output" && unit == UnitMegapixel:
		return &t.Megapixel
	}
	return nil
}

// usualQualities are the qualities that models use when none is requested, the likeliest first.
var usualQualities = []string{"", "auto", "standard", "medium"}

func (p *Pricing) imageLine(component, quality, size string) *ImagePrice {
	var best *ImagePrice
	bestFit := -1
	for i := range p.Images {
		line := &p.Images[i]
		if line.Component != component {
			continue
		}
		fit := line.fit(quality, size)
		if fit > bestFit || fit == bestFit && line.Price.Nano > best.Price.Nano {
			best, bestFit = line, fit
		}
	}
	return best
}

// fit reports how well a line matches an image of a quality and a size.
func (x *ImagePrice) fit(quality, size string) int {
	fit := 0
	switch {
	case x.Resolution == size && size != "":
		fit += 100
	case x.Resolution != "" && size != "" && size != "auto":
		return 0 // a price of another size
	}
	switch unknown := quality == "" || quality == "auto"; {
	case x.Variant == quality && !unknown:
		fit += 50
	case unknown:
		if at := slices.Index(usualQualities, x.Variant); at >= 0 {
			fit += 20 - at
		}
	case x.Variant == "":
		fit += 10
	default:
		return 0 // a price of another quality
	}
	if x.Resolution == "" {
		fit++
	}
	return fit
}

// SecondOf is the price of a second of video: of the first rule for the resolution, with audio or without. A resolution that no rule has costs the
// most of the others: no account pays for sound that a video does not have, unless there is no other price.
func (p *Pricing) SecondOf(resolution string, audio bool) money.Price {
	for _, r := range p.Video {
		if r.WithAudio == audio && (r.Resolution == "" || r.Resolution == resolution) {
			return r.PerSecond
		}
	}
	alike, most := money.Price{}, money.Price{}
	for _, r := range p.Video {
		if r.PerSecond.Set && (!most.Set || r.PerSecond.Nano > most.Nano) {
			most = r.PerSecond
		}
		if r.PerSecond.Set && r.WithAudio == audio && (!alike.Set || r.PerSecond.Nano > alike.Nano) {
			alike = r.PerSecond
		}
	}
	if alike.Set {
		return alike
	}
	return most
}
