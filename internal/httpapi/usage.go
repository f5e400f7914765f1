package httpapi

import (
	"net/url"
	"strings"
	"time"

	"weir/internal/apikey"
	"weir/internal/fault"
	"weir/internal/report"
	"weir/internal/zone"
)

const (
	defaultDays = 30
	// How long a period may be, by its buckets.
	mostHours, mostDays = 8 * 24, 400
)

// instant reads a day of the account or a time. A day as the end of a period is included, so it means the beginning of the next one.
func instant(q url.Values, name string, end bool, zones zone.History) (t time.Time, given bool, err error) {
	text := q.Get(name)
	if text == "" {
		return t, false, nil
	}
	if t, err = time.Parse(time.DateOnly, text); err == nil {
		if end {
			t = t.AddDate(0, 0, 1)
		}
		t = zones.Start(t)
	} else if t, err = time.Parse(time.RFC3339Nano, text); err != nil {
		return t, true, fault.Field("httpapi.instant", name, "%s must be a day such as 2026-01-31, or a time such as 2026-01-31T12:00:00Z.", name)
	}
	if t = t.UTC(); t.Year() < 1970 || t.Year() > 9999 {
		return t, true, fault.Field("httpapi.instant", name, "%s must be between 1970 and 9999.", name)
	}
	return t, true, nil
}

// period reads the times of a query; without them it is the last 30 days of the account, with today.
func (x *request) period(q url.Values) (from, to time.Time, zones zone.History, err error) {
	if zones, err = x.api.Reports.Zones(x.context(), x.caller.Wallet); err != nil {
		return from, to, nil, err
	}
	to, given, err := instant(q, "to", true, zones)
	if err != nil {
		return from, to, nil, err
	}
	if !given {
		to = x.at.UTC().Add(time.Second) // a call that has just begun is included
	}
	from, given, err = instant(q, "from", false, zones)
	if !given {
		from = zones.Start(zones.Day(to.Add(-time.Microsecond)).AddDate(0, 0, 1-defaultDays))
	}
	if err == nil && !from.Before(to) {
		err = fault.Field("httpapi.period", "from", "from must be before to.")
	}
	return from, to, zones, err
}

// filter reads which calls are meant. A key is named by its hash, as on the routes of keys, or by its id, as in calls.
func (x *request) filter(q url.Values, names *keyNames) (f report.Filter, err error) {
	f = report.Filter{Model: q.Get("model"), Provider: q.Get("provider"), Key: q.Get("key"), Member: q.Get("member"), Kind: q.Get("kind"), Result: q.Get("result")}
	for _, v := range []struct {
		name, value string
		most        int
	}{{"model", f.Model, 640}, {"provider", f.Provider, 256}, {"key", f.Key, 128}, {"member", f.Member, 128}, {"kind", f.Kind, 64}, {"result", f.Result, 64}} {
		if len(v.value) > v.most {
			return f, fault.Field("httpapi.filter", v.name, "%s must have at most %d bytes.", v.name, v.most)
		}
	}
	if len(f.Key) == 64 && !strings.HasPrefix(f.Key, "key_") {
		id, err := names.byHash(f.Key)
		if err != nil {
			return f, err
		}
		f.Key = id
	}
	return f, nil
}

// keyNames knows the keys of an account by their ids. They are read when the first name is asked for.
type keyNames struct {
	x    *request
	list []*apikey.Key // the newest first
	keys map[string]*apikey.Key
}

// namedKeys is how many keys are known by name, deleted ones included, the newest first.
const namedKeys = 1000

func (n *keyNames) read() error {
	if n.keys != nil {
		return nil
	}
	list, err := n.x.api.Keys.List(n.x.context(), apikey.Filter{User: n.x.caller.User, IncludeDisabled: true, IncludeDeleted: true, Count: namedKeys})
	if err != nil {
		return err
	}
	n.keys = make(map[string]*apikey.Key, len(list))
	for i := range list {
		n.keys[list[i].ID], n.list = &list[i], append(n.list, &list[i])
	}
	return nil
}

func (n *keyNames) byHash(hash string) (string, error) {
	if err := n.read(); err != nil {
		return "", err
	}
	for id, k := range n.keys {
		if k.Hash == hash || k.Previous.Hash == hash {
			return id, nil
		}
	}
	return "", apikey.NotFound("httpapi.keyNames")
}

// append writes the key of a call, null for "".
func (n *keyNames) append(o *object, name, id string) {
	if id == "" {
		o.null(name)
		return
	}
	o.Name(name).Object()
	o.text("id", id)
	k := n.keys[id]
	if k == nil {
		o.null("hash")
		o.null("name")
		o.boolean("deleted", true)
	} else {
		o.text("hash", k.Hash)
		o.text("name", k.Name)
		o.boolean("deleted", !k.DeletedAt.IsZero())
	}
	o.EndObject()
}
