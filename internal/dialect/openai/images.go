package openai

import (
	"bytes"
	"cmp"
	"io"
	"iter"
	"math"
	"mime/multipart"
	"net/http"
	"net/textproto"
	"slices"
	"strconv"
	"strings"

	"weir/internal/catalog"
	"weir/internal/completion"
	"weir/internal/dialect"
	"weir/internal/dialect/embed"
	"weir/internal/fault"
	"weir/internal/imagefile"
	"weir/internal/rawjson"
	"weir/internal/task"
	"weir/internal/usage"
	"weir/internal/wire/sse"
)

// family describes the parameters that image models take (OpenAI, API reference, Create image; Image generation guide, Customize image
// output).
type family struct {
	gpt     bool     // it counts tokens, streams, and has the newer parameters
	dalle   bool     // it answers with addresses unless base64 is requested
	styles  bool     // it has styles
	each    int      // images per call, 0 any number
	sizes   []string // the sizes that it makes; nil: any, or unknown
	free    bool     // it makes any size of which both sides are multiples of 16
	unknown bool     // a compatible server's own model: parameters are sent as the client wrote them
}

var (
	gptFamily   = family{gpt: true, sizes: []string{"1024x1024", "1536x1024", "1024x1536"}}
	gpt2Family  = family{gpt: true, free: true}
	dalle2      = family{dalle: true, sizes: []string{"1024x1024", "512x512", "256x256"}}
	dalle3      = family{dalle: true, styles: true, each: 1, sizes: []string{"1024x1024", "1792x1024", "1024x1792"}}
	otherFamily = family{unknown: true}
)

// familyOf finds the family by the model's name at the provider or, where that is a deployment's own, by the name that clients use.
func familyOf(ep *catalog.Endpoint) *family {
	f := familyNamed(ep.MakersID())
	if f.unknown && ep.UpstreamModel == "" && ep.Model != nil {
		f = familyNamed(ep.Model.Slug)
	}
	return f
}

func familyNamed(id string) *family {
	id = strings.ToLower(id[strings.LastIndexByte(id, '/')+1:])
	switch {
	case strings.HasPrefix(id, "gpt-image-2"):
		return &gpt2Family
	case strings.HasPrefix(id, "gpt-image"), strings.HasPrefix(id, "chatgpt-image"):
		return &gptFamily
	case strings.HasPrefix(id, "dall-e-2"):
		return &dalle2
	case strings.HasPrefix(id, "dall-e-3"):
		return &dalle3
	}
	return &otherFamily
}

// paint makes images at /images/generations, or from others at /images/edits. A server with the quirk images_wire has one route for both,
// at /images, or makes images by the chat wire.
func (d *Dialect) paint(ask dialect.Ask, ep *catalog.Endpoint, req *completion.Request, t *task.Image) iter.Seq2[*completion.Event, error] {
	return func(yield func(*completion.Event, error) bool) {
		p := &painter{d: d, ask: ask, ep: ep, req: req, t: t, family: familyOf(ep), router: ep.Provider.Quirks.ImagesWire == wireRouter}
		if p.router {
			p.family = &otherFamily
		}
		if (p.family.gpt || p.router) && req.Stream && t.N == 1 && ep.Provider.Quirks.ImagesWire != wireChat {
			p.stream(yield)
			return
		}
		each, do := p.family.each, p.whole
		if ep.MaxN > 0 {
			each = ep.MaxN
		}
		if ep.Provider.Quirks.ImagesWire == wireChat {
			each, do = 1, p.converse
		}
		out, err := dialect.MakeImages(t.N, each, do)
		if err != nil {
			yield(nil, err)
			return
		}
		out.Give(ep, yield)
	}
}

// painter makes the images of one task. It does not change after it was made, because its calls run concurrently.
type painter struct {
	d      *Dialect
	ask    dialect.Ask
	ep     *catalog.Endpoint
	req    *completion.Request
	t      *task.Image
	family *family
	router bool
}

