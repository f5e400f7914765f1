package reconcile

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"math/big"
	"slices"
	"strconv"
	"strings"
	"time"

	"weir/internal/apikey"
	"weir/internal/audit"
	"weir/internal/fault"
	"weir/internal/money"
	"weir/internal/report"
)

// Bounds of what is compared at once and kept.
const (
	MaxFiles = 4
	MaxBytes = 16 << 20 // of all files that are uploaded together

	mostDifferences = 1000 // kept, the largest ones
	mostGroups      = 2000
	pageOfCalls     = 1000
)

// Upload is a file that somebody gives.
type Upload struct {
	Name    string
	Content []byte
}

// File is what was read of a file.
type File struct {
	Format  string
	Service string // "openai", "anthropic" or "openrouter": whose export this is, "" when the file does not say
	Rows    []Row
	More    bool // the provider says that further pages follow

	Header []string          // the names of the columns of a table
	Chosen map[string]string // which of them are read, by what they are read as; several are added up
}

// Reader reads files. Read fails with fault.Invalid, which names the place. Columns fails where a table cannot be read at all.
type Reader interface {
	Read(b []byte, columns map[string]string) (File, error)
	// Columns are the header of a table, and the columns that are read without a choice; none for other files.
	Columns(b []byte) (header []string, chosen map[string]string, err error)
}

// Calls reads the calls of the gateway.
type Calls interface {
	SearchAll(ctx context.Context, s report.Search, most int) (report.Window, error)
	KeptSince(ctx context.Context) (time.Time, error)
}

// Store keeps comparisons. Kept ones are listed without groups and differences.
type Store interface {
	AddReconciliation(ctx context.Context, k *Kept, e audit.Event) error
	// Reconciliations are those before one, the newest first. It fails with fault.NotFound, and ReconciliationByID and DeleteReconciliation do likewise.
	Reconciliations(ctx context.Context, before string, limit int) ([]Kept, error)
	ReconciliationByID(ctx context.Context, id string) (Kept, error)
	DeleteReconciliation(ctx context.Context, id string, now time.Time, e audit.Event) error

	// Settlements are the decisions on differences with a provider, by their marks.
	Settlements(ctx context.Context, provider string) (map[string]Settlement, error)
	// SettleDifference keeps a decision in place of an earlier one.
	SettleDifference(ctx context.Context, s *Settlement, e audit.Event) error
	// ReopenDifference forgets a decision. It fails with fault.NotFound.
	ReopenDifference(ctx context.Context, provider, mark string, now time.Time, e audit.Event) error

	// BilledKeys are the tags of the gateway's keys by their names in a provider's bills.
	BilledKeys(ctx context.Context, provider string) (map[string]string, error)
	// NameBilledKeys changes some of them; "" forgets one.
	NameBilledKeys(ctx context.Context, provider string, names map[string]string, now time.Time, e audit.Event) error
}

// KeptFile is what is kept of a file: not its content.
type KeptFile struct {
	Name, Format string
	Sum          string // SHA-256, hex
	Bytes, Rows  int
}

// Kept is a comparison that was made. Its differences and groups may be fewer than were found: the largest are kept, while sums are of all.
type Kept struct {
	ID       string // "rec_..."
	Provider string
	Actor    string
	At       time.Time
	Files    []KeptFile
	Keys     []string // of the provider, when only rows of these were compared
	More     bool     // the provider says that further pages follow
	Result   Result
}

// Manager compares files of providers with the calls, and keeps what it found. It is safe for concurrent use.
type Manager struct {
	Calls  Calls
	Store  Store
	Reader Reader
	Now    func() time.Time

	// Keys are the gateway's keys of a provider; nil: there are none to be known.
	Keys func(ctx context.Context, provider string) ([]OurKey, error)
}

// Order asks for a comparison.
type Order struct {
	Provider  string
	Files     []Upload
	Columns   map[string]string // of tables, see usagefile
	Keys      []string          // only rows of these keys of the provider, and calls with them; nil: all
	Ours      map[string]string // which of the gateway's keys those of the files are, see Say: it is remembered
	Tolerance money.Nano        // dollars for each call
	Actor     audit.Actor
}

// Look is what a file is, before it is compared. Wrong says why it cannot be read as it is.
type Look struct {
	KeptFile
	Service     string
	First, Last string
	Models      []string
	Keys        []string
	Ours        map[string]string // which of the gateway's keys these are, as far as it is known
	Header      []string
	Chosen      map[string]string
	Wrong       string
}

// Look looks at files of a provider, "" for one that is not known yet. It fails with fault.Invalid.
func (m *Manager) Look(ctx context.Context, provider string, files []Upload, columns map[string]string) ([]Look, error) {
	if err := checkFiles(files); err != nil {
		return nil, err
	}
	all := make([]Look, len(files))
	for i := range files {
		var rows []Row
		all[i], rows = m.look(&files[i], columns)
		if provider == "" {
			continue
		}
		var err error
		if all[i].Ours, err = m.Names(ctx, provider, rows); err != nil {
			return nil, err
		}
	}
	return all, nil
}

