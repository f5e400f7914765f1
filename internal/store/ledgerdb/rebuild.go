package ledgerdb

import (
	"context"
	"time"

	"weir/internal/audit"
	"weir/internal/fault"
	"weir/internal/ledger"
	"weir/internal/record"
	"weir/internal/store/auditdb"
	"weir/internal/store/sqldb"
)

const (
	// rollUpForm is the form of the roll-ups that this program writes.
	rollUpForm = 2

	// salesForm is the form of sales that this program writes.
	salesForm = 1

	formRead  = `SELECT form, sales, tags, results FROM usage_form WHERE one = 1`
	formWrite = `UPDATE usage_form SET form = $1, sales = $2, dropped = $3 WHERE one = 1`
	// refundsOfWallets are what was given back, by the generation that each refund is of.
	refundsOfWallets = `SELECT w.account, o.account, w.amount, t.at FROM entries w JOIN entries o ON o.transaction_id = w.transaction_id AND o.line <> w.line
		JOIN transactions t ON t.id = w.transaction_id
		WHERE substr(w.account, 1, 7) = 'wallet:' AND substr(o.account, 1, 7) = 'refund:' AND substr(w.ref, 1, 7) <> 'settle:' AND substr(o.ref, 1, 7) <> 'settle:' `
	refundsOfAll = refundsOfWallets + `ORDER BY w.transaction_id`
	recordsOf    = `SELECT ` + storedColumns + ` FROM generations`
)

// rebuildFor is ample for all records of a large installation: ten million take some minutes.
const rebuildFor = 12 * time.Hour

// FillRollUps fills the roll-ups from the records if they have another form than this program's, as after an upgrade. Engines call it when
// they open.
func (s *Ledger) FillRollUps(ctx context.Context) error {
	var form, sales, tags, results int
	err := s.db.Find(ctx, func(row sqldb.Scanner) error { return row.Scan(&form, &sales, &tags, &results) }, formRead)
	if err != nil || form == rollUpForm && sales == salesForm && tags == tagsForm && results == resultsForm {
		return sqldb.Failure("store.FillRollUps", err)
	}
	return s.rebuild(ctx, func(t *sqldb.Tx) (bool, error) {
		err := t.LockedRow(formRead).Scan(&form, &sales, &tags, &results)
		return form != rollUpForm, err // another node may have been first
	}, func(t *sqldb.Tx) (bool, error) {
		if tags != tagsForm {
			if err := fillTags(t, true); err != nil {
				return false, err
			}
		}
		if results != resultsForm && sales == salesForm { // else they are filled with the sales
			if err := fillResults(t); err != nil {
				return false, err
			}
		}
		return sales != salesForm, nil
	})
}

// RebuildRollUps makes the roll-ups anew from the records and the refunds. What they were before does not matter. It fails with
// fault.Conflict when calls were dropped: a program whose roll-ups have another form must convert them.
func (s *Ledger) RebuildRollUps(ctx context.Context) error {
	always := func(*sqldb.Tx) (bool, error) { return true, nil }
	return s.rebuild(ctx, always, always)
}

// FillSales makes sales, the sums by tags and how calls ended anew from the records and, of calls that were dropped, from the hours. Older nodes that went on beside newer
// ones have left calls out. One line of the audit log says that it was done.
func (s *Ledger) FillSales(ctx context.Context, by audit.Actor, now time.Time) error {
	return s.rebuild(ctx, func(*sqldb.Tx) (bool, error) { return false, nil }, func(t *sqldb.Tx) (bool, error) {
		if err := fillTags(t, false); err != nil {
			return false, err
		}
		return true, auditdb.Record(t, audit.Event{Actor: by, Action: audit.SalesFilled, Target: "sales"}, now)
	})
}

// rebuild makes the roll-ups that are wanted, which it asks when nothing is posted any more: all, or sales alone.
func (s *Ledger) rebuild(ctx context.Context, wanted, sales func(*sqldb.Tx) (bool, error)) error {
	ctx, cancel := context.WithTimeout(ctx, rebuildFor)
	defer cancel()
	return s.db.Write(ctx, func(t *sqldb.Tx) error {
		if s.db.Engine.Unhurried != "" {
			if _, err := t.Exec(s.db.Engine.Unhurried); err != nil {
				return err
			}
		}
		for _, table := range []string{"transactions", "generations"} { // nothing is posted meanwhile
			if err := t.LockTable(table); err != nil {
				return err
			}
		}
		if ok, err := wanted(t); err != nil {
			return err
		} else if !ok {
			if ok, err = sales(t); !ok || err != nil {
				return err
			}
			return fillSales(t)
		}
		var swept int64
		if err := t.Row(sweepsAny).Scan(&swept); err != nil {
			return err
		}
		if swept > 0 {
			return fault.New(fault.Conflict, "store.RebuildRollUps", "Details of old calls were dropped, so the roll-ups cannot be made again from what is left.")
		}
		if err := empty(t, "usage_hourly", "usage_daily", "usage_groups", "usage_taxes", "sales", "sales_parts"); err != nil {
			return err
		}
		hours, vat, err := hoursOfRecords(t)
		if err != nil {
			return err
		}
		if err := rollUp(t, tallyOf(hours, vat)); err != nil {
			return err
		}
		if err := rollUpSales(t, vat.sales); err != nil {
			return err
		}
		if err := writeResults(t, vat.results); err != nil {
			return err
		}
		if err := fillTags(t, true); err != nil {
			return err
		}
		_, err = t.Exec(formWrite, rollUpForm, salesForm, []byte{})
		return err
	})
}

