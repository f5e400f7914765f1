package gemini

import (
	"cmp"
	"iter"
	"net/http"
	"net/url"
	"strings"

	"weir/internal/catalog"
	"weir/internal/completion"
	"weir/internal/dialect"
	"weir/internal/fault"
	"weir/internal/imagefile"
	"weir/internal/rawjson"
	"weir/internal/task"
	"weir/internal/usage"
)

// Aspect ratios (Gemini API, Image generation; Generate images using Imagen).
var (
	geminiRatios = []string{"1:1", "2:3", "3:2", "3:4", "4:3", "4:5", "5:4", "9:16", "16:9", "21:9"}
	imagenRatios = []string{"1:1", "3:4", "4:3", "9:16", "16:9"}
)

const imagenCount = 4 // images per call

// paint makes images: with Imagen by predict, with any other model by generateContent, which makes one image per call.
func (d *Dialect) paint(ask dialect.Ask, ep *catalog.Endpoint, req *completion.Request, t *task.Image) iter.Seq2[*completion.Event, error] {
	return func(yield func(*completion.Event, error) bool) {
		p := &painter{d: d, ask: ask, ep: ep, t: t}
		each, do := 1, p.generate
		if strings.HasPrefix(ep.MakersID(), "imagen") {
			each, do = imagenCount, p.predict
		}
		if ep.MaxN > 0 {
			each = min(each, ep.MaxN)
		}
		out, err := dialect.MakeImages(t.N, each, do)
		if err != nil {
			yield(nil, err)
			return
		}
		out.Give(ep, yield)
	}
}

// painter makes the images of one task.
type painter struct {
	d   *Dialect
	ask dialect.Ask
	ep  *catalog.Endpoint
	t   *task.Image
}

func (p *painter) path(method string) string {
	return "/models/" + url.PathEscape(p.ep.UpstreamID) + ":" + method
}

// unsent returns the requested properties that neither kind of model has.
func (p *painter) unsent() []string {
	t := p.t
	list := dialect.Previews(t)
	for _, x := range []struct{ name, value string }{
		{"quality", t.Quality}, {"background", t.Background}, {"moderation", t.Moderation}, {"style", t.Style},
	} {
		if x.value != "" && x.value != "auto" {
			list = append(list, x.name)
		}
	}
	for i := range t.Extra {
		list = append(list, t.Extra[i].Name)
	}
	if t.Mask != "" {
		list = append(list, "mask")
	}
	return list
}

// generate requests one image from a model that also writes text.
func (p *painter) generate(first, _ int) (dialect.MadeImages, error) {
	t, unsent := p.t, p.unsent()
	var config, image dialect.Members
	if ratio := imagefile.RatioOf(t); ratio > 0 {
		image.Text("aspectRatio", imagefile.Nearest(ratio, geminiRatios))
	}
	switch tier := imagefile.Tier(t); {
	case tier == "", tier == "1K" && t.Resolution == "" && t.Size != "1K": // the model's default
	case strings.HasPrefix(p.ep.MakersID(), "gemini-2"): // these models have only one size
		if tier != "1K" {
			unsent = append(unsent, "resolution")
		}
	case tier == "512":
		image.Text("imageSize", "1K")
	default:
		image.Text("imageSize", tier)
	}
	config.Raw("responseModalities", []byte(`["TEXT","IMAGE"]`))
	if body := image.JSON(); len(body) > 2 {
		config.Raw("imageConfig", body)
	}
	if t.Seed != nil {
		config.Int("seed", *t.Seed+int64(first)) // the same seed would give the same image
	}
	if t.Output != "" {
		unsent = append(unsent, "output_format")
	}
	if t.Compression >= 0 {
		unsent = append(unsent, "output_compression")
	}
	contents, err := p.contents()
	if err != nil {
		return dialect.MadeImages{}, err
	}
	var m dialect.Members
	m.Raw("contents", contents)
	m.Raw("generationConfig", config.JSON())
	unsent = append(unsent, m.Options(t, p.ep.Provider.ID)...)
	body, err := dialect.Object(p.ask, dialect.Call{Path: p.path("generateContent"), Body: m.JSON(), Unsent: unsent})
	if err != nil {
		return dialect.MadeImages{}, err
	}
	return p.readContent(body, first)
}

// contents is the prompt with the input images.
func (p *painter) contents() ([]byte, error) {
	b := []byte(`[{"role":"user","parts":[`)
	for _, address := range p.t.References {
		if !imagefile.IsData(address) {
			b = rawjson.AppendText(append(b, `{"fileData":{"fileUri":`...), address)
			b = append(b, `}},`...)
			continue
		}
		_, encoded, _ := strings.Cut(address, ",")
		data, err := imagefile.FromURL(address)
		info, ok := imagefile.Of(data)
		if err != nil || !ok {
			return nil, fault.Field("gemini.paint", "input_references", "Each reference image must be a complete PNG, JPEG, WebP or GIF file.")
		}
		b = rawjson.AppendText(append(b, `{"inlineData":{"mimeType":`...), info.MediaType)
		b = rawjson.AppendText(append(b, `,"data":`...), encoded)
		b = append(b, `}},`...)
	}
	b = rawjson.AppendText(append(b, `{"text":`...), p.t.Prompt)
	return append(b, "}]}]"...), nil
}

