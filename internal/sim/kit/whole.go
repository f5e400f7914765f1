package kit

import (
	"net/http"
	"strconv"
	"strings"
	"time"
)

// NewWholeWire returns a wire that has no streams, with its own form of errors.
func NewWholeWire(name string, say *Phrases, fail func(*Refusal) []byte, admit func(*Host, *http.Request) *Refusal, tooLong, shapeless string) *Wire {
	return &Wire{
		Name: name, Phrases: say, ErrorBody: fail, Admit: admit, TooLong: tooLong, Incomplete: []byte(shapeless),
		ErrorFrame: func(f *Refusal, _ string, _ int) Frame { return Frame{Data: fail(f)} },
		Stream:     StreamType, Frame: SSE,
		TextFrame: func(s string) Frame { return Frame{Data: []byte(`{"text":"` + s + `"}`)} },
		IdleFrame: Frame{Data: []byte(`{"idle":true}`)},
	}
}

// ByScheme admits requests with the key in the Authorization header after one of the schemes, such as "Bearer ".
func ByScheme(message string, schemes ...string) func(*Host, *http.Request) *Refusal {
	return func(s *Host, r *http.Request) *Refusal {
		for _, scheme := range schemes {
			if key, ok := strings.CutPrefix(r.Header.Get("Authorization"), scheme); ok && key != "" && s.HasKey(key) {
				return nil
			}
		}
		return WrongKey(401, message)
	}
}

// Reader parses a JSON body and returns a Checker with the wire's phrases. The body must be an object.
func Reader(on *Wire, body []byte) (*Checker, *Refusal) {
	root, err := Parse(body)
	if err != nil {
		return nil, Unreadable(on.Phrases, err)
	}
	c := NewChecker(on.Phrases)
	c.Root = root
	if !c.ExpectKind(root, Object, "body") {
		return nil, c.Fault
	}
	return &c, nil
}

// FindModel returns the requested model of a wire. It returns nil and refuses the request when the wire has none of that name.
func FindModel[M any](c *Checker, name string, models map[string]*M, unknown func(name string) *Refusal) *M {
	base, err := c.Request.Knobs.ParseName(name)
	if err != nil {
		c.Refuse("model", "invalid_value", "Invalid model name: "+err.Error()+".")
		return nil
	}
	c.Request.Name = name
	m := models[base]
	if m == nil && c.Fault == nil {
		c.Fault = unknown(name)
	}
	return m
}

// StripMarkers applies the simulator's markers in a text and returns the text without them.
func (c *Checker) StripMarkers(s, param string) string {
	out, err := c.Request.Knobs.Markers(s)
	if err != nil {
		c.Refuse(param, "invalid_value", err.Error()+".")
	}
	return out
}

// Serve plays the answer to a request, unless the Checker has an error, which it returns.
func (s *Host) Serve(w http.ResponseWriter, r *http.Request, started time.Time, c *Checker, out *Reply) *Refusal {
	if err := c.Request.Knobs.Check(); err != nil {
		c.Refuse("", "invalid_value", err.Error()+".")
	}
	if c.Fault != nil {
		return c.Fault
	}
	x := s.Exchange(out.Wire, w, r, c.Request.Name, out.Stream, &c.Request.Knobs, started)
	defer x.End()
	x.Play(out)
	return nil
}

// WholeReply returns a Reply that is never streamed.
func WholeReply(on *Wire, hollow string, body func() []byte) *Reply {
	return &Reply{Wire: on, Body: body, EmptyBody: func() []byte { return []byte(hollow) }}
}

// UsageCount is one member of a usage object.
type UsageCount struct {
	Name string
	N    int
}

// AppendCounts appends `,"name":{...}` with the counts, invalid ones in the usage styles of fault U30, nothing in the style "missing".
func AppendCounts(dst []byte, name, style string, counts ...UsageCount) []byte {
	if style == "missing" {
		return dst
	}
	dst = append(append(append(dst, `,"`...), name...), `":{`...)
	for i, c := range counts {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = AppendCount(dst, c.Name, c.N, style)
	}
	return append(dst, '}')
}

// AppendNumber writes a number without an exponent.
func AppendNumber(dst []byte, x float64) []byte { return strconv.AppendFloat(dst, x, 'f', -1, 64) }

// AppendArray appends an array; one appends an element.
func AppendArray[E any](dst []byte, all []E, one func(dst []byte, i int, e E) []byte) []byte {
	dst = append(dst, '[')
	for i, e := range all {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = one(dst, i, e)
	}
	return append(dst, ']')
}

// Fingerprint returns a number that depends on the texts alone.
func Fingerprint(of ...string) uint64 {
	d := NewDigest
	for _, s := range of {
		d.Add(s)
	}
	return uint64(d)
}

// AppendLogprob appends the members of a token. Its log probability is -milli/1000.
func AppendLogprob(dst []byte, token string, milli int) []byte {
	dst = AppendText(append(dst, `"token":`...), token)
	dst = append(dst, `,"logprob":-`...)
	dst = strconv.AppendFloat(dst, float64(milli)/1000, 'f', 3, 64)
	dst = append(dst, `,"bytes":[`...)
	for i := 0; i < len(token); i++ {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = AppendInt(dst, int(token[i]))
	}
	return append(dst, ']')
}

// AppendCount appends `"name":n`, or an invalid number in a style of fault U30.
func AppendCount(dst []byte, name string, n int, style string) []byte {
	dst = append(append(append(dst, '"'), name...), `":`...)
	switch style {
	case "negative":
		return AppendInt(dst, -n-1)
	case "huge":
		return append(AppendInt(dst, 1+n), "000000000000"...)
	case "strings":
		return append(AppendInt(append(dst, '"'), n), '"')
	case "floats":
		return append(AppendInt(dst, n), ".5"...)
	}
	return AppendInt(dst, n)
}

// AmazonID returns an id in the form of a UUID that depends on the text alone.
func AmazonID(of string) string {
	d := NewDigest
	d.Add(of)
	a := Random(d)
	s := HexOf(a.Next()) + HexOf(a.Next())
	return s[:8] + "-" + s[8:12] + "-" + s[12:16] + "-" + s[16:20] + "-" + s[20:32]
}

// AppendBool writes a boolean.
func AppendBool(dst []byte, yes bool) []byte {
	if yes {
		return append(dst, "true"...)
	}
	return append(dst, "false"...)
}

// OneWord is s if it is one of the words, else "".
func OneWord(s string, words []string) string {
	word, err := oneOf(s, words...)
	if err != nil {
		return ""
	}
	return word
}
