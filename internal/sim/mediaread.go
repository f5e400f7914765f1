package sim

import (
	"errors"
	"io"
	"mime"
	"mime/multipart"
	"net/http"
	"strconv"
	"strings"
	"time"
	"unicode/utf16"
	"unicode/utf8"
)

// mediaAsk is a request for pictures or videos in terms that every wire shares.
type mediaAsk struct {
	name, base string // the model as the caller wrote it, and without its settings
	knobs      knobs
	prompt     string
	seed       string // as written
	request    []byte // the whole request, where a wire gives it back
	place      string // what the name of a job begins with, where names are paths
	bucket     string // where results are to be written; "": nowhere

	video         bool
	format        string // png, jpeg, webp, svg, mp4
	width, height int
	clear         bool // a picture with nothing behind it
	seconds       int
	count         int      // results
	inputs        []medium // pictures that came along
}

// digest tells asks apart, so that another prompt gives another picture.
func (a *mediaAsk) digest(i int) uint64 {
	d := newDigest
	for _, s := range [...]string{a.base, a.prompt, a.seed, strconv.FormatUint(a.knobs.seed, 10), strconv.Itoa(i)} {
		d.add(s)
	}
	for i := range a.inputs {
		d.add(a.inputs[i].String())
	}
	rnd := random(d)
	return rnd.next()
}

// sized takes a size such as "1024x1536" or "1280:720"; false when it is none.
func (a *mediaAsk) sized(size string) bool {
	width, height, ok := pointsOf(size)
	if ok {
		a.width, a.height = width, height
	}
	return ok
}

// shape takes an aspect ratio such as "16:9" with so many points on the shorter side.
func (a *mediaAsk) shape(ratio string, short int) { a.width, a.height = pointsIn(ratio, short) }

func (a *mediaAsk) size() string { return strconv.Itoa(a.width) + "x" + strconv.Itoa(a.height) }

// mediaReader reads a request for pictures or videos.
type mediaReader struct {
	checker
	made   mediaAsk
	vertex bool // Google's other house
}

type mediaField = field[*mediaReader]

func newMediaReader(on *wire, status int) *mediaReader {
	r := &mediaReader{checker: newChecker(on.say), made: mediaAsk{knobs: knobs{after: -1}, count: 1}}
	r.status = status
	return r
}

// readMedia reads a JSON body up to its members. status is that of what is refused.
func readMedia(on *wire, status int, body []byte) (*mediaReader, *refusal) {
	root, err := parse(body)
	if err != nil {
		f := unreadable(on.say, err)
		f.status = status
		return nil, f
	}
	r := newMediaReader(on, status)
	r.root, r.made.request = root, root.raw
	if !root.is(object) {
		r.refuse("", "", "The body must be a JSON object.")
	}
	return r, r.fault
}

// model takes the name of a model, which may be one of those known; "video" and "image" are known everywhere.
func (r *mediaReader) model(name string, known map[string]bool, unknown func(string) *refusal) {
	base, err := r.made.knobs.named(name)
	switch {
	case err != nil:
		r.refuse("model", "invalid_value", "Invalid model name: "+err.Error()+".")
	case !known[base] && base != "image" && base != "video" && r.fault == nil:
		r.fault = unknown(name)
	}
	r.made.name, r.made.base = name, base
}

// lenient drops members that are not known, as many providers do.
func (r *mediaReader) lenient(fields map[string]mediaField) {
	kept := node{kind: object, raw: r.root.raw}
	for i, name := range r.root.names {
		if _, known := fields[name]; known {
			kept.names, kept.items = append(kept.names, name), append(kept.items, r.root.items[i])
		}
	}
	r.root = &kept
}

// finish reads the members and what they mean together, which is for the wire to say.
func (r *mediaReader) finish(fields map[string]mediaField, together func(*mediaReader), required ...string) (*mediaAsk, *refusal) {
	if r.fault == nil && members(&r.checker, r, r.root, "", fields, required...) && together != nil {
		together(r)
	}
	if err := r.made.knobs.check(); err != nil {
		r.refuse("prompt", "invalid_value", err.Error()+".")
	}
	if r.fault != nil {
		return nil, r.fault
	}
	return &r.made, nil
}

// Fields that most wires have.
var (
	mediaFlag   mediaField = func(r *mediaReader, v *node, p string) { r.aBool(v, p) }
	mediaText   mediaField = func(r *mediaReader, v *node, p string) { r.aText(v, p) }
	mediaObject mediaField = func(r *mediaReader, v *node, p string) { r.anObject(v, p) }
	mediaList   mediaField = func(r *mediaReader, v *node, p string) { r.anArray(v, p) }
)

func mediaWords(words ...string) mediaField {
	return func(r *mediaReader, v *node, p string) { r.words(v, p, words...) }
}

func mediaWhole(low, high int64) mediaField {
	return func(r *mediaReader, v *node, p string) { r.integer(v, p, low, high) }
}

func mediaDecimal(low, high float64) mediaField {
	return func(r *mediaReader, v *node, p string) { r.decimal(v, p, low, high) }
}

// mediaCount is the number of results.
func mediaCount(high int64) mediaField {
	return func(r *mediaReader, v *node, p string) { r.made.count = int(r.integer(v, p, 1, high)) }
}