func checkFiles(files []Upload) error {
	const op = "reconcile.files"
	bytes := 0
	for i := range files {
		bytes += len(files[i].Content)
	}
	switch {
	case len(files) == 0 || len(files) > MaxFiles:
		return fault.Field(op, "files", "Give from 1 to %d files of one provider.", MaxFiles).Coded("usage_files", "most", MaxFiles)
	case bytes > MaxBytes:
		return fault.Field(op, "files", "The files may have %d MiB together: export fewer days, or run weir reconcile on a machine of the gateway.", MaxBytes>>20).Coded("usage_bytes", "most", MaxBytes>>20)
	}
	return nil
}

func keptFile(u *Upload, f *File) KeptFile {
	sum := sha256.Sum256(u.Content)
	return KeptFile{Name: u.Name, Format: f.Format, Sum: hex.EncodeToString(sum[:]), Bytes: len(u.Content), Rows: len(f.Rows)}
}

func (m *Manager) look(u *Upload, columns map[string]string) (Look, []Row) {
	f, err := m.Reader.Read(u.Content, columns)
	l := Look{KeptFile: keptFile(u, &f), Service: f.Service, Header: f.Header, Chosen: f.Chosen}
	if err != nil {
		l.Wrong = fault.From(err).Public
		if header, chosen, err := m.Reader.Columns(u.Content); err == nil {
			l.Header, l.Chosen = header, chosen
		}
		return l, nil
	}
	l.First, l.Last = span(f.Rows)
	l.Models = distinct(f.Rows, func(r *Row) string { return r.Model })
	l.Keys = distinct(f.Rows, func(r *Row) string { return r.Key })
	if len(l.Keys) > 0 && slices.ContainsFunc(f.Rows, func(r Row) bool { return r.Key == "" && !r.costsAlone() }) {
		l.Keys = append(l.Keys, "") // used without a key, such as in a provider's console
	}
	return l, f.Rows
}

// distinct are at most 100 of the values of rows.
func distinct(rows []Row, of func(*Row) string) (all []string) {
	seen := map[string]bool{"": true}
	for i := range rows {
		if v := of(&rows[i]); !seen[v] {
			seen[v] = true
			all = append(all, v)
		}
	}
	slices.Sort(all)
	return all[:min(len(all), 100)]
}

func span(rows []Row) (first, last string) {
	for i := range rows {
		if first == "" || rows[i].Day < first {
			first = rows[i].Day
		}
		last = max(last, rows[i].Day)
	}
	return first, last
}

// Make compares files of one provider, and keeps the result. Files without ids of calls are compared together: costs without calls and tokens go with the
// usage of the same days. It fails with fault.Invalid.
func (m *Manager) Make(ctx context.Context, o Order) (Kept, error) {
	const op = "reconcile.Make"
	if err := checkFiles(o.Files); err != nil {
		return Kept{}, err
	}
	k := Kept{ID: apikey.NewID("rec_"), Provider: o.Provider, Actor: o.Actor.Name, At: m.Now().UTC().Truncate(time.Microsecond), Keys: o.Keys}
	var rows []Row
	sums := map[string]bool{}
	for i := range o.Files {
		f, err := m.Reader.Read(o.Files[i].Content, o.Columns)
		if err != nil {
			return Kept{}, err
		}
		kept := keptFile(&o.Files[i], &f)
		if sums[kept.Sum] {
			return Kept{}, fault.Field(op, "files", "Two of the files are the same.").Coded("usage_same_files")
		}
		sums[kept.Sum] = true
		k.Files, k.More = append(k.Files, kept), k.More || f.More
		rows = append(rows, f.Rows...)
	}
	if err := m.Say(ctx, o.Provider, o.Ours, o.Actor); err != nil {
		return Kept{}, err
	}
	var err error
	if k.Result, err = m.Compare(ctx, o.Provider, rows, o.Keys, o.Tolerance); err != nil {
		return Kept{}, err
	}
	k.Result.trim()
	return k, m.Store.AddReconciliation(ctx, &k, audit.Event{Actor: o.Actor, Action: audit.ReconciliationMade, Target: k.ID, After: k.words()})
}

// words are for the audit log.
func (k *Kept) words() string {
	var parts []string
	for _, s := range k.Result.Sums {
		parts = append(parts, strconv.Itoa(s.Differences)+" "+string(s.Kind))
	}
	names := make([]string, len(k.Files))
	for i, f := range k.Files {
		names[i] = f.Name + " " + f.Sum[:8]
	}
	return fmt.Sprintf("%s, %s to %s, %s: %s", k.Provider, k.Result.First, k.Result.Last, strings.Join(names, ", "), cmp.Or(strings.Join(parts, ", "), "equal"))
}

