package tasks

import (
	"net/http"
	"strings"
	"time"

	"weir/internal/sim/kit"
)

// harm is one category of moderation and the words that make a text fall under it.
type harm struct {
	name   string
	words  []string
	images bool // applies to images too
	omni   bool // unknown to the older models
}

// harms are OpenAI's, in the order of its answers.
var harms = []harm{
	{name: "harassment", words: []string{"idiot", "идиот"}},
	{name: "harassment/threatening", words: []string{"i will hurt you"}},
	{name: "sexual", words: []string{"porn", "порно"}, images: true},
	{name: "hate", words: []string{"hate those people"}},
	{name: "hate/threatening", words: []string{"exterminate those people"}},
	{name: "illicit", words: []string{"pick a lock", "shoplift"}, omni: true},
	{name: "illicit/violent", words: []string{"build a bomb"}, omni: true},
	{name: "self-harm/intent", words: []string{"kill myself"}, images: true},
	{name: "self-harm/instructions", words: []string{"ways to cut oneself"}, images: true},
	{name: "self-harm", words: []string{"kill myself", "ways to cut oneself"}, images: true},
	{name: "sexual/minors", words: []string{"child porn"}},
	{name: "violence", words: []string{"kill", "убить", "blood"}, images: true},
	{name: "violence/graphic", words: []string{"blood"}, images: true},
}

// mistralHarms are the categories of Mistral's first model; the second has two for one of them, and one more.
var mistralHarms = []harm{
	{name: "sexual", words: []string{"porn", "порно"}},
	{name: "hate_and_discrimination", words: []string{"hate those people", "idiot"}},
	{name: "violence_and_threats", words: []string{"kill", "убить", "blood"}},
	{name: "dangerous_and_criminal_content", words: []string{"build a bomb", "shoplift"}},
	{name: "selfharm", words: []string{"kill myself"}},
	{name: "health", words: []string{"diagnosis"}},
	{name: "financial", words: []string{"which shares"}},
	{name: "law", words: []string{"lawsuit"}},
	{name: "pii", words: []string{"passport number"}},
}

var mistralHarms2 = append([]harm{
	{name: "dangerous", words: []string{"build a bomb"}},
	{name: "criminal", words: []string{"shoplift"}},
	{name: "jailbreaking", words: []string{"ignore all instructions"}},
}, append(append([]harm{}, mistralHarms[:3]...), mistralHarms[4:]...)...)

// score is how much a text falls under a category: above a half when one of its words is there, a trace that follows from the text else.
func (h *harm) score(s string) float64 {
	rnd := kit.Random(kit.Fingerprint(h.name, s))
	trace := rnd.Below(1000) + 1 // millionths
	lower := strings.ToLower(s)
	for _, word := range h.words {
		if strings.Contains(lower, word) {
			return float64(900_000+10*trace) / 1e6
		}
	}
	return float64(trace) / 1e6
}

// judged is one input: a text, an image, or both together.
type judged struct {
	text        string
	words       bool // there is a text
	image       bool
	wordsOnly   bool // the model takes no images, and has no categories of its successors
	categories  []harm
	flaggedName string // "" when the wire has no such member
}

func (j *judged) append(dst []byte) []byte {
	var known []harm
	for _, h := range j.categories {
		if !h.omni || !j.wordsOnly {
			known = append(known, h)
		}
	}
	any := false
	for _, h := range known {
		any = any || h.score(j.text) > 0.5
	}
	dst = append(dst, '{')
	if j.flaggedName != "" {
		dst = kit.AppendBool(append(append(append(dst, '"'), j.flaggedName...), `":`...), any)
		dst = append(dst, ',')
	}
	each := func(name string, one func(dst []byte, h *harm) []byte) {
		dst = append(append(append(dst, '"'), name...), `":{`...)
		for i := range known {
			if i > 0 {
				dst = append(dst, ',')
			}
			dst = one(append(kit.AppendText(dst, known[i].name), ':'), &known[i])
		}
		dst = append(dst, '}')
	}
	each("categories", func(dst []byte, h *harm) []byte { return kit.AppendBool(dst, h.score(j.text) > 0.5) })
	dst = append(dst, ',')
	each("category_scores", func(dst []byte, h *harm) []byte { return kit.AppendNumber(dst, h.score(j.text)) })
	if j.flaggedName != "" && !j.wordsOnly {
		dst = append(dst, ',')
		each("category_applied_input_types", func(dst []byte, h *harm) []byte {
			var types []string
			if j.words {
				types = append(types, "text")
			}
			if j.image && h.images {
				types = append(types, "image")
			}
			return kit.AppendArray(dst, types, func(dst []byte, _ int, s string) []byte { return kit.AppendText(dst, s) })
		})
	}
	return append(dst, '}')
}

