package store

import (
	"context"
	"database/sql"
	"encoding/binary"
	"errors"
	"sync"
	"time"

	"weir/internal/fault"
	"weir/internal/ledger"
	"weir/internal/record"
	"weir/internal/store/compact"
)

const (
	// storedColumns are what a record is read with: the row's texts, to which it refers.
	storedColumns = `wallet, id, user_id, key_id, api, model, provider, record`

	wordsRead   = `SELECT words FROM record_words WHERE id = $1`
	wordsNewest = `SELECT id, words FROM record_words ORDER BY id DESC LIMIT 1`
	wordsAll    = `SELECT id, words FROM record_words ORDER BY id`
	wordsAdd    = `INSERT INTO record_words (words, at) VALUES ($1, $2) RETURNING id`

	samplesToLearn = 64
	learnEvery     = time.Hour
	// New words must make records smaller by 7 %, or the old ones stay.
	worthOld, worthNew = 93, 100

	wordsInMemory = 64
)

// stored is the record of a call as its row has it.
type stored struct {
	wallet, id, user, key, api, model, provider string
	record                                      []byte
}

// into are where the columns of storedColumns go.
func (r *stored) into() []any {
	return []any{&r.wallet, &r.id, &r.user, &r.key, &r.api, &r.model, &r.provider, &r.record}
}

func scanStored(row Scanner) (r stored, err error) {
	err = row.Scan(r.into()...)
	return r, err
}

// names are the texts of a row, each after its length and in the order in which records have them, so that long parts of both are the same.
func (r *stored) names(to []byte) []byte {
	for _, s := range [...]string{r.id, r.user, r.wallet, r.key, r.api, r.model, r.provider} {
		to = append(binary.AppendUvarint(to, uint64(len(s))), s...)
	}
	return to
}

func storedOf(c *record.Call) stored {
	return stored{wallet: c.Wallet, id: c.Generation, user: c.User, key: c.Key, api: c.API, model: c.Model, provider: c.Provider}
}

// packer packs the records of a batch.
type packer struct {
	words *compact.Words
	names []byte
	space []byte // some of the packed records
}

// packSpace is the room that records of a batch have together: room for all of them would grow with each, and leave the smaller ones behind.
const packSpace = 16 << 10

func (p *packer) pack(c *record.Call, rec []byte) []byte {
	row := storedOf(c)
	p.names = row.names(p.names[:0])
	if cap(p.space)-len(p.space) < len(rec) {
		p.space = make([]byte, 0, max(packSpace, len(rec)))
	}
	begin := len(p.space)
	p.space = p.words.Append(p.space, p.names, rec)
	return p.space[begin:len(p.space):len(p.space)]
}

// wordbook has the words that records refer to, and learns better ones from the records of batches.
type wordbook struct {
	mu      sync.Mutex
	known   map[int64]*compact.Words
	current *compact.Words // that new records are packed with; nil: not asked for yet
	samples []compact.Sample
	learned time.Time // when words were learned last, or found not to be worth it
}

// plainWords are the built-in ones.
var plainWords = sync.OnceValue(func() *compact.Words { return compact.New(0, nil) })

// get returns words by their number; load reads them when they are not known yet.
func (b *wordbook) get(id int64, load func() ([]byte, error)) (*compact.Words, error) {
	if id == 0 {
		return plainWords(), nil
	}
	b.mu.Lock()
	w := b.known[id]
	b.mu.Unlock()
	if w != nil {
		return w, nil
	}
	text, err := load()
	if err != nil {
		return nil, err
	}
	return b.add(id, text), nil
}

func (b *wordbook) add(id int64, text []byte) *compact.Words {
	w := compact.New(id, text)
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.known == nil {
		b.known = map[int64]*compact.Words{}
	}
	for k := range b.known {
		if len(b.known) < wordsInMemory {
			break
		}
		delete(b.known, k)
	}
	b.known[id] = w
	return w
}

// expand gives the record in the form of the journal, whose copy it is if it was not packed. load reads words by their number.
func (b *wordbook) expand(r *stored, load func(id int64) ([]byte, error)) ([]byte, error) {
	id, packed := compact.Packed(r.record)
	if !packed {
		return r.record, nil
	}
	w, err := b.get(id, func() ([]byte, error) { return load(id) })
	if err != nil {
		return nil, failure("store.Record", err)
	}
	rec, err := w.Expand(nil, r.names(nil), r.record)
	if err != nil {
		return nil, fault.Wrap("store.Record", err)
	}
	return rec, nil
}

