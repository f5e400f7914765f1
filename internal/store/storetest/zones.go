package storetest

import (
	"strings"
	"testing"
	"time"

	"weir/internal/account"
	"weir/internal/audit"
	"weir/internal/fault"
	"weir/internal/ledger"
	"weir/internal/zone"
)

func (d *books) setZone(wallet, name string) (zone.History, error) {
	return d.store.Accounts.SetZone(d.ctx, wallet, name, d.clock.Now(), audit.Event{Actor: actor, Action: audit.UserTimezone, Target: wallet, After: name})
}

// zoneDays: the daily limit of a key and the days of activity follow the account's clock from the midnight on that it was promised, also at a
// node that has known the account before. The books agree.
func zoneDays(t *testing.T, d *books) {
	w := d.wallet(100 * ruble)
	b := d.node()
	limit := []ledger.Limit{{ID: "key_1", Amount: 3 * ruble, Reset: ledger.Daily}}
	ask := ledger.HoldRequest{Wallet: w, Key: "key_1", Limits: limit, Amount: ruble}
	spend := func() {
		t.Helper()
		h, err := b.Hold(d.ctx, ask)
		if err != nil {
			t.Fatal(err)
		}
		if err := b.Settle(d.ctx, h, d.call(w, "key_1", 3*ruble)); err != nil {
			t.Fatal(err)
		}
		if f := d.refused(b, ask); f.Details["reason"] != "key_limit" {
			t.Fatalf("%+v", f)
		}
	}
	spend() // on 4 March, 12:00
	h, err := d.setZone(w, "Europe/Moscow")
	if err != nil || len(h) != 1 || !h[0].Since.Equal(time.Date(2026, 3, 4, 21, 0, 0, 0, time.UTC)) {
		t.Fatalf("%+v, %v", h, err)
	}
	d.clock.Advance(9*time.Hour - time.Second)
	d.tick(b)
	if f := d.refused(b, ask); f.Details["reason"] != "key_limit" {
		t.Fatalf("a second before midnight in Moscow: %+v", f)
	}
	d.clock.Advance(time.Second)
	d.tick(b)
	spend()                        // on 5 March in Moscow, 4 March of UTC
	d.clock.Advance(3 * time.Hour) // 5 March of UTC begins
	d.tick(b)
	if f := d.refused(b, ask); f.Details["reason"] != "key_limit" {
		t.Fatalf("at midnight of UTC: %+v", f)
	}
	rows, err := b.Activity(d.ctx, w, "", "2026-03-04", "2026-03-05")
	if err != nil || len(rows) != 2 || rows[0].Date != "2026-03-05" || rows[0].Cost != 3*ruble || rows[1].Cost != 3*ruble {
		t.Fatalf("%+v, %v", rows, err)
	}
	got, err := b.KeySpend(d.ctx, "key_1")
	if want := (ledger.KeySpend{Total: 6 * ruble, Daily: 3 * ruble, Weekly: 6 * ruble, Monthly: 6 * ruble}); err != nil || got != want {
		t.Fatalf("%+v, %v", got, err)
	}
	d.flush(b)
	d.balanced()
}

// accountZones: what is chosen replaces what does not hold yet, the present zone takes that back, and there are bounds.
func accountZones(t *testing.T, d *books) {
	w := d.wallet(0)
	names := func(h zone.History) string {
		all := make([]string, len(h))
		for i, c := range h {
			all[i] = c.Name
		}
		return strings.Join(all, " ")
	}
	for _, step := range []struct {
		zone, all string
		after     time.Duration
		wrong     fault.Kind
	}{
		{zone: "Europe/Moscow", all: "Europe/Moscow"},
		{zone: "Asia/Tokyo", all: "Asia/Tokyo"},
		{zone: "UTC"},
		{zone: "Europe/Moscow", all: "Europe/Moscow"},
		{zone: "Asia/Tokyo", after: 8*time.Hour + time.Minute, all: "Europe/Moscow Asia/Tokyo"}, // in less than an hour it holds, and nodes know it
		{zone: "UTC", all: "Europe/Moscow UTC"},
		{zone: "Pacific/Kiritimati", all: "Europe/Moscow Pacific/Kiritimati"},
		{zone: "Nowhere", after: 48 * time.Hour, wrong: fault.Invalid},
		{zone: "Pacific/Pago_Pago", wrong: fault.Invalid},
		{zone: "UTC", all: "Europe/Moscow Pacific/Kiritimati UTC"},
		{zone: "Pacific/Kiritimati", all: "Europe/Moscow Pacific/Kiritimati"},
	} {
		d.clock.Advance(step.after)
		h, err := d.setZone(w, step.zone)
		if step.wrong != 0 {
			if !fault.Is(err, step.wrong) {
				t.Errorf("%s: %v", step.zone, err)
			}
			continue
		}
		if err != nil || names(h) != step.all {
			t.Errorf("after %s: %q, %v", step.zone, names(h), err)
		}
		if kept, err := d.store.Ledger.Zones(d.ctx, w); err != nil || names(kept) != step.all {
			t.Errorf("after %s it has %q, %v", step.zone, names(kept), err)
		}
	}
	if _, err := d.setZone("wal_none", "UTC"); !fault.Is(err, fault.NotFound) {
		t.Errorf("no wallet: %v", err)
	}
	for i := range account.MostZones - 1 {
		d.clock.Advance(48 * time.Hour)
		if _, err := d.setZone(w, []string{"UTC", "Europe/Moscow"}[i%2]); fault.Is(err, fault.Conflict) != (i == account.MostZones-2) {
			t.Fatalf("change %d: %v", i, err)
		}
	}
}
