package accountapi

import (
	"context"
	"time"

	"weir/internal/operation"
	"weir/internal/rawjson"
	"weir/internal/zone"
)

// Timezone is by which clock the days of an account are counted: in usage, limits of keys, statements and acts.
type Timezone struct {
	Timezone string        `json:"timezone"` // of the IANA database; UTC unless another was chosen
	Next     *TimezoneNext `json:"next"`     // what was chosen last, until it holds
}

// TimezoneNext is a time zone that holds from a midnight there.
type TimezoneNext struct {
	Timezone string    `json:"timezone"`
	Since    time.Time `json:"since"`
}

// TimezoneInput chooses a time zone.
type TimezoneInput struct {
	Timezone string `json:"timezone" minLength:"1" maxLength:"60"` // of the IANA database
}

func timezones(d Deps) []operation.Operation {
	return []operation.Operation{
		operation.Of(operation.Operation{
			Method: "GET", Path: "/api/account/timezone", ID: "getTimezone", Org: operation.Anyone, Access: operation.Management, Tag: "account",
			Summary: "By which clock days are counted", Answer: "The time zone",
		}, func(ctx context.Context, c *operation.Call, _ *operation.None) (out operation.Data[Timezone], err error) {
			h, err := d.Accounts.Zones(ctx, c.Wallet)
			return timezoneOf(c, h), err
		}),
		operation.Of(operation.Operation{
			Method: "PUT", Path: "/api/account/timezone", ID: "putTimezone", Org: operation.Owners, Access: operation.Management, Fresh: true, Tag: "account",
			Form:        rawjson.Limits{Depth: 2, Keys: 4, Values: 8},
			Summary:     "Count days by another clock",
			Description: "It holds from the next midnight there that is at least an hour away. Days before it stay what they were, so no statement and no act changes. An hour of UTC belongs whole to the day in which it begins. Until an hour before, another choice replaces it.",
			Answer:      "The time zone", Example: `{"timezone": "Europe/Moscow"}`,
		}, func(ctx context.Context, c *operation.Call, in *TimezoneInput) (out operation.Data[Timezone], err error) {
			h, err := d.Accounts.SetZone(ctx, c.User, c.Wallet, in.Timezone, c.Actor)
			return timezoneOf(c, h), err
		}),
	}
}

func timezoneOf(c *operation.Call, h zone.History) (out operation.Data[Timezone]) {
	c.NoStore()
	out.Data.Timezone = h.Name(c.At)
	if next, ok := h.Pending(c.At); ok {
		out.Data.Next = &TimezoneNext{next.Name, next.Since}
	}
	return out
}
