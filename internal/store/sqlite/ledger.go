package sqlite

import (
	"context"
	"database/sql"
	stdsql "database/sql/driver"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"time"

	"weir/internal/fault"
	"weir/internal/ledger"
	"weir/internal/money"
	"weir/internal/store"
)

var _ ledger.Store = (*Store)(nil)

// insertWallet adds an empty wallet.
func insertWallet(ctx context.Context, tx *sql.Tx, walletID string, now time.Time) error {
	_, err := tx.ExecContext(ctx, store.WalletAdd, walletID, now.UnixMicro())
	return err
}

// hot are the statements that run for each batch or lease. They are prepared once, on the lazy connection.
var hot = []string{
	store.NodeEpoch, store.NodeBeat, store.NodeOthers, store.NodeAdvance,
	store.LeaseFind, store.LeaseAdd, store.LeaseExtend, store.LeaseReturn, store.LeaseConsume, store.LeaseAnswer, store.LeaseRemove,
	store.WalletPot, store.WalletLease, store.WalletCharge, store.KeyPotAdd, store.KeyPot, store.KeyLease, store.KeyCharge,
	store.TransactionAdd, upsertDay, upsertHour,
}

var (
	upsertDay  = store.InsertRows("INSERT INTO usage_daily", slices.Concat(store.DayColumns, store.SumColumns), 1, store.Bare, store.AddSums("usage_daily", store.DayColumns))
	upsertHour = store.InsertRows("INSERT INTO usage_hourly", slices.Concat(store.HourColumns, store.SumColumns), 1, store.Bare, store.AddSums("usage_hourly", store.HourColumns))
)

// many is an INSERT in several sizes: most rows go in by the largest.
type many struct {
	width int
	sizes []int
	texts []string
}

// OR FAIL spares SQLite the journal from which it would undo one statement: an error here undoes the whole transaction.
func insertMany(table string, columns []string) many {
	m := many{width: len(columns), sizes: []int{25, 5, 1}}
	for _, n := range m.sizes {
		m.texts = append(m.texts, positional(store.InsertRows("INSERT OR FAIL INTO "+table, columns, n, store.Bare, "")))
	}
	return m
}

// numbered is a parameter as the shared SQL writes it.
var numbered = regexp.MustCompile(`\$[0-9]+`)

// positional rewrites parameters that are numbered in the order of their use. The driver looks each numbered one up by its name, from
// the start: in an INSERT of many rows that took most of the time.
func positional(text string) string { return numbered.ReplaceAllLiteralString(text, "?") }

var (
	insertGenerations = insertMany("generations", store.GenerationColumns)
	insertEntries     = insertMany("entries", store.EntryColumns)
)

type ledgerStatements struct {
	prepared map[string]*sql.Stmt
	bulk     bulk
}

func (l *ledgerStatements) prepare(ctx context.Context, db *sql.DB) error {
	l.prepared = map[string]*sql.Stmt{}
	for _, text := range hot {
		st, err := db.PrepareContext(ctx, text)
		if err != nil {
			return err
		}
		l.prepared[text] = st
	}
	return nil
}

func (l *ledgerStatements) close(ctx context.Context, db *sql.DB) error {
	for _, st := range l.prepared {
		_ = st.Close()
	}
	if l.prepared == nil {
		return nil
	}
	conn, err := db.Conn(ctx)
	if err != nil {
		return err
	}
	defer func() { _ = conn.Close() }()
	return conn.Raw(func(c any) error { return l.bulk.close(c) })
}

// ledgerTx is a lazy transaction that knows the prepared statements.
type ledgerTx struct {
	*sql.Tx
	ctx   context.Context
	conn  *sql.Conn         // of the transaction
	stmts *ledgerStatements // nil: nothing is prepared
}

func (s *Store) inLedgerTx(ctx context.Context, f func(*ledgerTx) error) error {
	return s.inLazyTx(ctx, func(tx *sql.Tx, conn *sql.Conn) error {
		// as in transact: what has begun is not cut off half-way
		return f(&ledgerTx{tx, context.WithoutCancel(ctx), conn, &s.stmts})
	})
}

