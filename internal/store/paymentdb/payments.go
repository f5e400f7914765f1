// Package paymentdb keeps payments, vouchers, invoices and acts.
package paymentdb

import (
	"context"
	"database/sql"
	"errors"
	"time"

	"weir/internal/audit"
	"weir/internal/fault"
	"weir/internal/invoice"
	"weir/internal/ledger"
	"weir/internal/money"
	"weir/internal/payment"
	"weir/internal/store/auditdb"
	"weir/internal/store/ledgerdb"
	"weir/internal/store/sqldb"
	"weir/internal/voucher"
)

// Payments has payments, vouchers, invoices and acts.
type Payments struct{ db *sqldb.DB }

// New makes the payments of a database.
func New(db *sqldb.DB) *Payments { return &Payments{db} }

var (
	_ payment.Store = (*Payments)(nil)
	_ voucher.Store = (*Payments)(nil)
	_ invoice.Store = (*Payments)(nil)
)

var payments = sqldb.Map[payment.Payment, struct {
	ID, Account, Wallet, Provider, URL, ReturnURL, Description, Email, Method, MethodTitle, Reason, Problem string
	ProviderID                                                                                              string `db:",null"`
	State                                                                                                   payment.State
	Amount, Paid, Refunded                                                                                  money.Nano
	Save, Auto                                                                                              bool
	Tries                                                                                                   int64
	CreatedAt, UpdatedAt                                                                                    time.Time
	EndedAt, DueAt, Refunding                                                                               time.Time `db:",null"`
}]("payments", sqldb.Computed[payment.Payment]("refunded",
	`(SELECT CAST(COALESCE(SUM(f.amount), 0) AS BIGINT) FROM payment_refunds f WHERE f.payment = payments.id AND f.state <> 'canceled')`),
	sqldb.Computed[payment.Payment]("refunding", `(SELECT MIN(f.created_at) FROM payment_refunds f WHERE f.payment = payments.id AND f.state IN ('new', 'pending'))`))

var refunds = sqldb.Map[payment.Refund, struct {
	ID, Payment, Account, Reason, Failure, Actor string
	ProviderID                                   string `db:",null"`
	State                                        payment.State
	Amount                                       money.Nano
	Tries                                        int64
	CreatedAt, UpdatedAt                         time.Time
	DueAt                                        time.Time `db:",null"`
}]("payment_refunds")

var rules = sqldb.Map[payment.Rule, struct {
	Account, Wallet, Provider, Payment, Method, MethodTitle, Email, Why string
	State                                                               payment.RuleState
	Threshold, Amount, Cap                                              money.Nano
	Fails                                                               int64
	ConsentAt, DueAt                                                    time.Time
}]("payment_rules")

// putRule adds a rule, or changes that of its account.
func putRule(t *sqldb.Tx, r *payment.Rule) error {
	_, err := rules.Put(t, r, `ON CONFLICT (account) DO UPDATE SET `+rules.Excluded("account"))
	return err
}

// What automatic top-ups have charged, or may yet.
const autoSum = `SELECT CAST(COALESCE(SUM(CASE WHEN paid > 0 THEN paid ELSE amount END), 0) AS BIGINT) FROM payments WHERE account = $1 AND auto AND state <> 'canceled' AND created_at >= $2`

// AddPayment is payment.Store.AddPayment.
func (s *Payments) AddPayment(ctx context.Context, p payment.Payment, b payment.Bounds, rule *payment.Rule, e audit.Event) error {
	return auditdb.Write(ctx, s.db, e, p.CreatedAt, func(t *sqldb.Tx) error {
		if err := ledgerdb.LockWallet(t, p.Wallet); err != nil {
			return err
		}
		if err := mayAdd(t, &p, b, rule); err != nil {
			return err
		}
		if err := payments.Insert(t, &p); err != nil {
			return err
		}
		if rule != nil {
			if err := putRule(t, rule); err != nil {
				return err
			}
		}
		return nil
	})
}

