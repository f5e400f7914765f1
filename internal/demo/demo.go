// Package demo makes up a month in which a gateway was used: people, their keys and limits, calls with failures and failovers, payments, a
// batch and videos. It is written through the interfaces that real use goes through, so that sums, reports and checks hold for it. Nothing of
// it is real: its models are the simulator's, and its money is play money.
package demo

import (
	"context"
	"math/rand/v2"
	"slices"
	"strconv"
	"time"

	"weir/internal/account"
	"weir/internal/apikey"
	"weir/internal/audit"
	"weir/internal/batch"
	"weir/internal/blob"
	"weir/internal/catalog"
	"weir/internal/health"
	"weir/internal/ledger"
	"weir/internal/money"
	"weir/internal/payment"
	"weir/internal/video"
)

// Days is how long the month is. Its last day is the present one.
const Days = 30

// Node is whose journal the calls would have come from.
const Node = "demo-month"

// Ledger takes the calls and what moves money beside them.
type Ledger interface {
	ledger.Applier
	ledger.Poster
	// Position makes the node known.
	Position(ctx context.Context, node string) (int64, error)
}

// Batches takes files and batches.
type Batches interface {
	batch.FileStore
	batch.BatchStore
}

// Into is where the month is written.
type Into struct {
	Accounts account.Store
	Keys     apikey.Store
	Ledger   Ledger
	Payments payment.Store
	Videos   video.Store
	Batches  Batches
	Contents blob.Store
	Hours    health.HourStore
}

// Month is what the month depends on: the same seed, moment and catalog make the same figures. Only ids and the texts of keys differ.
type Month struct {
	Seed    uint64
	Now     time.Time // the end: nothing is later
	Catalog *catalog.Snapshot
	Keep    money.Nano // that the owner's wallet has at the end, at the least
}

// Made is how much was made.
type Made struct {
	Owner      account.User
	Accounts   int
	Calls      int // with those that failed
	Failovers  int // that were answered after a failed attempt
	Failed     int
	Batches    int // of the journal, each of which is one transaction
	Payments   int
	TopUps     int
	Charged    money.Nano
	Statements []string // what each account was charged with, "name amount", in the order of accounts
}

// Actor is who has made all of it, in the audit log and on postings.
var Actor = audit.Actor{Name: "demo"}

// month is the work.
type month struct {
	Month
	into  Into
	rnd   *rand.Rand
	first time.Time // midnight of the first day, UTC
	cast  []*person
	at    int64 // position in the journal
	hours map[hour]*health.Hour
	made  Made
}

// person is an account with what it does.
type person struct {
	role
	user    account.User
	keys    []apikey.Key
	balance money.Nano
	charged money.Nano
}

// Fill makes the month. It is done once, for a store that has no account: what a process that ended too early leaves is a shorter month, whose
// sums hold, too.
func Fill(ctx context.Context, into Into, m Month) (Made, error) {
	now := m.Now.UTC().Truncate(time.Microsecond)
	x := &month{Month: m, into: into, rnd: rand.New(rand.NewPCG(m.Seed, 0)), first: now.Truncate(24*time.Hour).AddDate(0, 0, 1-Days), hours: map[hour]*health.Hour{}}
	x.Now = now
	for _, step := range []func(context.Context) error{x.people, x.live, x.jobs, x.remember} {
		if err := step(ctx); err != nil {
			return x.made, err
		}
	}
	for _, p := range x.cast {
		x.made.Charged += p.charged
		x.made.Statements = append(x.made.Statements, p.name+" "+p.charged.String())
	}
	x.made.Owner, x.made.Accounts = x.cast[0].user, len(x.cast)
	return x.made, nil
}

