package ledgerdb

import (
	"fmt"
	"hash/maphash"
	"math/bits"
	"slices"
	"strconv"
	"strings"
	"time"

	"weir/internal/ledger"
	"weir/internal/money"
	"weir/internal/record"
	"weir/internal/store/sqldb"
)

// usageCheck compares the roll-ups with the calls, a stretch at a time, so that it needs little memory however many calls there are. It gets the
// calls by wallet and time, and so do roll-ups come from the database.
type usageCheck struct {
	c     *checker
	hours map[hourKey]*sums // of the stretch
	days  *tally            // its groups and VAT are those of whole wallets

	upTo, whole dayCursor // what is compared: hours and days, and what is by wallet
	at          dayCursor // of the last call
	began       int64     // Unix microseconds of the begin of its day

	wrong   struct{ hours, days, groups, taxes, sales, tags differences }
	rows    struct{ hours, days, groups, taxes, sales, tags int }
	dropped struct{ hours, taxes, sales, tags ledger.Digest } // sums that calls which are no longer there have
	keys    *spending
	results *resultCheck
	tags    *tagCheck
}

func newUsage(c *checker) *usageCheck {
	return &usageCheck{c: c, hours: map[hourKey]*sums{}, days: newDays(c.zones), keys: newSpending(), results: newResultCheck(c), tags: newTagCheck(c)}
}

func newDays(z sqldb.Zones) *tally {
	return &tally{taxes: newDayBook(z), charged: map[string]money.Nano{}, keys: map[ledger.Fund]money.Nano{}, days: map[dayKey]*sums{}, groups: map[groupKey]*sums{}}
}

// dayCursor is a place among rows by wallet and day of its account: after all rows of the day, or of the wallet when day is "". started is false
// before the first.
type dayCursor struct {
	started bool
	wallet  string
	day     string
	ends    int64 // Unix seconds of the following day's begin
}

// move goes to a call's place, before it is added.
func (u *usageCheck) move(wallet string, at int64) {
	if u.at.wallet == wallet && u.began <= at && at < u.at.ends*1_000_000 { // of the same day
		return
	}
	h := u.c.zones[wallet]
	day := h.Day(time.UnixMicro(at))
	u.began = h.Start(day).UnixMicro()
	to := dayCursor{true, wallet, day.Format(time.DateOnly), h.Start(day.AddDate(0, 0, 1)).Unix()}
	switch {
	case u.at.started && to.wallet != u.at.wallet:
		if len(u.hours)+len(u.days.groups)+len(u.days.taxes.rows)+len(u.days.taxes.sales)+len(u.tags.book.rows) >= u.c.rows {
			u.compare(dayCursor{started: true, wallet: u.at.wallet})
		}
	case len(u.hours) >= u.c.rows:
		u.compare(u.at)
	}
	u.at = to
}

// add adds a call, and returns what is wrong with its refunds.
func (u *usageCheck) add(call *record.Call) string {
	hour := at(u.hours, hourOf(call))
	hour.add(call)
	u.days.taxes.call(call)
	before, spent := hour[lastAt-1], hour.spent()
	wrong := u.c.books.refund(call, hour, u.days.taxes)
	u.tags.add(call, hour[lastAt-1]-before)
	inFunds(call, u.c.zones, call.Cost-(spent-hour.spent()), u.days.keys)
	for fund, n := range u.days.keys {
		u.keys.add(fund, int64(n))
	}
	clear(u.days.keys)
	return wrong
}

