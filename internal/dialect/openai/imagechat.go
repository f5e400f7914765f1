package openai

import (
	"weir/internal/completion"
	"weir/internal/dialect"
	"weir/internal/dialect/embed"
	"weir/internal/imagefile"
	"weir/internal/rawjson"
	"weir/internal/task"
	"weir/internal/usage"
)

// Names of the quirk images_wire.
const (
	wireRouter = "openrouter" // one route /images for everything
	wireChat   = "chat"       // by the chat wire, where the model's output may include images
)

// converse requests one image by a chat request (OpenRouter documentation, Image generation: modalities, image_config and
// message.images).
func (p *painter) converse(first, _ int) (dialect.MadeImages, error) {
	m, unsent := p.conversation(first)
	body, err := dialect.Object(p.ask, dialect.Call{Path: path, Body: m.JSON(), Unsent: unsent})
	if err != nil {
		return dialect.MadeImages{}, err
	}
	out := dialect.MadeImages{Head: completion.Head{
		ID: rawjson.TextAt(body, "id"), Model: rawjson.TextAt(body, "model"),
	}}
	finish := ""
	for c := rawjson.ElementsOf(rawjson.Find(body, "choices")); c.Next(); {
		finish = rawjson.TextAt(c.Value, "finish_reason")
		message := rawjson.Find(c.Value, "message")
		for _, list := range [...][]byte{rawjson.Find(message, "images"), rawjson.Find(message, "content")} { // some servers have them in the content
			for e := rawjson.ElementsOf(list); e.Next(); {
				if err := p.shown(&out, first, e.Value); err != nil {
					return out, err
				}
			}
		}
		out.Say(rawjson.TextAt(message, "content"))
		out.Say(rawjson.TextAt(message, "refusal"))
	}
	if len(out.Images) == 0 && finish == string(completion.ContentFilter) {
		return out, dialect.Barred(p.ep, finish, out.Text, "")
	}
	if err := out.Some(p.ep); err != nil {
		return out, err
	}
	if u, err := parseUsage(rawjson.Find(body, "usage"), &p.ep.Provider.Quirks); err == nil && u != nil {
		if out.Usage = *u; !u.OutputImage.Reported && u.Completion.Reported {
			out.Usage.OutputImage = usage.Of(max(u.Completion.N-u.Reasoning.N, 0))
		}
	}
	return out, nil
}

// shown adds an image or a text of a message.
func (p *painter) shown(out *dialect.MadeImages, first int, part []byte) error {
	address := rawjson.Find(part, "image_url")
	if rawjson.KindOf(address) == rawjson.Object {
		address = rawjson.Find(address, "url")
	}
	if rawjson.KindOf(address) != rawjson.String {
		out.Say(rawjson.TextAt(part, "text"))
		return nil
	}
	return out.Add(dialect.ImageAt(p.ask, first+len(out.Images), rawjson.Text(address)))
}

// conversation encodes the request for one image, and lists the properties of the task that it cannot carry.
func (p *painter) conversation(index int) (m *dialect.Members, unsent []string) {
	t := p.t
	unsent = dialect.Previews(t)
	m = new(dialect.Members)
	m.Text("model", p.ep.UpstreamID)
	var messages rawjson.Writer
	messages.Array()
	messages.Object()
	messages.Name("role").Text("user")
	messages.Name("content").Array()
	embed.WritePart(&messages, &task.Part{Text: t.Prompt})
	for _, address := range t.References {
		embed.WritePart(&messages, &task.Part{ImageURL: address})
	}
	messages.Close("]}]")
	m.Raw("messages", messages.B)
	m.Raw("modalities", []byte(`["image","text"]`))
	var config dialect.Members
	if ratio := imagefile.RatioOf(t); t.AspectRatio != "" {
		config.Text("aspect_ratio", t.AspectRatio)
	} else if ratio > 0 {
		config.Text("aspect_ratio", imagefile.Nearest(ratio, chatRatios))
	}
	if tier := imagefile.Tier(t); tier != "" && tier != "512" {
		config.Text("image_size", tier)
	}
	if t.Quality != "auto" {
		config.Text("quality", t.Quality)
	}
	if body := config.JSON(); len(body) > 2 {
		m.Raw("image_config", body)
	}
	if t.Seed != nil {
		m.Int("seed", *t.Seed+int64(index)) // the same seed would give the same image
	}
	for _, x := range []struct{ name, value string }{
		{"background", t.Background}, {"output_format", t.Output}, {"moderation", t.Moderation}, {"style", t.Style}, {"mask", t.Mask},
	} {
		if x.value != "" && x.value != "auto" {
			unsent = append(unsent, x.name)
		}
	}
	if t.Compression >= 0 {
		unsent = append(unsent, "output_compression")
	}
	if p.req.User != "" {
		m.Text("user", dialect.HashUser(p.req.Account, []byte(p.req.User)))
	}
	unsent = append(unsent, m.Options(t, p.ep.Provider.ID)...)
	unsent = append(unsent, m.Extra(t.Extra)...)
	return m, unsent
}

// chatRatios are the aspect ratios that replace a size in pixels.
var chatRatios = []string{"1:1", "2:3", "3:2", "3:4", "4:3", "4:5", "5:4", "9:16", "16:9", "21:9"}
