package httpapi

import (
	"net/http"
	"net/url"

	"weir/internal/fault"
	"weir/internal/money"
	"weir/internal/notify"
	"weir/internal/rawjson"
)

const maxCallbackURL = 2000 // bytes

func (x *exchange) notifications() (*notify.Manager, error) {
	if x.api.Notifications == nil {
		return nil, fault.New(fault.NotFound, "httpapi.notifications", "This gateway sends no notifications.")
	}
	return x.api.Notifications, nil
}

// getNotifications serves GET /api/notifications: what is reported to the account, and how.
func (x *exchange) getNotifications() error {
	m, err := x.notifications()
	if err != nil {
		return err
	}
	v, err := m.Settings(x.context(), x.caller.User)
	if err != nil {
		return err
	}
	o := newObject(1024)
	o.Object()
	o.Name("data").Object()
	o.amountText("threshold", v.Threshold)
	o.Name("email").Object()
	o.boolean("available", v.Mail)
	o.textOrNull("address", v.Address)
	o.boolean("confirmed", v.Confirmed)
	o.EndObject()
	o.Name("webhook").Object()
	o.boolean("available", x.webhooks())
	o.textOrNull("url", v.Webhook)
	o.EndObject()
	o.Name("causes").Object()
	for _, cause := range notify.Causes {
		o.Name(string(cause)).Object()
		for _, by := range notify.Channels {
			o.boolean(string(by), v.On.On(cause, by))
		}
		o.EndObject()
	}
	o.EndObject()
	o.EndObject()
	o.EndObject()
	return x.reply(&o)
}

// webhooks reports whether events can be signed.
func (x *exchange) webhooks() bool {
	if x.api.WebhookSecrets == nil {
		return false
	}
	_, err := x.api.WebhookSecrets.About(x.context(), x.caller.User)
	return err == nil || fault.Is(err, fault.NotFound)
}

// putNotifications serves PUT /api/notifications. What the body leaves out stays as it is.
func (x *exchange) putNotifications() error {
	body, err := x.readObject()
	if err != nil {
		return err
	}
	m, err := x.notifications()
	if err != nil {
		return err
	}
	var c notify.Change
	for member := rawjson.MembersOf(body); member.Next(); {
		kind := rawjson.KindOf(member.Value)
		switch name := string(member.Name); name {
		case "threshold":
			if kind != rawjson.String {
				return wrongKind(name, kind)
			}
			n, err := money.Parse(rawjson.Text(member.Value))
			if err != nil || n < 0 {
				return fault.Field("httpapi.putNotifications", name, "threshold must be a sum in rubles as text, such as \"500\"; \"0\" switches it off.")
			}
			c.Threshold = &n
		case "webhook_url":
			text, err := x.callbackURL(name, member.Value)
			if err != nil {
				return err
			}
			c.Webhook = &text
		case "causes":
			if kind != rawjson.Object {
				return wrongKind(name, kind)
			}
			if c.Switches, err = switches(member.Value); err != nil {
				return err
			}
		default:
			return fault.Field("httpapi.putNotifications", clip(name), "This route has no field of this name.")
		}
	}
	if err := m.Save(x.context(), x.caller.User, c, x.actor()); err != nil {
		return err
	}
	return x.getNotifications()
}

// callbackURL reads an address that events go to, "" for null.
func (x *exchange) callbackURL(name string, v []byte) (string, error) {
	switch kind := rawjson.KindOf(v); kind {
	case rawjson.Null:
		return "", nil
	case rawjson.String:
	default:
		return "", wrongKind(name, kind)
	}
	text := rawjson.Text(v)
	if text == "" {
		return "", nil
	}
	if len(text) > maxCallbackURL {
		return "", fault.Field("httpapi.callbackURL", name, "%s may have at most %d bytes.", name, maxCallbackURL)
	}
	if x.api.CheckCallback != nil {
		return text, x.api.CheckCallback(name, text)
	}
	return text, nil
}

