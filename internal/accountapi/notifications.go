package accountapi

import (
	"context"
	"net/url"

	"weir/internal/fault"
	"weir/internal/money"
	"weir/internal/notify"
	"weir/internal/operation"
)

const maxCallbackURL = 2000 // bytes

// NotificationSwitches says by which channels a cause is reported.
type NotificationSwitches struct {
	Email   bool `json:"email"`
	Webhook bool `json:"webhook"`
}

// NotificationCauses says by which channels each cause is reported.
type NotificationCauses struct {
	LowBalance      NotificationSwitches `json:"low_balance"`
	KeyLimit        NotificationSwitches `json:"key_limit"`
	KeyExpiring     NotificationSwitches `json:"key_expiring"`
	ModelRetiring   NotificationSwitches `json:"model_retiring"`
	Payment         NotificationSwitches `json:"payment"`
	UnusualSpending NotificationSwitches `json:"unusual_spending"`
}

func causesOf(on notify.Choices) NotificationCauses {
	of := func(c notify.Cause) NotificationSwitches {
		return NotificationSwitches{Email: on.On(c, notify.Email), Webhook: on.On(c, notify.Webhook)}
	}
	return NotificationCauses{
		LowBalance: of(notify.LowBalance), KeyLimit: of(notify.KeyLimit), KeyExpiring: of(notify.KeyExpiry), ModelRetiring: of(notify.ModelRetiring),
		Payment: of(notify.Payment), UnusualSpending: of(notify.Spending),
	}
}

// NotificationMail is whether an account gets e-mails, and where.
type NotificationMail struct {
	Available bool    `json:"available"` // this gateway sends mails
	Address   *string `json:"address"`
	Confirmed bool    `json:"confirmed"` // mails go only to a confirmed address
}

// NotificationWebhook is whether an account gets events, and where.
type NotificationWebhook struct {
	Available bool    `json:"available"` // this gateway can sign events
	URL       *string `json:"url"`
}

// NotificationSettings is what is reported to an account, and how.
type NotificationSettings struct {
	Threshold money.Nano          `json:"threshold"` // rubles; a balance below is low. 0: only the days that it lasts count
	Email     NotificationMail    `json:"email"`
	Webhook   NotificationWebhook `json:"webhook"`
	Causes    NotificationCauses  `json:"causes"`
	Tags      []string            `json:"watched_tags"` // whose spending is watched by itself, beside that of the account: whole tags, and names for each of their values
}

// SwitchChange is the switches of a cause that are to be different.
type SwitchChange struct {
	Email   *bool `json:"email,omitempty"`
	Webhook *bool `json:"webhook,omitempty"`
}

// CauseChanges is the causes that are to be reported otherwise.
type CauseChanges struct {
	LowBalance      *SwitchChange `json:"low_balance,omitempty"`
	KeyLimit        *SwitchChange `json:"key_limit,omitempty"`
	KeyExpiring     *SwitchChange `json:"key_expiring,omitempty"`
	ModelRetiring   *SwitchChange `json:"model_retiring,omitempty"`
	Payment         *SwitchChange `json:"payment,omitempty"`
	UnusualSpending *SwitchChange `json:"unusual_spending,omitempty"`
}

// choices are the changes by cause; nil: absent.
func (in *CauseChanges) choices() notify.Choices {
	if in == nil {
		return nil
	}
	all := notify.Choices{}
	for cause, c := range map[notify.Cause]*SwitchChange{
		notify.LowBalance: in.LowBalance, notify.KeyLimit: in.KeyLimit, notify.KeyExpiry: in.KeyExpiring, notify.ModelRetiring: in.ModelRetiring,
		notify.Payment: in.Payment, notify.Spending: in.UnusualSpending,
	} {
		if c == nil {
			continue
		}
		all[cause] = map[notify.Channel]bool{}
		for by, on := range map[notify.Channel]*bool{notify.Email: c.Email, notify.Webhook: c.Webhook} {
			if on != nil {
				all[cause][by] = *on
			}
		}
	}
	return all
}

// NotificationChange is what is to be different. What is left out stays.
type NotificationChange struct {
	Threshold *string                 `json:"threshold,omitempty"`                       // rubles; a balance below is low. 0: only the days that it lasts count
	Webhook   operation.Maybe[string] `json:"webhook_url" format:"uri" maxLength:"2000"` // where events go, by https; null for nowhere
	Causes    *CauseChanges           `json:"causes,omitempty"`
	Tags      *[]string               `json:"watched_tags,omitempty" maxItems:"20"` // tags whose spending is watched by itself: project=atlas, or project for each of its values
}

// change checks what is given.
func (in *NotificationChange) change(d *Deps) (change notify.Change, err error) {
	change.Switches, change.Tags = in.Causes.choices(), in.Tags
	if in.Threshold != nil {
		n, err := money.Parse(*in.Threshold)
		if err != nil {
			return change, fault.Field("accountapi.putNotifications", "threshold", "threshold must be a sum in rubles as text, such as \"500\"; \"0\" switches it off.").Coded("amount")
		}
		change.Threshold = &n
	}
	if in.Webhook.Given {
		to := ""
		if v := in.Webhook.Value; v != nil {
			to = *v
		}
		if err := d.checkCallback("webhook_url", to); err != nil {
			return change, err
		}
		change.Webhook = &to
	}
	return change, nil
}

// NotificationTest is where a test is on its way to.
type NotificationTest struct {
	Email   bool `json:"email"`
	Webhook bool `json:"webhook"`
}

