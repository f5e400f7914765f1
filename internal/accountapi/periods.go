package accountapi

import (
	"cmp"
	"context"
	"slices"
	"strings"
	"time"

	"weir/internal/apikey"
	"weir/internal/fault"
	"weir/internal/operation"
	"weir/internal/organization"
	"weir/internal/report"
	"weir/internal/tag"
	"weir/internal/zone"
)

const (
	defaultDays = 30
	// How long a period may be, by its buckets.
	mostHours, mostDays, mostMonths = 8 * 24, 400, 60
)

// Period is which time a report is about.
type Period struct {
	From string `json:"-" query:"from" maxLength:"40"` // a day of the account (YYYY-MM-DD) or a time (RFC 3339); without it 30 days with today
	To   string `json:"-" query:"to" maxLength:"40"`   // a day of the account, which is included, or a time, which is not; without it now
}

// instant reads a day of the account or a time. A day as the end of a period is included, so it means the beginning of the next one.
func instant(name, text string, end bool, zones zone.History) (t time.Time, err error) {
	const op = "accountapi.instant"
	if t, err = time.Parse(time.DateOnly, text); err == nil {
		if end {
			t = t.AddDate(0, 0, 1)
		}
		t = zones.Start(t)
	} else if t, err = time.Parse(time.RFC3339Nano, text); err != nil {
		return t, fault.Field(op, name, "%s must be a day such as 2026-01-31, or a time such as 2026-01-31T12:00:00Z.", name).Coded("day_or_time")
	}
	if t = t.UTC(); t.Year() < 1970 || t.Year() > 9999 {
		return t, fault.Field(op, name, "%s must be between 1970 and 9999.", name).Coded("day_or_time")
	}
	return t, nil
}

// Moments are the first moment of a period and the one behind its last, by the days of UTC. What is not given is the zero time.
func Moments(from, to string) (first, behind time.Time, err error) {
	if from != "" {
		if first, err = instant("from", from, false, nil); err != nil {
			return first, behind, err
		}
	}
	if to != "" {
		if behind, err = instant("to", to, true, nil); err != nil {
			return first, behind, err
		}
	}
	if !first.IsZero() && !behind.IsZero() && !first.Before(behind) {
		err = fault.Field("accountapi.period", "from", "from must be before to.").Coded("from_after_to")
	}
	return first, behind, err
}

// of reads the times; without them it is the last 30 days of the account, with today.
func (p *Period) of(ctx context.Context, r *report.Reporter, c *operation.Call) (from, to time.Time, zones zone.History, err error) {
	if zones, err = r.Zones(ctx, c.Wallet); err != nil {
		return from, to, nil, err
	}
	from, to, err = p.In(zones, c.At)
	return from, to, zones, err
}

// In reads the times, with days of some zones.
func (p *Period) In(zones zone.History, now time.Time) (from, to time.Time, err error) {
	to = now.UTC().Add(time.Second) // a call that has just begun is included
	if p.To != "" {
		if to, err = instant("to", p.To, true, zones); err != nil {
			return from, to, err
		}
	}
	if p.From == "" {
		from = zones.Start(zones.Day(to.Add(-time.Microsecond)).AddDate(0, 0, 1-defaultDays))
	} else if from, err = instant("from", p.From, false, zones); err != nil {
		return from, to, err
	}
	if !from.Before(to) {
		err = fault.Field("accountapi.period", "from", "from must be before to.").Coded("from_after_to")
	}
	return from, to, err
}

// CallFilter is which calls a report is about.
type CallFilter struct {
	Model    string `json:"-" query:"model" maxLength:"640"`    // slug of the model that served; (none) for calls without one
	Provider string `json:"-" query:"provider" maxLength:"256"` // id of a provider; (none) for calls that no provider answered
	Key      string `json:"-" query:"key" maxLength:"128"`      // hash of a key of the account, or its id as in calls
	Member   string `json:"-" query:"member" maxLength:"128"`   // id of a user
	Kind     string `json:"-" query:"kind" maxLength:"64"`      // style or task, such as completions, messages, responses, embeddings, images, videos
	Result   string `json:"-" query:"result" maxLength:"64"`    // ok, canceled, failed (any error), or an error_type
}

