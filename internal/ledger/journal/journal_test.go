package journal_test

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"weir/internal/fault"
	"weir/internal/ledger/journal"
)

// usual has the default where a test sets nothing.
func usual(o journal.Options) journal.Options {
	d := journal.Default()
	o.SyncEvery, o.MaxUnsynced, o.SegmentBytes = cmp.Or(o.SyncEvery, d.SyncEvery), cmp.Or(o.MaxUnsynced, d.MaxUnsynced), cmp.Or(o.SegmentBytes, d.SegmentBytes)
	return o
}

func open(t testing.TB, dir string, o journal.Options) *journal.Journal {
	t.Helper()
	j, err := journal.Open(dir, usual(o))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = j.Abandon() })
	return j
}

// all reads every record from a position on.
func all(t testing.TB, j *journal.Journal, from int64) []string {
	t.Helper()
	recs, err := tryAll(j, from)
	if err != nil {
		t.Fatal(err)
	}
	return recs
}

func tryAll(j *journal.Journal, from int64) ([]string, error) {
	var recs []string
	for from < j.End() {
		next, err := j.Read(from, func(rec []byte, _ int64) error {
			recs = append(recs, string(rec))
			return nil
		})
		if err != nil {
			return recs, err
		}
		from = next
	}
	return recs, nil
}

// closed closes a journal, and returns its first file and what that has.
func closed(t testing.TB, j *journal.Journal, dir string) (name string, b []byte) {
	t.Helper()
	if err := j.Close(); err != nil {
		t.Fatal(err)
	}
	name = files(t, dir)[0]
	b, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	return name, b
}

func record(i int) []byte { return []byte(fmt.Sprintf("record %d %s", i, strings.Repeat("x", i%90))) }

func files(t testing.TB, dir string) []string {
	t.Helper()
	names, err := filepath.Glob(filepath.Join(dir, "*.wal"))
	if err != nil {
		t.Fatal(err)
	}
	slices.Sort(names)
	return names
}

func TestWhatIsAppendedIsReadInOrder(t *testing.T) {
	t.Parallel()
	for name, o := range map[string]journal.Options{
		"interval":            {},
		"always":              {Sync: journal.Always},
		"never":               {Sync: journal.Never},
		"small files":         {SegmentBytes: 300, Sync: journal.Never},
		"small files, always": {SegmentBytes: 300, Sync: journal.Always},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			j := open(t, dir, o)
			var want []string
			for i := range 100 {
				if err := j.Append(record(i)); err != nil {
					t.Fatal(err)
				}
				want = append(want, string(record(i)))
				if i == 50 {
					if err := j.Close(); err != nil {
						t.Fatal(err)
					}
					j = open(t, dir, o)
				}
			}
			if got := all(t, j, 0); !slices.Equal(got, want) {
				t.Fatalf("read %d records, want %d: %q", len(got), len(want), got)
			}
		})
	}
}

func TestConcurrentAppendsAreAllThere(t *testing.T) {
	t.Parallel()
	for _, s := range []journal.Sync{journal.Interval, journal.Always} {
		j := open(t, t.TempDir(), journal.Options{SegmentBytes: 4096, Sync: s})
		var wg sync.WaitGroup
		const writers, each = 8, 200
		for w := range writers {
			wg.Go(func() {
				for i := range each {
					rec := []byte(fmt.Sprintf("%d/%03d", w, i))
					if i%7 == 3 {
						if !j.Add(rec) {
							t.Error("Add had no room")
						}
						continue
					}
					if err := j.Append(rec); err != nil {
						t.Error(err)
					}
				}
			})
		}
		wg.Wait()
		if err := j.Write(); err != nil {
			t.Fatal(err)
		}
		last := map[byte]string{}
		got := all(t, j, 0)
		for _, r := range got {
			if r <= last[r[0]] {
				t.Fatalf("%q came after %q of the same writer", r, last[r[0]])
			}
			last[r[0]] = r
		}
		if len(got) != writers*each {
			t.Fatalf("%d records of %d", len(got), writers*each)
		}
	}
}

