package wire

import (
	"bytes"
	"slices"
	"strconv"
	"strings"

	"weir/internal/fault"
	"weir/internal/rawjson"
)

// Preset is what a preset says of a request, in the words of the chat style. Each style writes it into its requests; what the request says
// itself stays.
type Preset struct {
	Model        string   // "" none: the request names one
	Models       []string // fallbacks
	System       string   // instructions, "" none
	Provider     []byte   // JSON object, nil none
	Parameters   []Setting
	Tools        []byte // JSON list of functions as the chat style has them, nil none
	Plugins      []byte // JSON list, nil none
	modelText    []byte
	modelsText   []byte
	systemQuoted []byte
}

// Setting is a member of an object: a name and JSON.
type Setting struct {
	Name  string
	Value []byte // nil removes the member
}

// PresetParameters are the parameters that a preset may have, by their names in the chat style.
var PresetParameters = []string{"temperature", "top_p", "top_k", "min_p", "top_a", "frequency_penalty", "presence_penalty", "repetition_penalty", "seed", "stop", "max_tokens",
	"reasoning", "response_format", "verbosity", "service_tier"}

// NoParameters is the schema of a function without parameters, for styles that require one.
const NoParameters = `{"type":"object","properties":{}}`

const (
	maxPresetModels = 9
	maxPresetSystem = 32 << 10 // characters
)

// ReadPreset reads the content of a preset: {model, models, system_prompt, parameters, provider, tools, plugins}, which rawjson.Check has passed. It fails
// with a *fault.Error; its Param is the path of the offending field. The values of parameters and the definitions of tools are checked by the
// chat style.
func ReadPreset(text []byte) (*Preset, error) {
	const op = "wire.ReadPreset"
	p := &Preset{}
	r := NewReader(text, op)
	if r.Kind() != rawjson.Object {
		return nil, fault.New(fault.Invalid, op, "The content of a preset must be a JSON object.")
	}
	r.Object()
	for name, ok := r.Member(); ok; name, ok = r.Member() {
		switch string(name) {
		case "model":
			p.Model, _ = r.Slug()
			p.modelSlug(&r, p.Model)
		case "models":
			p.Models = r.Slugs(maxPresetModels)
			for _, m := range p.Models {
				p.modelSlug(&r, m)
			}
		case "system_prompt":
			p.System, _ = r.Stored(maxPresetSystem)
		case "provider":
			v := Present(r.Skip())
			if v == nil {
				continue
			}
			if _, err := DefaultPreferences(v); err != nil {
				return nil, err
			}
			if m := rawjson.MembersOf(v); m.Next() {
				p.Provider = v
			}
		case "parameters":
			p.readParameters(&r)
		case "tools":
			p.readTools(&r)
		case "plugins":
			v := Present(r.Skip())
			if v == nil {
				continue
			}
			if err := DefaultPlugins(v); err != nil {
				return nil, err
			}
			p.Plugins = filled(v)
		default:
			r.Fail(fault.Invalid, "A preset has no field of this name: it has model, models, system_prompt, parameters, provider, tools and plugins.").Coded("preset_field")
		}
	}
	if err := r.Err(); err != nil {
		return nil, err
	}
	p.quote()
	return p, nil
}

func (p *Preset) modelSlug(r *Reader, slug string) {
	if strings.Contains(slug, "@preset/") {
		r.Fail(fault.Invalid, "A preset cannot name another preset. Name the model itself.").Coded("preset_in_preset")
	}
}

func (p *Preset) readParameters(r *Reader) {
	if !r.Object() {
		return
	}
	for name, ok := r.Member(); ok; name, ok = r.Member() {
		if !slices.Contains(PresetParameters, string(name)) {
			r.Fail(fault.Invalid, "A preset has no parameter of this name. It may have %s.", strings.Join(PresetParameters, ", ")).Coded("preset_parameter", "allowed", strings.Join(PresetParameters, ", "))
			return
		}
		if v := Present(r.Skip()); v != nil {
			p.Parameters = append(p.Parameters, Setting{string(name), v})
		}
	}
	slices.SortFunc(p.Parameters, func(a, b Setting) int { return strings.Compare(a.Name, b.Name) })
}

