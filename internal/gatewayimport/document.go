package gatewayimport

import (
	"bytes"
	"errors"
	"io"
	"math/big"
	"strconv"
	"strings"
	"time"
	"unicode"

	"go.yaml.in/yaml/v3"

	"weir/internal/fault"
	"weir/internal/rawjson"
)

// Bounds of a file. A file of YAML is turned into JSON, and nothing in it is written twice: aliases are refused.
const (
	maxDepth  = 24
	maxNames  = 100_000
	maxValues = 200_000
	maxMarks  = 60_000 // characters of YAML that begin a value: its parser makes 300 bytes of each before anything of it can be counted
)

// Memory is about the most memory that reading files takes, in bytes.
func Memory(files []File) (n int64) {
	for i := range files {
		n += 13*int64(len(files[i].Text)) + 600*int64(min(marks(files[i].Text), maxMarks))
	}
	return n
}

// marks counts the characters that begin a value, or a name and a value, in YAML: without them no more than one follows from another.
func marks(text []byte) (n int) {
	for i, c := range text {
		switch c {
		case ',', ':', '[', '{', '?':
			n++
		case '-':
			if i+1 < len(text) && strings.IndexByte(" \t\r\n", text[i+1]) >= 0 {
				n++
			}
		}
	}
	return n
}

// document is a file as checked JSON.
type document struct {
	name string
	body []byte
}

// decode checks a file and makes JSON of it.
func decode(f *File) (document, error) {
	const op = "gatewayimport.decode"
	d := document{name: plain(f.Name, 100), body: f.Text}
	trimmed := strings.TrimLeft(string(f.Text[:min(len(f.Text), 64)]), " \t\r\n\ufeff")
	if !strings.HasPrefix(trimmed, "{") && !strings.HasPrefix(trimmed, "[") {
		var err error
		if d.body, err = fromYAML(d.name, f.Text); err != nil {
			return d, err
		}
	}
	d.body = []byte(strings.TrimPrefix(string(d.body), "\ufeff"))
	if err := rawjson.Check(d.body, rawjson.Limits{Depth: maxDepth, Keys: maxNames, Values: maxValues}); err != nil {
		return d, fault.Newf(fault.Invalid, op, "%s is no JSON that can be read: %s", d.name, err.Public)
	}
	return d, nil
}

// fromYAML turns one YAML document into JSON. Texts stay texts, also those that look like nothing else.
func fromYAML(name string, text []byte) ([]byte, error) {
	const op = "gatewayimport.fromYAML"
	if marks(text) > maxMarks {
		return nil, fault.Newf(fault.Invalid, op, "%s has too many values for one file. Give it as JSON, or in several files.", name)
	}
	var root, more yaml.Node
	in := yaml.NewDecoder(bytes.NewReader(text))
	if err := in.Decode(&root); err != nil && !errors.Is(err, io.EOF) {
		// The parser's own sentence may repeat what is in the file, which has secrets.
		return nil, fault.Newf(fault.Invalid, op, "%s is neither JSON nor YAML that can be read.", name)
	}
	if len(root.Content) != 1 {
		return nil, fault.Newf(fault.Invalid, op, "%s is empty.", name)
	}
	if !errors.Is(in.Decode(&more), io.EOF) {
		return nil, fault.Newf(fault.Invalid, op, "%s has more than one document; give each in a file of its own.", name)
	}
	w := yamlWriter{}
	w.node(root.Content[0], 0)
	if w.bad != "" {
		return nil, fault.Newf(fault.Invalid, op, "%s, line %d: %s", name, w.line, w.bad)
	}
	return w.out.B, nil
}

type yamlWriter struct {
	out    rawjson.Writer
	values int
	bad    string
	line   int
}

func (w *yamlWriter) fail(n *yaml.Node, why string) {
	if w.bad == "" {
		w.bad, w.line = why, n.Line
	}
}

func (w *yamlWriter) node(n *yaml.Node, depth int) {
	w.values++
	switch {
	case w.bad != "":
	case depth > maxDepth:
		w.fail(n, "it is nested more than "+strconv.Itoa(maxDepth)+" deep.")
	case w.values > maxValues:
		w.fail(n, "there are more than "+strconv.Itoa(maxValues)+" values.")
	case n.Kind == yaml.AliasNode || n.Anchor != "":
		w.fail(n, "anchors and aliases are not read; write the values out.")
	case n.Kind == yaml.MappingNode:
		w.mapping(n, depth)
	case n.Kind == yaml.SequenceNode:
		w.out.Array()
		for _, c := range n.Content {
			w.node(c, depth+1)
		}
		w.out.EndArray()
	default:
		w.scalar(n)
	}
}

