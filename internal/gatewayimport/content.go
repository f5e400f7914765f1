package gatewayimport

import (
	"strings"

	"weir/internal/preset"
	"weir/internal/rawjson"
)

// content is what a preset will say.
type content struct {
	model      string
	models     []string
	asked      bool // it named a model
	system     string
	provider   []byte
	tools      []byte
	plugins    []byte
	parameters []parameter
}

type parameter struct {
	name  string
	value []byte
}

// parameter adds one under the name that it has here. What was given first stays.
func (c *content) parameter(name string, value []byte) {
	switch name {
	case "max_completion_tokens":
		name = "max_tokens"
	case "reasoning_effort":
		var w rawjson.Writer
		w.Object()
		w.Name("effort").Raw(value)
		w.EndObject()
		name, value = "reasoning", w.B
	}
	for _, p := range c.parameters {
		if p.name == name {
			return
		}
	}
	c.parameters = append(c.parameters, parameter{name, value})
}

// text is the content as JSON.
func (c *content) text() []byte {
	var w rawjson.Writer
	w.Object()
	if c.model != "" {
		w.Name("model").Text(c.model)
	}
	if len(c.models) > 0 {
		w.Name("models").Texts(c.models)
	}
	if c.system != "" {
		w.Name("system_prompt").Text(c.system)
	}
	if len(c.parameters) > 0 {
		w.Name("parameters").Object()
		for _, p := range c.parameters {
			w.Name(p.name).Raw(p.value)
		}
		w.EndObject()
	}
	if len(c.provider) > 2 {
		w.Name("provider").Raw(c.provider)
	}
	if c.tools != nil {
		w.Name("tools").Raw(c.tools)
	}
	if c.plugins != nil {
		w.Name("plugins").Raw(c.plugins)
	}
	w.EndObject()
	return w.B
}

// presetName makes a name that a preset can have: lower-case letters, digits, - and _. It is "" where nothing is left.
func presetName(name string) string {
	var b strings.Builder
	for _, c := range strings.ToLower(plain(name, 200)) {
		switch {
		case c >= 'a' && c <= 'z', c >= '0' && c <= '9', c == '_' && b.Len() > 0:
			b.WriteRune(c)
		case b.Len() > 0 && !strings.HasSuffix(b.String(), "-"):
			b.WriteByte('-')
		}
		if b.Len() == preset.MaxName {
			break
		}
	}
	return strings.TrimRight(b.String(), "-")
}
