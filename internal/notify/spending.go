package notify

import (
	"cmp"
	"context"
	"slices"
	"time"

	"weir/internal/money"
	"weir/internal/report"
	"weir/internal/tag"
)

// The rule of unusual spending; docs/notifications.md says it to people.
const (
	unusualDays   = 28                // before today that count
	unusualSpent  = 7                 // of them with spending, or there is no usual
	unusualTimes  = 3                 // times the median of the days with spending
	unusualLeast  = 100 * money.Ruble // less is never worth a word
	unusualOverIn = 2                 // today is more than the dearest day by at least its 1/unusualOverIn
)

// What is said of where the money went.
const (
	grownIn   = 5   // what grew by less than a fifth of the whole is left out
	mostGrown = 3   // tags, sessions, and keys
	mostAsked = 100 // values that are compared with the days before

	// MostTags is how many tags an account may have watched by themselves.
	MostTags       = 20
	mostUnusualTag = 20 // values of them that are reported in one check
)

// Growth is something that cost more on a day than usual.
type Growth struct {
	By    GrowthBy
	Ref   string // hash of a key
	Name  string // the tag, the session, the name of the key; people chose it
	Spent money.Nano
	Usual money.Nano // the median of the same days as that of the whole; on some of them it may have cost nothing
}

// GrowthBy is what kind of thing grew.
type GrowthBy string

// The kinds.
const (
	ByTag     GrowthBy = "tag"
	BySession GrowthBy = "session"
	ByKey     GrowthBy = "key"
)

// Unusual reports whether the last of the days, which is today, costs far more than usual, and what is usual: the median of the days with
// spending among the 28 before. Today is unusual from 100 rubles on if it costs at least three times the usual, and half more than the
// dearest of those days. Before there are seven days with spending nothing is unusual.
func Unusual(days []report.DayShares) (today, usual money.Nano, unusual bool) {
	if len(days) == 0 {
		return 0, 0, false
	}
	costs := make([]money.Nano, len(days))
	for i := range days {
		costs[i] = days[i].Cost
	}
	today = costs[len(costs)-1]
	usual, unusual = far(costs[:len(costs)-1], today)
	return today, usual, unusual
}

// far is the rule of Unusual for today and the days before.
func far(before []money.Nano, today money.Nano) (usual money.Nano, unusual bool) {
	before = before[max(0, len(before)-unusualDays):]
	var spent []money.Nano
	for _, cost := range before {
		if cost > 0 {
			spent = append(spent, cost)
		}
	}
	if len(spent) < unusualSpent {
		return 0, false
	}
	slices.Sort(spent)
	usual, dearest := spent[(len(spent)-1)/2], spent[len(spent)-1]
	// by division, so that nothing overflows
	return usual, today/unusualTimes >= usual && today-dearest >= dearest/unusualOverIn && today >= unusualLeast
}

// Spenders says what values cost. *report.Reporter does.
type Spenders interface {
	Spenders(ctx context.Context, q report.SpenderQuery) ([]report.Spender, error)
}

// Watched is whose spending is looked at, and by what.
type Watched struct {
	Wallet string
	Filter report.Filter // of its calls: Org and Sees
	Tags   []string      // that are looked at by themselves: whole ones, and names for all their values
	// Key is the hash and the name of a key.
	Key func(ctx context.Context, id string) (hash, name string, err error)
}

// FindUnusual looks whether today is unusual for the account, and for each tag that it watches, and finds what grew. Most days cost no read.
func (s *Seen) FindUnusual(ctx context.Context, r Spenders, w *Watched) error {
	days := s.Overview.Days
	if len(days) < 2 {
		return nil
	}
	l := look{reads: r, Watched: w, day: days[len(days)-1].Day}
	var before []money.Nano
	for _, d := range days[max(0, len(days)-1-unusualDays) : len(days)-1] {
		l.before, before = append(l.before, d.Day), append(before, d.Cost)
	}
	if today, usual, unusual := Unusual(days); unusual {
		f := l.fact("", today, usual)
		all := []report.Sorted{{Part: report.TagNames}, {Part: report.Session}, {Part: report.Key}}
		if err := l.grown(ctx, &f, before, all, w.Filter); err != nil {
			return err
		}
		s.Unusual = append(s.Unusual, f)
	}
	return l.tags(ctx, s)
}

