package ledgerdb

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"weir/internal/ledger"
	"weir/internal/record"
	"weir/internal/report"
	"weir/internal/store/sqldb"
	"weir/internal/tag"
)

const (
	// Bounds of what one account's day is sorted by: values of a property, and names of tags. A value beyond is counted as tag.Other, and a tag whose
	// name is beyond as tag.Other of all tags.
	mostTagValues = 1000
	mostTagNames  = 50

	// tagsForm is the form of tag_days and tag_usage that this program writes.
	tagsForm = 1

	tagKnown = `SELECT COUNT(*) FROM tag_days WHERE wallet = $1 AND part = $2 AND day = $3 AND value = $4`
	tagCount = `SELECT COUNT(*) FROM tag_days WHERE wallet = $1 AND part = $2 AND day = $3`
	tagNamed = `SELECT part, day, value FROM tag_days WHERE wallet = $1`
)

// tagDayColumns and tagColumns are the key columns of tag_days and tag_usage.
var (
	tagDayColumns = []string{"wallet", "part", "day", "value"}
	tagColumns    = slices.Concat(tagDayColumns, []string{"key_id", "member", "team", "model", "provider", "api", "result"})

	tagDays    = sqldb.Table{Name: "tag_days", Columns: slices.Concat(tagDayColumns, sumColumns), Merge: addSums("tag_days", tagDayColumns)}
	tagUsage   = sqldb.Table{Name: "tag_usage", Columns: slices.Concat(tagColumns, sumColumns), Merge: addSums("tag_usage", tagColumns)}
	selectTags = selectAll("tag_usage", tagColumns, sumColumns)
)

// tagDay is the key of tag_days.
type tagDay struct{ wallet, part, day, value string }

// tagKey is the key of tag_usage.
type tagKey struct {
	tagDay
	key, member, team, model, provider, api, result string
}

func (k tagDay) order(l tagDay) int {
	return cmp.Or(cmp.Compare(k.wallet, l.wallet), cmp.Compare(k.part, l.part), cmp.Compare(k.day, l.day), cmp.Compare(k.value, l.value))
}

func (k tagKey) order(l tagKey) int {
	return cmp.Or(k.tagDay.order(l.tagDay), cmp.Compare(k.key, l.key), cmp.Compare(k.member, l.member), cmp.Compare(k.team, l.team), cmp.Compare(k.model, l.model),
		cmp.Compare(k.provider, l.provider), cmp.Compare(k.api, l.api), cmp.Compare(k.result, l.result))
}

func (k tagDay) args(args []any, s *sums) []any {
	return s.args(append(args, k.wallet, k.part, k.day, k.value))
}

func (k tagKey) args(args []any, s *sums) []any {
	return s.args(append(args, k.wallet, k.part, k.day, k.value, k.key, k.member, k.team, k.model, k.provider, k.api, k.result))
}

// addTo adds the figures of a row to a digest of sums. The time of the last call does not count.
func (k tagKey) addTo(d *ledger.Digest, s *sums) {
	d.AddSums("tag_usage", []string{k.wallet, k.part, k.day, k.value, k.key, k.member, k.team, k.model, k.provider, k.api, k.result}, sumColumns[:lastAt], s[:lastAt])
}

// sorted reports whether a call has anything that its account sorts by.
func sorted(c *record.Call) bool {
	return c.Member != "" || c.Team != "" || c.Session != "" || c.ClientUser != "" || len(c.Tags) > 0
}

// tagBook adds calls up by what their accounts sort them by.
type tagBook struct {
	zones sqldb.Zones
	named func(tagDay) bool // reports whether a day has a row for a value; else it is counted as tag.Other
	rows  map[tagKey]*sums
}

func newTagBook(z sqldb.Zones, named func(tagDay) bool) *tagBook {
	return &tagBook{z, named, map[tagKey]*sums{}}
}

// valuesOf are the rows of tag_days that a call belongs to, if its values are not beyond the bound.
func valuesOf(c *record.Call, z sqldb.Zones) (all []tagDay) {
	day := tagDayOf(c, z)
	add := func(part report.Part, value string) {
		if value != "" {
			all = append(all, tagDay{c.Wallet, string(part), day, value})
		}
	}
	add(report.Member, c.Member)
	add(report.Team, c.Team)
	add(report.Session, c.Session)
	add(report.ClientUser, c.ClientUser)
	for _, t := range c.Tags {
		name, value := tag.Split(t)
		add(report.TagNames, name)
		add(report.TagNamed(name), value)
	}
	return all
}

// tagDayOf is the day of a call: that in which its hour begins, as in the other roll-ups.
func tagDayOf(c *record.Call, z sqldb.Zones) string {
	return z[c.Wallet].Local(time.Unix(hourOf(c).hour, 0)).Format(time.DateOnly)
}

