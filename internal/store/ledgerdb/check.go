package ledgerdb

import (
	"context"
	"database/sql"
	"fmt"
	"math"
	"math/big"
	"slices"
	"strings"
	"time"

	"weir/internal/account"
	"weir/internal/audit"
	"weir/internal/fault"
	"weir/internal/ledger"
	"weir/internal/money"
	"weir/internal/store/auditdb"
	"weir/internal/store/sqldb"
)

// Checks is ledger.Auditor.Checks: all of it sees one moment of the database.
func (s *Ledger) Checks(ctx context.Context, noted ledger.Anchor, done func(ledger.Check)) (checks []ledger.Check, end ledger.Anchor, err error) {
	return s.ChecksBy(ctx, noted, 20_000, done)
}

// ChecksBy is Checks that holds about so many calls and rows of a roll-up in memory at once. The result is the same for any number above 0.
func (s *Ledger) ChecksBy(ctx context.Context, noted ledger.Anchor, rows int, done func(ledger.Check)) (checks []ledger.Check, end ledger.Anchor, err error) {
	guards, unknown := s.guards(ctx)
	err = s.db.Walk(ctx, func(ctx context.Context, q *sql.Tx) error {
		z, err := sqldb.ReadZones(q.QueryContext(ctx, sqldb.ZonesAll)) //nolint:rowserrcheck // ReadZones asks for it
		if err != nil {
			return err
		}
		c := checker{ctx: ctx, tx: q, books: newBooks(), rows: rows, zones: z, done: done}
		c.sweeps()
		c.entries()
		c.wallets()
		c.leases()
		c.generations()
		c.asides()
		c.jobs()
		c.requests()
		c.records()
		c.chain(noted)
		c.audit()
		c.owners()
		c.postings()
		c.triggers(s.db.Engine.Triggers, guards, unknown)
		checks, end = c.checks, c.end
		return c.err
	})
	return checks, end, err
}

// checker collects checks until the first error of the database.
type checker struct {
	ctx    context.Context
	tx     *sql.Tx
	checks []ledger.Check
	err    error

	books *books
	rows  int // how many are compared at once, about
	zones sqldb.Zones
	end   ledger.Anchor
	done  func(ledger.Check) // hears of each check as it ends; may be nil
}

func (c *checker) add(name string, wrong []string, right string, args ...any) {
	k := ledger.Check{Name: name, OK: len(wrong) == 0, Detail: fmt.Sprintf(right, args...)}
	if !k.OK {
		k.Detail = strings.Join(wrong, "; ")
	}
	c.checks = append(c.checks, k)
	if c.done != nil && c.err == nil {
		c.done(k)
	}
}

func (c *checker) one(text string, to ...any) {
	if c.err == nil {
		c.err = c.tx.QueryRowContext(c.ctx, text).Scan(to...)
	}
}

// wrong runs a query that lists errors, and describes each row in words.
func (c *checker) wrong(words, text string) (found []string) {
	c.each(text, func(values []any) { found = append(found, fmt.Sprintf(words, values...)) })
	return found
}

func (c *checker) each(text string, f func(values []any), args ...any) {
	if c.err != nil {
		return
	}
	rows, err := c.tx.QueryContext(c.ctx, text, args...)
	if err != nil {
		c.err = err
		return
	}
	defer func() { _ = rows.Close() }()
	names, err := rows.Columns()
	if err != nil {
		c.err = err
		return
	}
	values, to := make([]any, len(names)), make([]any, len(names))
	for i := range values {
		to[i] = &values[i]
	}
	for rows.Next() {
		if c.err = rows.Scan(to...); c.err != nil {
			return
		}
		f(values)
	}
	c.err = rows.Err()
}

