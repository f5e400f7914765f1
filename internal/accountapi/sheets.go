package accountapi

import (
	"io"
	"time"

	"weir/internal/operation"
	"weir/internal/report"
)

// FileName is that of a file about a period, whose end is not included.
func FileName(of string, from, to time.Time, extension string) string {
	return "weir-" + of + "-" + from.Format(time.DateOnly) + "-" + to.Add(-time.Microsecond).Format(time.DateOnly) + "." + extension
}

// sheet is a table that is sent row by row.
type sheet struct {
	report.Sheet
	to  io.Writer
	err error // of the client's connection
}

// end ends a row, and reports whether the client still reads.
func (s *sheet) end() bool {
	s.End()
	if s.err == nil {
		_, s.err = s.to.Write(s.Bytes)
	}
	s.Bytes = s.Bytes[:0]
	return s.err == nil
}

// row writes a whole row of texts.
func (s *sheet) row(texts ...string) {
	s.Texts(texts...)
	s.end()
}

// Table is a file with a table whose rows come from write, which stops when row reports that the client has gone.
func Table(name string, write func(row func(texts ...string) (reads bool)) error) operation.File {
	return Rows(name, func(row func(func(*report.Sheet)) bool) error {
		return write(func(texts ...string) bool { return row(func(s *report.Sheet) { s.Texts(texts...) }) })
	})
}

// Rows is Table whose cells are more than texts.
func Rows(name string, write func(row func(cells func(*report.Sheet)) (reads bool)) error) operation.File {
	return table(name, func(s *sheet) error {
		return write(func(cells func(*report.Sheet)) bool {
			cells(&s.Sheet)
			return s.end()
		})
	})
}

// table is a file with a table.
func table(name string, write func(*sheet) error) operation.File {
	return operation.File{Name: name, MediaType: "text/csv; charset=utf-8", Write: func(w io.Writer) error { return write(&sheet{to: w}) }}
}
