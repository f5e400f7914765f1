package sim

import (
	"net/http"
	"strings"
	"time"
)

// harm is one category of moderation and the words that make a text fall under it.
type harm struct {
	name   string
	words  []string
	images bool // pictures are judged by it too
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
	rnd := random(fingerprint(h.name, s))
	trace := rnd.below(1000) + 1 // millionths
	lower := strings.ToLower(s)
	for _, word := range h.words {
		if strings.Contains(lower, word) {
			return float64(900_000+10*trace) / 1e6
		}
	}
	return float64(trace) / 1e6
}

// judged is one thing to judge: a text, a picture, or both together.
type judged struct {
	text        string
	words       bool // there is a text
	image       bool
	wordsOnly   bool // the model knows no pictures, nor categories of its successors
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
		dst = appendBool(append(append(append(dst, '"'), j.flaggedName...), `":`...), any)
		dst = append(dst, ',')
	}
	each := func(name string, one func(dst []byte, h *harm) []byte) {
		dst = append(append(append(dst, '"'), name...), `":{`...)
		for i := range known {
			if i > 0 {
				dst = append(dst, ',')
			}
			dst = one(append(appendText(dst, known[i].name), ':'), &known[i])
		}
		dst = append(dst, '}')
	}
	each("categories", func(dst []byte, h *harm) []byte { return appendBool(dst, h.score(j.text) > 0.5) })
	dst = append(dst, ',')
	each("category_scores", func(dst []byte, h *harm) []byte { return appendNumber(dst, h.score(j.text)) })
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
			return listed(dst, types, func(dst []byte, _ int, s string) []byte { return appendText(dst, s) })
		})
	}
	return append(dst, '}')
}

// moderator is a model that judges.
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

var moderationsWire = wholeWire("moderations", &openAIPhrases, (*refusal).json, chatWire.admit,
	"This model's maximum context length is 32768 tokens. Please reduce the length of the input.", `{"id":"modr-x","model":"m"}`)

var mistralWire = wholeWire("mistral", &mistralPhrases, func(f *refusal) []byte {
	if f.status == 401 {
		return []byte(`{"detail":"Unauthorized"}`)
	}
	kind := f.kind
	if f.status == 422 {
		kind = "invalid_request_error"
	}
	dst := appendText([]byte(`{"object":"error","message":`), f.message)
	dst = appendText(append(dst, `,"type":`...), kind)
	return append(appendText(append(dst, `,"param":null,"code":`...), itoa(f.status*10)), '}')
}, byScheme("Unauthorized", "Bearer "), "Prompt contains 40000 tokens, too large for model with 32768 maximum context length", `{"id":"x","model":"m"}`)

var mistralPhrases = phrases{
	item:    openAIPhrases.item,
	missing: func(param string) string { return "Field required: " + param },
	unknown: func(param string) string { return "Extra inputs are not permitted: " + param },
	wrongType: func(param, got, want string) string {
		return "Input should be " + want + ", not " + got + ": " + param
	},
	wrongValue: func(param, want string) string { return "Input should be " + want + ": " + param },
	outOfRange: func(param, low, high string) string {
		return "Input should be from " + low + " to " + high + ": " + param
	},
	readable: func(error) string { return "JSON decode error" },
}

// moderations are what a request comes to.
type moderations struct {
	checker
	model *moderator
	items []judged
}

func (s *taskWires) moderations(on *wire, id string, read func(m *moderations)) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		started := time.Now()
		s.take(on, w, r, func(body []byte) *refusal {
			c, refused := reader(on, body)
			if refused != nil {
				return refused
			}
			m := &moderations{checker: *c}
			read(m)
			return s.perform(w, r, started, &m.checker, whole(on, `{"id":"modr-x","model":"m","results":[]}`, func() []byte {
				name := m.ask.name
				if m.model.alias != "" {
					name = m.model.alias
				}
				n := fingerprint(string(canonical(nil, m.root)))
				dst := append(append([]byte(`{"id":"`), id...), hexOf(n)+hexOf(n*31)...)
				dst = appendText(append(dst, `","model":`...), name)
				dst = listed(append(dst, `,"results":`...), m.items, func(dst []byte, _ int, j judged) []byte { return j.append(dst) })
				return append(dst, '}')
			}))
		})
	}
}

func (m *moderations) openAI() {
	for _, name := range m.root.names {
		if name != "model" && name != "input" {
			m.refuse("", "", "Unrecognized request argument supplied: "+name)
		}
	}
	name := "omni-moderation-latest"
	if v := m.root.given("model"); v != nil && m.typed(v, text, "model") {
		name = v.text
	}
	m.model = asked(&m.checker, name, moderators, unknownModel)
	input := m.root.given("input")
	switch {
	case m.fault != nil:
	case input == nil:
		m.missing("input")
	case input.is(text):
		m.text(input, "input")
	case !input.is(array):
		m.wrongType("input", input, "a string or an array")
	case len(input.items) == 0:
		m.refuse("input", "empty_array", "Invalid 'input': empty array. Expected an array with minimum length 1, but got an empty array instead.")
	case input.items[0].is(object):
		m.parts(input)
	default:
		m.each(input, "input", m.text)
	}
}

func (m *moderations) text(v *node, param string) {
	if m.typed(v, text, param) {
		m.items = append(m.items, m.judged(m.plain(v.text, param)))
	}
}

func (m *moderations) judged(s string) judged {
	return judged{text: s, words: true, wordsOnly: m.model.wordsOnly, categories: m.model.categories, flaggedName: "flagged"}
}

// parts are texts and a picture that are judged together.
func (m *moderations) parts(input *node) {
	all := m.judged("")
	all.words = false
	m.each(input, "input", func(v *node, param string) {
		if !m.typed(v, object, param) {
			return
		}
		switch m.words(v.get("type"), param+".type", "text", "image_url") {
		case "text":
			if t := v.get("text"); t == nil {
				m.missing(param + ".text")
			} else if m.typed(t, text, param+".text") {
				all.text, all.words = all.text+" "+m.plain(t.text, param), true
			}
		case "image_url":
			m.picture(&all, v.get("image_url").get("url"), param+".image_url.url")
		}
	})
	m.items = []judged{all}
}

func (m *moderations) picture(all *judged, url *node, param string) {
	pic := medium{kind: "image"}
	switch {
	case url == nil:
		m.missing(param)
	case m.model.wordsOnly:
		m.refuse("input", "", "Invalid 'input': the model '"+m.ask.name+"' does not support image inputs.")
	case all.image:
		m.refuse("input", "too_many_images", "Number of images (2) exceeds maximum of 1.")
	case !url.is(text) || !pic.located(url.text) || pic.url == "" && pic.width == 0:
		m.refuse(param, "invalid_image", "Invalid value for 'input': the image could not be read. Supported formats: png, jpeg, gif, webp.")
	}
	all.image, all.text = true, all.text+" "+pic.name+pic.url
}

func (m *moderations) mistral() {
	m.status = 422
	members(&m.checker, m, m.root, "", map[string]field[*moderations]{"model": nil, "input": nil}, "model", "input")
	if m.fault != nil {
		return
	}
	name, input := m.root.get("model"), m.root.get("input")
	if !m.typed(name, text, "model") {
		return
	}
	m.model = asked(&m.checker, name.text, mistralModerators, func(name string) *refusal {
		return &refusal{status: 400, kind: "invalid_model", message: "Invalid model: " + name}
	})
	switch {
	case m.fault != nil:
	case input.is(text):
		m.text(input, "input")
	default:
		m.each(input, "input", m.text)
	}
	for i := range m.items {
		m.items[i].flaggedName = ""
	}
}
