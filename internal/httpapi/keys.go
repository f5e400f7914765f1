package httpapi

import (
	"cmp"
	"net/http"
	"net/netip"
	"strconv"
	"time"

	"weir/internal/apikey"
	"weir/internal/fault"
	"weir/internal/httpserver"
	"weir/internal/money"
	"weir/internal/rawjson"
	"weir/internal/wire"
)

func (x *request) listKeys() error {
	q, err := x.query()
	if err != nil {
		return err
	}
	f := apikey.Filter{User: x.caller.User, Sees: x.caller.Sees}
	if q.Get("offset") != "0" {
		if f.Offset, err = queryInt(q, "offset", 1_000_000); err != nil {
			return err
		}
	}
	if f.IncludeDisabled, err = queryBool(q, "include_disabled"); err != nil {
		return err
	}
	if err := x.inWorkspace(q.Get("workspace_id")); err != nil {
		return err
	}
	keys, err := x.api.Keys.List(x.context(), f)
	if err != nil {
		return err
	}
	var o object
	o.Object()
	o.Name("data").Array()
	for i := range keys {
		if err := x.appendKey(&o, &keys[i]); err != nil {
			return err
		}
	}
	o.EndArray()
	o.EndObject()
	return x.reply(&o)
}

// inWorkspace refuses another workspace than the account: that is chosen by the URL.
func (x *request) inWorkspace(id string) error {
	if id == "" || id == x.caller.User {
		return nil
	}
	return fault.Field("httpapi.inWorkspace", "workspace_id", "workspace_id is not this account. Name an organization in the query, account=org_..., or put its id behind the address of this gateway.")
}

// keyByHash finds a key of the caller's user; anybody else's does not exist.
func (x *request) keyByHash(hash string) (apikey.Key, error) {
	if len(hash) != 64 {
		return apikey.Key{}, apikey.NotFound("httpapi.keyByHash")
	}
	return x.api.Keys.Seen(x.context(), x.caller, hash)
}

func (x *request) appendKey(o *object, k *apikey.Key) error {
	spend, err := x.api.Ledger.KeySpend(x.context(), k.ID)
	if err != nil {
		return err
	}
	o.Object()
	o.text("hash", k.Hash)
	o.text("label", k.Label)
	o.text("name", k.Name)
	o.boolean("disabled", k.Disabled)
	appendLimit(o, k, spend)
	o.boolean("include_byok_in_limit", false)
	appendKeyRates(o, k.Rates)
	o.raw("provider", k.Preferences)
	appendRules(o, k)
	o.moment("created_at", k.CreatedAt)
	o.moment("updated_at", k.UpdatedAt)
	o.moment("expires_at", k.ExpiresAt)
	o.text("creator_user_id", k.Creator)
	o.text("workspace_id", k.User)
	o.EndObject()
	return nil
}

func (x *request) replyKey(status int, k *apikey.Key, text string) error {
	var o object
	o.Object()
	o.Name("data")
	if err := x.appendKey(&o, k); err != nil {
		return err
	}
	if text != "" {
		o.text("key", text)
		x.w.Header().Set("Cache-Control", "no-store")
	}
	o.EndObject()
	x.writeBody(status, jsonType, o.B)
	return nil
}

func (x *request) getKeyByHash() error {
	k, err := x.keyByHash(x.values[0])
	if err != nil {
		return err
	}
	return x.replyKey(http.StatusOK, &k, "")
}

func (x *request) postKey() error {
	e, err := x.readKeyEdit(true)
	if err != nil {
		return err
	}
	k, text, err := x.createKey(e)
	if err != nil {
		return err
	}
	return x.replyKey(http.StatusCreated, &k, text)
}

