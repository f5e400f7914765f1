package ledgerdb

import (
	"context"
	"maps"
	"math/big"
	"slices"
	"strings"
	"time"

	"weir/internal/audit"
	"weir/internal/rawjson"
	"weir/internal/reconcile"
	"weir/internal/store/auditdb"
	"weir/internal/store/sqldb"
)

var _ reconcile.Store = (*Ledger)(nil)

var reconciliations = sqldb.Map[reconcile.Kept, struct {
	ID, Provider, Actor string
	At                  time.Time
	Head, Body          string
}]("reconciliations",
	sqldb.Encoded("head", headOf, func(k *reconcile.Kept, text string) error { readHead(k, text); return nil }),
	sqldb.Encoded("body", bodyOf, func(k *reconcile.Kept, text string) error { readBody(&k.Result, text); return nil }))

var reconciliationHeads = strings.Replace(reconciliations.Select, "body", "''", 1)

// AddReconciliation is reconcile.Store.AddReconciliation.
func (s *Ledger) AddReconciliation(ctx context.Context, k *reconcile.Kept, e audit.Event) error {
	return auditdb.Write(ctx, s.db, e, k.At, func(t *sqldb.Tx) error { return reconciliations.Insert(t, k) })
}

// ReconciliationByID is reconcile.Store.ReconciliationByID.
func (s *Ledger) ReconciliationByID(ctx context.Context, id string) (reconcile.Kept, error) {
	k, err := reconciliations.Find(ctx, s.db, `WHERE id = $1`, id)
	return k, sqldb.NoneOf("store.ReconciliationByID", "reconciliation", err)
}

// Reconciliations is reconcile.Store.Reconciliations.
func (s *Ledger) Reconciliations(ctx context.Context, before string, limit int) ([]reconcile.Kept, error) {
	at, id := int64(1)<<62, ""
	if before != "" {
		last, err := s.ReconciliationByID(ctx, before)
		if err != nil {
			return nil, err
		}
		at, id = last.At.UnixMicro(), last.ID
	}
	return sqldb.List(ctx, s.db, "store.Reconciliations", reconciliations.Scan, reconciliationHeads+`WHERE at < $1 OR at = $1 AND id < $2 ORDER BY at DESC, id DESC LIMIT $3`, at, id, limit)
}

// DeleteReconciliation is reconcile.Store.DeleteReconciliation.
func (s *Ledger) DeleteReconciliation(ctx context.Context, id string, now time.Time, e audit.Event) error {
	return auditdb.Write(ctx, s.db, e, now, func(t *sqldb.Tx) error {
		return sqldb.NoneOf("store.DeleteReconciliation", "reconciliation", t.One(`DELETE FROM reconciliations WHERE id = $1`, id))
	})
}

var settled = sqldb.Map[reconcile.Settlement, struct {
	Provider, Mark string
	Outcome        reconcile.Outcome
	Reason, Actor  string
	At             time.Time
}]("settled_differences")

// Settlements is reconcile.Store.Settlements.
func (s *Ledger) Settlements(ctx context.Context, provider string) (map[string]reconcile.Settlement, error) {
	list, err := sqldb.List(ctx, s.db, "store.Settlements", settled.Scan, settled.Select+`WHERE provider = $1`, provider)
	all := make(map[string]reconcile.Settlement, len(list))
	for _, x := range list {
		all[x.Mark] = x
	}
	return all, err
}

const unsettle = `DELETE FROM settled_differences WHERE provider = $1 AND mark = $2`

// SettleDifference is reconcile.Store.SettleDifference.
func (s *Ledger) SettleDifference(ctx context.Context, x *reconcile.Settlement, e audit.Event) error {
	return auditdb.Write(ctx, s.db, e, x.At, func(t *sqldb.Tx) error {
		if _, err := t.Exec(unsettle, x.Provider, x.Mark); err != nil {
			return err
		}
		return settled.Insert(t, x)
	})
}

// ReopenDifference is reconcile.Store.ReopenDifference.
func (s *Ledger) ReopenDifference(ctx context.Context, provider, mark string, now time.Time, e audit.Event) error {
	return auditdb.Write(ctx, s.db, e, now, func(t *sqldb.Tx) error {
		return sqldb.NoneOf("store.ReopenDifference", "decision", t.One(unsettle, provider, mark))
	})
}

