package alert

import (
	"net/mail"
	"strings"
	"time"

	"weir/internal/fault"
)

// Way is how a channel is reached.
type Way string

// The ways. The address of Slack is itself a secret, and has none beside it.
const (
	Mail     Way = "mail"     // address: a mailbox
	Webhook  Way = "webhook"  // address: a URL; secret: signs messages, "whsec_" and base64
	Slack    Way = "slack"    // secret: the URL of an incoming webhook
	Telegram Way = "telegram" // address: a chat, "-100123" or "@name"; secret: the token of a bot
)

// Ways lists all.
var Ways = []Way{Mail, Webhook, Slack, Telegram}

// Languages are those that messages are written in.
var Languages = []string{"en", "ru"}

// Channel is where messages go.
type Channel struct {
	ID       string // a name that operators choose
	Way      Way
	Address  string
	Language string
	On       bool
	Kinds    []Kind   // that it gets, in the order of Kinds; empty: all
	Least    Severity // that it gets; "" as Warning: all
	Sealed   []byte   // the secret; empty: none
	Last4    string   // of it
	Version  int64

	Failed string    // in English when it refused for good, "" otherwise: nothing is sent until it is mended
	Reason Reason    // of the last trouble, where this gateway knows it, "" otherwise
	Words  string    // of the last trouble: the receiver's or the network's
	SentAt time.Time // the last message, zero: none
}

// Limits of channels.
const (
	MostChannels = 20
	longestID    = 40
	longestText  = 500 // bytes of an address
	longestKey   = 1000
	sealedColumn = "alert_channel_secret"
)

func sealedRow(id string) string { return "alert_channel/" + id }

// Secretive reports whether a way needs a secret.
func (w Way) Secretive() bool { return w == Slack || w == Telegram }

// check refuses a channel that cannot be reached. secret is that which it will have, "" for none.
func (c *Channel) check(secret string, callback func(param, address string) error) error {
	const op = "alert.Channel.check"
	if !named(c.ID) {
		return fault.Field(op, "id", "A channel's name has at most %d small letters, digits, hyphens and underscores.", longestID).Coded("alert_channel_name", "most", longestID)
	}
	if c.Language != "en" && c.Language != "ru" {
		return fault.Field(op, "language", "language must be en or ru.").Coded("alert_language")
	}
	if len(c.Address) > longestText || len(secret) > longestKey {
		return fault.Field(op, "address", "address must have at most %d bytes.", longestText).Coded("most_bytes", "most", longestText)
	}
	for _, k := range c.Kinds {
		if _, err := ParseKind(string(k)); err != nil {
			return fault.Field(op, "kinds", "kinds may have %s.", join(Kinds)).Coded("alert_kinds", "kinds", join(Kinds))
		}
	}
	if c.Least != "" && c.Least != Warning && c.Least != Critical {
		return fault.Field(op, "severity", "severity must be warning or critical.").Coded("alert_severity")
	}
	switch c.Way {
	case Mail:
		return c.checkMail(secret)
	case Webhook:
		if err := callback("address", c.Address); err != nil {
			return err
		}
		if secret != "" && !strings.HasPrefix(secret, "whsec_") {
			return fault.Field(op, "secret", "The secret of a webhook is whsec_ and base64, or left out.").Coded("alert_secret_webhook")
		}
	case Slack:
		if c.Address != "" {
			return fault.Field(op, "address", "Slack needs no address: the URL of its webhook is the secret.").Coded("alert_address_slack")
		}
		if callback("secret", secret) != nil {
			return fault.Field(op, "secret", "The secret of Slack is the URL of an incoming webhook, such as https://hooks.slack.com/services/...").Coded("alert_secret_slack")
		}
	case Telegram:
		return c.checkTelegram(secret)
	default:
		return fault.Field(op, "way", "way must be one of %s.", join(Ways)).Coded("alert_way")
	}
	return nil
}

func (c *Channel) checkMail(secret string) error {
	if at, err := mail.ParseAddress(c.Address); err != nil || at.Address != c.Address {
		return fault.Field("alert.Channel.check", "address", "address must be a mailbox, such as ops@example.org.").Coded("alert_address_mail")
	}
	if secret != "" {
		return fault.Field("alert.Channel.check", "secret", "Mail needs no secret.").Coded("alert_secret_mail")
	}
	return nil
}

func (c *Channel) checkTelegram(secret string) error {
	chat := strings.TrimPrefix(strings.TrimPrefix(c.Address, "@"), "-")
	if chat == "" || strings.Trim(chat, "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz_") != "" {
		return fault.Field("alert.Channel.check", "address", "The address of Telegram is a chat: its number, such as -1001234567890, or @name.").Coded("alert_address_telegram")
	}
	bot, token, ok := strings.Cut(secret, ":")
	if !ok || bot == "" || token == "" || strings.Trim(bot, "0123456789") != "" || strings.Trim(token, "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz_-") != "" {
		return fault.Field("alert.Channel.check", "secret", "The secret of Telegram is the token of a bot, such as 123456:ABC.").Coded("alert_secret_telegram")
	}
	return nil
}

func named(id string) bool {
	return id != "" && len(id) <= longestID && strings.Trim(id, "abcdefghijklmnopqrstuvwxyz0123456789-_") == ""
}

// Message is what a channel is to get of an incident.
type Message struct {
	Incident Incident
	What     What
	At       time.Time // when it was written
}

// Post is what goes to a channel at one time.
type Post struct {
	ID     string // the same when it is sent again
	What   What
	Parts  []Message // one; several for a summary; none for a test
	Title  string
	Text   string // without the title and the link
	Link   string // to the page where something can be done
	Button string // what the link is called
}

// Answer is what a receiver said.
type Answer struct {
	Sent    bool
	Failed  bool          // it refuses for good
	Wait    time.Duration // that it asks for, 0: none
	Reason  Reason        // why it was not sent, where this gateway knows it
	Words   string        // of the receiver or the network, without secrets
	Address string        // the channel has another address from now on, "" as before
}

// Said is a message of an incident and where it went, for pages.
type Said struct {
	Channel string
	What    What
	At      time.Time // when it was written
	SentAt  time.Time // zero: it waits, or was given up
	Dropped bool      // it was given up
	Summed  bool      // it was part of a summary
}

// Reported is an incident with its messages.
type Reported struct {
	Incident
	Said []Said
}
