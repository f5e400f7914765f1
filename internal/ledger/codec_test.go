package ledger

import (
	"encoding/hex"
	"fmt"
	"math"
	"os"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"weir/internal/ledger/journal"
	"weir/internal/money"
	"weir/internal/record"
	"weir/internal/usage"
)

var (
	texts     = rapid.String()
	durations = rapid.Map(rapid.Int64(), func(n int64) time.Duration { return time.Duration(n) })
	whole     = rapid.Int64()
)

var someCount = rapid.Custom(func(t *rapid.T) usage.Count {
	return usage.Count{N: whole.Draw(t, "n"), Reported: rapid.Bool().Draw(t, "reported")}
})

var someLine = rapid.Custom(func(t *rapid.T) usage.Line {
	return usage.Line{Kind: usage.Kind(rapid.Byte().Draw(t, "kind")), Quantity: whole.Draw(t, "quantity"), Price: whole.Draw(t, "price"), Dollars: rapid.SampledFrom([]string{"", "", "0.25", "1e-06"}).Draw(t, "dollars")}
})

var someOwnKey = rapid.SampledFrom([]string{"", "", "", "pk_1"})

var someCandidate = rapid.Custom(func(t *rapid.T) record.Candidate {
	return record.Candidate{Endpoint: texts.Draw(t, "endpoint"), DroppedBy: texts.Draw(t, "dropped by"), Detail: texts.Draw(t, "detail"),
		Order: int(whole.Draw(t, "order")), Score: rapid.Float64().Draw(t, "score"), Reason: texts.Draw(t, "reason"), Slug: rapid.SampledFrom([]string{"", "v/asked", "v/fallback"}).Draw(t, "slug"),
		OwnKey: someOwnKey.Draw(t, "own key"), Prompt: money.Nano(whole.Draw(t, "prompt")), Completion: money.Nano(whole.Draw(t, "completion")), PerRequest: money.Nano(whole.Draw(t, "request"))}
})

var someAttempt = rapid.Custom(func(t *rapid.T) record.Attempt {
	return record.Attempt{Endpoint: texts.Draw(t, "endpoint"), Provider: texts.Draw(t, "provider"), Status: int(whole.Draw(t, "status")), Reason: texts.Draw(t, "reason"),
		OwnKey: someOwnKey.Draw(t, "own key"), Started: durations.Draw(t, "started"), FirstContent: durations.Draw(t, "first"), Ended: durations.Draw(t, "ended")}
})

var someFund = rapid.Custom(func(t *rapid.T) record.Fund {
	return record.Fund{ID: texts.Draw(t, "id"), Kind: texts.Draw(t, "kind"), Start: whole.Draw(t, "start"), Lease: whole.Draw(t, "lease")}
})

// listOf is a list that is nil when it is empty, as a record that was read has it.
func listOf[T any](g *rapid.Generator[T]) *rapid.Generator[[]T] {
	return rapid.Map(rapid.SliceOfN(g, 0, 5), func(list []T) []T {
		if len(list) == 0 {
			return nil
		}
		return list
	})
}

var someItem = rapid.Custom(func(t *rapid.T) Item {
	c := record.Call{
		Preset: rapid.SampledFrom([]string{"", "", "email-writer"}).Draw(t, "preset"), PresetVersion: rapid.SampledFrom([]int64{0, 0, 3}).Draw(t, "preset version"),
		OwnKey: someOwnKey.Draw(t, "own key"), Parameters: rapid.SampledFrom([]string{"", "", `{"temperature":0.5}`}).Draw(t, "parameters"),
		Lost:   rapid.SampledFrom([]record.Lost{{}, {Tokens: 41_000, Why: record.LostPrefix, Message: 3, Cost: 5}, {Tokens: 2048, Why: record.LostEndpoint, From: "a/v/m"}}).Draw(t, "lost"),
		Notice: rapid.SampledFrom([]string{"", "", "What was not sent."}).Draw(t, "notice"),
		At:     time.UnixMicro(rapid.Int64Range(-1<<50, 1<<52).Draw(t, "at")).UTC(),
		Status: rapid.IntRange(-1, 999).Draw(t, "status"), Cost: money.Nano(whole.Draw(t, "cost")), Hold: money.Nano(whole.Draw(t, "hold")),
		Streamed: rapid.Bool().Draw(t, "streamed"), Cancelled: rapid.Bool().Draw(t, "cancelled"), Settled: rapid.Bool().Draw(t, "settled"),
		FirstContent: durations.Draw(t, "first content"), Duration: durations.Draw(t, "duration"), Generating: durations.Draw(t, "generating"),
		Lines: listOf(someLine).Draw(t, "lines"), Candidates: listOf(someCandidate).Draw(t, "candidates"), Attempts: listOf(someAttempt).Draw(t, "attempts"),
		Member: rapid.SampledFrom([]string{"", "", "usr_2"}).Draw(t, "member"), Team: rapid.SampledFrom([]string{"", "", "team_1"}).Draw(t, "team"),
		Tags: listOf(texts).Draw(t, "tags"), Funds: listOf(someFund).Draw(t, "funds"),
	}
	for _, p := range []*string{&c.Generation, &c.Request, &c.User, &c.Wallet, &c.Key, &c.API, &c.ModelAsked, &c.Model, &c.Provider, &c.ProviderName, &c.Endpoint,
		&c.UpstreamModel, &c.UpstreamID, &c.Error, &c.Finish, &c.NativeFinish, &c.PriceList, &c.Rate, &c.SourcePrice, &c.UserAgent, &c.Referer, &c.Title,
		&c.Session, &c.ClientUser, &c.Metadata, &c.Catalog, &c.Usage.UpstreamCost, &c.Usage.Tier} {
		*p = texts.Draw(t, "text")
	}
	if rapid.Bool().Draw(t, "plain") {
		c.ModelAsked = "v/asked"
	}
	for _, n := range c.Usage.Counts() {
		*n = someCount.Draw(t, "count")
	}
	c.Usage.Source = usage.Source(rapid.Byte().Draw(t, "source"))
	return Item{Call: c, WalletLease: whole.Draw(t, "wallet lease"), KeyLease: whole.Draw(t, "key lease")}
})