// trim keeps the largest differences and groups.
func (r *Result) trim() {
	size := func(d *Delta) *big.Rat {
		if d.Dollars != nil {
			return new(big.Rat).Abs(d.Dollars)
		}
		return new(big.Rat).SetInt64(max(d.Prompt, -d.Prompt) + max(d.Completion, -d.Completion) + max(d.Calls, -d.Calls))
	}
	slices.SortStableFunc(r.Differences, func(a, b Difference) int { return size(&b.Delta).Cmp(size(&a.Delta)) })
	r.Differences = r.Differences[:min(len(r.Differences), mostDifferences)]
	if len(r.Groups) > mostGroups {
		slices.SortStableFunc(r.Groups, func(a, b Group) int {
			x, y := DeltaBetween(&a.Theirs, &a.Ours), DeltaBetween(&b.Theirs, &b.Ours)
			return size(&y).Cmp(size(&x))
		})
		r.Groups = r.Groups[:mostGroups]
	}
}

// Compare compares rows with the calls that are in the database. Calls that are still in the journal of a node, at most those of the last seconds, are
// not among them, so the days must be over. With keys, only rows of these keys of the provider are compared; where it is known which of the gateway's they
// are, with the calls of these. It fails with fault.Invalid.
func (m *Manager) Compare(ctx context.Context, provider string, rows []Row, keys []string, tolerance money.Nano) (Result, error) {
	const op = "reconcile.Compare"
	names, err := m.Names(ctx, provider, rows)
	if err != nil {
		return Result{}, err
	}
	if keys != nil {
		rows = slices.DeleteFunc(slices.Clone(rows), func(r Row) bool { return !slices.Contains(keys, r.Key) })
	}
	rows = ofOurKeys(rows, names)
	today := m.Now().UTC().Format(time.DateOnly)
	if i := slices.IndexFunc(rows, func(r Row) bool { return r.Day >= today }); i >= 0 {
		return Result{}, fault.Newf(fault.Invalid, op, "%s is of %s, which is not over: export days until yesterday.", rows[i].Place, rows[i].Day).Coded("usage_today", "place", rows[i].Place, "day", rows[i].Day)
	}
	if len(rows) == 0 {
		return Match(rows, nil, tolerance)
	}
	first, last := span(rows)
	from, err := time.Parse(time.DateOnly, first)
	if err != nil {
		return Result{}, err
	}
	to, err := time.Parse(time.DateOnly, last)
	if err != nil {
		return Result{}, err
	}
	kept, err := m.Calls.KeptSince(ctx)
	if err != nil {
		return Result{}, err
	}
	if kept.After(from) {
		return Result{}, fault.Newf(fault.Invalid, op, "The calls before %s were dropped (store.retention): export days since then.", kept.Format(time.DateOnly)).Coded("usage_dropped", "day", kept.Format(time.DateOnly))
	}
	calls, err := m.callsOf(ctx, provider, from.AddDate(0, 0, -1), to.AddDate(0, 0, 2))
	if err != nil {
		return Result{}, err
	}
	if keys != nil && keyed(rows, calls, first, last) {
		calls = slices.DeleteFunc(calls, func(c Call) bool { return !slices.ContainsFunc(keys, func(k string) bool { return names[k] == c.Key }) })
	}
	r, err := Match(rows, calls, tolerance)
	if err != nil {
		return r, err
	}
	return r, m.settle(ctx, provider, &r)
}

func (m *Manager) callsOf(ctx context.Context, provider string, from, to time.Time) (calls []Call, err error) {
	s := report.Search{Filter: report.Filter{Provider: provider}, From: from, To: to, Limit: pageOfCalls}
	for {
		w, err := m.Calls.SearchAll(ctx, s, pageOfCalls)
		if err != nil {
			return nil, err
		}
		for i := range w.Calls {
			if c, billed := CallOf(&w.Calls[i]); billed {
				calls = append(calls, c)
			}
		}
		switch {
		case len(calls) > MaxCalls:
			return nil, fault.Newf(fault.Invalid, "reconcile.calls", "These days have more than %d calls of this provider: export fewer days.", MaxCalls).Coded("usage_calls", "most", MaxCalls)
		case w.End == report.Place{}:
			return calls, nil
		}
		s.After = w.End
	}
}

// Delete forgets a comparison. It fails with fault.NotFound.
func (m *Manager) Delete(ctx context.Context, id string, by audit.Actor) error {
	k, err := m.Store.ReconciliationByID(ctx, id)
	if err != nil {
		return err
	}
	return m.Store.DeleteReconciliation(ctx, id, m.Now(), audit.Event{Actor: by, Action: audit.ReconciliationDeleted, Target: id, Before: k.words()})
}
