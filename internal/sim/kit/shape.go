package kit

import (
	_ "embed"
	"slices"
	"strconv"
	"strings"
)

// Shape is how a real provider dresses an answer: members, frames, comments and borders of chunks that the wire allows and this simulator's
// own writers never send. A shape changes nothing of what the answer says.
type Shape struct {
	Wire, Name string
	Origin     string // the recording that shows it

	adds          []addition
	first, second []Frame // before the first frame, and after it
	comment       string  // a comment before each frame, "" none
	summary       bool    // the frame with the finish reason repeats the whole message
	pad           int     // spaces before the end of each frame
	split         int     // bytes of each write, 0: a frame at a time
}

// addition is what is added to an object, unless it has members of these names.
type addition struct {
	at      []string // names on the way to the object, "*" for each element
	on      string   // kinds of frames, and "whole"; "": all
	members Node
}

//go:embed shapes.json
var shapesJSON []byte

// Shapes are all shapes, by wire. They are facts of recordings, with their origin.
var Shapes = readShapes()

func readShapes() []Shape {
	root, err := Parse(shapesJSON)
	if err != nil {
		panic(err)
	}
	var all []Shape
	for i := range root.Items {
		n := &root.Items[i]
		s := Shape{Wire: n.text("wire"), Name: n.text("name"), Origin: n.text("origin"), comment: n.text("comment"), summary: n.child("summary") != nil,
			pad: n.number("pad"), split: n.number("split"), first: n.frames("first"), second: n.frames("second")}
		if adds := n.child("add"); adds != nil {
			for j := range adds.Items {
				a := &adds.Items[j]
				to := addition{on: a.text("on"), members: *a.child("members")}
				if at := a.text("at"); at != "" {
					to.at = strings.Split(at[1:], "/")
				}
				s.adds = append(s.adds, to)
			}
		}
		all = append(all, s)
	}
	return all
}

func (n *Node) child(name string) *Node {
	if i := slices.Index(n.Names, name); i >= 0 {
		return &n.Items[i]
	}
	return nil
}

func (n *Node) text(name string) string {
	if v := n.child(name); v != nil {
		return v.Text
	}
	return ""
}

func (n *Node) number(name string) int {
	v := n.child(name)
	if v == nil {
		return 0
	}
	i, err := strconv.Atoi(string(v.Raw))
	if err != nil {
		panic(err)
	}
	return i
}

func (n *Node) frames(name string) (list []Frame) {
	if v := n.child(name); v != nil {
		for i := range v.Items {
			list = append(list, Frame{Event: v.Items[i].text("event"), Data: v.Items[i].child("data").Raw, Kind: Opening})
		}
	}
	return list
}

// ofWire are the shapes of a wire.
func ofWire(wire string) (list []*Shape) {
	for i := range Shapes {
		if Shapes[i].Wire == wire {
			list = append(list, &Shapes[i])
		}
	}
	return list
}

// shape is the shape of an answer: the one that the request asks for, or one that depends on the server's seed and the answer; nil: none.
func (x *Exchange) shape(r *Reply) *Shape {
	list := ofWire(x.wire.Name)
	switch name := x.Knobs.Shape; {
	case len(list) == 0, name == "none", name == "" && (x.s.Config.Shapes == 0 || x.Knobs.Fault != ""): // a fault counts bytes and frames
		return nil
	case name == "" || name == "any":
		return list[Fingerprint(strconv.FormatUint(x.s.Config.Shapes, 10), x.Knobs.Name, strconv.FormatBool(r.Stream), strconv.Itoa(len(r.Body())))%uint64(len(list))]
	default:
		for _, s := range list {
			if s.Name == name {
				return s
			}
		}
	}
	return nil
}

// dress returns a reply in a shape.
func (s *Shape) dress(r *Reply) *Reply {
	out := *r
	out.Body = func() []byte { return s.add(r.Body(), "whole") }
	if r.Frames != nil {
		out.Frames = func(yield func(Frame) bool) { s.frames(r, yield) }
	}
	return &out
}

var kindWords = [...]string{Opening: "opening", Structure: "structure", Content: "content", Ending: "ending", Done: "done"}

