package storetest

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"weir/internal/apikey"
	"weir/internal/batch"
	"weir/internal/fault"
	"weir/internal/preset"
)

// nativeTerms checks that the answer of a provider is read and paid with what its request was made with, whatever has changed since, after a
// restart and on another node, too.
func nativeTerms(t *testing.T, o *batchFixture) {
	for name, change := range map[string]func(c *apikey.Caller){
		"nothing":            func(*apikey.Caller) {},
		"the key is deleted": func(c *apikey.Caller) { o.keys.Delete(c.Key) },
		"the key is another's": func(c *apikey.Caller) {
			o.keys.Store(c.Key, &apikey.Caller{User: "usr_other", Wallet: "wal_other", Key: c.Key})
		},
		"preferences are gone": func(c *apikey.Caller) {
			o.keys.Store(c.Key, &apikey.Caller{User: c.User, Wallet: c.Wallet, Key: c.Key, Hash: c.Hash, Label: c.Label})
		},
		"preferences are others": func(c *apikey.Caller) {
			d := *c
			d.Defaults = &apikey.Defaults{Account: `{"zdr":true}`, Models: []string{"x/y"}}
			o.keys.Store(c.Key, &d)
		},
	} {
		for _, next := range []string{"the same worker", "the same node", "another node"} {
			at := o.clock.Now().UTC().Truncate(time.Microsecond)
			c := *o.author(100 * ruble)
			c.Label, c.Role, c.Strict = "sk-weir-v1-a...bcd", apikey.Operator, true
			c.Defaults = &apikey.Defaults{Account: `{"sort":"price"}`, Key: `{"ignore":["a"]}`, Models: []string{"m/one", "m/*"}}
			o.keys.Store(c.Key, &c)
			was := &preset.Preset{User: c.User, Name: "tone", Description: "d", Version: 3, Content: `{"system":"Be kind."}`, CreatedAt: at, UpdatedAt: at.Add(time.Hour)}

			shop, book := newShop(), o.node()
			var k *clerk
			act := func(do func() error) error { return do() }
			if next != "the same worker" {
				act = func(do func() error) error { // the process is stopped as soon as the provider was asked
					defer func() { go k.Close(o.ctx) }()
					if err := do(); err != nil {
						return err
					}
					return errDead
				}
			}
			shop.during = func() { change(&c) }
			k = o.clerk(book, shop.join(act))
			k.answers.preset = was
			b := k.add(&c, requests(3))
			heir := k
			if next != "the same worker" {
				_ = k.Step(o.ctx, k.answers)
				k.Close(o.ctx)
				if next == "another node" {
					book = o.node()
				}
				heir = o.clerk(book, shop.join(nil))
			}
			paid := 0
			heir.answers.paid = func(call *batch.Call) {
				paid++
				if diff := cmp.Diff(c.Defaults, call.Caller.Defaults); diff != "" {
					t.Errorf("%s, %s: preferences: %s", name, next, diff)
				}
				if diff := cmp.Diff(was, call.Preset); diff != "" {
					t.Errorf("%s, %s: preset: %s", name, next, diff)
				}
				if got := call.Caller; got.User != c.User || got.Wallet != c.Wallet || got.Key != c.Key || got.Hash != c.Hash || got.Label != c.Label || !got.Strict {
					t.Errorf("%s, %s: %+v", name, next, got)
				}
			}
			b = heir.end(b)
			if paid != 3 || b.Succeeded != 3 || shop.made != 1 {
				t.Errorf("%s, %s: %d were paid, %d batches: %+v", name, next, paid, shop.made, b)
			}
			o.wantCharged(book, c.Wallet, 100*ruble, 3*lineCost, b)
			for _, it := range must(o.store.Jobs.Items(o.ctx, b.ID, 0, 10, false)) {
				if _, err := o.store.Jobs.Terms(o.ctx, b.ID, it.Terms); !fault.Is(err, fault.NotFound) {
					t.Errorf("%s, %s: terms are left: %v", name, next, err)
				}
			}
		}
	}
	o.balanced()
}

// stubbornShop checks that a provider that never deletes is asked a bounded number of times, over more than a day, and then reported; and that
// results do not wait for it.
func stubbornShop(t *testing.T, o *batchFixture) {
	c := o.author(100 * ruble)
	shop := newShop()
	shop.keeps = 1 << 30
	reports := 0
	k := o.clerk(o.node(), shop.join(nil), func(_ *batch.Deps, cfg *batch.Config) {
		cfg.Report = func(what, _ string, _ error) { reports++ }
	})
	b := k.end(k.add(c, requests(4)))
	if b.Succeeded != 4 || shop.kept() != 1 {
		t.Errorf("%+v", b)
	}
	k.clear(shop)
	early := 1<<30 - shop.keeps
	for range 100 {
		o.clock.Advance(24 * time.Hour)
		k.ClearParts(o.ctx)
	}
	if all := 1<<30 - shop.keeps; early < 10 || all > 20 || reports != 1 {
		t.Errorf("asked %d times in two days, %d times in all; %d reports", early, all, reports)
	}
}

