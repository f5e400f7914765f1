// Package sheet writes tables that spreadsheets read: UTF-8, commas, CRLF, as RFC 4180 has it.
package sheet

import (
	"strconv"
	"strings"
	"time"

	"weir/internal/money"
)

// Sheet is a table as text. Take Bytes away at any time; cells of a row are kept until its End.
type Sheet struct {
	Bytes []byte
	cells int // of this row
}

func (s *Sheet) cell() {
	if s.cells > 0 {
		s.Bytes = append(s.Bytes, ',')
	}
	s.cells++
}

const (
	formulas = "=+-@\t\r\n|" // a cell that begins with one may be run
	parts    = ";\t\r\n"     // where a cell may be cut by a spreadsheet that does not part at commas, as those of many countries, whatever the quotes
)

// Text writes a cell that may hold anything. What a spreadsheet would run as a formula gets an apostrophe before it, also in the middle of the text
// where a spreadsheet that parts at semicolons would begin a cell.
func (s *Sheet) Text(text string) {
	s.cell()
	if first := strings.TrimLeft(text, " "); !strings.ContainsAny(text, ",\""+parts) && (first == "" || strings.IndexByte(formulas, first[0]) < 0) {
		s.Bytes = append(s.Bytes, text...)
		return
	}
	s.Bytes = append(s.Bytes, '"')
	begins := true
	for i := range len(text) {
		c := text[i]
		if begins && strings.IndexByte(formulas, c) >= 0 {
			s.Bytes = append(s.Bytes, '\'')
		}
		switch {
		case c == '"':
			s.Bytes = append(s.Bytes, '"')
		case c != ' ':
			begins = strings.IndexByte(parts, c) >= 0
		}
		s.Bytes = append(s.Bytes, c)
	}
	s.Bytes = append(s.Bytes, '"')
}

// Texts writes cells.
func (s *Sheet) Texts(list ...string) {
	for _, text := range list {
		s.Text(text)
	}
}

// Int writes a whole number.
func (s *Sheet) Int(n int64) {
	s.cell()
	s.Bytes = strconv.AppendInt(s.Bytes, n, 10)
}

// Amount writes rubles with a decimal point.
func (s *Sheet) Amount(n money.Nano) {
	s.cell()
	s.Bytes = n.Append(s.Bytes)
}

// Moment writes a time of UTC.
func (s *Sheet) Moment(t time.Time) {
	s.cell()
	s.Bytes = t.UTC().AppendFormat(s.Bytes, time.RFC3339Nano)
}

// End ends a row.
func (s *Sheet) End() {
	s.Bytes = append(s.Bytes, '\r', '\n')
	s.cells = 0
}
