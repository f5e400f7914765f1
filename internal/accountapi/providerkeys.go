package accountapi

import (
	"context"
	"strings"
	"time"

	"weir/internal/catalog"
	"weir/internal/fault"
	"weir/internal/money"
	"weir/internal/operation"
	"weir/internal/ownkey"
	"weir/internal/routing"
)

// ProviderKeyFailure is why a call with a key failed.
type ProviderKeyFailure struct {
	Code    string    `json:"code" enum:"refused,no_credit,rate_limited,no_model,unavailable"`
	Status  *int      `json:"status"`  // HTTP status of the provider; null without an answer
	Message string    `json:"message"` // what happened, and what its owner can do
	At      time.Time `json:"at"`
}

func failureOf(f *ownkey.Failure, provider string) *ProviderKeyFailure {
	if f.Code == "" {
		return nil
	}
	out := &ProviderKeyFailure{Code: f.Code, Message: f.Sentence(provider), At: f.At}
	if f.Status != 0 {
		out.Status = &f.Status
	}
	return out
}

// ProviderKey is an account's own key of a provider, without the secret.
type ProviderKey struct {
	ID           string  `json:"id"`
	Provider     string  `json:"provider"` // slug
	ProviderName string  `json:"provider_name"`
	Last4        *string `json:"last4"` // the last characters of the key; null when it was removed

	// Against the endpoints of the gateway: before them, after them, or only: models that the provider serves are called with own keys alone.
	Order string `json:"order" enum:"before,after,only"`

	State     string              `json:"state" enum:"active,off,removed"` // removed: only the order is left, which was only
	Enabled   bool                `json:"enabled"`
	CreatedAt time.Time           `json:"created_at"`
	ChangedAt time.Time           `json:"changed_at"` // when the key was put in
	UsedAt    *time.Time          `json:"used_at"`    // about when a call with it was last answered
	LastError *ProviderKeyFailure `json:"last_error"`
}

func providerKeyOf(k *ownkey.Key, snap *catalog.Snapshot) ProviderKey {
	name := k.Provider
	if p := snap.Providers[k.Provider]; p != nil {
		name = p.Name
	}
	return ProviderKey{
		ID: k.ID, Provider: k.Provider, ProviderName: name, Last4: OrNull(k.Last4), Order: string(k.Order), State: k.State(), Enabled: !k.Off,
		CreatedAt: k.CreatedAt, ChangedAt: k.ChangedAt, UsedAt: Moment(k.UsedAt), LastError: failureOf(&k.Failure, name),
	}
}

// ProviderKeyFee is what a call with an own key costs here.
type ProviderKeyFee struct {
	Percent *string     `json:"percent"`  // of the price, decimal text; null: an amount counts
	PerCall *money.Nano `json:"per_call"` // rubles for each call; null: a share counts
}

func feeOf(f catalog.Fee) (out ProviderKeyFee) {
	if f.Amount.Set {
		amount := money.Nano(f.Amount.Nano)
		out.PerCall = &amount
		return out
	}
	percent := (money.Nano(f.Share) * (money.Ruble / 100)).String()
	out.Percent = &percent
	return out
}

// KeyProvider is a provider whose keys are taken.
type KeyProvider struct {
	ID   string `json:"id"`
	Name string `json:"name"`
}

// ProviderKeyList is an account's own keys of providers, and what it may add.
type ProviderKeyList struct {
	Data      []ProviderKey  `json:"data"`
	Enabled   bool           `json:"enabled"` // whether keys can be added
	Fee       ProviderKeyFee `json:"fee"`
	Providers []KeyProvider  `json:"providers"` // whose keys are taken
	Most      int            `json:"most"`      // keys that an account may have
	Next      operation.Null `json:"next"`
}

// ProviderKeyInput is a new key.
type ProviderKeyInput struct {
	Provider string  `json:"provider"` // slug
	Key      string  `json:"key" minLength:"8" maxLength:"2048" writeOnly:"true"`
	Order    *string `json:"order,omitempty" enum:"before,after,only"` // against the endpoints of the gateway; without it before
	Enabled  *bool   `json:"enabled,omitempty"`                        // whether it is used; true when missing
}

