package store

import (
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
		got, again, err := readDetails([]byte(details), nil)
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
	it, _, err := readDetails([]byte(`{"later": {"a": [1]}, "model": "v/m", "cost": 1e-05, "lines": [{"kind": "prompt", "more": null}]}`), nil)
	if err != nil || it.Call.Model != "v/m" || it.Call.Cost != 10_000 || it.Call.Lines[0].Kind != usage.KindPrompt {
		t.Errorf("%+v, %v", it, err)
	}
	for _, bad := range []string{``, `[]`, `{`, `{"cost": "x"}`, `{"model": 1}`, `{"model": "a", "model": "b"}`, `{"lines": {}}`, `{"lines": [{"kind": "soup"}]}`, `{"usage": {"prompt": "1"}}`, `{"at": "yesterday"}`, `{"journal": "!"}`, `{"journal": ""}`} {
		if it, _, err := readDetails([]byte(bad), nil); err == nil {
			t.Errorf("%s was read as %+v", bad, it)
		}
	}
}

// What JSON cannot have is kept as the journal had it.
func TestDetailsThatAreNoJSON(t *testing.T) {
	t.Parallel()
	for _, it := range []ledger.Item{
		{Call: record.Call{Model: "a\x00b"}}, {Call: record.Call{Title: "\xff"}}, {Call: record.Call{At: time.UnixMicro(1 << 60).UTC()}},
		{Call: record.Call{Candidates: []record.Candidate{{Score: negativeZero}}}},
	} {
		rec := ledger.AppendRecord(nil, &it)
		var d detailer
		details := d.details(&it, rec)
		if strings.Contains(details, `\u0000`) {
			t.Errorf("PostgreSQL refuses %s", details)
		}
		if _, again, err := readDetails([]byte(details), nil); err != nil || string(again) != string(rec) {
			t.Errorf("%v, %s", err, details)
		}
	}
}

var negativeZero = math.Copysign(0, -1)
