package httpapi

import (
	"net/http"
	"strings"

	"weir/internal/catalog"
	"weir/internal/fault"
	"weir/internal/money"
	"weir/internal/ownkey"
	"weir/internal/rawjson"
	"weir/internal/routing"
)

// listProviderKeys serves GET /api/provider-keys: the account's own keys of providers, never the secrets, and what it may add.
func (x *exchange) listProviderKeys() error {
	keys := x.api.ProviderKeys
	all, err := keys.List(x.context(), x.caller.User)
	if err != nil {
		return err
	}
	snap := x.api.Catalog()
	var o object
	o.Object()
	o.Name("data").Array()
	for i := range all {
		o.Object()
		appendProviderKey(&o, &all[i], snap)
		o.EndObject()
	}
	o.EndArray()
	o.boolean("enabled", keys.Ready())
	o.Name("fee").Object()
	if fee := keys.Fee(); fee.Amount.Set {
		o.null("percent")
		o.price("per_call", fee.Amount)
	} else {
		o.text("percent", (money.Nano(fee.Share) * (money.Ruble / 100)).String())
		o.null("per_call")
	}
	o.EndObject()
	o.Name("providers").Array()
	for _, p := range keys.Providers(snap) {
		o.Object()
		o.text("id", p.ID)
		o.text("name", p.Name)
		o.EndObject()
	}
	o.EndArray()
	o.integer("most", int64(keys.Most()))
	o.null("next")
	o.EndObject()
	x.w.Header().Set("Cache-Control", "no-store")
	return x.reply(&o)
}

func appendProviderKey(o *object, k *ownkey.Key, snap *catalog.Snapshot) {
	name := k.Provider
	if p := snap.Providers[k.Provider]; p != nil {
		name = p.Name
	}
	o.text("id", k.ID)
	o.text("provider", k.Provider)
	o.text("provider_name", name)
	o.textOrNull("last4", k.Last4)
	o.text("order", string(k.Order))
	o.text("state", k.State())
	o.boolean("enabled", !k.Off)
	o.moment("created_at", k.CreatedAt)
	o.moment("changed_at", k.ChangedAt)
	o.moment("used_at", k.UsedAt)
	o.Name("last_error")
	appendKeyFailure(o, &k.Failure, name)
}

// appendKeyFailure writes why a call with a key failed, null when it did not.
func appendKeyFailure(o *object, f *ownkey.Failure, provider string) {
	if f.Code == "" {
		o.Null()
		return
	}
	o.Object()
	o.text("code", f.Code)
	if f.Status == 0 {
		o.null("status")
	} else {
		o.integer("status", int64(f.Status))
	}
	o.text("message", f.Sentence(provider))
	o.moment("at", f.At)
	o.EndObject()
}

func (x *exchange) replyProviderKey(status int, k *ownkey.Key) error {
	var o object
	o.Object()
	o.Name("data").Object()
	appendProviderKey(&o, k, x.api.Catalog())
	o.EndObject()
	o.EndObject()
	x.w.Header().Set("Cache-Control", "no-store")
	x.writeBody(status, jsonType, o.B)
	return nil
}

// providerKeyBody is what a client sends of a key.
type providerKeyBody struct {
	provider string
	edit     ownkey.Edit
}

