// Package usagefile reads what providers export of their usage and costs: pages of their APIs as JSON, and tables as CSV. It decides nothing about
// what it reads, and refuses what it does not understand instead of counting it as zero.
package usagefile

import (
	"bytes"
	"math/big"
	"strconv"
	"strings"
	"time"

	"weir/internal/fault"
	"weir/internal/rawjson"
	"weir/internal/reconcile"
)

// Bounds of a file.
const (
	MaxBytes = 32 << 20
	MaxRows  = 200_000
)

const op = "usagefile.Read"

// The formats.
const (
	OpenAIUsage    = "OpenAI usage"    // GET /v1/organization/usage/completions
	OpenAICosts    = "OpenAI costs"    // GET /v1/organization/costs
	AnthropicUsage = "Anthropic usage" // GET /v1/organizations/usage_report/messages
	AnthropicCosts = "Anthropic costs" // GET /v1/organizations/cost_report
	OpenRouter     = "OpenRouter activity"
	Table          = "CSV"
)

// File is what was read.
type File = reconcile.File

// Reader is reconcile.Reader.
type Reader struct{}

// Read reads a file; see the function Read.
func (Reader) Read(b []byte, columns map[string]string) (File, error) { return Read(b, columns) }

// Columns are the header of a table, and the columns that are read without a choice.
func (Reader) Columns(b []byte) (header []string, chosen map[string]string, err error) {
	if b = trimmed(b); isJSON(b) {
		return nil, nil, nil
	}
	t, err := openTable(b)
	if err != nil {
		return nil, nil, err
	}
	_ = t.choose(nil) // what is found is shown, whether it is enough or not
	return t.header, t.chosen, nil
}

func trimmed(b []byte) []byte { return bytes.TrimSpace(bytes.TrimPrefix(b, []byte("\xef\xbb\xbf"))) }

func isJSON(b []byte) bool { return len(b) > 0 && (b[0] == '{' || b[0] == '[') }

// Read reads a file. columns say which columns of a CSV file are read, by ColumnNames, where they are not named as
// providers name them; several with a plus between are added up. It fails with fault.Invalid, which
// names the place.
func Read(b []byte, columns map[string]string) (File, error) {
	if len(b) > MaxBytes {
		return File{}, fault.Newf(fault.PayloadTooLarge, op, "The file has more than %d bytes: export fewer days.", MaxBytes)
	}
	if b = trimmed(b); isJSON(b) {
		return readJSON(b)
	}
	return readTable(b, columns)
}

// wrong refuses a value, and says where it stands.
func wrong(place, format string, args ...any) *fault.Error {
	return fault.Newf(fault.Invalid, op, "%s: "+format+".", append([]any{place}, args...)...)
}

// value is a piece of JSON and its place.
type value struct {
	raw   []byte
	place string
}

func (v value) member(name string) value {
	return value{rawjson.Find(v.raw, name), v.place + "." + name}
}

func (v value) absent() bool { return v.raw == nil || rawjson.KindOf(v.raw) == rawjson.Null }

// text is a string, "" where there is none or null.
func (v value) text() (string, error) {
	if v.absent() {
		return "", nil
	}
	if rawjson.KindOf(v.raw) != rawjson.String {
		return "", wrong(v.place, "a text is expected")
	}
	return rawjson.Text(v.raw), nil
}

// count is a whole number of at least zero, which some exports write as text.
func (v value) count() (int64, error) {
	text := string(bytes.TrimSpace(v.raw))
	if rawjson.KindOf(v.raw) == rawjson.String {
		text = rawjson.Text(v.raw)
	}
	n, err := countOf(text)
	if err != nil {
		return 0, wrong(v.place, "a whole number of at least zero is expected")
	}
	return n, nil
}

// counted adds up members; those that are not there count as zero, for providers add members over time.
func (v value) counted(names ...string) (sum int64, err error) {
	for _, name := range names {
		m := v
		for part := range strings.SplitSeq(name, ".") {
			m = m.member(part)
		}
		if m.absent() {
			continue
		}
		n, err := m.count()
		if err != nil {
			return 0, err
		}
		sum += n
	}
	return sum, nil
}

// amount is a decimal number, or a text with one: OpenAI sends both for costs (github.com/steipete/CodexBar/issues/999).
func (v value) amount() (*big.Rat, error) {
	text := string(bytes.TrimSpace(v.raw))
	if rawjson.KindOf(v.raw) == rawjson.String {
		text = rawjson.Text(v.raw)
	}
	n, ok := decimal(text)
	if !ok {
		return nil, wrong(v.place, "a decimal number is expected")
	}
	return n, nil
}

// elements yields the elements of an array, until yield fails.
func (v value) elements(yield func(value) error) error {
	if rawjson.KindOf(v.raw) != rawjson.Array {
		return wrong(v.place, "an array is expected")
	}
	n := 0
	for e := rawjson.ElementsOf(v.raw); e.Next(); n++ {
		if err := yield(value{e.Value, v.place + "[" + strconv.Itoa(n) + "]"}); err != nil {
			return err
		}
	}
	return nil
}

const maxCount = 1_000_000_000_000_000 // sums of all rows fit

func countOf(text string) (int64, error) {
	n, err := strconv.ParseInt(text, 10, 64)
	if err == nil && (n < 0 || n > maxCount) {
		err = strconv.ErrRange
	}
	return n, err
}

// decimal reads a decimal number with an exponent. The bounds prevent a huge number from a short text.
func decimal(text string) (*big.Rat, bool) {
	const maxLength, maxExponent = 60, 40
	mantissa, exponent, found := strings.Cut(strings.ToLower(text), "e")
	if e, err := strconv.Atoi(exponent); found && (err != nil || e > maxExponent || e < -maxExponent) || len(text) > maxLength {
		return nil, false
	}
	whole, fraction, point := strings.Cut(strings.TrimPrefix(mantissa, "-"), ".")
	if !digits(whole) || point && !digits(fraction) {
		return nil, false
	}
	return new(big.Rat).SetString(text)
}

func digits(s string) bool { return s != "" && strings.Trim(s, "0123456789") == "" }

// dayOf is the day of UTC of a moment: RFC 3339, what databases write, or a day alone.
func dayOf(text string) (string, bool) {
	for _, layout := range [...]string{time.DateOnly, time.RFC3339Nano, "2006-01-02 15:04:05.999999999Z07:00", "2006-01-02 15:04:05.999999999", "2006-01-02T15:04:05.999999999"} {
		if t, err := time.Parse(layout, text); err == nil {
			if t = t.UTC(); t.Year() >= 2020 && t.Year() < 2100 {
				return t.Format(time.DateOnly), true
			}
			return "", false
		}
	}
	return "", false
}

func dollarsOfCents(n *big.Rat) *big.Rat { return new(big.Rat).Quo(n, big.NewRat(100, 1)) }
