// Package messenger sends alerts to operators: it speaks the Bot API of Telegram and the incoming webhooks of Slack, and posts JSON to webhooks. It
// must not know when an alert is sent, nor show a secret: the token of a bot and the URL of Slack are in addresses, and no error contains these.
package messenger

import (
	"context"
	"strconv"
	"strings"
	"time"
	"unicode/utf16"
	"unicode/utf8"

	"weir/internal/alert"
	"weir/internal/fault"
	"weir/internal/rawjson"
	"weir/internal/redact"
	"weir/internal/webhook"
)

// Call is a JSON body that is sent to an address. Home is the base URL of the configuration that it has, "" otherwise.
type Call struct {
	Address, Home string
	Header        map[string]string
	Payload       []byte
}

// Reply is what came back. Body is cut.
type Reply struct {
	Status     int
	RetryAfter time.Duration
	Body       []byte
}

// Poster sends calls within the rules for addresses. It fails with fault.Invalid for an address that must not be called.
type Poster interface {
	Post(ctx context.Context, c Call) (Reply, error)
}

// Mailer sends mails. It fails with fault.Unprocessable when another attempt is pointless.
type Mailer interface {
	DeliverAlert(ctx context.Context, to, language string, p *alert.Post) error
}

// TelegramURL is where the Bot API is, unless an operator has a server of their own.
const TelegramURL = "https://api.telegram.org"

// Config is where messages go that operators do not address themselves.
type Config struct {
	TelegramURL string `yaml:"telegram_url"` // base URL of the Bot API
}

// Default is the configuration of a node without one.
func Default() Config { return Config{TelegramURL: TelegramURL} }

// Sender sends posts by all ways.
type Sender struct {
	Poster   Poster
	Mail     Mailer // nil: no mail is sent
	Telegram string // base URL of the Bot API
}

const (
	longestTelegram = 4096 // UTF-16 code units: Bot API, sendMessage, "1-4096 characters after entities parsing"
	longestSlack    = 40000
	longestWords    = 300 // bytes of what a receiver says
)

// Send is alert.Sender.Send.
func (s *Sender) Send(ctx context.Context, c *alert.Channel, secret string, p *alert.Post, now time.Time) (a alert.Answer) {
	switch c.Way {
	case alert.Mail:
		a = s.mail(ctx, c, p)
	case alert.Slack:
		a = s.post(ctx, Call{Address: secret, Payload: SlackBody(p)}, SlackAnswer)
	case alert.Telegram: // without the slash that a person may have put at the end
		a = s.post(ctx, Call{Address: s.Telegram + "/bot" + secret + "/sendMessage", Home: s.Telegram, Payload: TelegramBody(c.Address, p)}, TelegramAnswer)
	case alert.Webhook:
		a = s.webhook(ctx, c, secret, p, now)
	default:
		a = alert.Answer{Failed: true, Reason: alert.NoWay}
	}
	a.Words = spoken(a.Words, secret)
	return a
}

// spoken makes words fit to be shown: on one line, short, and without the secret in any of the forms that receivers quote.
func spoken(words, secret string) string {
	parts := []string{secret}
	if _, token, ok := strings.Cut(secret, ":"); ok {
		parts = append(parts, token) // of a bot; of a URL, all after the scheme
	}
	if at := strings.LastIndexByte(secret, '/'); at >= 0 {
		parts = append(parts, secret[at+1:])
	}
	for _, part := range parts {
		if len(part) >= 6 {
			words = strings.ReplaceAll(words, part, "[redacted]")
		}
	}
	words = strings.Join(strings.Fields(strings.ToValidUTF8(string(redact.Redact([]byte(words))), "")), " ")
	for len(words) > longestWords {
		_, size := utf8.DecodeLastRuneInString(words)
		words = words[:len(words)-size]
	}
	return words
}

func (s *Sender) mail(ctx context.Context, c *alert.Channel, p *alert.Post) alert.Answer {
	if s.Mail == nil {
		return alert.Answer{Reason: alert.NoMail}
	}
	err := s.Mail.DeliverAlert(ctx, c.Address, c.Language, p)
	if err == nil {
		return alert.Answer{Sent: true}
	}
	return alert.Answer{Failed: fault.Is(err, fault.Unprocessable), Words: fault.From(err).Public}
}

func (s *Sender) post(ctx context.Context, c Call, read func(Reply) alert.Answer) alert.Answer {
	r, err := s.Poster.Post(ctx, c)
	if err != nil {
		return unanswered(err)
	}
	return read(r)
}

// unanswered says why no answer came. The cause is of the network, and has host and port at most.
func unanswered(err error) alert.Answer {
	f := fault.From(err)
	a := alert.Answer{Failed: f.Kind == fault.Invalid, Reason: alert.NoAnswer}
	if a.Failed {
		a.Reason = alert.Forbidden
	}
	if f.Cause != nil {
		a.Words = f.Cause.Error()
	}
	return a
}

func (s *Sender) webhook(ctx context.Context, c *alert.Channel, secret string, p *alert.Post, now time.Time) alert.Answer {
	body := WebhookBody(p, now)
	header := map[string]string{"webhook-id": p.ID, "webhook-timestamp": strconv.FormatInt(now.Unix(), 10)}
	if secret != "" {
		signature, err := webhook.Signature([]string{secret}, p.ID, now, body)
		if err != nil {
			return alert.Answer{Failed: true, Reason: alert.BadSecret}
		}
		header["webhook-signature"] = signature
	}
	return s.post(ctx, Call{Address: c.Address, Header: header, Payload: body}, WebhookAnswer)
}

