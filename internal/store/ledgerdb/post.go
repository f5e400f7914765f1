package ledgerdb

import (
	"context"
	"database/sql"
	"errors"
	"math"
	"strings"
	"time"

	"weir/internal/fault"
	"weir/internal/ledger"
	"weir/internal/money"
	"weir/internal/record"
	"weir/internal/store/auditdb"
	"weir/internal/store/sqldb"
)

// InsertWallet adds an empty wallet.
func InsertWallet(t *sqldb.Tx, id string, now time.Time) error {
	_, err := t.Exec(walletAdd, id, now.UnixMicro())
	return err
}

// Post is ledger.Poster.Post.
func (s *Ledger) Post(ctx context.Context, p ledger.Posting) (ledger.Posted, error) {
	done, err := s.post(ctx, p)
	if s.db.Engine.Duplicate(err) { // by another node, since this one looked
		done, err = s.post(ctx, p)
	}
	return done, err
}

func (s *Ledger) post(ctx context.Context, p ledger.Posting) (done ledger.Posted, err error) {
	p.Kind, p.Ref, p.Actor.Name, p.Reason, p.Against = sqldb.Text(p.Kind), sqldb.Text(p.Ref), sqldb.Text(p.Actor.Name), sqldb.Text(p.Reason), sqldb.Text(p.Against)
	err = s.db.Write(ctx, func(t *sqldb.Tx) error {
		q := p
		done, err = Post(t, &q)
		return err
	})
	return done, err
}

// Post completes p: a refund gets its wallet, and if necessary its amount. Whether it was posted before, and how much is left, is checked
// while the wallet is locked, so that of two concurrent postings the second sees the first.
func Post(t *sqldb.Tx, p *ledger.Posting) (done ledger.Posted, err error) {
	var call *record.Call
	if p.Kind == ledger.RefundKind {
		if call, err = charged(t, p); err != nil {
			return done, err
		}
	}
	var w wallet
	err = t.LockedRow(walletRead, p.Wallet).Scan((*int64)(&w.credited), (*int64)(&w.charged), (*int64)(&w.leased))
	missing := errors.Is(err, sql.ErrNoRows)
	if err != nil && !missing {
		return done, err
	}
	var before []ledger.Movement
	if call != nil {
		if call, err = charged(t, p); err != nil { // it may have been dropped until the wallet was locked
			return done, err
		}
		before, err = refundsBy(func(after int64) ([]ledger.Movement, error) { return movements(t, refundsOf, p.Against, after) })
		if err != nil {
			return done, err
		}
	}
	prior, err := movements(t, movementOf, p.Ref)
	switch {
	case err != nil:
		return done, err
	case len(prior) > 0:
		if p.Amount == 0 { // all that was left then
			p.Amount = left(call, before, prior[0].Transaction)
		}
		return ledger.Posted{Movement: prior[0], Repeated: true}, p.Repeats(&prior[0])
	case missing:
		return done, noWallet("store.Post", sql.ErrNoRows)
	case call != nil:
		if err := fit(p, call, before); err != nil {
			return done, err
		}
	}
	if err := w.bears(p); err != nil {
		return done, err
	}
	if p.Amount < 0 && p.BelowZero { // it may take money that nodes have leased but do not use
		if _, err := t.Exec(walletRecall, p.Wallet); err != nil {
			return done, err
		}
	}
	if done.Transaction, err = enter(t, p, call, before); err != nil {
		return done, err
	}
	done.Movement = ledger.Movement{Transaction: done.Transaction, Kind: p.Kind, Ref: p.Ref, Wallet: p.Wallet, Against: p.Against, Amount: p.Amount, Reason: p.Reason,
		Actor: p.Actor.Name, At: time.UnixMicro(p.At.UnixMicro()).UTC()}
	return done, auditdb.Record(t, p.Event(), p.At)
}

// wallet has the columns of a wallet that are read before it changes.
type wallet struct{ credited, charged, leased money.Nano }

// bears reports whether a posting leaves the wallet with a permitted balance.
func (w *wallet) bears(p *ledger.Posting) error {
	if _, err := w.credited.Add(p.Amount); err != nil {
		return fault.New(fault.Unprocessable, "store.Post", "The balance would not fit.").Because(err)
	}
	balance := w.credited - w.charged
	switch available := balance - w.leased; {
	case p.Amount >= 0:
		return nil
	case p.BelowZero && balance-(-ledger.MaxPosting) < -p.Amount:
		return Unfit("amount", "The balance is %s rubles, and a correction takes none below %s.", balance, -ledger.MaxPosting)
	case !p.BelowZero && available < -p.Amount:
		return Unfit("amount", "Only %s rubles are available of a balance of %s; the rest is held. A correction that may take more must say below_zero.", max(0, available), balance)
	}
	return nil
}

// Unfit refuses a posting because of what a wallet or a call has.
func Unfit(param, format string, args ...any) error {
	e := fault.Newf(fault.Unprocessable, "store.Post", format, args...)
	e.Param = param
	return e
}