// statement is nil for what is not prepared.
func (t *ledgerTx) statement(text string) *sql.Stmt {
	if t.stmts == nil {
		return nil
	}
	return t.stmts.prepared[text]
}

func (t *ledgerTx) exec(text string, args ...any) (changed int64, err error) {
	var r sql.Result
	if st := t.statement(text); st != nil {
		r, err = t.StmtContext(t.ctx, st).ExecContext(t.ctx, args...)
	} else {
		r, err = t.ExecContext(t.ctx, text, args...)
	}
	if err != nil {
		return 0, err
	}
	return r.RowsAffected()
}

func (t *ledgerTx) row(text string, args ...any) *sql.Row {
	if st := t.statement(text); st != nil {
		return t.StmtContext(t.ctx, st).QueryRowContext(t.ctx, args...)
	}
	return t.QueryRowContext(t.ctx, text, args...)
}

// insert puts rows in, each of m.width arguments.
func (t *ledgerTx) insert(m many, args []any) error {
	if t.stmts == nil {
		return m.split(args, func(text string, args []any) error {
			_, err := t.exec(text, args...)
			return err
		})
	}
	return t.conn.Raw(func(c any) error {
		return m.split(args, func(text string, args []any) error { return t.stmts.bulk.exec(t.ctx, c, text, args) })
	})
}

// split cuts args into statements.
func (m *many) split(args []any, exec func(text string, args []any) error) error {
	for i, size := range m.sizes {
		for step := size * m.width; len(args) >= step; args = args[step:] {
			if err := exec(m.texts[i], args[:step]); err != nil {
				return err
			}
		}
	}
	return nil
}

// bulk runs statements on the driver itself, for rows by the thousand: database/sql copies and checks each argument. Its users hold the write lock.
type bulk struct {
	conn     any // what prepared belongs to
	prepared map[string]bulkStatement
	named    []stdsql.NamedValue
}

type bulkStatement interface {
	stdsql.Stmt
	stdsql.StmtExecContext
}

func (b *bulk) exec(ctx context.Context, conn any, text string, args []any) error {
	st, err := b.prepare(ctx, conn, text)
	if err != nil {
		return err
	}
	b.named = b.named[:0]
	for i, a := range args {
		b.named = append(b.named, stdsql.NamedValue{Ordinal: i + 1, Value: a})
	}
	_, err = st.ExecContext(ctx, b.named)
	clear(b.named) // nothing of the rows is kept
	return err
}

func (b *bulk) prepare(ctx context.Context, conn any, text string) (bulkStatement, error) {
	if b.conn != conn { // the pool has made another: the statements went with the former
		b.conn, b.prepared = conn, map[string]bulkStatement{}
	}
	if st := b.prepared[text]; st != nil {
		return st, nil
	}
	preparer, ok := conn.(stdsql.ConnPrepareContext)
	if !ok {
		return nil, fmt.Errorf("%T does not prepare statements", conn)
	}
	made, err := preparer.PrepareContext(ctx, text)
	if err != nil {
		return nil, err
	}
	st, ok := made.(bulkStatement)
	if !ok {
		return nil, errors.Join(fmt.Errorf("%T does not run statements", made), made.Close())
	}
	b.prepared[text] = st
	return st, nil
}

// close ends the statements: with one left open the connection would not really end.
func (b *bulk) close(conn any) error {
	if b.conn != conn {
		return nil
	}
	var errs []error
	for _, st := range b.prepared {
		errs = append(errs, st.Close())
	}
	b.prepared = nil
	b.conn = nil
	return errors.Join(errs...)
}

// Position is ledger.Nodes.Position.
func (s *Store) Position(ctx context.Context, node string) (position int64, err error) {
	err = s.read.QueryRowContext(ctx, store.NodePosition, node).Scan(&position)
	if !errors.Is(err, sql.ErrNoRows) {
		return position, failure("sqlite.Position", err)
	}
	err = s.inTx(ctx, func(tx *sql.Tx) error {
		_, err := tx.ExecContext(ctx, store.NodeAdd, node)
		return err
	})
	return 0, err
}

