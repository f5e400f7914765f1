package store

import (
	"fmt"
	"strconv"
	"strings"

	"weir/internal/ledger"
	"weir/internal/record"
)

var generations = Table{"generations", []string{"wallet", "id", "at", "user_id", "key_id", "api", "model", "provider", "status", "error",
	"cancelled", "settled", "cost", "record", "details"}, ""}

// tidy makes the texts of a call that become columns such as are kept.
func tidy(c *record.Call) {
	for _, s := range [...]*string{&c.Generation, &c.Wallet, &c.User, &c.Key, &c.API, &c.Model, &c.Provider, &c.Endpoint, &c.Error} {
		*s = Text(*s)
	}
}

// generationArgs appends the row of a call to args; details are its record.
func generationArgs(args []any, c *record.Call, details string) []any {
	before := args[max(0, len(args)-len(generations.Columns)):]
	return append(args, again(before, 0, c.Wallet), c.Generation, c.At.UnixMicro(), again(before, 3, c.User), again(before, 4, c.Key), again(before, 5, c.API),
		again(before, 6, c.Model), again(before, 7, c.Provider), int64(c.Status), again(before, 9, c.Error), bit(c.Cancelled), bit(c.Settled), int64(c.Cost), noRecord, details)
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

// noRecord is in a column that only rows of older versions need. It takes the type of a value once, not for each row.
var noRecord any = []byte{}

// compared is how many columns of a call repeat values of its record: those before it.
const compared = 13

// agrees compares a row of generations with its record. Where they differ, wrong describes it in words.
func agrees(row []any, it *ledger.Item, err error) (call *record.Call, wrong string) {
	if err != nil {
		return nil, fmt.Sprintf("generation %v has a record that cannot be read", row[1])
	}
	tidy(&it.Call)
	for i, want := range generationArgs(nil, &it.Call, "")[:compared] {
		if row[i] != want {
			return &it.Call, fmt.Sprintf("generation %v has %s %v, its record says %v", row[1], generations.Columns[i], row[i], want)
		}
	}
	return &it.Call, ""
}

// insertRow is an INSERT of one row, followed by tail.
func insertRow(table string, columns []string, tail string) string {
	marks := make([]string, len(columns))
	for i := range marks {
		marks[i] = "$" + strconv.Itoa(i+1)
	}
	return "INSERT INTO " + table + " (" + strings.Join(columns, ", ") + ") VALUES (" + strings.Join(marks, ", ") + ") " + tail
}
