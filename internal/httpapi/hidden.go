package httpapi

import (
	"weir/internal/apikey"
	"weir/internal/catalog"
	"weir/internal/catalog/listing"
	"weir/internal/fault"
	"weir/internal/routing"
	"weir/internal/wire"
)

// getHidden serves GET /api/catalog/hidden: the models of which every call would be refused, by the preferences of the account and by what
// the key may call. A session is asked about the key of its browser's calls.
func (x *request) getHidden() error {
	d, err := x.defaults()
	if err != nil {
		return err
	}
	hidden, err := x.refusedBy(d)
	if err != nil {
		return err
	}
	o := newObject(256)
	o.Object()
	o.texts("hidden", hidden)
	o.EndObject()
	return x.reply(&o)
}

// hidden are the models that the lists do not show to the caller's API key, because every call of it would be refused; nil for none.
func (x *request) hidden() (map[string]bool, error) {
	if x.caller == nil || x.caller.Management || x.caller.Defaults == nil {
		return nil, nil
	}
	ids, err := x.refusedBy(x.caller.Defaults)
	if len(ids) == 0 || err != nil {
		return nil, err
	}
	hidden := make(map[string]bool, len(ids))
	for _, id := range ids {
		hidden[id] = true
	}
	return hidden, nil
}

// refusedBy lists the models of which every call with these preferences would be refused; nil preferences refuse none.
func (x *request) refusedBy(d *apikey.Defaults) ([]string, error) {
	if d == nil {
		return []string{}, nil
	}
	q := routing.Query{Preferences: d.Preferences, At: x.at, Rand: func() float64 { return 0 }}
	if x.api.ProviderKeys != nil {
		own, err := x.api.ProviderKeys.Of(x.context(), x.caller.User)
		if err != nil {
			return nil, err
		}
		q.Own = own
	}
	return refusedModels(x.api.Catalog(), q), nil
}

// defaults are the preferences of the caller's calls, or nil.
func (x *request) defaults() (*apikey.Defaults, error) {
	if !x.caller.Management {
		return x.caller.Defaults, nil
	}
	if x.person != nil && x.person.WebKey != "" {
		key, err := x.api.People.WebKey(x.context(), x.person)
		if err != nil {
			return nil, err
		}
		caller, err := x.api.CallerOf(x.context(), key)
		if err == nil {
			return caller.Defaults, nil
		}
		if !fault.Is(err, fault.Authentication) { // it is disabled: the account's preferences remain
			return nil, err
		}
	}
	u, err := x.api.Accounts.ByID(x.context(), x.caller.User)
	if err != nil {
		return nil, err
	}
	return apikey.ReadDefaults(apikey.Defaults{Account: u.Preferences}, func(text string) (routing.Preferences, error) { return wire.Defaults([]byte(text)) })
}

// refusedModels lists the models for which a query finds no endpoint, whatever is asked of them.
func refusedModels(s *catalog.Snapshot, q routing.Query) []string {
	ids := []string{}
	for _, m := range s.Models() {
		for _, o := range listing.Offers(m) {
			if len(o.Endpoints) == 0 {
				continue
			}
			q.Models, q.Type = []string{o.ID}, m.Type
			if _, err := routing.Choose(q, s); err != nil {
				ids = append(ids, o.ID)
			}
		}
	}
	return ids
}