func mayAdd(t *sqldb.Tx, p *payment.Payment, b payment.Bounds, rule *payment.Rule) error {
	const op = "store.AddPayment"
	var open, auto int
	err := t.Row(`SELECT COUNT(*), CAST(COALESCE(SUM(CASE WHEN auto THEN 1 ELSE 0 END), 0) AS BIGINT) FROM payments WHERE account = $1 AND state IN ('new', 'pending')`, p.Account).Scan(&open, &auto)
	if err != nil {
		return err
	}
	old, err := rules.Row(t, `WHERE account = $1`, p.Account)
	none := errors.Is(err, sql.ErrNoRows)
	switch {
	case err != nil && !none:
		return err
	case !p.Auto && open-auto >= b.Open:
		return fault.Newf(fault.RateLimited, op, "This account has %d payments that wait to be paid, as many as it may. Pay one of them, or wait until they end; that takes an hour at most.", open-auto)
	case rule != nil && !none && old.State == payment.RuleActive:
		return fault.New(fault.Conflict, op, "This account has automatic top-ups already. Change or end them, and leave auto out.")
	case !p.Auto:
		return nil
	case none || old.State != payment.RuleActive || old.Method != p.Method || old.Amount != p.Amount:
		return fault.New(fault.Conflict, op, "The account does not consent to this top-up any more.")
	case auto > 0:
		return fault.New(fault.Conflict, op, "Another automatic top-up is under way.")
	}
	var sum int64
	if err := t.Row(autoSum, p.Account, payment.MonthOf(p.CreatedAt).UnixMicro()).Scan(&sum); err != nil {
		return err
	}
	if total, err := money.Nano(sum).Add(p.Amount); err != nil || total > old.Cap {
		return fault.New(fault.Unprocessable, op, "The top-up would exceed the cap of the month.")
	}
	return nil
}

// PaymentByID is payment.Store.PaymentByID.
func (s *Payments) PaymentByID(ctx context.Context, id string) (p payment.Payment, err error) {
	p, err = payments.Find(ctx, s.db, `WHERE id = $1`, id)
	return p, sqldb.NoneOf("store.PaymentByID", "payment", err)
}

// PaymentOf is payment.Store.PaymentOf.
func (s *Payments) PaymentOf(ctx context.Context, provider, providerID string) (p payment.Payment, err error) {
	p, err = payments.Find(ctx, s.db, `WHERE provider = $1 AND provider_id = $2`, provider, providerID)
	return p, sqldb.NoneOf("store.PaymentOf", "payment", err)
}

// Payments is payment.Store.Payments.
func (s *Payments) Payments(ctx context.Context, q payment.Query) ([]payment.Payment, error) {
	var c sqldb.Conditions
	if q.Before != "" {
		last, err := s.PaymentByID(ctx, q.Before)
		if err == nil && q.Account != "" && last.Account != q.Account {
			err = sqldb.NoneOf("store.Payments", "payment", sql.ErrNoRows)
		}
		if err != nil {
			return nil, err
		}
		at := last.CreatedAt.UnixMicro()
		c.Add("created_at <= ? AND NOT (created_at = ? AND id >= ?)", at, at, last.ID)
	}
	wanted(&c, &q)
	c.Args = append(c.Args, q.Limit)
	by := "created_at"
	if q.Open || q.Name != "" || !q.Hanging.IsZero() || q.State == payment.New || q.State == payment.Pending { // few, which are sorted: else all are read from the newest
		by += " + 0"
	}
	return payments.List(ctx, s.db, "store.Payments", c.Where()+` ORDER BY `+by+` DESC, id DESC LIMIT $`+itoa(len(c.Args)), c.Args...)
}

// openOnes are payments that have not ended or have a problem. They are few, and found by two indexes: with OR, planners read all payments from the newest,
// and with UNION SQLite reads all by their ids, to merge the parts.
const openOnes = `SELECT o.id FROM payments o WHERE o.state IN ('new', 'pending') UNION ALL SELECT o.id FROM payments o WHERE o.problem > ''`

