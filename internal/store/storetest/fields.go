package storetest

import (
	"fmt"
	"reflect"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"weir/internal/ledger"
	"weir/internal/record"
	"weir/internal/usage"
)

// everyField settles a call that says something in each of its fields: all of it comes back.
func everyField(t *testing.T, d *books) {
	w := d.wallet(10 * ruble)
	b := d.node()
	var want record.Call
	var n int64
	fill(reflect.ValueOf(&want).Elem(), &n)
	want.Wallet, want.Key, want.At, want.Settled = w, "key_1", d.clock.Now().Add(123456*time.Microsecond), true
	var err error
	if want.Cost, err = usage.Total(want.Lines); err != nil || want.Cost == 0 {
		t.Fatal(want.Cost, err)
	}
	given := want
	limits := []ledger.Limit{{ID: want.Funds[0].ID, Amount: want.Cost, Reset: ledger.Weekly}, {ID: want.Funds[1].ID, Open: true}}
	h, err := b.Hold(d.ctx, ledger.HoldRequest{Wallet: w, Key: "key_1", Limits: limits, Amount: want.Cost})
	if err != nil {
		t.Fatal(err)
	}
	if err := b.Settle(d.ctx, h, &given); err != nil {
		t.Fatal(err)
	}
	week := ledger.Weekly.Period(want.At)
	want.Hold, want.Funds = given.Hold, []record.Fund{{ID: limits[0].ID, Kind: week.Kind, Start: week.Start, Lease: b.Epoch()<<32 + 2}, {ID: limits[1].ID, Kind: ledger.PeriodTotal}}
	if err := b.Flush(d.ctx); err != nil {
		t.Fatal(err)
	}
	got, entries, err := d.store.Ledger.Call(d.ctx, w, want.Generation)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(&want, got); diff != "" {
		t.Error(diff)
	}
	if len(entries) != 1 || entries[0].Amount != -want.Cost {
		t.Errorf("entries %+v", entries)
	}
}

// fill gives every field that can be reached from v a different value that is not zero, in the order of the fields.
func fill(v reflect.Value, n *int64) {
	*n++
	switch v.Kind() {
	case reflect.String:
		v.SetString(fmt.Sprintf("%s %d \u2603", v.Type(), *n))
	case reflect.Int, reflect.Int64:
		v.SetInt(*n)
	case reflect.Uint8:
		v.SetUint(uint64(*n%20) + 1)
	case reflect.Float64:
		v.SetFloat(float64(*n) / 3)
	case reflect.Bool:
		v.SetBool(true)
	case reflect.Slice:
		v.Set(reflect.MakeSlice(v.Type(), 2, 2))
		for i := range v.Len() {
			fill(v.Index(i), n)
		}
	case reflect.Struct:
		if v.Type() == reflect.TypeFor[time.Time]() {
			return // set by the caller
		}
		for i := range v.NumField() {
			fill(v.Field(i), n)
		}
	default:
		panic("a record has a field of a kind that this test does not know: " + v.Type().String())
	}
}