// moderator is a moderation model.
type moderator struct {
	wordsOnly  bool
	categories []harm
	alias      string // the dated name under which it answers
}

var moderators = map[string]*moderator{
	"moderation":                 {categories: harms},
	"omni-moderation-latest":     {categories: harms},
	"omni-moderation-2024-09-26": {categories: harms},
	"text-moderation":            {categories: harms, wordsOnly: true, alias: "text-moderation-007"},
	"text-moderation-latest":     {categories: harms, wordsOnly: true, alias: "text-moderation-007"},
	"text-moderation-stable":     {categories: harms, wordsOnly: true, alias: "text-moderation-007"},
}

var mistralModerators = map[string]*moderator{
	"moderation":                {categories: mistralHarms2},
	"mistral-moderation-latest": {categories: mistralHarms2},
	"mistral-moderation-2603":   {categories: mistralHarms2},
	"mistral-moderation-2411":   {categories: mistralHarms},
}

var moderationsWire = kit.NewWholeWire("moderations", &kit.OpenAIPhrases, (*kit.Refusal).JSON, kit.ChatWire.Admit,
	"This model's maximum context length is 32768 tokens. Please reduce the length of the input.", `{"id":"modr-x","model":"m"}`)

var mistralWire = kit.NewWholeWire("mistral", &mistralPhrases, func(f *kit.Refusal) []byte {
	if f.Status == 401 {
		return []byte(`{"detail":"Unauthorized"}`)
	}
	kind := f.Kind
	if f.Status == 422 {
		kind = "invalid_request_error"
	}
	dst := kit.AppendText([]byte(`{"object":"error","message":`), f.Message)
	dst = kit.AppendText(append(dst, `,"type":`...), kind)
	return append(kit.AppendText(append(dst, `,"param":null,"code":`...), kit.Itoa(f.Status*10)), '}')
}, kit.ByScheme("Unauthorized", "Bearer "), "Prompt contains 40000 tokens, too large for model with 32768 maximum context length", `{"id":"x","model":"m"}`)

var mistralPhrases = kit.Phrases{
	Item:    kit.OpenAIPhrases.Item,
	Missing: func(param string) string { return "Field required: " + param },
	Unknown: func(param string) string { return "Extra inputs are not permitted: " + param },
	WrongType: func(param, got, want string) string {
		return "Input should be " + want + ", not " + got + ": " + param
	},
	WrongValue: func(param, want string) string { return "Input should be " + want + ": " + param },
	OutOfRange: func(param, low, high string) string {
		return "Input should be from " + low + " to " + high + ": " + param
	},
	Readable: func(error) string { return "JSON decode error" },
}

// moderations is a request for moderation.
type moderations struct {
	kit.Checker
	model *moderator
	items []judged
}

func (s *Wires) moderations(on *kit.Wire, id string, read func(m *moderations)) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		started := time.Now()
		s.HandleJSON(on, w, r, func(body []byte) *kit.Refusal {
			c, refused := kit.Reader(on, body)
			if refused != nil {
				return refused
			}
			m := &moderations{Checker: *c}
			read(m)
			return s.Serve(w, r, started, &m.Checker, kit.WholeReply(on, `{"id":"modr-x","model":"m","results":[]}`, func() []byte {
				name := m.Request.Name
				if m.model.alias != "" {
					name = m.model.alias
				}
				n := kit.Fingerprint(string(kit.Canonical(nil, m.Root)))
				dst := append(append([]byte(`{"id":"`), id...), kit.HexOf(n)+kit.HexOf(n*31)...)
				dst = kit.AppendText(append(dst, `","model":`...), name)
				dst = kit.AppendArray(append(dst, `,"results":`...), m.items, func(dst []byte, _ int, j judged) []byte { return j.append(dst) })
				return append(dst, '}')
			}))
		})
	}
}

