package store

import (
	"fmt"
	"strconv"
	"strings"

	"weir/internal/ledger"
	"weir/internal/record"
	"weir/internal/usage"
)

// GenerationColumns are the columns of generations, in order.
var GenerationColumns = []string{"wallet", "id", "at", "user_id", "key_id", "api", "model", "provider", "endpoint", "status", "error",
	"cancelled", "settled", "prompt", "completion", "reasoning", "cost", "record"}

// GenerationArgs appends the row of a call to args; rec is its record.
func GenerationArgs(args []any, c *record.Call, rec []byte) []any {
	u := &c.Usage
	return append(args, c.Wallet, c.Generation, c.At.UnixMicro(), c.User, c.Key, c.API, c.Model, c.Provider, c.Endpoint, int64(c.Status), c.Error,
		bit(c.Cancelled), bit(c.Settled), count(u.Prompt), count(u.Completion), count(u.Reasoning), int64(c.Cost), rec)
}

func bit(b bool) int64 {
	if b {
		return 1
	}
	return 0
}

func count(c usage.Count) any {
	if !c.Reported && c.N == 0 {
		return nil
	}
	return c.N
}

// CheckGeneration compares a row of GenerationColumns with its record, and tells in words what differs.
func CheckGeneration(row []any) (wrong string) {
	rec, _ := row[len(row)-1].([]byte)
	it, err := ledger.DecodeItem(rec)
	if err != nil {
		return fmt.Sprintf("generation %v has a record that cannot be read", row[1])
	}
	for i, want := range GenerationArgs(nil, &it.Call, nil)[:len(row)-1] {
		if row[i] != want {
			return fmt.Sprintf("generation %v has %s %v, its record says %v", row[1], GenerationColumns[i], row[i], want)
		}
	}
	return ""
}

// Mark writes the parameter of that number, from 1.
type Mark func(n int) string

// Numbered marks are $1, $2, ...: both engines take them.
func Numbered(n int) string { return "$" + strconv.Itoa(n) }

// Bare marks are question marks. SQLite looks through all names of a statement for each numbered one, so that hundreds of them
// take longer than the rows.
func Bare(int) string { return "?" }

// InsertRows is an INSERT of many rows: into "INSERT INTO table" of the engine's own spelling, with what follows it.
func InsertRows(into string, columns []string, rows int, mark Mark, tail string) string {
	var s strings.Builder
	s.WriteString(into + " (" + strings.Join(columns, ", ") + ") VALUES ")
	n := 0
	for r := range rows {
		if r > 0 {
			s.WriteByte(',')
		}
		s.WriteByte('(')
		for c := range columns {
			if c > 0 {
				s.WriteByte(',')
			}
			n++
			s.WriteString(mark(n))
		}
		s.WriteByte(')')
	}
	if tail != "" {
		s.WriteString(" " + tail)
	}
	return s.String()
}