// end compares what is left, and reports everything.
func (u *usageCheck) end() {
	u.compare(dayCursor{})
	c := u.c
	swept := &c.books.swept
	if u.dropped.hours != swept.hours {
		u.wrong.hours.add("hours before " + time.UnixMicro(swept.before).UTC().Format(time.DateOnly) + " have other sums than the calls that were dropped and those that are kept")
	}
	if swept.calls > 0 && u.dropped.taxes != swept.taxes {
		u.wrong.taxes.add("days have another VAT than the calls that were dropped and those that are kept")
	}
	if u.dropped.sales != swept.sales {
		u.wrong.sales.add("days have other sales than the calls that were dropped and those that are kept")
	}
	if u.dropped.tags != swept.tags {
		u.wrong.tags.add("days have other sums by tags than the calls that were dropped and those that are kept")
	}
	u.compareParts()
	u.compareTagDays()
	const right = "%d rows agree with the calls"
	c.add("usage by hour", u.wrong.hours, right, u.rows.hours)
	c.add("usage by day", u.wrong.days, right, u.rows.days)
	c.add("usage by group", u.wrong.groups, right, u.rows.groups)
	c.add("VAT by day", u.wrong.taxes, right, u.rows.taxes)
	c.add("sales", u.wrong.sales, right, u.rows.sales)
	c.add("usage by tag", u.wrong.tags, right, u.rows.tags)
	u.results.compare(c)
	u.keys.compare(c)
}

// compare compares the rows up to a place, and to the end if it has not started.
func (u *usageCheck) compare(to dayCursor) {
	for k, s := range u.days.taxes.results {
		u.results.add(k, s, 1)
	}
	clear(u.days.taxes.results)
	u.compareHours(to)
	u.rows.days += compareSums(u.c, &u.wrong.days, selectDays, rowsBetween{"day", u.upTo, to}, len(dayColumns), u.days.days, func(v []any) dayKey {
		return dayKey{text(v[0]), text(v[1]), text(v[2]), text(v[3]), text(v[4]), text(v[5]), text(v[6]), text(v[7])}
	})
	clear(u.days.days)
	u.upTo = to
	if to.day != "" { // inside a wallet
		return
	}
	u.rows.groups += compareSums(u.c, &u.wrong.groups, selectGroups, rowsBetween{"", u.whole, to}, len(groupColumns), u.days.groups, func(v []any) groupKey {
		return groupKey{text(v[0]), text(v[1]), text(v[2]), text(v[3]), text(v[4])}
	})
	u.compareTaxes(to)
	u.compareSales(to)
	u.compareTags(to)
	u.days, u.whole = newDays(u.c.zones), to
}

// compareHours compares the roll-up of hours with the calls. What rows before the horizon have beyond that must be what the dropped calls
// had. The hours, as the other roll-ups must have them, are added to days, groups and keys.
func (u *usageCheck) compareHours(to dayCursor) {
	swept := &u.c.books.swept
	fold := func(k hourKey, s *sums) {
		u.days.fold(k, s)
		for fund, n := range u.days.keys {
			u.keys.add(fund, int64(n))
		}
		clear(u.days.keys)
		clear(u.days.charged)
	}
	u.c.each(rowsBetween{"hour", u.upTo, to}.of(selectHours), func(v []any) {
		k, got, right := hourIn(v), sumsOf(v[len(hourColumns):]), sums{}
		if want := u.hours[k]; want != nil {
			right = *want
			delete(u.hours, k)
			u.rows.hours++
		}
		if swept.calls == 0 || k.hour >= swept.before/1_000_000 {
			compare(&u.wrong.hours, k, got, right)
		} else {
			more := got
			for i := range more {
				more[i] -= right[i]
			}
			if more != (sums{}) {
				k.addTo(&u.dropped.hours, &more)
			}
			if more[lastAt] < 0 {
				compare(&u.wrong.hours, k, got, right)
			}
			right = got
		}
		fold(k, &right)
	}, rowsBetween{"hour", u.upTo, to}.args()...)
	for k, s := range u.hours {
		fold(k, s)
		u.rows.hours++
		u.wrong.hours.add(fmt.Sprintf("%v is missing", k))
	}
	clear(u.hours)
}

func hourIn(v []any) hourKey {
	start, _ := v[0].(int64)
	return hourKey{start, text(v[1]), text(v[2]), text(v[3]), text(v[4]), text(v[5]), text(v[6]), text(v[7]), text(v[8])}
}