// charged reads the call that a refund is of, and gives the refund the wallet that paid.
func charged(t *sqldb.Tx, p *ledger.Posting) (*record.Call, error) {
	generation := strings.TrimPrefix(p.Against, ledger.RefundAccount)
	r, err := scanStored(t.Row(generationAny, generation))
	if errors.Is(err, sql.ErrNoRows) {
		return nil, unposted(t, generation, err)
	}
	if err != nil {
		return nil, err
	}
	it, _, err := r.read(nil, loadWith(t.Row))
	if err != nil {
		return nil, err
	}
	c := &it.Call
	Tidy(c)
	if !c.Settled || c.Cost == 0 {
		return nil, Unfit("generation", "The call was not charged: there is nothing to refund.")
	}
	p.Wallet = c.Wallet
	return c, nil
}

// unposted returns why there is no charge of a generation.
func unposted(t *sqldb.Tx, generation string, cause error) error {
	var state string
	switch err := t.Row(asideState, generation).Scan(&state); {
	case errors.Is(err, sql.ErrNoRows):
		var before int64
		if err := t.Row(horizonRead).Scan(&before); err != nil {
			return err
		}
		if since, dropped := droppedBefore(generation, before); dropped {
			return Unfit("generation", "Details of calls before %s are no longer kept, so their charges cannot be refunded. Correct the balance instead.", since)
		}
		e := fault.New(fault.NotFound, "store.Post", "There is no charge of that generation. One that is still running, or has just ended, cannot be refunded yet.").Because(cause)
		e.Param = "generation"
		return e
	case err != nil:
		return err
	case state == "dismissed":
		return Unfit("generation", "The charge could not be posted and was dismissed: there is nothing to refund.")
	}
	return Unfit("generation", "The charge could not be posted and is set aside: post or dismiss it first, see weir ledger aside list.")
}

// left is how much of a charge was left before a transaction.
func left(c *record.Call, refunds []ledger.Movement, before int64) money.Nano {
	rest := c.Cost
	for i := range refunds {
		if refunds[i].Transaction < before {
			rest -= refunds[i].Amount
		}
	}
	return rest
}

// fit bounds a refund by the rest of the charge; a refund without an amount gets all of it.
func fit(p *ledger.Posting, c *record.Call, refunds []ledger.Movement) error {
	rest := left(c, refunds, math.MaxInt64)
	switch {
	case rest <= 0:
		return Unfit("generation", "All of the charge of %s rubles was refunded before.", c.Cost)
	case p.Amount > rest:
		return Unfit("amount", "Only %s rubles are left of the charge of %s.", rest, c.Cost)
	case p.Amount == 0:
		p.Amount = rest
	}
	return nil
}

// enter writes the transaction and its effects, and links it to the chain. before are the earlier refunds of the call.
func enter(t *sqldb.Tx, p *ledger.Posting, call *record.Call, before []ledger.Movement) (id int64, err error) {
	if _, err := t.Exec(walletCredit, p.Wallet, int64(p.Amount)); err != nil {
		return 0, err
	}
	var back *tally
	if call != nil {
		back = refundOf(call, call.Cost-left(call, before, math.MaxInt64), p.Amount, p.At, t.Zones)
		if err := chargeKeys(t, back.keys); err != nil {
			return 0, err
		}
	}
	at := p.At.UnixMicro()
	if err := t.Row(transactionAdd, p.Kind, p.Ref, at, p.Actor.Name, p.Reason).Scan(&id); err != nil {
		return 0, err
	}
	lines := [...]postedEntry{{ledger.WalletAccount + sqldb.Text(p.Wallet), p.Ref, 0, int64(p.Amount)}, {p.Against, p.Ref, 1, int64(-p.Amount)}}
	err = t.Insert(&entries, len(lines), func(args []any, i int) []any {
		e := &lines[i]
		return append(args, e.account, e.ref, id, e.line, e.amount)
	})
	if err != nil {
		return 0, err
	}
	if call != nil {
		if err := rollUp(t, back); err != nil {
			return 0, err
		}
		if err := rollUpSales(t, back.taxes.sales); err != nil {
			return 0, err
		}
		if err := rollUpTagRefund(t, call, int64(p.Amount)); err != nil {
			return 0, err
		}
	}
	all := posting{id: id, kind: p.Kind, ref: p.Ref, at: at, actor: p.Actor.Name, reason: p.Reason, entries: lines[:]}
	return id, addLink(t, &ledger.Link{First: id, Last: id}, all.content().Sum())
}

func nano(n int64) money.Nano { return money.Nano(n) }

// LockWallet keeps others from changing a wallet and what belongs to it: payments and rules change in its turn.
func LockWallet(t *sqldb.Tx, id string) error {
	var w wallet
	err := t.LockedRow(walletRead, id).Scan((*int64)(&w.credited), (*int64)(&w.charged), (*int64)(&w.leased))
	if errors.Is(err, sql.ErrNoRows) {
		err = noWallet("store.payments", err)
	}
	return err
}

// InWallet runs f in a transaction that has locked a wallet.
func InWallet(ctx context.Context, db *sqldb.DB, wallet string, f func(*sqldb.Tx) error) error {
	return db.Write(ctx, func(t *sqldb.Tx) error {
		if err := LockWallet(t, wallet); err != nil {
			return err
		}
		return f(t)
	})
}
