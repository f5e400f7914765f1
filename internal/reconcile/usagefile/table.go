package usagefile

import (
	"bytes"
	"encoding/csv"
	"errors"
	"io"
	"math/big"
	"slices"
	"strconv"
	"strings"

	"weir/internal/reconcile"
)

// ColumnNames are what the columns of a table are read as. date must be there, and one of tokens and cost. Costs are dollars.
var ColumnNames = []string{"date", "model", "id", "key", "requests", "prompt_tokens", "completion_tokens", "cost"}

// usual are the names that columns have in exports, without a choice. Several names in a text are added up: Anthropic's console writes cached tokens beside the
// others ("usage_input_tokens_no_cache"), and OpenRouter's one line for each generation.
var usual = map[string][]string{
	"date":  {"date", "day", "usage_date_utc", "created_at", "start_time_iso", "timestamp"},
	"model": {"model", "model_version", "model_permaslug"},
	"id":    {"id", "generation_id"},
	"key":   {"key", "api_key_id", "api_key", "api_key_name"},
	"requests": {
		"requests", "num_model_requests",
	},
	"prompt_tokens": {
		"prompt_tokens", "tokens_prompt", "input_tokens",
		"usage_input_tokens_no_cache+usage_input_tokens_cache_write_5m+usage_input_tokens_cache_write_1h+usage_input_tokens_cache_read",
	},
	"completion_tokens": {"completion_tokens", "tokens_completion", "output_tokens", "usage_output_tokens"},
	"cost":              {"cost", "cost_total", "cost_usd", "amount_value"},
}

// services have a column that no other export has.
var services = map[string]string{"usage_date_utc": "anthropic", "generation_id": "openrouter", "num_model_requests": "openai", "amount_value": "openai"}

// table is a CSV file with the places of its columns, none for those that it does not have.
type table struct {
	*csv.Reader
	header []string
	chosen map[string]string
	at     map[string][]int
	record []string
	place  string
}

// openTable reads the header of a table.
func openTable(b []byte) (*table, error) {
	c := csv.NewReader(bytes.NewReader(b))
	first, _, _ := bytes.Cut(b, []byte("\n"))
	for _, comma := range []rune{';', '\t'} {
		if bytes.Count(first, []byte(string(comma))) > bytes.Count(first, []byte(string(c.Comma))) {
			c.Comma = comma
		}
	}
	header, err := c.Read()
	if err != nil {
		return nil, unreadable(err)
	}
	for i := range header {
		header[i] = strings.TrimSpace(header[i])
	}
	c.ReuseRecord = true
	return &table{Reader: c, header: header, chosen: map[string]string{}, at: map[string][]int{}}, nil
}

// places are those of the columns with these names: one, or several with a plus between. Without one of them it is nil.
func (t *table) places(names string) (all []int) {
	find := func(name string) int {
		return slices.IndexFunc(t.header, func(h string) bool { return strings.EqualFold(h, strings.TrimSpace(name)) })
	}
	if i := find(names); i >= 0 {
		return []int{i}
	}
	for name := range strings.SplitSeq(names, "+") {
		i := find(name)
		if i < 0 {
			return nil
		}
		all = append(all, i)
	}
	return all
}

// choose finds the columns. A choice of "" leaves a column out.
func (t *table) choose(columns map[string]string) error {
	for _, name := range ColumnNames {
		wanted, chosen := columns[name]
		names := usual[name]
		if chosen {
			names = []string{wanted}
		}
		for _, one := range names {
			if places := t.places(one); places != nil {
				t.at[name], t.chosen[name] = places, one
				break
			}
		}
		if t.at[name] == nil && (chosen && wanted != "" || name == "date") {
			return wrong("line 1", "there is no column %s for %s; the file has %s", clip(orName(wanted, name)), name, clip(strings.Join(t.header, ", ")))
		}
	}
	if t.at["prompt_tokens"] == nil && t.at["completion_tokens"] == nil && t.at["cost"] == nil {
		return wrong("line 1", "there is no column of tokens or cost; the file has %s", clip(strings.Join(t.header, ", ")))
	}
	return nil
}

func orName(wanted, name string) string {
	if wanted == "" {
		return name
	}
	return wanted
}

func (t *table) service() string {
	for name, service := range services {
		if t.places(name) != nil {
			return service
		}
	}
	return ""
}

func readTable(b []byte, columns map[string]string) (File, error) {
	file := File{Format: Table}
	t, err := openTable(b)
	if err != nil {
		return file, err
	}
	if err := t.choose(columns); err != nil {
		return file, err
	}
	file.Service, file.Header, file.Chosen = t.service(), t.header, t.chosen
	for {
		t.record, err = t.Read()
		if errors.Is(err, io.EOF) {
			return file, nil
		}
		if err != nil {
			return file, unreadable(err)
		}
		line, _ := t.FieldPos(0)
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
	if at := t.at[name]; at != nil {
		return strings.Clone(strings.TrimSpace(t.record[at[0]]))
	}
	return ""
}

func (t *table) row() (reconcile.Row, error) {
	row := reconcile.Row{Place: t.place, Model: t.text("model"), Call: t.text("id"), Key: t.text("key"), Figures: reconcile.Unreported()}
	var ok bool
	if row.Day, ok = dayOf(t.text("date")); !ok {
		return row, wrong(t.place, "%s is no day of UTC: write 2026-11-25 or 2026-11-25T10:00:00Z", clip(t.text("date")))
	}
	for _, x := range []struct {
		name string
		to   *int64
	}{{"requests", &row.Calls}, {"prompt_tokens", &row.Prompt}, {"completion_tokens", &row.Completion}} {
		for _, at := range t.at[x.name] {
			text := strings.TrimSpace(t.record[at])
			if text == "" {
				continue
			}
			n, err := countOf(text)
			if err != nil {
				return row, wrong(t.place, "%s must be a whole number of at least zero, not %s", x.name, clip(text))
			}
			*x.to = max(*x.to, 0) + n
		}
	}
	for _, at := range t.at["cost"] {
		text := strings.TrimSpace(t.record[at])
		if text == "" {
			continue
		}
		n, ok := decimal(strings.TrimPrefix(text, "$"))
		if !ok {
			return row, wrong(t.place, "cost must be dollars such as 0.0125, not %s", clip(text))
		}
		if row.Dollars != nil {
			n = new(big.Rat).Add(n, row.Dollars)
		}
		row.Dollars = n
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