// whole makes some of the images with one call.
func (p *painter) whole(first, count int) (dialect.MadeImages, error) {
	call, err := p.call(count, false)
	if err != nil {
		return dialect.MadeImages{}, err
	}
	body, err := dialect.Object(p.ask, call)
	if err != nil {
		return dialect.MadeImages{}, err
	}
	return p.read(body, first)
}

// call encodes the request for count images.
func (p *painter) call(count int, stream bool) (dialect.Call, error) {
	m, dropped := p.members(count, stream)
	call := dialect.Call{Path: "/images/generations", Unsent: dropped, Stream: stream}
	switch {
	case p.router:
		call.Path = "/images"
		p.references(m, "input_references", true)
	case len(p.t.References) > 0:
		call.Path = "/images/edits"
		if p.inline() {
			return p.form(m, call)
		}
		if p.family.dalle {
			return call, dialect.Unsupported(p.ep, "The provider of this model takes images to edit only as data, not by URL.")
		}
		p.references(m, "images", false)
	}
	call.Body = m.JSON()
	return call, nil
}

// members returns the parameters of a request, and the names of those that the model does not have.
func (p *painter) members(count int, stream bool) (m *dialect.Members, dropped []string) {
	t, f, q := p.t, p.family, &p.ep.Provider.Quirks
	m = new(dialect.Members)
	m.Text("model", p.ep.UpstreamID)
	m.Text("prompt", t.Prompt)
	m.Int("n", int64(count))
	only := func(takes bool, name, value string) {
		if takes {
			m.Text(name, value)
		} else if value != "" && value != "auto" {
			dropped = append(dropped, name)
		}
	}
	newer := f.gpt || f.unknown
	p.size(m)
	only(true, "quality", f.quality(t.Quality))
	if f == &dalle2 && t.Quality != "standard" {
		only(false, "quality", t.Quality)
	}
	only(newer, "background", t.Background)
	only(f.unknown || f.gpt && t.Output != "svg", "output_format", t.Output)
	if newer && t.Compression >= 0 {
		m.Int("output_compression", int64(t.Compression))
	} else if t.Compression >= 0 {
		dropped = append(dropped, "output_compression")
	}
	only(newer, "moderation", t.Moderation)
	only(f.styles || f.unknown, "style", t.Style)
	if t.Seed != nil && f.unknown {
		m.Int("seed", *t.Seed)
	} else if t.Seed != nil {
		dropped = append(dropped, "seed")
	}
	if f.dalle {
		m.Text("response_format", "b64_json")
	}
	if p.req.User != "" {
		m.Text("user", dialect.HashUser(p.req.Account, []byte(p.req.User)))
	}
	if stream {
		m.Raw("stream", []byte("true"))
	}
	if stream && !p.router {
		m.Int("partial_images", int64(t.Partial))
	} else if t.Partial > 0 {
		dropped = append(dropped, dialect.PartialImages)
	}
	dropped = append(dropped, m.Options(t, p.ep.Provider.ID)...)
	dropped = append(dropped, m.Extra(t.Extra)...)
	dropped = append(dropped, m.Drop(q.Drop)...)
	m.Rename(q.Rename)
	return m, dropped
}

// quality translates a quality into the model's word, or "".
func (f *family) quality(asked string) string {
	switch {
	case f.gpt && asked == "standard":
		return "medium"
	case f.gpt && asked == "hd":
		return "high"
	case f.dalle && !f.styles:
		return "" // it has only one
	case f.dalle && (asked == "low" || asked == "medium"):
		return "standard"
	case f.dalle && asked == "high":
		return "hd"
	case f.dalle && asked == "auto":
		return ""
	}
	return asked
}