func empty(t *sqldb.Tx, tables ...string) error {
	for _, table := range tables {
		if _, err := t.Exec(`DELETE FROM ` + table); err != nil {
			return err
		}
	}
	return nil
}

// fillSales makes sales from the records, and those of calls that were dropped before sales were kept from the hours, which have neither their VAT
// nor what they cost the gateway.
func fillSales(t *sqldb.Tx) error {
	if err := empty(t, "sales", "sales_parts"); err != nil {
		return err
	}
	hours, vat, err := hoursOfRecords(t)
	if err != nil {
		return err
	}
	rows, err := t.Rows(selectHours)
	if err != nil {
		return err
	}
	defer func() { _ = rows.Close() }()
	var dropped ledger.Digest
	for rows.Next() {
		var h hourKey
		var more sums
		to := []any{&h.hour, &h.wallet, &h.key, &h.user, &h.model, &h.provider, &h.endpoint, &h.api, &h.result}
		for i := range more {
			to = append(to, &more[i])
		}
		if err := rows.Scan(to...); err != nil {
			return err
		}
		if has := hours[h]; has != nil {
			for i := range lastAt {
				more[i] -= has[i]
			}
		}
		if more[lastAt] = 0; more != (sums{}) {
			k, s := remainder(h, &more)
			at(vat.sales, k).plus(&s)
			k.addTo(&dropped, &s)
		}
	}
	if err := rows.Err(); err != nil {
		return err
	}
	if err := rollUpSales(t, vat.sales); err != nil {
		return err
	}
	if err := writeResults(t, vat.results); err != nil {
		return err
	}
	known, err := sqldb.All(t, func(row sqldb.Scanner) (s sweep, err error) { _, s, err = scanSweep(row); return s, err }, sweepsAll)
	if err != nil {
		return err
	}
	for i := range known { // what verify adds to it
		dropped.Minus(&known[i].sales)
	}
	_, err = t.Exec(formWrite, rollUpForm, salesForm, dropped[:])
	return err
}

// hoursOfRecords adds all records and refunds up.
func hoursOfRecords(t *sqldb.Tx) (map[hourKey]*sums, *dayBook, error) {
	back, err := refundsByCall(t)
	if err != nil {
		return nil, nil, err
	}
	hours, vat := map[hourKey]*sums{}, newDayBook(t.Zones)
	err = allRecords(t, func(c *record.Call) {
		hour := at(hours, hourOf(c))
		hour.add(c)
		vat.call(c)
		refunds := back.of(c)
		hour[lastAt-1] += sumOfRefunds(refunds)
		vat.refunds(c, refunds)
	})
	return hours, vat, err
}

// eachRecord calls f with each record and what was given back of its charge.
func eachRecord(t *sqldb.Tx, f func(c *record.Call, refunded int64)) error {
	back, err := refundsByCall(t)
	if err != nil {
		return err
	}
	return allRecords(t, func(c *record.Call) { f(c, sumOfRefunds(back.of(c))) })
}

func sumOfRefunds(list []givenBack) (n int64) {
	for _, r := range list {
		n += r.amount
	}
	return n
}

// refundsMade are refunds by the accounts of their wallet and their call.
type refundsMade map[[2]string][]givenBack

func (r refundsMade) of(c *record.Call) []givenBack {
	return r[[2]string{ledger.WalletAccount + c.Wallet, ledger.RefundAccount + c.Generation}]
}

func refundsByCall(t *sqldb.Tx) (refundsMade, error) {
	type refund struct {
		wallet, against string
		givenBack
	}
	refunds, err := sqldb.All(t, sqldb.Columns(func(r *refund) []any { return []any{&r.wallet, &r.against, &r.amount, &r.at} }), refundsOfAll)
	back := refundsMade{}
	for _, r := range refunds {
		k := [2]string{r.wallet, r.against}
		back[k] = append(back[k], r.givenBack)
	}
	return back, err
}

// allRecords calls f with each record.
func allRecords(t *sqldb.Tx, f func(*record.Call)) error {
	load, err := loadAmong(t.Rows(wordsAll))
	if err != nil {
		return err
	}
	rows, err := t.Rows(recordsOf)
	if err != nil {
		return err
	}
	defer func() { _ = rows.Close() }()
	var space []byte
	for rows.Next() {
		r, err := scanStored(rows)
		if err != nil {
			return err
		}
		it, rec, err := r.read(space[:0], load)
		space = rec
		if err != nil {
			return err
		}
		Tidy(&it.Call)
		f(&it.Call)
	}
	return rows.Err()
}
