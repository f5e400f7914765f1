package report

import (
	"encoding/csv"
	"strconv"
	"strings"
	"time"

	"weir/internal/money"
	"weir/internal/record"
	"weir/internal/usage"
)

// Sheet is a table for spreadsheets, as CSV with lines that end with CR LF. Its text may be taken out of Bytes after each End.
type Sheet struct {
	Bytes []byte
	row   []string
	csv   *csv.Writer // nil before the first row
}

type sheetBytes Sheet

func (s *sheetBytes) Write(p []byte) (int, error) {
	s.Bytes = append(s.Bytes, p...)
	return len(p), nil
}

// Texts writes cells that may hold anything.
func (s *Sheet) Texts(list ...string) {
	for _, text := range list {
		s.row = append(s.row, harmless(text))
	}
}

// Int writes a whole number.
func (s *Sheet) Int(n int64) { s.row = append(s.row, strconv.FormatInt(n, 10)) }

// Amount writes rubles with a decimal point.
func (s *Sheet) Amount(n money.Nano) { s.row = append(s.row, n.String()) }

// Moment writes a time of UTC.
func (s *Sheet) Moment(t time.Time) {
	s.row = append(s.row, t.UTC().Format(time.RFC3339Nano))
}

// End ends a row.
func (s *Sheet) End() {
	if s.csv == nil {
		s.csv = csv.NewWriter((*sheetBytes)(s))
		s.csv.UseCRLF = true
	}
	_ = s.csv.Write(s.row) // into memory, which does not fail
	s.csv.Flush()
	s.row = s.row[:0]
}

const (
	formulas = "=+-@\t\r\n|" // a cell that begins with one may be run
	parts    = ";\t\r\n"     // where a cell may be cut by a spreadsheet that does not part at commas, as those of many countries, whatever the quotes
)

// harmless puts an apostrophe before what a spreadsheet would run as a formula, also in the middle of the text where a spreadsheet that parts at
// semicolons would begin a cell.
func harmless(text string) string {
	if first := strings.TrimLeft(text, ` "`); !strings.ContainsAny(text, parts) && (first == "" || strings.IndexByte(formulas, first[0]) < 0) {
		return text
	}
	out := make([]byte, 0, len(text)+8)
	begins := true
	for i := range len(text) {
		c := text[i]
		if begins && strings.IndexByte(formulas, c) >= 0 {
			out = append(out, '\'')
		}
		if c != '"' && c != ' ' {
			begins = strings.IndexByte(parts, c) >= 0
		}
		out = append(out, c)
	}
	return string(out)
}

// CallHeads are the heads of a table of calls, whose rows AppendCall writes.
func CallHeads() []string {
	return []string{"id", "created_at_utc", "kind", "model", "model_asked", "provider", "key", "user", "status", "result", "stream", "finish_reason", "prompt_tokens", "cached_tokens", "completion_tokens", "reasoning_tokens",
		"first_token_ms", "duration_ms", "estimated", "cost_rub", "tags", "member", "team"}
}

// AppendCall writes the cells of a call; key is what names its key.
func AppendCall(s *Sheet, c *record.Call, key string) {
	appendCall(s, c, key)
	s.Texts(strings.Join(c.Tags, ","), c.Member, c.Team)
}

// AnyCallHeads are the heads of a table of calls of everybody, whose rows AppendAnyCall writes. It has nothing that the account alone sorts its calls by.
func AnyCallHeads() []string {
	own := CallHeads()
	return append(own[:len(own)-3], "user_name", "provider_cost_rub", "vat_rub", "margin_rub", "provider_key")
}

// AppendAnyCall writes the cells of a call; key and user are what name its key and its account. What the provider asks for is empty where it is not known.
func AppendAnyCall(s *Sheet, c *record.Call, key, user string) {
	appendCall(s, c, key)
	s.Texts(user)
	if m, known := MarginOf(c); known {
		s.Amount(m.Upstream)
		s.Amount(m.VAT)
		s.Amount(m.Margin)
	} else {
		s.Texts("", "", "")
	}
	s.Texts(c.ProviderKey())
}

func appendCall(s *Sheet, c *record.Call, key string) {
	s.Texts(c.Generation)
	s.Moment(c.At)
	s.Texts(c.API, c.Model, c.ModelAsked, c.Provider, key, c.User)
	s.Int(int64(c.Status))
	s.Texts(c.Result(), strconv.FormatBool(c.Streamed), c.Finish)
	for _, n := range []int64{c.Usage.Prompt.N, c.Usage.CacheRead.N, c.Usage.Completion.N, c.Usage.Reasoning.N} {
		s.Int(n)
	}
	if c.FirstContent > 0 {
		s.Int(c.FirstContent.Milliseconds())
	} else {
		s.Texts("")
	}
	s.Int(c.Duration.Milliseconds())
	s.Texts(strconv.FormatBool(c.Usage.Source&usage.Estimated != 0))
	s.Amount(c.Cost)
}
