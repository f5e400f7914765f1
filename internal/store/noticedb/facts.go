package noticedb

import (
	"cmp"
	"context"
	"slices"
	"strconv"
	"time"

	"weir/internal/money"
	"weir/internal/notify"
	"weir/internal/rawjson"
	"weir/internal/store/sqldb"
)

// keptFact is a fact as it is stored.
type keptFact struct {
	notify.Fact
	FoundAt  time.Time
	GoneAt   int64 // microseconds; 0 while it holds
	Mail     bool
	Reported bool // by mail or by a webhook, or never
}

var facts = sqldb.Map[keptFact, struct {
	Kind                 notify.Kind
	Ref, Name, Tag       string
	Episode              string
	At                   time.Time `db:",null"`
	Amount, Spent, Usual money.Nano
	Percent, GoneAt      int64
	Days                 int
	Reset                string `db:"reset_by"`
	Grown                string
	FoundAt              time.Time
	Mail, Reported       bool
}]("notify_facts", sqldb.Encoded("grown", encodeGrown, decodeGrown))

// encodeGrown writes what grew as a JSON list, "" for nothing.
func encodeGrown(k *keptFact) string {
	if len(k.Grown) == 0 {
		return ""
	}
	b := []byte{'['}
	for i, g := range k.Grown {
		if i > 0 {
			b = append(b, ',')
		}
		b = rawjson.AppendText(append(b, `{"by":`...), string(g.By))
		b = rawjson.AppendText(append(b, `,"ref":`...), g.Ref)
		b = rawjson.AppendText(append(b, `,"name":`...), g.Name)
		b = strconv.AppendInt(append(b, `,"spent":`...), int64(g.Spent), 10)
		b = append(strconv.AppendInt(append(b, `,"usual":`...), int64(g.Usual), 10), '}')
	}
	return string(append(b, ']'))
}

func decodeGrown(k *keptFact, text string) error {
	for e := rawjson.ElementsOf([]byte(text)); e.Next(); {
		spent, _ := rawjson.Int(rawjson.Find(e.Value, "spent"))
		usual, _ := rawjson.Int(rawjson.Find(e.Value, "usual"))
		k.Grown = append(k.Grown, notify.Growth{
			By: notify.GrowthBy(rawjson.TextAt(e.Value, "by")), Ref: rawjson.TextAt(e.Value, "ref"), Name: rawjson.TextAt(e.Value, "name"), Spent: money.Nano(spent), Usual: money.Nano(usual),
		})
	}
	return nil
}

// factChanges are the columns of a fact that change while it holds, factReports those of how it is reported: a mail that ends changes these, too.
var (
	factChanges = []string{"name", "tag", "amount", "spent", "usual", "percent", "days", "gone_at"}
	factReports = []string{"mail", "reported"}
)

// EnrolAccounts is notify.FactStore.EnrolAccounts.
func (s *Notices) EnrolAccounts(ctx context.Context, now time.Time) error {
	var some bool
	const missing = `FROM users u WHERE NOT EXISTS (SELECT 1 FROM notify_accounts a WHERE a.account = u.id)`
	err := s.db.Read(ctx, &some, `SELECT EXISTS (SELECT 1 `+missing+`)`)
	if err != nil || !some {
		return sqldb.Failure("store.EnrolAccounts", err)
	}
	_, err = s.db.Exec(ctx, `INSERT INTO notify_accounts (account, since, next_at) SELECT u.id, CAST($1 AS BIGINT), CAST($1 AS BIGINT) `+missing+` ON CONFLICT (account) DO NOTHING`, now.UnixMicro())
	return err
}

// ClaimChecks is notify.FactStore.ClaimChecks. A claim is the next time of the check: a node that dies with it delays the check, and no more.
func (s *Notices) ClaimChecks(ctx context.Context, now, next time.Time, n int) (all []notify.Enrolled, err error) {
	var some bool
	err = s.db.Read(ctx, &some, `SELECT EXISTS (SELECT 1 FROM notify_accounts WHERE next_at <= $1)`, now.UnixMicro())
	if err != nil || !some {
		return nil, sqldb.Failure("store.ClaimChecks", err)
	}
	type claimed struct {
		notify.Enrolled
		disabled bool
	}
	var found []claimed
	err = s.db.Write(ctx, func(t *sqldb.Tx) error {
		rows, err := t.Rows(`UPDATE notify_accounts SET next_at = $2
			WHERE next_at <= $1 AND account IN (SELECT account FROM notify_accounts WHERE next_at <= $1 ORDER BY next_at, account LIMIT $3)
			RETURNING account, since, (SELECT wallet FROM users u WHERE u.id = account), (SELECT disabled FROM users u WHERE u.id = account)`,
			now.UnixMicro(), next.UnixMicro(), n)
		found, err = sqldb.Collect(rows, err, func(row sqldb.Scanner) (c claimed, err error) {
			var since int64
			err = row.Scan(&c.ID, &since, &c.Wallet, &c.disabled)
			c.Since = time.UnixMicro(since).UTC()
			return c, err
		})
		return err
	})
	for i := range found {
		if !found[i].disabled {
			all = append(all, found[i].Enrolled)
		}
	}
	slices.SortFunc(all, func(a, b notify.Enrolled) int { return cmp.Compare(a.ID, b.ID) })
	return all, err
}

