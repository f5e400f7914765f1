package accounts_test

import (
	"bufio"
	"encoding/hex"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	netmail "net/mail"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"weir/internal/apikey"
	"weir/internal/app/apptest"
	"weir/internal/audit"
	"weir/internal/auth"
	"weir/internal/webhook"
)

// postbox is an SMTP server that takes every mail.
func postbox(t *testing.T) (port int, mails chan string) {
	t.Helper()
	l, mails := apptest.Listen(t), make(chan string, 100)
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			go takeMail(c, mails)
		}
	}()
	t.Cleanup(func() { _ = l.Close() })
	return l.Addr().(*net.TCPAddr).Port, mails
}

func takeMail(c net.Conn, mails chan<- string) {
	defer func() { _ = c.Close() }()
	r := bufio.NewReader(c)
	answer := "220 test ESMTP"
	var body *strings.Builder
	for {
		if answer != "" {
			_, _ = fmt.Fprintf(c, "%s\r\n", answer)
		}
		line, err := r.ReadString('\n')
		if err != nil {
			return
		}
		verb := strings.ToUpper(strings.TrimSpace(line))
		switch {
		case body != nil && line == ".\r\n":
			mails <- body.String()
			body, answer = nil, "250 taken"
		case body != nil:
			body.WriteString(line)
			answer = ""
		case verb == "DATA":
			body, answer = &strings.Builder{}, "354 go on"
		case verb == "QUIT":
			return
		default:
			answer = "250 ok"
		}
	}
}

func arrives[T any](t *testing.T, c <-chan T) T {
	t.Helper()
	select {
	case v := <-c:
		return v
	case <-time.After(time.Minute):
		t.Fatal("nothing arrived")
		panic("not reached")
	}
}

type hooked struct {
	header http.Header
	body   []byte
}

// An account is notified by mail and webhook as its settings say. The link in a mail switches off that cause only, and nothing of a notification is logged.
func TestNotifications(t *testing.T) {
	t.Parallel()
	apptest.WithinADay(t)
	port, mails := postbox(t)
	hooks := make(chan hooked, 100)
	receiver := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		hooks <- hooked{r.Header, body}
	}))
	t.Cleanup(receiver.Close)
	key := filepath.Join(t.TempDir(), "master.key")
	if err := os.WriteFile(key, []byte(hex.EncodeToString([]byte("the master key of a test, no more")[:32])), 0o600); err != nil {
		t.Fatal(err)
	}
	gw := apptest.StartGateway(t, func(s *apptest.Setup) {
		s.Sealing.MasterKeyFile, s.Fetch.AllowCallbacks, s.Video.Callbacks.Poll = key, []string{"127.0.0.0/8"}, 20*time.Millisecond
		s.Mail.Host, s.Mail.Port, s.Mail.Encryption, s.Mail.From = "127.0.0.1", port, "none", "Weir <weir@example.org>"
		s.Notify.CheckEvery, s.Notify.MailsPerMinute, s.Notify.TestsPerDay = 20*time.Millisecond, 6000, 3
	})
	o := gw.NewOwner(t, 10, apikey.NewKey{})
	login := auth.Login{User: o.User, Email: "anna@example.org", Confirmed: true, CreatedAt: time.Now()}
	if err := gw.Node.Admin().Store.People.AddLogin(t.Context(), login, "", audit.Event{Actor: audit.Actor{Name: "test"}, Action: audit.LoginAdded, Target: o.User}); err != nil {
		t.Fatal(err)
	}
	secret := o.Pages.WebhookSecret(t)
	hook := receiver.URL + "/hook"
	put := func(body map[string]any, status int) *apptest.Answer {
		t.Helper()
		got := o.Pages.Do(t, http.MethodPut, "/api/notifications", body)
		if got.Status != status {
			t.Errorf("%v: %d %s", body, got.Status, got.Body)
		}
		return got
	}
	refusals(t, o, put)

	put(map[string]any{"threshold": "50", "webhook_url": hook}, http.StatusOK)
	head := arrivesMail(t, mails)
	if !strings.Contains(head.Get("To"), "anna@example.org") || !strings.HasPrefix(head.Get("Message-Id"), "<ntf-") {
		t.Errorf("%v", head)
	}
	h := arrives(t, hooks)
	at, err := strconv.ParseInt(h.header.Get("webhook-timestamp"), 10, 64)
	if err != nil {
		t.Error(err)
	}
	if want, err := webhook.Signature([]string{secret}, h.header.Get("webhook-id"), time.Unix(at, 0), h.body); err != nil || h.header.Get("webhook-signature") != want {
		t.Errorf("%q, want %q", h.header.Get("webhook-signature"), want)
	}
	type event struct {
		Type string
		Data struct {
			Cause, Kind string
			Detail      struct{ Available string }
		}
	}
	if e := apptest.Decode[event](t, h.body); e.Type != "notification.money_low" || e.Data.Cause != "low_balance" || e.Data.Kind != "money_low" || e.Data.Detail.Available != "10" {
		t.Errorf("%s", h.body)
	}
	overview := o.Page(t, "/api/overview")
	if notices := elements(overview["notices"]); len(notices) != 1 || notices[0]["kind"] != "money_low" {
		t.Errorf("%v", overview["notices"])
	}

	unsubscribe(t, gw, o, head.Get("List-Unsubscribe"))
	for range 3 {
		if got := o.Pages.Do(t, http.MethodPost, "/api/notifications/test", nil); got.Status != http.StatusOK || !strings.Contains(string(got.Body), `"email":true,"webhook":true`) {
			t.Errorf("%d %s", got.Status, got.Body)
		}
		arrivesMail(t, mails)
		if e := apptest.Decode[event](t, arrives(t, hooks).body); e.Type != "notification.test" {
			t.Errorf("%+v", e)
		}
	}
	if got := o.Pages.Do(t, http.MethodPost, "/api/notifications/test", nil); got.Status != http.StatusTooManyRequests {
		t.Errorf("%d %s", got.Status, got.Body)
	}
	if len(mails)+len(hooks) > 0 {
		t.Errorf("%d mails and %d webhooks too many", len(mails), len(hooks))
	}
	token := strings.TrimSuffix(head.Get("List-Unsubscribe")[strings.LastIndex(head.Get("List-Unsubscribe"), "/")+1:], ">")
	if log := gw.Log.String(); strings.Contains(log, "anna@") || strings.Contains(log, token) || strings.Contains(log, secret) || strings.Contains(log, hook) {
		t.Errorf("the log says too much:\n%s", log)
	}
}