func (c *checker) leases() {
	var wrong differences
	left := map[ledger.Fund]*wide{}
	c.each(checkLeases, func(v []any) {
		p := fundOf(v)
		if p.Key == "" {
			p = ledger.Fund{Wallet: p.Wallet}
		}
		granted, _ := v[5].(int64)
		consumed, _ := v[6].(int64)
		var rest wide
		rest.add(granted)
		rest.take(consumed)
		if rest.n.Sign() > 0 {
			of(left, p).n.Add(&of(left, p).n, &rest.n)
		}
		if job, ok := strings.CutPrefix(text(v[4]), ledger.EscrowOwner); ok && p.Key == "" {
			of(c.books.escrows, escrow{job, p.Wallet}).n.Add(&of(c.books.escrows, escrow{job, p.Wallet}).n, &rest.n)
		}
	})
	c.each(checkWalletLeased, func(v []any) {
		leased, _ := v[1].(int64)
		if rest := found(left, ledger.Fund{Wallet: text(v[0])}); !rest.is(leased) {
			wrong.add(fmt.Sprintf("wallet %s has %s leased, its leases have %s left", text(v[0]), money.Nano(leased), rest))
		}
	})
	c.each(checkKeyLeased, func(v []any) {
		leased, _ := v[4].(int64)
		if rest := found(left, fundOf(v)); !rest.is(leased) {
			wrong.add(fmt.Sprintf("key %s has %s leased, its leases have %s left", text(v[1]), money.Nano(leased), rest))
		}
	})
	wrong = append(wrong, c.wrong("lease %[2]d of wallet %[3]s belongs to node %[1]s, which no longer has it", checkStrayLeases)...)
	wrong = append(wrong, c.wrong("lease %[2]d of node %[1]s is of a wallet or key that does not exist: %[3]s", checkLostLeases)...)
	c.add("leases", wrong, "what is leased is what the leases have left")
}

func (c *checker) generations() {
	var n, settled, hi, lo int64
	c.one(checkCounts, &n, &settled, &hi, &lo)
	cost := wideOf(hi, lo)
	wrong := c.wrong("generation %s has no entry, a wrong one, or one that it should not have", checkUncharged)
	if c.books.swept.calls == 0 {
		wrong = append(wrong, c.wrong("entry %s has no generation", checkUnrecorded)...)
	} else {
		wrong = append(wrong, c.dropped()...)
	}
	c.add("settlements", wrong, "%d calls, of which %d were settled, each with one entry: %s rubles", n, settled, cost)
	if s := &c.books.swept; s.calls > 0 {
		c.checks[len(c.checks)-1].Detail += fmt.Sprintf("; %d calls before %s were dropped, and the charges of %d stay: %s rubles", s.calls, time.UnixMicro(s.before).UTC().Format(time.DateOnly), s.settled, wideOf(s.rubles, s.nanos))
	}
}

var (
	selectGenerations = selectAll(generations.Name, generations.Columns)
	generationsAfter  = selectGenerations + " WHERE (wallet, at) >= ($1, $2) AND (wallet, at, id) > ($1, $2, $3) ORDER BY wallet, at, id LIMIT $4"
	selectHours       = selectAll("usage_hourly", hourColumns, sumColumns)
	selectDays        = selectAll("usage_daily", dayColumns, sumColumns)
	selectGroups      = selectAll("usage_groups", groupColumns, sumColumns)
)

func selectAll(table string, columns ...[]string) string {
	return "SELECT " + strings.Join(slices.Concat(columns...), ", ") + " FROM " + table
}

// asides counts the charges that wait for somebody's decision.
func (c *checker) asides() {
	var n int64
	c.one(asideCount, &n)
	var wrong []string
	if n > 0 {
		wrong = append(wrong, fmt.Sprintf("%d records could not be posted, and their calls are not charged; see: weir ledger aside list", n))
	}
	c.add("set aside", wrong, "nothing waits for a decision")
}

// records compares each call's columns with its record, and what follows from all records: charges, refunds, batches and roll-ups.
func (c *checker) records() {
	var wrong, off, over, batches differences
	n, charged := 0, 0
	load := c.words()
	use := newUsage(c)
	var space []byte
	c.calls(func(row []any) {
		n++
		r := storedIn(row)
		it, rec, err := r.read(space[:0], load)
		if err != nil {
			rec = append(rec[:0], r.packed...) // which is none
		}
		space = rec
		c.books.calls++
		c.books.digest.Add(r.wallet, r.id, rec)
		call, w := r.agrees(&it, err)
		if w != "" {
			wrong.add(w)
		}
		if call != nil {
			began, _ := row[2].(int64)
			use.move(r.wallet, began)
			if w := use.add(call); w != "" {
				over.add(w)
			}
			if w := c.books.request(call); w != "" {
				batches.add(w)
			}
			if call.Settled {
				charged++
			}
			if w := ledger.Recompute(call); w != "" {
				off.add("generation " + call.Generation + ": " + w)
			}
		}
	})
	c.add("records", wrong, "%d calls agree with their records", n)
	c.batches(batches)
	c.add("charges", off, "%d charges follow from their lines, quantities and prices", charged)
	c.refunds(over)
	use.end()
}

// mostPage bounds how many calls are read at once.
const mostPage = 1000