// switches reads the causes of a body: {"low_balance": {"email": true}}.
func switches(body []byte) (notify.Choices, error) {
	const op = "httpapi.switches"
	all := notify.Choices{}
	for m := rawjson.MembersOf(body); m.Next(); {
		param := "causes." + clip(string(m.Name))
		cause, err := notify.ParseCause(param, string(m.Name))
		if err != nil {
			return nil, err
		}
		if kind := rawjson.KindOf(m.Value); kind != rawjson.Object {
			return nil, wrongKind(param, kind)
		}
		all[cause] = map[notify.Channel]bool{}
		for by := rawjson.MembersOf(m.Value); by.Next(); {
			name := string(by.Name)
			if name != string(notify.Email) && name != string(notify.Webhook) {
				return nil, fault.Field(op, param+"."+clip(name), "There is no such channel. The channels are email and webhook.")
			}
			on, ok := rawjson.Bool(by.Value)
			if !ok {
				return nil, wrongKind(param+"."+name, rawjson.KindOf(by.Value))
			}
			all[cause][notify.Channel(name)] = on
		}
	}
	return all, nil
}

// postNotificationTest serves POST /api/notifications/test.
func (x *exchange) postNotificationTest() error {
	m, err := x.notifications()
	if err != nil {
		return err
	}
	sent, err := m.Test(x.context(), x.caller.User)
	if err != nil {
		return err
	}
	var o object
	o.Object()
	o.Name("data").Object()
	o.boolean("email", sent.Mail)
	o.boolean("webhook", sent.Webhook)
	o.EndObject()
	o.EndObject()
	return x.reply(&o)
}

// getUnsubscribe serves GET /api/unsubscribe/{token}, for people whose mail program opens the address of the one-click header. It changes
// nothing: programs that look at links open them, too. The page asks, and posts.
func (x *exchange) getUnsubscribe() error {
	h := x.w.Header()
	h["Cache-Control"] = noStore
	h.Set("Location", "/unsubscribe#"+url.PathEscape(x.values[0]))
	h.Set("Referrer-Policy", "no-referrer")
	x.writeBody(http.StatusSeeOther, nil, nil)
	return nil
}

// postUnsubscribe serves POST /api/unsubscribe/{token} (RFC 8058): it switches the mails of one cause off. The body is not read.
func (x *exchange) postUnsubscribe() error {
	m, err := x.notifications()
	if err != nil {
		return err
	}
	cause, err := m.Unsubscribe(x.context(), x.values[0])
	if err != nil {
		return err
	}
	var o object
	o.Object()
	o.Name("data").Object()
	o.text("cause", string(cause))
	o.EndObject()
	o.EndObject()
	x.w.Header().Set("Cache-Control", "no-store")
	return x.reply(&o)
}

// EncodeFact is the data of a webhook's event: a notice with its cause.
func EncodeFact(f *notify.Fact) []byte {
	o := newObject(256)
	o.Object()
	o.textOrNull("cause", string(f.Kind.Cause()))
	appendFact(&o, f)
	o.EndObject()
	return o.B
}

// appendFact writes the members of a notice.
func appendFact(o *object, f *notify.Fact) {
	o.text("kind", string(f.Kind))
	o.textOrNull("ref", f.Ref)
	o.textOrNull("name", f.Name)
	o.Name("detail").Object()
	switch f.Kind {
	case notify.MoneyGone:
		o.amountText("available", f.Amount)
	case notify.MoneyLow:
		o.amountText("available", f.Amount)
		countOrNull(o, "days", f.Days)
	case notify.KeyNear, notify.KeyReached:
		o.amountText("limit", f.Amount)
		o.amountText("spent", f.Spent)
		o.integer("percent", f.Percent)
		o.textOrNull("resets", f.Reset)
	case notify.UnusualSpending:
		o.amountText("spent", f.Amount)
		o.amountText("usual", f.Usual)
		o.moment("at", f.At)
	case notify.PaymentReceived, notify.PaymentRefunded, notify.TopUpFailed:
		o.amountText("amount", f.Amount)
		o.moment("at", f.At)
	case notify.KeyExpiring, notify.KeyExpired, notify.ModelGone, notify.ModelRetires:
		o.moment("at", f.At)
	case notify.TestNotice:
	}
	o.EndObject()
}
