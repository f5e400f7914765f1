package httpapi

import (
	"context"
	"time"

	"weir/internal/batch"
	"weir/internal/fault"
	"weir/internal/history"
	"weir/internal/rawjson"
	"weir/internal/wire"
)

// aDay is the unit of how long an account stores responses.
const aDay = 24 * time.Hour

// storing is what the caller's account says of storing responses.
func (x *exchange) storing() wire.Storing {
	s := wire.Storing{Responses: wire.StoreByDefault}
	if d := x.caller.Defaults; d != nil && d.Account != "" {
		if v := rawjson.Find([]byte(d.Account), wire.StoringOfAccount); v != nil {
			s, _ = wire.ReadStoring(v) // it was checked when it was set
		}
	}
	return s
}

// keeps fails for accounts of which nothing may be stored, as what would be: a file, or a batch. What is there already goes on.
func (x *exchange) keeps(what string) error {
	if err := batch.Keeps(x.caller, what); err != nil {
		return err
	}
	if x.storing().Responses == wire.StoreNever {
		return fault.Newf(fault.PermissionDenied, "httpapi.keeps", "This account has storing switched off (Settings, Data), and %s stores requests and answers. Send the requests one by one, or switch storing on.", what)
	}
	return nil
}

// getAccountData serves GET /api/account/data: what of the account's content is stored, for how long, and how much of it there is.
func (x *exchange) getAccountData() error {
	u, err := x.api.Accounts.ByID(x.context(), x.caller.User)
	if err != nil {
		return err
	}
	return x.replyData(u.Preferences)
}

// putAccountData serves PUT /api/account/data. A shorter time holds for what is stored, too.
func (x *exchange) putAccountData() error {
	const op = "httpapi.putAccountData"
	body, err := x.readBody()
	if err != nil {
		return err
	}
	if err := rawjson.Check(body, rawjson.Limits{Depth: 2, Keys: 10, Values: 20}); err != nil {
		return err
	}
	if rawjson.KindOf(body) != rawjson.Object {
		return fault.New(fault.Invalid, op, "The body must be a JSON object.")
	}
	s, err := wire.ReadStoring(body)
	if err != nil {
		return err
	}
	keep := x.api.History.KeepFor()
	if most := int64(keep / aDay); s.Days > most && s.Days > 0 {
		return fault.Field(op, "days", "This gateway stores responses for at most %d days; null means as long as that.", most).Coded("stored_days", "most", most)
	}
	text, err := x.api.Accounts.ChangePreferences(x.context(), x.caller.User, func(was string) (string, error) {
		after := wire.WithMember(was, wire.StoringOfAccount, s.Text())
		if after != "" {
			if _, err := wire.Defaults([]byte(after)); err != nil { // else no key of the account would work any more
				return "", fault.New(fault.Invalid, op, "The preferences of this account leave no room for this. Shorten them: PUT /api/account/preferences.").Because(err)
			}
		}
		return after, nil
	}, x.actor())
	if err != nil {
		return err
	}
	if s.Days > 0 {
		for _, shorten := range []func(context.Context, string, time.Duration) error{x.api.History.Shorten, x.api.Chats.Shorten} {
			if err := shorten(x.context(), x.caller.User, time.Duration(s.Days)*aDay); err != nil {
				return err
			}
		}
	}
	return x.replyData(text)
}

func (x *exchange) replyData(preferences string) error {
	var stored []byte
	zdr := false
	if preferences != "" {
		stored = rawjson.Find([]byte(preferences), wire.StoringOfAccount)
		if p, err := wire.Defaults([]byte(preferences)); err == nil {
			zdr = p.ZDR
		}
	}
	s, err := wire.ReadStoring(stored)
	if err != nil {
		return err
	}
	var stock history.Stock
	if stock, err = x.api.History.Stock(x.context(), x.caller.User); err != nil {
		return err
	}
	chats, err := x.api.Chats.Stock(x.context(), x.caller.User)
	if err != nil {
		return err
	}
	var o object
	o.Object()
	o.Name("data").Object()
	o.text("responses", s.Responses)
	if s.Days > 0 {
		o.integer("days", s.Days)
	} else {
		o.null("days")
	}
	o.integer("max_days", int64(x.api.History.KeepFor()/aDay))
	o.boolean("zdr", zdr)
	o.Name("stored").Object()
	o.integer("responses", stock.Responses)
	o.integer("bytes", stock.Bytes)
	if stock.Oldest.IsZero() {
		o.null("oldest_at")
	} else {
		o.moment("oldest_at", stock.Oldest)
	}
	o.EndObject()
	o.boolean("chats", s.Chats)
	o.Name("stored_chats").Object()
	o.integer("chats", chats.Chats)
	o.integer("bytes", chats.Bytes)
	o.EndObject()
	o.EndObject()
	o.EndObject()
	x.w.Header()["Cache-Control"] = noStore
	return x.reply(&o)
}

// deleteResponses serves DELETE /api/account/responses: all stored responses of the account that are not under way.
func (x *exchange) deleteResponses() error {
	n, err := x.api.History.DeleteAll(x.context(), x.caller.User, x.actor())
	if err != nil {
		return err
	}
	var o object
	o.Object()
	o.Name("data").Object()
	o.integer("deleted", int64(n))
	o.EndObject()
	o.EndObject()
	return x.reply(&o)
}