// look is one look at a day and those before it.
type look struct {
	*Watched
	reads  Spenders
	day    time.Time
	before []time.Time
}

func (l *look) fact(ref string, today, usual money.Nano) Fact {
	return Fact{Kind: UnusualSpending, Ref: ref, Name: ref, Tag: ref, At: l.day, Amount: today, Usual: usual, Episode: l.day.Format(time.DateOnly)}
}

// tags finds the watched tags for which the day is unusual. Within a tag it is said which keys grew.
func (l *look) tags(ctx context.Context, s *Seen) error {
	if len(l.Tags) == 0 {
		return nil
	}
	q := report.SpenderQuery{Wallet: l.Wallet, Filter: l.Filter, Day: l.day, Before: l.before, Least: unusualLeast, Most: mostAsked}
	for _, t := range l.Tags {
		of := report.Sorted{Part: report.TagNamed(t)} // all values of the name, which may be there alone
		if name, value := tag.Split(t); value != tag.Alone {
			of = report.Sorted{Part: report.TagNamed(name), Value: value}
		}
		q.Of = append(q.Of, of)
	}
	spent, err := l.reads.Spenders(ctx, q)
	if err != nil {
		return err
	}
	n := 0
	for i := range spent {
		usual, unusual := far(spent[i].Before, spent[i].Cost)
		if !unusual || n == mostUnusualTag {
			continue
		}
		n++
		f := l.fact(nameOf(&spent[i]), spent[i].Cost, usual)
		of := l.Filter
		of.Tag = f.Ref
		if err := l.grown(ctx, &f, spent[i].Before, []report.Sorted{{Part: report.Key}}, of); err != nil {
			return err
		}
		s.Unusual = append(s.Unusual, f)
	}
	return nil
}

// grown adds to a fact what grew by at least a fifth of it, what grew most first. before is what the whole cost on the days before.
func (l *look) grown(ctx context.Context, f *Fact, before []money.Nano, of []report.Sorted, calls report.Filter) error {
	least := max(1, (f.Amount-f.Usual)/grownIn)
	spent, err := l.reads.Spenders(ctx, report.SpenderQuery{Wallet: l.Wallet, Filter: calls, Of: of, Day: l.day, Before: l.before, Least: least, Most: mostAsked})
	if err != nil {
		return err
	}
	slices.SortStableFunc(spent, func(a, b report.Spender) int {
		return -cmp.Compare(a.Cost-usually(&a, before), b.Cost-usually(&b, before))
	})
	said := map[GrowthBy]int{}
	for i := range spent {
		v := &spent[i]
		g := Growth{By: ByTag, Name: nameOf(v), Spent: v.Cost, Usual: usually(v, before)}
		switch v.Part {
		case report.Session:
			g.By = BySession
		case report.Key:
			g.By = ByKey
		}
		if g.Spent-g.Usual < least || said[g.By] == mostGrown {
			continue
		}
		said[g.By]++
		if g.By == ByKey {
			if g.Ref, g.Name, err = l.Key(ctx, v.Value); err != nil {
				return err
			}
		}
		f.Grown = append(f.Grown, g)
	}
	slices.SortStableFunc(f.Grown, func(a, b Growth) int { return -cmp.Compare(a.By, b.By) }) // tags, sessions, keys
	return nil
}

// nameOf is a value as people know it: of a tag the whole tag.
func nameOf(v *report.Spender) string {
	if name, is := v.Part.TagName(); is {
		return tag.Join(name, v.Value)
	}
	return v.Value
}

// usually is the median of what a value cost on those days before on which the whole cost anything.
func usually(v *report.Spender, before []money.Nano) money.Nano {
	var costs []money.Nano
	for i, cost := range before {
		if cost > 0 {
			costs = append(costs, v.Before[i])
		}
	}
	if len(costs) == 0 {
		return 0
	}
	slices.Sort(costs)
	return costs[(len(costs)-1)/2]
}

// WrongTags says why a list cannot be that of the tags that an account has watched by themselves; "" when it can.
func WrongTags(list []string) string {
	if len(list) > MostTags {
		return "there are more than 20"
	}
	for i, t := range list {
		if why := tag.Wrong(t); why != "" {
			return "one of them is no tag: " + why
		}
		if slices.Contains(list[:i], t) {
			return "one is there twice"
		}
	}
	return ""
}