// What is written is read, what is cut off is refused, and what a later version adds at the end is passed over.
func TestRecordsComeBackAsWritten(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		want := someItem.Draw(t, "item")
		b := appendItem(nil, &want)
		for _, rec := range [][]byte{b, append(b[:len(b):len(b)], "more"...)} {
			got, err := DecodeItem(rec)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(want, got, cmp.Comparer(func(x, y float64) bool { return math.Float64bits(x) == math.Float64bits(y) })); diff != "" {
				t.Fatal(diff)
			}
		}
		if _, err := DecodeItem(b[:rapid.IntRange(0, len(b)-1).Draw(t, "cut")]); err == nil {
			t.Fatal("a cut record was read")
		}
		b[0] = codecVersion + 1
		if _, err := DecodeItem(b); err == nil {
			t.Fatal("a record of another version was read")
		}
	})
}

// The store keeps records for good: these are of former versions, and must read the same in every later one.
func TestOldRecordsAreRead(t *testing.T) {
	t.Parallel()
	first := benchItem() // without the fields that the first version lacked
	first.Call.Catalog, first.Call.Candidates = "", []record.Candidate{{Endpoint: "provider/vendor/model", Order: 1, Score: 1, Reason: "weight"}}
	offers := benchItem() // from before there were more than fifteen counts
	offers.Call.Notice = "What was not sent."
	for name, want := range map[string]Item{"record-v1": first, "record-v1-offers": offers} {
		text, err := os.ReadFile("testdata/" + name + ".hex")
		if err != nil {
			t.Fatal(err)
		}
		rec, err := hex.DecodeString(strings.Join(strings.Fields(string(text)), ""))
		if err != nil {
			t.Fatal(err)
		}
		got, err := DecodeItem(rec)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Fatal(name, diff)
		}
	}
}

// distinct gives every field that can be reached from v a different value that is not zero.
func distinct(v reflect.Value, next *int64) {
	*next++
	switch v.Kind() {
	case reflect.String:
		v.SetString(fmt.Sprintf("text %d", *next))
	case reflect.Int, reflect.Int64:
		v.SetInt(*next)
	case reflect.Uint8:
		v.SetUint(uint64(*next%250) + 1)
	case reflect.Float64:
		v.SetFloat(float64(*next))
	case reflect.Bool:
		v.SetBool(true)
	case reflect.Slice:
		v.Set(reflect.MakeSlice(v.Type(), 2, 2))
		for i := range v.Len() {
			distinct(v.Index(i), next)
		}
	case reflect.Struct:
		if v.Type() == reflect.TypeFor[time.Time]() {
			v.Set(reflect.ValueOf(time.UnixMicro(1772625600000000 + *next).UTC()))
			return
		}
		for i := range v.NumField() {
			distinct(v.Field(i), next)
		}
	default:
		panic("a record has a field of a kind that this test does not know: " + v.Type().String())
	}
}

// A field that is added to a record, or to what it holds, and not to the codec, fails here.
func TestEveryFieldOfARecordIsKept(t *testing.T) {
	t.Parallel()
	var want Item
	var n int64
	distinct(reflect.ValueOf(&want).Elem(), &n)
	got, err := DecodeItem(appendItem(nil, &want))
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Fatal(diff)
	}
	if want.Call.Bound() {
		t.Error("an ordinary record had to be cut")
	}
}