func (x *exchange) readProviderKey(creating bool) (b providerKeyBody, err error) {
	const op = "httpapi.readProviderKey"
	body, err := x.readObject()
	if err != nil {
		return b, err
	}
	for m := rawjson.MembersOf(body); m.Next(); {
		kind, name := rawjson.KindOf(m.Value), string(m.Name)
		switch {
		case name == "enabled" && (kind == rawjson.True || kind == rawjson.False):
			off := kind == rawjson.False
			b.edit.Off = &off
		case name == "enabled", (name == "key" || name == "order" || name == "provider" && creating) && kind != rawjson.String:
			return b, wrongKind(name, kind)
		case name == "provider" && creating:
			b.provider = rawjson.Text(m.Value)
		case name == "key":
			b.edit.Secret = strings.TrimSpace(rawjson.Text(m.Value))
			if err := ownkey.CheckSecret(b.edit.Secret); err != nil {
				return b, err
			}
		case name == "order":
			b.edit.Order = routing.OwnOrder(rawjson.Text(m.Value))
			if err := ownkey.CheckOrder(b.edit.Order); err != nil {
				return b, err
			}
		default:
			return b, fault.Field(op, clip(name), "This route has no field of this name.").Coded("unknown_field")
		}
	}
	switch {
	case creating && b.provider == "":
		return b, fault.Field(op, "provider", "provider is missing: give its slug, as GET /api/provider-keys lists them.").Coded("provider_missing")
	case creating && b.edit.Secret == "":
		return b, fault.Field(op, "key", "key is missing.").Coded("key_missing")
	case !creating && b.edit == ownkey.Edit{}:
		return b, fault.New(fault.Invalid, op, "Nothing is to be changed: give key, order or enabled.")
	}
	return b, nil
}

// postProviderKey serves POST /api/provider-keys.
func (x *exchange) postProviderKey() error {
	b, err := x.readProviderKey(true)
	if err != nil {
		return err
	}
	keys := x.api.ProviderKeys
	p := x.api.Catalog().Providers[b.provider]
	if p == nil || keys.Ready() && !keys.Takes(p) {
		return fault.Field("httpapi.postProviderKey", "provider", "This gateway takes no keys of this provider. GET /api/provider-keys lists those whose keys it takes.").Coded("provider_without_keys")
	}
	k, err := keys.Add(x.context(), x.caller.User, p, b.edit.Secret, b.edit.Order, x.actor())
	if err != nil {
		return err
	}
	if b.edit.Off != nil && *b.edit.Off {
		if k, err = keys.Change(x.context(), x.caller.User, k.ID, ownkey.Edit{Off: b.edit.Off}, nil, x.actor()); err != nil {
			return err
		}
	}
	return x.replyProviderKey(http.StatusCreated, &k)
}

// patchProviderKey serves PATCH /api/provider-keys/{id}.
func (x *exchange) patchProviderKey() error {
	b, err := x.readProviderKey(false)
	if err != nil {
		return err
	}
	k, err := x.api.ProviderKeys.Change(x.context(), x.caller.User, x.values[0], b.edit, x.api.Catalog().Providers, x.actor())
	if err != nil {
		return err
	}
	return x.replyProviderKey(http.StatusOK, &k)
}

// deleteProviderKey serves DELETE /api/provider-keys/{id}.
func (x *exchange) deleteProviderKey() error {
	if err := x.api.ProviderKeys.Remove(x.context(), x.caller.User, x.values[0], x.actor()); err != nil {
		return err
	}
	var o object
	o.Object()
	o.Name("data").Object()
	o.text("id", x.values[0])
	o.boolean("deleted", true)
	o.EndObject()
	o.EndObject()
	return x.reply(&o)
}

// testProviderKey serves POST /api/provider-keys/{id}/test: one short call, at the expense of the key's owner.
func (x *exchange) testProviderKey() error {
	keys := x.api.ProviderKeys
	k, err := keys.Find(x.context(), x.caller.User, x.values[0])
	if err != nil {
		return err
	}
	if err := x.api.quotas.KeyTest(x.at, x.caller.User); err != nil {
		return err
	}
	asked, failed, err := keys.Test(x.context(), &k, x.api.TryKey)
	if err != nil {
		return err
	}
	if k, err = keys.Find(x.context(), x.caller.User, k.ID); err != nil {
		return err
	}
	var o object
	o.Object()
	o.Name("data").Object()
	switch {
	case !asked || failed.Code == ownkey.Unavailable:
		o.null("accepted")
	default:
		o.boolean("accepted", failed.Code == "" || failed.Code == ownkey.NoModel)
	}
	o.boolean("tested", asked)
	o.Name("error")
	appendKeyFailure(&o, &failed, k.Provider)
	o.Name("key").Object()
	appendProviderKey(&o, &k, x.api.Catalog())
	o.EndObject()
	o.EndObject()
	o.EndObject()
	x.w.Header().Set("Cache-Control", "no-store")
	return x.reply(&o)
}
