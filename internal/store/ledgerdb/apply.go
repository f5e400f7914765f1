package ledgerdb

import (
	"cmp"
	"context"
	"crypto/sha256"
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"weir/internal/fault"
	"weir/internal/ledger"
	"weir/internal/limit"
	"weir/internal/money"
	"weir/internal/record"
	"weir/internal/store/sqldb"
)

// Apply implements ledger.Applier. It first assumes that the store has none of the generations, because of the node's position, and
// checks each only when that was wrong.
func (s *Ledger) Apply(ctx context.Context, b *ledger.Batch) (int64, error) {
	own := limit.For(ctx, nil) // a reader also applies the charges of other users, who must not wait for that reader's turn
	for i := range b.Items {
		Tidy(&b.Items[i].Call)
	}
	position, err := s.apply(&own, b, false)
	if s.db.Engine.Duplicate(err) {
		position, err = s.apply(&own, b, true)
	}
	return position, s.db.Refused("store.Apply", err)
}

func (s *Ledger) apply(ctx context.Context, b *ledger.Batch, careful bool) (position int64, err error) {
	err = s.db.Transact(ctx, !b.Durable, func(t *sqldb.Tx) error {
		moved, err := advance(t, b.Node, b.Life, b.From, b.To, &position)
		if err != nil || !moved {
			return err
		}
		items := b.Items
		if careful {
			if items, err = unknown(t, items); err != nil {
				return err
			}
		}
		link, err := ApplyItems(t, b, items)
		if err != nil {
			return err
		}
		return link.Seal(t)
	})
	return position, err
}

// unknown leaves out records that the store has, and duplicates.
func unknown(t *sqldb.Tx, items []ledger.Recorded) (out []ledger.Recorded, err error) {
	type id struct{ wallet, generation string }
	seen := map[id]bool{}
	args := make([]any, 0, 2*len(items))
	for i := range items {
		args = append(args, items[i].Call.Wallet, items[i].Call.Generation)
	}
	err = t.RowEach(generationKnown, 2, args, func(i int, row sqldb.Scanner) error {
		c := &items[i].Call
		k := id{c.Wallet, c.Generation}
		var n int
		if err := row.Scan(&n); err != nil {
			return err
		}
		if n == 0 && !seen[k] {
			seen[k] = true
			out = append(out, items[i])
		}
		return nil
	})
	return out, err
}

// Sealing is the set of postings that wait for their place in the chain.
type Sealing struct {
	link    ledger.Link
	content [sha256.Size]byte
}

// Seal gives the postings their place, as the last of a transaction but the audit chain.
func (s *Sealing) Seal(t *sqldb.Tx) error {
	if s.link.Calls == 0 && s.link.First == 0 {
		return nil
	}
	return addLink(t, &s.link, s.content)
}

// byID sorts items as the indexes do, so that a batch changes each page of an index once, even when calls of many accounts alternate.
func byID(items []ledger.Recorded) []*ledger.Recorded {
	list := make([]*ledger.Recorded, len(items))
	for i := range items {
		list[i] = &items[i]
	}
	slices.SortFunc(list, func(p, q *ledger.Recorded) int {
		return cmp.Or(strings.Compare(p.Call.Wallet, q.Call.Wallet), strings.Compare(p.Call.Generation, q.Call.Generation))
	})
	return list
}

// ApplyItems posts the records of calls, in the transaction of what they belong to. It leaves the link of the chain to the caller, who
// makes it last, with Seal.
func ApplyItems(t *sqldb.Tx, b *ledger.Batch, unordered []ledger.Recorded) (done Sealing, err error) {
	if len(unordered) == 0 {
		return done, nil
	}
	items := byID(unordered)
	done.link.Calls = int64(len(items))
	for _, it := range items {
		done.link.Digest.Add(it.Call.Wallet, it.Call.Generation, it.Record)
	}
	var d detailer
	err = t.Insert(&generations, len(items), func(args []any, i int) []any {
		c := &items[i].Call
		return generationArgs(args, c, d.details(&items[i].Item, items[i].Record))
	})
	if err != nil {
		return done, err
	}
	sums, err := newTally(items, t.Zones)
	if err != nil {
		return done, fault.Wrap("store.Apply", err)
	}
	funds, err := chargeFunds(t, b, sums)
	if err != nil {
		return done, err
	}
	for _, step := range []func() error{
		func() error { return consume(t, funds, b.Node, sums.leases) },
		func() error { return postSettled(t, b, sums.settled, sums.revenue, &done) },
		func() error { return rollUp(t, sums) },
		func() error { return rollUpTags(t, items) },
		func() error { return usePresets(t, items, b.Now) },
		func() error { return noteFailures(t, items, b.Now) },
		func() error { return rollUpSales(t, sums.taxes.sales) },
		func() error { return rollUpResults(t, sums.taxes.results) },
	} {
		if err := step(); err != nil {
			return done, err
		}
	}
	return done, nil
}

// settleKind is the kind of transactions that post calls.
const settleKind = "settle"

