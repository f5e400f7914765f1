package responses

import (
	"bytes"

	"weir/internal/rawjson"
)

// space is a tool inside a namespace, as this wire names it. Other wires have one name for each tool.
type space struct{ namespace, name string }

// maxToolName is the longest name of a tool that every wire accepts.
const maxToolName = 64

// flatName is the single name, on other wires, of a tool inside a namespace.
func flatName(namespace, name string) string {
	if namespace == "" {
		return name
	}
	flat := namespace + "__" + name
	return flat[max(len(flat)-maxToolName, 0):]
}

// spacesOf lists the tools inside namespaces by their flat names, or nil.
func spacesOf(req *Request) (spaces map[string]space) {
	for i := range req.Members {
		if m := &req.Members[i]; m.Name == "tools" {
			spaces = addSpaces(spaces, req.Body[m.Value:m.End])
		}
	}
	if input := req.Body[req.Input.Start:req.Input.End]; bytes.Contains(input, []byte(`"namespace"`)) || bytes.Contains(req.History, []byte(`"namespace"`)) {
		for _, list := range [...][]byte{req.History, input} {
			for e := rawjson.ElementsOf(list); e.Next(); {
				if rawjson.TextAt(e.Value, "type") == "additional_tools" {
					spaces = addSpaces(spaces, rawjson.Find(e.Value, "tools"))
				}
			}
		}
	}
	return spaces
}

func addSpaces(spaces map[string]space, tools []byte) map[string]space {
	for e := rawjson.ElementsOf(tools); e.Next(); {
		spaces = addSpace(spaces, e.Value)
	}
	return spaces
}

func addSpace(spaces map[string]space, tool []byte) map[string]space {
	if rawjson.TextAt(tool, "type") != "namespace" {
		return spaces
	}
	if spaces == nil {
		spaces = map[string]space{}
	}
	within := rawjson.TextAt(tool, "name")
	for e := rawjson.ElementsOf(rawjson.Find(tool, "tools")); e.Next(); {
		name := rawjson.TextAt(e.Value, "name")
		spaces[flatName(within, name)] = space{within, name}
	}
	return spaces
}

// appendName writes the name of a called tool, and its namespace.
func (c *composer) appendName(b []byte, flat string) []byte {
	if s, ok := c.o.spaces[flat]; ok {
		b = rawjson.AppendText(append(b, `,"namespace":`...), s.namespace)
		flat = s.name
	}
	return rawjson.AppendText(append(b, `,"name":`...), flat)
}

// namespace adds the tools of a namespace, each under its flat name.
func (b *builder) namespace(v []byte) {
	within := rawjson.TextAt(v, "name")
	for e := rawjson.ElementsOf(rawjson.Find(v, "tools")); e.Next(); {
		at := len(b.p.Tools)
		b.tool(e.Value)
		for i := range b.p.Tools[at:] {
			t := &b.p.Tools[at+i]
			t.Name = flatName(within, t.Name)
		}
	}
}

// freeTextOf are the flat names of the tools that take free text, nil: none.
func freeTextOf(req *Request) map[string]bool {
	if !bytes.Contains(req.Body, []byte(`"custom"`)) && !bytes.Contains(req.History, []byte(`"custom"`)) {
		return nil
	}
	names := map[string]bool{}
	for i := range req.Members {
		if m := &req.Members[i]; m.Name == "tools" {
			addFreeText(names, "", req.Body[m.Value:m.End])
		}
	}
	for _, list := range [...][]byte{req.History, req.Body[req.Input.Start:req.Input.End]} {
		for e := rawjson.ElementsOf(list); e.Next(); {
			if rawjson.TextAt(e.Value, "type") == "additional_tools" {
				addFreeText(names, "", rawjson.Find(e.Value, "tools"))
			}
		}
	}
	return names
}

func addFreeText(names map[string]bool, within string, tools []byte) {
	for e := rawjson.ElementsOf(tools); e.Next(); {
		switch name := rawjson.TextAt(e.Value, "name"); rawjson.TextAt(e.Value, "type") {
		case "custom":
			names[flatName(within, name)] = true
		case "namespace":
			addFreeText(names, name, rawjson.Find(e.Value, "tools"))
		}
	}
}
