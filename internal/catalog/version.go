package catalog

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"maps"
	"reflect"
	"slices"

	"weir/internal/money"
)

// version is a digest of everything that a client or a bill can see of a catalog; keys and headers are no part of it.
func version(s *Snapshot) string {
	b := make(digest, 0, 512*len(s.ordered)+512*len(s.Providers))
	for _, id := range slices.Sorted(maps.Keys(s.Providers)) {
		p := s.Providers[id]
		b.text(p.ID, p.Name, p.Dialect, p.BaseURL, string(p.DataPolicy), fmt.Sprintf("%+v", p.Quirks), fmt.Sprintf("%+v", p.Facts))
		for _, kind := range slices.Sorted(maps.Keys(p.Wires)) {
			b.text(kind, p.Wires[kind].Dialect, p.Wires[kind].BaseURL)
		}
	}
	for _, m := range s.ordered {
		b.text(m.Slug, m.Name, m.Description, m.DescriptionRU, m.Type, m.HubID)
		b.video(m.Video)
		b.number(m.Created.Unix(), m.ContextLength, int64(len(m.Endpoints)))
		for _, ep := range m.Endpoints {
			b.text(ep.ID, ep.UpstreamID, ep.Quantization)
			if ep.UpstreamModel != "" {
				b.text(ep.UpstreamModel)
			}
			b.number(ep.ContextLength, ep.MaxCompletion, int64(ep.Params), int64(ep.Input), int64(ep.Output), int64(ep.MaxN), ep.MaxInFlight)
			if ep.Place != 0 || ep.Weight != 0 {
				b.text("order")
				b.number(ep.Place, ep.Weight)
			}
			b.flags(ep.ImplicitCache)
			if !reflect.ValueOf(ep.Facts).IsZero() {
				b.text(fmt.Sprintf("%+v", ep.Facts))
			}
			b.pricing(&ep.Pricing)
		}
	}
	sum := sha256.Sum256(b)
	return hex.EncodeToString(sum[:8])
}

// digest collects values so that no two sequences of them give the same bytes.
type digest []byte

func (b *digest) text(list ...string) {
	for _, s := range list {
		*b = append(binary.AppendUvarint(*b, uint64(len(s))), s...)
	}
}

func (b *digest) number(list ...int64) {
	for _, n := range list {
		*b = binary.AppendVarint(*b, n)
	}
}

func (b *digest) flags(list ...bool) {
	for _, set := range list {
		if set {
			b.number(1)
		} else {
			b.number(0)
		}
	}
}

// list is text with its length before it, so that two lists in a row cannot be read as other two.
func (b *digest) list(texts []string) {
	b.number(int64(len(texts)))
	b.text(texts...)
}

func (b *digest) video(v *VideoFacts) {
	b.flags(v != nil)
	if v == nil {
		return
	}
	for _, list := range [][]string{v.Resolutions, v.AspectRatios, v.Sizes, v.FrameImages, v.Passthrough} {
		b.list(list)
	}
	b.number(int64(len(v.Durations)))
	for _, seconds := range v.Durations {
		b.number(int64(seconds))
	}
	b.flags(v.Audio, v.Seed)
}

func (b *digest) pricing(p *Pricing) {
	b.text(p.List, p.Rate, p.Source)
	b.prices(&p.Base)
	b.number(int64(len(p.Thresholds)))
	for i := range p.Thresholds {
		b.number(p.Thresholds[i].Above)
		b.prices(&p.Thresholds[i].Prices)
	}
	for i := range p.Hours { // without any, nothing: most endpoints have none
		b.text("hours", p.Hours[i].String())
		b.prices(&p.Hours[i].Prices)
	}
	for i := range NamedRates() {
		b.price(*p.Rates.Each()[i])
	}
	b.number(int64(len(p.Images)))
	for i := range p.Images {
		x := &p.Images[i]
		b.text(x.Component, x.Unit, x.Variant, x.Resolution, x.Basis)
		b.price(x.Price)
	}
	b.number(int64(len(p.Video)))
	for i := range p.Video {
		b.text(p.Video[i].Resolution)
		b.flags(p.Video[i].WithAudio)
		b.price(p.Video[i].PerSecond)
	}
}

func (b *digest) prices(p *Prices) {
	for _, f := range p.All() {
		b.price(*f)
	}
}

func (b *digest) price(list ...money.Price) {
	for _, p := range list {
		b.flags(p.Set)
		if p.Set {
			b.number(p.Nano)
		}
	}
}
