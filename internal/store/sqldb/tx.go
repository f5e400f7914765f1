package sqldb

import (
	"database/sql"
	"errors"
	"fmt"

	"weir/internal/invalidate"
)

// Tx is a transaction that can change rows. Everything locks rows in the same order, or two transactions could wait for one another:
// nodes; wallets by id; key_spend by key, wallet, period and start; leases, which take the lock of their fund; roll-ups by their keys; the audit chain
// last.
type Tx struct {
	Runner
	Engine *Engine
	Zones  Zones // by which calls are added up
}

// Exec runs a statement with texts as they are stored.
func (t *Tx) Exec(text string, args ...any) (changed int64, err error) {
	return t.Runner.Exec(text, Clean(args))
}

// Row reads at most one row.
func (t *Tx) Row(text string, args ...any) Scanner { return t.Runner.Row(text, Clean(args)) }

// Rows reads a result, which the caller closes.
func (t *Tx) Rows(text string, args ...any) (*sql.Rows, error) {
	return t.Runner.Rows(text, Clean(args))
}

// LockedRow is Row, and prevents others from changing the result.
func (t *Tx) LockedRow(text string, args ...any) Scanner {
	return t.Runner.Row(text+t.Engine.ForUpdate, Clean(args))
}

// One is Exec of a change that must meet one row; its error is sql.ErrNoRows when it meets none.
func (t *Tx) One(text string, args ...any) error {
	if n, err := t.Exec(text, args...); err != nil || n == 1 {
		return err
	}
	return sql.ErrNoRows
}

// Tell has other nodes look again at what they remember of a user, "" for all.
func (t *Tx) Tell(topic invalidate.Topic, user string) error {
	if t.Engine.Tell == "" {
		return nil
	}
	_, err := t.Runner.Exec(t.Engine.Tell, []any{invalidate.Hint{Topic: topic, User: user}.String()})
	return err
}

// LockTable keeps others from writing into a table.
func (t *Tx) LockTable(name string) error {
	if t.Engine.LockTable == "" {
		return nil
	}
	_, err := t.Runner.Exec(fmt.Sprintf(t.Engine.LockTable, name), nil)
	return err
}

// KnownUser locks a user, so that what is theirs is changed and counted by one after another. It fails with sql.ErrNoRows for one who does
// not exist.
func (t *Tx) KnownUser(id string) error {
	return t.LockedRow(`SELECT id FROM users WHERE id = $1`, id).Scan(&id)
}

// LockUser is KnownUser where it does not matter whether there is such a user.
func (t *Tx) LockUser(user string) error {
	err := t.KnownUser(user)
	if errors.Is(err, sql.ErrNoRows) {
		return nil
	}
	return err
}
