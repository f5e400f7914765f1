package ledgerdb

import (
	"context"
	"database/sql"
	"errors"
	"slices"
	"strconv"
	"strings"
	"time"

	"weir/internal/ledger"
	"weir/internal/money"
	"weir/internal/record"
	"weir/internal/store/sqldb"
	"weir/internal/zone"
)

// Balance is ledger.Reader.Balance.
func (s *Ledger) Balance(ctx context.Context, wallet string) (ledger.Balance, error) {
	b, _, err := s.BalanceBeside(ctx, wallet, "")
	return b, err
}

// BalanceBeside is ledger.Leases.BalanceBeside.
func (s *Ledger) BalanceBeside(ctx context.Context, wallet, node string) (b ledger.Balance, own ledger.Own, err error) {
	err = s.db.Find(ctx, func(row sqldb.Scanner) error {
		var leases string
		if err := row.Scan((*int64)(&b.Credited), (*int64)(&b.Charged), (*int64)(&b.Leased), (*int64)(&b.Held), &leases, &own.Epoch, &own.Life); err != nil {
			return err
		}
		own.Consumed, err = consumed(leases)
		return err
	}, walletHeld, wallet, node)
	if errors.Is(err, sql.ErrNoRows) {
		return b, own, noWallet("store.Balance", err)
	}
	b.Balance = b.Credited - b.Charged
	return b, own, sqldb.Failure("store.Balance", err)
}

// consumed reads ids of leases, each with what it was charged.
func consumed(leases string) (map[int64]money.Nano, error) {
	fields := strings.Fields(leases)
	by := make(map[int64]money.Nano, len(fields)/2)
	for i := 0; i+1 < len(fields); i += 2 {
		id, err := strconv.ParseInt(fields[i], 10, 64)
		if err != nil {
			return nil, err
		}
		sum, err := strconv.ParseInt(fields[i+1], 10, 64)
		if err != nil {
			return nil, err
		}
		by[id] = money.Nano(sum)
	}
	return by, nil
}

// Activity is ledger.Reader.Activity.
func (s *Ledger) Activity(ctx context.Context, wallet, key, from, to string) ([]ledger.ActivityRow, error) {
	return sqldb.List(ctx, s.db, "store.Activity", sqldb.Columns(func(r *ledger.ActivityRow) []any {
		return []any{&r.Date, &r.Model, (*int64)(&r.Cost), &r.Requests, &r.PromptTokens, &r.CompletionTokens, &r.ReasoningTokens, (*int64)(&r.Refunded)}
	}), activity, wallet, from, to, key)
}

// Call is ledger.Reader.Call.
func (s *Ledger) Call(ctx context.Context, wallet, generation string) (call *record.Call, entries []ledger.Entry, err error) {
	err = s.db.Snapshot(ctx, func(ctx context.Context, q *sql.Tx) error {
		text, args := generationAny, []any{sqldb.Text(generation)}
		if wallet != "" {
			text, args = `SELECT `+storedColumns+` FROM generations WHERE id = $1 AND wallet = $2`, append(args, sqldb.Text(wallet))
		}
		r, err := scanStored(q.QueryRowContext(ctx, text, args...))
		if errors.Is(err, sql.ErrNoRows) {
			var before int64
			if e := q.QueryRowContext(ctx, horizonRead).Scan(&before); e != nil {
				return e
			}
			return noCall(generation, before, err)
		}
		if err != nil {
			return err
		}
		it, _, err := r.read(nil, loadWith(rowOf(ctx, q)))
		if err != nil {
			return err
		}
		call = &it.Call
		rows, err := q.QueryContext(ctx, entriesOf, ledger.WalletAccount+sqldb.Text(call.Wallet), ledger.SettleRef+sqldb.Text(call.Generation))
		entries, err = sqldb.Collect(rows, err, sqldb.Columns(func(e *ledger.Entry) []any {
			return []any{&e.ID, &e.Transaction, &e.Account, (*int64)(&e.Amount), &e.Ref, &e.At}
		}))
		return err
	})
	return call, entries, err
}

func scanMovement(row sqldb.Scanner) (m ledger.Movement, err error) {
	var at int64
	err = row.Scan(&m.Transaction, &m.Kind, &m.Ref, &at, &m.Actor, &m.Reason, &m.Wallet, (*int64)(&m.Amount), &m.Against)
	m.Wallet, m.At = strings.TrimPrefix(m.Wallet, ledger.WalletAccount), time.UnixMicro(at).UTC()
	return m, err
}

// Statement is ledger.Reader.Statement.
func (s *Ledger) Statement(ctx context.Context, wallet string, before int64, count int) ([]ledger.Movement, error) {
	return sqldb.List(ctx, s.db, "store.Statement", scanMovement, movementsOf, ledger.WalletAccount+wallet, before, int64(count))
}

