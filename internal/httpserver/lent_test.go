package httpserver

import (
	"testing"

	"weir/internal/limit"
)

// What is lent is charged until it comes back or the request ends, and is lent to others only then.
func TestLent(t *testing.T) {
	t.Parallel()
	budget := limit.NewBudget(1<<20, 1<<20)
	var memory limit.Tab
	memory.Open(budget, "usr_1")
	var lent Lent
	lent.Charge(&memory)
	a, b := lent.Lend(5000), lent.Lend(2<<20) // more than there is: what a provider sent is not refused
	if len(a) != 0 || cap(a) < 5000 || len(b) != 0 || cap(b) < 2<<20 || budget.Used() != int64(cap(a)+cap(b)) {
		t.Fatalf("%d and %d bytes lent, %d charged", cap(a), cap(b), budget.Used())
	}
	a = append(a, "a weir"...)
	lent.Return(b)
	lent.Return(b)
	lent.Return(make([]byte, 10))
	lent.Return(nil)
	if c := lent.Lend(5000); &c[:1][0] == &a[0] || budget.Used() != int64(cap(a)+cap(c)) {
		t.Fatalf("%d bytes charged", budget.Used())
	}
	lent.Release()
	memory.Close()
	if budget.Used() != 0 || lent.all != nil {
		t.Fatalf("%d bytes are charged after the end", budget.Used())
	}
}
