package ledgerdb

import (
	"context"
	"crypto/sha256"
	"database/sql"
	"errors"

	"weir/internal/ledger"
	"weir/internal/store/sqldb"
)

const (
	// chainLock counts the links in one row, which keeps other writers out until the transaction ends.
	chainLock = `INSERT INTO ledger_head (id, length) VALUES (1, 1) ON CONFLICT (id) DO UPDATE SET length = ledger_head.length + 1`
	chainLast = `SELECT seq, hash FROM ledger_chain ORDER BY seq DESC LIMIT 1`
	chainAdd  = `INSERT INTO ledger_chain (seq, first, last, calls, digest, hash) VALUES ($1, $2, $3, $4, $5, $6)`
	chainAll  = `SELECT seq, first, last, calls, digest, hash FROM ledger_chain ORDER BY seq`
	chainHead = `SELECT COALESCE(SUM(length), 0) FROM ledger_head`
	// posted is all that was posted, in the order in which it is hashed. It begins at the entries, because there is no index of them by
	// transaction, and looks for transactions without entries separately.
	posted = `SELECT t.id, t.kind, t.ref, t.at, t.actor, t.reason, e.account, e.ref, e.line, e.amount FROM entries e JOIN transactions t ON t.id = e.transaction_id
		UNION ALL SELECT t.id, t.kind, t.ref, t.at, t.actor, t.reason, NULL, NULL, NULL, NULL FROM transactions t
		WHERE t.id IN (SELECT id FROM transactions EXCEPT SELECT transaction_id FROM entries) ORDER BY 1, 9, 7, 8`
	recorded = `SELECT ` + storedColumns + ` FROM generations`
	anything = `SELECT (SELECT COUNT(*) FROM (SELECT 1 FROM transactions LIMIT 1) a) + (SELECT COUNT(*) FROM (SELECT 1 FROM generations LIMIT 1) b)`
)

// addLink adds the postings and records of a transaction to the end of the chain. Only the audit chain comes after it: from here to the
// commit no other node can end a transaction that posts, so that little is done under this lock. nil: nothing was posted.
func addLink(t *sqldb.Tx, l *ledger.Link, content [sha256.Size]byte) error {
	if _, err := t.Exec(chainLock); err != nil {
		return err
	}
	var prev string
	l.Seq = 0
	err := t.Row(chainLast).Scan(&l.Seq, &prev)
	if err != nil && !errors.Is(err, sql.ErrNoRows) {
		return err
	}
	l.Seq++
	l.Hash = l.Chain(prev, content)
	_, err = t.Exec(chainAdd, l.Seq, l.First, l.Last, l.Calls, l.Digest[:], l.Hash)
	return err
}

// TakeOver begins the chain of books that were kept before there was one: its first link covers all of them. Engines call it when they open.
func (s *Ledger) TakeOver(ctx context.Context) error {
	none := func(row sqldb.Scanner) (err error) {
		var seq int64
		var hash string
		return row.Scan(&seq, &hash)
	}
	if err := s.db.Find(ctx, none, chainLast); !errors.Is(err, sql.ErrNoRows) {
		return sqldb.Failure("store.TakeOver", err)
	}
	var rows int64
	if err := s.db.Read(ctx, &rows, anything); err != nil || rows == 0 {
		return sqldb.Failure("store.TakeOver", err)
	}
	return s.db.Write(ctx, s.takeOver)
}

func (s *Ledger) takeOver(t *sqldb.Tx) error {
	if s.db.Engine.Unhurried != "" {
		if _, err := t.Exec(s.db.Engine.Unhurried); err != nil {
			return err
		}
	}
	for _, table := range []string{"transactions", "generations"} {
		if err := t.LockTable(table); err != nil {
			return err
		}
	}
	var seq int64
	var hash string
	if err := t.Row(chainLast).Scan(&seq, &hash); !errors.Is(err, sql.ErrNoRows) {
		return err // another node was first
	}
	var l ledger.Link
	var contents [][sha256.Size]byte
	rows, err := t.Rows(posted)
	if err == nil {
		err = eachPosting(rows, func(p *posting) {
			if l.First == 0 {
				l.First = p.id
			}
			l.Last = p.id
			contents = append(contents, p.content().Sum())
		})
	}
	if err != nil {
		return err
	}
	load, err := loadAmong(t.Rows(wordsAll))
	if err != nil {
		return err
	}
	if rows, err = t.Rows(recorded); err != nil {
		return err
	}
	defer func() { _ = rows.Close() }()
	var space []byte
	for rows.Next() {
		r, err := scanStored(rows)
		if err != nil {
			return err
		}
		l.Calls++
		if _, space, err = r.read(space[:0], load); err != nil {
			return err
		}
		l.Digest.Add(r.wallet, r.id, space)
	}
	if err := rows.Err(); err != nil {
		return err
	}
	return addLink(t, &l, together(contents))
}

// together is the content of a link that covers these transactions.
func together(contents [][sha256.Size]byte) (content [sha256.Size]byte) {
	switch len(contents) {
	case 0:
		return content
	case 1:
		return contents[0]
	}
	return ledger.Join(contents)
}

// posting is a transaction with its entries.
type posting struct {
	id, at                   int64
	kind, ref, actor, reason string
	entries                  []postedEntry
}

type postedEntry struct {
	account, ref string
	line, amount int64
}

func (p *posting) content() *ledger.Content {
	c := ledger.NewContent(p.id, p.kind, p.ref, p.at, p.actor, p.reason)
	for i := range p.entries {
		e := &p.entries[i]
		c.Entry(e.account, e.ref, e.line, nano(e.amount))
	}
	return c
}

// eachPosting reads rows of posted, and closes them.
func eachPosting(rows *sql.Rows, f func(*posting)) error {
	defer func() { _ = rows.Close() }()
	var p posting
	began := false
	for rows.Next() {
		var q posting
		var account, ref sql.NullString
		var line, amount sql.NullInt64
		if err := rows.Scan(&q.id, &q.kind, &q.ref, &q.at, &q.actor, &q.reason, &account, &ref, &line, &amount); err != nil {
			return err
		}
		if !began || q.id != p.id {
			if began {
				f(&p)
			}
			q.entries = p.entries[:0]
			p, began = q, true
		}
		if account.Valid {
			p.entries = append(p.entries, postedEntry{account.String, ref.String, line.Int64, amount.Int64})
		}
	}
	if began {
		f(&p)
	}
	return rows.Err()
}