// A part that is written only when a field has a value must look at each field that it holds.
func TestAFieldAloneIsKept(t *testing.T) {
	t.Parallel()
	for i := range reflect.TypeFor[record.Call]().NumField() {
		var want Item
		want.Call.At = time.Unix(0, 0).UTC()
		n := int64(0)
		distinct(reflect.ValueOf(&want.Call).Elem().Field(i), &n)
		got, err := DecodeItem(appendItem(nil, &want))
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Error(reflect.TypeFor[record.Call]().Field(i).Name, diff)
		}
	}
}

// huge makes the texts and lists of v that pick chooses as long as somebody hostile can.
func huge(v reflect.Value, pick func() bool) {
	const bytes = 3 << 20
	switch v.Kind() {
	case reflect.String:
		if pick() {
			v.SetString(strings.Repeat("\x00я\xff\u2028", bytes/7))
		}
	case reflect.Int, reflect.Int64:
		if pick() {
			v.SetInt(math.MaxInt64)
		}
	case reflect.Float64:
		if pick() {
			v.SetFloat(math.Inf(1))
		}
	case reflect.Slice:
		if pick() {
			element := v.Index(0)
			all := reflect.MakeSlice(v.Type(), 5000, 5000)
			huge(element, pick)
			for i := range all.Len() {
				all.Index(i).Set(element)
			}
			v.Set(all)
			return
		}
		for i := range v.Len() {
			huge(v.Index(i), pick)
		}
	case reflect.Struct:
		if v.Type() == reflect.TypeFor[time.Time]() {
			if pick() {
				v.Set(reflect.ValueOf(time.Unix(1<<60, 0)))
			}
			return
		}
		for i := range v.NumField() {
			huge(v.Field(i), pick)
		}
	}
}

// Whatever the fields of a record hold, alone or together, it can be written, and says who was charged how much.
func TestARecordAlwaysFits(t *testing.T) {
	t.Parallel()
	fields := reflect.TypeFor[record.Call]().NumField()
	check := func(t interface {
		Fatal(...any)
		Errorf(string, ...any)
	}, change func(v reflect.Value)) {
		var it Item
		var n int64
		distinct(reflect.ValueOf(&it).Elem(), &n)
		plain := it.Call
		change(reflect.ValueOf(&it.Call).Elem())
		it.Call.Cost, it.Call.Hold, it.Call.Generation, it.Call.Wallet, it.Call.Key = plain.Cost, plain.Hold, plain.Generation, plain.Wallet, plain.Key
		before := it.Call.Usage
		rec := Encode(it).Record
		if len(rec) > journal.MaxRecordBytes {
			t.Fatal("a record of", len(rec), "bytes")
		}
		got, err := DecodeItem(rec)
		if err != nil {
			t.Fatal(err)
		}
		g := got.Call
		if g.Cost != plain.Cost || g.Hold != plain.Hold || g.Generation != plain.Generation || g.Wallet != plain.Wallet || g.Key != plain.Key || !g.Settled || got.WalletLease != it.WalletLease {
			t.Errorf("the facts of the charge differ: %+v", g)
		}
		for i, c := range g.Usage.Counts() {
			if was := before.Counts()[i]; *c != *was && was.N < 1<<40 {
				t.Errorf("count %d was %v and is %v", i, *was, *c)
			}
		}
		if again := g; again.Bound() {
			t.Errorf("a record within its bounds was cut once more")
		}
	}
	for i := range fields {
		t.Run(reflect.TypeFor[record.Call]().Field(i).Name, func(t *testing.T) {
			t.Parallel()
			check(t, func(v reflect.Value) { huge(v.Field(i), func() bool { return true }) })
		})
	}
	t.Run("all", func(t *testing.T) {
		t.Parallel()
		check(t, func(v reflect.Value) { huge(v, func() bool { return true }) })
	})
	t.Run("any", func(t *testing.T) {
		t.Parallel()
		rapid.Check(t, func(t *rapid.T) {
			check(t, func(v reflect.Value) { huge(v, func() bool { return rapid.IntRange(0, 9).Draw(t, "huge") == 0 }) })
		})
	})
}

// Names that differ still differ after they are cut.
func TestLongNamesStayApart(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("w", 1<<20)
	a, b := record.Call{Generation: long + "1", Endpoint: long + "1"}, record.Call{Generation: long + "2", Endpoint: long + "2"}
	a.Bound()
	b.Bound()
	if a.Generation == b.Generation || a.Endpoint == b.Endpoint {
		t.Error("two names became one")
	}
}