// wanted adds what a query asks for.
func wanted(c *sqldb.Conditions, q *payment.Query) {
	c.Equal("account", q.Account)
	c.Equal("provider", q.Provider)
	if q.Open {
		c.Add("id IN (" + openOnes + ")")
	}
	switch q.State {
	case "":
	case payment.New, payment.Pending:
		c.Add("id IN (SELECT o.id FROM payments o WHERE o.state IN ('new', 'pending'))") // few, which are sorted afterwards
	case payment.Succeeded, payment.Canceled:
		if q.Account != "" { // else SQLite reads those in this state of all accounts
			c.Add("state || '' = ?", string(q.State))
		} else {
			c.Add("state = ?", string(q.State))
		}
	}
	if q.Name != "" {
		c.Add(`id IN (SELECT n.id FROM payments n WHERE n.id = ? UNION ALL SELECT n.id FROM payments n WHERE n.provider_id = ? UNION ALL SELECT f.payment FROM payment_refunds f WHERE f.id = ?
			UNION ALL SELECT f.payment FROM payment_refunds f WHERE f.provider_id = ?)`, q.Name, q.Name, q.Name, q.Name)
	}
	if !q.From.IsZero() {
		c.Add("created_at >= ?", q.From.UnixMicro())
	}
	if !q.Until.IsZero() {
		c.Add("created_at < ?", q.Until.UnixMicro())
	}
	if at := q.Hanging; !at.IsZero() { // as payment.Payment.Hangs says
		ago := func(d time.Duration) int64 { return at.Add(-d).UnixMicro() }
		c.Add(`id IN (SELECT o.id FROM payments o WHERE o.problem > '' AND o.state <> 'succeeded' UNION ALL SELECT o.id FROM payments o WHERE o.state = 'new' AND o.created_at < ?
			UNION ALL SELECT o.id FROM payments o WHERE o.state = 'pending' AND o.created_at < ? UNION ALL SELECT f.payment FROM payment_refunds f WHERE f.state IN ('new', 'pending') AND f.created_at < ?)`,
			ago(payment.SilentAfter), ago(payment.WaitingAfter), ago(payment.RefundsAfter))
	}
}

// Unanswered is payment.Store.Unanswered.
func (s *Payments) Unanswered(ctx context.Context, provider string) (some bool, err error) {
	err = s.db.Read(ctx, &some, `SELECT EXISTS (SELECT 1 FROM payments WHERE provider = $1 AND provider_id IS NULL AND (state = 'new' OR tries > 0))`, provider)
	return some, sqldb.Failure("store.Unanswered", err)
}

// bring writes what a change of a payment brings with it.
func bring(t *sqldb.Tx, o *payment.Outcome, now time.Time) error {
	if o.Post != nil {
		p := *o.Post
		done, err := ledgerdb.Post(t, &p)
		if err != nil {
			return err
		}
		if done.Repeated {
			return fault.Newf(fault.Conflict, "store.payments", "The posting %s was made before.", p.Ref)
		}
	}
	if o.Rule != nil {
		if err := putRule(t, o.Rule); err != nil {
			return err
		}
	}
	for _, e := range o.Events {
		if err := auditdb.Record(t, e, now); err != nil {
			return err
		}
	}
	return nil
}

// UpdatePayment is payment.Store.UpdatePayment.
func (s *Payments) UpdatePayment(ctx context.Context, id string, now time.Time, f func(*payment.Payment, *payment.Rule) (payment.Outcome, error)) (p payment.Payment, err error) {
	known, err := s.PaymentByID(ctx, id)
	if err != nil {
		return p, err
	}
	err = ledgerdb.InWallet(ctx, s.db, known.Wallet, func(t *sqldb.Tx) error {
		if p, err = payments.Row(t, `WHERE id = $1`, id); err != nil {
			return sqldb.NoneOf("store.UpdatePayment", "payment", err)
		}
		var rule *payment.Rule
		switch r, err := rules.Row(t, `WHERE account = $1`, p.Account); {
		case err == nil:
			rule = &r
		case !errors.Is(err, sql.ErrNoRows):
			return err
		}
		o, err := f(&p, rule)
		if err != nil || o.Unchanged {
			return err
		}
		p.UpdatedAt = now.UTC().Truncate(time.Microsecond)
		if err := payments.Update(t, &p, "id; provider_id, state, paid, url, method_title, reason, problem, tries, updated_at, ended_at, due_at"); err != nil {
			return err
		}
		return bring(t, &o, now)
	})
	if s.db.Engine.Duplicate(err) {
		err = fault.New(fault.Conflict, "store.UpdatePayment", "Another payment has this id of the provider.").Because(err)
	}
	return p, err
}