// add adds figures of a call. Each name of a tag counts it once, and so do all names together that are beyond the bound.
func (b *tagBook) add(c *record.Call, s *sums) {
	k := tagKey{key: c.Key, member: c.Member, team: c.Team, model: c.Model, provider: c.Provider, api: c.API, result: c.Result()}
	names := map[string]bool{}
	lost := false
	for _, v := range valuesOf(c, b.zones) {
		k.tagDay = v
		switch name, is := report.Part(v.part).TagName(); {
		case v.part == string(report.TagNames):
			if names[v.value] = b.named(v); !names[v.value] {
				lost = true
			}
			continue
		case is && !names[name]:
			continue
		case !b.named(v):
			k.value = tag.Other
		}
		at(b.rows, k).plus(s)
	}
	if lost {
		k.tagDay = tagDay{c.Wallet, string(report.TagNames), tagDayOf(c, b.zones), tag.Other}
		at(b.rows, k).plus(s)
	}
}

// days are the rows of tag_days that follow.
func (b *tagBook) days() map[tagDay]*sums {
	days := map[tagDay]*sums{}
	for k, s := range b.rows {
		at(days, k.tagDay).plus(s)
		if name, is := report.Part(k.part).TagName(); is {
			at(days, tagDay{k.wallet, string(report.TagNames), k.day, name}).plus(s)
		}
	}
	return days
}

func (b *tagBook) rollUp(t *sqldb.Tx) error {
	if len(b.rows) == 0 {
		return nil
	}
	if err := merge(t, &tagUsage, b.rows, tagKey.order, tagKey.args); err != nil {
		return err
	}
	return merge(t, &tagDays, b.days(), tagDay.order, tagDay.args)
}

// rollUpTags adds calls, whose wallets are locked: so no other node counts the same value elsewhere.
func rollUpTags(t *sqldb.Tx, items []*ledger.Recorded) error {
	var all []tagDay
	for _, it := range items {
		all = append(all, valuesOf(&it.Call, t.Zones)...)
	}
	if all == nil {
		return nil
	}
	named, err := namedTags(t, all, true)
	if err != nil {
		return err
	}
	b := newTagBook(t.Zones, named)
	for _, it := range items {
		var s sums
		s.add(&it.Call)
		b.add(&it.Call, &s)
	}
	return b.rollUp(t)
}

// rollUpTagRefund adds a refund of a call.
func rollUpTagRefund(t *sqldb.Tx, c *record.Call, n int64) error {
	all := valuesOf(c, t.Zones)
	if all == nil {
		return nil
	}
	named, err := namedTags(t, all, false)
	if err != nil {
		return err
	}
	b := newTagBook(t.Zones, named)
	b.add(c, &sums{lastAt - 1: n})
	return b.rollUp(t)
}

// namedTags says which values have a row. With more, those that have none get one while their day has room for them.
func namedTags(t *sqldb.Tx, all []tagDay, more bool) (func(tagDay) bool, error) {
	named := map[tagDay]bool{}
	slices.SortFunc(all, tagDay.order)
	all = slices.Compact(all)
	names := func(k tagDay) bool { return k.part == string(report.TagNames) }
	for _, part := range [...]struct {
		of   func(tagDay) bool
		most int
	}{{names, mostTagNames}, {func(k tagDay) bool {
		name, is := report.Part(k.part).TagName()
		return !names(k) && (!is || named[tagDay{k.wallet, string(report.TagNames), k.day, name}])
	}, mostTagValues}} {
		var keys []tagDay
		var args []any
		for _, k := range all {
			if part.of(k) {
				keys, args = append(keys, k), append(args, k.wallet, k.part, k.day, k.value)
			}
		}
		var missing []tagDay
		err := t.RowEach(tagKnown, 4, args, func(i int, row sqldb.Scanner) error {
			var n int
			if err := row.Scan(&n); err != nil {
				return err
			}
			if named[keys[i]] = n > 0; n == 0 {
				missing = append(missing, keys[i])
			}
			return nil
		})
		if err != nil {
			return nil, err
		}
		if !more || missing == nil {
			continue
		}
		group := func(k tagDay) tagDay { k.value = ""; return k }
		var groups []tagDay
		args = nil
		for _, k := range missing {
			if g := group(k); len(groups) == 0 || groups[len(groups)-1] != g {
				groups, args = append(groups, g), append(args, g.wallet, g.part, g.day)
			}
		}
		room := map[tagDay]int{}
		err = t.RowEach(tagCount, 3, args, func(i int, row sqldb.Scanner) error {
			var n int
			err := row.Scan(&n)
			room[groups[i]] = part.most - n
			return err
		})
		if err != nil {
			return nil, err
		}
		for _, k := range missing {
			if g := group(k); room[g] > 0 {
				room[g]--
				named[k] = true
			}
		}
	}
	return func(k tagDay) bool { return named[k] }, nil
}

