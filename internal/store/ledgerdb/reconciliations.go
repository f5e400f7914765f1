package ledgerdb

import (
	"context"
	"math/big"
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
	k.More, r.ByCall, r.ByModel = flag("more"), flag("by_call"), flag("by_model")
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
		r.Groups = append(r.Groups, reconcile.Group{Day: f.text(), Model: f.text(), Theirs: readFigures(f.next()), Ours: readFigures(f.next())})
	}
	for e := rawjson.ElementsOf(rawjson.Find(v, "differences")); e.Next(); {
		f := elements(e.Value)
		r.Differences = append(r.Differences, reconcile.Difference{
			Kind: reconcile.Kind(f.text()), Day: f.text(), Model: f.text(), Place: f.text(), Answer: f.text(), Theirs: readFigures(f.next()), Ours: readFigures(f.next()),
			N: f.int(), Delta: readDelta(f.next()), Calls: texts(f.next()), More: int(f.int()),
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
