package media

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

	"weir/internal/sim/kit"
)

// mediaRequest is a request for images or videos, in terms that all wires share.
type mediaRequest struct {
	name, base string // the model as the caller wrote it, and without its settings
	knobs      kit.Knobs
	prompt     string
	seed       string // as written
	request    []byte // the whole request, where a wire gives it back
	place      string // what the name of a job begins with, where names are paths
	bucket     string // where results are to be written; "": nowhere

	video         bool
	format        string // png, jpeg, webp, svg, mp4
	width, height int
	clear         bool // an image with nothing after it
	seconds       int
	count         int          // results
	inputs        []kit.Medium // images of the request
}

// digest distinguishes requests, so that another prompt gives another image.
func (a *mediaRequest) digest(i int) uint64 {
	d := kit.NewDigest
	for _, s := range [...]string{a.base, a.prompt, a.seed, strconv.FormatUint(a.knobs.Seed, 10), strconv.Itoa(i)} {
		d.Add(s)
	}
	for i := range a.inputs {
		d.Add(a.inputs[i].String())
	}
	rnd := kit.Random(d)
	return rnd.Next()
}

// sized takes a size such as "1024x1536" or "1280:720"; false when it is none.
func (a *mediaRequest) sized(size string) bool {
	width, height, ok := kit.ParseSize(size)
	if ok {
		a.width, a.height = width, height
	}
	return ok
}

// shape takes an aspect ratio such as "16:9" with so many points on the shorter side.
func (a *mediaRequest) shape(ratio string, short int) {
	a.width, a.height = kit.SizeOfRatio(ratio, short)
}

func (a *mediaRequest) size() string { return strconv.Itoa(a.width) + "x" + strconv.Itoa(a.height) }

// mediaReader reads a request for images or videos.
type mediaReader struct {
	kit.Checker
	spec   mediaRequest
	vertex bool // the request came by Vertex AI
}

type mediaField = kit.Field[*mediaReader]

func newMediaReader(on *kit.Wire, status int) *mediaReader {
	r := &mediaReader{Checker: kit.NewChecker(on.Phrases), spec: mediaRequest{knobs: kit.Knobs{After: -1}, count: 1}}
	r.Status = status
	return r
}

// readMedia reads a JSON body up to its members. status is that of what is refused.
func readMedia(on *kit.Wire, status int, body []byte) (*mediaReader, *kit.Refusal) {
	root, err := kit.Parse(body)
	if err != nil {
		f := kit.Unreadable(on.Phrases, err)
		f.Status = status
		return nil, f
	}
	r := newMediaReader(on, status)
	r.Root, r.spec.request = root, root.Raw
	if !root.Is(kit.Object) {
		r.Refuse("", "", "The body must be a JSON object.")
	}
	return r, r.Fault
}

// model takes the name of a model, which may be one of those known; "video" and "image" are known everywhere.
func (r *mediaReader) model(name string, known map[string]bool, unknown func(string) *kit.Refusal) {
	base, err := r.spec.knobs.ParseName(name)
	switch {
	case err != nil:
		r.Refuse("model", "invalid_value", "Invalid model name: "+err.Error()+".")
	case !known[base] && base != "image" && base != "video" && r.Fault == nil:
		r.Fault = unknown(name)
	}
	r.spec.name, r.spec.base = name, base
}

// lenient drops members that are not known, as many providers do.
func (r *mediaReader) lenient(fields map[string]mediaField) {
	kept := kit.Node{Kind: kit.Object, Raw: r.Root.Raw}
	for i, name := range r.Root.Names {
		if _, known := fields[name]; known {
			kept.Names, kept.Items = append(kept.Names, name), append(kept.Items, r.Root.Items[i])
		}
	}
	r.Root = &kept
}

// finish reads the members and what they mean together, which is for the wire to say.
func (r *mediaReader) finish(fields map[string]mediaField, together func(*mediaReader), required ...string) (*mediaRequest, *kit.Refusal) {
	if r.Fault == nil && kit.Members(&r.Checker, r, r.Root, "", fields, required...) && together != nil {
		together(r)
	}
	if err := r.spec.knobs.Check(); err != nil {
		r.Refuse("prompt", "invalid_value", err.Error()+".")
	}
	if r.Fault != nil {
		return nil, r.Fault
	}
	return &r.spec, nil
}

// Fields that most wires have.
var (
	mediaFlag   mediaField = func(r *mediaReader, v *kit.Node, p string) { r.ExpectBool(v, p) }
	mediaText   mediaField = func(r *mediaReader, v *kit.Node, p string) { r.ExpectText(v, p) }
	mediaObject mediaField = func(r *mediaReader, v *kit.Node, p string) { r.ExpectObject(v, p) }
	mediaList   mediaField = func(r *mediaReader, v *kit.Node, p string) { r.ExpectArray(v, p) }
)

func mediaWords(words ...string) mediaField {
	return func(r *mediaReader, v *kit.Node, p string) { r.OneOf(v, p, words...) }
}

func mediaWhole(low, high int64) mediaField {
	return func(r *mediaReader, v *kit.Node, p string) { r.Integer(v, p, low, high) }
}

func mediaDecimal(low, high float64) mediaField {
	return func(r *mediaReader, v *kit.Node, p string) { r.Decimal(v, p, low, high) }
}

