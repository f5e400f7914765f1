package pdf

import (
	"math"
	"reflect"
	"strings"
)

// writer executes the drawing instructions of pages and keeps the text.
type writer struct {
	doc  *document
	out  strings.Builder
	args []any // of the operator to come

	font  *font
	size  float64
	x, y  float64 // where the line begins
	scale float64 // of the text's own space
	lead  float64
	moved bool    // the next piece begins at x, y, and not where the last one ended
	drawn bool    // something was drawn
	lastX float64 // where the last piece ended
	lastY float64
	forms int // how deep forms are nested
}

const (
	maxForms = 8
	// gap is how far apart pieces of a word may be, in parts of the font's size.
	gap = 0.15
)

func (w *writer) page(p page) {
	list := w.doc.array(p.dict["Contents"])
	if list == nil {
		list = array{p.dict["Contents"]}
	}
	for _, v := range list { // one after the other: a page may name as many as it likes, and one as often as it likes
		if w.full() || !w.doc.spend(formWork) {
			return
		}
		_, data, held := w.doc.data(v)
		w.run(data, p.resources)
		w.doc.release(held)
	}
}

// full reports that there is enough text, or no budget for more.
func (w *writer) full() bool {
	if w.out.Len() > w.doc.lim.Text {
		w.doc.cut = true
		return true
	}
	return w.doc.work <= 0
}

// run follows a stream of operators. What it leaves of arguments, a further stream of the page may use.
func (w *writer) run(content []byte, resources dict) {
	l := lexer{in: content, budget: w.doc.budget}
	defer l.drop()
	for !w.full() {
		switch v := l.value(0, false).(type) {
		case end:
			return
		case keyword:
			if v == "ID" { // an image among the operators
				skipImage(&l)
			} else {
				w.operator(string(v), resources)
			}
			w.args = w.args[:0]
			l.drop()
		default:
			if len(w.args) < 64 {
				w.args = append(w.args, v)
			}
		}
	}
}

// skipImage passes over the data of an image up to the word EI.
func skipImage(l *lexer) {
	for ; l.at+3 < len(l.in); l.at++ {
		if isSpace(l.in[l.at]) && l.in[l.at+1] == 'E' && l.in[l.at+2] == 'I' && isSpace(l.in[l.at+3]) {
			l.at += 3
			return
		}
	}
	l.at = len(l.in)
}

func num(args []any, i int) float64 {
	if i < 0 || i >= len(args) {
		return 0
	}
	n, _ := args[i].(float64)
	return n
}

func (w *writer) operator(op string, resources dict) {
	args := w.args
	switch op {
	case "BT":
		w.x, w.y, w.scale, w.moved = 0, 0, 1, true
	case "Tf":
		w.size = num(args, 1)
		if len(args) > 0 {
			n, _ := args[0].(name)
			w.font = w.fontNamed(n, resources)
		}
	case "TL":
		w.lead = num(args, 0)
	case "Td":
		w.move(num(args, 0), num(args, 1))
	case "TD":
		w.lead = -num(args, 1)
		w.move(num(args, 0), num(args, 1))
	case "T*":
		w.move(0, -w.lead)
	case "Tm":
		w.scale = math.Max(math.Hypot(num(args, 0), num(args, 1)), 1e-6)
		w.x, w.y, w.moved = num(args, 4), num(args, 5), true
	case "Tj":
		w.show(args, 0)
	case "'":
		w.move(0, -w.lead)
		w.show(args, 0)
	case "\"":
		w.move(0, -w.lead)
		w.show(args, 2)
	case "TJ":
		w.pieces(args)
	case "Do":
		w.form(args, resources)
	}
}

// move begins a new line, or moves to the right on the same one.
func (w *writer) move(dx, dy float64) {
	w.x += dx * w.scale
	w.y += dy * w.scale
	w.moved = true
}

// separate writes the space between the last piece and one that begins here.
func (w *writer) separate() {
	if !w.moved && w.drawn {
		return
	}
	size := math.Max(math.Abs(w.size)*w.scale, 1e-6)
	if w.drawn {
		switch down := math.Abs(w.lastY - w.y); {
		case down > 1.8*size:
			w.brk("\n\n")
		case down > 0.4*size:
			w.brk("\n")
		case math.Abs(w.x-w.lastX) > gap*size:
			w.brk(" ")
		}
	}
	w.lastX, w.lastY, w.drawn, w.moved = w.x, w.y, true, false
}

// brk writes white space, unless there is as much already.
func (w *writer) brk(space string) {
	said := w.out.String()
	if said == "" || strings.HasSuffix(said, space) || space == " " && strings.HasSuffix(said, "\n") {
		return
	}
	w.out.WriteString(space)
}

func (w *writer) show(args []any, i int) {
	if i >= len(args) {
		return
	}
	if text, ok := args[i].([]byte); ok {
		w.separate()
		w.draw(text)
	}
}

// pieces draws texts with gaps between them; a wide one is a space.
func (w *writer) pieces(args []any) {
	if len(args) == 0 {
		return
	}
	list, _ := args[0].(array)
	w.separate()
	for _, v := range list {
		if w.full() {
			return
		}
		switch v := v.(type) {
		case []byte:
			w.draw(v)
		case float64:
			w.advance(-v / 1000)
			if v < -200 {
				w.brk(" ")
			}
		}
	}
}

// draw writes the characters of codes, and moves by their width.
func (w *writer) draw(text []byte) {
	if w.font == nil {
		return
	}
	step := 1
	if w.font.wide {
		step = 2
	}
	width := 0.0
	for ; len(text) >= step; text = text[step:] {
		code := uint32(text[0])
		if step == 2 {
			code = code<<8 | uint32(text[1])
		}
		before := w.out.Len()
		w.font.one(&w.out, code)
		width += w.font.widthOf(code)
		if !w.doc.spend(tokenWork+w.out.Len()-before) || w.full() {
			return
		}
	}
	w.advance(width)
}

func (w *writer) advance(ems float64) { w.lastX += ems * w.size * w.scale }

// form follows a drawing that is used in another.
func (w *writer) form(args []any, resources dict) {
	if len(args) == 0 || w.forms >= maxForms {
		return
	}
	n, _ := args[0].(name)
	v, found := w.doc.dict(resources["XObject"])[n]
	if !found {
		return
	}
	if w.doc.name(w.doc.dict(v)["Subtype"]) != "Form" {
		return
	}
	if !w.doc.spend(formWork) {
		return
	}
	attributes, data, held := w.doc.data(v)
	defer w.doc.release(held)
	own := w.doc.dict(attributes["Resources"])
	if own == nil {
		own = resources
	}
	w.forms++
	args, font, size, x, y, scale := w.args, w.font, w.size, w.x, w.y, w.scale
	w.args = nil
	w.run(data, own)
	w.args, w.font, w.size, w.x, w.y, w.scale = args, font, size, x, y, scale
	w.forms--
}

// fontID is where a font is: its object, or its place among resources.
type fontID struct {
	object ref
	fonts  uintptr // the dictionary that has it
	name   name
}

func (w *writer) fontNamed(n name, resources dict) *font {
	fonts := w.doc.dict(resources["Font"])
	v, found := fonts[n]
	if !found {
		return nil
	}
	id := fontID{fonts: reflect.ValueOf(fonts).Pointer(), name: n}
	if r, ok := v.(ref); ok {
		id = fontID{object: r}
	}
	f, known := w.doc.fonts[id]
	if !known {
		f = w.doc.font(w.doc.dict(v))
		w.doc.fonts[id] = f
	}
	return f
}