func (x *request) createKey(e *keyEdit) (k apikey.Key, text string, err error) {
	if e.name == nil {
		return k, "", fault.Field("httpapi.postKey", "name", "name is missing.").Coded("name_missing")
	}
	if err := x.inWorkspace(e.workspace); err != nil {
		return k, "", err
	}
	person := cmp.Or(x.caller.Member, x.caller.User)
	if e.creator != "" && e.creator != person {
		return k, "", fault.Field("httpapi.postKey", "creator_user_id", "creator_user_id must be who makes the key: %s. Leave it out.", person)
	}
	n := apikey.NewKey{Name: *e.name, User: x.caller.User, Member: x.caller.Member, Creator: person, ExpiresAt: e.expires, Models: e.models, Addresses: e.addresses, Strict: e.strict}
	if n.Limit, err = e.limit.Of(nil); err != nil {
		return k, "", err
	}
	if err := e.rates.Within(x.api.cfg.MostRates()); err != nil {
		return k, "", err
	}
	n.Rates = e.rates.Rates
	if e.provider != nil {
		n.Preferences = *e.provider
	}
	return x.api.Keys.Create(x.context(), n, x.actor())
}

func (x *request) patchKey() error {
	e, err := x.readKeyEdit(false)
	if err != nil {
		return err
	}
	k, err := x.changeKey(e)
	if err != nil {
		return err
	}
	return x.replyKey(http.StatusOK, &k, "")
}

func (x *request) changeKey(e *keyEdit) (apikey.Key, error) {
	k, err := x.keyByHash(x.values[0])
	if err != nil {
		return k, err
	}
	c := apikey.Change{Name: e.name, Disabled: e.disabled, Preferences: e.provider}
	if e.limit.AmountGiven || e.limit.ResetGiven {
		limit, err := e.limit.Of(k.Limit)
		if err != nil {
			return k, err
		}
		c.Limit = &limit
	}
	if e.ratesGiven {
		if err := e.rates.Within(x.api.cfg.MostRates()); err != nil {
			return k, err
		}
		c.Rates = &e.rates.Rates
	}
	if e.modelsGiven {
		c.Models = &e.models
	}
	if e.addressesGiven {
		c.Addresses = &e.addresses
	}
	if e.strictGiven {
		c.Strict = &e.strict
	}
	return x.api.Keys.Change(x.context(), x.caller.User, k.Hash, c, x.actor())
}

func (x *request) deleteKey() error {
	k, err := x.keyByHash(x.values[0])
	if err != nil {
		return err
	}
	if err := x.api.Keys.Delete(x.context(), x.caller.User, k.Hash, x.actor()); err != nil {
		return err
	}
	var o object
	o.Object()
	o.boolean("deleted", true)
	o.EndObject()
	return x.reply(&o)
}

// keyEdit is the body of a request that makes or changes a key. Absent and null differ where null means something.
type keyEdit struct {
	name      *string
	disabled  *bool
	limit     apikey.LimitEdit
	expires   time.Time
	models    []string
	addresses []netip.Prefix
	strict    bool

	modelsGiven, addressesGiven, strictGiven bool

	workspace, creator string // "": not given

	ratesGiven bool
	rates      keyRates // nil: null, the operator's
	provider   *string  // nil: not given; "": null, none
}

// readKeyEdit reads the body. It refuses unknown fields, and so every field that a user may not set.
func (x *request) readKeyEdit(creating bool) (*keyEdit, error) {
	body, err := x.readBody()
	if err != nil {
		return nil, err
	}
	if err := rawjson.Check(body, rawjson.Limits{Depth: 10, Keys: 100, Values: 2000}); err != nil {
		return nil, err
	}
	if rawjson.KindOf(body) != rawjson.Object {
		return nil, fault.New(fault.Invalid, "httpapi.readKeyEdit", "The body must be a JSON object.")
	}
	e := &keyEdit{}
	for m := rawjson.MembersOf(body); m.Next(); {
		if err := e.set(string(m.Name), m.Value, creating); err != nil {
			return nil, err
		}
	}
	return e, nil
}

