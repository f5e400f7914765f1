package catalog

import (
	"strconv"
	"strings"

	"weir/internal/money"
)

// PriceLine is one price of an endpoint, as people read it.
type PriceLine struct {
	Name  string // the name in a declaration, with what limits it: "prompt", "prompt above 200000", "video 720p with sound"
	Per   string // the unit that is priced: "1000 tokens"
	Price money.Price
	Image *ImagePrice // its line, where the price is of images by size or quality
	Video *VideoRule  // its line, where the price is of video
}

// Lines are all prices of p that are set, the main ones first.
func (p *Pricing) Lines() []PriceLine {
	out := p.Base.lines("")
	add := func(name, per string, price money.Price) {
		if price.Set {
			out = append(out, PriceLine{Name: name, Per: per, Price: price})
		}
	}
	for i, kind := range NamedRates() {
		add(kind.Name, kind.Per, *p.Rates.Each()[i])
	}
	for i := range p.Images {
		x := &p.Images[i]
		per := x.Unit
		if per == UnitTokens {
			per = perTokens
		}
		if x.Price.Set {
			out = append(out, PriceLine{Name: spaced(x.Component, x.Variant, x.Resolution), Per: per, Price: x.Price, Image: x})
		}
	}
	for i := range p.Video {
		r := &p.Video[i]
		audio := "without sound"
		if r.WithAudio {
			audio = "with sound"
		}
		if r.PerSecond.Set {
			out = append(out, PriceLine{Name: spaced("video", r.Resolution, audio), Per: "second", Price: r.PerSecond, Video: r})
		}
	}
	for i := range p.Thresholds {
		out = append(out, p.Thresholds[i].Prices.lines(" above "+strconv.FormatInt(p.Thresholds[i].Above, 10))...)
	}
	for i := range p.Hours {
		out = append(out, p.Hours[i].Prices.lines(" "+p.Hours[i].String())...)
	}
	return out
}

const perTokens = "1000 tokens"

func (p *Prices) lines(limit string) []PriceLine {
	var out []PriceLine
	for i, kind := range priceKinds {
		price := *p.All()[i]
		if !price.Set {
			continue
		}
		per := perTokens
		switch {
		case kind.Name == "image_output_each":
			per = "image"
		case !kind.Tokens:
			per = strings.TrimPrefix(kind.Name, "web_")
		}
		out = append(out, PriceLine{Name: kind.Name + limit, Per: per, Price: price})
	}
	return out
}

// spaced joins the non-empty texts.
func spaced(list ...string) string {
	return strings.Join(strings.Fields(strings.Join(list, " ")), " ")
}