func (b *wordbook) item(r *stored, load func(id int64) ([]byte, error)) (ledger.Item, error) {
	rec, err := b.expand(r, load)
	if err != nil {
		return ledger.Item{}, err
	}
	return ledger.DecodeItem(rec)
}

// querier is a database, or a transaction in which no other rows are being read.
type querier interface {
	QueryRowContext(ctx context.Context, text string, args ...any) *sql.Row
	QueryContext(ctx context.Context, text string, args ...any) (*sql.Rows, error)
}

func loadWith(ctx context.Context, q querier) func(id int64) ([]byte, error) {
	return func(id int64) (text []byte, err error) {
		err = q.QueryRowContext(ctx, wordsRead, id).Scan(&text)
		return text, err
	}
}

// item reads a record outside of transactions.
func (s *Store) item(ctx context.Context, r *stored) (ledger.Item, error) {
	return s.words.item(r, loadWith(ctx, s.engine.Read))
}

// item reads a record while no other rows are being read.
func (t *tx) item(r *stored) (ledger.Item, error) {
	return t.words.item(r, func(id int64) (text []byte, err error) {
		err = t.row(wordsRead, id).Scan(&text)
		return text, err
	})
}

// allWords reads all words, for a walk through all records.
func allWords(rows *sql.Rows, err error) (map[int64]*compact.Words, error) {
	type text struct {
		id    int64
		words []byte
	}
	all, err := collect(rows, err, columns(func(w *text) []any { return []any{&w.id, &w.words} }))
	words := map[int64]*compact.Words{0: plainWords()}
	for _, w := range all {
		words[w.id] = compact.New(w.id, w.words)
	}
	return words, err
}

// expandAmong is wordbook.expand with words that are all known.
func expandAmong(words map[int64]*compact.Words, r *stored, to []byte) ([]byte, error) {
	id, packed := compact.Packed(r.record)
	if !packed {
		return r.record, nil
	}
	w := words[id]
	if w == nil {
		return nil, fault.Newf(fault.Internal, "store.Record", "The words %d of a record are missing.", id)
	}
	return w.Expand(to, r.names(nil), r.record)
}

// packing returns the words for new records: the newest, or the built-in ones while the database does not answer.
func (s *Store) packing(ctx context.Context) *compact.Words {
	b := &s.words
	b.mu.Lock()
	w := b.current
	b.mu.Unlock()
	if w != nil {
		return w
	}
	w = plainWords()
	var id int64
	var text []byte
	err := s.find(ctx, func(row Scanner) error { return row.Scan(&id, &text) }, wordsNewest)
	switch {
	case err == nil:
		w = b.add(id, text)
	case !errors.Is(err, sql.ErrNoRows):
		return w
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.current = w
	return w
}

// learn takes samples of a batch, and stores better words when there are enough of them. What fails is tried again an hour later: records
// are packed with the words there are.
func (s *Store) learn(ctx context.Context, items []ledger.Recorded) {
	b, now := &s.words, s.now()
	b.mu.Lock()
	if len(items) == 0 || b.current == nil || !b.learned.IsZero() && now.Sub(b.learned) < learnEvery {
		b.mu.Unlock()
		return
	}
	for i := 0; i < len(items) && len(b.samples) < samplesToLearn; i += max(1, len(items)/4) {
		row := storedOf(&items[i].Call)
		b.samples = append(b.samples, compact.Sample{Names: row.names(nil), Record: append([]byte(nil), items[i].Record...)})
	}
	if len(b.samples) < samplesToLearn {
		b.mu.Unlock()
		return
	}
	samples, old := b.samples, b.current
	b.samples, b.learned = nil, now
	b.mu.Unlock()

	text := plainWords().Learn(samples, compact.MostWords)
	better := compact.New(0, text)
	before, after := 0, 0
	var space []byte
	for _, x := range samples {
		space = old.Append(space[:0], x.Names, x.Record)
		before += len(space)
		space = better.Append(space[:0], x.Names, x.Record)
		after += len(space)
	}
	if after*worthNew > before*worthOld {
		return
	}
	var id int64
	if err := s.writeLazily(ctx, func(t *tx) error { return t.row(wordsAdd, text, now.UnixMicro()).Scan(&id) }); err != nil {
		return
	}
	w := b.add(id, text)
	b.mu.Lock()
	defer b.mu.Unlock()
	b.current = w
}