func arrivesMail(t *testing.T, mails <-chan string) netmail.Header {
	t.Helper()
	m, err := netmail.ReadMessage(strings.NewReader(arrives(t, mails)))
	if err != nil {
		t.Fatal(err)
	}
	return m.Header
}

// refusals tries what is not taken. Nothing of it is saved.
func refusals(t *testing.T, o *apptest.Owner, put func(map[string]any, int) *apptest.Answer) {
	t.Helper()
	before := string(o.Pages.Do(t, http.MethodGet, "/api/notifications", nil).Body)
	for param, body := range map[string]map[string]any{
		"threshold":                 {"threshold": "-1"},
		"threshold ":                {"threshold": "1000000001"},
		"threshold  ":               {"threshold": 5},
		"threshold   ":              {"threshold": "5e3"},
		"webhook_url":               {"webhook_url": "https://10.0.0.1/"},
		"webhook_url ":              {"webhook_url": "http://example.org/"},
		"webhook_url  ":             {"webhook_url": "https://" + strings.Repeat("a", 2000) + ".example.org/"},
		"webhook_url   ":            {"webhook_url": "javascript:alert(1)"},
		"webhook_url    ":           {"webhook_url": []any{"https://example.org"}},
		"webhook_url     ":          {"webhook_url": "https://user:word@example.org/"},
		"causes":                    {"causes": true},
		"causes.weather":            {"causes": map[string]any{"weather": map[string]any{"email": true}}},
		"causes.low_balance":        {"causes": map[string]any{"low_balance": false}},
		"causes.low_balance.pigeon": {"causes": map[string]any{"low_balance": map[string]any{"pigeon": true}}},
		"causes.low_balance.email":  {"causes": map[string]any{"payment": map[string]any{"email": false}, "low_balance": map[string]any{"email": "no"}}},
		"address":                   {"address": "eve@example.org"},
	} {
		if got := put(body, http.StatusBadRequest); !strings.Contains(string(got.Body), `"param":"`+strings.TrimSpace(param)+`"`) {
			t.Errorf("%v: %s", body, got.Body)
		}
	}
	if after := string(o.Pages.Do(t, http.MethodGet, "/api/notifications", nil).Body); after != before {
		t.Errorf("%s became %s", before, after)
	}
	for _, method := range []string{http.MethodGet, http.MethodPut} {
		if got := o.Account.Do(t, method, "/api/notifications", map[string]any{}); got.Status != http.StatusForbidden {
			t.Errorf("a key of calls: %d", got.Status)
		}
	}
}

// unsubscribe follows the link of a mail about the balance, as a mail program does.
func unsubscribe(t *testing.T, gw *apptest.Gateway, o *apptest.Owner, header string) {
	t.Helper()
	_, path, _ := strings.Cut(strings.Trim(header, "<>"), "://")
	_, path, _ = strings.Cut(path, "/")
	path = "/" + path
	client := &http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	ask := func(method, path string) (int, string) {
		req, err := http.NewRequestWithContext(t.Context(), method, gw.URL+path, strings.NewReader("List-Unsubscribe=One-Click"))
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
		resp, err := client.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		_ = resp.Body.Close()
		return resp.StatusCode, resp.Header.Get("Location")
	}
	type answer struct {
		Data struct{ Causes map[string]map[string]bool }
	}
	off := func() (list []string) {
		for cause, by := range apptest.Decode[answer](t, o.Pages.Do(t, http.MethodGet, "/api/notifications", nil).Body).Data.Causes {
			for channel, on := range by {
				if !on {
					list = append(list, cause+" "+channel)
				}
			}
		}
		return list
	}
	if status, to := ask(http.MethodGet, path); status != http.StatusSeeOther || !strings.HasPrefix(to, "/unsubscribe#") || len(off()) > 0 {
		t.Errorf("looking at the link: %d %s, off are %v", status, to, off())
	}
	for _, wrong := range []string{"x", "x.y", path[len("/api/unsubscribe/"):] + "A"} {
		if status, _ := ask(http.MethodPost, "/api/unsubscribe/"+wrong); status != http.StatusNotFound {
			t.Errorf("%s: %d", wrong, status)
		}
	}
	for range 2 {
		if status, _ := ask(http.MethodPost, path); status != http.StatusOK || fmt.Sprint(off()) != "[low_balance email]" {
			t.Errorf("%d, off are %v", status, off())
		}
	}
}