func TestReadGoesOnWhereItStopped(t *testing.T) {
	t.Parallel()
	j := open(t, t.TempDir(), journal.Options{SegmentBytes: 500, Sync: journal.Never})
	for i := range 60 {
		if err := j.Append(record(i)); err != nil {
			t.Fatal(err)
		}
	}
	var got []string
	for pos := int64(0); pos < j.End(); {
		n := 0
		next, err := j.Read(pos, func(rec []byte, _ int64) error {
			got = append(got, string(rec))
			if n++; n == 2 {
				return journal.ErrEnough
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
		pos = next
	}
	if len(got) != 60 || got[59] != string(record(59)) {
		t.Fatalf("read %d records: %q", len(got), got)
	}
}

func TestDropRemovesOnlyWhatIsBefore(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	j := open(t, dir, journal.Options{SegmentBytes: 500, Sync: journal.Never})
	var marks []int64
	for i := range 40 {
		if err := j.Append(record(i)); err != nil {
			t.Fatal(err)
		}
		marks = append(marks, j.End())
	}
	before := len(files(t, dir))
	if !j.Droppable(marks[20]) {
		t.Fatal("nothing to drop")
	}
	if err := j.Drop(marks[20]); err != nil {
		t.Fatal(err)
	}
	if after := len(files(t, dir)); after >= before || after < 2 {
		t.Fatalf("%d files, before %d", after, before)
	}
	got := all(t, j, marks[20])
	if len(got) != 19 || got[0] != string(record(21)) {
		t.Fatalf("read %q", got)
	}
	if err := j.Close(); err != nil {
		t.Fatal(err)
	}
	j = open(t, dir, journal.Options{SegmentBytes: 500, Base: marks[39] + 1000})
	if got := all(t, j, 0); len(got) != 0 {
		t.Fatalf("records before the base: %q", got)
	}
	if j.End() < marks[39]+1000 {
		t.Fatalf("positions went back to %d", j.End())
	}
}

// A process can die at any byte of a write.
func TestTornAtEveryByte(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	o := journal.Options{SegmentBytes: 4096, Sync: journal.Never}
	j := open(t, dir, o)
	var ends []int64
	for i := range 6 {
		if err := j.Append(record(i + 20)); err != nil {
			t.Fatal(err)
		}
		ends = append(ends, j.End())
	}
	name, whole := closed(t, j, dir)
	for cut := range int(ends[5]) + 1 {
		want := 0
		for want < 6 && ends[want] <= int64(cut) {
			want++
		}
		for _, how := range []string{"zeros", "rubbish", "short"} {
			torn := slices.Clone(whole)
			switch how {
			case "zeros":
				clear(torn[cut:])
			case "rubbish":
				for i := cut; i < len(torn); i++ {
					torn[i] ^= 0x5a
				}
			case "short":
				torn = torn[:cut]
			}
			sub := t.TempDir()
			if err := os.WriteFile(filepath.Join(sub, filepath.Base(name)), torn, 0o600); err != nil {
				t.Fatal(err)
			}
			if cut < 72 || cut < 80 && how == "rubbish" { // no crash leaves a file without its head
				if _, err := journal.Open(sub, usual(o)); err == nil || !strings.Contains(err.Error(), "weir ledger journal repair") {
					t.Fatalf("cut at %d: %v", cut, err)
				}
				continue
			}
			last := 80
			if want > 0 {
				last = int(ends[want-1])
			}
			left := len(bytes.TrimRight(torn[min(last, len(torn)):], "\x00"))
			reported := 0
			o.OnTorn = func(_ string, bytes int64) { reported = int(bytes) }
			j := open(t, sub, o)
			if reported != left {
				t.Fatalf("cut at %d, %s: %d bytes are reported, and %d are left", cut, how, reported, left)
			}
			if err := j.Append([]byte("after")); err != nil {
				t.Fatal(err)
			}
			got := all(t, j, 0)
			if len(got) != want+1 || got[want] != "after" {
				t.Fatalf("cut at %d, %s: read %q, want %d records and the new one", cut, how, got, want)
			}
			if err := j.Close(); err != nil {
				t.Fatal(err)
			}
			j = open(t, sub, o)
			if again := all(t, j, 0); !slices.Equal(got, again) {
				t.Fatalf("cut at %d, %s: read %q, then %q", cut, how, got, again)
			}
			_ = j.Abandon()
		}
	}
}

// A start reads the newest file in pieces, and copies none that has zeros alone. Records may be zeros, too, and lie across the edges of pieces.
func TestRecordsOfZeros(t *testing.T) {
	t.Parallel()
	const piece = 128 << 10
	o := journal.Options{SegmentBytes: 4 * piece, Sync: journal.Never}
	for _, size := range []int{piece - 88, piece - 87, piece - 80, piece, 2 * piece, 3*piece - 100} {
		dir := t.TempDir()
		j := open(t, dir, o)
		want := []string{string(make([]byte, size)), "last"}
		if err := j.Append([]byte(want[0])); err != nil {
			t.Fatal(err)
		}
		zerosEnd := j.End()
		if err := j.Append([]byte(want[1])); err != nil {
			t.Fatal(err)
		}
		end := j.End()
		name, whole := closed(t, j, dir)
		for _, c := range []struct {
			how    string
			change func(b []byte)
			want   []string
			torn   int
			hole   bool
		}{
			{"whole", func([]byte) {}, want, 0, false},
			{"without the last record", func(b []byte) { clear(b[zerosEnd:]) }, want[:1], 0, false},
			{"the last record is torn", func(b []byte) { clear(b[end-1:]) }, want[:1], int(end - 1 - zerosEnd), false},
			{"rubbish far behind", func(b []byte) { b[4*piece-1] = 1 }, want, 4*piece - int(end), false},
			{"a byte is lost before a record", func(b []byte) { b[90] = 1 }, nil, 0, true},
		} {
			b := slices.Clone(whole)
			c.change(b)
			sub := t.TempDir()
			if err := os.WriteFile(filepath.Join(sub, filepath.Base(name)), b, 0o600); err != nil {
				t.Fatal(err)
			}
			torn := 0
			o.OnTorn = func(_ string, bytes int64) { torn = int(bytes) }
			j, err := journal.Open(sub, usual(o))
			if c.hole {
				if err == nil || !strings.Contains(err.Error(), "weir ledger journal repair") {
					t.Errorf("%d zeros, %s: %v", size, c.how, err)
				}
				continue
			}
			if err != nil {
				t.Fatalf("%d zeros, %s: %v", size, c.how, err)
			}
			if got := all(t, j, 0); !slices.Equal(got, c.want) || torn != c.torn {
				t.Errorf("%d zeros, %s: %d records, %d bytes torn; want %d and %d", size, c.how, len(got), torn, len(c.want), c.torn)
			}
			if err := j.Close(); err != nil {
				t.Fatal(err)
			}
		}
	}
}

func TestDamageInTheMiddleIsAnError(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	o := journal.Options{SegmentBytes: 400, Sync: journal.Never}
	j := open(t, dir, o)
	for i := range 30 {
		if err := j.Append(record(i)); err != nil {
			t.Fatal(err)
		}
	}
	if err := j.Close(); err != nil {
		t.Fatal(err)
	}
	name := files(t, dir)[1]
	b, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	b[100] ^= 1
	if err := os.WriteFile(name, b, 0o600); err != nil {
		t.Fatal(err)
	}
	j = open(t, dir, o)
	got, err := tryAll(j, 0)
	if err == nil || !strings.Contains(err.Error(), "Restore") || !strings.Contains(err.Error(), filepath.Base(name)) {
		t.Fatalf("read %d records, error %v", len(got), err)
	}
	if _, err := journal.Inspect(dir, 0); err == nil {
		t.Fatal("Inspect saw nothing")
	}
}

// Bytes of another place must not pass for a record here, even when they once were one.
func TestRecordsBelongToTheirPosition(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	j := open(t, dir, journal.Options{Sync: journal.Never, SegmentBytes: 4096})
	if err := j.Append([]byte("one")); err != nil {
		t.Fatal(err)
	}
	end := j.End()
	name, b := closed(t, j, dir)
	const size = 8 + 3
	copy(b[end:], b[end-size:end])
	if err := os.WriteFile(name, b, 0o600); err != nil {
		t.Fatal(err)
	}
	if got := all(t, open(t, dir, journal.Options{Sync: journal.Never}), 0); !slices.Equal(got, []string{"one"}) {
		t.Fatalf("read %q", got)
	}
}

func TestFullDisk(t *testing.T) {
	t.Parallel()
	var mu sync.Mutex
	full := false
	o := journal.Options{SegmentBytes: 1000, Sync: journal.Never, Allocate: func(f *os.File, n int64) error {
		mu.Lock()
		defer mu.Unlock()
		if full {
			return syscall.ENOSPC
		}
		return f.Truncate(n)
	}}
	set := func(b bool) { mu.Lock(); full = b; mu.Unlock() }
	j := open(t, t.TempDir(), o)
	if !j.Ready() {
		t.Fatal("not ready at first")
	}
	set(true)
	taken := 0
	var err error
	warned := 0
	for ; taken < 1000; taken++ {
		if err = j.Append(bytes.Repeat([]byte("x"), 92)); err != nil {
			break
		}
		_ = j.Prepare()
		if warned == 0 && !j.Ready() {
			warned = taken
		}
	}
	// two files of 1000 bytes take nine records of 100 bytes each
	if taken != 18 || warned != 9 || !fault.Is(err, fault.StorageUnavailable) {
		t.Fatalf("took %d records, not ready after %d, error %v", taken, warned, err)
	}
	if got := all(t, j, 0); len(got) != 18 {
		t.Fatalf("read %d", len(got))
	}
	set(false)
	if err := j.Prepare(); err != nil {
		t.Fatal(err)
	}
	if err := j.Append([]byte("more")); err != nil || !j.Ready() && j.Prepare() != nil {
		t.Fatalf("with space again: %v", err)
	}
	if got := all(t, j, 0); len(got) != 19 || got[18] != "more" {
		t.Fatalf("read %d", len(got))
	}
}

func TestRecordSizes(t *testing.T) {
	t.Parallel()
	j := open(t, t.TempDir(), journal.Options{Sync: journal.Never})
	if err := j.Append(nil); err == nil {
		t.Error("an empty record was taken")
	}
	if err := j.Append(make([]byte, journal.MaxRecordBytes+1)); err == nil {
		t.Error("a record above the limit was taken")
	}
	big := bytes.Repeat([]byte("b"), journal.MaxRecordBytes)
	for range 20 {
		if err := j.Append(big); err != nil {
			t.Fatal(err)
		}
	}
	if got := all(t, j, 0); len(got) != 20 || got[19] != string(big) {
		t.Fatalf("read %d", len(got))
	}
}

func TestOneProcessAtATime(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "journal")
	if n, err := journal.Node(dir); n != "" || err != nil {
		t.Fatalf("identity of nothing: %q, %v", n, err)
	}
	c, err := journal.Take(dir)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := journal.Take(dir); !fault.Is(err, fault.Conflict) {
		t.Fatalf("taken twice: %v", err)
	}
	if err := c.Release(); err != nil {
		t.Fatal(err)
	}
	again, err := journal.Take(dir)
	if err != nil || again.Node != c.Node {
		t.Fatalf("%v, %v", again, err)
	}
	if n, err := journal.Node(dir); n != c.Node || err != nil {
		t.Fatalf("identity %q, %v", n, err)
	}
	_ = again.Release()
}

func TestInspectChangesNothing(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	j := open(t, dir, journal.Options{SegmentBytes: 300, Sync: journal.Never})
	var mid int64
	for i := range 20 {
		if err := j.Append(record(i)); err != nil {
			t.Fatal(err)
		}
		if i == 9 {
			mid = j.End()
		}
	}
	before := files(t, dir)
	for from, want := range map[int64]int64{0: 20, mid: 10, j.End(): 0} {
		if got, err := journal.Inspect(dir, from); err != nil || got.Records != want {
			t.Fatalf("from %d: %+v, %v, want %d", from, got, err, want)
		}
	}
	if !slices.Equal(before, files(t, dir)) {
		t.Fatal("files changed")
	}
	if got, err := journal.Inspect(filepath.Join(dir, "none"), 0); err != nil || got.Records != 0 {
		t.Fatalf("missing folder: %+v, %v", got, err)
	}
}

// FuzzOpen feeds rubbish as a file: whatever is in it, opening ends, and what is appended afterwards is read.
func FuzzOpen(f *testing.F) {
	dir := f.TempDir()
	j, err := journal.Open(dir, usual(journal.Options{SegmentBytes: 300, Sync: journal.Never}))
	if err != nil {
		f.Fatal(err)
	}
	for i := range 3 {
		if err := j.Append(record(i)); err != nil {
			f.Fatal(err)
		}
	}
	_ = j.Close()
	seed, err := os.ReadFile(files(f, dir)[0])
	if err != nil {
		f.Fatal(err)
	}
	f.Add(seed)
	f.Add(seed[:40])
	f.Add([]byte{})
	f.Fuzz(func(t *testing.T, b []byte) {
		dir := t.TempDir()
		if err := os.WriteFile(filepath.Join(dir, fmt.Sprintf("%016x.wal", 0)), b, 0o600); err != nil {
			t.Fatal(err)
		}
		_, seen := journal.Inspect(dir, 0)
		j, err := journal.Open(dir, usual(journal.Options{SegmentBytes: 300, Sync: journal.Never}))
		if (err == nil) != (seen == nil) {
			t.Fatalf("Inspect says %v, Open %v", seen, err)
		}
		if err != nil {
			if _, err := journal.Repair(dir, time.Unix(1e9, 0)); err != nil {
				t.Fatal(err)
			}
			j = open(t, dir, journal.Options{SegmentBytes: 300, Sync: journal.Never})
		}
		defer func() { _ = j.Abandon() }()
		if err := j.Append([]byte("after")); err != nil {
			t.Fatal(err)
		}
		got, err := tryAll(j, 0)
		if err != nil || got[len(got)-1] != "after" {
			t.Fatalf("read %q, %v", got, err)
		}
	})
}

func BenchmarkAppend(b *testing.B) {
	rec := bytes.Repeat([]byte("x"), 400)
	for name, s := range map[string]journal.Sync{"interval": journal.Interval, "never": journal.Never} {
		b.Run(name, func(b *testing.B) {
			j := open(b, b.TempDir(), journal.Options{Sync: s})
			b.ReportAllocs()
			for b.Loop() {
				if err := j.Append(rec); err != nil {
					b.Fatal(err)
				}
			}
		})
		b.Run(name+"/parallel", func(b *testing.B) {
			j := open(b, b.TempDir(), journal.Options{Sync: s})
			b.ReportAllocs()
			b.SetParallelism(16)
			b.RunParallel(func(pb *testing.PB) {
				for pb.Next() {
					if err := j.Append(rec); err != nil {
						b.Error(err)
					}
				}
			})
		})
	}
}

func TestErrEnoughIsNoFault(t *testing.T) {
	t.Parallel()
	j := open(t, t.TempDir(), journal.Options{Sync: journal.Never})
	if err := j.Append([]byte("a")); err != nil {
		t.Fatal(err)
	}
	boom := errors.New("boom")
	pos, err := j.Read(0, func([]byte, int64) error { return boom })
	if !errors.Is(err, boom) || pos >= j.End() {
		t.Fatalf("at %d, %v", pos, err)
	}
}