// size writes the size: one in pixels as the client wrote it, any other as the nearest that the model makes.
func (p *painter) size(m *dialect.Members) {
	t, f := p.t, p.family
	_, _, pixels := task.Dimensions(t.Size)
	tier, ratio := imagefile.Tier(t), imagefile.RatioOf(t)
	if facts := &p.ep.Facts; len(facts.ImageRatios)+len(facts.ImageResolutions) > 0 {
		p.shape(m, ratio, imagefile.Side(tier))
		return
	}
	if ratio == 0 {
		ratio = 1
	}
	switch {
	case f.unknown:
		m.Text("size", t.Size)
		m.Text("resolution", t.Resolution)
		m.Text("aspect_ratio", t.AspectRatio)
	case pixels, tier == "" && t.AspectRatio == "":
		if t.Size != "auto" || f.gpt {
			m.Text("size", t.Size)
		}
	case f.free:
		side := imagefile.Side(tier)
		if side == 0 {
			side = 1024
		}
		w, h := imagefile.Fit(min(max(ratio, 1/2.9), 2.9), side, 16, 256, 3840)
		m.Text("size", strconv.Itoa(w)+"x"+strconv.Itoa(h))
	case tier == "512" && slices.Contains(f.sizes, "512x512"):
		m.Text("size", "512x512")
	default:
		m.Text("size", imagefile.Nearest(ratio, f.sizes))
	}
}

// shape writes the aspect ratio and the resolution that are nearest to what the client wants, for models that take these words and no sizes in
// pixels.
func (p *painter) shape(m *dialect.Members, ratio float64, side int) {
	f := &p.ep.Facts
	switch {
	case slices.Contains(f.ImageRatios, p.t.AspectRatio):
		m.Text("aspect_ratio", p.t.AspectRatio)
	case ratio > 0 && len(f.ImageRatios) > 0:
		m.Text("aspect_ratio", imagefile.Nearest(ratio, f.ImageRatios))
	}
	best, least := "", math.Inf(1)
	for _, word := range f.ImageResolutions {
		if off := math.Abs(math.Log(float64(side) / float64(imagefile.Side(word)))); side > 0 && off < least {
			best, least = word, off
		}
	}
	m.Text("resolution", best)
}

// inline reports whether all input images are part of the request.
func (p *painter) inline() bool {
	return (p.t.Mask == "" || imagefile.IsData(p.t.Mask)) && !slices.ContainsFunc(p.t.References, func(a string) bool { return !imagefile.IsData(a) })
}

// references writes the addresses of input images: the provider fetches those that are not in the request.
func (p *painter) references(m *dialect.Members, name string, parts bool) {
	var w rawjson.Writer
	w.Array()
	for _, address := range p.t.References {
		if parts {
			embed.WritePart(&w, &task.Part{ImageURL: address})
		} else {
			writeAddress(&w, address)
		}
	}
	w.EndArray()
	if len(p.t.References) > 0 {
		m.Raw(name, w.B)
	}
	if p.t.Mask != "" && !parts {
		var mask rawjson.Writer
		writeAddress(&mask, p.t.Mask)
		m.Raw("mask", mask.B)
	}
}

func writeAddress(w *rawjson.Writer, address string) {
	w.Object()
	w.Name("image_url").Text(address)
	w.EndObject()
}

// form writes the request as a form, with the images as files: every server that edits images takes that.
func (p *painter) form(m *dialect.Members, call dialect.Call) (dialect.Call, error) {
	var b bytes.Buffer
	w := multipart.NewWriter(&b)
	m.Each(func(name string, value []byte) {
		if rawjson.KindOf(value) == rawjson.String {
			value = rawjson.AppendMended(nil, value)
		}
		if isFilePart(name) {
			return
		}
		part, _ := w.CreateFormField(dialect.FormName(name)) // writing to a buffer does not fail
		_, _ = part.Write(value)
	})
	name := "image"
	if len(p.t.References) > 1 {
		name = "image[]"
	}
	for _, address := range p.t.References {
		if err := file(w, name, address); err != nil {
			return call, err
		}
	}
	if p.t.Mask != "" {
		if err := file(w, "mask", p.t.Mask); err != nil {
			return call, err
		}
	}
	_ = w.Close()
	call.Body, call.Header = b.Bytes(), http.Header{"Content-Type": {w.FormDataContentType()}}
	return call, nil
}

