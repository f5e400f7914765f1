package ledgerdb

import (
	"context"
	"slices"
	"strings"
	"time"

	"weir/internal/rawjson"
	"weir/internal/report"
	"weir/internal/store/sqldb"
	"weir/internal/tag"
	"weir/internal/zone"
)

// sorts says by what the roll-ups by tags answer a query; false: those of all calls do. Members are users but in an organization, whose calls name them.
func (s *Ledger) sorts(ctx context.Context, q *report.Query) (by report.Sorted, sorts bool, err error) {
	if by, sorts, err = q.Sorts(); sorts || err != nil {
		if err == nil && q.Bucket == report.Hour {
			err = report.ByDays()
		}
		return by, true, err
	}
	if q.Part != report.Member && q.Filter.Member == "" || q.Bucket == report.Hour {
		return by, false, nil
	}
	var one int
	found, err := s.first(ctx, &one, "SELECT 1 FROM tag_days WHERE wallet = $1 AND part = '"+string(report.Member)+"' LIMIT 1", []any{q.Wallet})
	return by, found, err
}

// alone is the user of an account whose calls name no members, and so are all its user's; "" of an organization.
func (s *Ledger) alone(ctx context.Context, wallet string) (user string, err error) {
	_, err = s.first(ctx, &user, "SELECT id FROM users WHERE wallet = $1 AND NOT EXISTS (SELECT 1 FROM tag_days WHERE wallet = $1 AND part = '"+string(report.Member)+"')", []any{wallet})
	return user, err
}

// usageByTags sums the rows of calls that have a property; those without it are what is left of all.
func (s *Ledger) usageByTags(ctx context.Context, q report.Query, by report.Sorted) ([]report.Row, error) {
	if by.Part == report.Member || q.Part != report.Member && q.Filter.Member == "" {
		return s.tagUsage(ctx, q, by)
	}
	switch user, err := s.alone(ctx, q.Wallet); {
	case err != nil:
		return nil, err
	case user == "":
		return s.tagUsage(ctx, q, by)
	default:
		return s.usageAlone(ctx, q, by, user)
	}
}

// usageAlone is tagUsage about members where there is one user.
func (s *Ledger) usageAlone(ctx context.Context, q report.Query, by report.Sorted, user string) ([]report.Row, error) {
	if m := q.Filter.Member; m != "" && m != user {
		return nil, nil
	}
	q.Filter.Member = ""
	if q.Part != report.Member {
		return s.tagUsage(ctx, q, by)
	}
	q.Part = report.None
	rows, err := s.tagUsage(ctx, q, by)
	for i := range rows {
		rows[i].Value = user
	}
	return rows, err
}

func (s *Ledger) tagUsage(ctx context.Context, q report.Query, by report.Sorted) ([]report.Row, error) {
	rest := q
	without(&rest.Filter, by.Part)
	switch {
	case by.Value == report.Nothing:
		all, err := s.Usage(ctx, rest)
		if err != nil {
			return nil, err
		}
		have, err := s.tagRows(ctx, &q, report.Sorted{Part: by.Part})
		return remaining(all, have), err
	case q.Part != by.Part || by.Value != "" || by.Part == report.TagNames:
		return s.tagRows(ctx, &q, by)
	}
	have, err := s.tagRows(ctx, &q, by)
	if err != nil {
		return nil, err
	}
	rest.Part = report.None
	all, err := s.Usage(ctx, rest)
	if err != nil {
		return nil, err
	}
	sums := make([]report.Row, len(have))
	for i := range have {
		sums[i] = have[i]
		sums[i].Value = ""
	}
	have = append(have, remaining(all, sums)...)
	slices.SortStableFunc(have, func(a, b report.Row) int {
		if n := a.At.Compare(b.At); n != 0 {
			return n
		}
		return strings.Compare(a.Value, b.Value)
	})
	return have, nil
}

// without takes a property out of a filter.
func without(f *report.Filter, part report.Part) {
	switch part {
	case report.Session:
		f.Session = ""
	case report.ClientUser:
		f.ClientUser = ""
	case report.Team:
		f.Team = ""
	case report.Member:
		f.Member = ""
	default:
		f.Tag = ""
	}
}

// remaining is what is left of rows when others are taken away from those of the same bucket and value.
func remaining(all, taken []report.Row) (rest []report.Row) {
	type place struct {
		at    int64
		value string
	}
	gone := map[place]*report.Sums{}
	for i := range taken {
		at(gone, place{taken[i].At.Unix(), taken[i].Value}).Add(&taken[i].Sums)
	}
	for i := range all {
		r := all[i]
		if s := gone[place{r.At.Unix(), r.Value}]; s != nil {
			r.Sub(s)
		}
		none := r.Sums
		none.LastAt = time.Time{}
		if none != (report.Sums{}) {
			rest = append(rest, r)
		}
	}
	return rest
}

// tagColumnsOf are the names that properties of calls have in tag_usage.
func tagColumnsOf(by report.Part) columnsOf {
	c := columnsOf{report.Model: "model", report.Key: "key_id", report.Member: "member", report.Team: "team", report.Provider: "provider", report.Kind: "api", report.Result: "result"}
	c[by] = "value"
	return c
}

