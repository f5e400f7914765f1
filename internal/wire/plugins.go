package wire

import (
	"strings"

	"weir/internal/completion"
	"weir/internal/fault"
	"weir/internal/rawjson"
	"weir/internal/routing"
)

// Limits of the list plugins.
const (
	maxPlugins     = 64
	maxDomains     = 100
	maxDomainChars = 253
	maxIDChars     = 256
	maxPromptChars = 4096

	defaultResults = 5 // of a web search
	maxResults     = 20
)

var (
	compressors = []string{"middle-out"}
	parsers     = []string{"native", "pdf-text"}
)

// plugin is one entry of the list.
type plugin struct {
	id      string
	enabled bool
	engine  string
	search  completion.Search
	pdf     string // engine for PDF files
}

// Plugins reads the list plugins (completions of the specification, section 2.11) into req.
func (r *Reader) Plugins(req *completion.Request) {
	if !r.Array() {
		return
	}
	for n := 1; r.Element(); n++ {
		if n > maxPlugins {
			r.TooMany(maxPlugins)
			return
		}
		if r.Kind() != rawjson.Object {
			r.Free(rawjson.Object)
			r.Required()
			return
		}
		p := plugin{enabled: true, search: completion.Search{MaxResults: defaultResults}}
		r.plugin(&p)
		if r.Err() == nil {
			r.use(&p, req)
		}
	}
}

func (r *Reader) plugin(p *plugin) {
	r.Object()
	for name, ok := r.Member(); ok; name, ok = r.Member() {
		switch string(name) {
		case "id":
			text, _ := r.Text(maxIDChars)
			p.id = string(text)
		case "enabled":
			p.enabled = r.Switch() != Off
		case "engine":
			text, _ := r.Text(maxIDChars)
			p.engine = string(text)
		case "pdf":
			r.pdf(p)
		case "max_results":
			if n, ok := r.Int(1, maxResults); ok {
				p.search.MaxResults = int(n)
			}
		case "search_prompt": // for other search engines than the provider's, which Weir does not have
			r.Text(maxPromptChars)
		case "include_domains":
			p.search.Include = r.domains()
		case "exclude_domains":
			p.search.Exclude = r.domains()
		case "user_location":
			p.search.Location = r.Free(rawjson.Object)
		default:
			r.Skip()
		}
	}
}

func (r *Reader) pdf(p *plugin) {
	if !r.Object() {
		return
	}
	for name, ok := r.Member(); ok; name, ok = r.Member() {
		if string(name) == "engine" {
			p.pdf, _ = r.Enum(parsers)
		} else {
			r.Skip()
		}
	}
}

func (r *Reader) domains() (list []string) {
	if !r.Array() {
		return nil
	}
	for r.Element() {
		if len(list) == maxDomains {
			r.TooMany(maxDomains)
			return nil
		}
		text, ok := r.Text(maxDomainChars)
		if !ok {
			r.Required()
			return nil
		}
		list = append(list, string(text))
	}
	return list
}

// use applies one entry of the list.
func (r *Reader) use(p *plugin, req *completion.Request) {
	switch p.id {
	case "web":
		r.web(p, req)
	case "file-parser":
		req.Needs.Readable = p.enabled && p.pdf != "native"
	case "response-healing":
		req.Heal = p.enabled
	case "context-compression":
		req.Needs.Shrink = routing.ShrinkNone
		if p.enabled {
			req.Needs.Shrink = routing.ShrinkAny
		}
		if p.engine != "" && p.engine != compressors[0] {
			r.FailIn(fault.Invalid, "engine", "The context-compression plugin has one engine: middle-out.")
		}
	case "moderation":
		if p.enabled {
			r.Fail(fault.Invalid, "This gateway has no moderation plugin.")
		}
	case "":
		r.FailIn(fault.Invalid, "id", "A plugin needs an id.")
	default:
		r.FailIn(fault.Invalid, "id", "There is no plugin %q.", p.id)
	}
}

func (r *Reader) web(p *plugin, req *completion.Request) {
	switch {
	case p.engine != "" && p.engine != "native":
		r.FailIn(fault.Invalid, "engine", "The web plugin has no engine %q. Use native, the provider's own search.", p.engine)
	case p.enabled:
		search := p.search
		req.Search, req.Needs.Search, req.Needs.Web = &search, true, true
	default:
		req.Search, req.Needs.Search = nil, false
	}
}

// Transforms reads the list transforms, an older way to request context compression; an empty list requests none.
func (r *Reader) Transforms(req *completion.Request) {
	if !r.Array() {
		return
	}
	req.Needs.Shrink = routing.ShrinkNone
	for n := 1; r.Element(); n++ {
		if n > maxPlugins {
			r.TooMany(maxPlugins)
			return
		}
		if _, ok := r.Enum(compressors); !ok {
			r.Required()
			return
		}
		req.Needs.Shrink = routing.ShrinkAny
	}
}

// DefaultPlugins checks a list plugins that is stored as a default for later requests. It fails with a *fault.Error.
func DefaultPlugins(list []byte) error {
	const op = "wire.DefaultPlugins"
	if rawjson.KindOf(list) != rawjson.Array {
		return fault.Field(op, "plugins", "plugins is a list, such as [{\"id\":\"response-healing\"}].")
	}
	r := NewReader(list, op)
	r.Plugins(new(completion.Request))
	if err := r.Err(); err != nil {
		err.Param = strings.TrimSuffix("plugins"+err.Param, ".")
		return err
	}
	return nil
}

// UsePlugins applies those plugins of a checked default list to req that req does not set itself.
func UsePlugins(req *completion.Request, list []byte) {
	r := NewReader(list, "wire.UsePlugins")
	for r.Array(); r.Element(); {
		p := plugin{enabled: true, search: completion.Search{MaxResults: defaultResults}}
		r.plugin(&p)
		if !speaksOf(req, p.id) {
			r.use(&p, req)
		}
	}
}

// speaksOf reports whether the body of a request sets a plugin, on or off.
func speaksOf(req *completion.Request, id string) bool {
	for i := range req.Members {
		m := &req.Members[i]
		v := Present(req.Body[m.Value:m.End])
		switch {
		case v == nil:
		case m.Name == "plugins":
			for e := rawjson.ElementsOf(v); e.Next(); {
				if rawjson.TextAt(e.Value, "id") == id {
					return true
				}
			}
		case m.Name == "transforms" || m.Name == "truncation":
			if id == "context-compression" {
				return true
			}
		}
	}
	return false
}
