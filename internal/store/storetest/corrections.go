package storetest

import (
	"context"
	"fmt"
	"math"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"weir/internal/apikey"
	"weir/internal/audit"
	"weir/internal/fault"
	"weir/internal/ledger"
	"weir/internal/money"
	"weir/internal/record"
)

// wantFault checks the kind of an error and the field that it is about.
func wantFault(t *testing.T, what string, err error, kind fault.Kind, param string) {
	t.Helper()
	if !fault.Is(err, kind) || fault.From(err).Param != param {
		t.Errorf("%s: %v (%s); want %s of %q", what, err, fault.From(err).Param, kind, param)
	}
}

// adjustedOnce: the same reference adjusts once, also in concurrent calls, and with other content it is refused.
func adjustedOnce(t *testing.T, d *books) {
	w, other := d.wallet(5*ruble), d.wallet(5*ruble)
	b := d.node()
	a := ledger.Adjustment{Wallet: w, ID: "INC-1", Amount: -5 * ruble, Reason: "counted twice", Actor: actor}
	first, err := b.Adjust(d.ctx, a)
	if err != nil {
		t.Fatal(err)
	}
	d.clock.Advance(time.Hour)
	again := a
	again.Actor = audit.Actor{Name: "somebody else"}
	second, err := b.Adjust(d.ctx, again) // there is nothing left to take, and it does not matter
	if first.Repeated = true; err != nil || cmp.Diff(first, second) != "" {
		t.Errorf("repeated: %v, %s", err, cmp.Diff(first, second))
	}
	for param, change := range map[string]func(*ledger.Adjustment){
		"amount": func(a *ledger.Adjustment) { a.Amount-- }, "user": func(a *ledger.Adjustment) { a.Wallet = other }, "reason": func(a *ledger.Adjustment) { a.Reason = "another" },
	} {
		x := a
		change(&x)
		_, err := b.Adjust(d.ctx, x)
		wantFault(t, "another "+param, err, fault.Conflict, param)
	}
	for what, c := range map[string]struct {
		a     ledger.Adjustment
		param string
	}{
		"zero":                       {ledger.Adjustment{Wallet: w, ID: "x", Reason: "r"}, "amount"},
		"the least there is":         {ledger.Adjustment{Wallet: w, ID: "x", Reason: "r", Amount: math.MinInt64, BelowZero: true}, "amount"},
		"the most there is":          {ledger.Adjustment{Wallet: w, ID: "x", Reason: "r", Amount: math.MaxInt64}, "amount"},
		"above the bound":            {ledger.Adjustment{Wallet: w, ID: "x", Reason: "r", Amount: ledger.MaxPosting + 1}, "amount"},
		"below the bound":            {ledger.Adjustment{Wallet: w, ID: "x", Reason: "r", Amount: -ledger.MaxPosting - 1, BelowZero: true}, "amount"},
		"a blank reason":             {ledger.Adjustment{Wallet: w, ID: "x", Reason: " \t", Amount: 1}, "reason"},
		"no reference":               {ledger.Adjustment{Wallet: w, Reason: "r", Amount: 1}, "reference"},
		"a reference that is no one": {ledger.Adjustment{Wallet: w, ID: "a\nb", Reason: "r", Amount: 1}, "reference"},
	} {
		_, err := b.Adjust(d.ctx, c.a)
		wantFault(t, what, err, fault.Invalid, c.param)
	}
	if _, err := b.Adjust(d.ctx, ledger.Adjustment{Wallet: "wal_none", ID: "x", Reason: "r", Amount: 1}); !fault.Is(err, fault.NotFound) {
		t.Errorf("no wallet: %v", err)
	}
	fresh := d.atOnce(8, func(int) (ledger.Posted, error) {
		return ledger.Adjust(d.ctx, d.store.Ledger, ledger.Adjustment{Wallet: other, ID: "race", Amount: -5 * ruble, Reason: "r", Actor: actor}, d.clock.Now())
	}, fault.Internal)
	if fresh != 1 {
		t.Errorf("adjusted %d times", fresh)
	}
	d.wantBalance(d.store.Ledger, w, 0, 0, 0)
	d.wantBalance(d.store.Ledger, other, 0, 0, 0)
	d.balanced()
}