// BilledKeys is reconcile.Store.BilledKeys.
func (s *Ledger) BilledKeys(ctx context.Context, provider string) (map[string]string, error) {
	list, err := sqldb.List(ctx, s.db, "store.BilledKeys", func(row sqldb.Scanner) (x [2]string, err error) { return x, row.Scan(&x[0], &x[1]) },
		`SELECT name, tag FROM billed_keys WHERE provider = $1`, provider)
	all := make(map[string]string, len(list))
	for _, x := range list {
		all[x[0]] = x[1]
	}
	return all, err
}

// NameBilledKeys is reconcile.Store.NameBilledKeys.
func (s *Ledger) NameBilledKeys(ctx context.Context, provider string, names map[string]string, now time.Time, e audit.Event) error {
	return auditdb.Write(ctx, s.db, e, now, func(t *sqldb.Tx) error {
		for _, name := range slices.Sorted(maps.Keys(names)) {
			if _, err := t.Exec(`DELETE FROM billed_keys WHERE provider = $1 AND name = $2`, provider, name); err != nil {
				return err
			}
			if names[name] == "" {
				continue
			}
			if _, err := t.Exec(`INSERT INTO billed_keys (provider, name, tag) VALUES ($1, $2, $3)`, provider, name, names[name]); err != nil {
				return err
			}
		}
		return nil
	})
}

func headOf(k *reconcile.Kept) string {
	var w rawjson.Writer
	r := &k.Result
	w.Object()
	w.Name("files").Array()
	for _, f := range k.Files {
		w.Array()
		w.Text(f.Name)
		w.Text(f.Format)
		w.Text(f.Sum)
		w.Int(int64(f.Bytes))
		w.Int(int64(f.Rows))
		w.EndArray()
	}
	w.EndArray()
	if k.Keys != nil {
		w.Name("keys").Texts(k.Keys)
	}
	w.Name("more").Bool(k.More)
	w.Name("first").Text(r.First)
	w.Name("last").Text(r.Last)
	w.Name("by_call").Bool(r.ByCall)
	w.Name("by_model").Bool(r.ByModel)
	if r.ByKey {
		w.Name("by_key").Bool(true)
	}
	w.Name("rows").Int(int64(r.Rows))
	w.Name("calls").Int(int64(r.Calls))
	w.Name("theirs")
	writeFigures(&w, &r.Theirs)
	w.Name("ours")
	writeFigures(&w, &r.Ours)
	w.Name("sums").Array()
	for i := range r.Sums {
		s := &r.Sums[i]
		w.Array()
		w.Text(string(s.Kind))
		w.Int(int64(s.Differences))
		w.Int(s.Calls)
		writeDelta(&w, &s.Delta)
		w.EndArray()
	}
	w.EndArray()
	w.EndObject()
	return string(w.B)
}

func readHead(k *reconcile.Kept, text string) {
	v, r := []byte(text), &k.Result
	flag := func(name string) bool { is, _ := rawjson.Bool(rawjson.Find(v, name)); return is }
	for e := rawjson.ElementsOf(rawjson.Find(v, "files")); e.Next(); {
		f := elements(e.Value)
		k.Files = append(k.Files, reconcile.KeptFile{Name: f.text(), Format: f.text(), Sum: f.text(), Bytes: int(f.int()), Rows: int(f.int())})
	}
	if keys := rawjson.Find(v, "keys"); keys != nil {
		k.Keys = texts(keys)
	}
	k.More, r.ByCall, r.ByModel, r.ByKey = flag("more"), flag("by_call"), flag("by_model"), flag("by_key")
	r.First, r.Last = rawjson.TextAt(v, "first"), rawjson.TextAt(v, "last")
	rows, _ := rawjson.Int(rawjson.Find(v, "rows"))
	calls, _ := rawjson.Int(rawjson.Find(v, "calls"))
	r.Rows, r.Calls = int(rows), int(calls)
	r.Theirs, r.Ours = readFigures(rawjson.Find(v, "theirs")), readFigures(rawjson.Find(v, "ours"))
	for e := rawjson.ElementsOf(rawjson.Find(v, "sums")); e.Next(); {
		f := elements(e.Value)
		r.Sums = append(r.Sums, reconcile.Sum{Kind: reconcile.Kind(f.text()), Differences: int(f.int()), Calls: f.int(), Delta: readDelta(f.next())})
	}
}