// Unsubscribed is of which cause no mails are sent any more.
type Unsubscribed struct {
	Cause string `json:"cause" enum:"low_balance,key_limit,key_expiring,model_retiring,payment,unusual_spending"`
}

type unsubscribeToken struct {
	Token string `json:"-" path:"token" maxLength:"300"` // from a mail
}

// notifier is the manager of notifications, where there are any.
func (d *Deps) notifier() (*notify.Manager, error) {
	if d.Notifications == nil {
		return nil, fault.New(fault.NotFound, "accountapi.notifications", "This gateway sends no notifications.")
	}
	return d.Notifications, nil
}

func notifications(d Deps) []operation.Operation {
	return append(unsubscribing(d),
		operation.Of(operation.Operation{
			Method: "GET", Path: "/api/notifications", ID: "getNotifications", Org: operation.Owners, Access: operation.Management, Tag: "account",
			Summary: "The notification settings of this account", Answer: "The settings",
		}, func(ctx context.Context, c *operation.Call, _ *operation.None) (operation.Data[NotificationSettings], error) {
			return notificationSettings(ctx, d, c)
		}),
		operation.Of(operation.Operation{
			Method: "PUT", Path: "/api/notifications", ID: "putNotifications", Org: operation.Owners, Access: operation.Management, Fresh: true, Tag: "account",
			Summary: "Change them; what is left out stays as it is", Answer: "The settings after the change",
			Example: `{"threshold": "500", "webhook_url": "https://example.org/hook", "causes": {"key_expiring": {"webhook": false}}, "watched_tags": ["project", "env=prod"]}`,
		}, func(ctx context.Context, c *operation.Call, in *NotificationChange) (out operation.Data[NotificationSettings], err error) {
			m, err := d.notifier()
			if err != nil {
				return out, err
			}
			change, err := in.change(&d)
			if err != nil {
				return out, err
			}
			if err := m.Save(ctx, c.User, change, c.Actor); err != nil {
				return out, err
			}
			return notificationSettings(ctx, d, c)
		}),
		operation.Of(operation.Operation{
			Method: "POST", Path: "/api/notifications/test", ID: "testNotifications", Org: operation.Owners, Access: operation.Management, Tag: "account",
			Summary: "Send a test to the confirmed e-mail address and to the webhook of this account", Answer: "Where a test is on its way to",
		}, func(ctx context.Context, c *operation.Call, _ *operation.None) (out operation.Data[NotificationTest], err error) {
			m, err := d.notifier()
			if err != nil {
				return out, err
			}
			sent, err := m.Test(ctx, c.User)
			out.Data = NotificationTest{Email: sent.Mail, Webhook: sent.Webhook}
			return out, err
		}),
	)
}

// checkCallback refuses an address that events must not go to; "" for none.
func (d *Deps) checkCallback(name, to string) error {
	switch {
	case to == "":
		return nil
	case len(to) > maxCallbackURL:
		return fault.Field("accountapi.callback", name, "%s may have at most %d bytes.", name, maxCallbackURL).Coded("most_bytes", "most", maxCallbackURL)
	case d.CheckCallback == nil:
		return nil
	}
	return d.CheckCallback(name, to)
}

func notificationSettings(ctx context.Context, d Deps, c *operation.Call) (out operation.Data[NotificationSettings], err error) {
	m, err := d.notifier()
	if err != nil {
		return out, err
	}
	v, err := m.Settings(ctx, c.User)
	if err != nil {
		return out, err
	}
	signs := false
	if d.WebhookSecrets != nil {
		_, err := d.WebhookSecrets.About(ctx, c.User)
		signs = err == nil || fault.Is(err, fault.NotFound)
	}
	out.Data = NotificationSettings{
		Threshold: v.Threshold, Email: NotificationMail{Available: v.Mail, Address: OrNull(v.Address), Confirmed: v.Confirmed},
		Webhook: NotificationWebhook{Available: signs, URL: OrNull(v.Webhook)}, Causes: causesOf(v.On), Tags: append([]string{}, v.Tags...),
	}
	return out, nil
}

func unsubscribing(d Deps) []operation.Operation {
	return []operation.Operation{
		// For people whose mail program opens the address of the one-click header. It changes nothing: programs that look at links open them, too. The page
		// asks, and posts.
		operation.Of(operation.Operation{
			Method: "GET", Path: "/api/unsubscribe/{token}", ID: "openUnsubscribe", Access: operation.Linked, Status: 303, Tag: "account",
			Summary: "Go to the page that asks whether mails of a cause shall stop; nothing is changed", Answer: "The page",
		}, func(_ context.Context, c *operation.Call, in *unsubscribeToken) (operation.None, error) {
			c.NoStore()
			c.Header.Set("Location", "/unsubscribe#"+url.PathEscape(in.Token))
			c.Header.Set("Referrer-Policy", "no-referrer")
			return operation.None{}, nil
		}),
		operation.Of(operation.Operation{
			Method: "POST", Path: "/api/unsubscribe/{token}", ID: "unsubscribe", Access: operation.Linked, Tag: "account",
			Summary: "Switch off the mails of the token's cause, with one click of a mail program (RFC 8058); the body is not read", Answer: "They are off",
		}, func(ctx context.Context, c *operation.Call, in *unsubscribeToken) (out operation.Data[Unsubscribed], err error) {
			m, err := d.notifier()
			if err != nil {
				return out, err
			}
			cause, err := m.Unsubscribe(ctx, in.Token)
			c.NoStore()
			out.Data.Cause = string(cause)
			return out, err
		}),
	}
}