// atOnce posts n times at once, and counts the new postings. Errors of that kind are expected.
func (d *books) atOnce(n int, post func(i int) (ledger.Posted, error), expected fault.Kind) (fresh int) {
	d.t.Helper()
	var wg sync.WaitGroup
	var mu sync.Mutex
	for i := range n {
		wg.Go(func() {
			p, err := post(i)
			mu.Lock()
			defer mu.Unlock()
			switch {
			case err == nil && !p.Repeated:
				fresh++
			case err != nil && (expected == fault.Internal || !fault.Is(err, expected)):
				d.t.Error(err)
			}
		})
	}
	wg.Wait()
	return fresh
}

// belowZero: a correction takes more than the balance only when it says so, and holds stay.
func belowZero(t *testing.T, d *books) {
	w := d.wallet(5 * ruble)
	b, other := d.node(), d.node()
	h, k := d.hold(b, w, 2*ruble), d.hold(other, w, ruble)
	adjust := func(b *ledger.Book, id string, n money.Nano, below bool) error {
		_, err := b.Adjust(d.ctx, ledger.Adjustment{Wallet: w, ID: id, Amount: n, Reason: "chargeback", BelowZero: below, Actor: actor})
		return err
	}
	wantFault(t, "what is held", adjust(b, "a", -5*ruble, false), fault.Unprocessable, "amount")
	if err := adjust(b, "a", -12*ruble, true); err != nil {
		t.Fatal(err)
	}
	d.balanced()
	f := d.refused(b, ledger.HoldRequest{Wallet: w, Amount: 1})
	if f.Kind != fault.PaymentRequired {
		t.Errorf("a new hold: %v", f)
	}
	if err := k.Grow(d.ctx, ruble); !fault.Is(err, fault.PaymentRequired) || k.Amount() != ruble {
		t.Errorf("a hold of %s grows: %v", k.Amount(), err)
	}
	d.settle(b, h, w, 2*ruble)
	d.settle(other, k, w, ruble/2)
	for range 3 { // leases go back, and others are asked for, as ever
		d.clock.Advance(time.Minute)
		d.tick(b)
		d.tick(other)
	}
	d.wantBalance(b, w, -7*ruble, 5*ruble/2, 0)
	if err := adjust(b, "back", 10*ruble, false); err != nil {
		t.Fatal(err)
	}
	d.hold(other, w, ruble/2).Release()
	if err := adjust(b, "lowest", -ledger.MaxPosting, true); err != nil { // 0.5 rubles above the lowest balance
		t.Fatal(err)
	}
	wantFault(t, "below the lowest balance", adjust(b, "lower", -ruble, true), fault.Unprocessable, "amount")
	d.balanced()
}

// charge is a call of a key that was charged that much.
func (d *books) charge(b *ledger.Book, w, key string, cost money.Nano) *record.Call {
	d.t.Helper()
	c := d.call(w, key, cost)
	if err := b.Settle(d.ctx, d.hold(b, w, cost), c); err != nil {
		d.t.Fatal(err)
	}
	return c
}

func (d *books) refund(b *ledger.Book, c *record.Call, id string, n money.Nano) (ledger.Posted, error) {
	return b.GiveBack(d.ctx, ledger.Refund{Generation: c.Generation, ID: id, Amount: n, Reason: "a broken answer", Actor: actor})
}

