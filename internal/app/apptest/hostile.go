package apptest

import (
	"testing"
)

// AwaitSettled waits for the end of calls whose clients have left.
func (a *Account) AwaitSettled(t *testing.T) {
	t.Helper()
	WaitFor(t, "the end of the holds", func() bool { return a.Credits(t).Reserved == "0" })
}