// tagged adds the conditions of a query, and says which table has its rows: the small one if it is about one property alone.
func tagged(c *sqldb.Conditions, f report.Filter, part report.Part, by report.Sorted) (table string, names columnsOf) {
	names = tagColumnsOf(by.Part)
	c.Add("part = ?", string(by.Part))
	if by.Value != "" && by.Value != report.Nothing {
		c.Add("value = ?", by.Value)
	}
	without(&f, by.Part)
	if f == (report.Filter{}) && (part == report.None || part == by.Part) {
		return tagDays.Name, names
	}
	filter(c, &f, names)
	c.Equal(names[report.Team], f.Team)
	return tagUsage.Name, names
}

// mostDays is how many days are looked at one by one.
const mostDays = 400

// daysOf are the days of a query, at least one.
func daysOf(q *report.Query) []string {
	days := []string{q.From.Format(time.DateOnly)}
	for day := report.Day.Next(q.From); day.Before(q.To) && len(days) <= mostDays; day = report.Day.Next(day) {
		days = append(days, day.Format(time.DateOnly))
	}
	return days
}

func (s *Ledger) tagRows(ctx context.Context, q *report.Query, by report.Sorted) ([]report.Row, error) {
	var c sqldb.Conditions
	c.Add("wallet = ?", q.Wallet)
	table, names := tagged(&c, q.Filter, q.Part, by)
	if days := daysOf(q); table == tagDays.Name && by.Value != "" && by.Value != report.Nothing && len(days) <= mostDays {
		oneOf(&c, "day", days) // a look for each, and not at all values of these days
	} else {
		c.Add("day >= ? AND day < ?", q.From.Format(time.DateOnly), q.To.Format(time.DateOnly))
	}
	bucket, value := dayBuckets(q.Bucket), names[q.Part]
	if q.Part == report.None {
		value = "''"
	}
	return s.usageRows(ctx, q, bucket, value, table+c.Where(), c.Args)
}

// lastTagged is LastHour for a property, to the day. A value that is beyond the bound of a day is among the others of it.
func (s *Ledger) lastTagged(ctx context.Context, wallet string, f report.Filter, by report.Sorted, h zone.History, from, before time.Time) (time.Time, error) {
	latest := before.Add(-time.Microsecond).Truncate(time.Hour)
	if by.Value == report.Nothing || by.Value == "" {
		return latest, nil
	}
	part := by.Part
	without(&f, part)
	if f.Member != "" {
		switch user, err := s.alone(ctx, wallet); {
		case err != nil:
			return time.Time{}, err
		case user == f.Member:
			f.Member = ""
		}
	}
	places := []report.Sorted{by, {Part: part, Value: tag.Other}}
	if _, is := part.TagName(); is {
		places = append(places, report.Sorted{Part: report.TagNames, Value: tag.Other})
	}
	// One look at the end of a part of the key for each: a condition for all of them would read all rows of the account.
	day, first, last := "", h.Day(from).Format(time.DateOnly), h.Day(latest).Format(time.DateOnly)
	for _, p := range places {
		var c sqldb.Conditions
		c.Add("wallet = ?", wallet)
		c.Add("part = ? AND value = ?", string(p.Part), p.Value)
		c.Add("day >= ? AND day <= ?", max(first, day), last)
		names := tagColumnsOf(p.Part)
		filter(&c, &f, names)
		c.Equal(names[report.Team], f.Team)
		if _, err := s.first(ctx, &day, "SELECT day FROM tag_usage"+c.Where()+" ORDER BY day DESC LIMIT 1", c.Args); err != nil {
			return time.Time{}, err
		}
	}
	if day == "" {
		return time.Time{}, nil
	}
	at, err := time.Parse(time.DateOnly, day)
	if err != nil {
		return time.Time{}, sqldb.Failure("store.LastHour", err)
	}
	if end := h.Start(at.AddDate(0, 0, 1)).Add(-time.Hour); end.Before(latest) {
		return end, nil
	}
	return latest, nil
}

// sortedCalls adds conditions that all calls meet which a filter chooses by what their account sorts by: the details have the value as a text. Filter.Fits
// says which of them it chooses. columns are those that the conditions need.
func sortedCalls(c *sqldb.Conditions, f *report.Filter) (columns string) {
	look := func(text string) {
		b := rawjson.AppendText(nil, text)
		c.Add(`CAST(details AS TEXT) LIKE ? ESCAPE '\'`, "%"+strings.NewReplacer(`\`, `\\`, `%`, `\%`, `_`, `\_`).Replace(string(b))+"%")
		columns = ", details"
	}
	for _, v := range [...]string{f.Team, f.Session, f.ClientUser} {
		if v != "" && v != report.Nothing {
			look(v)
		}
	}
	if name, value := tag.Split(f.Tag); f.Tag != "" && value != tag.None {
		look(tag.Join(name, value))
	}
	return columns
}