func refunds(t *testing.T, d *books) {
	w := d.wallet(100 * ruble)
	b := d.node()
	c, other := d.charge(b, w, "", 10*ruble), d.charge(b, w, "", 10*ruble)
	part, err := d.refund(b, c, "T-1", 3*ruble)
	if err != nil || part.Wallet != w || part.Amount != 3*ruble || part.Generation() != c.Generation || part.Reference() != "T-1" || part.Actor != actor.Name {
		t.Fatalf("%+v, %v", part, err)
	}
	d.clock.Advance(time.Hour)
	part.Repeated = true
	if again, err := d.refund(b, c, "T-1", 3*ruble); err != nil || cmp.Diff(part, again) != "" {
		t.Errorf("repeated: %v, %s", err, cmp.Diff(part, again))
	}
	_, err = d.refund(b, c, "T-1", 3*ruble-1)
	wantFault(t, "another amount", err, fault.Conflict, "amount")
	_, err = d.refund(b, c, "T-1", 0)
	wantFault(t, "the rest, after a part", err, fault.Conflict, "amount")
	_, err = d.refund(b, other, "T-1", 3*ruble)
	wantFault(t, "another generation", err, fault.Conflict, "generation")
	_, err = b.GiveBack(d.ctx, ledger.Refund{Generation: c.Generation, ID: "T-1", Amount: 3 * ruble, Reason: "another", Actor: actor})
	wantFault(t, "another reason", err, fault.Conflict, "reason")
	_, err = d.refund(b, c, "T-2", 7*ruble+1)
	wantFault(t, "more than is left", err, fault.Unprocessable, "amount")
	rest, err := d.refund(b, c, "T-2", 0)
	if err != nil || rest.Amount != 7*ruble {
		t.Errorf("the rest: %+v, %v", rest, err)
	}
	for _, n := range []money.Nano{0, 7 * ruble} {
		if again, err := d.refund(b, c, "T-2", n); err != nil || !again.Repeated || again.Amount != 7*ruble {
			t.Errorf("the rest, repeated as %s: %+v, %v", n, again, err)
		}
	}
	_, err = d.refund(b, c, "T-3", 0)
	wantFault(t, "when all is refunded", err, fault.Unprocessable, "generation")
	_, err = d.refund(b, c, "T-3", 1)
	wantFault(t, "one more", err, fault.Unprocessable, "generation")
	for what, r := range map[string]struct {
		r     ledger.Refund
		param string
	}{
		"a negative amount":  {ledger.Refund{Generation: other.Generation, ID: "x", Reason: "r", Amount: -1}, "amount"},
		"the least there is": {ledger.Refund{Generation: other.Generation, ID: "x", Reason: "r", Amount: math.MinInt64}, "amount"},
		"above the bound":    {ledger.Refund{Generation: other.Generation, ID: "x", Reason: "r", Amount: ledger.MaxPosting + 1}, "amount"},
		"no reason":          {ledger.Refund{Generation: other.Generation, ID: "x"}, "reason"},
		"no reference":       {ledger.Refund{Generation: other.Generation, Reason: "r"}, "reference"},
		"no generation":      {ledger.Refund{ID: "x", Reason: "r"}, "generation"},
	} {
		_, err := b.GiveBack(d.ctx, r.r)
		wantFault(t, what, err, fault.Invalid, r.param)
	}
	list, err := b.Refunds(d.ctx, w, c.Generation)
	if diff := cmp.Diff([]ledger.Movement{part.Movement, rest.Movement}, list); err != nil || diff != "" {
		t.Errorf("%v, %s", err, diff)
	}
	if list, err := b.Refunds(d.ctx, "wal_other", c.Generation); err != nil || len(list) != 0 {
		t.Errorf("of another wallet: %v, %v", list, err)
	}
	rows, err := b.Activity(d.ctx, w, "", "2026-03-04", "2026-03-04")
	if err != nil || len(rows) != 1 || rows[0].Cost != 20*ruble || rows[0].Refunded != 10*ruble || rows[0].Requests != 2 {
		t.Errorf("activity: %+v, %v", rows, err)
	}
	if x, err := ledger.Explain(d.ctx, d.store.Ledger, w, c.Generation); err != nil || !x.Matches || len(x.Refunds) != 2 {
		t.Errorf("%+v, %v", x, err)
	}
	d.wantBalance(b, w, 110*ruble, 20*ruble, 0)
	d.balanced()
}

