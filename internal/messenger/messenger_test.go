package messenger_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"
	"unicode/utf16"

	"weir/internal/alert"
	"weir/internal/fault"
	"weir/internal/messenger"
)

const (
	botToken = "110201543:AAHdqTcvCH1vGWJxfSeofSAs0K5PALDsaw"
	slackURL = "https://hooks.slack.com/services/T00000000/B00000000/XXXXXXXXXXXXXXXXXXXXXXXX"
)

var at = time.Date(2026, 11, 29, 12, 0, 0, 0, time.UTC)

func post() *alert.Post {
	return &alert.Post{
		ID: "alert-al_1-began-1", What: alert.Began, Title: "Provider my_hut fails", Text: "34 of 40 attempts <failed> & *more*\nWhat to do: [look](x)", Link: "https://weir.example/admin/providers",
		Parts: []alert.Message{{What: alert.Began, At: at, Incident: alert.Incident{ID: "al_1", Kind: alert.Provider, Subject: "my_hut", BeganAt: at, Value: 85, Limit: 50}}},
	}
}

// What is sent, byte by byte: no parse_mode and no markup, because names with "_", "<" or "." made messages of Alertmanager, Grafana and Flux fail
// with "can't parse entities" (prometheus/alertmanager issues 2960 and 3061, grafana/grafana 8302, fluxcd/notification-controller 910).
func TestBodies(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ got, want string }{
		"telegram": {string(messenger.TelegramBody("-1001557912345", post())), `{"chat_id":"-1001557912345","text":"Provider my_hut fails\n\n34 of 40 attempts <failed> & *more*\nWhat to do: [look](x)\nhttps://weir.example/admin/providers","link_preview_options":{"is_disabled":true}}`},
		"slack":    {string(messenger.SlackBody(post())), `{"text":"Provider my_hut fails\n34 of 40 attempts &lt;failed&gt; &amp; *more*\nWhat to do: [look](x)\nhttps://weir.example/admin/providers","mrkdwn":false,"unfurl_links":false}`},
		"webhook":  {string(messenger.WebhookBody(post(), at)), `{"type":"alert.began","timestamp":"2026-11-29T12:00:00Z","data":{"title":"Provider my_hut fails","text":"34 of 40 attempts <failed> & *more*\nWhat to do: [look](x)","link":"https://weir.example/admin/providers","incidents":[{"id":"al_1","what":"began","kind":"provider","subject":"my_hut","severity":"warning","began_at":"2026-11-29T12:00:00Z","ended_at":null,"value":85,"limit":50}]}}`},
	} {
		if c.got != c.want {
			t.Errorf("%s: %s", name, c.got)
		}
	}
}

// A long message is cut where Telegram counts, in UTF-16 code units, and its link stays whole.
func TestLongMessage(t *testing.T) {
	t.Parallel()
	for _, text := range []string{strings.Repeat("ы", 5000), strings.Repeat("🚨", 3000), strings.Repeat("a", 4096)} {
		p := post()
		p.Text = text
		body := string(messenger.TelegramBody("1", p))
		_, body, _ = strings.Cut(body, `"text":"`)
		body, _, _ = strings.Cut(body, `","link_preview`)
		body = strings.ReplaceAll(body, `\n`, "\n")
		if n := len(utf16.Encode([]rune(body))); n > 4096 || n < 4090 || !strings.HasSuffix(body, "…\nhttps://weir.example/admin/providers") {
			t.Errorf("%d code units, ends with %q", n, body[len(body)-60:])
		}
	}
}

