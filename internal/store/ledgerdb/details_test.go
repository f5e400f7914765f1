package ledgerdb

import (
	"fmt"
	"math"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"weir/internal/ledger"
	"weir/internal/record"
	"weir/internal/usage"
)

// fill gives every field another value.
func fill(v reflect.Value, n *int64) {
	*n++
	switch v.Kind() {
	case reflect.String:
		v.SetString("я \"\\\n" + time.Duration(*n).String())
	case reflect.Bool:
		v.SetBool(true)
	case reflect.Int, reflect.Int64:
		v.SetInt(1_000_000_000_000 * *n)
	case reflect.Uint8:
		v.SetUint(uint64(*n % 20))
	case reflect.Float64:
		v.SetFloat(float64(*n) / 1e7)
	case reflect.Slice:
		v.Set(reflect.MakeSlice(v.Type(), 2, 2))
		for i := range v.Len() {
			fill(v.Index(i), n)
		}
	case reflect.Struct:
		if v.Type() == reflect.TypeFor[time.Time]() {
			v.Set(reflect.ValueOf(time.UnixMicro(1772625600123456).UTC()))
			return
		}
		for i := range v.NumField() {
			fill(v.Field(i), n)
		}
	}
}

// storedRow is the row of a call with the details.
func storedRow(c *record.Call, details string) *stored {
	return &stored{wallet: c.Wallet, id: c.Generation, at: c.At.UnixMicro(), user: c.User, key: c.Key, api: c.API, model: c.Model, provider: c.Provider,
		status: int64(c.Status), error: c.Error, cancelled: bit(c.Cancelled), settled: bit(c.Settled), cost: int64(c.Cost), details: []byte(details)}
}

func TestDetailsKeepEveryField(t *testing.T) {
	t.Parallel()
	var full ledger.Item
	var n int64
	fill(reflect.ValueOf(&full).Elem(), &n)
	odd := full
	odd.Call.Lines = []usage.Line{{Kind: 200, Quantity: -1, Price: -5}}
	odd.Call.Usage = usage.Usage{Prompt: usage.Of(0), Completion: usage.Count{N: 7}}
	for name, it := range map[string]ledger.Item{"nothing": {Call: record.Call{At: time.UnixMicro(0).UTC()}}, "all": full, "odd": odd} {
		rec := ledger.AppendRecord(nil, &it)
		var d detailer
		details := d.details(&it, rec)
		if strings.Contains(details, journalMember) {
			t.Errorf("%s: a field is not among the members: %s", name, details)
		}
		got, again, err := storedRow(&it.Call, details).readDetails(nil)
		if err != nil || string(again) != string(rec) {
			t.Fatalf("%s: %v, %s", name, err, details)
		}
		if diff := cmp.Diff(it, got); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}
}

func TestDetailsOfAnotherVersion(t *testing.T) {
	t.Parallel()
	c := record.Call{At: time.UnixMicro(5).UTC(), Model: "v/m", ModelAsked: "v/m", Hold: 10_000, Lines: []usage.Line{{Kind: usage.KindPrompt}}}
	sum := sumOf(ledger.AppendRecord(nil, &ledger.Item{Call: c}))
	it, _, err := storedRow(&c, fmt.Sprintf(`{"later": {"a": [1]}, "hold": 1e-05, "lines": [{"kind": "prompt", "more": null}], "sum": %d}`, sum)).readDetails(nil)
	if err != nil || !cmp.Equal(it.Call, c) {
		t.Errorf("%+v, %v", it, err)
	}
	sum = sumOf(ledger.AppendRecord(nil, &ledger.Item{}))
	if _, _, err := (&stored{at: (time.Time{}).UnixMicro(), details: []byte(fmt.Sprintf(`{"sum": %d}`, sum))}).readDetails(nil); err != nil {
		t.Fatal(err)
	}
	for _, bad := range []string{``, `[]`, `{`, `{"hold": "x"}`, `{"finish": 1}`, `{"finish": "a", "finish": "a"}`, `{"lines": {}}`, `{"lines": [{"kind": "soup"}]}`, `{"usage": {"prompt": "1"}}`, `{"journal": "!"}`, `{"journal": ""}`, `{"finish": "a"}`} {
		if strings.HasPrefix(bad, "{\"") {
			bad = fmt.Sprintf(`{"sum": %d, %s`, sum, bad[1:])
		}
		if it, _, err := (&stored{at: (time.Time{}).UnixMicro(), details: []byte(bad)}).readDetails(nil); err == nil {
			t.Errorf("%s was read as %+v", bad, it)
		}
	}
}

// A row whose columns were changed does not pass for the call.
func TestDetailsFitTheirRow(t *testing.T) {
	t.Parallel()
	it := ledger.Item{Call: record.Call{At: time.UnixMicro(5).UTC(), Generation: "gen-1", Wallet: "wal_1", User: "usr_1", Model: "v/m", ModelAsked: "v/m", Cost: 7, Settled: true}}
	var d detailer
	details := d.details(&it, ledger.AppendRecord(nil, &it))
	for name, change := range map[string]func(*stored){
		"": func(*stored) {}, "cost": func(r *stored) { r.cost++ }, "settled": func(r *stored) { r.settled = 0 }, "at": func(r *stored) { r.at++ },
		"user": func(r *stored) { r.user = "usr_2" }, "status": func(r *stored) { r.status = 500 }, "model": func(r *stored) { r.model = "v/n" },
	} {
		r := storedRow(&it.Call, details)
		change(r)
		if _, _, err := r.readDetails(nil); (err == nil) != (name == "") {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// What JSON cannot have is kept as the journal had it.
func TestDetailsThatAreNoJSON(t *testing.T) {
	t.Parallel()
	for _, it := range []ledger.Item{
		{Call: record.Call{ProviderName: "a\x00b"}}, {Call: record.Call{Title: "\xff"}}, {Call: record.Call{At: time.UnixMicro(1 << 60).UTC()}},
		{Call: record.Call{Candidates: []record.Candidate{{Score: negativeZero}}}},
	} {
		rec := ledger.AppendRecord(nil, &it)
		var d detailer
		details := d.details(&it, rec)
		if strings.Contains(details, `\u0000`) {
			t.Errorf("PostgreSQL refuses %s", details)
		}
		if _, again, err := storedRow(&it.Call, details).readDetails(nil); err != nil || string(again) != string(rec) {
			t.Errorf("%v, %s", err, details)
		}
	}
}

var negativeZero = math.Copysign(0, -1)