// postSettled posts an entry for each call and one that balances them.
func postSettled(t *sqldb.Tx, b *ledger.Batch, calls []*record.Call, revenue money.Nano, done *Sealing) error {
	switch {
	case len(calls) == 0:
		return nil
	case len(calls) >= maxEntries:
		return fault.Wrap("store.Apply", fmt.Errorf("%d calls in one batch", len(calls)))
	}
	ref := sqldb.Text(ledger.SettleRef + b.Node + ":" + strconv.FormatInt(b.From, 10))
	var id int64
	if err := t.Row(transactionAdd, settleKind, ref, b.Now.UnixMicro(), "", "").Scan(&id); err != nil {
		return err
	}
	content := ledger.NewContent(id, settleKind, ref, b.Now.UnixMicro(), "", "")
	content.Entry(ledger.RevenueAccount, ref, 0, revenue)
	for i, c := range calls {
		content.Entry(ledger.WalletAccount+c.Wallet, ledger.SettleRef+c.Generation, int64(i+1), -c.Cost)
	}
	done.link.First, done.link.Last, done.content = id, id, content.Sum()
	var transaction any = id
	accounts := map[string]any{}
	return t.Insert(&entries, len(calls)+1, func(args []any, i int) []any {
		if i == len(calls) {
			return append(args, ledger.RevenueAccount, ref, transaction, int64(0), int64(revenue))
		}
		c := calls[i]
		account := accounts[c.Wallet]
		if account == nil {
			account = ledger.WalletAccount + c.Wallet
			accounts[c.Wallet] = account
		}
		return append(args, account, ledger.SettleRef+c.Generation, transaction, int64(i+1), -int64(c.Cost))
	})
}

// lockedFunds are the wallets and limits of a batch, as lockedFund is one.
type lockedFunds struct{}

// chargeFunds takes the costs of a batch from wallets, and then from limits.
func chargeFunds(t *sqldb.Tx, b *ledger.Batch, sums *tally) (lockedFunds, error) {
	err := charge(t, b, sums.charged)
	if err == nil {
		err = chargeKeys(t, sums.keys)
	}
	return lockedFunds{}, err
}

func charge(t *sqldb.Tx, b *ledger.Batch, charged map[string]money.Nano) error {
	wallets := inOrder(charged, cmp.Compare[string])
	args := make([]any, 0, 2*len(wallets))
	for _, w := range wallets {
		args = append(args, w, int64(charged[w]))
	}
	changed, err := t.ExecEach(walletCharge, 2, args)
	for i, n := range changed {
		if n == 0 && err == nil { // the entry exists, so its wallet must
			if err = InsertWallet(t, wallets[i], b.Now); err == nil {
				_, err = t.Exec(walletCharge, wallets[i], int64(charged[wallets[i]]))
			}
		}
	}
	return err
}

// consume takes costs from leases of the funds, as far as they still exist.
func consume(t *sqldb.Tx, _ lockedFunds, node string, uses map[leaseUse]money.Nano) error {
	if len(uses) == 0 {
		return nil
	}
	order := inOrder(uses, leaseUse.order)
	args := make([]any, 0, 3*len(order))
	for _, u := range order {
		args = append(args, node, u.lease, u.wallet)
	}
	var taken, wallets, keys []any
	err := t.RowEach(leaseFind+t.Engine.ForUpdate, 3, args, func(i int, row sqldb.Scanner) error {
		use := order[i]
		old := lease{fund: ledger.Fund{Wallet: use.wallet}, id: use.lease}
		err := old.scan(row)
		if errors.Is(err, sql.ErrNoRows) {
			return nil
		}
		after := old
		after.consumed += uses[use]
		taken = append(taken, node, use.lease, use.wallet, int64(uses[use]))
		switch n, p := int64(after.left()-old.left()), &old.fund; {
		case n == 0:
		case p.Key == "":
			wallets = append(wallets, p.Wallet, n)
		default:
			keys = append(keys, p.Wallet, p.Key, p.Period.Kind, p.Period.Start, n)
		}
		return err
	})
	for _, x := range []struct {
		text  string
		width int
		args  []any
	}{{leaseConsume, 4, taken}, {walletLease, 2, wallets}, {keyLease, 5, keys}} {
		if err == nil {
			_, err = t.ExecEach(x.text, x.width, x.args)
		}
	}
	return err
}

func chargeKeys(t *sqldb.Tx, keys map[ledger.Fund]money.Nano) error {
	return merge(t, &keySpending, keys, fundOrder, func(k ledger.Fund, args []any, spent money.Nano) []any {
		return append(args, k.Wallet, k.Key, k.Period.Kind, k.Period.Start, int64(spent))
	})
}

func rollUp(t *sqldb.Tx, s *tally) error {
	err := merge(t, &usageDaily, s.days, dayKey.order, dayKey.args)
	if err == nil {
		err = merge(t, &usageHourly, s.hours, hourKey.order, hourKey.args)
	}
	if err == nil {
		err = merge(t, &usageGroups, s.groups, groupKey.order, groupKey.args)
	}
	if err == nil {
		err = merge(t, &usageTaxes, s.taxes.rows, taxKey.order, taxKey.args)
	}
	return err
}

// merge adds figures to the rows of a table, in the order of their keys.
func merge[K comparable, F any](t *sqldb.Tx, into *sqldb.Table, rows map[K]F, order func(K, K) int, row func(K, []any, F) []any) error {
	keys := inOrder(rows, order)
	return t.Insert(into, len(keys), func(args []any, i int) []any { return row(keys[i], args, rows[keys[i]]) })
}
