package importer

import (
	"maps"
	"slices"
	"strconv"

	"weir/internal/rawjson"
)

// write makes the catalog file: one model or offer a line, everything in a fixed order, so that two imports of the same data are
// the same bytes and a change shows as the lines that changed.
func (im *importer) write() []byte {
	b := []byte("{\"models\": {")
	for i, slug := range slices.Sorted(maps.Keys(im.models)) {
		b = separate(b, i)
		m := im.models[slug]
		b = rawjson.AppendText(b, slug)
		b = append(b, `:{"name":`...)
		b = rawjson.AppendText(b, m.name)
		if len(m.created) == len("2006-01-02") {
			b = append(b, `,"created":`...)
			b = rawjson.AppendText(b, m.created)
		}
		b = append(b, '}')
	}
	b = append(b, "\n},\n\"offers\": {"...)
	for i, p := range im.offers {
		b = separate(b, i)
		b = rawjson.AppendText(b, p.provider)
		b = append(b, ": ["...)
		for j := range p.offers {
			b = separate(b, j)
			b = p.offers[j].append(b)
		}
		b = append(b, ']')
	}
	return append(b, "\n}}\n"...)
}

func separate(b []byte, i int) []byte {
	if i > 0 {
		b = append(b, ',')
	}
	return append(b, '\n')
}

func (o *offer) append(b []byte) []byte {
	b = append(b, `{"model":`...)
	b = rawjson.AppendText(b, o.model)
	b = append(b, `,"id":`...)
	b = rawjson.AppendText(b, o.id)
	b = append(b, `,"context":`...)
	b = strconv.AppendInt(b, o.context, 10)
	if o.output > 0 {
		b = append(b, `,"output":`...)
		b = strconv.AppendInt(b, o.output, 10)
	}
	if names := o.input.Names(); len(names) > 1 {
		b = append(b, `,"input":`...)
		b = appendList(b, names)
	}
	if len(o.features) > 0 {
		b = append(b, `,"features":`...)
		b = appendList(b, o.features)
	}
	b = append(b, `,"usd":`...)
	b = o.quote.append(b)
	for i, above := range slices.Sorted(maps.Keys(o.quote.above)) {
		if i == 0 {
			b = append(b, `,"above":[`...)
		} else {
			b = append(b, ',')
		}
		b = append(b, `{"tokens":`...)
		b = strconv.AppendInt(b, above, 10)
		b = append(b, `,"usd":`...)
		t := o.quote.above[above]
		b = t.append(b)
		b = append(b, '}')
	}
	if len(o.quote.above) > 0 {
		b = append(b, ']')
	}
	return append(b, '}')
}

func (q *quote) append(b []byte) []byte {
	b = append(b, '{')
	for _, x := range []struct{ name, price string }{
		{"prompt", q.prompt}, {"completion", q.completion}, {"cache_read", q.cacheRead}, {"cache_write", q.cacheWrite}, {"reasoning", q.reasoning}, {"audio", q.audio},
	} {
		if x.price == "" {
			continue
		}
		if b[len(b)-1] != '{' {
			b = append(b, ',')
		}
		b = rawjson.AppendText(b, x.name)
		b = append(b, ':')
		b = rawjson.AppendText(b, x.price)
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