func (e *keyEdit) set(name string, v []byte, creating bool) error {
	kind := rawjson.KindOf(v)
	null := kind == rawjson.Null
	switch {
	case name == "name" && kind == rawjson.String:
		text := rawjson.Text(v)
		e.name = &text
	case name == "name" && null && !creating:
	case name == "disabled" && !creating && (string(v) == "true" || string(v) == "false"):
		disabled := string(v) == "true"
		e.disabled = &disabled
	case name == "disabled" && !creating && null:
	case name == "limit":
		e.limit.AmountGiven = true
		if null {
			return nil
		}
		n, err := amountOf(v, kind)
		if err != nil {
			return fault.Field("httpapi.keyEdit", "limit", "limit must be rubles: a number of at least 0 with at most nine decimals, or null.").Coded("rubles_or_null")
		}
		e.limit.Amount = &n
	case name == "limit_reset" && (null || kind == rawjson.String):
		e.limit.ResetGiven = true
		if e.limit.Reset = apikey.Reset(rawjson.Text(v)); !null && e.limit.Reset == apikey.Never {
			return fault.Field("httpapi.keyEdit", "limit_reset", "limit_reset must be daily, weekly, monthly or null.").Coded("reset_period")
		}
	case name == "include_byok_in_limit" && (null || string(v) == "false"):
	case name == "include_byok_in_limit" && string(v) == "true":
		return fault.Field("httpapi.keyEdit", name, "A limit counts what is charged here: of calls with own keys of providers that is the fee, and not what the provider charges. Leave include_byok_in_limit out, or set it to false.").Coded("byok_limit")
	case name == "rate_limits" && (null || kind == rawjson.Object):
		e.ratesGiven = true
		return e.rates.set(v)
	case name == "provider":
		text, err := wire.PreferencesText(v)
		e.provider = &text
		return err
	case name == "allowed_models":
		var err error
		e.models, err = textList(name, v)
		e.modelsGiven = true
		return err
	case name == "allowed_ips":
		list, err := textList(name, v)
		for i := 0; i < len(list) && err == nil; i++ {
			var p netip.Prefix
			p, err = apikey.ParseAddress(list[i])
			e.addresses = append(e.addresses, p)
		}
		e.addressesGiven = true
		return err
	case name == "schema" && (string(v) == `"strict"` || string(v) == `"lenient"`):
		e.strictGiven, e.strict = true, string(v) == `"strict"`
	case name == "schema":
		return fault.Field("httpapi.keyEdit", name, "schema must be lenient or strict.").Coded("lenient_or_strict")
	case (name == "workspace_id" || name == "creator_user_id") && creating && null:
	case name == "workspace_id" && creating && kind == rawjson.String:
		e.workspace = rawjson.Text(v)
	case name == "creator_user_id" && creating && kind == rawjson.String:
		e.creator = rawjson.Text(v)
	case name == "expires_at" && creating && null:
	case name == "expires_at" && creating && kind == rawjson.String:
		t, err := time.Parse(time.RFC3339, rawjson.Text(v))
		if err != nil || t.Year() > 9999 || t.Year() < 1970 {
			return fault.Field("httpapi.keyEdit", "expires_at", "expires_at must be a time such as 2030-01-31T00:00:00Z.").Coded("time")
		}
		e.expires = t.UTC().Truncate(time.Microsecond)
	case name == "name", name == "limit_reset", name == "include_byok_in_limit", name == "rate_limits", name == "disabled" && !creating, name == "expires_at" && creating:
		return fault.Field("httpapi.keyEdit", name, "%s has the wrong type: it is %s.", name, kind).Coded("wrong_type")
	default:
		return fault.Field("httpapi.keyEdit", clip(name), "This route has no field of this name.").Coded("unknown_field")
	}
	return nil
}

func amountOf(v []byte, kind rawjson.Kind) (money.Nano, error) {
	if kind == rawjson.String {
		return money.Parse(rawjson.Text(v))
	}
	return money.ParseNumber(string(v))
}

// keyRates are the allowances that a client gives a key; nil leaves them to the operator.
type keyRates struct{ *apikey.Rates }