func bodyOf(k *reconcile.Kept) string {
	var w rawjson.Writer
	w.Object()
	w.Name("groups").Array()
	for i := range k.Result.Groups {
		g := &k.Result.Groups[i]
		w.Array()
		w.Text(g.Day)
		w.Text(g.Model)
		writeFigures(&w, &g.Theirs)
		writeFigures(&w, &g.Ours)
		w.Text(g.Key)
		w.EndArray()
	}
	w.EndArray()
	w.Name("differences").Array()
	for i := range k.Result.Differences {
		d := &k.Result.Differences[i]
		w.Array()
		for _, text := range [...]string{string(d.Kind), d.Day, d.Model, d.Place, d.Answer} {
			w.Text(text)
		}
		writeFigures(&w, &d.Theirs)
		writeFigures(&w, &d.Ours)
		w.Int(d.N)
		writeDelta(&w, &d.Delta)
		w.Texts(d.Calls)
		w.Int(int64(d.More))
		w.Text(d.Key)
		w.EndArray()
	}
	w.EndArray()
	w.EndObject()
	return string(w.B)
}

func readBody(r *reconcile.Result, text string) {
	v := []byte(text)
	for e := rawjson.ElementsOf(rawjson.Find(v, "groups")); e.Next(); {
		f := elements(e.Value)
		r.Groups = append(r.Groups, reconcile.Group{Day: f.text(), Model: f.text(), Theirs: readFigures(f.next()), Ours: readFigures(f.next()), Key: f.text()})
	}
	for e := rawjson.ElementsOf(rawjson.Find(v, "differences")); e.Next(); {
		f := elements(e.Value)
		r.Differences = append(r.Differences, reconcile.Difference{
			Kind: reconcile.Kind(f.text()), Day: f.text(), Model: f.text(), Place: f.text(), Answer: f.text(), Theirs: readFigures(f.next()), Ours: readFigures(f.next()),
			N: f.int(), Delta: readDelta(f.next()), Calls: texts(f.next()), More: int(f.int()), Key: f.text(),
		})
	}
}

// fields are the values of an array, one after another.
type fields struct{ rawjson.Elements }

func elements(v []byte) *fields { return &fields{rawjson.ElementsOf(v)} }

func (f *fields) next() []byte {
	if f.Next() {
		return f.Value
	}
	return nil
}

func (f *fields) text() string { return rawjson.Text(f.next()) }

func (f *fields) int() int64 {
	n, _ := rawjson.Int(f.next())
	return n
}

func texts(v []byte) (all []string) {
	for e := rawjson.ElementsOf(v); e.Next(); {
		all = append(all, rawjson.Text(e.Value))
	}
	return all
}

func writeFigures(w *rawjson.Writer, f *reconcile.Figures) {
	writeFour(w, f.Calls, f.Prompt, f.Completion, f.Dollars)
}

func writeDelta(w *rawjson.Writer, d *reconcile.Delta) {
	writeFour(w, d.Calls, d.Prompt, d.Completion, d.Dollars)
}

// writeFour writes an array. Dollars are a fraction, which is exact.
func writeFour(w *rawjson.Writer, calls, prompt, completion int64, dollars *big.Rat) {
	w.Array()
	w.Int(calls)
	w.Int(prompt)
	w.Int(completion)
	if dollars != nil {
		w.Text(dollars.RatString())
	}
	w.EndArray()
}

func readFigures(v []byte) reconcile.Figures {
	return reconcile.Figures(readDelta(v))
}

func readDelta(v []byte) (d reconcile.Delta) {
	f := elements(v)
	d.Calls, d.Prompt, d.Completion = f.int(), f.int(), f.int()
	if text := f.text(); text != "" {
		d.Dollars, _ = new(big.Rat).SetString(text)
	}
	return d
}
