package store

import (
	"fmt"
	"strconv"
	"strings"

	"weir/internal/ledger"
	"weir/internal/record"
)

// GenerationColumns are the columns of generations, in order.
var GenerationColumns = []string{"wallet", "id", "at", "user_id", "key_id", "api", "model", "provider", "status", "error",
	"cancelled", "settled", "cost", "record"}

// GenerationArgs appends the row of a call to args; rec is its record.
func GenerationArgs(args []any, c *record.Call, rec []byte) []any {
	before := args[max(0, len(args)-len(GenerationColumns)):]
	return append(args, again(before, 0, c.Wallet), c.Generation, c.At.UnixMicro(), again(before, 3, c.User), again(before, 4, c.Key), again(before, 5, c.API),
		again(before, 6, c.Model), again(before, 7, c.Provider), int64(c.Status), again(before, 9, c.Error), bit(c.Cancelled), bit(c.Settled), int64(c.Cost), rec)
}

// again is s as an argument: the one of the row before when that is the same, as it often is, and else a new one.
func again(before []any, column int, s string) any {
	if column < len(before) {
		if old, ok := before[column].(string); ok && old == s {
			return before[column]
		}
	}
	return s
}

func bit(b bool) int64 {
	if b {
		return 1
	}
	return 0
}

// ReadGeneration reads a row of GenerationColumns. Where the row and its record differ, wrong tells it in words.
func ReadGeneration(row []any) (call *record.Call, wrong string) {
	rec, _ := row[len(row)-1].([]byte)
	it, err := ledger.DecodeItem(rec)
	if err != nil {
		return nil, fmt.Sprintf("generation %v has a record that cannot be read", row[1])
	}
	for i, want := range GenerationArgs(nil, &it.Call, nil)[:len(row)-1] {
		if row[i] != want {
			return &it.Call, fmt.Sprintf("generation %v has %s %v, its record says %v", row[1], GenerationColumns[i], row[i], want)
		}
	}
	return &it.Call, ""
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