// readContent finds the image and the words among the parts of an answer. Its reasoning is skipped, with the drafts in it.
func (p *painter) readContent(body []byte, first int) (dialect.MadeImages, error) {
	out := dialect.MadeImages{Head: completion.Head{
		ID: rawjson.TextAt(body, "responseId"), Model: rawjson.TextAt(body, "modelVersion"),
	}}
	reason, said := "", ""
	for c := rawjson.ElementsOf(rawjson.Find(body, "candidates")); c.Next(); {
		if reason == "" {
			reason, said = rawjson.TextAt(c.Value, "finishReason"), rawjson.TextAt(c.Value, "finishMessage")
		}
		for e := rawjson.ElementsOf(rawjson.FindPath(c.Value, "content", "parts")); e.Next(); {
			if reasoning, _ := rawjson.Bool(rawjson.Find(e.Value, "thought")); reasoning {
				continue
			}
			out.Say(rawjson.TextAt(e.Value, "text"))
			encoded := rawjson.Text(rawjson.FindPath(e.Value, "inlineData", "data"))
			if encoded == "" {
				continue
			}
			if err := out.Add(dialect.Image(p.ask, first+len(out.Images), encoded)); err != nil {
				return out, err
			}
		}
	}
	if len(out.Images) == 0 {
		return out, p.refused(body, reason, cmp.Or(said, out.Text), &out)
	}
	if u := readUsage(rawjson.Find(body, "usageMetadata")); u != nil {
		if out.Usage = *u; !u.OutputImage.Reported && u.Completion.Reported {
			out.Usage.OutputImage = usage.Of(u.Completion.N - u.Reasoning.N)
		}
	}
	return out, nil
}

// refused is the fault of an answer without an image: reason is why it ended, and said what the provider or the model said of it.
func (p *painter) refused(body []byte, reason, said string, out *dialect.MadeImages) error {
	if blocked := rawjson.Text(rawjson.FindPath(body, "promptFeedback", "blockReason")); blocked != "" {
		said = cmp.Or(rawjson.Text(rawjson.FindPath(body, "promptFeedback", "blockReasonMessage")), said)
		return dialect.Refusal{Status: http.StatusBadRequest, Code: "content_policy:" + blocked, Message: said}.Fault(p.ep)
	}
	switch reason {
	case "", "STOP", "MAX_TOKENS", "OTHER", "NO_IMAGE", "IMAGE_OTHER", "FINISH_REASON_UNSPECIFIED":
		if out.Text == "" {
			out.Say(said)
		}
		return out.Some(p.ep)
	}
	return dialect.Barred(p.ep, reason, said, "")
}

// predict requests up to four images from Imagen.
func (p *painter) predict(first, count int) (dialect.MadeImages, error) {
	t, unsent := p.t, p.unsent()
	if len(t.References) > 0 {
		return dialect.MadeImages{}, dialect.Unsupported(p.ep, "The provider of this model does not support input_references.")
	}
	var config, output dialect.Members
	config.Int("sampleCount", int64(count))
	config.Raw("includeRaiReason", []byte("true"))
	if ratio := imagefile.RatioOf(t); ratio > 0 {
		config.Text("aspectRatio", imagefile.Nearest(ratio, imagenRatios))
	}
	switch tier := imagefile.Tier(t); tier {
	case "", "512", "1K":
	default:
		config.Text("sampleImageSize", "2K")
	}
	switch t.Output {
	case "png", "jpeg":
		output.Text("mimeType", "image/"+t.Output)
	case "webp", "svg":
		unsent = append(unsent, "output_format")
	}
	if t.Compression >= 0 && t.Output == "jpeg" {
		output.Int("compressionQuality", int64(t.Compression))
	}
	if body := output.JSON(); len(body) > 2 {
		config.Raw("outputOptions", body)
	}
	if t.Seed != nil {
		unsent = append(unsent, "seed") // a seed requires an image without a watermark, which only Vertex allows
	}
	unsent = append(unsent, config.Options(t, p.ep.Provider.ID)...)
	var m dialect.Members
	m.Raw("instances", append(rawjson.AppendText([]byte(`[{"prompt":`), t.Prompt), "}]"...))
	m.Raw("parameters", config.JSON())
	body, err := dialect.Object(p.ask, dialect.Call{Path: p.path("predict"), Body: m.JSON(), Unsent: unsent})
	if err != nil {
		return dialect.MadeImages{}, err
	}
	var out dialect.MadeImages
	for e := rawjson.ElementsOf(rawjson.Find(body, "predictions")); e.Next(); {
		made, err := p.prediction(first+len(out.Images), e.Value)
		if err := out.Add(made, err); err != nil {
			return out, err
		}
	}
	return out, out.Some(p.ep)
}

// prediction reads an image of Imagen, or why it was filtered.
func (p *painter) prediction(index int, v []byte) (*task.MadeImage, error) {
	if why := rawjson.Find(v, "raiFilteredReason"); why != nil {
		return nil, dialect.Barred(p.ep, "RAI_FILTERED", rawjson.Text(why), "")
	}
	made, err := dialect.Image(p.ask, index, rawjson.TextAt(v, "bytesBase64Encoded"))
	if err == nil {
		made.Revised = rawjson.TextAt(v, "prompt")
	}
	return made, err
}
