package ledgerdb

import (
	"cmp"
	"context"
	"crypto/sha256"
	"database/sql"
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"weir/internal/fault"
	"weir/internal/ledger"
	"weir/internal/money"
	"weir/internal/record"
	"weir/internal/store/sqldb"
)

const (
	// The row of ledger_horizon is locked by the node that drops calls, so that nodes take turns.
	horizonRead = `SELECT before FROM ledger_horizon WHERE one = 1`
	horizonMove = `UPDATE ledger_horizon SET before = $1 WHERE one = 1`

	oldCall    = `g.at < $2 AND NOT EXISTS (SELECT 1 FROM video_jobs j WHERE j.user_id = g.user_id AND j.generation = g.id)`
	oldWallets = `SELECT w.id, EXISTS (SELECT 1 FROM generations g WHERE g.wallet = w.id AND ` + oldCall + `) FROM wallets w WHERE w.id > $1 ORDER BY w.id LIMIT $3`
	oldCalls   = `SELECT ` + storedColumns + ` FROM generations g WHERE g.wallet = $1 AND ` + oldCall + ` ORDER BY g.at, g.id LIMIT $3`
	oldDrop    = `DELETE FROM generations WHERE wallet = $1 AND id = $2`
	refundsIn  = refundsOfWallets + `AND w.account = $1 ORDER BY w.transaction_id`

	sweepAdd  = `INSERT INTO ledger_sweeps (seq, before, calls, settled, rubles, nanos, hours, taxes, sales, funds, tags) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11)`
	sweepsAll = `SELECT seq, before, calls, settled, rubles, nanos, hours, taxes, sales, funds, tags FROM ledger_sweeps ORDER BY seq`
	sweepsAny = `SELECT COUNT(*) FROM (SELECT 1 FROM ledger_sweeps LIMIT 1) s`

	walletsAtOnce = 2000 // that are looked at for old calls
)

// sweep is what remains of the calls that one transaction dropped, in a row that its link of the chain covers.
type sweep struct {
	before         int64 // Unix microseconds: all calls are older
	calls, settled int64
	rubles, nanos  int64 // their costs, in two parts, because an int64 may not hold all sums of them
	hours, taxes   ledger.Digest
	sales          ledger.Digest // zero of calls that were dropped before sales were kept
	funds          ledger.Digest // zero of calls that counted in their keys alone
	tags           ledger.Digest // likewise
}

func (s *sweep) content() [sha256.Size]byte {
	b := []byte("sweep\x00")
	for _, n := range [...]int64{s.before, s.calls, s.settled, s.rubles, s.nanos} {
		b = binary.BigEndian.AppendUint64(b, uint64(n))
	}
	b = append(b, s.hours[:]...)
	if b = append(b, s.taxes[:]...); s.sales != (ledger.Digest{}) {
		b = append(b, s.sales[:]...)
	}
	if s.funds != (ledger.Digest{}) {
		b = append(append(b, "funds\x00"...), s.funds[:]...)
	}
	if s.tags != (ledger.Digest{}) {
		b = append(append(b, "tags\x00"...), s.tags[:]...)
	}
	return sha256.Sum256(b)
}

func (s *sweep) plus(o *sweep) {
	s.before = max(s.before, o.before)
	s.calls, s.settled = s.calls+o.calls, s.settled+o.settled
	s.rubles, s.nanos = s.rubles+o.rubles, s.nanos+o.nanos
	s.hours.Plus(o.hours[:])
	s.taxes.Plus(o.taxes[:])
	s.sales.Plus(o.sales[:])
	s.funds.Plus(o.funds[:])
	s.tags.Plus(o.tags[:])
}

func scanSweep(row sqldb.Scanner) (seq int64, s sweep, err error) {
	var hours, taxes, sales, funds, tags []byte
	err = row.Scan(&seq, &s.before, &s.calls, &s.settled, &s.rubles, &s.nanos, &hours, &taxes, &sales, &funds, &tags)
	copy(s.hours[:], hours)
	copy(s.taxes[:], taxes)
	copy(s.sales[:], sales)
	copy(s.funds[:], funds)
	copy(s.tags[:], tags)
	return seq, s, err
}

// addTo adds the figures of a row to a digest of sums. The time of the last call does not count.
func (h hourKey) addTo(d *ledger.Digest, s *sums) {
	d.AddSums("usage_hourly", []string{strconv.FormatInt(h.hour, 10), h.wallet, h.key, h.user, h.model, h.provider, h.endpoint, h.api, h.result}, sumColumns[:lastAt], s[:lastAt])
}