// MoneyFacts is notify.FactStore.MoneyFacts.
func (s *Notices) MoneyFacts(ctx context.Context, account string, since time.Time, n int) ([]notify.Fact, error) {
	return sqldb.List(ctx, s.db, "store.MoneyFacts", func(row sqldb.Scanner) (f notify.Fact, err error) {
		var at int64
		err = row.Scan(&f.Kind, &f.Ref, (*int64)(&f.Amount), &at, &f.Reset)
		f.At, f.Days = time.UnixMicro(at).UTC(), -1
		return f, err
	}, `SELECT kind, ref, amount, at, why FROM (
		SELECT 'payment_received' AS kind, id AS ref, paid AS amount, ended_at AS at, '' AS why FROM payments WHERE account = $1 AND state = 'succeeded' AND ended_at >= $2
		UNION ALL SELECT 'top_up_failed', id, amount, ended_at, reason FROM payments WHERE account = $1 AND auto AND state = 'canceled' AND ended_at >= $2
		UNION ALL SELECT 'payment_refunded', f.id, f.amount, f.updated_at, '' FROM payment_refunds f JOIN payments p ON p.id = f.payment
			WHERE p.account = $1 AND f.state = 'succeeded' AND f.updated_at >= $2
		UNION ALL SELECT 'payment_received', x.key, x.credited, x.at, '' FROM invoice_transfers x JOIN invoices i ON i.id = x.invoice
			WHERE i.account = $1 AND x.credited > 0 AND x.at >= $2) m ORDER BY at DESC, kind, ref LIMIT $3`, account, since.UnixMicro(), n)
}

// factDiff is what must be written so that the kept states of an account are those that were found.
type factDiff struct {
	fresh  []*notify.Fact
	change []keptFact
	late   []keptFact // of change, which are reported now
	drop   []string   // before fresh is kept
}

func (d *factDiff) empty() bool { return len(d.fresh)+len(d.change)+len(d.late)+len(d.drop) == 0 }

// reporting says how a fact is reported.
type reporting = func(*notify.Fact) notify.Reporting

func diffFacts(kept []keptFact, found []notify.Fact, how reporting, now, over time.Time) (d factDiff) {
	byID := map[string]*keptFact{}
	for i := range kept {
		byID[kept[i].ID()] = &kept[i]
	}
	holds := map[string]bool{}
	for i := range found {
		f := &found[i]
		id := f.ID()
		if holds[id] {
			continue
		}
		holds[id] = true
		k := byID[id]
		switch {
		case k == nil:
			d.fresh = append(d.fresh, f)
		case k.GoneAt != 0 && k.GoneAt < over.UnixMicro(): // another occasion, though nothing in it differs
			d.drop, d.fresh = append(d.drop, id), append(d.fresh, f)
		default:
			d.holds(k, f, how)
		}
	}
	for i := range kept {
		if k := &kept[i]; !holds[k.ID()] && !k.Happened() && k.GoneAt == 0 {
			change := *k
			change.GoneAt = now.UnixMicro()
			d.change = append(d.change, change)
		}
	}
	d.bound(kept, holds)
	return d
}

// holds has a fact that is kept, and was found again, changed to what was found. One that was not reported is, where that was switched on since.
func (d *factDiff) holds(k *keptFact, f *notify.Fact, how reporting) {
	change := *k
	change.Fact, change.GoneAt = *f, 0
	if !k.Reported {
		if by := how(f); by.Mail || by.Hook != nil {
			d.late = append(d.late, change)
			return
		}
	}
	if k.GoneAt != 0 || !f.Happened() && !sameFigures(&k.Fact, f) {
		d.change = append(d.change, change)
	}
}

// bound drops what is over, the oldest first, where an account has more than it may keep.
func (d *factDiff) bound(kept []keptFact, holds map[string]bool) {
	spare := len(kept) + len(d.fresh) - len(d.drop) - notify.MostKept
	if spare <= 0 {
		return
	}
	byAge := slices.SortedFunc(slices.Values(kept), func(a, b keptFact) int { return a.FoundAt.Compare(b.FoundAt) })
	for i := range byAge {
		k := &byAge[i]
		if spare > 0 && !holds[k.ID()] && (k.GoneAt != 0 || k.Happened() && !k.Mail) {
			d.drop = append(d.drop, k.ID())
			spare--
		}
	}
}