// isFilePart reports whether the parts of that name are the images of a form, so that a client's own member must not be another one.
func isFilePart(name string) bool { return name == "image" || name == "image[]" || name == "mask" }

// file adds an image to a form.
func file(w *multipart.Writer, name, address string) error {
	data, err := imagefile.FromURL(address)
	if err != nil {
		return fault.Field("openai.form", name, "A reference image is not valid base64.")
	}
	info, ok := imagefile.Of(data)
	if !ok {
		return fault.Field("openai.form", name, "Each reference image must be a complete PNG, JPEG, WebP or GIF file.")
	}
	h := textproto.MIMEHeader{
		"Content-Disposition": {`form-data; name="` + name + `"; filename="` + "picture." + strings.TrimPrefix(info.MediaType, "image/") + `"`},
		"Content-Type":        {info.MediaType},
	}
	part, err := w.CreatePart(h)
	if err != nil {
		return err
	}
	_, err = part.Write(data)
	return err
}

// read reads a whole answer: {"data":[{"b64_json"}|{"url"}],"usage":{...}}.
func (p *painter) read(body []byte, first int) (dialect.MadeImages, error) {
	out := dialect.MadeImages{Head: completion.Head{ID: rawjson.TextAt(body, "id"), Model: rawjson.TextAt(body, "model")}}
	for e := rawjson.ElementsOf(rawjson.Find(body, "data")); e.Next(); {
		made, err := p.image(first+len(out.Images), e.Value)
		if err == nil {
			made.Revised = rawjson.TextAt(e.Value, "revised_prompt")
			settings(made, body)
			made.Quality = cmp.Or(made.Quality, p.family.quality(p.t.Quality)) // else it is priced by the requested one
		}
		if err := out.Add(made, err); err != nil {
			return out, err
		}
	}
	out.Usage = p.usage(rawjson.Find(body, "usage"))
	return out, out.Some(p.ep)
}

// image makes an image of an element, whose place may have an error instead.
func (p *painter) image(index int, v []byte) (*task.MadeImage, error) {
	if said := rawjson.Find(v, "error"); !rawjson.IsNull(said) {
		return nil, p.d.Failure(p.ep, http.StatusOK, nil, v)
	}
	if encoded := rawjson.TextAt(v, "b64_json"); encoded != "" {
		if imagefile.IsData(encoded) { // some compatible servers write whole addresses here
			return dialect.ImageAt(p.ask, index, encoded)
		}
		return dialect.Image(p.ask, index, encoded)
	}
	if address := rawjson.TextAt(v, "url"); address != "" {
		return dialect.ImageAt(p.ask, index, address)
	}
	return nil, dialect.NoImage(p.ep)
}

// settings reads the properties of the images that an answer reports.
func settings(to *task.MadeImage, v []byte) {
	word := func(name string) string { return rawjson.TextAt(v, name) }
	to.Size, to.Quality, to.Background, to.Output = word("size"), word("quality"), word("background"), word("output_format")
	if _, _, pixels := task.Dimensions(to.Size); !pixels {
		to.Size = "" // it is read from the file instead
	}
}

// usage reads the counts. An image model that does not split its output tokens by kind makes only image tokens.
func (p *painter) usage(v []byte) usage.Usage {
	u, err := parseUsage(v, &p.ep.Provider.Quirks)
	if err != nil || u == nil {
		return usage.Usage{}
	}
	if !u.OutputImage.Reported {
		u.OutputImage = u.Completion
	}
	return *u
}

// mostWords is how much of a model's words an error has.
const mostWords = 2 << 10