// Join is ledger.Nodes.Join.
func (s *Store) Join(ctx context.Context, node string, now time.Time) (epoch int64, err error) {
	err = s.inLedgerTx(ctx, func(tx *ledgerTx) error {
		if err := tx.closeLeases(node); err != nil {
			return err
		}
		return tx.row(store.NodeJoin, node, now.UnixMicro()).Scan(&epoch)
	})
	return epoch, err
}

// Leave is ledger.Nodes.Leave.
func (s *Store) Leave(ctx context.Context, node string, epoch int64) error {
	return s.inLedgerTx(ctx, func(tx *ledgerTx) error {
		n, err := tx.exec(store.NodeLeave, node, epoch)
		if err != nil || n == 0 {
			return err
		}
		return tx.closeLeases(node)
	})
}

// Beat is ledger.Nodes.Beat.
func (s *Store) Beat(ctx context.Context, node string, epoch int64, now time.Time) (others []ledger.Node, current bool, err error) {
	err = s.inLedgerTx(ctx, func(tx *ledgerTx) error {
		n, err := tx.exec(store.NodeBeat, node, epoch, now.UnixMicro())
		current = n == 1
		return err
	})
	if err != nil {
		return nil, false, err
	}
	rows, err := s.read.QueryContext(ctx, store.NodeOthers, node)
	if err != nil {
		return nil, current, failure("sqlite.Beat", err)
	}
	others, err = gather(rows, func(n *ledger.Node) []any { return []any{&n.ID, &n.Beat} })
	return others, current, failure("sqlite.Beat", err)
}

// Evict is ledger.Nodes.Evict.
func (s *Store) Evict(ctx context.Context, node string, beat int64) (gone bool, err error) {
	err = s.inLedgerTx(ctx, func(tx *ledgerTx) error {
		n, err := tx.exec(store.NodeEvict, node, beat)
		if err != nil || n == 0 {
			return err
		}
		gone = true
		return tx.closeLeases(node)
	})
	return gone, err
}

// gather reads all rows; fields are where the columns of one go.
func gather[T any](rows *sql.Rows, fields func(*T) []any) (all []T, err error) {
	defer func() { _ = rows.Close() }()
	for rows.Next() {
		var one T
		if err := rows.Scan(fields(&one)...); err != nil {
			return nil, err
		}
		all = append(all, one)
	}
	return all, rows.Err()
}

// leaseRow is what is read of a lease before it changes.
type leaseRow struct {
	pot               ledger.Pot
	id                int64
	granted, consumed money.Nano
}

func (l *leaseRow) left() money.Nano { return max(0, l.granted-l.consumed) }

// closeLeases gives all that is left in a node's leases back and removes them.
func (t *ledgerTx) closeLeases(node string) error {
	rows, err := t.QueryContext(t.ctx, store.LeasesOfNode, node)
	if err != nil {
		return err
	}
	list, err := gather(rows, func(l *leaseRow) []any {
		return []any{&l.pot.Wallet, &l.pot.Key, &l.pot.Period.Kind, &l.pot.Period.Start, &l.id}
	})
	if err != nil {
		return err
	}
	for _, l := range list {
		if err := t.giveBack(node, ledger.Return{Pot: l.pot, Lease: l.id, Close: true}); err != nil {
			return err
		}
	}
	return nil
}

// lease finds a lease; nil when it is gone.
func (t *ledgerTx) lease(node string, id int64, wallet string) (*leaseRow, error) {
	l := leaseRow{pot: ledger.Pot{Wallet: wallet}, id: id}
	err := t.row(store.LeaseFind, node, id, wallet).Scan(&l.pot.Key, &l.pot.Period.Kind, &l.pot.Period.Start, (*int64)(&l.granted), (*int64)(&l.consumed))
	if errors.Is(err, sql.ErrNoRows) {
		return nil, nil
	}
	return &l, err
}

// pot reads what a wallet or a key's limit has left, and its recalls. The pot of a key comes to be when it is first asked.
func (t *ledgerTx) pot(p ledger.Pot, limit money.Nano) (available money.Nano, recall int64, err error) {
	if p.Key == "" {
		err = t.row(store.WalletPot, p.Wallet).Scan((*int64)(&available), &recall)
		if errors.Is(err, sql.ErrNoRows) {
			err = noWallet("sqlite.Borrow", err)
		}
		return available, recall, err
	}
	if _, err := t.exec(store.KeyPotAdd, p.Wallet, p.Key, p.Period.Kind, p.Period.Start); err != nil {
		return 0, 0, err
	}
	var used money.Nano
	err = t.row(store.KeyPot, p.Wallet, p.Key, p.Period.Kind, p.Period.Start).Scan((*int64)(&used), &recall)
	return limit - used, recall, err
}