// compareTaxes compares the VAT of days with calls and refunds, and with what remains of the calls that were dropped.
func (u *usageCheck) compareTaxes(to dayCursor) {
	want := u.days.taxes.rows
	between := rowsBetween{"", u.whole, to}
	swept := u.c.books.swept.calls > 0
	u.c.each(between.of(selectTaxes), func(v []any) {
		var s taxes
		for i := range s {
			s[i], _ = v[len(taxColumns)+i].(int64)
		}
		k, right := taxKey{text(v[0]), text(v[1]), text(v[2])}, taxes{}
		if want[k] != nil {
			right = *want[k]
			delete(want, k)
		}
		u.rows.taxes++
		if !swept {
			compare(&u.wrong.taxes, k, s, right)
			return
		}
		for i := range s {
			s[i] -= right[i]
		}
		k.addTo(&u.dropped.taxes, &s)
	}, between.args()...)
	for k := range want {
		u.wrong.taxes.add(fmt.Sprintf("%v is missing", k))
	}
}

// compareSums compares rows of a roll-up, whose key has so many columns, with what they should be, and returns how many those are. want is
// empty afterwards.
func compareSums[K comparable](c *checker, diff *differences, query string, between rowsBetween, keys int, want map[K]*sums, key func([]any) K) (n int) {
	n = len(want)
	c.each(between.of(query), func(v []any) {
		k := key(v)
		var right sums
		if want[k] != nil {
			right = *want[k]
		}
		compare(diff, k, sumsOf(v[keys:]), right)
		delete(want, k)
	}, between.args()...)
	for k := range want {
		diff.add(fmt.Sprintf("%v is missing", k))
	}
	clear(want)
	return n
}

// rowsBetween are the rows of a roll-up after one place and up to another. by is its column of time, "" when the places are wallets.
type rowsBetween struct {
	by       string
	from, to dayCursor
}

// of is the query for these rows of a table.
func (r rowsBetween) of(query string) string {
	var parts []string
	n := 0
	for i, p := range [...]dayCursor{r.from, r.to} {
		op := [...]string{" > ", " <= "}[i]
		switch {
		case !p.started:
		case p.day == "":
			n++
			parts = append(parts, fmt.Sprintf("wallet%s$%d", op, n))
		default:
			n += 2
			parts = append(parts, fmt.Sprintf("(wallet, %s)%s($%d, $%d)", r.by, op, n-1, n))
		}
	}
	if parts == nil {
		return query
	}
	return query + " WHERE " + strings.Join(parts, " AND ")
}

func (r rowsBetween) args() (args []any) {
	for _, p := range [...]dayCursor{r.from, r.to} {
		switch {
		case !p.started:
		case p.day == "":
			args = append(args, p.wallet)
		case r.by == "day":
			args = append(args, p.wallet, p.day)
		default:
			args = append(args, p.wallet, p.ends-1)
		}
	}
	return args
}

// spending compares what keys have spent, and what counts in budgets, with the calls, in a memory of fixed size. Of each row both sides add the amount times a number that
// is random but the same for both. The sums are equal if all rows are; if not, by a chance below one in 2^100. Sums by parts tell where to
// look for the row.
type spending struct {
	seeds [2]maphash.Seed
	parts [spendingParts][2]uint64
}

const (
	spendingParts = 256
	prime         = 1<<61 - 1 // of the sums
)

func newSpending() *spending {
	return &spending{seeds: [2]maphash.Seed{maphash.MakeSeed(), maphash.MakeSeed()}}
}

// part is the part that a fund belongs to.
func (s *spending) part(f ledger.Fund) int {
	return int(maphash.Comparable(s.seeds[0], f) >> 56)
}

// add adds n to a fund.
func (s *spending) add(f ledger.Fund, n int64) {
	weigh(&s.parts[s.part(f)], &s.seeds, f, n)
}

