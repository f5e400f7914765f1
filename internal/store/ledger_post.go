package store

import (
	"context"
	"database/sql"
	"errors"
	"time"

	"weir/internal/fault"
	"weir/internal/ledger"
	"weir/internal/money"
)

// insertWallet adds an empty wallet.
func (t *tx) insertWallet(id string, now time.Time) error {
	_, err := t.exec(walletAdd, id, now.UnixMicro())
	return err
}

// Post is ledger.Poster.Post.
func (s *Store) Post(ctx context.Context, p ledger.Posting) (ledger.Posted, error) {
	done, err := s.post(ctx, p)
	if s.engine.Duplicate(err) { // by another node, since this one looked
		done, err = s.post(ctx, p)
	}
	return done, err
}

func (s *Store) post(ctx context.Context, p ledger.Posting) (done ledger.Posted, err error) {
	err = s.write(ctx, func(t *tx) error {
		done, err = t.posted(p)
		if err != nil || done.Repeated {
			return err
		}
		if done.Transaction, err = t.post(p); err != nil {
			return err
		}
		return t.record(p.Event, p.At)
	})
	return done, err
}

// posted looks for the posting's reference.
func (t *tx) posted(p ledger.Posting) (done ledger.Posted, err error) {
	rows, err := t.Rows(transactionRef, []any{p.Ref})
	all, err := collect(rows, err, columns(func(e *ledger.Entry) []any { return []any{&e.Transaction, &e.Account, (*int64)(&e.Amount)} }))
	if err != nil || len(all) == 0 {
		return done, err
	}
	for _, e := range all {
		if e.Account == ledger.WalletAccount+p.Wallet && e.Amount == p.Amount {
			return ledger.Posted{Transaction: e.Transaction, Repeated: true}, nil
		}
	}
	return done, fault.Newf(fault.Conflict, "store.Post", "%s was posted before, with another wallet or amount.", p.Ref)
}

func (t *tx) post(p ledger.Posting) (id int64, err error) {
	var credited, charged, leased money.Nano
	err = t.lockedRow(walletRead, p.Wallet).Scan((*int64)(&credited), (*int64)(&charged), (*int64)(&leased))
	if errors.Is(err, sql.ErrNoRows) {
		return 0, noWallet("store.Post", err)
	}
	if err != nil {
		return 0, err
	}
	if _, err := credited.Add(p.Amount); err != nil {
		return 0, fault.New(fault.Unprocessable, "store.Post", "The balance would not fit.").Because(err)
	}
	if available := credited - charged - leased; p.Amount < 0 && available < -p.Amount {
		return 0, fault.Newf(fault.Unprocessable, "store.Post", "Only %s rubles are available.", max(0, available))
	}
	p.Kind, p.Ref, p.Event.Name, p.Reason, p.Against = Text(p.Kind), Text(p.Ref), Text(p.Event.Name), Text(p.Reason), Text(p.Against)
	at := p.At.UnixMicro()
	if err := t.row(transactionAdd, p.Kind, p.Ref, at, p.Event.Name, p.Reason).Scan(&id); err != nil {
		return 0, err
	}
	if _, err := t.exec(walletCredit, p.Wallet, int64(p.Amount)); err != nil {
		return 0, err
	}
	lines := [...]postedEntry{{ledger.WalletAccount + Text(p.Wallet), p.Ref, 0, int64(p.Amount)}, {p.Against, p.Ref, 1, int64(-p.Amount)}}
	err = t.Insert(&entries, len(lines), func(args []any, i int) []any {
		e := &lines[i]
		return append(args, e.account, e.ref, id, e.line, e.amount)
	})
	if err != nil {
		return 0, err
	}
	all := posting{id: id, kind: p.Kind, ref: p.Ref, at: at, actor: p.Event.Name, reason: p.Reason, entries: lines[:]}
	return id, t.link(&ledger.Link{First: id, Last: id}, all.content().Sum())
}

func nano(n int64) money.Nano { return money.Nano(n) }
