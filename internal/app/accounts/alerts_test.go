package accounts_test

import (
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"weir/internal/apikey"
	"weir/internal/app/apptest"
	"weir/internal/audit"
)

const botToken = "110201543:AAHdqTcvCH1vGWJxfSeofSAs0K5PALDsaw"

// An operator sets a channel and a rule: the test and the incident arrive at the Bot API, in the words of the channel's language, the list says whom it
// was said to, and the token of the bot is in no answer, no log and no audit line.
func TestAlerts(t *testing.T) {
	t.Parallel()
	posts := make(chan string, 100)
	answer := make(chan string, 1)
	telegram := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		if r.URL.Path != "/bot"+botToken+"/sendMessage" {
			t.Errorf("the path is %s", r.URL.Path)
		}
		select {
		case text := <-answer:
			w.WriteHeader(http.StatusForbidden)
			_, _ = io.WriteString(w, text)
		default:
			posts <- string(body)
			_, _ = io.WriteString(w, `{"ok":true,"result":{"message_id":1}}`)
		}
	}))
	t.Cleanup(telegram.Close)
	key := filepath.Join(t.TempDir(), "master.key")
	if err := os.WriteFile(key, []byte(hex.EncodeToString([]byte("the master key of a test, no more")[:32])), 0o600); err != nil {
		t.Fatal(err)
	}
	gw := apptest.StartGateway(t, func(s *apptest.Setup) {
		s.Sealing.MasterKeyFile, s.Alerts.TelegramURL, s.Server.AdminAPI = key, telegram.URL+"/", true
	})
	boss := gw.NewOwner(t, 100, apikey.NewKey{})
	if err := gw.Node.Admin().Users.SetRole(t.Context(), boss.User, apikey.Administrator, audit.Actor{Name: "test"}); err != nil {
		t.Fatal(err)
	}
	desk := boss.Pages
	var answers strings.Builder
	do := func(method, path, body string, status int) string {
		t.Helper()
		var in map[string]any
		if body != "" {
			if err := json.Unmarshal([]byte(body), &in); err != nil {
				t.Fatal(err)
			}
		}
		got := desk.Do(t, method, "/api/admin/alerts"+path, in)
		answers.Write(got.Body)
		if got.Status != status {
			t.Fatalf("%s %s: %d %s", method, path, got.Status, got.Body)
		}
		return string(got.Body)
	}
	wants := func(text string, parts ...string) {
		t.Helper()
		for _, part := range parts {
			if !strings.Contains(text, part) {
				t.Errorf("%q is not in %s", part, text)
			}
		}
	}
	for body, code := range map[string]string{
		`{"way":"telegram","address":"-1001","secret":"none"}`:                            "alert_secret_telegram",
		`{"way":"telegram","address":"a b","secret":"` + botToken + `"}`:                  "alert_address_telegram",
		`{"way":"slack","secret":"http://127.0.0.1/x"}`:                                   "alert_secret_slack",
		`{"way":"mail","address":"nobody"}`:                                               "alert_address_mail",
		`{"way":"webhook","address":"https://hooks.example/x","secret":"a short secret"}`: "alert_secret_webhook",
	} {
		wants(do(http.MethodPut, "/channels/ops", body, http.StatusBadRequest), code)
	}
	do(http.MethodPut, "/channels/ops", `{"way":"telegram","address":"-1001","language":"ru","secret":"`+botToken+`"}`, http.StatusOK)
	wants(do(http.MethodPost, "/channels/ops/test", "", http.StatusOK), `"arrived":true`)
	wants(arrives(t, posts), `"chat_id":"-1001"`, "Проверка оповещений", "/admin/alerts")

	wants(do(http.MethodPut, "/rules/provider", `{"limit":0}`, http.StatusBadRequest), "alert_limit")
	wants(do(http.MethodPut, "/rules/provider", `{"limit":1,"calls":1}`, http.StatusOK), `"result":"created"`)
	wants(do(http.MethodPut, "/rules/provider", `{"limit":1,"calls":1}`, http.StatusOK), `"result":"unchanged"`)
	if got := boss.Account.Chat(t, map[string]any{"model": "test/u15-status-500", "messages": apptest.Question}); got.Status != http.StatusBadGateway { // which its provider fails
		t.Fatalf("%d %s", got.Status, got.Body)
	}
	wants(arrives(t, posts), "Провайдер Works сбоит", "порог 1 %", "Что делать")
	apptest.WaitFor(t, "the list to say that it was said", func() bool {
		list := do(http.MethodGet, "/incidents", "", http.StatusOK)
		return strings.Contains(list, `"kind":"provider"`) && strings.Contains(list, `"channel":"ops","what":"began","state":"sent"`)
	})
	do(http.MethodPut, "/rules/provider", `{"enabled":false}`, http.StatusOK)
	wants(arrives(t, posts), "Прошло: Провайдер Works сбоит", "Правило выключено")

	answer <- `{"ok":false,"error_code":403,"description":"Forbidden: bot was kicked, see ` + telegram.URL + `/bot` + botToken + `/sendMessage"}`
	wants(do(http.MethodPost, "/channels/ops/test", "", http.StatusOK), `"arrived":false,"failed":true`, "bot was kicked")
	wants(do(http.MethodGet, "", "", http.StatusOK), `"state":"failed"`, "bot was kicked", `"last4":"Dsaw"`)
	wants(do(http.MethodPost, "/channels/ops/test", "", http.StatusOK), `"arrived":true`)
	wants(do(http.MethodGet, "", "", http.StatusOK), `"state":"ok"`)

	lines := string(desk.Do(t, http.MethodGet, "/api/admin/audit", nil).Body)
	wants(lines, "alert_channel.add", "telegram -1001 ...Dsaw ru", "alert.change", "50 percent of 20 calls", "1 percent of 1 calls")
	wants(string(desk.Do(t, http.MethodGet, "/api/admin/state/channels", nil).Body), `"id":"ops"`, `"has_key":true`, `"way":"telegram"`)
	wants(string(desk.Do(t, http.MethodGet, "/api/admin/state/alerts", nil).Body), `"id":"provider"`, `"enabled":"false"`)
	do(http.MethodDelete, "/rules/provider", "", http.StatusOK)
	do(http.MethodDelete, "/channels/ops", "", http.StatusOK)
	wants(do(http.MethodGet, "", "", http.StatusOK), `"channels":[]`)
	for name, text := range map[string]string{"an answer": answers.String(), "the audit log": lines, "the log": gw.Log.String()} {
		if strings.Contains(text, botToken) || strings.Contains(text, "AAHdqTcv") {
			t.Errorf("the token is in %s: %s", name, fmt.Sprintf("%.3000s", text))
		}
	}
}