func (k taxKey) addTo(d *ledger.Digest, s *taxes) {
	d.AddSums("usage_taxes", []string{k.wallet, k.day, k.vat}, taxSums, s[:])
}

// KeptSince is ledger.Sweeper.KeptSince.
func (s *Ledger) KeptSince(ctx context.Context) (time.Time, error) {
	var before int64
	err := s.db.Read(ctx, &before, horizonRead)
	if err != nil || before == 0 {
		return time.Time{}, sqldb.Failure("store.KeptSince", err)
	}
	return time.UnixMicro(before).UTC(), nil
}

// Kept is how much the database keeps.
type Kept struct {
	Calls, Dropped int64     // calls with their details, and those whose details were dropped
	Since          time.Time // before it details were dropped; zero when none were
	Bytes, Free    int64     // of the database, and of them free for new rows
	Tables         int64     // version of the tables
}

// Kept counts by the chain, which has a row for each batch of calls.
func (s *Ledger) Kept(ctx context.Context) (k Kept, err error) {
	err = s.db.Walk(ctx, func(ctx context.Context, q *sql.Tx) error {
		var before int64
		if err := q.QueryRowContext(ctx, `SELECT (SELECT CAST(COALESCE(SUM(calls), 0) AS BIGINT) FROM ledger_chain), (SELECT CAST(COALESCE(SUM(calls), 0) AS BIGINT) FROM ledger_sweeps), before,
			(SELECT CAST(MAX(version_id) AS BIGINT) FROM goose_db_version) FROM ledger_horizon`).
			Scan(&k.Calls, &k.Dropped, &before, &k.Tables); err != nil {
			return err
		}
		if before > 0 {
			k.Since = time.UnixMicro(before).UTC()
		}
		return q.QueryRowContext(ctx, s.db.Engine.Size).Scan(&k.Bytes, &k.Free)
	})
	return k, err
}

// SweepCalls is ledger.Sweeper.SweepCalls. Which wallets have old calls is looked up before the transaction, so that it is short.
func (s *Ledger) SweepCalls(ctx context.Context, before time.Time, after string, n int) (next string, dropped int, err error) {
	var old []string
	type looked struct {
		id  string
		old bool
	}
	wallets, err := sqldb.List(ctx, s.db, "store.SweepCalls", sqldb.Columns(func(l *looked) []any { return []any{&l.id, &l.old} }), oldWallets, after, before.UnixMicro(), int64(walletsAtOnce))
	if err != nil {
		return "", 0, err
	}
	if len(wallets) == walletsAtOnce {
		next = wallets[len(wallets)-1].id
	}
	for _, w := range wallets {
		if w.old {
			old = append(old, w.id)
		}
	}
	if len(old) == 0 {
		return next, 0, nil
	}
	more := ""
	err = s.db.Write(ctx, func(t *sqldb.Tx) error {
		more, dropped, err = dropCalls(t, before.UnixMicro(), after, old, n)
		return err
	})
	if err != nil {
		return "", 0, err
	}
	if s.db.Engine.Shrink != nil {
		if err := s.db.Engine.Shrink(ctx); err != nil {
			return "", dropped, sqldb.Failure("store.SweepCalls", err)
		}
	}
	if more != "" {
		next = more
	}
	if next == "" { // the records had what clients say of themselves
		return "", dropped, s.db.Scrub(ctx)
	}
	return next, dropped, nil
}

// startAgain is what SweepCalls goes on after when the first wallet of all has more calls.
const startAgain = "\x01"

