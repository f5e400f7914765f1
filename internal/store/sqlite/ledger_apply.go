package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"strconv"

	driver "modernc.org/sqlite"
	sqlite3 "modernc.org/sqlite/lib"

	"weir/internal/fault"
	"weir/internal/ledger"
	"weir/internal/money"
	"weir/internal/record"
	"weir/internal/store"
)

// Apply is ledger.Applier.Apply. It first assumes that no generation is there already, because the node's position says so, and
// looks at each only when that was wrong.
func (s *Store) Apply(ctx context.Context, b *ledger.Batch) (int64, error) {
	position, err := s.apply(ctx, b, false)
	if isDuplicate(err) {
		position, err = s.apply(ctx, b, true)
	}
	if err == nil && b.Durable && position == b.To {
		err = s.sync(ctx, b.Node)
	}
	return position, err
}

// sync forces everything committed so far to the disk: a commit that waits for the disk carries the log before it along.
func (s *Store) sync(ctx context.Context, node string) error {
	return s.inTx(ctx, func(tx *sql.Tx) error {
		_, err := tx.ExecContext(ctx, `UPDATE nodes SET seen_at = seen_at WHERE id = $1`, node)
		return err
	})
}

func isDuplicate(err error) bool {
	var e *driver.Error
	return errors.As(err, &e) && e.Code() == sqlite3.SQLITE_CONSTRAINT_UNIQUE
}

func (s *Store) apply(ctx context.Context, b *ledger.Batch, careful bool) (position int64, err error) {
	err = s.inLedgerTx(ctx, func(tx *ledgerTx) error {
		n, err := tx.exec(store.NodeAdvance, b.Node, b.From, b.To)
		if err != nil {
			return err
		}
		if n == 0 {
			return tx.row(store.NodePosition, b.Node).Scan(&position)
		}
		position = b.To
		items := b.Items
		if careful {
			if items, err = tx.unknown(items); err != nil {
				return err
			}
		}
		return tx.applyItems(b, items)
	})
	return position, err
}

// unknown leaves out what the store has, and what comes twice.
func (t *ledgerTx) unknown(items []ledger.Recorded) ([]ledger.Recorded, error) {
	type id struct{ wallet, generation string }
	seen := map[id]bool{}
	var out []ledger.Recorded
	for _, it := range items {
		k := id{it.Call.Wallet, it.Call.Generation}
		var n int
		if err := t.row(store.GenerationKnown, k.wallet, k.generation).Scan(&n); err != nil {
			return nil, err
		}
		if n == 0 && !seen[k] {
			seen[k] = true
			out = append(out, it)
		}
	}
	return out, nil
}

func (t *ledgerTx) applyItems(b *ledger.Batch, items []ledger.Recorded) error {
	if len(items) == 0 {
		return nil
	}
	chunk := insertGenerations.sizes[0]
	args := make([]any, 0, chunk*len(store.GenerationColumns))
	for some := range slices.Chunk(items, chunk) {
		args = args[:0]
		for i := range some {
			args = store.GenerationArgs(args, &some[i].Call, some[i].Record)
		}
		if err := t.insert(insertGenerations, args); err != nil {
			return err
		}
	}
	sums, err := store.NewTally(items)
	if err != nil {
		return fault.Wrap("sqlite.Apply", err)
	}
	for _, step := range []func() error{
		func() error { return t.postSettled(b, sums.Settled, sums.Revenue) },
		func() error { return t.charge(b, sums.Charged) },
		func() error { return t.consume(b.Node, sums.Leases) },
		func() error { return t.chargeKeys(sums.Keys) },
		func() error { return t.rollUp(sums) },
	} {
		if err := step(); err != nil {
			return err
		}
	}
	return nil
}

// postSettled posts an entry for each call and one that balances them.
func (t *ledgerTx) postSettled(b *ledger.Batch, calls []*record.Call, revenue money.Nano) error {
	switch {
	case len(calls) == 0:
		return nil
	case len(calls) >= store.MaxEntries:
		return fault.Wrap("sqlite.Apply", fmt.Errorf("%d calls in one batch", len(calls)))
	}
	ref := ledger.SettleRef + b.Node + ":" + strconv.FormatInt(b.From, 10)
	var id int64
	if err := t.row(store.TransactionAdd, "settle", ref, b.Now.UnixMicro(), "", "").Scan(&id); err != nil {
		return err
	}
	args := make([]any, 0, (len(calls)+1)*len(store.EntryColumns))
	var transaction any = id
	accounts := map[string]any{}
	for i, c := range calls {
		account := accounts[c.Wallet]
		if account == nil {
			account = ledger.WalletAccount + c.Wallet
			accounts[c.Wallet] = account
		}
		args = append(args, account, ledger.SettleRef+c.Generation, transaction, int64(i+1), -int64(c.Cost))
	}
	args = append(args, ledger.RevenueAccount, ref, transaction, int64(0), int64(revenue))
	return t.insert(insertEntries, args)
}

