package ledgerdb

import (
	"context"
	"database/sql"
	"encoding/binary"
	"errors"
	"time"

	"weir/internal/fault"
	"weir/internal/ledger"
	"weir/internal/money"
	"weir/internal/record"
	"weir/internal/store/compact"
	"weir/internal/store/sqldb"
)

const (
	// storedColumns are the columns of a call. Each thing is kept once: details have what the other columns have not.
	storedColumns = `wallet, id, at, user_id, key_id, api, model, provider, status, error, cancelled, settled, cost, record, details`

	wordsRead = `SELECT words FROM record_words WHERE id = $1`
	wordsAll  = `SELECT id, words FROM record_words`

	// Rows of older versions have a packed record and no details.
	packedCalls = `SELECT ` + storedColumns + ` FROM generations WHERE details IS NULL AND (wallet, id) > ($1, $2) ORDER BY wallet, id LIMIT $3`
	unpackCall  = `UPDATE generations SET details = $3, record = substr(record, 1, 0) WHERE wallet = $1 AND id = $2 AND details IS NULL`
)

// stored is a row of a call.
type stored struct {
	wallet, id                      string
	at                              int64 // microseconds
	user, key, api, model, provider string
	status                          int64
	error                           string
	cancelled, settled, cost        int64
	packed                          []byte // of rows without details
	details                         []byte
}

// into are where the columns of storedColumns go.
func (r *stored) into() []any {
	return []any{&r.wallet, &r.id, &r.at, &r.user, &r.key, &r.api, &r.model, &r.provider, &r.status, &r.error, &r.cancelled, &r.settled, &r.cost, &r.packed, &r.details}
}

// call is what the columns have of a call.
func (r *stored) call() record.Call {
	return record.Call{Wallet: r.wallet, Generation: r.id, At: time.UnixMicro(r.at).UTC(), User: r.user, Key: r.key, API: r.api, Model: r.model, Provider: r.provider,
		Status: int(r.status), Error: r.error, Cancelled: r.cancelled != 0, Settled: r.settled != 0, Cost: money.Nano(r.cost)}
}

func scanStored(row sqldb.Scanner) (r stored, err error) {
	err = row.Scan(r.into()...)
	return r, err
}

// names are the texts of a row, each after its length and in the order in which packed records refer to them.
func (r *stored) names(to []byte) []byte {
	for _, s := range [...]string{r.id, r.user, r.wallet, r.key, r.api, r.model, r.provider} {
		to = append(binary.AppendUvarint(to, uint64(len(s))), s...)
	}
	return to
}

// read returns the call of a row, and the bytes that the journal had of it, which may be in space. load finds the words of a packed record.
func (r *stored) read(space []byte, load func(id int64) ([]byte, error)) (it ledger.Item, rec []byte, err error) {
	if r.details != nil {
		return r.readDetails(space)
	}
	if rec, err = r.unpack(space, load); err == nil {
		it, err = ledger.DecodeItem(rec)
	}
	return it, rec, err
}

func (r *stored) unpack(space []byte, load func(id int64) ([]byte, error)) ([]byte, error) {
	id, packed := compact.Packed(r.packed)
	if !packed {
		return r.packed, nil
	}
	var text []byte
	if id != 0 {
		var err error
		if text, err = load(id); err != nil {
			return nil, sqldb.Failure("store.Record", err)
		}
	}
	rec, err := compact.New(id, text).Expand(space, r.names(nil), r.packed)
	if err != nil {
		return nil, fault.Wrap("store.Record", err)
	}
	return rec, nil
}

// loadWith reads words while no other rows are being read.
func loadWith(row func(text string, args ...any) sqldb.Scanner) func(id int64) ([]byte, error) {
	return func(id int64) (text []byte, err error) {
		err = row(wordsRead, id).Scan(&text)
		return text, err
	}
}

// rowOf asks a database, or a transaction that only reads.
func rowOf(ctx context.Context, q interface {
	QueryRowContext(ctx context.Context, text string, args ...any) *sql.Row
}) func(text string, args ...any) sqldb.Scanner {
	return func(text string, args ...any) sqldb.Scanner { return q.QueryRowContext(ctx, text, args...) }
}

// loadAmong reads all words, for a walk through all records.
func loadAmong(rows *sql.Rows, err error) (func(id int64) ([]byte, error), error) {
	type words struct {
		id   int64
		text []byte
	}
	all, err := sqldb.Collect(rows, err, sqldb.Columns(func(w *words) []any { return []any{&w.id, &w.text} }))
	byID := map[int64][]byte{}
	for _, w := range all {
		byID[w.id] = w.text
	}
	return func(id int64) ([]byte, error) {
		text, known := byID[id]
		if !known {
			return nil, sql.ErrNoRows
		}
		return text, nil
	}, err
}

// Unpacked is where UnpackCalls goes on; the zero value is the beginning.
type Unpacked struct{ wallet, id string }

// UnpackCalls gives details to at most n rows that have none yet, those after a place, in one transaction, and returns the place after them and how
// many it changed. more is false when there are no further ones. It may be cut off anywhere and begun again: what is done stays. Rows whose record
// cannot be read, or is that of another call, stay as they are, and weir ledger verify names them.
func (s *Ledger) UnpackCalls(ctx context.Context, after Unpacked, n int) (next Unpacked, changed int, more bool, err error) {
	if none, err := s.unpacked(ctx); err != nil || none {
		return after, 0, false, err
	}
	err = s.db.Write(ctx, func(t *sqldb.Tx) error {
		next, changed, more = after, 0, false
		var horizon int64 // taken by what drops calls, too: both change rows of calls
		if err := t.LockedRow(horizonRead).Scan(&horizon); err != nil {
			return err
		}
		list, err := sqldb.All(t, scanStored, packedCalls, after.wallet, after.id, int64(n))
		if err != nil || len(list) == 0 {
			return err
		}
		var d detailer
		var args []any
		for i := range list {
			r := &list[i]
			it, rec, err := r.read(nil, loadWith(t.Row))
			if fault.Is(err, fault.StorageUnavailable) {
				return err
			}
			if _, wrong := r.agrees(&it, err); wrong == "" {
				args = append(args, r.wallet, r.id, d.details(&it, rec))
			}
		}
		done, err := t.ExecEach(unpackCall, 3, args)
		changed = len(done)
		last := &list[len(list)-1]
		next, more = Unpacked{last.wallet, last.id}, len(list) == n
		return err
	})
	return next, changed, more, err
}

// unpacked reports whether all calls have details, without a transaction.
func (s *Ledger) unpacked(ctx context.Context) (bool, error) {
	var one int
	err := s.db.Read(ctx, &one, `SELECT 1 FROM generations WHERE details IS NULL LIMIT 1`)
	if errors.Is(err, sql.ErrNoRows) {
		return true, nil
	}
	return false, sqldb.Failure("store.UnpackCalls", err)
}