// dropCalls drops at most n calls of the wallets. next is the wallet to go on after when some are left, "" when none are.
func dropCalls(t *sqldb.Tx, before int64, after string, wallets []string, n int) (next string, dropped int, err error) {
	var horizon int64
	if err := t.LockedRow(horizonRead).Scan(&horizon); err != nil {
		return "", 0, err
	}
	if before < horizon { // another node keeps less
		before = horizon
	}
	if _, err := t.Exec(horizonMove, before); err != nil {
		return "", 0, err
	}
	if err := dropResults(t, before); err != nil {
		return "", 0, err
	}
	done := sweep{before: before}
	var link ledger.Link
	hours, vat := map[hourKey]*sums{}, newDayBook(t.Zones)
	funds := map[ledger.Fund]money.Nano{}
	var sortedOnes []sortedCall
	var drop []any
	previous := cmp.Or(after, startAgain)
	for _, w := range wallets {
		if n == len(drop)/2 {
			next = previous
			break
		}
		// A refund of one of its calls is posted before this, and counted, or finds the call gone.
		var locked wallet
		if err := t.LockedRow(walletRead, w).Scan((*int64)(&locked.credited), (*int64)(&locked.charged), (*int64)(&locked.leased)); err != nil {
			return "", 0, err
		}
		calls, err := oldOf(t, w, before, n-len(drop)/2)
		if err != nil {
			return "", 0, err
		}
		back, err := refundsOfWallet(t, w, len(calls))
		if err != nil {
			return "", 0, err
		}
		for i := range calls {
			c := &calls[i].call
			link.Calls--
			link.Digest.Add(w, calls[i].id, calls[i].record)
			hour := at(hours, hourOf(c))
			hour.add(c)
			vat.call(c)
			refunds := back[ledger.RefundAccount+c.Generation]
			given := int64(0)
			for _, r := range refunds {
				given += r.amount
			}
			hour[lastAt-1] += given
			vat.refunds(c, refunds)
			inFunds(c, t.Zones, c.Cost-money.Nano(given), funds)
			if sorted(c) {
				sortedOnes = append(sortedOnes, sortedCall{c, given})
			}
			if done.calls++; c.Settled {
				done.settled++
				done.rubles, done.nanos = done.rubles+int64(c.Cost/money.Ruble), done.nanos+int64(c.Cost%money.Ruble)
			}
			drop = append(drop, w, calls[i].id)
		}
		if len(drop)/2 < n {
			previous = w
		} else {
			next = previous // it may have more
		}
	}
	if len(drop) == 0 {
		return "", 0, nil
	}
	for k, s := range hours {
		k.addTo(&done.hours, s)
	}
	for k, s := range vat.rows {
		k.addTo(&done.taxes, s)
	}
	for k, s := range vat.sales {
		k.addTo(&done.sales, s)
	}
	if err := dropFunds(t, funds, &done.funds); err != nil {
		return "", 0, err
	}
	if err := digestTags(t, sortedOnes, &done.tags); err != nil {
		return "", 0, err
	}
	gone, err := t.ExecEach(oldDrop, 2, drop)
	if err != nil {
		return "", 0, err
	}
	if slices.ContainsFunc(gone, func(n int64) bool { return n != 1 }) {
		return "", 0, fault.New(fault.Conflict, "store.SweepCalls", "Somebody else deleted calls that were to be dropped. Run weir ledger verify.")
	}
	taken := link.Digest
	link.Digest = ledger.Digest{}
	link.Digest.Minus(&taken)
	if err := addLink(t, &link, done.content()); err != nil {
		return "", 0, err
	}
	_, err = t.Exec(sweepAdd, link.Seq, done.before, done.calls, done.settled, done.rubles, done.nanos, done.hours[:], done.taxes[:], done.sales[:], done.funds[:], done.tags[:])
	return next, len(drop) / 2, err
}

// dropFunds notes what calls that are dropped have spent beside their keys: no roll-up has it.
func dropFunds(t *sqldb.Tx, funds map[ledger.Fund]money.Nano, to *ledger.Digest) error {
	var args []any
	for _, f := range inOrder(funds, fundOrder) {
		if n := int64(funds[f]); n != 0 {
			fundTo(to, f, n)
			args = append(args, f.Wallet, f.Key, f.Period.Kind, f.Period.Start, n)
		}
	}
	changed, err := t.ExecEach(keyDropped, 5, args)
	if err == nil && slices.ContainsFunc(changed, func(n int64) bool { return n != 1 }) {
		err = fault.New(fault.Conflict, "store.SweepCalls", "A budget in which a call counts is missing. Run weir ledger verify.")
	}
	return err
}

// sortedCall is a call and what was given back of it.
type sortedCall struct {
	call *record.Call
	back int64
}

// digestTags adds what calls are in tag_usage to a digest.
func digestTags(t *sqldb.Tx, calls []sortedCall, to *ledger.Digest) error {
	var all []tagDay
	for _, r := range calls {
		all = append(all, valuesOf(r.call, t.Zones)...)
	}
	if all == nil {
		return nil
	}
	named, err := namedTags(t, all, false)
	if err != nil {
		return err
	}
	b := newTagBook(t.Zones, named)
	for _, r := range calls {
		s := sums{lastAt - 1: r.back}
		s.add(r.call)
		b.add(r.call, &s)
	}
	for k, s := range b.rows {
		k.addTo(to, s)
	}
	return nil
}

// swept is a call that is dropped.
type swept struct {
	call   record.Call
	id     string
	record []byte
}

