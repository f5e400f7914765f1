package httpapi

import (
	"weir/internal/catalog/listing"
	"weir/internal/routing"
)

// hidden are the models that the lists do not show to the caller's API key, because every call of it would be refused; nil for none.
func (x *request) hidden() (map[string]bool, error) {
	if x.caller == nil || x.caller.Management || x.caller.Defaults == nil {
		return nil, nil
	}
	q := routing.Query{Preferences: x.caller.Defaults.Preferences, At: x.at, Rand: func() float64 { return 0 }}
	if x.api.ProviderKeys != nil {
		var err error
		if q.Own, err = x.api.ProviderKeys.Of(x.context(), x.caller.User); err != nil {
			return nil, err
		}
	}
	ids := listing.Refused(x.api.Catalog(), q)
	if len(ids) == 0 {
		return nil, nil
	}
	hidden := make(map[string]bool, len(ids))
	for _, id := range ids {
		hidden[id] = true
	}
	return hidden, nil
}