// firstTags names values as they come, for days that have none yet.
func firstTags() func(tagDay) bool {
	named, counts := map[tagDay]bool{}, map[tagDay]int{}
	return func(k tagDay) bool {
		if named[k] {
			return true
		}
		day, most := k, mostTagValues
		day.value = ""
		if k.part == string(report.TagNames) {
			most = mostTagNames
		}
		if counts[day] == most {
			return false
		}
		counts[day]++
		named[k] = true
		return true
	}
}

// fillTags makes the rows of days anew from the records. The rows of earlier days stay that have calls which were dropped since.
func fillTags(t *sqldb.Tx, first bool) error {
	from := ""
	var horizon int64
	if err := t.Row(horizonRead).Scan(&horizon); err != nil {
		return err
	}
	if horizon > 0 && !first {
		from = time.UnixMicro(horizon).UTC().AddDate(0, 0, 2).Format(time.DateOnly) // behind it in any zone
	}
	for _, table := range []string{tagUsage.Name, tagDays.Name} {
		if _, err := t.Exec("DELETE FROM "+table+" WHERE day >= $1", from); err != nil {
			return err
		}
	}
	b := newTagBook(t.Zones, firstTags())
	err := eachRecord(t, func(c *record.Call, refunded int64) {
		if sorted(c) && tagDayOf(c, t.Zones) >= from {
			s := sums{lastAt - 1: refunded}
			s.add(c)
			b.add(c, &s)
		}
	})
	if err != nil {
		return err
	}
	if err := b.rollUp(t); err != nil {
		return err
	}
	_, err = t.Exec(`UPDATE usage_form SET tags = $1 WHERE one = 1`, tagsForm)
	return err
}

// tagCheck compares tag_usage with the calls, a wallet at a time.
type tagCheck struct {
	c      *checker
	book   *tagBook
	wallet string // whose values are in named
	values map[tagDay]bool
}

func newTagCheck(c *checker) *tagCheck {
	k := &tagCheck{c: c}
	k.book = newTagBook(c.zones, func(d tagDay) bool { return k.values[d] })
	return k
}

func (k *tagCheck) add(call *record.Call, refunded int64) {
	if !sorted(call) {
		return
	}
	if k.values == nil || k.wallet != call.Wallet {
		k.wallet, k.values = call.Wallet, map[tagDay]bool{}
		k.c.each(tagNamed, func(v []any) {
			k.values[tagDay{call.Wallet, text(v[0]), text(v[1]), text(v[2])}] = true
		}, call.Wallet)
	}
	s := sums{lastAt - 1: refunded}
	s.add(call)
	k.book.add(call, &s)
}

// compareTags compares tag_usage with calls and refunds, and with what remains of the calls that were dropped.
func (u *usageCheck) compareTags(to dayCursor) {
	want := u.tags.book.rows
	between := rowsBetween{"", u.whole, to}
	swept := u.c.books.swept.calls > 0
	u.c.each(between.of(selectTags), func(v []any) {
		k := tagKey{tagDay{text(v[0]), text(v[1]), text(v[2]), text(v[3])}, text(v[4]), text(v[5]), text(v[6]), text(v[7]), text(v[8]), text(v[9]), text(v[10])}
		s, right := sumsOf(v[len(tagColumns):]), sums{}
		if want[k] != nil {
			right = *want[k]
			delete(want, k)
		}
		u.rows.tags++
		if !swept {
			compare(&u.wrong.tags, k, s, right)
			return
		}
		for i := range s {
			s[i] -= right[i]
		}
		k.addTo(&u.dropped.tags, &s)
	}, between.args()...)
	for k := range want {
		u.wrong.tags.add(fmt.Sprintf("%v is missing", k))
	}
	clear(want)
}

// compareTagDays compares tag_days with tag_usage.
func (u *usageCheck) compareTagDays() {
	u.c.each(checkTagDays, func(v []any) {
		u.wrong.tags.add(fmt.Sprintf("the day %s of wallet %s by %s for %s differs from the usage that it is made of", text(v[2]), text(v[0]), text(v[1]), text(v[3])))
	})
}

var checkTagDays = func() string {
	list := func(before string) string { return before + strings.Join(sumColumns[:lastAt], ", "+before) }
	differs := make([]string, lastAt)
	for i, c := range sumColumns[:lastAt] {
		differs[i] = "SUM(" + c + ") <> 0"
	}
	const name = `'tag', day, substr(part, 5)`
	return "SELECT wallet, part, day, value FROM (SELECT wallet, part, day, value, " + list("") + " FROM tag_usage UNION ALL SELECT wallet, " + name + ", " + list("") + " FROM tag_usage WHERE substr(part, 1, 4) = 'tag:' UNION ALL SELECT wallet, part, day, value, " +
		list("-") + " FROM tag_days) p GROUP BY wallet, part, day, value HAVING " + strings.Join(differs, " OR ") + " LIMIT 5"
}()