func (m *moderations) openAI() {
	for _, name := range m.Root.Names {
		if name != "model" && name != "input" {
			m.Refuse("", "", "Unrecognized request argument supplied: "+name)
		}
	}
	name := "omni-moderation-latest"
	if v := m.Root.Given("model"); v != nil && m.ExpectKind(v, kit.Text, "model") {
		name = v.Text
	}
	m.model = kit.FindModel(&m.Checker, name, moderators, kit.UnknownModel)
	input := m.Root.Given("input")
	switch {
	case m.Fault != nil:
	case input == nil:
		m.Missing("input")
	case input.Is(kit.Text):
		m.text(input, "input")
	case !input.Is(kit.Array):
		m.WrongType("input", input, "a string or an array")
	case len(input.Items) == 0:
		m.Refuse("input", "empty_array", "Invalid 'input': empty array. Expected an array with minimum length 1, but got an empty array instead.")
	case input.Items[0].Is(kit.Object):
		m.parts(input)
	default:
		m.Each(input, "input", m.text)
	}
}

func (m *moderations) text(v *kit.Node, param string) {
	if m.ExpectKind(v, kit.Text, param) {
		m.items = append(m.items, m.judged(m.StripMarkers(v.Text, param)))
	}
}

func (m *moderations) judged(s string) judged {
	return judged{text: s, words: true, wordsOnly: m.model.wordsOnly, categories: m.model.categories, flaggedName: "flagged"}
}

// parts reads texts and an image that are judged together.
func (m *moderations) parts(input *kit.Node) {
	all := m.judged("")
	all.words = false
	m.Each(input, "input", func(v *kit.Node, param string) {
		if !m.ExpectKind(v, kit.Object, param) {
			return
		}
		switch m.OneOf(v.Get("type"), param+".type", "text", "image_url") {
		case "text":
			if t := v.Get("text"); t == nil {
				m.Missing(param + ".text")
			} else if m.ExpectKind(t, kit.Text, param+".text") {
				all.text, all.words = all.text+" "+m.StripMarkers(t.Text, param), true
			}
		case "image_url":
			m.image(&all, v.Get("image_url").Get("url"), param+".image_url.url")
		}
	})
	m.items = []judged{all}
}

func (m *moderations) image(all *judged, url *kit.Node, param string) {
	pic := kit.Medium{Kind: "image"}
	switch {
	case url == nil:
		m.Missing(param)
	case m.model.wordsOnly:
		m.Refuse("input", "", "Invalid 'input': the model '"+m.Request.Name+"' does not support image inputs.")
	case all.image:
		m.Refuse("input", "too_many_images", "Number of images (2) exceeds maximum of 1.")
	case !url.Is(kit.Text) || !pic.FromURL(url.Text) || pic.URL == "" && pic.Width == 0:
		m.Refuse(param, "invalid_image", "Invalid value for 'input': the image could not be read. Supported formats: png, jpeg, gif, webp.")
	}
	all.image, all.text = true, all.text+" "+pic.Name+pic.URL
}

func (m *moderations) mistral() {
	m.Status = 422
	kit.Members(&m.Checker, m, m.Root, "", map[string]kit.Field[*moderations]{"model": nil, "input": nil}, "model", "input")
	if m.Fault != nil {
		return
	}
	name, input := m.Root.Get("model"), m.Root.Get("input")
	if !m.ExpectKind(name, kit.Text, "model") {
		return
	}
	m.model = kit.FindModel(&m.Checker, name.Text, mistralModerators, func(name string) *kit.Refusal {
		return &kit.Refusal{Status: 400, Kind: "invalid_model", Message: "Invalid model: " + name}
	})
	switch {
	case m.Fault != nil:
	case input.Is(kit.Text):
		m.text(input, "input")
	default:
		m.Each(input, "input", m.text)
	}
	for i := range m.items {
		m.items[i].flaggedName = ""
	}
}