// WebhookBody is the body of a webhook, as "Standard Webhooks" has it.
func WebhookBody(p *alert.Post, now time.Time) []byte {
	var w rawjson.Writer
	moment := func(name string, t time.Time) {
		w.Name(name)
		if t.IsZero() {
			w.Null()
			return
		}
		w.Text(t.UTC().Format(time.RFC3339))
	}
	w.Object()
	w.Name("type").Text("alert." + string(p.What))
	moment("timestamp", now)
	w.Name("data").Object()
	w.Name("title").Text(p.Title)
	w.Name("text").Text(p.Text)
	w.Name("link").Text(p.Link)
	w.Name("incidents").Array()
	for i := range p.Parts {
		m := &p.Parts[i]
		w.Object()
		w.Name("id").Text(m.Incident.ID)
		w.Name("what").Text(string(m.What))
		w.Name("kind").Text(string(m.Incident.Kind))
		w.Name("subject").Text(m.Incident.Subject)
		w.Name("severity").Text(string(m.Incident.Severity()))
		moment("began_at", m.Incident.BeganAt)
		moment("ended_at", m.Incident.EndedAt)
		w.Name("value").Int(int64(m.Incident.Value))
		w.Name("limit").Int(int64(m.Incident.Limit))
		w.EndObject()
	}
	w.EndArray()
	w.EndObject()
	w.EndObject()
	return w.B
}

// WebhookAnswer judges an answer: 2xx arrived, and 410 asks to stop ("Standard Webhooks", Deliverability).
func WebhookAnswer(r Reply) alert.Answer {
	a := alert.Answer{Sent: r.Status/100 == 2, Failed: r.Status == 410, Wait: r.RetryAfter}
	if !a.Sent {
		a.Reason, a.Words = alert.Status, status(r)
	}
	return a
}

// slackText is a text for Slack, which wants exactly three characters escaped ("Formatting message text", Escaping text).
var slackText = strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;")

// SlackBody is the body for an incoming webhook: plain text, in which no character is markup.
func SlackBody(p *alert.Post) []byte {
	var w rawjson.Writer
	w.Object()
	w.Name("text").Text(slackText.Replace(cut(p.Title+"\n"+p.Text, longestSlack)) + "\n" + slackText.Replace(p.Link))
	w.Name("mrkdwn").Bool(false)
	w.Name("unfurl_links").Bool(false)
	w.EndObject()
	return w.B
}

// SlackAnswer judges an answer ("Sending messages using incoming webhooks", Handling errors): "ok", or a word such as no_service. 429 says in
// Retry-After how long to wait; a sender that does not may be disabled for good ("Rate limits").
func SlackAnswer(r Reply) alert.Answer {
	a := alert.Answer{Sent: r.Status == 200, Wait: r.RetryAfter}
	if a.Sent {
		return a
	}
	a.Failed = r.Status/100 == 4 && r.Status != 429 && r.Status != 408 || r.Status/100 == 3
	a.Reason, a.Words = alert.Status, status(r)
	return a
}

func status(r Reply) string { return strconv.Itoa(r.Status) + " " + string(r.Body) }

// TelegramBody is the body of sendMessage. There is no parse_mode: names with "_" or "<" made messages of others fail with "can't parse entities".
func TelegramBody(chat string, p *alert.Post) []byte {
	link := "\n" + p.Link
	var w rawjson.Writer
	w.Object()
	w.Name("chat_id").Text(chat)
	w.Name("text").Text(cut(strings.ToValidUTF8(p.Title+"\n\n"+p.Text, ""), longestTelegram-len(utf16.Encode([]rune(link)))) + link)
	w.Name("link_preview_options").Object()
	w.Name("is_disabled").Bool(true)
	w.EndObject()
	w.EndObject()
	return w.B
}

// TelegramAnswer judges an answer ("Making requests": ok, error_code, description; ResponseParameters).
func TelegramAnswer(r Reply) alert.Answer {
	if ok, is := rawjson.Bool(rawjson.Find(r.Body, "ok")); is && ok && r.Status/100 == 2 {
		return alert.Answer{Sent: true}
	}
	parameters := rawjson.Find(r.Body, "parameters")
	a := alert.Answer{Wait: r.RetryAfter, Words: rawjson.TextAt(r.Body, "description")}
	if a.Words == "" {
		a.Reason, a.Words = alert.Status, strconv.Itoa(r.Status)
	}
	if seconds, ok := rawjson.Int(rawjson.Find(parameters, "retry_after")); ok && seconds > 0 {
		a.Wait = max(a.Wait, time.Duration(min(seconds, 24*60*60))*time.Second)
	}
	if chat, ok := rawjson.Int(rawjson.Find(parameters, "migrate_to_chat_id")); ok && chat != 0 {
		a.Address = strconv.FormatInt(chat, 10) // a group that became a supergroup
		return a
	}
	a.Failed = r.Status/100 == 4 && r.Status != 429 && r.Status != 408
	return a
}

// cut shortens a text to so many UTF-16 code units, at the end of a character.
func cut(text string, most int) string {
	units, end := 0, 0
	for i, r := range text {
		units += max(utf16.RuneLen(r), 1)
		if units <= most-1 {
			end = i + utf8.RuneLen(r)
		}
		if units > most {
			return text[:end] + "…"
		}
	}
	return text
}