func (w *yamlWriter) mapping(n *yaml.Node, depth int) {
	w.out.Object()
	for i := 0; i+1 < len(n.Content); i += 2 {
		key := n.Content[i]
		if key.Kind != yaml.ScalarNode || key.Tag == "!!merge" {
			w.fail(key, "a name must be a plain text; merges are not read.")
			return
		}
		w.out.Name(key.Value)
		w.node(n.Content[i+1], depth+1)
	}
	w.out.EndObject()
}

func (w *yamlWriter) scalar(n *yaml.Node) {
	switch n.Tag {
	case "!!null":
		w.out.Null()
		return
	case "!!bool":
		var b bool
		if n.Decode(&b) == nil {
			w.out.Bool(b)
			return
		}
	case "!!int", "!!float":
		if rawjson.IsNumber([]byte(n.Value)) {
			w.out.Raw([]byte(n.Value))
			return
		}
	}
	w.out.Text(strings.ToValidUTF8(n.Value, "\uFFFD"))
}

// text is a string of an object, "" for another value and for none.
func text(o []byte, name string) string { return textOf(rawjson.Find(o, name)) }

func textOf(v []byte) string {
	if rawjson.KindOf(v) != rawjson.String {
		return ""
	}
	return rawjson.Text(v)
}

// texts are the strings of a list.
func texts(v []byte) (list []string) {
	if rawjson.KindOf(v) != rawjson.Array {
		return nil
	}
	for e := rawjson.ElementsOf(v); e.Next(); {
		if s := textOf(e.Value); s != "" {
			list = append(list, s)
		}
	}
	return list
}

// given reports whether a value says anything: null, false, zero, and empty ones do not.
func given(v []byte) bool {
	switch string(v) {
	case "", "null", "false", `""`, "0", "0.0":
		return false
	}
	switch rawjson.KindOf(v) {
	case rawjson.Object:
		m := rawjson.MembersOf(v)
		return m.Next()
	case rawjson.Array:
		e := rawjson.ElementsOf(v)
		return e.Next()
	}
	return true
}

// maxNumber is how long a number may be, and how large its exponent: an exact one with more is costly to compute.
const maxNumber = 40

// number reads an exact number, also one in a string; nil for null. It is false for another value.
func number(v []byte) (*big.Rat, bool) {
	if rawjson.IsNull(v) {
		return nil, true
	}
	s := string(v)
	if rawjson.KindOf(v) == rawjson.String {
		s = rawjson.Text(v)
	}
	f, ok := rawjson.Float([]byte(s))
	if !ok || len(s) > maxNumber || f != 0 && (f > 1e18 || f < 1e-30 && f > -1e-30) || f < -1e18 {
		return nil, false
	}
	if f == 0 {
		return new(big.Rat), true
	}
	return new(big.Rat).SetString(s)
}

// moment reads a time of ISO 8601, in UTC where it has no zone; the zero one for null.
func moment(v []byte) (time.Time, bool) {
	if rawjson.IsNull(v) {
		return time.Time{}, true
	}
	s := textOf(v)
	for _, layout := range []string{time.RFC3339Nano, "2006-01-02T15:04:05.999999999", "2006-01-02 15:04:05.999999999Z07:00", time.DateOnly} {
		if t, err := time.Parse(layout, s); err == nil && t.Year() >= 1970 && t.Year() <= 9999 {
			return t.UTC().Truncate(time.Microsecond), true
		}
	}
	return time.Time{}, false
}

// plain is a text of others on one line without control characters and marks that turn it around, cut to a number of bytes.
func plain(s string, most int) string {
	s = strings.Map(func(r rune) rune {
		if unicode.IsSpace(r) {
			return ' '
		}
		if unicode.IsControl(r) || unicode.Is(unicode.Cf, r) || r == unicode.ReplacementChar {
			return -1
		}
		return r
	}, strings.ToValidUTF8(s, ""))
	s = strings.Join(strings.Fields(s), " ")
	if len(s) > most {
		s = strings.TrimSpace(strings.ToValidUTF8(s[:most], ""))
	}
	return s
}