func (s *Shape) frames(r *Reply, yield func(Frame) bool) {
	said, began := summary{}, false
	all := func(list []Frame) bool {
		for _, f := range list {
			if !yield(f) {
				return false
			}
		}
		return true
	}
	for f := range r.Frames {
		if !began && !all(s.first) {
			return
		}
		if s.comment != "" && !r.Wire.Binary && !yield(Frame{Comment: s.comment, Kind: Structure}) {
			return
		}
		if len(f.Data) > 0 && f.Data[0] == '{' {
			data := s.add(f.Data, "frames "+kindWords[f.Kind])
			if s.summary {
				data = said.of(data)
			}
			if s.pad > 0 {
				data = append(append(slices.Clone(data[:len(data)-1]), strings.Repeat(" ", s.pad)...), '}')
			}
			f.Data = data
		}
		if !yield(f) || !began && !all(s.second) {
			return
		}
		began = true
	}
}

// add returns a JSON object with what the shape adds to it. kinds are the words that say what it is.
func (s *Shape) add(data []byte, kinds string) []byte {
	if len(s.adds) == 0 {
		return data
	}
	root, err := Parse(data)
	if err != nil {
		return data
	}
	var adds []addition
	for _, a := range s.adds {
		if a.on == "" || slices.ContainsFunc(strings.Fields(kinds), func(k string) bool { return slices.Contains(strings.Fields(a.on), k) }) {
			adds = append(adds, a)
		}
	}
	if root.Kind == Array { // Gemini's stream as one list
		for i := range adds {
			adds[i].at = append([]string{"*"}, adds[i].at...)
		}
	}
	return appendWith(nil, root, adds)
}

// appendWith writes a value with the additions to it and to what is in it.
func appendWith(dst []byte, n *Node, adds []addition) []byte {
	if len(adds) == 0 || n.Kind != Object && n.Kind != Array {
		return append(dst, n.Raw...)
	}
	open, end := byte('{'), byte('}')
	if n.Kind == Array {
		open, end = '[', ']'
	}
	dst = append(dst, open)
	for i := range n.Items {
		if i > 0 {
			dst = append(dst, ',')
		}
		step := "*"
		if n.Kind == Object {
			step = n.Names[i]
			dst = append(AppendText(dst, step), ':')
		}
		var inside []addition
		for _, a := range adds {
			if len(a.at) > 0 && a.at[0] == step {
				a.at = a.at[1:]
				inside = append(inside, a)
			}
		}
		dst = appendWith(dst, &n.Items[i], inside)
	}
	names := slices.Clone(n.Names)
	for _, a := range adds {
		for i, name := range a.members.Names {
			if n.Kind != Object || len(a.at) > 0 || slices.Contains(names, name) {
				continue
			}
			if len(names) > 0 {
				dst = append(dst, ',')
			}
			names = append(names, name)
			dst = append(append(AppendText(dst, name), ':'), a.members.Items[i].Raw...)
		}
	}
	return append(dst, end)
}

// summary collects what the first choice of a chat stream says.
type summary struct{ text strings.Builder }

// of returns the frame, with the message so far in the one that has the finish reason.
func (s *summary) of(data []byte) []byte {
	root, err := Parse(data)
	if err != nil {
		return data
	}
	choices := root.child("choices")
	if choices == nil || len(choices.Items) != 1 {
		return data
	}
	choice := &choices.Items[0]
	if delta := choice.child("delta"); delta != nil {
		s.text.WriteString(delta.text("content"))
	}
	if choice.text("finish_reason") == "" || s.text.Len() == 0 {
		return data
	}
	message := AppendText([]byte(`{"message":{"role":"assistant","content":`), s.text.String())
	added, err := Parse(append(message, "}}"...))
	if err != nil {
		return data
	}
	return appendWith(nil, root, []addition{{at: []string{"choices", "*"}, members: *added}})
}

// pieces sends bytes in writes of the shape's size. It returns false when the client cannot be reached.
func (s *Shape) pieces(x *Exchange, b []byte) bool {
	for len(b) > 0 {
		n := min(s.split, len(b))
		if !x.Put(b[:n]) {
			return false
		}
		b = b[n:]
	}
	return true
}