// refundsAtOnce: the concurrent refunds of two nodes never exceed the charge.
func refundsAtOnce(t *testing.T, d *books) {
	w := d.wallet(100 * ruble)
	books := []*ledger.Book{d.node(), d.node()}
	c := d.charge(books[0], w, "", 10*ruble)
	d.flush(books[0])
	given := d.atOnce(8, func(i int) (ledger.Posted, error) { return d.refund(books[i%2], c, fmt.Sprint("part-", i), 3*ruble) }, fault.Unprocessable)
	if given != 3 {
		t.Errorf("3 rubles of 10 were refunded %d times", given)
	}
	whole := d.charge(books[0], w, "", 10*ruble)
	d.flush(books[0])
	if given := d.atOnce(8, func(i int) (ledger.Posted, error) { return d.refund(books[i%2], whole, fmt.Sprint("whole-", i), 0) }, fault.Unprocessable); given != 1 {
		t.Errorf("all was refunded %d times", given)
	}
	same := d.charge(books[0], w, "", 10*ruble)
	d.flush(books[0])
	if given := d.atOnce(8, func(i int) (ledger.Posted, error) {
		return d.refund(books[i%2], same, "same", []money.Nano{0, 10 * ruble}[i%2])
	}, fault.Internal); given != 1 {
		t.Errorf("one reference refunded %d times", given)
	}
	d.wantBalance(books[0], w, 129*ruble, 30*ruble, 0)
	d.balanced()
}

