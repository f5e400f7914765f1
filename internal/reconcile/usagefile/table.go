package usagefile

import (
	"bytes"
	"encoding/csv"
	"errors"
	"io"
	"slices"
	"strconv"
	"strings"

	"weir/internal/reconcile"
)

// ColumnNames are the columns of a table, under the names that they have without a choice. date must be there, and one of tokens and cost. Costs are
// dollars.
var ColumnNames = []string{"date", "model", "id", "requests", "prompt_tokens", "completion_tokens", "cost"}

// table is a CSV file with the places of its columns, -1 for those that it does not have.
type table struct {
	at     map[string]int
	record []string
	place  string
}

func readTable(b []byte, columns map[string]string) (File, error) {
	file := File{Format: Table}
	c := csv.NewReader(bytes.NewReader(b))
	first, _, _ := bytes.Cut(b, []byte("\n"))
	for _, comma := range []rune{';', '\t'} {
		if bytes.Count(first, []byte(string(comma))) > bytes.Count(first, []byte(string(c.Comma))) {
			c.Comma = comma
		}
	}
	c.ReuseRecord = true
	header, err := c.Read()
	if err != nil {
		return file, unreadable(err)
	}
	t := table{at: map[string]int{}}
	for _, name := range ColumnNames {
		wanted, chosen := columns[name]
		if !chosen {
			wanted = name
		}
		t.at[name] = slices.IndexFunc(header, func(h string) bool { return strings.EqualFold(strings.TrimSpace(h), wanted) })
		if t.at[name] < 0 && (chosen || name == "date") {
			return file, wrong("line 1", "there is no column %s for %s; the file has %s", clip(wanted), name, clip(strings.Join(header, ", ")))
		}
	}
	if t.at["prompt_tokens"] < 0 && t.at["completion_tokens"] < 0 && t.at["cost"] < 0 {
		return file, wrong("line 1", "there is no column of tokens or cost; the file has %s", clip(strings.Join(header, ", ")))
	}
	for {
		t.record, err = c.Read()
		if errors.Is(err, io.EOF) {
			return file, nil
		}
		if err != nil {
			return file, unreadable(err)
		}
		line, _ := c.FieldPos(0)
		if t.place = "line " + strconv.Itoa(line); len(file.Rows) >= MaxRows {
			return file, wrong(t.place, "a file may have %d rows: export fewer days", MaxRows)
		}
		row, err := t.row()
		if err != nil {
			return file, err
		}
		file.Rows = append(file.Rows, row)
	}
}

func unreadable(err error) error {
	var p *csv.ParseError
	switch {
	case errors.Is(err, io.EOF):
		return wrong("line 1", "the file is empty")
	case errors.As(err, &p):
		return wrong("line "+strconv.Itoa(p.Line), "this is no line of a CSV file: %v", p.Err)
	}
	return err
}

func (t *table) text(name string) string {
	if at := t.at[name]; at >= 0 {
		return strings.Clone(strings.TrimSpace(t.record[at]))
	}
	return ""
}

func (t *table) row() (reconcile.Row, error) {
	row := reconcile.Row{Place: t.place, Model: t.text("model"), Call: t.text("id"), Figures: reconcile.Unreported()}
	var ok bool
	if row.Day, ok = dayOf(t.text("date")); !ok {
		return row, wrong(t.place, "%s is no day of UTC: write 2026-11-25 or 2026-11-25T10:00:00Z", clip(t.text("date")))
	}
	for _, x := range []struct {
		name string
		to   *int64
	}{{"requests", &row.Calls}, {"prompt_tokens", &row.Prompt}, {"completion_tokens", &row.Completion}} {
		text := t.text(x.name)
		if text == "" {
			continue
		}
		n, err := countOf(text)
		if err != nil {
			return row, wrong(t.place, "%s must be a whole number of at least zero, not %s", x.name, clip(text))
		}
		*x.to = n
	}
	if text := t.text("cost"); text != "" {
		if row.Dollars, ok = decimal(strings.TrimPrefix(text, "$")); !ok {
			return row, wrong(t.place, "cost must be dollars such as 0.0125, not %s", clip(text))
		}
	}
	return row, nil
}

func clip(s string) string {
	const most = 200
	if len(s) > most {
		s = s[:most] + "…"
	}
	return strconv.Quote(s)
}