// stream makes one image with previews.
func (p *painter) stream(yield func(*completion.Event, error) bool) {
	call, err := p.call(1, true)
	if err != nil {
		yield(nil, err)
		return
	}
	answer, err := p.ask.Do(call)
	if err != nil {
		yield(nil, err)
		return
	}
	defer answer.Close()
	if c, err := answer.Body.Peek(); err == nil && c == '{' { // the server does not stream
		p.late(answer, yield)
		return
	}
	head, said := new(completion.Head), dialect.MadeImages{}
	frames := sse.NewReader(answer.Body, sse.Limits{Line: answer.Limits.Whole, Total: answer.Limits.Stream})
	for {
		frame, err := frames.Next()
		if err == io.EOF && said.Text != "" && p.t.Output != "svg" { // the text of an SVG is the image itself, cut off
			err = dialect.InWords(p.ep, said.Text)
		} else if err == io.EOF {
			err = dialect.Ended(p.ep)
		}
		if err != nil {
			yield(nil, dialect.Broken(p.ep, err))
			return
		}
		ev, err := p.event(frame)
		if err != nil {
			yield(nil, err)
			return
		}
		if ev == nil {
			continue
		}
		if len(said.Text) < mostWords {
			said.Text += string(ev.Text)
		}
		ev.Head, head = head, nil
		if !yield(ev, nil) || ev.Done {
			return
		}
	}
}

// late reads the whole answer of a server that was asked for a stream.
func (p *painter) late(answer *dialect.Answer, yield func(*completion.Event, error) bool) {
	body, err := answer.ReadAll(nil)
	if err == nil && !rawjson.Valid(body) {
		err = dialect.NoImage(p.ep)
	}
	if err == nil && !rawjson.IsNull(rawjson.Find(body, "error")) {
		err = p.d.Failure(p.ep, http.StatusOK, nil, body)
	}
	var out dialect.MadeImages
	if err == nil {
		out, err = p.read(body, 0)
	}
	if err != nil {
		yield(nil, err)
		return
	}
	out.Images = out.Images[:min(len(out.Images), 1)]
	out.Give(p.ep, yield)
}

// event reads one frame: a preview, text of a model that writes while it draws, the image, or an error. Other frames return nil.
func (p *painter) event(frame sse.Frame) (*completion.Event, error) {
	data := bytes.TrimSpace(frame.Data)
	if len(data) == 0 || string(data) == "[DONE]" {
		return nil, nil
	}
	if !rawjson.Valid(data) {
		return nil, dialect.NoImage(p.ep)
	}
	kind := rawjson.TextAt(data, "type")
	if kind == "" {
		kind = string(frame.Event)
	}
	switch {
	case kind == "error" || !rawjson.IsNull(rawjson.Find(data, "error")):
		return nil, p.d.Failure(p.ep, http.StatusOK, nil, data)
	case strings.HasSuffix(kind, ".partial_image"):
		made, err := p.image(0, data)
		if err != nil {
			return nil, nil // a broken preview is left out
		}
		n, _ := rawjson.Int(rawjson.Find(data, "partial_image_index"))
		made.Partial, made.Preview = true, int(min(max(n, 0), 16))
		settings(made, data)
		return &completion.Event{Result: &task.Result{Image: made}}, nil
	case strings.HasSuffix(kind, ".text_chunk"):
		text := []byte(rawjson.TextAt(data, "text"))
		if rawjson.TextAt(data, "phase") == "reasoning" {
			return &completion.Event{Reasoning: text}, nil
		}
		return &completion.Event{Text: text}, nil
	case strings.HasSuffix(kind, ".completed"):
		made, err := p.image(0, data)
		if err != nil {
			return nil, err
		}
		settings(made, data)
		u := p.usage(rawjson.Find(data, "usage"))
		return &completion.Event{Result: &task.Result{Image: made}, Usage: &u, Done: true}, nil
	}
	return nil, nil
}