// calls reads all calls by wallet and time, in pages: the roll-ups are read between them, and not all databases answer a second query before
// the first is done.
func (c *checker) calls(f func(row []any)) {
	wallet, at, id := "", int64(math.MinInt64), ""
	pageRows := min(c.rows, mostPage)
	for c.err == nil {
		page := make([][]any, 0, pageRows)
		c.each(generationsAfter, func(row []any) { page = append(page, slices.Clone(row)) }, wallet, at, id, pageRows)
		for _, row := range page {
			f(row)
			wallet, id = text(row[0]), text(row[1])
			at, _ = row[2].(int64)
		}
		if len(page) < pageRows {
			return
		}
	}
}

// refunds reports what is wrong with refunds, and looks at those whose calls did not come by.
func (c *checker) refunds(over differences) {
	var back wide
	for k, r := range c.books.refunds {
		back.n.Add(&back.n, &r.sum.n)
		if !r.call {
			wallet, generation, _ := strings.Cut(k, "\x00")
			if c.books.swept.calls > 0 {
				if w := c.refundOfDropped(wallet, generation, &r.sum); w != "" {
					over.add(w)
				}
				continue
			}
			over.add(fmt.Sprintf("generation %s of wallet %s was refunded %s rubles, but does not exist", generation, wallet, &r.sum))
		}
	}
	c.add("refunds", over, "%d charges were refunded, none by more than the charge: %s rubles", len(c.books.refunds), &back)
}

// storedIn is the record in a row of generations.
func storedIn(row []any) stored {
	packed, _ := row[13].([]byte)
	details, _ := row[14].([]byte)
	if s, is := row[14].(string); is {
		details = []byte(s)
	}
	n := func(i int) int64 { n, _ := row[i].(int64); return n }
	return stored{wallet: text(row[0]), id: text(row[1]), at: n(2), user: text(row[3]), key: text(row[4]), api: text(row[5]), model: text(row[6]), provider: text(row[7]),
		status: n(8), error: text(row[9]), cancelled: n(10), settled: n(11), cost: n(12), packed: packed, details: details}
}

func (c *checker) words() func(id int64) ([]byte, error) {
	if c.err != nil {
		return nil
	}
	rows, err := c.tx.QueryContext(c.ctx, wordsAll)
	load, err := loadAmong(rows, err)
	c.err = err
	return load
}

// fundOf reads a row that begins with wallet, key, period and start.
func fundOf(v []any) ledger.Fund {
	start, _ := v[3].(int64)
	return ledger.Fund{Wallet: text(v[0]), Key: text(v[1]), Period: ledger.Period{Kind: text(v[2]), Start: start}}
}

// of is the sum of k, which is made at the first use.
func of[K comparable](sums map[K]*wide, k K) *wide {
	w := sums[k]
	if w == nil {
		w = &wide{}
		sums[k] = w
	}
	return w
}

// found is the sum of k, or zero: most wallets and keys have none, and there may be millions.
func found[K comparable](sums map[K]*wide, k K) *wide {
	if w := sums[k]; w != nil {
		return w
	}
	return &wide{}
}

func text(v any) string { s, _ := v.(string); return s }

func sumsOf(values []any) (s sums) {
	for i := range s {
		s[i], _ = values[i].(int64)
	}
	return s
}

// audit walks the audit chain.
func (c *checker) audit() {
	if c.err != nil {
		return
	}
	n, err := audit.Verify(c.books.reported(auditdb.All(c.ctx, c.tx)))
	var broken []string
	if fault.Is(err, fault.Conflict) {
		broken, err = append(broken, fault.From(err).Public), nil
	}
	c.err = err
	c.add("audit chain", broken, "%d rows, each with the hash of the one before", n)
}

// owners compares the wallet of each user with the one that the audit row of their beginning names: two that were exchanged still add up.
func (c *checker) owners() {
	var wrong differences
	n := 0
	c.each(`SELECT u.id, u.wallet, a.after FROM users u JOIN audit a ON a.target = u.id AND a.action = $1 ORDER BY u.id`, func(values []any) {
		after, _ := values[2].(string)
		_, wallet, named := strings.Cut(after, account.WithWallet)
		if !named {
			return // an event of a test, or of a version that did not name it
		}
		if n++; wallet != values[1] {
			wrong.add(fmt.Sprintf("user %v has wallet %v, and began with %s", values[0], values[1], wallet))
		}
	}, audit.UserCreated)
	c.add("wallets' owners", wrong, "%d users have the wallet with which they began", n)
}

// differences are the first places where figures differ.
type differences []string