// mediaCount is the number of results.
func mediaCount(high int64) mediaField {
	return func(r *mediaReader, v *kit.Node, p string) { r.spec.count = int(r.Integer(v, p, 1, high)) }
}

func mediaSeed(low, high int64) mediaField {
	return func(r *mediaReader, v *kit.Node, p string) {
		r.Integer(v, p, low, high)
		r.spec.seed = string(v.Raw)
	}
}

// mediaPrompt is the text with its markers, of so many characters at most.
func mediaPrompt(most int) mediaField {
	return func(r *mediaReader, v *kit.Node, p string) {
		if !r.ExpectKind(v, kit.Text, p) {
			return
		}
		plain, err := r.spec.knobs.Markers(v.Text)
		switch {
		case err != nil:
			r.Refuse(p, "invalid_value", err.Error()+".")
		case v.Text == "":
			r.Refuse(p, "empty_string", "Invalid '"+p+"': empty string. Expected a string with minimum length 1.")
		case utf8.RuneCountInString(v.Text) > most:
			r.Refuse(p, "string_above_max_length", "Invalid '"+p+"': string too long. Expected a string with maximum length "+strconv.Itoa(most)+", but got a string with length "+strconv.Itoa(utf8.RuneCountInString(v.Text))+" instead.")
		}
		r.spec.prompt = plain
	}
}

func utf16Length(s string) int { return len(utf16.Encode([]rune(s))) }

// mediaSize is one of some sizes; "auto" leaves the default.
func mediaSize(sizes ...string) mediaField {
	return func(r *mediaReader, v *kit.Node, p string) {
		if size := r.OneOf(v, p, sizes...); size != "" && size != "auto" {
			r.spec.sized(size)
		}
	}
}

// mediaFormat is the format of the results.
func mediaFormat(formats ...string) mediaField {
	return func(r *mediaReader, v *kit.Node, p string) {
		if f := r.OneOf(v, p, formats...); f != "" {
			r.spec.format = strings.Replace(f, "jpg", "jpeg", 1)
		}
	}
}

// mediaLink checks an image that is given by a URL, as a data URL, or, if plain is set, as base64 alone.
func mediaLink(plain bool, schemes ...string) mediaField {
	return func(r *mediaReader, v *kit.Node, p string) {
		if !r.ExpectKind(v, kit.Text, p) {
			return
		}
		m := kit.Medium{Kind: "image"}
		for _, scheme := range schemes {
			if strings.HasPrefix(v.Text, scheme+"://") {
				m.URL = v.Text
			}
		}
		switch {
		case m.URL != "", strings.HasPrefix(v.Text, "data:image/") && m.FromURL(v.Text), plain && m.FromBase64(v.Text):
			r.spec.inputs = append(r.spec.inputs, m)
		default:
			r.WrongValue(p, "an image by its address or as base64")
		}
	}
}

// mediaBody reads a JSON request and hands its body on.
func (s *Wires) mediaBody(on *kit.Wire, w http.ResponseWriter, r *http.Request, then func(began time.Time, body []byte) *kit.Refusal) {
	began := time.Now()
	s.HandleJSON(on, w, r, func(body []byte) *kit.Refusal { return then(began, append([]byte(nil), body...)) })
}

// formTypes are the fields of forms that are not text.
var formTypes = map[string]kit.Kind{
	"n": kit.Number, "output_compression": kit.Number, "partial_images": kit.Number, "stream": kit.Boolean,
}

// part is a file of a form.
type part struct {
	field, kind string
	data        []byte
}

// form reads a multipart request as the equivalent JSON object, and its files.
func (s *Wires) form(on *kit.Wire, r *http.Request) (*mediaReader, []part, *kit.Refusal) {
	bad := func(message string) *kit.Refusal {
		return &kit.Refusal{Status: 400, Kind: "invalid_request_error", Message: message}
	}
	_, options, err := mime.ParseMediaType(r.Header.Get("Content-Type"))
	if err != nil || options["boundary"] == "" {
		return nil, nil, bad("Could not parse multipart form: no boundary.")
	}
	out := newMediaReader(on, 400)
	out.Root = &kit.Node{Kind: kit.Object}
	var files []part
	form := multipart.NewReader(http.MaxBytesReader(nil, r.Body, s.Config.MaxBodyBytes), options["boundary"])
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
			return nil, nil, kit.TooLarge
		} else if err != nil {
			return nil, nil, bad("Could not parse multipart form: " + err.Error())
		}
		if p.FileName() != "" {
			files = append(files, part{field: p.FormName(), kind: p.Header.Get("Content-Type"), data: data})
			continue
		}
		if out.Root.Has(p.FormName()) {
			return nil, nil, &kit.Refusal{Status: 400, Kind: "invalid_request_error", Code: "duplicate_member", Param: p.FormName(), Message: "The field '" + p.FormName() + "' is given twice."}
		}
		v := kit.Node{Kind: kit.Text, Raw: data, Text: string(data)}
		if want, ok := formTypes[p.FormName()]; ok {
			if n, err := kit.Parse(data); err == nil && n.Kind == want {
				v = *n
			}
		}
		out.Root.Names, out.Root.Items = append(out.Root.Names, p.FormName()), append(out.Root.Items, v)
	}
}

// isForm reports whether a request is a multipart form.
func isForm(r *http.Request) bool {
	kind, _, _ := strings.Cut(r.Header.Get("Content-Type"), ";")
	return strings.EqualFold(strings.TrimSpace(kind), "multipart/form-data")
}
