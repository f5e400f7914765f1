package metric

import (
	"math"
	"slices"
	"strconv"
	"strings"
)

// ContentType is the media type of what Append writes. Source: https://prometheus.io/docs/instrumenting/exposition_formats/, "Text-based format".
const ContentType = "text/plain; version=0.0.4; charset=utf-8"

// Append appends all series to out, by name and labels. A family that has no series is left out.
func (r *Registry) Append(out []byte) []byte { return r.append(out, false) }

// AppendTraced is Append with the examples of classes, for OpenMetrics alone: the text format does not have them.
func (r *Registry) AppendTraced(out []byte) []byte { return r.append(out, true) }

func (r *Registry) append(out []byte, traced bool) []byte {
	r.mu.Lock()
	families := make([]*family, 0, len(r.families))
	for _, f := range r.families {
		families = append(families, f)
	}
	r.mu.Unlock()
	slices.SortFunc(families, func(a, b *family) int { return strings.Compare(a.name, b.name) })
	for _, f := range families {
		out = f.append(out, traced)
	}
	return out
}

func (f *family) append(out []byte, traced bool) []byte {
	f.mu.RLock()
	all := make([]*series, 0, len(f.series))
	reads := map[*series]func() float64{}
	for _, s := range f.series {
		all = append(all, s)
		if s.read != nil {
			reads[s] = s.read
		}
	}
	f.mu.RUnlock()
	if len(all) == 0 {
		return out
	}
	slices.SortFunc(all, func(a, b *series) int { return strings.Compare(a.labels, b.labels) })
	out = appendHead(out, f.name, f.help, f.kind)
	for _, s := range all {
		switch {
		case f.kind == KindHistogram:
			out = s.appendClasses(out, f.name, traced)
		case reads[s] != nil:
			out = appendSample(out, f.name, s.labels, reads[s]())
		default:
			out = appendSample(out, f.name, s.labels, s.value.load())
		}
	}
	return out
}

// appendClasses writes each class with all smaller ones. The total is their sum, so that a scrape never contradicts itself.
func (s *series) appendClasses(out []byte, name string, traced bool) []byte {
	before, n := s.labels, uint64(0)
	if before != "" {
		before += ","
	}
	for i := range s.counts {
		n += s.counts[i].Load()
		bound := "+Inf"
		if i < len(s.bounds) {
			bound = string(appendNumber(nil, s.bounds[i]))
		}
		out = appendSample(out, name+"_bucket", before+`le="`+bound+`"`, float64(n))
		if all := s.traced.Load(); traced && all != nil {
			out = (*all)[i].Load().append(out)
		}
	}
	out = appendSample(out, name+"_sum", s.labels, s.value.load())
	return appendSample(out, name+"_count", s.labels, float64(n))
}

// append adds an example to the line before; nil adds nothing.
func (e *example) append(out []byte) []byte {
	if e == nil {
		return out
	}
	out = append(append(append(out[:len(out)-1], ` # {trace_id="`...), e.trace...), `"} `...)
	out = append(appendNumber(out, e.value), ' ')
	return append(strconv.AppendFloat(out, float64(e.at.UnixMilli())/1e3, 'f', 3, 64), '\n')
}

// AppendFigure appends a metric that has one series and is in no Registry; labels are as they are written, without braces.
func AppendFigure(out []byte, name, help string, kind Kind, labels string, value float64) []byte {
	return appendSample(appendHead(out, name, help, kind), name, labels, value)
}

func appendHead(out []byte, name, help string, kind Kind) []byte {
	out = append(append(append(out, "# HELP "...), name...), ' ')
	out = append(appendEscaped(out, help, false), '\n')
	return append(append(append(append(append(out, "# TYPE "...), name...), ' '), kind...), '\n')
}

func appendSample(out []byte, name, labels string, value float64) []byte {
	out = append(out, name...)
	if labels != "" {
		out = append(append(append(out, '{'), labels...), '}')
	}
	return append(appendNumber(append(out, ' '), value), '\n')
}

func appendNumber(out []byte, x float64) []byte {
	switch {
	case math.IsInf(x, 1):
		return append(out, "+Inf"...)
	case math.IsInf(x, -1):
		return append(out, "-Inf"...)
	}
	return strconv.AppendFloat(out, x, 'g', -1, 64)
}

// appendEscaped escapes what would end a line, and in values of labels what would end the value.
func appendEscaped(out []byte, s string, value bool) []byte {
	for _, c := range []byte(s) {
		switch {
		case c == '\\':
			out = append(out, `\\`...)
		case c == '\n':
			out = append(out, `\n`...)
		case c == '"' && value:
			out = append(out, `\"`...)
		default:
			out = append(out, c)
		}
	}
	return out
}
