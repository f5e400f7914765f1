package ledgerdb

import (
	"context"
	"database/sql"
	"errors"
	"strconv"
	"strings"
	"time"

	"weir/internal/fault"
	"weir/internal/ledger"
	"weir/internal/money"
	"weir/internal/store/sqldb"
)

const (
	transactionHead   = `SELECT id, kind, ref, at, actor, reason FROM transactions WHERE `
	transactionByCall = `SELECT e.transaction_id FROM entries e WHERE e.account = $1 AND e.ref = $2`
	walletOfCall      = `SELECT wallet FROM generations WHERE id = $1 AND substr(id, 5, 10) = $2`
	// A reference that a person has is the end of one: topup:bank:invoice-17. Each source is an account, and few there are.
	sourcesOf = `SELECT DISTINCT account FROM entries WHERE substr(account, 1, 6) = 'topup:' AND substr(ref, 1, 7) <> 'settle:' AND account > 'topup:' AND account < 'topup;'`
	// Entries of a transaction that settles calls are found by the two sides that are asked for.
	entriesOfPosting = `SELECT account, amount, ref FROM entries WHERE transaction_id = $1 AND substr(ref, 1, 7) <> 'settle:' ORDER BY line`
	entryOf          = `SELECT account, amount, ref FROM entries WHERE account = $1 AND ref = $2`
)

// Transaction finds what was posted under a number, a reference, or the generation of a call. It fails with fault.NotFound.
func (s *Ledger) Transaction(ctx context.Context, what string) (out ledger.Transaction, err error) {
	const op = "store.Transaction"
	err = s.db.Snapshot(ctx, func(ctx context.Context, q *sql.Tx) error {
		f := finder{ctx: ctx, tx: q}
		call, err := f.head(&out, sqldb.Text(what))
		if err != nil {
			return err
		}
		return f.entries(&out, call)
	})
	if errors.Is(err, sql.ErrNoRows) {
		return out, fault.New(fault.NotFound, op, "Nothing was posted under this. Give the number of a transaction, its reference, or the id of a call (gen-...); one that has just ended takes a moment.")
	}
	return out, sqldb.Failure(op, err)
}

// finder looks for one transaction.
type finder struct {
	ctx context.Context
	tx  *sql.Tx
}

// head finds the transaction itself, and for a call the entry of its wallet.
func (f finder) head(out *ledger.Transaction, what string) (call ledger.Entry, err error) {
	if strings.HasPrefix(what, "gen-") && len(what) >= 14 {
		var wallet string
		if err := f.tx.QueryRowContext(f.ctx, walletOfCall, what, what[4:14]).Scan(&wallet); err != nil {
			return call, err
		}
		call.Account, call.Ref = ledger.WalletAccount+wallet, ledger.SettleRef+what
		var number int64
		if err := f.tx.QueryRowContext(f.ctx, transactionByCall, call.Account, call.Ref).Scan(&number); err != nil {
			return call, err
		}
		return call, f.scan(out, `id = $1`, number)
	}
	if number, err := strconv.ParseInt(what, 10, 64); err == nil {
		if err := f.scan(out, `id = $1`, number); err == nil || !errors.Is(err, sql.ErrNoRows) {
			return call, err
		}
	}
	references, err := f.references(what)
	for _, reference := range references {
		if err = f.scan(out, `ref = $1`, reference); !errors.Is(err, sql.ErrNoRows) {
			break
		}
	}
	return call, err
}

// references are the whole references that what a person has may be the end of.
func (f finder) references(what string) ([]string, error) {
	rows, err := f.tx.QueryContext(f.ctx, sourcesOf)
	sources, err := sqldb.Collect(rows, err, func(row sqldb.Scanner) (s string, err error) { return s, row.Scan(&s) })
	out := []string{what, ledger.AdjustmentAccount + ":" + what, ledger.RefundKind + ":" + what}
	for _, source := range sources {
		out = append(out, source+":"+what)
	}
	return out, err
}

func (f finder) scan(out *ledger.Transaction, where string, of any) error {
	var at int64
	err := f.tx.QueryRowContext(f.ctx, transactionHead+where, of).Scan(&out.ID, &out.Kind, &out.Ref, &at, &out.Actor, &out.Reason)
	out.At = time.UnixMicro(at).UTC()
	return err
}

func (f finder) entries(out *ledger.Transaction, call ledger.Entry) error {
	text, args := entriesOfPosting, []any{out.ID}
	if strings.HasPrefix(out.Ref, ledger.SettleRef) {
		text, args = entryOf, []any{ledger.RevenueAccount, out.Ref}
		if call.Ref != "" {
			text, args = entryOf+` UNION ALL `+`SELECT account, amount, ref FROM entries WHERE account = $3 AND ref = $4`, []any{call.Account, call.Ref, ledger.RevenueAccount, out.Ref}
		}
	}
	rows, err := f.tx.QueryContext(f.ctx, text, args...)
	if out.Entries, err = sqldb.Collect(rows, err, sqldb.Columns(func(e *ledger.Entry) []any { return []any{&e.Account, (*int64)(&e.Amount), &e.Ref} })); err != nil {
		return err
	}
	var sum money.Nano
	for i := range out.Entries {
		out.Entries[i].Transaction, out.Entries[i].At = out.ID, out.At.UnixMicro()
		sum += out.Entries[i].Amount
	}
	if strings.HasPrefix(out.Ref, ledger.SettleRef) {
		out.Others = -sum
	}
	return nil
}
