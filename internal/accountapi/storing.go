package accountapi

import (
	"context"
	"time"

	"weir/internal/fault"
	"weir/internal/operation"
	"weir/internal/rawjson"
	"weir/internal/wire"
)

// aDay is the unit of how long an account stores responses.
const aDay = 24 * time.Hour

// StoredResponses is how many responses of an account are stored.
type StoredResponses struct {
	Responses int64     `json:"responses" minimum:"0"`
	Bytes     int64     `json:"bytes" minimum:"0"`
	OldestAt  time.Time `json:"oldest_at"` // null: absent
}

// StoredChats is how many chats of an account are kept.
type StoredChats struct {
	Chats int64 `json:"chats" minimum:"0"`
	Bytes int64 `json:"bytes" minimum:"0"`
}

// AccountData is what is stored of an account's content, for how long, and how much of it there is.
type AccountData struct {
	Responses   string          `json:"responses" enum:"by_default,on_request,never"` // by_default: unless a request says store: false; on_request: when it says store: true
	Days        *int64          `json:"days" minimum:"1"`                             // null means max_days
	MaxDays     int64           `json:"max_days" minimum:"0"`                         // how long the gateway stores responses at the most; 0 stores none
	ZDR         bool            `json:"zdr"`                                          // zero data retention among the preferences of the account; nothing is stored then
	Stored      StoredResponses `json:"stored"`
	Chats       bool            `json:"chats"` // whether chats of the playground are kept, in addition to those in the browser
	StoredChats StoredChats     `json:"stored_chats"`
}

// AccountDataInput says what is stored and for how long. What is left out has its default.
type AccountDataInput struct {
	Responses string `json:"responses,omitempty" null:"none" enum:"by_default,on_request,never"` // without it by_default
	Days      *int64 `json:"days,omitempty" null:"none" minimum:"1"`                             // null means as long as the gateway stores them
	Chats     bool   `json:"chats,omitempty" null:"none"`                                        // keep chats of the playground, too: PUT /api/chats/{id}
}

func storing(d Deps) []operation.Operation {
	return []operation.Operation{
		operation.Of(operation.Operation{
			Method: "GET", Path: "/api/account/data", ID: "getAccountData", Org: operation.Owners, Access: operation.Management, Tag: "account",
			Summary: "Which responses of this account are stored, whether its chats are, for how long, and how many there are; needs a management key", Answer: "What is stored",
		}, func(ctx context.Context, c *operation.Call, _ *operation.None) (out operation.Data[AccountData], err error) {
			u, err := d.Accounts.ByID(ctx, c.User)
			if err != nil {
				return out, err
			}
			return stored(ctx, d, c, u.Preferences)
		}),
		operation.Of(operation.Operation{
			Method: "PUT", Path: "/api/account/data", ID: "putAccountData", Org: operation.Owners, Access: operation.Management, Fresh: true, Tag: "account",
			Form: rawjson.Limits{Depth: 2, Keys: 10, Values: 20}, Summary: "Replace what is stored and for how long; every node applies it within 5 seconds", Answer: "What is stored",
			Description: "A shorter time holds for responses and chats that are stored already. never does not delete them: that is DELETE /api/account/responses, and DELETE /api/chats. " +
				"With never, a request with store: true or background: true gets 400, a file or batch 403, and answers of requests with an Idempotency-Key are not kept. " +
				"Zero data retention (zdr) of account, key or request stores nothing in any case.",
			Example: `{"responses": "on_request", "days": 7, "chats": false}`,
		}, func(ctx context.Context, c *operation.Call, _ *AccountDataInput) (operation.Data[AccountData], error) {
			return setStoring(ctx, d, c)
		}),
		operation.Of(operation.Operation{
			Method: "DELETE", Path: "/api/account/responses", ID: "deleteResponses", Org: operation.Owners, Access: operation.Management, Fresh: true, Tag: "account",
			Summary: "Delete all stored responses of this account, except those under way; needs a management key", Answer: "How many there were",
		}, func(ctx context.Context, c *operation.Call, _ *operation.None) (operation.Data[Gone], error) {
			n, err := d.History.DeleteAll(ctx, c.User, c.Actor)
			return operation.Data[Gone]{Data: Gone{Deleted: n}}, err
		}),
	}
}

// setStoring reads the body as it is read when it is used: it is a part of the preferences.
func setStoring(ctx context.Context, d Deps, c *operation.Call) (out operation.Data[AccountData], err error) {
	const op = "accountapi.putAccountData"
	s, err := wire.ReadStoring(c.Content)
	if err != nil {
		return out, err
	}
	if most := int64(d.History.KeepFor() / aDay); s.Days > most {
		return out, fault.Field(op, "days", "This gateway stores responses for at most %d days; null means as long as that.", most).Coded("stored_days", "most", most)
	}
	text, err := d.Accounts.ChangePreferences(ctx, c.User, func(was string) (string, error) {
		after := wire.WithMember(was, wire.StoringOfAccount, s.Text())
		if after != "" {
			if _, err := wire.Defaults([]byte(after)); err != nil { // else no key of the account would work any more
				return "", fault.New(fault.Invalid, op, "The preferences of this account leave no room for this. Shorten them: PUT /api/account/preferences.").Because(err)
			}
		}
		return after, nil
	}, c.Actor)
	if err != nil {
		return out, err
	}
	if s.Days > 0 {
		for _, shorten := range []func(context.Context, string, time.Duration) error{d.History.Shorten, d.Chats.Shorten} {
			if err := shorten(ctx, c.User, time.Duration(s.Days)*aDay); err != nil {
				return out, err
			}
		}
	}
	return stored(ctx, d, c, text)
}

func stored(ctx context.Context, d Deps, c *operation.Call, preferences string) (out operation.Data[AccountData], err error) {
	var of []byte
	a := &out.Data
	if preferences != "" {
		of = rawjson.Find([]byte(preferences), wire.StoringOfAccount)
		if p, err := wire.Defaults([]byte(preferences)); err == nil {
			a.ZDR = p.ZDR
		}
	}
	s, err := wire.ReadStoring(of)
	if err != nil {
		return out, err
	}
	a.Responses, a.Chats, a.MaxDays = s.Responses, s.Chats, int64(d.History.KeepFor()/aDay)
	if s.Days > 0 {
		a.Days = &s.Days
	}
	responses, err := d.History.Stock(ctx, c.User)
	if err != nil {
		return out, err
	}
	a.Stored = StoredResponses{Responses: responses.Responses, Bytes: responses.Bytes, OldestAt: responses.Oldest}
	kept, err := d.Chats.Stock(ctx, c.User)
	a.StoredChats = StoredChats(kept)
	c.NoStore()
	return out, err
}
