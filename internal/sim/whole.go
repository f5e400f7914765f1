package sim

import (
	"net/http"
	"strconv"
	"strings"
	"time"
)

// wholeWire is a wire that streams nothing, with bodies of its own for errors.
func wholeWire(name string, say *phrases, fail func(*refusal) []byte, admit func(*Host, *http.Request) *refusal, tooLong, shapeless string) *wire {
	return &wire{
		name: name, say: say, fail: fail, admit: admit, tooLong: tooLong, shapeless: []byte(shapeless),
		inside: func(f *refusal, _ string, _ int) frame { return frame{data: fail(f)} },
		stream: streamType, frame: sse,
		text: func(s string) frame { return frame{data: []byte(`{"text":"` + s + `"}`)} },
		idle: frame{data: []byte(`{"idle":true}`)},
	}
}

// byScheme admits who sends the key in the Authorization header behind one of the schemes, such as "Bearer ".
func byScheme(message string, schemes ...string) func(*Host, *http.Request) *refusal {
	return func(s *Host, r *http.Request) *refusal {
		for _, scheme := range schemes {
			if key, ok := strings.CutPrefix(r.Header.Get("Authorization"), scheme); ok && key != "" && s.hasKey(key) {
				return nil
			}
		}
		return wrongKey(401, message)
	}
}

// reader begins to read a body of JSON with the phrases of a wire.
func reader(on *wire, body []byte) (*checker, *refusal) {
	root, err := parse(body)
	if err != nil {
		return nil, unreadable(on.say, err)
	}
	c := newChecker(on.say)
	c.root = root
	if !c.typed(root, object, "body") {
		return nil, c.fault
	}
	return &c, nil
}

// asked finds the model that is asked for among those of a wire; nil when it has none of that name, which is then complained of.
func asked[M any](c *checker, name string, models map[string]*M, unknown func(name string) *refusal) *M {
	base, err := c.ask.knobs.named(name)
	if err != nil {
		c.refuse("model", "invalid_value", "Invalid model name: "+err.Error()+".")
		return nil
	}
	c.ask.name = name
	m := models[base]
	if m == nil && c.fault == nil {
		c.fault = unknown(name)
	}
	return m
}

// plain is a text without the simulator's markers, which are obeyed.
func (c *checker) plain(s, param string) string {
	out, err := c.ask.knobs.markers(s)
	if err != nil {
		c.refuse(param, "invalid_value", err.Error()+".")
	}
	return out
}

// perform plays the answer to a request, unless there is something to complain of.
func (s *Host) perform(w http.ResponseWriter, r *http.Request, started time.Time, c *checker, out *reply) *refusal {
	if err := c.ask.knobs.check(); err != nil {
		c.refuse("", "invalid_value", err.Error()+".")
	}
	if c.fault != nil {
		return c.fault
	}
	x := s.exchange(out.wire, w, r, c.ask.name, out.stream, &c.ask.knobs, started)
	defer x.end()
	x.play(out)
	return nil
}

// whole is an answer that is never streamed.
func whole(on *wire, hollow string, body func() []byte) *reply {
	return &reply{wire: on, body: body, hollow: func() []byte { return []byte(hollow) }}
}

// counted is one count of usage.
type counted struct {
	name string
	n    int
}

// appendCounts writes `,"usage":{...}` under the name of it, or what a provider that counts badly writes.
func appendCounts(dst []byte, name, style string, counts ...counted) []byte {
	if style == "missing" {
		return dst
	}
	dst = append(append(append(dst, `,"`...), name...), `":{`...)
	for i, c := range counts {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = appendCount(dst, c.name, c.n, style)
	}
	return append(dst, '}')
}

func appendNumber(dst []byte, x float64) []byte { return strconv.AppendFloat(dst, x, 'f', -1, 64) }

// listed writes the elements of an array.
func listed[E any](dst []byte, all []E, one func(dst []byte, i int, e E) []byte) []byte {
	dst = append(dst, '[')
	for i, e := range all {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = one(dst, i, e)
	}
	return append(dst, ']')
}

// fingerprint is a number that follows from texts.
func fingerprint(of ...string) uint64 {
	d := newDigest
	for _, s := range of {
		d.add(s)
	}
	return uint64(d)
}

func appendLogprob(dst []byte, token string, milli int) []byte {
	dst = appendText(append(dst, `"token":`...), token)
	dst = append(dst, `,"logprob":-`...)
	dst = strconv.AppendFloat(dst, float64(milli)/1000, 'f', 3, 64)
	dst = append(dst, `,"bytes":[`...)
	for i := 0; i < len(token); i++ {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = appendInt(dst, int(token[i]))
	}
	return append(dst, ']')
}

// appendCount writes `"name":n`, well or in a bad style.
func appendCount(dst []byte, name string, n int, style string) []byte {
	dst = append(append(append(dst, '"'), name...), `":`...)
	switch style {
	case "negative":
		return appendInt(dst, -n-1)
	case "huge":
		return append(appendInt(dst, 1+n), "000000000000"...)
	case "strings":
		return append(appendInt(append(dst, '"'), n), '"')
	case "floats":
		return append(appendInt(dst, n), ".5"...)
	}
	return appendInt(dst, n)
}

// amazonID is an id in the form of a UUID.
func amazonID(of string) string {
	d := newDigest
	d.add(of)
	a := random(d)
	s := hexOf(a.next()) + hexOf(a.next())
	return s[:8] + "-" + s[8:12] + "-" + s[12:16] + "-" + s[16:20] + "-" + s[20:32]
}

func appendBool(dst []byte, yes bool) []byte {
	if yes {
		return append(dst, "true"...)
	}
	return append(dst, "false"...)
}

func oneWord(s string, words []string) string {
	word, err := oneOf(s, words...)
	if err != nil {
		return ""
	}
	return word
}