// people makes the accounts and their keys, in the morning of the first day.
func (x *month) people(ctx context.Context) error {
	at := x.first.Add(6 * time.Hour)
	if _, err := x.into.Ledger.Position(ctx, Node); err != nil {
		return err
	}
	clock := func() time.Time { at = at.Add(7 * time.Minute); return x.notLater(at) }
	accounts, keys := account.NewManager(x.into.Accounts, nil, clock), apikey.NewManager(x.into.Keys, nil, clock, 0)
	for i := range cast {
		p := &person{role: cast[i]}
		var err error
		if p.user, err = accounts.CreateAs(ctx, p.name, p.as, Actor); err != nil {
			return err
		}
		for _, k := range p.keysOf {
			key, _, err := keys.Create(ctx, apikey.NewKey{Name: k.name, User: p.user.ID, Creator: p.user.ID, Limit: k.limit, Disabled: k.disabled}, Actor)
			if err != nil {
				return err
			}
			p.keys = append(p.keys, key)
		}
		x.cast = append(x.cast, p)
	}
	return nil
}

// notLater is a moment, or the end of the month if that is earlier.
func (x *month) notLater(at time.Time) time.Time {
	if at.After(x.Now) {
		return x.Now
	}
	return at
}

// live makes one day after the other: first the money that its calls need, then the calls, as one batch of a journal.
func (x *month) live(ctx context.Context) error {
	for day := range Days {
		items := make([][]ledger.Item, len(x.cast))
		for i, p := range x.cast {
			items[i] = x.day(p, day)
			if err := x.fund(ctx, p, day, costOf(items[i])); err != nil {
				return err
			}
		}
		all := slices.Concat(items...)
		slices.SortStableFunc(all, func(a, b ledger.Item) int { return a.Call.At.Compare(b.Call.At) })
		if err := x.apply(ctx, all, x.first.AddDate(0, 0, day+1)); err != nil {
			return err
		}
		if day == refundDay {
			if err := x.correct(ctx, all); err != nil {
				return err
			}
		}
	}
	return nil
}

func costOf(items []ledger.Item) (sum money.Nano) {
	for i := range items {
		sum += items[i].Call.Cost
	}
	return sum
}

// mostOfBatch is how many records of a journal are applied in one transaction.
const mostOfBatch = 500

// apply has the calls of a day posted, as those of a node's journal are.
func (x *month) apply(ctx context.Context, items []ledger.Item, end time.Time) error {
	for part := range slices.Chunk(items, mostOfBatch) {
		b := ledger.Batch{Node: Node, From: x.at, Now: x.notLater(end)}
		b.To = b.From
		for _, it := range part {
			r := ledger.Encode(it)
			b.Items, b.To = append(b.Items, r), b.To+int64(len(r.Record))
		}
		if _, err := x.into.Ledger.Apply(ctx, &b); err != nil {
			return err
		}
		x.at = b.To
		x.made.Batches++
	}
	for i := range items {
		c := &items[i].Call
		x.made.Calls++
		x.watch(c)
		switch {
		case !c.Settled:
			x.made.Failed++
		case len(c.Attempts) > 1:
			x.made.Failovers++
		}
	}
	return nil
}

// refundDay is the day on which an operator gives a charge back, counted from the first.
const refundDay = Days - 8

// correct gives back the dearest charge of the owner on a day.
func (x *month) correct(ctx context.Context, items []ledger.Item) error {
	owner := x.cast[0]
	var dearest *ledger.Item
	for i := range items {
		if c := &items[i].Call; c.Wallet == owner.user.Wallet && (dearest == nil || c.Cost > dearest.Call.Cost) {
			dearest = &items[i]
		}
	}
	if dearest == nil || dearest.Call.Cost == 0 {
		return nil
	}
	at := x.notLater(dearest.Call.At.Add(3 * time.Hour))
	_, err := ledger.GiveBack(ctx, x.into.Ledger, ledger.Refund{Generation: dearest.Call.Generation, ID: "demo-1", Reason: "The answer was cut off twice.", Actor: Actor}, at)
	owner.balance += dearest.Call.Cost
	return err
}

// id makes an id that depends on the seed alone.
func (x *month) id(prefix string, n int) string {
	const digits = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
	b := []byte(prefix)
	for range n {
		b = append(b, digits[x.rnd.IntN(len(digits))])
	}
	return string(b)
}

// generation makes the id of a call.
func (x *month) generation(at time.Time) string {
	return x.id("gen-"+strconv.FormatInt(at.Unix(), 10)+"-", 20)
}