func TestAnswers(t *testing.T) {
	t.Parallel()
	telegram, slack, hook := messenger.TelegramAnswer, messenger.SlackAnswer, messenger.WebhookAnswer
	for name, c := range map[string]struct {
		read func(messenger.Reply) alert.Answer
		messenger.Reply
		want alert.Answer
	}{
		"telegram takes it":     {telegram, reply(200, `{"ok":true,"result":{"message_id":1}}`), alert.Answer{Sent: true}},
		"telegram floods":       {telegram, reply(429, `{"ok":false,"error_code":429,"description":"Too Many Requests: retry after 34","parameters":{"retry_after":34}}`), alert.Answer{Wait: 34 * time.Second, Words: "Too Many Requests: retry after 34"}},
		"a group moved":         {telegram, reply(400, `{"ok":false,"error_code":400,"description":"Bad Request: group chat was upgraded to a supergroup chat","parameters":{"migrate_to_chat_id":-1001557912345}}`), alert.Answer{Address: "-1001557912345", Words: "Bad Request: group chat was upgraded to a supergroup chat"}}, // TwiN/gatus issue 179
		"no such chat":          {telegram, reply(400, `{"ok":false,"error_code":400,"description":"Bad Request: chat not found"}`), alert.Answer{Failed: true, Words: "Bad Request: chat not found"}},
		"the bot was kicked":    {telegram, reply(403, `{"ok":false,"error_code":403,"description":"Forbidden: bot was kicked from the supergroup chat"}`), alert.Answer{Failed: true, Words: "Forbidden: bot was kicked from the supergroup chat"}},
		"the token was revoked": {telegram, reply(401, `{"ok":false,"error_code":401,"description":"Unauthorized"}`), alert.Answer{Failed: true, Words: "Unauthorized"}},
		"telegram is ill":       {telegram, reply(502, `<html>Bad Gateway</html>`), alert.Answer{Reason: alert.Status, Words: "502"}},
		"a page instead":        {telegram, reply(200, `<html>Blocked</html>`), alert.Answer{Reason: alert.Status, Words: "200"}},

		"slack takes it":       {slack, reply(200, `ok`), alert.Answer{Sent: true}},
		"slack's payload":      {slack, reply(400, `invalid_payload`), alert.Answer{Failed: true, Reason: alert.Status, Words: "400 invalid_payload"}},
		"slack forbids":        {slack, reply(403, `action_prohibited`), alert.Answer{Failed: true, Reason: alert.Status, Words: "403 action_prohibited"}},
		"slack's hook is gone": {slack, reply(404, `no_service`), alert.Answer{Failed: true, Reason: alert.Status, Words: "404 no_service"}},
		"slack archived":       {slack, reply(410, `channel_is_archived`), alert.Answer{Failed: true, Reason: alert.Status, Words: "410 channel_is_archived"}},
		"slack is ill":         {slack, reply(500, `rollup_error`), alert.Answer{Reason: alert.Status, Words: "500 rollup_error"}},
		"slack floods": {slack, messenger.Reply{Status: 429, RetryAfter: 30 * time.Second, Body: []byte(`{"retry_after":30,"ok":false,"error":"rate_limited"}`)},
			alert.Answer{Wait: 30 * time.Second, Reason: alert.Status, Words: `429 {"retry_after":30,"ok":false,"error":"rate_limited"}`}}, // prometheus/alertmanager issue 2111: these were lost

		"a hook takes it":   {hook, reply(204, ``), alert.Answer{Sent: true}},
		"a hook is gone":    {hook, reply(410, ``), alert.Answer{Failed: true, Reason: alert.Status, Words: "410 "}},
		"a hook has no key": {hook, reply(401, `no`), alert.Answer{Reason: alert.Status, Words: "401 no"}},
	} {
		if got := c.read(c.Reply); got != c.want {
			t.Errorf("%s: %+v", name, got)
		}
	}
}

func reply(status int, body string) messenger.Reply {
	return messenger.Reply{Status: status, Body: []byte(body)}
}

// wire is a poster that answers, or fails as a network does.
type wire struct {
	messenger.Reply
	err    error
	called messenger.Call
}

func (w *wire) Post(_ context.Context, c messenger.Call) (messenger.Reply, error) {
	w.called = c
	return w.Reply, w.err
}

// The token of a bot and the URL of Slack's webhook are in addresses. Whatever the network or a receiver says of these, no answer has them
// (tucnak/telebot issue 770; DependencyTrack/dependency-track issue 1159 shows a log with one).
func TestNoSecretInWords(t *testing.T) {
	t.Parallel()
	for way, secret := range map[alert.Way]string{alert.Telegram: botToken, alert.Slack: slackURL} {
		address := slackURL
		if way == alert.Telegram {
			address = "https://api.telegram.org/bot" + botToken + "/sendMessage"
		}
		for name, w := range map[string]*wire{
			"the network":     {err: fault.New(fault.ProviderUnavailable, "fetch.Post", "The URL did not answer.").Because(errors.New(`Post "` + address + `": http2: server sent GOAWAY`))},
			"a rule":          {err: fault.New(fault.Invalid, "fetch.Post", "The URL may not be called.").Because(errors.New(address + " is private"))},
			"a proxy's page":  {Reply: reply(502, "cannot reach "+address)},
			"the description": {Reply: reply(404, `{"ok":false,"description":"Not Found: `+address+`"}`)},
		} {
			s := messenger.Sender{Poster: w, Telegram: messenger.TelegramURL}
			a := s.Send(t.Context(), &alert.Channel{ID: "ops", Way: way, Address: "1"}, secret, post(), at)
			for _, part := range []string{secret, "AAHdqTcvCH1vGWJxfSeofSAs0K5PALDsaw", "XXXXXXXXXXXXXXXXXXXXXXXX"} {
				if strings.Contains(a.Words, part) {
					t.Errorf("%s, %s: %q", way, name, a.Words)
				}
			}
			if a.Sent || a.Words == "" || w.called.Address != address {
				t.Errorf("%s, %s: %+v at %s", way, name, a, w.called.Address)
			}
		}
	}
}

// A webhook with a secret is signed, and without one it is not.
func TestWebhookSigned(t *testing.T) {
	t.Parallel()
	w := &wire{Reply: reply(204, "")}
	s := messenger.Sender{Poster: w}
	c := &alert.Channel{ID: "ops", Way: alert.Webhook, Address: "https://hooks.example/x"}
	for secret, signed := range map[string]bool{"": false, "whsec_MDEyMzQ1Njc4OTAxMjM0NTY3ODkwMTIzNDU2Nzg5MDE=": true} {
		a := s.Send(t.Context(), c, secret, post(), at)
		if !a.Sent || (w.called.Header["webhook-signature"] != "") != signed || w.called.Header["webhook-id"] != "alert-al_1-began-1" {
			t.Errorf("%+v, %v", a, w.called.Header)
		}
	}
}
