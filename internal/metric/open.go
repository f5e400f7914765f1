package metric

import (
	"bytes"
	"strings"
)

// OpenContentType is the media type of what Open makes. Source: OpenMetrics 1.0, https://prometheus.io/docs/specs/om/open_metrics_spec/.
const OpenContentType = "application/openmetrics-text; version=1.0.0; charset=utf-8"

// WantsOpen reports whether an Accept header takes OpenMetrics. Prometheus sends it first in its list.
func WantsOpen(accept string) bool {
	return strings.Contains(accept, "application/openmetrics-text")
}

// Open makes OpenMetrics of what Append and AppendFigure wrote: a counter is named without _total in its head, quotes are escaped there, and
// the text has an end.
func Open(text []byte) []byte {
	out := make([]byte, 0, len(text)+64)
	for len(text) > 0 {
		var line []byte
		line, text, _ = bytes.Cut(text, []byte{'\n'})
		out = append(openHead(out, line, text), '\n')
	}
	return append(out, "# EOF\n"...)
}

// openHead appends a line. The kind of a metric, which decides about its name, is in the line after its help.
func openHead(out, line, next []byte) []byte {
	word, rest := line, []byte(nil)
	for _, head := range []string{"# HELP ", "# TYPE "} {
		if after, ok := bytes.CutPrefix(line, []byte(head)); ok {
			word, rest = line[:len(head)], after
		}
	}
	if rest == nil {
		return append(out, line...)
	}
	name, said, _ := bytes.Cut(rest, []byte{' '})
	help := word[2] == 'H'
	kind := said
	if help {
		kind, _, _ = bytes.Cut(next, []byte{'\n'})
		kind = kind[bytes.LastIndexByte(kind, ' ')+1:]
	}
	short, total := bytes.CutSuffix(name, []byte("_total"))
	if string(kind) != string(KindCounter) {
		short = name
	} else if !total && !help {
		said = []byte("unknown") // a counter must be called so
	}
	out = append(append(append(out, word...), short...), ' ')
	if help {
		said = bytes.ReplaceAll(said, []byte(`"`), []byte(`\"`))
	}
	return append(out, said...)
}