// set reads the object of allowances; a field that is missing or null is left to the operator.
func (r *keyRates) set(v []byte) error {
	if rawjson.KindOf(v) == rawjson.Null {
		r.Rates = nil
		return nil
	}
	r.Rates = &apikey.Rates{Requests: apikey.DefaultRate, Tokens: apikey.DefaultRate, Rubles: apikey.DefaultRate, Calls: apikey.DefaultRate}
	for m := rawjson.MembersOf(v); m.Next(); {
		name, kind := string(m.Name), rawjson.KindOf(m.Value)
		if kind == rawjson.Null {
			continue
		}
		wrong := fault.Field("httpapi.keyRates", "rate_limits."+clip(name), "It must be a number of at least 0, or null.").Coded("number_or_null")
		switch name {
		case "requests_per_minute", "tokens_per_minute", "concurrent_calls":
			n, err := strconv.ParseInt(string(m.Value), 10, 64)
			if err != nil || n < 0 {
				return wrong
			}
			switch name {
			case "requests_per_minute":
				r.Requests = n
			case "tokens_per_minute":
				r.Tokens = n
			default:
				r.Calls = n
			}
		case "rubles_per_minute":
			n, err := amountOf(m.Value, kind)
			if err != nil || n < 0 {
				return wrong
			}
			r.Rubles = n
		default:
			return fault.Field("httpapi.keyRates", "rate_limits."+clip(name), "This route has no field of this name.").Coded("unknown_field")
		}
	}
	return nil
}

// MostRates are the allowances that a client may give a key: no more than a key and all keys of an account may have. What is above is for the operator
// to give, and does not count for the account then.
func (c *Config) MostRates() apikey.Rates { return c.KeyRates.Least(c.UserRates) }

// appendKeyRates writes a key's own allowances, null for what is left to the operator.
func appendKeyRates(o *object, r *apikey.Rates) {
	if r == nil {
		o.null("rate_limits")
		return
	}
	o.Name("rate_limits").Object()
	for _, f := range []struct {
		name string
		n    int64
	}{{"requests_per_minute", r.Requests}, {"tokens_per_minute", r.Tokens}, {"concurrent_calls", r.Calls}} {
		if f.n == apikey.DefaultRate {
			o.null(f.name)
		} else {
			o.integer(f.name, f.n)
		}
	}
	if r.Rubles == apikey.DefaultRate {
		o.null("rubles_per_minute")
	} else {
		o.amount("rubles_per_minute", r.Rubles)
	}
	o.EndObject()
}

// clip cuts what a client wrote to a length fit for an error.
func clip(s string) string {
	if len(s) > 64 {
		return s[:64]
	}
	return s
}

// appendRules writes what a key may be used for and from where, and the form of its answers.
func appendRules(o *object, k *apikey.Key) {
	if len(k.Models) == 0 {
		o.null("allowed_models")
	} else {
		o.texts("allowed_models", k.Models)
	}
	if len(k.Addresses) == 0 {
		o.null("allowed_ips")
	} else {
		o.Name("allowed_ips").Array()
		for _, p := range k.Addresses {
			o.Text(addressText(p))
		}
		o.EndArray()
	}
	if k.Strict {
		o.text("schema", "strict")
	} else {
		o.text("schema", "lenient")
	}
}

// addressText is a prefix in its short form: a single address has no length.
func addressText(p netip.Prefix) string {
	if p.IsSingleIP() {
		return p.Addr().String()
	}
	return p.String()
}

// mayFrom fails for a key that does not work from the request's address.
func (x *request) mayFrom(c *apikey.Caller) error {
	if len(c.Addresses) == 0 {
		return nil
	}
	if a := x.client(); !c.From(a) {
		return fault.Newf(fault.PermissionDenied, "httpapi.mayFrom", "This key does not work from the address %s. Add it to allowed_ips of the key, or use another key.", httpserver.ShowAddress(a))
	}
	return nil
}

// textList reads a list of texts, none for null.
func textList(name string, v []byte) (list []string, err error) {
	wrong := fault.Field("httpapi.keyEdit", name, "%s must be a list of texts, or null.", name).Coded("text_list")
	switch rawjson.KindOf(v) {
	case rawjson.Null:
		return nil, nil
	case rawjson.Array:
	default:
		return nil, wrong
	}
	for e := rawjson.ElementsOf(v); e.Next(); {
		if rawjson.KindOf(e.Value) != rawjson.String {
			return nil, wrong
		}
		list = append(list, rawjson.Text(e.Value))
	}
	return list, nil
}