// readTools reads the list of tools. They are functions: each style has those, under names of its own.
func (p *Preset) readTools(r *Reader) {
	v := Present(r.Skip())
	if v == nil {
		return
	}
	if rawjson.KindOf(v) != rawjson.Array {
		r.FailAt(fault.Invalid, "tools", "tools must be a list of functions, such as [{\"type\":\"function\",\"function\":{\"name\":\"weather\"}}].").Coded("preset_tools")
		return
	}
	for e, n := rawjson.ElementsOf(v), 0; e.Next(); n++ {
		if rawjson.TextAt(e.Value, "type") != "function" || rawjson.KindOf(rawjson.Find(e.Value, "function")) != rawjson.Object {
			r.FailAt(fault.Invalid, "tools["+strconv.Itoa(n)+"]", "The tools of a preset are functions: {\"type\":\"function\",\"function\":{…}}. Searches of the web are a plugin.").Coded("preset_functions")
			return
		}
	}
	p.Tools = filled(v)
}

// filled is a list, nil for one without elements.
func filled(list []byte) []byte {
	if e := rawjson.ElementsOf(list); e.Next() {
		return list
	}
	return nil
}

// Function is a function that a preset offers.
type Function struct {
	Name, Description  string
	Parameters, Strict []byte // JSON, nil none
}

// Functions are the functions of the preset.
func (p *Preset) Functions() (all []Function) {
	for e := rawjson.ElementsOf(p.Tools); e.Next(); {
		f := rawjson.Find(e.Value, "function")
		all = append(all, Function{rawjson.TextAt(f, "name"), rawjson.TextAt(f, "description"), Present(rawjson.Find(f, "parameters")), Present(rawjson.Find(f, "strict"))})
	}
	return all
}

func (p *Preset) quote() {
	p.modelText = rawjson.AppendText(nil, p.Model)
	p.systemQuoted = rawjson.AppendText(nil, p.System)
	if len(p.Models) > 0 {
		var w rawjson.Writer
		w.Texts(p.Models)
		p.modelsText = w.B
	}
}

// Text is the content in the form in which it is kept: members in one order, without white space between them.
func (p *Preset) Text() string {
	var w rawjson.Writer
	w.Object()
	if p.Model != "" {
		w.Name("model").Raw(p.modelText)
	}
	if p.modelsText != nil {
		w.Name("models").Raw(p.modelsText)
	}
	if p.System != "" {
		w.Name("system_prompt").Raw(p.systemQuoted)
	}
	if len(p.Parameters) > 0 {
		w.Name("parameters").Object()
		for _, s := range p.Parameters {
			w.Name(s.Name).Raw(s.Value)
		}
		w.EndObject()
	}
	if p.Provider != nil {
		w.Name("provider").Raw(p.Provider)
	}
	if p.Tools != nil {
		w.Name("tools").Raw(p.Tools)
	}
	if p.Plugins != nil {
		w.Name("plugins").Raw(p.Plugins)
	}
	w.EndObject()
	return string(rawjson.AppendOneLine(nil, w.B))
}

// Parameter is the value of a parameter, nil when the preset has none.
func (p *Preset) Parameter(name string) []byte {
	for _, s := range p.Parameters {
		if s.Name == name {
			return s.Value
		}
	}
	return nil
}

// Instructions are the instructions as a JSON string, or nil.
func (p *Preset) Instructions() []byte {
	if p.System == "" {
		return nil
	}
	return p.systemQuoted
}

// Filling collects what a preset adds to the body of a request.
type Filling struct {
	preset *Preset
	body   []byte
	set    []Setting
}

// Fill begins with what all styles have in common: model, fallbacks and provider. model is the model that the request names, "" none: the
// preset's takes its place.
func (p *Preset) Fill(body []byte, model string) *Filling {
	f := p.Route(body, model)
	if p.modelsText != nil && f.Lacks("models") {
		f.Set("models", p.modelsText)
	}
	if p.Plugins != nil {
		f.plugins(p.Plugins)
	}
	return f
}