// Refunds is ledger.Reader.Refunds.
func (s *Ledger) Refunds(ctx context.Context, wallet, generation string) ([]ledger.Movement, error) {
	all, err := refundsBy(func(after int64) ([]ledger.Movement, error) {
		return sqldb.List(ctx, s.db, "store.Refunds", scanMovement, refundsOf, ledger.RefundAccount+generation, after)
	})
	return slices.DeleteFunc(all, func(m ledger.Movement) bool { return wallet != "" && m.Wallet != wallet }), err
}

// refundsBy reads all refunds of a call page by page, each after a transaction.
func refundsBy(page func(after int64) ([]ledger.Movement, error)) ([]ledger.Movement, error) {
	all := []ledger.Movement{}
	for after := int64(-1); ; after = all[len(all)-1].Transaction {
		next, err := page(after)
		if all = append(all, next...); err != nil || len(next) == 0 {
			return all, err
		}
	}
}

// movements runs one of the queries of movements.
func movements(t *sqldb.Tx, text string, args ...any) ([]ledger.Movement, error) {
	rows, err := t.Rows(text, args...)
	return sqldb.Collect(rows, err, scanMovement)
}

// FundStates is ledger.Reader.FundStates.
func (s *Ledger) FundStates(ctx context.Context, funds []ledger.Fund) ([]ledger.FundState, error) {
	all := make([]ledger.FundState, len(funds))
	err := s.db.Snapshot(ctx, func(ctx context.Context, q *sql.Tx) error {
		for i, f := range funds {
			err := q.QueryRowContext(ctx, fundState, sqldb.Text(f.Wallet), sqldb.Text(f.Key), f.Period.Kind, f.Period.Start).Scan((*int64)(&all[i].Spent), (*int64)(&all[i].Held))
			if err != nil && !errors.Is(err, sql.ErrNoRows) {
				return err
			}
		}
		return nil
	})
	return all, err
}

// KeySpend is ledger.Reader.KeySpend.
func (s *Ledger) KeySpend(ctx context.Context, key string) (k ledger.KeySpend, err error) {
	err = s.db.Snapshot(ctx, func(ctx context.Context, q *sql.Tx) error {
		var wallet string // of a key there is one
		if err := q.QueryRowContext(ctx, keyWallet, sqldb.Text(key)).Scan(&wallet); err != nil && !errors.Is(err, sql.ErrNoRows) {
			return err
		}
		h, err := sqldb.ZonesIn(ctx, q, wallet)
		if err != nil {
			return err
		}
		for i, p := range ledger.Periods(h.Local(s.db.Now())) {
			spent, forgiven := spendIn(&k, i)
			if err := q.QueryRowContext(ctx, keySpend, sqldb.Text(key), p.Kind, p.Start).Scan((*int64)(spent), (*int64)(forgiven)); err != nil {
				return err
			}
		}
		return nil
	})
	return k, err
}

// spendIn is where a key's spending in one of ledger.Periods is kept.
func spendIn(k *ledger.KeySpend, period int) (spent, forgiven *money.Nano) {
	return []*money.Nano{&k.Total, &k.Daily, &k.Weekly, &k.Monthly}[period], []*money.Nano{&k.Forgiven.Total, &k.Forgiven.Daily, &k.Forgiven.Weekly, &k.Forgiven.Monthly}[period]
}

// ForgiveKey has what a key has spent not count against its limit any more, whatever the limit's interval is or will be.
func ForgiveKey(t *sqldb.Tx, wallet, key string, now time.Time) (before ledger.KeySpend, err error) {
	for i, p := range ledger.Periods(t.Zones[wallet].Local(now)) {
		spent, forgiven := spendIn(&before, i)
		err := t.LockedRow(`SELECT spent, forgiven FROM key_spend WHERE wallet = $1 AND key_id = $2 AND period = $3 AND start = $4`, wallet, key, p.Kind, p.Start).Scan((*int64)(spent), (*int64)(forgiven))
		if errors.Is(err, sql.ErrNoRows) {
			continue
		}
		if err == nil {
			_, err = t.Exec(keyForgive, wallet, key, p.Kind, p.Start)
		}
		if err != nil {
			return before, err
		}
	}
	return before, nil
}

// Local is what a clock shows where a wallet's account is when the hour that has t begins, written as a time of UTC. It asks nothing: a
// sign of life reads the zones in time.
func (s *Ledger) Local(wallet string, t time.Time) time.Time { return s.db.Local(wallet, t) }

// Zones is report.Store.Zones.
func (s *Ledger) Zones(ctx context.Context, wallet string) (zone.History, error) {
	return s.db.ZonesOf(ctx, wallet)
}