func mediaSeed(low, high int64) mediaField {
	return func(r *mediaReader, v *node, p string) {
		r.integer(v, p, low, high)
		r.made.seed = string(v.raw)
	}
}

// mediaPrompt is the text with its markers, of so many characters at most.
func mediaPrompt(most int) mediaField {
	return func(r *mediaReader, v *node, p string) {
		if !r.typed(v, text, p) {
			return
		}
		plain, err := r.made.knobs.markers(v.text)
		switch {
		case err != nil:
			r.refuse(p, "invalid_value", err.Error()+".")
		case v.text == "":
			r.refuse(p, "empty_string", "Invalid '"+p+"': empty string. Expected a string with minimum length 1.")
		case utf8.RuneCountInString(v.text) > most:
			r.refuse(p, "string_above_max_length", "Invalid '"+p+"': string too long. Expected a string with maximum length "+strconv.Itoa(most)+", but got a string with length "+strconv.Itoa(utf8.RuneCountInString(v.text))+" instead.")
		}
		r.made.prompt = plain
	}
}

func utf16Length(s string) int { return len(utf16.Encode([]rune(s))) }

// mediaSize is one of some sizes; "auto" leaves the default.
func mediaSize(sizes ...string) mediaField {
	return func(r *mediaReader, v *node, p string) {
		if size := r.words(v, p, sizes...); size != "" && size != "auto" {
			r.made.sized(size)
		}
	}
}

// mediaFormat is the format of the results.
func mediaFormat(formats ...string) mediaField {
	return func(r *mediaReader, v *node, p string) {
		if f := r.words(v, p, formats...); f != "" {
			r.made.format = strings.Replace(f, "jpg", "jpeg", 1)
		}
	}
}

// mediaLink is a picture by an address, as a data URL, or, where plain allows it, as base64 without any head.
func mediaLink(plain bool, schemes ...string) mediaField {
	return func(r *mediaReader, v *node, p string) {
		if !r.typed(v, text, p) {
			return
		}
		m := medium{kind: "image"}
		for _, scheme := range schemes {
			if strings.HasPrefix(v.text, scheme+"://") {
				m.url = v.text
			}
		}
		switch {
		case m.url != "", strings.HasPrefix(v.text, "data:image/") && m.located(v.text), plain && m.inline(v.text):
			r.made.inputs = append(r.made.inputs, m)
		default:
			r.wrongValue(p, "an image by its address or as base64")
		}
	}
}

// mediaBody reads a JSON request and hands its body on.
func (s *mediaWires) mediaBody(on *wire, w http.ResponseWriter, r *http.Request, then func(began time.Time, body []byte) *refusal) {
	began := time.Now()
	s.take(on, w, r, func(body []byte) *refusal { return then(began, append([]byte(nil), body...)) })
}

// formTypes are the fields of forms that are not text.
var formTypes = map[string]kind{
	"n": number, "output_compression": number, "partial_images": number, "stream": boolean,
}

// part is a file of a form.
type part struct {
	field, kind string
	data        []byte
}

// form reads a multipart request as the JSON object that would say the same; files come beside it.
func (s *mediaWires) form(on *wire, r *http.Request) (*mediaReader, []part, *refusal) {
	bad := func(message string) *refusal {
		return &refusal{status: 400, kind: "invalid_request_error", message: message}
	}
	_, options, err := mime.ParseMediaType(r.Header.Get("Content-Type"))
	if err != nil || options["boundary"] == "" {
		return nil, nil, bad("Could not parse multipart form: no boundary.")
	}
	out := newMediaReader(on, 400)
	out.root = &node{kind: object}
	var files []part
	form := multipart.NewReader(http.MaxBytesReader(nil, r.Body, s.config.MaxBodyBytes), options["boundary"])
	for {
		p, err := form.NextPart()
		if err == io.EOF {
			return out, files, nil
		}
		if err != nil {
			return nil, nil, bad("Could not parse multipart form: " + err.Error())
		}
		data, err := io.ReadAll(p)
		if tooBig := new(http.MaxBytesError); errors.As(err, &tooBig) {
			return nil, nil, tooLarge
		} else if err != nil {
			return nil, nil, bad("Could not parse multipart form: " + err.Error())
		}
		if p.FileName() != "" {
			files = append(files, part{field: p.FormName(), kind: p.Header.Get("Content-Type"), data: data})
			continue
		}
		if out.root.has(p.FormName()) {
			return nil, nil, &refusal{status: 400, kind: "invalid_request_error", code: "duplicate_member", param: p.FormName(), message: "The field '" + p.FormName() + "' is given twice."}
		}
		v := node{kind: text, raw: data, text: string(data)}
		if want, ok := formTypes[p.FormName()]; ok {
			if n, err := parse(data); err == nil && n.kind == want {
				v = *n
			}
		}
		out.root.names, out.root.items = append(out.root.names, p.FormName()), append(out.root.items, v)
	}
}

// isForm reports whether a request is a multipart form.
func isForm(r *http.Request) bool {
	kind, _, _ := strings.Cut(r.Header.Get("Content-Type"), ";")
	return strings.EqualFold(strings.TrimSpace(kind), "multipart/form-data")
}