func noWallet(op string, cause error) error {
	return fault.New(fault.NotFound, op, "There is no such wallet.").Because(cause)
}

// reserve moves n between what a pot has available and what is leased of it.
func (t *ledgerTx) reserve(p ledger.Pot, n money.Nano) (err error) {
	switch {
	case n == 0:
	case p.Key == "":
		_, err = t.exec(store.WalletLease, p.Wallet, int64(n))
	default:
		_, err = t.exec(store.KeyLease, p.Wallet, p.Key, p.Period.Kind, p.Period.Start, int64(n))
	}
	return err
}

// Borrow is ledger.Leases.Borrow.
func (s *Store) Borrow(ctx context.Context, b ledger.Borrow) (g ledger.Grant, err error) {
	err = s.inLedgerTx(ctx, func(tx *ledgerTx) error {
		g, err = tx.borrow(b)
		return err
	})
	return g, err
}

func (t *ledgerTx) borrow(b ledger.Borrow) (g ledger.Grant, err error) {
	var epoch int64
	if err := t.row(store.NodeEpoch, b.Node).Scan(&epoch); err != nil {
		return g, err
	}
	if epoch != b.Epoch {
		return ledger.Grant{Fenced: true}, nil
	}
	available, recall, err := t.pot(b.Pot, b.Limit)
	if err != nil {
		return g, err
	}
	g.Available = available
	old, err := t.lease(b.Node, b.Lease, b.Pot.Wallet)
	if err != nil {
		return g, err
	}
	was := leaseRow{}
	if old != nil {
		was = *old
	}
	after := was
	after.granted += b.Need
	if after.left()-was.left() > available {
		return t.refuse(b, g, recall, old != nil)
	}
	g.Granted = b.Need + spare(b, available-(after.left()-was.left()))
	after.granted = was.granted + g.Granted
	if old == nil {
		_, err = t.exec(store.LeaseAdd, b.Pot.Wallet, b.Pot.Key, b.Pot.Period.Kind, b.Pot.Period.Start, b.Node, b.Lease, b.Epoch, int64(g.Granted), recall, b.Now.UnixMicro())
	} else {
		_, err = t.exec(store.LeaseExtend, b.Node, b.Lease, b.Pot.Wallet, int64(g.Granted))
	}
	if err != nil {
		return g, err
	}
	return g, t.reserve(b.Pot, after.left()-was.left())
}

// spare is how much more than needed is granted: what was wished for while that is little of the rest, and nothing when money is nearly gone.
func spare(b ledger.Borrow, rest money.Nano) money.Nano {
	share := rest / 8
	if share < b.Need {
		return 0
	}
	return max(0, min(b.Want-b.Need, share))
}

func (t *ledgerTx) refuse(b ledger.Borrow, g ledger.Grant, recall int64, has bool) (ledger.Grant, error) {
	p := b.Pot
	if b.Recall {
		recall++
		text, args := store.WalletRecall, []any{p.Wallet}
		if p.Key != "" {
			text, args = store.KeyRecall, []any{p.Wallet, p.Key, p.Period.Kind, p.Period.Start}
		}
		if _, err := t.exec(text, args...); err != nil {
			return g, err
		}
		if has { // nobody recalls from himself
			if _, err := t.exec(store.LeaseAnswer, b.Node, b.Lease, p.Wallet, recall); err != nil {
				return g, err
			}
		}
	}
	err := t.row(store.LeasesElse, p.Wallet, p.Key, p.Period.Kind, p.Period.Start, recall, b.Node).Scan((*int64)(&g.Elsewhere), &g.Unanswered)
	return g, err
}

// Return is ledger.Leases.Return.
func (s *Store) Return(ctx context.Context, node string, rs []ledger.Return) error {
	return s.inLedgerTx(ctx, func(tx *ledgerTx) error {
		for _, r := range rs {
			if err := tx.giveBack(node, r); err != nil {
				return err
			}
		}
		return nil
	})
}