func (d *differences) add(s string) {
	if len(*d) < 5 {
		*d = append(*d, s)
	}
}

func compare[T comparable](d *differences, what any, got, want T) {
	if got != want {
		d.add(fmt.Sprintf("%v has %v, the calls say %v", what, got, want))
	}
}

// jobs compares jobs with their leases, with their records and with the places of their users.
func (c *checker) jobs() {
	var n int64
	c.one(checkJobCount, &n)
	var wrong differences
	var held wide
	active := 0
	c.each(checkEscrows, func(v []any) {
		active++
		hold, _ := v[2].(int64)
		held.add(hold)
		if rest := of(c.books.escrows, escrow{text(v[0]), text(v[1])}); !rest.is(hold) {
			wrong.add(fmt.Sprintf("video job %s has %s held, its escrow %s", text(v[0]), money.Nano(hold), rest))
		}
	})
	wrong = append(wrong, c.wrong("escrow %s belongs to no active video job", checkStrayEscrows)...)
	wrong = append(wrong, c.wrong("video job %s is %s, its record says otherwise", checkJobEnds)...)
	wrong = append(wrong, c.wrong("video job %s and the places of its user do not agree", checkSlots)...)
	c.add("video jobs", wrong, "%d jobs, of which %d hold %s rubles in escrow; the others were settled or voided once", n, active, &held)
}

const checkEscrows = `SELECT id, wallet, hold FROM video_jobs WHERE ended = ''`

const checkStrayEscrows = `SELECT l.node FROM leases l WHERE substr(l.node, 1, 4) = 'job:'
	AND NOT EXISTS (SELECT 1 FROM video_jobs j WHERE 'job:' || j.id = l.node AND j.wallet = l.wallet AND j.ended = '') LIMIT 5`

const checkJobEnds = `SELECT j.id, j.ended FROM video_jobs j LEFT JOIN generations g ON g.wallet = j.wallet AND g.id = j.generation
	WHERE (j.ended = '' AND g.id IS NOT NULL) OR (j.ended <> '' AND g.id IS NULL
		AND NOT EXISTS (SELECT 1 FROM set_aside a WHERE a.node = 'job:' || j.id AND a.state <> 'posted')) OR (j.ended = 'settled' AND (g.settled = 0 OR g.cost <> j.cost))
	OR (j.ended = 'voided' AND (g.settled = 1 OR j.cost <> 0)) LIMIT 5`

const checkSlots = `SELECT j.id FROM video_jobs j WHERE (j.ended = '') <> EXISTS (SELECT 1 FROM video_slots s WHERE s.job = j.id AND s.user_id = j.user_id)
	UNION ALL SELECT s.job FROM video_slots s WHERE NOT EXISTS (SELECT 1 FROM video_jobs j WHERE j.id = s.job) LIMIT 5`

const checkJobCount = `SELECT COUNT(*) FROM video_jobs`

// Totals adds up all entries by kind of account. It reads all of them, and no writer waits for it.
func (s *Ledger) Totals(ctx context.Context) (out ledger.Totals, err error) {
	err = s.db.Walk(ctx, func(ctx context.Context, q *sql.Tx) error {
		rows, err := q.QueryContext(ctx, totalsOfEntries)
		if err != nil {
			return err
		}
		defer func() { _ = rows.Close() }()
		var sum wide
		for rows.Next() {
			var kind string
			var entries, rubles, nano int64 // apart: sums of nano-rubles may be past an integer on the way
			if err := rows.Scan(&kind, &entries, &rubles, &nano); err != nil {
				return err
			}
			var all wide
			all.n.Mul(big.NewInt(rubles), big.NewInt(1e9))
			all.add(nano)
			sum.n.Add(&sum.n, &all.n)
			out.Entries += entries
			out.Kinds = append(out.Kinds, ledger.TotalOf{Account: kind, Entries: entries, Amount: all.String()})
		}
		out.Sum = sum.String()
		return rows.Err()
	})
	return out, err
}

// An account is its kind, but for those of wallets and refunds, of which there are many.
const totalsOfEntries = `SELECT kind, COUNT(*), CAST(COALESCE(SUM(amount / 1000000000), 0) AS BIGINT), CAST(COALESCE(SUM(amount % 1000000000), 0) AS BIGINT)
	FROM (SELECT CASE WHEN substr(account, 1, 7) = 'wallet:' THEN 'wallet' WHEN substr(account, 1, 7) = 'refund:' THEN 'refund' ELSE account END AS kind, amount FROM entries) AS e
	GROUP BY kind ORDER BY kind`
