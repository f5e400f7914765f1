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

// Text writes a cell that may hold anything. What a spreadsheet would run as a formula gets an apostrophe before it.
func (s *Sheet) Text(text string) {
	s.cell()
	if text == "" {
		return
	}
	formula := strings.IndexByte("=+-@\t\r\n|", text[0]) >= 0
	if !formula && !strings.ContainsAny(text, ",\"\r\n") {
		s.Bytes = append(s.Bytes, text...)
		return
	}
	s.Bytes = append(s.Bytes, '"')
	if formula {
		s.Bytes = append(s.Bytes, '\'')
	}
	s.Bytes = append(append(s.Bytes, strings.ReplaceAll(text, `"`, `""`)...), '"')
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
