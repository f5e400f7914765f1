package report

import (
	"slices"
	"strings"

	"weir/internal/fault"
	"weir/internal/record"
	"weir/internal/tag"
)

// Parts by what an account sorts its calls by. They are known by days and months alone.
const (
	Team       Part = "team"
	Session    Part = "session"
	ClientUser Part = "user" // the client's own user
	TagNames   Part = "tag"  // names of tags: a call belongs to each that it has, so that groups do not add up

	tagged = "tag:"
)

// TagNamed is the part by the values of the tag with a name.
func TagNamed(name string) Part { return Part(tagged + name) }

// TagName is the name of a part by the values of a tag.
func (p Part) TagName() (string, bool) { return strings.CutPrefix(string(p), tagged) }

// Sorted is a property by which an account sorts its calls, with the value that a filter has for it, "" any.
type Sorted struct {
	Part  Part
	Value string
}

// Sorts is what the roll-ups by tags must be asked for: the one of tag, session and user that the query is about, else team, else member. ok is false when
// it is about none of them. Two of tag, session and user at once are not known.
func (q *Query) Sorts() (s Sorted, ok bool, err error) {
	f := &q.Filter
	var all []Sorted
	if f.Tag != "" {
		name, value := tag.Split(f.Tag)
		all = append(all, Sorted{TagNamed(name), value})
	}
	if f.Session != "" {
		all = append(all, Sorted{Session, f.Session})
	}
	if f.ClientUser != "" {
		all = append(all, Sorted{ClientUser, f.ClientUser})
	}
	if _, is := q.Part.TagName(); (is || q.Part == Session || q.Part == ClientUser || q.Part == TagNames) && !slices.ContainsFunc(all, func(s Sorted) bool { return s.Part == q.Part }) {
		all = append(all, Sorted{q.Part, ""})
	}
	switch {
	case len(all) > 1:
		return s, true, fault.Field("report.Sorts", "group", "Usage can be about one of tag, session and user at a time. Leave one out, or list the calls.").Coded("one_sorting")
	case len(all) == 1:
		return all[0], true, nil
	case f.Team != "" || q.Part == Team:
		return Sorted{Team, f.Team}, true, nil
	}
	return Sorted{Member, f.Member}, false, nil
}

// ByDays is the fault of a query by hours for what is known by days alone.
func ByDays() error {
	return fault.Field("report.ByDays", "bucket", "Usage by tag, team, session or user is known by days and months. Choose one of these buckets.").Coded("sorted_by_days")
}

// Sorted reports whether a filter is about what an account sorts by.
func (f *Filter) Sorted() bool {
	return f.Tag != "" || f.Session != "" || f.ClientUser != "" || f.Team != ""
}

// Fits reports whether a call is one that a filter chooses by what an account sorts by.
func (f *Filter) Fits(c *record.Call) bool {
	same := func(want, is string) bool { return want == "" || want == is || want == Nothing && is == "" }
	if !same(f.Team, c.Team) || !same(f.Session, c.Session) || !same(f.ClientUser, c.ClientUser) {
		return false
	}
	name, value := tag.Split(f.Tag)
	return f.Tag == "" || slices.ContainsFunc(c.Tags, func(t string) bool {
		n, v := tag.Split(t)
		return n == name && (v == value || value == tag.None)
	}) != (value == tag.None)
}

// Sub takes figures away.
func (s *Sums) Sub(o *Sums) {
	s.Calls -= o.Calls
	s.Charged -= o.Charged
	s.Failed -= o.Failed
	s.Canceled -= o.Canceled
	s.Prompt -= o.Prompt
	s.CacheRead -= o.CacheRead
	s.CacheWrite -= o.CacheWrite
	s.Completion -= o.Completion
	s.Reasoning -= o.Reasoning
	s.Cost -= o.Cost
	s.Refunded -= o.Refunded
	s.FirstContent -= o.FirstContent
	s.FirstContents -= o.FirstContents
}