// leftParts checks what a store says of parts that are to be cleared.
func leftParts(t *testing.T, o *batchFixture) {
	book := o.node()
	c := o.author(100 * ruble)
	b := someBatch(o, c, apikey.NewID(batch.MessagesPrefix))
	if err := o.addBatch(b, 10); err != nil {
		t.Fatal(err)
	}
	now := o.clock.Now().UTC().Truncate(time.Microsecond)
	b = must(o.store.Jobs.ClaimBatches(o.ctx, book.Node(), book.Epoch(), now.Add(time.Hour), 10, nil))[0]
	b.State = batch.InProgress
	if err := o.store.Jobs.KeepBatch(o.ctx, b, batch.Validating, false); err != nil {
		t.Fatal(err)
	}
	ids := []string{"bp_1", "bp_2", "bp_3"}
	for i, id := range ids {
		p := &batch.Part{ID: id, Endpoint: "ep", Path: "/p", State: batch.PartIntended, Lines: 1, CreatedAt: now}
		if err := o.store.Jobs.AddPart(o.ctx, b, p, []*batch.Item{{Line: int64(i + 1), CustomID: id, Generation: "gen-" + id, Terms: "t"}}, map[string][]byte{"t": []byte("x")}); err != nil {
			t.Fatal(err)
		}
		if i < 2 {
			p.State, p.ClearAt = batch.PartEnded, now
			if err := o.store.Jobs.KeepPart(o.ctx, b, p); err != nil {
				t.Fatal(err)
			}
		}
	}
	pause := func(tries int64) time.Duration { return time.Duration(tries+1) * time.Minute }
	left := func(at time.Time, n int) (got string) {
		t.Helper()
		for _, p := range must(o.store.Jobs.LeftParts(o.ctx, at, n, pause)) {
			got += fmt.Sprint(p.ID, " ", p.Clears, " ", p.ClearAt.Sub(now), "; ")
		}
		return got
	}
	for i, step := range []struct {
		at   time.Duration
		n    int
		want string
	}{
		{-time.Second, 5, ""},
		{0, 1, "bp_1 1 1m0s; "},
		{0, 5, "bp_2 1 1m0s; "},
		{0, 5, ""}, // they are another's for a minute
		{time.Minute, 5, "bp_1 2 3m0s; bp_2 2 3m0s; "},
	} {
		if got := left(now.Add(step.at), step.n); got != step.want {
			t.Errorf("step %d: %q, want %q", i, got, step.want)
		}
	}
	if err := o.store.Jobs.ClearedPart(o.ctx, "bp_1"); err != nil {
		t.Fatal(err)
	}
	for _, id := range []string{"bp_1", "bp_3"} { // only parts that have ended are left
		if err := o.store.Jobs.LeavePart(o.ctx, &batch.Part{ID: id, Upstream: "up"}, now); err != nil {
			t.Fatal(err)
		}
	}
	if got := left(now, 5); got != "bp_1 1 1m0s; " {
		t.Errorf("a part that a provider has after all: %q", got)
	}
	if got := must(o.store.Jobs.Parts(o.ctx, b.ID)); len(got) != 3 || got[0].Upstream != "up" || got[2].Upstream != "" {
		t.Errorf("%+v", got)
	}

	// The end of a batch, and its deletion, do not make a store forget what providers keep of it.
	b.State = batch.Cancelling
	if err := o.store.Jobs.KeepBatch(o.ctx, b, batch.InProgress, false); err != nil {
		t.Fatal(err)
	}
	b.State, b.EndedAt = batch.CancelledS, now
	if err := o.store.Jobs.EndBatch(o.ctx, b, batch.Cancelling, nil); err != nil {
		t.Fatal(err)
	}
	if _, err := o.store.Jobs.Terms(o.ctx, b.ID, "t"); !fault.Is(err, fault.NotFound) {
		t.Errorf("terms of a batch that has ended: %v", err)
	}
	if err := o.store.Jobs.DeleteBatch(o.ctx, b.User, b.ID, b.Shape); err != nil {
		t.Fatal(err)
	}
	if got := left(now.Add(time.Hour), 5); got != "bp_1 2 1h2m0s; bp_2 3 1h3m0s; " {
		t.Errorf("of a batch that was deleted: %q", got)
	}
	for _, id := range ids[:2] {
		if err := o.store.Jobs.ClearedPart(context.WithoutCancel(o.ctx), id); err != nil {
			t.Fatal(err)
		}
	}
	if got := must(o.store.Jobs.Parts(o.ctx, b.ID)); len(got) != 0 {
		t.Errorf("%+v", got)
	}
}