func (t *ledgerTx) charge(b *ledger.Batch, charged map[string]money.Nano) error {
	for wallet, n := range charged {
		changed, err := t.exec(store.WalletCharge, wallet, int64(n))
		if err == nil && changed == 0 { // the entry stands, so its wallet must
			if err = insertWallet(t.ctx, t.Tx, wallet, b.Now); err == nil {
				_, err = t.exec(store.WalletCharge, wallet, int64(n))
			}
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// consume takes costs from leases, as far as they are still there.
func (t *ledgerTx) consume(node string, uses map[store.LeaseUse]money.Nano) error {
	for use, n := range uses {
		old, err := t.lease(node, use.Lease, use.Wallet)
		if err != nil {
			return err
		}
		if old == nil {
			continue
		}
		if _, err := t.exec(store.LeaseConsume, node, use.Lease, use.Wallet, int64(n)); err != nil {
			return err
		}
		after := *old
		after.consumed += n
		if err := t.reserve(old.pot, after.left()-old.left()); err != nil {
			return err
		}
	}
	return nil
}

func (t *ledgerTx) chargeKeys(keys map[store.KeyPeriod]money.Nano) error {
	for k, n := range keys {
		if _, err := t.exec(store.KeyCharge, k.Wallet, k.Key, k.Period.Kind, k.Period.Start, int64(n)); err != nil {
			return err
		}
	}
	return nil
}

func (t *ledgerTx) rollUp(sums *store.Tally) error {
	args := make([]any, 0, 32)
	for d, s := range sums.Days {
		args = append(args[:0], d.Day, d.Wallet, d.Key, d.User, d.Model, d.Provider)
		if _, err := t.exec(upsertDay, withSums(args, s)...); err != nil {
			return err
		}
	}
	for h, s := range sums.Hours {
		args = append(args[:0], h.Hour, h.Wallet, h.Key, h.User, h.Model, h.Provider, h.Endpoint)
		if _, err := t.exec(upsertHour, withSums(args, s)...); err != nil {
			return err
		}
	}
	return nil
}

func withSums(args []any, s *store.Sums) []any {
	for _, n := range s {
		args = append(args, n)
	}
	return args
}

// Balance is ledger.Reader.Balance. Held is all that nodes have leased.
func (s *Store) Balance(ctx context.Context, wallet string) (ledger.Balance, error) {
	var b ledger.Balance
	err := s.read.QueryRowContext(ctx, store.WalletRead, wallet).Scan((*int64)(&b.Credited), (*int64)(&b.Charged), (*int64)(&b.Held))
	if errors.Is(err, sql.ErrNoRows) {
		return b, noWallet("sqlite.Balance", err)
	}
	b.Balance = b.Credited - b.Charged
	return b, failure("sqlite.Balance", err)
}

// Activity is ledger.Reader.Activity.
func (s *Store) Activity(ctx context.Context, wallet, key, from, to string) ([]ledger.ActivityRow, error) {
	rows, err := s.read.QueryContext(ctx, store.Activity, wallet, from, to, key)
	if err != nil {
		return nil, failure("sqlite.Activity", err)
	}
	list, err := gather(rows, func(r *ledger.ActivityRow) []any {
		return []any{&r.Date, &r.Model, (*int64)(&r.Cost), &r.Requests, &r.PromptTokens, &r.CompletionTokens, &r.ReasoningTokens}
	})
	return list, failure("sqlite.Activity", err)
}

// Call is ledger.Reader.Call.
func (s *Store) Call(ctx context.Context, wallet, generation string) (call *record.Call, entries []ledger.Entry, err error) {
	err = s.inReadTx(ctx, func(tx *sql.Tx) error {
		var rec []byte
		if wallet == "" { // each is tried, through the same index
			err = tx.QueryRowContext(ctx, `SELECT record FROM generations WHERE wallet IN (SELECT id FROM wallets) AND id = $1`, generation).Scan(&rec)
		} else {
			err = tx.QueryRowContext(ctx, `SELECT record FROM generations WHERE wallet = $1 AND id = $2`, wallet, generation).Scan(&rec)
		}
		if errors.Is(err, sql.ErrNoRows) {
			return fault.New(fault.NotFound, "sqlite.Call", "There is no such generation.").Because(err)
		}
		if err != nil {
			return err
		}
		it, err := ledger.DecodeItem(rec)
		if err != nil {
			return err
		}
		call = &it.Call
		rows, err := tx.QueryContext(ctx, store.EntriesOf, ledger.WalletAccount+call.Wallet, ledger.SettleRef+call.Generation)
		if err != nil {
			return err
		}
		entries, err = gather(rows, func(e *ledger.Entry) []any {
			return []any{&e.ID, &e.Transaction, &e.Account, (*int64)(&e.Amount), &e.Ref, &e.At}
		})
		return err
	})
	return call, entries, err
}

// KeySpend is ledger.Reader.KeySpend.
func (s *Store) KeySpend(ctx context.Context, key string) (k ledger.KeySpend, err error) {
	err = s.inReadTx(ctx, func(tx *sql.Tx) error {
		periods := ledger.Periods(s.now())
		for i, to := range []*money.Nano{&k.Total, &k.Daily, &k.Weekly, &k.Monthly} {
			if err := tx.QueryRowContext(ctx, store.KeySpend, key, periods[i].Kind, periods[i].Start).Scan((*int64)(to)); err != nil {
				return err
			}
		}
		return nil
	})
	return k, err
}
