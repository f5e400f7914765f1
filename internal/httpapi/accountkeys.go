package httpapi

import (
	"net/http"
	"net/netip"
	"strconv"

	"weir/internal/apikey"
	"weir/internal/fault"
	"weir/internal/notify"
	"weir/internal/rawjson"
	"weir/internal/report"
)

// listAccountKeys serves GET /api/keys: all of them, since there are few.
func (x *exchange) listAccountKeys() error {
	keys, err := x.api.Keys.List(x.context(), apikey.Filter{User: x.caller.User, IncludeDisabled: true, Count: 2 * apikey.MaxPerUser})
	if err != nil {
		return err
	}
	spends, err := x.api.Reports.KeySpends(x.context(), x.caller.User, x.caller.Wallet)
	if err != nil {
		return err
	}
	web, err := x.webKey()
	if err != nil {
		return err
	}
	o := newObject(1024 * (1 + len(keys)))
	o.Object()
	o.Name("data").Array()
	for i := range keys {
		s := spends[keys[i].ID]
		appendAccountKey(&o, &keys[i], &s, web)
	}
	o.EndArray()
	o.integer("most", int64(apikey.MaxPerUser))
	o.null("next")
	o.EndObject()
	return x.reply(&o)
}

// webKey is the hash of the key of the caller's calls from the browser.
func (x *exchange) webKey() (string, error) {
	if x.person != nil {
		return x.person.WebKey, nil
	}
	if x.api.People == nil {
		return "", nil
	}
	p, err := x.api.People.Of(x.context(), x.caller.User)
	return p.WebKey, err
}

func appendAccountKey(o *object, k *apikey.Key, s *report.KeySpend, web string) {
	o.Object()
	o.text("hash", k.Hash)
	o.text("id", k.ID)
	o.text("label", k.Label)
	o.text("name", k.Name)
	o.boolean("management", k.Management)
	o.boolean("web", k.Hash == web)
	o.boolean("disabled", k.Disabled)
	spent := s.Monthly
	if k.Limit == nil {
		o.null("limit")
		o.null("limit_remaining")
		o.null("limit_reset")
	} else {
		spent = notify.InInterval(k.Limit.Reset, s.KeySpend)
		o.amountText("limit", k.Limit.Amount)
		o.amountText("limit_remaining", k.Limit.Remaining(spent))
		o.textOrNull("limit_reset", string(k.Limit.Reset))
	}
	o.amountText("spent", spent)
	o.amountText("spent_day", s.Daily)
	o.amountText("spent_week", s.Weekly)
	o.amountText("spent_month", s.Monthly)
	o.amountText("spent_total", s.Total)
	appendKeyRates(o, k.Rates)
	o.raw("provider", k.Preferences)
	appendRules(o, k)
	o.moment("created_at", k.CreatedAt)
	o.moment("updated_at", k.UpdatedAt)
	o.moment("expires_at", k.ExpiresAt)
	o.moment("last_used_at", s.LastAt)
	if k.Previous.Until.IsZero() {
		o.null("previous")
	} else {
		o.Name("previous").Object()
		o.text("label", k.Previous.Label)
		o.moment("until", k.Previous.Until)
		o.EndObject()
	}
	o.EndObject()
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

func (x *exchange) replyAccountKey(status int, k *apikey.Key, text string) error {
	spends, err := x.api.Reports.KeySpends(x.context(), x.caller.User, x.caller.Wallet)
	if err != nil {
		return err
	}
	web, err := x.webKey()
	if err != nil {
		return err
	}
	s := spends[k.ID]
	if !k.Previous.Until.IsZero() && !x.at.Before(k.Previous.Until) {
		k.Previous = apikey.Previous{}
	}
	o := newObject(2048)
	o.Object()
	o.Name("data")
	appendAccountKey(&o, k, &s, web)
	if text != "" {
		o.text("key", text)
		x.w.Header()["Cache-Control"] = noStore
	}
	o.EndObject()
	x.writeBody(status, jsonType, o.B)
	return nil
}

// getAccountKey serves GET /api/keys/{hash}.
func (x *exchange) getAccountKey() error {
	k, err := x.keyByHash(x.values[0])
	if err != nil {
		return err
	}
	return x.replyAccountKey(http.StatusOK, &k, "")
}

// postAccountKey serves POST /api/keys.
func (x *exchange) postAccountKey() error {
	e, err := x.readKeyEdit(keyForm{creating: true, pages: true})
	if err != nil {
		return err
	}
	if e.management && x.session == nil {
		return fault.New(fault.PermissionDenied, "httpapi.postAccountKey", "Management keys are made by people who are signed in, or by the operator: a management key that made others could not be taken away.")
	}
	k, text, err := x.createKey(e)
	if err != nil {
		return err
	}
	return x.replyAccountKey(http.StatusCreated, &k, text)
}

// patchAccountKey serves PATCH /api/keys/{hash}.
func (x *exchange) patchAccountKey() error {
	e, err := x.readKeyEdit(keyForm{pages: true})
	if err != nil {
		return err
	}
	k, err := x.changeKey(e)
	if err != nil {
		return err
	}
	return x.replyAccountKey(http.StatusOK, &k, "")
}

// rotateAccountKey serves POST /api/keys/{hash}/rotate.
func (x *exchange) rotateAccountKey() error {
	body, err := x.readBody()
	if err != nil {
		return err
	}
	hours, err := rotationHours(body)
	if err != nil {
		return err
	}
	k, err := x.keyByHash(x.values[0])
	if err != nil {
		return err
	}
	k, text, err := x.api.Keys.Rotate(x.context(), x.caller.User, k.Hash, hours, x.actor())
	if err != nil {
		return err
	}
	return x.replyAccountKey(http.StatusOK, &k, text)
}

const usualHours = 24

func rotationHours(body []byte) (int, error) {
	if err := rawjson.Check(body, rawjson.Limits{Depth: 2, Keys: 10, Values: 20}); err != nil {
		return 0, err
	}
	if rawjson.KindOf(body) != rawjson.Object {
		return 0, fault.New(fault.Invalid, "httpapi.rotate", "The body must be a JSON object.")
	}
	hours := usualHours
	for m := rawjson.MembersOf(body); m.Next(); {
		if string(m.Name) != "hours" {
			return 0, fault.Field("httpapi.rotate", clip(string(m.Name)), "This route has no field of this name.").Coded("unknown_field")
		}
		n, err := strconv.Atoi(string(m.Value))
		if err != nil || n < 0 || n > apikey.MostHours {
			return 0, fault.Field("httpapi.rotate", "hours", "hours must be a whole number from 0 to %d.", apikey.MostHours).Coded("hours_range", "most", apikey.MostHours)
		}
		hours = n
	}
	return hours, nil
}

// mayFrom fails for a key that does not work from the request's address.
func (x *exchange) mayFrom(c *apikey.Caller) error {
	if len(c.Addresses) == 0 {
		return nil
	}
	if a := x.api.clientAddress(x.r); !c.From(a) {
		return fault.Newf(fault.PermissionDenied, "httpapi.mayFrom", "This key does not work from the address %s. Add it to allowed_ips of the key, or use another key.", shown(a))
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