// ClaimPayments is payment.Store.ClaimPayments.
func (s *Payments) ClaimPayments(ctx context.Context, now, until time.Time, n int) ([]payment.Payment, error) {
	ids, err := s.claimDue(ctx, "payments", now, until, n)
	if err != nil {
		return nil, err
	}
	all := make([]payment.Payment, 0, len(ids))
	for _, id := range ids {
		p, err := s.PaymentByID(ctx, id)
		if err != nil {
			return nil, err
		}
		all = append(all, p)
	}
	return all, nil
}

// claimDue takes rows of a table that are due until another time. Two nodes that find the same row due meet at its lock, and the second leaves it.
func (s *Payments) claimDue(ctx context.Context, table string, now, until time.Time, n int) (ids []string, err error) {
	var some bool
	err = s.db.Read(ctx, &some, `SELECT EXISTS (SELECT 1 FROM `+table+` WHERE due_at <= $1)`, now.UnixMicro())
	if err != nil || !some {
		return nil, sqldb.Failure("store.claimDue", err)
	}
	err = s.db.WriteLazily(ctx, func(t *sqldb.Tx) error {
		ids, err = sqldb.All(t, sqldb.Only[string], `UPDATE `+table+` SET due_at = $2 WHERE due_at <= $1 AND id IN (SELECT id FROM `+table+` WHERE due_at <= $1 ORDER BY due_at LIMIT $3) RETURNING id`,
			now.UnixMicro(), until.UnixMicro(), n)
		return err
	})
	return ids, err
}

// ClaimPayment is payment.Store.ClaimPayment.
func (s *Payments) ClaimPayment(ctx context.Context, id string, since, now time.Time) (done bool, err error) {
	changed, err := s.db.ExecLazily(ctx, `UPDATE payments SET looked_at = $3 WHERE id = $1 AND looked_at <= $2`, id, since.UnixMicro(), now.UnixMicro())
	return changed == 1, err
}

// AddRefund is payment.Store.AddRefund.
func (s *Payments) AddRefund(ctx context.Context, f payment.Refund, post ledger.Posting, say func(*payment.Payment) (audit.Event, error)) (done payment.Refund, err error) {
	p, err := s.PaymentByID(ctx, f.Payment)
	if err != nil {
		return done, err
	}
	err = ledgerdb.InWallet(ctx, s.db, p.Wallet, func(t *sqldb.Tx) error {
		switch old, err := refunds.Row(t, `WHERE id = $1`, f.ID); {
		case err == nil && (old.Payment != f.Payment || old.Amount != f.Amount):
			return payment.OtherRefund(&old)
		case err == nil:
			done = old
			return nil
		case !errors.Is(err, sql.ErrNoRows):
			return err
		}
		now, err := payments.Row(t, `WHERE id = $1`, p.ID)
		if err != nil {
			return err
		}
		if now.State != payment.Succeeded || f.Amount > now.Paid-now.Refunded {
			return ledgerdb.Unfit("amount", "Only %s rubles of the payment of %s are left to refund.", now.Paid-now.Refunded, now.Paid)
		}
		e, err := say(&now)
		if err != nil {
			return err
		}
		if err := refunds.Insert(t, &f, "provider", p.Provider); err != nil {
			return err
		}
		done = f
		return bring(t, &payment.Outcome{Post: &post, Events: []audit.Event{e}}, f.CreatedAt)
	})
	if s.db.Engine.Duplicate(err) {
		err = fault.New(fault.Conflict, "store.AddRefund", "Another refund has this id.").Because(err)
	}
	return done, err
}

// RefundByID is payment.Store.RefundByID.
func (s *Payments) RefundByID(ctx context.Context, id string) (f payment.Refund, err error) {
	f, err = refunds.Find(ctx, s.db, `WHERE id = $1`, id)
	return f, sqldb.NoneOf("store.RefundByID", "refund", err)
}

// RefundOf is payment.Store.RefundOf.
func (s *Payments) RefundOf(ctx context.Context, provider, providerID string) (f payment.Refund, err error) {
	f, err = refunds.Find(ctx, s.db, `WHERE provider = $1 AND provider_id = $2`, provider, providerID)
	return f, sqldb.NoneOf("store.RefundOf", "refund", err)
}

// PaymentRefunds lists the refunds of a payment, oldest first.
func (s *Payments) PaymentRefunds(ctx context.Context, id string) ([]payment.Refund, error) {
	return refunds.List(ctx, s.db, "store.PaymentRefunds", `WHERE payment = $1 ORDER BY created_at, id`, id)
}

