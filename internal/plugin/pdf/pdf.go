// Package pdf extracts the text of PDF files: what their pages draw with fonts whose characters are known. It draws nothing, follows no
// links and runs no scripts. The work and memory for a file are bounded, whatever it contains.
package pdf

import (
	"bytes"
	"errors"
	"strings"
)

// Limits bound the reading of one file.
type Limits struct {
	Bytes  int // of the file
	Pages  int // that are read; text of further ones is left out
	Memory int // bytes that are held at a time, in addition to the file: values, and streams while they are read
	Text   int // bytes of text; the rest is left out
	Work   int // steps, of which each is about a byte that is looked at, copied or written
}

// Default are limits that a book of a thousand pages keeps.
func Default() Limits {
	return Limits{Bytes: 24 << 20, Pages: 2000, Memory: 96 << 20, Text: 2 << 20, Work: 500_000_000}
}

// Why a file gives no text.
var (
	ErrNoPDF     = errors.New("it is no PDF file")
	ErrEncrypted = errors.New("it is encrypted")
	ErrNoText    = errors.New("it has no text, only images, or fonts without a character table")
	ErrTooLarge  = errors.New("it is too large")
)

// Outcome is the result of reading a file.
type Outcome struct {
	Text string // of the pages, in order, with a line break between lines and an empty line between pages
	Cut  bool   // the file has more than the limits allow
	Work int    // steps spent, also of a file that failed
}

// Text reads a file. It fails with one of the errors of this package.
func Text(file []byte, lim Limits) (Outcome, error) {
	if len(file) > lim.Bytes {
		return Outcome{}, ErrTooLarge
	}
	if !bytes.Contains(file[:min(len(file), 1024)], []byte("%PDF-")) {
		return Outcome{}, ErrNoPDF
	}
	d := &document{budget: &budget{work: lim.Work, room: lim.Memory}, file: file, lim: lim, objects: map[int]object{}, fonts: map[fontID]*font{}}
	text, err := d.text()
	return Outcome{Text: text, Cut: d.cut, Work: lim.Work - d.work}, err
}

func (d *document) text() (string, error) {
	d.scan()
	if d.encrypted {
		return "", ErrEncrypted
	}
	var out strings.Builder
	for _, page := range d.pages() {
		w := &writer{doc: d}
		w.page(page)
		said := strings.TrimSpace(w.out.String())
		if said == "" {
			continue
		}
		if out.Len() > 0 {
			out.WriteString("\n\n")
		}
		if room := d.lim.Text - out.Len(); len(said) > room {
			out.WriteString(strings.ToValidUTF8(said[:max(room, 0)], ""))
			d.cut = true
			break
		}
		out.WriteString(said)
	}
	switch {
	case out.Len() > 0:
		return out.String(), nil
	case d.cut:
		return "", ErrTooLarge
	}
	return "", ErrNoText
}