// oldOf reads the oldest calls of a wallet. One whose record cannot be read, or differs from its row, is never dropped: it shows what is wrong.
func oldOf(t *sqldb.Tx, wallet string, before int64, n int) ([]swept, error) {
	list, err := sqldb.All(t, scanStored, oldCalls, wallet, before, int64(n))
	if err != nil {
		return nil, err
	}
	all := make([]swept, 0, len(list))
	for i := range list {
		it, rec, err := list[i].read(nil, loadWith(t.Row))
		if err != nil {
			return nil, err
		}
		Tidy(&it.Call)
		if it.Call.Wallet != wallet || it.Call.Generation != list[i].id {
			return nil, fault.Wrap("store.SweepCalls", fmt.Errorf("generation %s has the record of another", list[i].id))
		}
		all = append(all, swept{it.Call, list[i].id, rec})
	}
	return all, nil
}

// refundsOfWallet are the refunds of a wallet, by the account of each call that was refunded.
func refundsOfWallet(t *sqldb.Tx, wallet string, calls int) (map[string][]givenBack, error) {
	if calls == 0 {
		return nil, nil
	}
	type refund struct {
		wallet, against string
		givenBack
	}
	list, err := sqldb.All(t, sqldb.Columns(func(r *refund) []any { return []any{&r.wallet, &r.against, &r.amount, &r.at} }), refundsIn, ledger.WalletAccount+wallet)
	back := map[string][]givenBack{}
	for _, r := range list {
		back[r.against] = append(back[r.against], r.givenBack)
	}
	return back, err
}

// droppedBefore is the beginning of the time from which calls are kept, if that generation is from before it.
func droppedBefore(generation string, before int64) (since string, dropped bool) {
	seconds, _, ok := strings.Cut(strings.TrimPrefix(generation, "gen-"), "-")
	n, err := strconv.ParseInt(seconds, 10, 64)
	if !ok || err != nil || before == 0 || n > before/1_000_000 {
		return "", false
	}
	return time.UnixMicro(before).UTC().Format(time.DateOnly), true
}

// noCall is the error about a generation that is not there.
func noCall(generation string, before int64, cause error) error {
	if since, dropped := droppedBefore(generation, before); dropped {
		return fault.Newf(fault.NotFound, "store.Call", "There is no such generation. Details of calls before %s are no longer kept; their charges are in the statement.", since).Because(cause)
	}
	return fault.New(fault.NotFound, "store.Call", "There is no such generation.").Because(cause)
}

// sweeps reads what remains of the calls that were dropped.
func (c *checker) sweeps() {
	if c.err != nil {
		return
	}
	rows, err := c.tx.QueryContext(c.ctx, sweepsAll)
	type numbered struct {
		seq int64
		sweep
	}
	list, err := sqldb.Collect(rows, err, func(row sqldb.Scanner) (n numbered, err error) {
		n.seq, n.sweep, err = scanSweep(row)
		return n, err
	})
	c.err = err
	for i := range list {
		c.books.sweeps[list[i].seq] = &list[i].sweep
		c.books.swept.plus(&list[i].sweep)
	}
	var filled []byte
	c.one(`SELECT dropped FROM usage_form WHERE one = 1`, &filled)
	if len(filled) > 0 {
		c.books.swept.sales.Plus(filled)
	}
}

// dropped compares the calls that were dropped with their charges, which stay.
func (c *checker) dropped() (wrong []string) {
	s := &c.books.swept
	var n, hi, lo int64
	c.one(checkUnrecordedSum, &n, &hi, &lo)
	has, want := wideOf(-hi, -lo), wideOf(s.rubles, s.nanos)
	if n != s.settled || has.n.Cmp(&want.n) != 0 {
		wrong = append(wrong, fmt.Sprintf("%d charges of %s rubles have no call, and calls with %d charges of %s rubles were dropped", n, has, s.settled, want))
	}
	return wrong
}

// refundOfDropped compares the refund of a call that is not there with its charge.
func (c *checker) refundOfDropped(wallet, generation string, sum *wide) string {
	var charge int64
	err := c.tx.QueryRowContext(c.ctx, `SELECT amount FROM entries WHERE account = $1 AND ref = $2`, ledger.WalletAccount+wallet, ledger.SettleRef+generation).Scan(&charge)
	switch {
	case errors.Is(err, sql.ErrNoRows):
		return fmt.Sprintf("generation %s of wallet %s was refunded %s rubles, but was never charged", generation, wallet, sum)
	case err != nil:
		c.err = err
	case !sum.n.IsInt64() || sum.n.Int64() > -charge:
		return fmt.Sprintf("generation %s was charged %s rubles, and %s were given back", generation, money.Nano(-charge), sum)
	}
	return ""
}
