package httpapi

import (
	"weir/internal/batch"
	"weir/internal/fault"
	"weir/internal/rawjson"
	"weir/internal/wire"
)

// storing is what the caller's account says of storing responses.
func (x *request) storing() wire.Storing {
	s := wire.Storing{Responses: wire.StoreByDefault}
	if d := x.caller.Defaults; d != nil && d.Account != "" {
		if v := rawjson.Find([]byte(d.Account), wire.StoringOfAccount); v != nil {
			s, _ = wire.ReadStoring(v) // it was checked when it was set
		}
	}
	return s
}

// keeps fails for accounts of which nothing may be stored, as what would be: a file, or a batch. What is there already goes on.
func (x *request) keeps(what string) error {
	if err := batch.Keeps(x.caller, what); err != nil {
		return err
	}
	if x.storing().Responses == wire.StoreNever {
		return fault.Newf(fault.PermissionDenied, "httpapi.keeps", "This account has storing switched off (Settings, Data), and %s stores requests and answers. Send the requests one by one, or switch storing on.", what)
	}
	return nil
}