// manyRefunds checks that all refunds of a call count, of which the store reads a hundred at a time.
func manyRefunds(t *testing.T, d *books) {
	w := d.wallet(5 * ruble)
	b := d.node()
	c := d.charge(b, w, "", ruble)
	d.flush(b)
	const parts = 205
	for i := range parts {
		if _, err := d.refund(b, c, fmt.Sprint("part-", i), 1); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := d.refund(b, c, "too much", ruble-parts+1); !fault.Is(err, fault.Unprocessable) {
		t.Errorf("more than is left: %v", err)
	}
	rest, err := d.refund(b, c, "the rest", 0)
	if err != nil || rest.Amount != ruble-parts {
		t.Errorf("the rest is %d, %v", rest.Amount, err)
	}
	all, err := d.store.Ledger.Refunds(d.ctx, w, c.Generation)
	if err != nil || len(all) != parts+1 || all[0].Reference() != "part-0" || all[100].Reference() != "part-100" || all[parts].Reference() != "the rest" {
		t.Errorf("%d refunds, %v", len(all), err)
	}
	d.balanced()
}

// refundedKey: the limit of a key regains the refund of a call in the same interval, and of no other.
func refundedKey(t *testing.T, d *books) {
	w := d.wallet(100 * ruble)
	b := d.node()
	limit := []ledger.Limit{{ID: "key_1", Amount: 10 * ruble, Reset: ledger.Daily}}
	spend := func(n money.Nano) *record.Call {
		t.Helper()
		h, err := b.Hold(d.ctx, ledger.HoldRequest{Wallet: w, Key: "key_1", Limits: limit, Amount: n})
		if err != nil {
			t.Fatal(err)
		}
		c := d.call(w, "key_1", n)
		if err := b.Settle(d.ctx, h, c); err != nil {
			t.Fatal(err)
		}
		return c
	}
	full := func() {
		t.Helper()
		if f := d.refused(b, ledger.HoldRequest{Wallet: w, Key: "key_1", Limits: limit, Amount: 1}); f.Details["reason"] != "key_limit" {
			t.Errorf("%v", f.Details)
		}
	}
	today := spend(10 * ruble)
	full()
	if _, err := d.refund(b, today, "1", 4*ruble); err != nil {
		t.Fatal(err)
	}
	spend(4 * ruble)
	full()
	want := ledger.KeySpend{Total: 10 * ruble, Daily: 10 * ruble, Weekly: 10 * ruble, Monthly: 10 * ruble}
	if got, err := b.KeySpend(d.ctx, "key_1"); err != nil || got != want {
		t.Errorf("%+v, %v", got, err)
	}
	d.clock.Advance(24 * time.Hour)
	d.tick(b)
	spend(10 * ruble)
	full()
	if _, err := d.refund(b, today, "2", 0); err != nil { // of yesterday
		t.Fatal(err)
	}
	full()
	want = ledger.KeySpend{Total: 14 * ruble, Daily: 10 * ruble, Weekly: 14 * ruble, Monthly: 14 * ruble}
	if got, err := b.KeySpend(d.ctx, "key_1"); err != nil || got != want {
		t.Errorf("%+v, %v", got, err)
	}
	if rows, err := b.Activity(d.ctx, w, "key_1", "2026-03-04", "2026-03-05"); err != nil || len(rows) != 2 || rows[0].Refunded != 0 || rows[1].Refunded != 10*ruble || rows[1].Cost != 14*ruble {
		t.Errorf("%+v, %v", rows, err)
	}
	d.balanced()
}

// resetSpending: a limit counts from a reset on, at once and on all nodes, whatever its interval is; what was spent stays, the books agree, and a refund
// of a call from before makes no limit larger than it is.
func resetSpending(t *testing.T, d *books) {
	for _, reset := range []ledger.Reset{ledger.Never, ledger.Daily, ledger.Weekly, ledger.Monthly} {
		w := d.wallet(100 * ruble)
		user := "usr_" + strings.TrimPrefix(w, "wal_")
		k := mustKey(t, d.store, user, func(n *apikey.NewKey) { n.Limit = &apikey.Limit{Amount: 10 * ruble, Reset: apikey.Reset(reset)} })
		limit := []ledger.Limit{{ID: k.ID, Amount: 10 * ruble, Reset: reset}}
		one, two := d.node(), d.node()
		spend := func(b *ledger.Book, n money.Nano) *record.Call {
			t.Helper()
			h, err := b.Hold(d.ctx, ledger.HoldRequest{Wallet: w, Key: k.ID, Limits: limit, Amount: n})
			if err != nil {
				t.Fatal(err)
			}
			c := d.call(w, k.ID, n)
			if err := b.Settle(d.ctx, h, c); err != nil {
				t.Fatal(err)
			}
			return c
		}
		full := func() {
			t.Helper()
			for _, b := range []*ledger.Book{one, two} {
				if f := d.refused(b, ledger.HoldRequest{Wallet: w, Key: k.ID, Limits: limit, Amount: 1}); f.Details["reason"] != "key_limit" {
					t.Errorf("%v", f.Details)
				}
			}
		}
		again := func(counted money.Nano) {
			t.Helper()
			for _, b := range []*ledger.Book{one, two} {
				if _, err := b.KeySpend(d.ctx, k.ID); err != nil {
					t.Fatal(err)
				}
			}
			e := audit.Event{Actor: actor, Action: audit.KeyReset, Target: k.ID, After: "why"}
			if _, err := d.store.Accounts.ResetSpending(d.ctx, user, k.Hash, d.clock.Now(), e); err != nil {
				t.Fatal(err)
			}
			rows, err := d.store.Accounts.AuditFound(d.ctx, audit.Search{Action: audit.KeyReset, Limit: 1})
			if err != nil || len(rows) != 1 || rows[0].Before != counted.String() || rows[0].After != "why" {
				t.Errorf("%+v, %v", rows, err)
			}
		}
		first := spend(one, 10*ruble)
		full()
		again(10 * ruble)
		spend(two, 10*ruble) // where it was refused just now
		full()
		if _, err := d.refund(one, first, k.ID, 0); err != nil {
			t.Fatal(err)
		}
		got, err := two.KeySpend(d.ctx, k.ID)
		if err != nil || got.Total != 10*ruble || got.Counted(reset) < 0 || got.Counted(reset) > 10*ruble {
			t.Errorf("%+v, %v", got, err)
		}
		again(got.Counted(reset))
		spend(one, 10*ruble)
		full()
		_, err = d.store.Accounts.ResetSpending(d.ctx, "usr_other", k.Hash, d.clock.Now(), event(audit.KeyReset))
		wantKind(t, err, fault.NotFound)
		full()
		d.balanced()
	}
}

// noCharge: a call that runs, one that cost nothing, one that was set aside.
func noCharge(t *testing.T, d *books) {
	w := d.wallet(100 * ruble)
	b := d.node()
	running := d.call(w, "", ruble)
	h := d.hold(b, w, ruble)
	_, err := d.refund(b, running, "1", 0)
	wantFault(t, "a running call", err, fault.NotFound, "generation")
	if err := b.Settle(d.ctx, h, running); err != nil {
		t.Fatal(err)
	}
	_, err = ledger.GiveBack(d.ctx, d.store.Ledger, ledger.Refund{Generation: running.Generation, ID: "1", Reason: "r", Actor: actor}, d.clock.Now())
	wantFault(t, "a charge that is in a journal alone", err, fault.NotFound, "generation")
	if p, err := d.refund(b, running, "1", 0); err != nil || p.Amount != ruble {
		t.Errorf("the node that has the journal: %+v, %v", p, err)
	}
	noted := d.call(w, "", 0)
	b.Note(noted)
	_, err = d.refund(b, noted, "2", 0)
	wantFault(t, "an uncharged call", err, fault.Unprocessable, "generation")
	free := d.charge(b, w, "", 0)
	_, err = d.refund(b, free, "2", 0)
	wantFault(t, "a call that cost nothing", err, fault.Unprocessable, "generation")

	bad := d.call(w, "", 3*ruble)
	for i, node := range []string{"node_a", "node_b"} {
		if _, err := d.store.Ledger.Position(d.ctx, node); err != nil {
			t.Fatal(err)
		}
		a := &ledger.Aside{Node: node, Position: 100, Generation: bad.Generation, Wallet: w, Cost: bad.Cost, Reason: "test", Record: ledger.Encode(ledger.Item{Call: *bad}).Record, At: d.clock.Now()}
		if _, err := d.store.Ledger.SetAside(d.ctx, "", 0, a); err != nil {
			t.Fatal(err)
		}
		_, err = d.refund(b, bad, "3", 0)
		wantFault(t, "a call that was set aside", err, fault.Unprocessable, "generation")
		waiting, err := d.store.Ledger.Asides(d.ctx)
		if err != nil || len(waiting) != 1 {
			t.Fatal(waiting, err)
		}
		if i == 0 {
			err = d.store.Ledger.DismissAside(d.ctx, waiting[0].ID, "nonsense", actor, d.clock.Now())
			_, refused := d.refund(b, bad, "3", 0)
			wantFault(t, "a call that was dismissed", refused, fault.Unprocessable, "generation")
		} else {
			err = d.store.Ledger.PostAside(d.ctx, waiting[0].ID, actor, d.clock.Now())
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if p, err := d.refund(b, bad, "3", 0); err != nil || p.Amount != 3*ruble {
		t.Errorf("when it was posted: %+v, %v", p, err)
	}
	d.wantBalance(b, w, 104*ruble, 4*ruble, 0)
	d.balanced()
}

// statement: movements other than calls of one wallet, the newest first, page by page.
func statement(t *testing.T, d *books) {
	w, other := d.wallet(0), d.wallet(50*ruble)
	b := d.node()
	d.charge(b, other, "", ruble)
	top, err := ledger.Credit(d.ctx, d.store.Ledger, ledger.TopUp{Wallet: w, Source: "bank", ExternalID: "topup:9", Amount: 20 * ruble, Actor: actor}, d.clock.Now())
	if err != nil {
		t.Fatal(err)
	}
	c := d.charge(b, w, "", 5*ruble)
	adjusted, err := b.Adjust(d.ctx, ledger.Adjustment{Wallet: w, ID: ":a b", Amount: -2 * ruble, Reason: "by mistake", Actor: actor})
	if err != nil {
		t.Fatal(err)
	}
	back, err := d.refund(b, c, "T-1", 0)
	if err != nil {
		t.Fatal(err)
	}
	d.charge(b, w, "", ruble)
	d.flush(b)
	var got []ledger.Movement
	for before := int64(math.MaxInt64); ; {
		page, err := b.Statement(d.ctx, w, before, 2)
		if err != nil {
			t.Fatal(err)
		}
		if len(page) == 0 {
			break
		}
		got = append(got, page...)
		before = page[len(page)-1].Transaction
	}
	for what, wanted := range map[string]ledger.Movement{
		"topup:9": top.Movement, top.Ref: top.Movement, strconv.FormatInt(top.Transaction, 10): top.Movement, ":a b": adjusted.Movement, "T-1": back.Movement,
	} {
		found, err := d.store.Ledger.Transaction(d.ctx, what)
		if err != nil || found.ID != wanted.Transaction || len(found.Entries) != 2 || found.Entries[0].Amount+found.Entries[1].Amount != 0 || found.Others != 0 {
			t.Errorf("%s: %+v, %v", what, found, err)
		}
	}
	settled, err := d.store.Ledger.Transaction(d.ctx, c.Generation)
	if err != nil || len(settled.Entries) != 2 || settled.Entries[0].Account != ledger.WalletAccount+w || settled.Entries[0].Amount != -5*ruble ||
		settled.Entries[0].Amount+settled.Entries[1].Amount+settled.Others != 0 {
		t.Errorf("%+v, %v", settled, err)
	}
	if whole, err := d.store.Ledger.Transaction(d.ctx, strconv.FormatInt(settled.ID, 10)); err != nil || len(whole.Entries) != 1 || whole.Entries[0].Amount+whole.Others != 0 {
		t.Errorf("%+v, %v", whole, err)
	}
	for _, what := range []string{"", "0", "-5", "topup:", "gen-", "gen-1", "gen-0000000000-1", "'; --", strings.Repeat("9", 40), "nothing"} {
		_, err := d.store.Ledger.Transaction(d.ctx, what)
		wantFault(t, what, err, fault.NotFound, "")
	}
	want := []ledger.Movement{back.Movement, adjusted.Movement, top.Movement}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Fatal(diff)
	}
	for i, m := range []struct{ reference, source, generation string }{{"T-1", "", c.Generation}, {":a b", "", ""}, {"topup:9", "bank", ""}} {
		if got[i].Reference() != m.reference || got[i].Source() != m.source || got[i].Generation() != m.generation {
			t.Errorf("%d: %q, %q, %q", i, got[i].Reference(), got[i].Source(), got[i].Generation())
		}
	}
	d.balanced()
}

// adjust corrects a wallet on a node; sometimes it is repeated, and sometimes with another amount.
func (m *model) adjust(t *rapid.T) {
	n, w := m.alive(t), rapid.SampledFrom(m.wallets).Draw(t, "wallet")
	a := ledger.Adjustment{Wallet: w.id, ID: rapid.StringMatching(`[a-f]`).Draw(t, "reference"), Amount: amounts.Draw(t, "amount") - 20, Reason: "r", BelowZero: rapid.Bool().Draw(t, "below zero"), Actor: actor}
	m.flush(n)
	possible := w.credited - w.charged + w.uncovered + m.hidden(w)
	p, err := n.book.Adjust(context.Background(), a)
	before, known := m.posted["adjust "+a.ID]
	switch {
	case a.Amount == 0:
		if !fault.Is(err, fault.Invalid) {
			t.Fatalf("an adjustment of nothing: %v", err)
		}
	case known:
		m.repeated(t, before, p, err, before.Wallet == w.id && before.Amount == a.Amount)
	case err != nil:
		if !fault.Is(err, fault.Unprocessable) || a.Amount > 0 || a.BelowZero {
			t.Fatal(err)
		}
	default:
		if a.Amount < 0 && !a.BelowZero && -a.Amount > possible {
			t.Fatalf("took %s of %s at most", -a.Amount, possible)
		}
		m.posted["adjust "+a.ID] = p.Movement
		w.credited += a.Amount
		if a.Amount < 0 && a.BelowZero { // nodes may still have borrowed what was taken
			w.overrun -= a.Amount
			w.uncovered -= a.Amount
		}
	}
}

// repeated checks the answer to a reference that was posted before.
func (m *model) repeated(t *rapid.T, before ledger.Movement, p ledger.Posted, err error, same bool) {
	switch {
	case same && (err != nil || !p.Repeated || cmp.Diff(before, p.Movement) != ""):
		t.Fatalf("repeated: %v, %s", err, cmp.Diff(before, p.Movement))
	case !same && !fault.Is(err, fault.Conflict):
		t.Fatalf("something else under the same reference: %v", err)
	}
}

// refund gives back a settled call or a part of it, on any node: whether its charge is in the store by then or not.
func (m *model) refund(t *rapid.T) {
	if len(m.settled) == 0 {
		t.Skip("nothing settled")
	}
	n, it := m.alive(t), rapid.SampledFrom(m.settled).Draw(t, "settled")
	c := &it.Call
	reference := rapid.StringMatching(`[a-f]`).Draw(t, "reference")
	amount := money.Nano(rapid.IntRange(0, int(c.Cost)+1).Draw(t, "amount"))
	m.flush(n)
	_, _, missing := m.desk.store.Ledger.Call(context.Background(), c.Wallet, c.Generation)
	rest := func(before int64) money.Nano {
		left := c.Cost
		for _, p := range m.posted {
			if p.Generation() == c.Generation && p.Transaction < before {
				left -= p.Amount
			}
		}
		return left
	}
	p, err := n.book.GiveBack(context.Background(), ledger.Refund{Generation: c.Generation, ID: reference, Amount: amount, Reason: "r", Actor: actor})
	before, known := m.posted["refund "+reference]
	switch left := rest(math.MaxInt64); {
	case missing != nil:
		if !fault.Is(err, fault.NotFound) {
			t.Fatalf("a charge that only a journal has: %v", err)
		}
	case c.Cost == 0:
		if !fault.Is(err, fault.Unprocessable) {
			t.Fatalf("a call that cost nothing: %v", err)
		}
	case known:
		if amount == 0 && before.Generation() == c.Generation {
			amount = rest(before.Transaction)
		}
		m.repeated(t, before, p, err, before.Generation() == c.Generation && before.Amount == amount)
	case left == 0 || amount > left:
		if !fault.Is(err, fault.Unprocessable) {
			t.Fatalf("%s of %s left: %v", amount, left, err)
		}
	case err != nil || p.Amount != amount && (amount != 0 || p.Amount != left):
		t.Fatalf("%s of %s: %+v, %v", amount, left, p, err)
	default:
		m.posted["refund "+reference] = p.Movement
		for _, w := range m.wallets {
			if w.id == c.Wallet {
				w.credited += p.Amount
				for i := range w.keys {
					if w.keys[i].id == c.Key {
						w.keys[i].spent[c.At.Format(time.DateOnly)] -= p.Amount
					}
				}
			}
		}
	}
}
