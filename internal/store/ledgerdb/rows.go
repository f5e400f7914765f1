package ledgerdb

import (
	"fmt"
	"strings"

	"weir/internal/ledger"
	"weir/internal/record"
	"weir/internal/store/sqldb"
)

var generations = sqldb.Table{Name: "generations", Columns: strings.Split(storedColumns, ", ")}

// Tidy makes the texts of a call that become columns such as are kept.
func Tidy(c *record.Call) {
	for _, s := range [...]*string{&c.Generation, &c.Wallet, &c.User, &c.Key, &c.API, &c.Model, &c.Provider, &c.Endpoint, &c.Error} {
		*s = sqldb.Text(*s)
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

// agrees compares a row with the record that was read of it. Where they differ, wrong describes it in words.
func (r *stored) agrees(it *ledger.Item, err error) (call *record.Call, wrong string) {
	if err != nil {
		return nil, fmt.Sprintf("generation %v has a record that cannot be read", r.id)
	}
	Tidy(&it.Call)
	row := r.call()
	is, says := generationArgs(nil, &row, ""), generationArgs(nil, &it.Call, "")
	for i, column := range generations.Columns[:len(is)-2] {
		if is[i] != says[i] {
			return &it.Call, fmt.Sprintf("generation %v has %s %v, its record says %v", r.id, column, is[i], says[i])
		}
	}
	return &it.Call, ""
}
