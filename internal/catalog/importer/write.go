package importer

import (
	"cmp"
	"maps"
	"slices"
	"strconv"
	"time"

	"weir/internal/catalog"
	"weir/internal/rawjson"
)

// dayOf is the day that a list gives, the first where it gives a month alone, "" for anything else.
func dayOf(text string) string {
	for _, day := range [...]string{text, text + "-01"} {
		if _, err := time.Parse(time.DateOnly, day); err == nil {
			return day
		}
	}
	return ""
}

// write makes the catalog file: one model or offer a line, everything in a fixed order, so that two imports of the same data give the
// same bytes and a change shows as the changed lines.
func (im *importer) write() []byte {
	b := rawjson.AppendText([]byte(`{"as_of": `), im.book.AsOf)
	b = append(b, ",\n\"models\": {"...)
	for i, slug := range slices.Sorted(maps.Keys(im.models)) {
		m := im.models[slug]
		b = rawjson.AppendText(separate(b, i), slug)
		b = append(b, ":{"...)
		b = member(b, "name", m.name)
		b = member(b, "created", dayOf(m.created))
		if m.kind != catalog.TypeChat {
			b = member(b, "type", m.kind)
		}
		if m.kind == catalog.TypeVideo {
			b = rawjson.AppendOneLine(named(b, "video"), im.book.Video[slug])
		}
		b = append(b, '}')
	}
	b = append(b, "\n},\n\"aliases\": {"...)
	for i, old := range im.joined() {
		b = rawjson.AppendText(separate(b, i), old)
		b = rawjson.AppendText(append(b, ':'), im.book.Joined[old])
	}
	b = append(b, "\n},\n\"offers\": {"...)
	for i, p := range im.offers {
		b = rawjson.AppendText(separate(b, i), p.provider)
		b = append(b, ": ["...)
		for j := range p.offers {
			b = p.offers[j].append(separate(b, j))
		}
		b = append(b, ']')
	}
	return append(b, "\n}}\n"...)
}

// joined are the former slugs of models that have another one now.
func (im *importer) joined() []string {
	var out []string
	for old, slug := range im.book.Joined {
		_, known := im.models[slug]
		if _, own := im.models[old]; known && !own {
			out = append(out, old)
		}
	}
	slices.Sort(out)
	return out
}

func separate(b []byte, i int) []byte {
	if i > 0 {
		b = append(b, ',')
	}
	return append(b, '\n')
}

// named begins a member of an object.
func named(b []byte, name string) []byte {
	if last := b[len(b)-1]; last != '{' {
		b = append(b, ',')
	}
	return append(rawjson.AppendText(b, name), ':')
}

// member appends a text, unless it is empty.
func member(b []byte, name, value string) []byte {
	if value == "" {
		return b
	}
	return rawjson.AppendText(named(b, name), value)
}

func count(b []byte, name string, n int64) []byte {
	if n == 0 {
		return b
	}
	return strconv.AppendInt(named(b, name), n, 10)
}

func (o *offer) append(b []byte) []byte {
	b = append(b, '{')
	b = member(b, "model", o.model)
	b = member(b, "id", o.id)
	b = member(b, "variant", o.variant)
	b = member(b, "quantization", o.quantization)
	b = member(b, "retires", o.retires)
	b = count(b, "context", o.context)
	b = count(b, "output", o.output)
	if o.input != catalog.Text {
		b = appendList(named(b, "input"), o.input.Names())
	}
	if o.gives != catalog.Text {
		b = appendList(named(b, "gives"), o.gives.Names())
	}
	if len(o.features) > 0 {
		b = appendList(named(b, "features"), o.features)
	}
	if len(o.efforts) > 0 || o.budget != [2]int64{} {
		b = append(named(b, "facts"), '{')
		if len(o.efforts) > 0 {
			b = appendList(named(b, "efforts"), o.efforts)
		}
		b = count(b, "budget_least", o.budget[0])
		b = append(count(b, "budget_most", o.budget[1]), '}')
	}
	b = o.quote.append(b)
	for _, tier := range slices.Sorted(maps.Keys(o.quote.tiers)) {
		if tier == batch {
			continue
		}
		b = append(named(b, tier), '{')
		t := o.quote.tiers[tier]
		b = append(t.append(b), '}')
	}
	if o.batch != nil {
		b = append(named(b, batch), '{')
		b = append(o.batch.append(b), '}')
	}
	return append(b, '}')
}

// append writes the members of prices.
func (q *quote) append(b []byte) []byte {
	if len(q.base) > 0 {
		b = q.base.append(named(b, "usd"))
	}
	if len(q.above) > 0 {
		b = append(named(b, "above"), '[')
		for i, above := range slices.Sorted(maps.Keys(q.above)) {
			if i > 0 {
				b = append(b, ',')
			}
			b = count(append(b, '{'), "tokens", above)
			b = append(q.above[above].append(named(b, "usd")), '}')
		}
		b = append(b, ']')
	}
	if q.hours != nil {
		b = rawjson.AppendOneLine(named(b, "hours"), q.hours)
	}
	b = appendImages(b, q.images)
	if len(q.video) > 0 {
		b = append(named(b, "video"), '{')
		for _, resolution := range slices.Sorted(maps.Keys(q.video)) {
			b = member(b, resolution, q.video[resolution])
		}
		b = append(b, '}')
	}
	return b
}

func appendImages(b []byte, images map[image]string) []byte {
	if len(images) == 0 {
		return b
	}
	lines := slices.SortedFunc(maps.Keys(images), func(x, y image) int {
		return cmp.Or(cmp.Compare(x.variant, y.variant), cmp.Compare(x.resolution, y.resolution))
	})
	b = append(named(b, "images"), '[')
	for i, line := range lines {
		if i > 0 {
			b = append(b, ',')
		}
		b = append(b, '{')
		b = member(b, "variant", line.variant)
		b = member(b, "resolution", line.resolution)
		b = append(member(b, "usd", images[line]), '}')
	}
	return append(b, ']')
}

// append writes prices in the order of the catalog's.
func (p prices) append(b []byte) []byte {
	b = append(b, '{')
	for _, name := range append(slices.Clone(catalog.PriceNames()), perMinute, perCharacters) {
		b = member(b, name, p[name])
	}
	return append(b, '}')
}

func appendList(b []byte, list []string) []byte {
	b = append(b, '[')
	for i, s := range list {
		if i > 0 {
			b = append(b, ',')
		}
		b = rawjson.AppendText(b, s)
	}
	return append(b, ']')
}