// Plain is the filter as it was written.
func (in *CallFilter) Plain() (f report.Filter, err error) {
	f = report.Filter{Model: in.Model, Provider: in.Provider, Key: in.Key, Member: in.Member, Kind: in.Kind, Result: in.Result}
	for _, v := range []struct {
		name, value string
		most        int
	}{{"model", f.Model, 640}, {"provider", f.Provider, 256}, {"key", f.Key, 128}, {"member", f.Member, 128}, {"kind", f.Kind, 64}, {"result", f.Result, 64}} {
		if len(v.value) > v.most {
			return f, fault.Field("accountapi.filter", v.name, "%s must have at most %d bytes.", v.name, v.most).Coded("most_bytes", "most", v.most)
		}
	}
	return f, nil
}

// SortFilter is which calls a report is about, by what their account sorts them by.
type SortFilter struct {
	Tags    string `json:"-" query:"tag" maxLength:"264"`         // a tag of the calls, as name=value or as a name alone; name=(none) for calls without a tag of that name
	Team    string `json:"-" query:"team" maxLength:"128"`        // id of a team; (none) for calls of no team
	Session string `json:"-" query:"session" maxLength:"256"`     // session_id of requests; (none) for calls without one
	Client  string `json:"-" query:"client_user" maxLength:"256"` // user of requests; (none) for calls without one
}

// into adds the properties to a filter.
func (in *SortFilter) into(f *report.Filter) error {
	f.Tag, f.Team, f.Session, f.ClientUser = in.Tags, in.Team, in.Session, in.Client
	for _, v := range []struct {
		name, value string
		most        int
	}{{"tag", f.Tag, 264}, {"team", f.Team, 128}, {"session", f.Session, 256}, {"client_user", f.ClientUser, 256}} {
		if len(v.value) > v.most {
			return fault.Field("accountapi.filter", v.name, "%s must have at most %d bytes.", v.name, v.most).Coded("most_bytes", "most", v.most)
		}
	}
	if name, value := tag.Split(f.Tag); f.Tag != "" && tag.Wrong(f.Tag) != "" && (value != tag.None || tag.Wrong(name) != "") {
		return fault.Field("accountapi.filter", "tag", "tag must be a tag such as project=atlas or beta, or project=(none) for calls without a tag of that name.").Coded("tag_filter")
	}
	return nil
}

// wholeDays widens a period to whole days of the account, for what is known by days alone.
func wholeDays(from, to time.Time, zones zone.History) (time.Time, time.Time) {
	return zones.Start(zones.Day(from)), zones.Start(report.Day.Next(zones.Day(to.Add(-time.Microsecond))))
}

// byDays reports whether what a query is about is known by days alone. Members of an organization are; a person is a member of the own account.
func byDays(q *report.Query, user string) (bool, error) {
	_, sorts, err := q.Sorts()
	return sorts || strings.HasPrefix(user, organization.Prefix) && (q.Part == report.Member || q.Filter.Member != ""), err
}

// seenBy is the filter of what somebody sees of an account.
func seenBy(user string, sees apikey.Sight) (f report.Filter) {
	if !sees.All() {
		f.Org, f.Sees = user, sees
	}
	return f
}

// of is the filter for reports. A key is named by its hash, as on the routes of keys, or by its id, as in calls.
func (in *CallFilter) of(ctx context.Context, d Deps, c *operation.Call) (f report.Filter, err error) {
	if f, err = in.Plain(); err != nil {
		return f, err
	}
	if part := seenBy(c.User, c.Sees); part != (report.Filter{}) {
		f.Org, f.Sees = part.Org, part.Sees
	}
	if len(f.Key) != 64 || strings.HasPrefix(f.Key, "key_") {
		return f, nil
	}
	names, err := namesOfKeys(ctx, d.Keys, c.User)
	if err != nil {
		return f, err
	}
	f.Key, err = names.byHash(f.Key)
	return f, err
}

// chosen is one of some words, the usual one for "".
func chosen[T ~string](name, text string, usual T, all []T) (T, error) {
	v := cmp.Or(T(text), usual)
	if !slices.Contains(all, v) {
		words := make([]string, len(all))
		for i := range all {
			words[i] = string(all[i])
		}
		allowed := strings.Join(words, ", ")
		return v, fault.Field("accountapi.chosen", name, "%s must be one of %s.", name, allowed).Coded("one_of", "allowed", allowed)
	}
	return v, nil
}