// ProviderKeyChange is what is to be different. What is left out stays.
type ProviderKeyChange struct {
	ID      string  `json:"-" path:"id" example:"pk_0123456789abcdefghijklmn"` // id of the key
	Key     *string `json:"key,omitempty" minLength:"8" maxLength:"2048" writeOnly:"true"`
	Order   *string `json:"order,omitempty" enum:"before,after,only"`
	Enabled *bool   `json:"enabled,omitempty"`
}

// keyEdit checks what a form says.
func keyEdit(key, order *string, enabled *bool) (e ownkey.Edit, err error) {
	if key != nil {
		e.Secret = strings.TrimSpace(*key)
		if err := ownkey.CheckSecret(e.Secret); err != nil {
			return e, err
		}
	}
	if order != nil {
		e.Order = routing.OwnOrder(*order)
		if err := ownkey.CheckOrder(e.Order); err != nil {
			return e, err
		}
	}
	if enabled != nil {
		off := !*enabled
		e.Off = &off
	}
	return e, nil
}

type providerKeyID struct {
	ID string `json:"-" path:"id" example:"pk_0123456789abcdefghijklmn"` // id of the key
}

// ProviderKeyGone says which key is gone.
type ProviderKeyGone struct {
	ID      string         `json:"id"`
	Deleted operation.True `json:"deleted"`
}

// ProviderKeyTest is what a provider said of a key.
type ProviderKeyTest struct {
	Accepted *bool               `json:"accepted"` // null: that is not known, because the provider failed or has no model for a test
	Tested   bool                `json:"tested"`   // false: the provider has no model for a test
	Error    *ProviderKeyFailure `json:"error"`
	Key      ProviderKey         `json:"key"`
}

func providerKeys(d Deps) []operation.Operation {
	return append(changesOfProviderKeys(d),
		operation.Of(operation.Operation{
			Method: "GET", Path: "/api/provider-keys", ID: "listProviderKeys", Org: operation.Leaders, Access: operation.Management, Tag: "providerKeys",
			Summary: "The own keys of providers that the account has, and what it may add", Answer: "All keys, without their secrets",
		}, func(ctx context.Context, c *operation.Call, _ *operation.None) (l ProviderKeyList, err error) {
			all, err := d.ProviderKeys.List(ctx, c.User)
			if err != nil {
				return l, err
			}
			c.NoStore()
			snap := d.Catalog()
			taken := d.ProviderKeys.Providers(snap)
			l = ProviderKeyList{
				Data: make([]ProviderKey, len(all)), Enabled: d.ProviderKeys.Ready(), Fee: feeOf(d.ProviderKeys.Fee()), Providers: make([]KeyProvider, len(taken)), Most: d.ProviderKeys.Most(),
			}
			for i := range all {
				l.Data[i] = providerKeyOf(&all[i], snap)
			}
			for i, p := range taken {
				l.Providers[i] = KeyProvider{ID: p.ID, Name: p.Name}
			}
			return l, nil
		}),
		operation.Of(operation.Operation{
			Method: "POST", Path: "/api/provider-keys/{id}/test", ID: "testProviderKey", Org: operation.Owners, Access: operation.Management, Asks: true, Tag: "providerKeys",
			Summary: "Is the key accepted?", Answer: "What the provider said",
			Description: "Makes one short call of the provider with the key. The provider charges its owner for it; here it costs nothing.",
		}, func(ctx context.Context, c *operation.Call, in *providerKeyID) (operation.Data[ProviderKeyTest], error) {
			test, err := testProviderKey(ctx, d, c, in.ID)
			return operation.Data[ProviderKeyTest]{Data: test}, err
		}),
	)
}