// plugins adds plugins to those of the request, which sets each of them as it likes.
func (f *Filling) plugins(list []byte) {
	own := f.Member("plugins")
	if own != nil && rawjson.KindOf(own) != rawjson.Array {
		return // its reader refuses it
	}
	set := map[string]bool{}
	for e := rawjson.ElementsOf(own); e.Next(); {
		set[rawjson.TextAt(e.Value, "id")] = true
	}
	if !f.Lacks("transforms", "truncation") { // other names of one
		set["context-compression"] = true
	}
	var w rawjson.Writer
	w.Array()
	for e := rawjson.ElementsOf(list); e.Next(); {
		if !set[rawjson.TextAt(e.Value, "id")] {
			w.Raw(e.Value)
		}
	}
	for e := rawjson.ElementsOf(own); e.Next(); {
		w.Raw(e.Value)
	}
	w.EndArray()
	f.Set("plugins", w.B)
}

// Route is Fill for requests without fallbacks.
func (p *Preset) Route(body []byte, model string) *Filling {
	f := &Filling{preset: p, body: body}
	f.Set("preset", nil)
	switch {
	case model != "":
		f.Set("model", rawjson.AppendText(nil, model))
	case p.Model != "":
		f.Set("model", p.modelText)
	}
	if p.Provider != nil {
		f.Merge("provider", p.Provider)
	}
	return f
}

// Lacks reports whether the request has none of the members.
func (f *Filling) Lacks(names ...string) bool {
	for m := rawjson.MembersOf(f.body); m.Next(); {
		if !rawjson.IsNull(m.Value) && slices.Contains(names, string(m.Name)) {
			return false
		}
	}
	return true
}

// Member is a member of the request, nil when it has none.
func (f *Filling) Member(name string) []byte { return Present(rawjson.Find(f.body, name)) }

// Set replaces a member of the request, or adds it; with a nil value it is removed.
func (f *Filling) Set(name string, value []byte) {
	if at := slices.IndexFunc(f.set, func(s Setting) bool { return s.Name == name }); at >= 0 {
		f.set[at].Value = value
		return
	}
	f.set = append(f.set, Setting{name, value})
}

// Default adds a parameter of the preset as a member of the request, unless the request has it, or the preset has not.
func (f *Filling) Default(parameter, as string) {
	if v := f.preset.Parameter(parameter); v != nil && f.Lacks(as) {
		f.Set(as, v)
	}
}

// Merge adds members to an object of the request; those that it has stay.
func (f *Filling) Merge(name string, object []byte) {
	own := f.Member(name)
	if own == nil {
		f.Set(name, object)
		return
	}
	if rawjson.KindOf(own) != rawjson.Object {
		return // its reader refuses it
	}
	inner := Filling{body: own}
	for m := rawjson.MembersOf(object); m.Next(); {
		if inner.Lacks(string(m.Name)) {
			inner.Set(string(m.Name), m.Value)
		}
	}
	f.Set(name, inner.Body())
}

// Body is the new body: the request's members in their order, and after them those that were added.
func (f *Filling) Body() []byte {
	room := len(f.body) + 64
	for _, s := range f.set {
		room += len(s.Name) + len(s.Value) + 8
	}
	w := rawjson.Writer{B: make([]byte, 0, room)}
	w.Object()
	for m := rawjson.MembersOf(f.body); m.Next(); {
		if !slices.ContainsFunc(f.set, func(s Setting) bool { return s.Name == string(m.Name) }) {
			w.Member(f.body[m.Start:m.End])
		}
	}
	for _, s := range f.set {
		if s.Value != nil {
			w.Name(s.Name).Raw(s.Value)
		}
	}
	w.EndObject()
	return w.B
}

// Unshift names the messages in a fault as the client counts them, where a preset put its instructions before them.
func Unshift(err error, list string) error {
	f := fault.From(err)
	at, rest, ok := strings.Cut(strings.TrimPrefix(f.Param, list+"["), "]")
	n, bad := strconv.Atoi(at)
	if !ok || bad != nil || n == 0 || !strings.HasPrefix(f.Param, list+"[") {
		return err
	}
	out := *f
	old, now := list+"["+at+"]", list+"["+strconv.Itoa(n-1)+"]"
	out.Param = now + rest
	out.Public = strings.ReplaceAll(f.Public, old, now)
	return &out
}

// WithoutPreset removes a member preset that is null.
func WithoutPreset(body []byte) []byte {
	f := Filling{body: body}
	f.Set("preset", nil)
	return f.Body()
}

// UsesPreset finds out whether a body may use a preset: nearly all do not, and have not even the word.
func UsesPreset(body []byte) bool { return bytes.Contains(body, []byte("preset")) }