func (t *ledgerTx) giveBack(node string, r ledger.Return) error {
	old, err := t.lease(node, r.Lease, r.Pot.Wallet)
	if err != nil || old == nil {
		return err
	}
	if r.Close {
		if _, err := t.exec(store.LeaseRemove, node, r.Lease, r.Pot.Wallet); err != nil {
			return err
		}
		return t.reserve(old.pot, -old.left())
	}
	_, recall, err := t.pot(old.pot, 0)
	if err != nil {
		return err
	}
	if _, err := t.exec(store.LeaseReturn, node, r.Lease, r.Pot.Wallet, int64(r.Amount), recall); err != nil {
		return err
	}
	after := *old
	after.granted -= r.Amount
	return t.reserve(old.pot, after.left()-old.left())
}

// Recalled is ledger.Leases.Recalled.
func (s *Store) Recalled(ctx context.Context, node string) ([]int64, error) {
	rows, err := s.read.QueryContext(ctx, store.LeasesRecalled, node)
	if err != nil {
		return nil, failure("sqlite.Recalled", err)
	}
	ids, err := gather(rows, func(id *int64) []any { return []any{id} })
	return ids, failure("sqlite.Recalled", err)
}

// Post is ledger.Poster.Post.
func (s *Store) Post(ctx context.Context, p ledger.Posting) (done ledger.Posted, err error) {
	err = s.inTx(ctx, func(tx *sql.Tx) error {
		t := &ledgerTx{Tx: tx, ctx: context.WithoutCancel(ctx)}
		prior, err := t.posted(p)
		if err != nil || prior.Repeated {
			done = prior
			return err
		}
		done.Transaction, err = t.post(p)
		if err != nil {
			return err
		}
		return insertAudit(t.ctx, tx, p.Event, p.At)
	})
	return done, err
}

// posted looks for the posting's reference.
func (t *ledgerTx) posted(p ledger.Posting) (done ledger.Posted, err error) {
	rows, err := t.QueryContext(t.ctx, store.TransactionRef, p.Ref)
	if err != nil {
		return done, err
	}
	list, err := gather(rows, func(e *ledger.Entry) []any { return []any{&e.Transaction, &e.Account, (*int64)(&e.Amount)} })
	if err != nil || len(list) == 0 {
		return done, err
	}
	for _, e := range list {
		if e.Account == ledger.WalletAccount+p.Wallet && e.Amount == p.Amount {
			return ledger.Posted{Transaction: e.Transaction, Repeated: true}, nil
		}
	}
	return done, fault.Newf(fault.Conflict, "sqlite.Post", "%s was posted before, with another wallet or amount.", p.Ref)
}

func (t *ledgerTx) post(p ledger.Posting) (int64, error) {
	var credited, charged, leased money.Nano
	err := t.row(store.WalletRead, p.Wallet).Scan((*int64)(&credited), (*int64)(&charged), (*int64)(&leased))
	if errors.Is(err, sql.ErrNoRows) {
		return 0, noWallet("sqlite.Post", err)
	}
	if err != nil {
		return 0, err
	}
	if _, err := credited.Add(p.Amount); err != nil {
		return 0, fault.New(fault.Unprocessable, "sqlite.Post", "The balance would not fit.").Because(err)
	}
	if available := credited - charged - leased; p.Amount < 0 && available < -p.Amount {
		return 0, fault.Newf(fault.Unprocessable, "sqlite.Post", "Only %s rubles are available.", max(0, available))
	}
	var id int64
	if err := t.row(store.TransactionAdd, p.Kind, p.Ref, p.At.UnixMicro(), p.Event.Name, p.Reason).Scan(&id); err != nil {
		return 0, err
	}
	if _, err := t.exec(store.WalletCredit, p.Wallet, int64(p.Amount)); err != nil {
		return 0, err
	}
	return id, t.insert(insertEntries, []any{ledger.WalletAccount + p.Wallet, p.Ref, id, int64(0), int64(p.Amount), p.Against, p.Ref, id, int64(1), int64(-p.Amount)})
}