func changesOfProviderKeys(d Deps) []operation.Operation {
	return []operation.Operation{
		operation.Of(operation.Operation{
			Method: "POST", Path: "/api/provider-keys", ID: "createProviderKey", Org: operation.Owners, Access: operation.Management, Fresh: true, Status: 201, Tag: "providerKeys",
			Summary: "Add an own key of a provider", Answer: "The new key", Example: `{"provider": "openai", "key": "example-key-of-your-own", "order": "before"}`,
			Description: "The key is kept encrypted and never shown again. An account has at most one of each provider.",
		}, func(ctx context.Context, c *operation.Call, in *ProviderKeyInput) (operation.Data[ProviderKey], error) {
			k, err := addProviderKey(ctx, d, c, in)
			return operation.Data[ProviderKey]{Data: providerKeyOf(&k, d.Catalog())}, err
		}),
		operation.Of(operation.Operation{
			Method: "PATCH", Path: "/api/provider-keys/{id}", ID: "changeProviderKey", Org: operation.Owners, Access: operation.Management, Fresh: true, Tag: "providerKeys",
			Summary: "Put in another key, change its order, switch it off or on", Answer: "The key as it is now", Example: `{"order": "after"}`,
		}, func(ctx context.Context, c *operation.Call, in *ProviderKeyChange) (out operation.Data[ProviderKey], err error) {
			e, err := keyEdit(in.Key, in.Order, in.Enabled)
			if err != nil {
				return out, err
			}
			if e == (ownkey.Edit{}) {
				return out, fault.New(fault.Invalid, "accountapi.changeProviderKey", "The request changes nothing: give key, order or enabled.")
			}
			c.NoStore()
			k, err := d.ProviderKeys.Change(ctx, c.User, in.ID, e, d.Catalog().Providers, c.Actor)
			return operation.Data[ProviderKey]{Data: providerKeyOf(&k, d.Catalog())}, err
		}),
		operation.Of(operation.Operation{
			Method: "DELETE", Path: "/api/provider-keys/{id}", ID: "deleteProviderKey", Org: operation.Owners, Access: operation.Management, Fresh: true, Tag: "providerKeys",
			Summary: "Remove a key", Answer: "The key is gone",
			Description: "No node uses it again. Of a key whose order is only, the entry stays without the key, so that calls do not quietly cost the whole price; " +
				"deleted once more, the entry goes, too.",
		}, func(ctx context.Context, c *operation.Call, in *providerKeyID) (operation.Data[ProviderKeyGone], error) {
			return operation.Data[ProviderKeyGone]{Data: ProviderKeyGone{ID: in.ID}}, d.ProviderKeys.Remove(ctx, c.User, in.ID, c.Actor)
		}),
	}
}

func addProviderKey(ctx context.Context, d Deps, c *operation.Call, in *ProviderKeyInput) (k ownkey.Key, err error) {
	e, err := keyEdit(&in.Key, in.Order, in.Enabled)
	if err != nil {
		return k, err
	}
	p := d.Catalog().Providers[in.Provider]
	if p == nil || d.ProviderKeys.Ready() && !d.ProviderKeys.Takes(p) {
		return k, fault.Field("accountapi.addProviderKey", "provider", "This gateway takes no keys of this provider. GET /api/provider-keys lists those whose keys it takes.").Coded("provider_without_keys")
	}
	c.NoStore()
	if k, err = d.ProviderKeys.Add(ctx, c.User, p, e.Secret, e.Order, c.Actor); err != nil || e.Off == nil || !*e.Off {
		return k, err
	}
	return d.ProviderKeys.Change(ctx, c.User, k.ID, ownkey.Edit{Off: e.Off}, nil, c.Actor)
}

// testProviderKey makes one short call, at the expense of the key's owner.
func testProviderKey(ctx context.Context, d Deps, c *operation.Call, id string) (out ProviderKeyTest, err error) {
	k, err := d.ProviderKeys.Find(ctx, c.User, id)
	if err != nil {
		return out, err
	}
	if err := c.Gates.KeyTest(); err != nil {
		return out, err
	}
	asked, failed, err := d.ProviderKeys.Test(ctx, &k, d.TryKey)
	if err != nil {
		return out, err
	}
	if k, err = d.ProviderKeys.Find(ctx, c.User, k.ID); err != nil {
		return out, err
	}
	c.NoStore()
	out = ProviderKeyTest{Tested: asked, Error: failureOf(&failed, k.Provider), Key: providerKeyOf(&k, d.Catalog())}
	if asked && failed.Code != ownkey.Unavailable {
		accepted := failed.Code == "" || failed.Code == ownkey.NoModel
		out.Accepted = &accepted
	}
	return out, nil
}