func sameFigures(a, b *notify.Fact) bool {
	return a.Name == b.Name && a.Tag == b.Tag && a.Amount == b.Amount && a.Spent == b.Spent && a.Usual == b.Usual && a.Percent == b.Percent && a.Days == b.Days
}

// NoteFacts is notify.FactStore.NoteFacts. Most of the time nothing has changed, which a read without a transaction finds out.
func (s *Notices) NoteFacts(ctx context.Context, account string, found []notify.Fact, how func(*notify.Fact) notify.Reporting, now, over time.Time) (fresh int, err error) {
	kept, err := facts.List(ctx, s.db, "store.NoteFacts", `WHERE account = $1`, account)
	if err != nil {
		return 0, err
	}
	if d := diffFacts(kept, found, how, now, over); d.empty() {
		return 0, nil
	}
	err = s.db.Write(ctx, func(t *sqldb.Tx) error {
		fresh = 0
		var locked string // so that checks of an account take turns
		if err := t.LockedRow(`SELECT account FROM notify_accounts WHERE account = $1`, account).Scan(&locked); err != nil {
			return sqldb.NoneOf("store.NoteFacts", "account", err)
		}
		kept, err := facts.Rows(t, `WHERE account = $1`, account)
		if err != nil {
			return err
		}
		d := diffFacts(kept, found, how, now, over)
		if d.empty() {
			return nil
		}
		fresh = len(d.fresh)
		if err := noteFacts(t, account, &d, how, now); err != nil {
			return err
		}
		return changed(t, account)
	})
	return fresh, err
}

func noteFacts(t *sqldb.Tx, account string, d *factDiff, how reporting, now time.Time) error {
	for _, id := range d.drop {
		if _, err := t.Exec(`DELETE FROM notify_facts WHERE account = $1 AND id = $2`, account, id); err != nil {
			return err
		}
	}
	for _, f := range d.fresh {
		by := how(f)
		kept := keptFact{Fact: *f, FoundAt: now, Mail: by.Mail, Reported: f.Happened() || by.Mail || by.Hook != nil}
		if err := facts.Insert(t, &kept, "account", account, "cause", string(f.Kind.Cause()), "id", f.ID()); err != nil {
			return err
		}
		if err := tell(t, account, f, by, now); err != nil {
			return err
		}
	}
	for i := range d.late {
		k := &d.late[i]
		by := how(&k.Fact)
		k.Mail, k.Reported = by.Mail, true
		if err := changeFact(t, account, k, slices.Concat(factChanges, factReports)); err != nil {
			return err
		}
		if err := tell(t, account, &k.Fact, by, now); err != nil {
			return err
		}
	}
	for i := range d.change {
		k := &d.change[i]
		if err := changeFact(t, account, k, factChanges); err != nil {
			return err
		}
		if k.GoneAt == 0 && k.Mail {
			if err := await(t, account, k.Kind.Cause(), now); err != nil {
				return err
			}
		}
	}
	return nil
}

func changeFact(t *sqldb.Tx, account string, k *keptFact, columns []string) error {
	args := append([]any{account, k.ID()}, facts.Args(k, columns...)...)
	_, err := t.Exec(`UPDATE notify_facts SET `+sqldb.Equal(columns, ", ", 3)+` WHERE account = $1 AND id = $2`, args...)
	return err
}

// tell reports a fact by the channels that it is reported by.
func tell(t *sqldb.Tx, account string, f *notify.Fact, by notify.Reporting, now time.Time) error {
	if by.Hook != nil {
		if err := InsertDelivery(t, *by.Hook); err != nil {
			return err
		}
	}
	if !by.Mail {
		return nil
	}
	return await(t, account, f.Kind.Cause(), now)
}

// await has a mail of a cause wait, until the day after the last one when there was one.
func await(t *sqldb.Tx, account string, cause notify.Cause, now time.Time) error {
	_, err := t.Exec(`INSERT INTO notify_mails AS m (account, cause, waiting, next_at, leased_until, attempts, fence) VALUES ($1, $2, $3, $4, 0, 0, 0)
		ON CONFLICT (account, cause) DO UPDATE SET waiting = excluded.waiting`, account, string(cause), true, now.UnixMicro())
	return err
}

// SweepFacts is notify.FactStore.SweepFacts.
func (s *Notices) SweepFacts(ctx context.Context, before time.Time, n int) (gone int, err error) {
	changed, err := s.db.Exec(ctx, `DELETE FROM notify_facts WHERE (account, id) IN (SELECT account, id FROM notify_facts
		WHERE found_at < $1 AND (NOT mail AND kind IN ('payment_received', 'payment_refunded', 'top_up_failed', 'unusual_spending', 'cache_rate_fell') OR gone_at > 0 AND gone_at < $1) ORDER BY found_at LIMIT $2)`, before.UnixMicro(), n)
	return int(changed), err
}