// UpdateRefund is payment.Store.UpdateRefund.
func (s *Payments) UpdateRefund(ctx context.Context, id string, now time.Time, change func(*payment.Refund, *payment.Payment) (payment.Outcome, error)) (f payment.Refund, err error) {
	known, err := s.RefundByID(ctx, id)
	if err != nil {
		return f, err
	}
	p, err := s.PaymentByID(ctx, known.Payment)
	if err != nil {
		return f, err
	}
	err = ledgerdb.InWallet(ctx, s.db, p.Wallet, func(t *sqldb.Tx) error {
		if f, err = refunds.Row(t, `WHERE id = $1`, id); err != nil {
			return err
		}
		of, err := payments.Row(t, `WHERE id = $1`, p.ID)
		if err != nil {
			return err
		}
		o, err := change(&f, &of)
		if err != nil || o.Unchanged {
			return err
		}
		f.UpdatedAt = now.UTC().Truncate(time.Microsecond)
		if err := refunds.Update(t, &f, "id; provider_id, state, failure, tries, updated_at, due_at"); err != nil {
			return err
		}
		return bring(t, &o, now)
	})
	if s.db.Engine.Duplicate(err) {
		err = fault.New(fault.Conflict, "store.UpdateRefund", "Another refund has this id of the provider.").Because(err)
	}
	return f, err
}

// ClaimRefunds is payment.Store.ClaimRefunds.
func (s *Payments) ClaimRefunds(ctx context.Context, now, until time.Time, n int) ([]payment.Refund, error) {
	ids, err := s.claimDue(ctx, "payment_refunds", now, until, n)
	if err != nil {
		return nil, err
	}
	all := make([]payment.Refund, 0, len(ids))
	for _, id := range ids {
		f, err := s.RefundByID(ctx, id)
		if err != nil {
			return nil, err
		}
		all = append(all, f)
	}
	return all, nil
}

// RuleOf is payment.Store.RuleOf.
func (s *Payments) RuleOf(ctx context.Context, account string) (r payment.Rule, err error) {
	r, err = rules.Find(ctx, s.db, `WHERE account = $1`, account)
	return r, sqldb.NoneOf("store.RuleOf", "consent to automatic top-ups", err)
}

// ChangeRule is payment.Store.ChangeRule.
func (s *Payments) ChangeRule(ctx context.Context, account string, now time.Time, f func(*payment.Rule) (*payment.Rule, audit.Event, error)) error {
	known, err := s.RuleOf(ctx, account)
	if err != nil {
		return err
	}
	return ledgerdb.InWallet(ctx, s.db, known.Wallet, func(t *sqldb.Tx) error {
		r, err := rules.Row(t, `WHERE account = $1`, account)
		if err != nil {
			return sqldb.NoneOf("store.ChangeRule", "consent to automatic top-ups", err)
		}
		next, e, err := f(&r)
		if err != nil {
			return err
		}
		if next == nil {
			_, err = t.Exec(`DELETE FROM payment_rules WHERE account = $1`, account)
		} else {
			err = putRule(t, next)
		}
		if err != nil || e.Action == "" {
			return err
		}
		return auditdb.Record(t, e, now)
	})
}

// DueRules is payment.Store.DueRules.
func (s *Payments) DueRules(ctx context.Context, now time.Time, n int) ([]payment.Rule, error) {
	return sqldb.List(ctx, s.db, "store.DueRules", rules.Scan, `SELECT `+rules.Of("r")+` FROM payment_rules r JOIN wallets w ON w.id = r.wallet JOIN users u ON u.id = r.account
		WHERE r.state = 'active' AND r.due_at <= $1 AND w.credited - w.charged < r.threshold AND NOT u.disabled ORDER BY r.due_at LIMIT $2`, now.UnixMicro(), n)
}

// AutoSum is payment.Store.AutoSum.
func (s *Payments) AutoSum(ctx context.Context, account string, since time.Time) (sum money.Nano, err error) {
	err = s.db.Read(ctx, (*int64)(&sum), autoSum, account, since.UnixMicro())
	return sum, sqldb.Failure("store.AutoSum", err)
}