// weigh adds n times the number of a key to each sum.
func weigh[K comparable](sums *[2]uint64, seeds *[2]maphash.Seed, key K, n int64) {
	for i := range sums {
		x := uint64(n)
		if n < 0 {
			x = -x
		}
		hi, lo := bits.Mul64(maphash.Comparable(seeds[i], key)&(1<<56-1), x%prime)
		_, product := bits.Div64(hi, lo, prime) // hi is below prime
		if n < 0 {
			product = prime - product
		}
		sums[i] = (sums[i] + product) % prime
	}
}

// compare compares what was added with the rows.
func (s *spending) compare(c *checker) {
	rows := 0
	var dropped ledger.Digest
	c.each(checkKeySpend, func(v []any) {
		spent, _ := v[4].(int64)
		of, _ := v[5].(int64)
		if spent == 0 && of == 0 {
			return
		}
		rows++
		f := fundOf(v)
		s.add(f, of-spent)
		fundTo(&dropped, f, of)
	})
	var diff differences
	if c.err == nil && dropped != c.books.swept.funds {
		diff.add("budgets and keys have other sums of calls that were dropped than those calls had")
	}
	if part := slices.IndexFunc(s.parts[:], func(sum [2]uint64) bool { return sum != [2]uint64{} }); part >= 0 && c.err == nil {
		s.explain(c, part, &diff)
		if diff == nil {
			diff.add("keys have spent something else than their calls say")
		}
	}
	c.add("spending of keys and budgets", diff, "%d rows agree with the calls", rows)
}

// explain looks for rows of a part that differ from the roll-up of hours and from the funds of calls.
func (s *spending) explain(c *checker, part int, diff *differences) {
	want := newDays(c.zones)
	c.each(selectHours, func(v []any) {
		k := hourIn(v)
		if k.key == "" {
			return
		}
		row := sumsOf(v[len(hourColumns):])
		for _, p := range ledger.Periods(c.zones[k.wallet].Local(time.Unix(k.hour, 0))) {
			if f := (ledger.Fund{Wallet: k.wallet, Key: k.key, Period: p}); row.spent() != 0 && s.part(f) == part {
				want.keys[f] += row.spent()
			}
		}
	})
	s.callsIn(c, part, want.keys)
	c.each(checkKeySpend, func(v []any) {
		spent, _ := v[4].(int64)
		dropped, _ := v[5].(int64)
		if f := fundOf(v); s.part(f) == part {
			compare(diff, f, money.Nano(spent-dropped), want.keys[f])
			delete(want.keys, f)
		}
	})
	for f := range want.keys {
		diff.add(fmt.Sprintf("%v is missing", f))
	}
}

// callsIn adds what calls have spent in funds of a part beside their wallets and keys.
func (s *spending) callsIn(c *checker, part int, want map[ledger.Fund]money.Nano) {
	load := c.words()
	all := map[ledger.Fund]money.Nano{}
	c.calls(func(row []any) {
		r := storedIn(row)
		it, _, err := r.read(nil, load)
		if err != nil {
			return // records reports it
		}
		Tidy(&it.Call)
		n := it.Call.Cost
		if back := c.books.refunds[it.Call.Wallet+"\x00"+it.Call.Generation]; back != nil && back.sum.n.IsInt64() {
			n -= money.Nano(back.sum.n.Int64())
		}
		clear(all)
		inFunds(&it.Call, c.zones, n, all)
		for f, n := range all {
			if s.part(f) == part {
				want[f] += n
			}
		}
	})
}

// fundTo adds what counts in a fund to a digest of sums.
func fundTo(d *ledger.Digest, f ledger.Fund, n int64) {
	if n != 0 {
		d.AddSums(keySpending.Name, []string{f.Wallet, f.Key, f.Period.Kind, strconv.FormatInt(f.Period.Start, 10)}, []string{"dropped"}, []int64{n})
	}
}