func FuzzDecode(f *testing.F) {
	it := Item{Call: record.Call{Generation: "gen-1", Wallet: "wal_1", Cost: 5, Lines: []usage.Line{{Kind: 1, Quantity: 2, Price: 3}},
		Candidates: []record.Candidate{{Endpoint: "e", Score: 1.5}}, Attempts: []record.Attempt{{Provider: "p"}}}}
	f.Add(appendItem(nil, &it))
	f.Add([]byte{codecVersion})
	f.Fuzz(func(t *testing.T, b []byte) {
		it, err := DecodeItem(b)
		if err != nil {
			return
		}
		again, err := DecodeItem(appendItem(nil, &it))
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(it, again, cmp.Comparer(func(x, y float64) bool { return math.Float64bits(x) == math.Float64bits(y) })); diff != "" {
			t.Fatal(diff)
		}
	})
}

func TestPeriods(t *testing.T) {
	t.Parallel()
	day := func(s string) int64 {
		at, err := time.Parse(time.DateOnly, s)
		if err != nil {
			t.Fatal(err)
		}
		return at.Unix()
	}
	for name, c := range map[string]struct{ at, day, week, month string }{
		"a Wednesday":                  {"2026-03-04T12:00:00Z", "2026-03-04", "2026-03-02", "2026-03-01"},
		"Sunday's last second":         {"2026-03-08T23:59:59Z", "2026-03-08", "2026-03-02", "2026-03-01"},
		"Monday's first second":        {"2026-03-09T00:00:00Z", "2026-03-09", "2026-03-09", "2026-03-01"},
		"a week over the new year":     {"2027-01-01T00:00:00Z", "2027-01-01", "2026-12-28", "2027-01-01"},
		"another zone's day is not it": {"2026-04-01T01:30:00+03:00", "2026-03-31", "2026-03-30", "2026-03-01"},
	} {
		at, err := time.Parse(time.RFC3339, c.at)
		if err != nil {
			t.Fatal(err)
		}
		want := [4]Period{{PeriodTotal, 0}, {PeriodDay, day(c.day)}, {PeriodWeek, day(c.week)}, {PeriodMonth, day(c.month)}}
		if got := Periods(at); got != want {
			t.Errorf("%s: %v, want %v", name, got, want)
		}
	}
}

func BenchmarkCodec(b *testing.B) {
	it := benchItem()
	buf := appendItem(nil, &it)
	b.Run("encode", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			buf = appendItem(buf[:0], &it)
		}
		b.ReportMetric(float64(len(buf)), "bytes/record")
	})
	b.Run("decode", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			if _, err := DecodeItem(buf); err != nil {
				b.Fatal(err)
			}
		}
	})
}

func benchItem() Item {
	c := record.Call{Generation: "gen-1772625600-0123456789abcdefghij", Request: "req_0123456789abcdefghij", User: "usr_0123456789abcdefghij", Wallet: "wal_0123456789abcdefghij",
		Key: "key_0123456789abcdefghij", API: "completions", At: time.UnixMicro(1772625600123456).UTC(), ModelAsked: "vendor/model", Model: "vendor/model", Provider: "provider",
		ProviderName: "Provider", Endpoint: "provider/vendor/model", UpstreamModel: "model-2026", UpstreamID: "chatcmpl-0123456789abcdef", Streamed: true, Status: 200,
		Finish: "stop", NativeFinish: "stop", Lines: []usage.Line{{Kind: 1, Quantity: 250, Price: 25_000_000}, {Kind: 7, Quantity: 100, Price: 75_000_000}}, Cost: 13_750_000,
		Settled: true, PriceList: "2026-03-01", Rate: "92.5*1.15", SourcePrice: "0.25", Hold: 50_000_000, FirstContent: 200 * time.Millisecond, Duration: 2 * time.Second,
		Generating: 1800 * time.Millisecond, Catalog: "c-0123456789ab", Candidates: []record.Candidate{
			{Endpoint: "provider/vendor/model", Order: 1, Score: 1, Reason: "weight", Slug: "vendor/model", Prompt: 25_000_000, Completion: 75_000_000}},
		Attempts:  []record.Attempt{{Endpoint: "provider/vendor/model", Provider: "provider", Status: 200, FirstContent: 200 * time.Millisecond, Ended: 2 * time.Second}},
		UserAgent: "openai-go/3.4.0"}
	c.Usage.Prompt, c.Usage.Completion, c.Usage.CacheRead = usage.Of(250), usage.Of(100), usage.Of(0)
	return Item{Call: c, WalletLease: 1<<32 | 5, KeyLease: 1<<32 | 6}
}
