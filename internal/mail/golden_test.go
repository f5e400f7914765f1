package mail_test

import (
	"flag"
	"mime"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"weir/internal/auth"
	"weir/internal/mail"
	"weir/internal/money"
	"weir/internal/notify"
)

var update = flag.Bool("update", false, "write the golden files")

var noon = time.Date(2026, 12, 3, 12, 0, 0, 0, time.UTC)

const rub = money.Ruble

// notices has each kind of fact, and mails with several.
var notices = []struct {
	name  string
	facts []notify.Fact
}{
	{"money_gone", []notify.Fact{{Kind: notify.MoneyGone, Amount: -rub / 5 * 2, Days: 0}}},
	{"money_low_days", []notify.Fact{{Kind: notify.MoneyLow, Amount: 12*rub + rub/5*2, Days: 2}}},
	{"money_low", []notify.Fact{{Kind: notify.MoneyLow, Amount: 1234*rub + 567, Days: -1}}},
	{"money_low_today", []notify.Fact{{Kind: notify.MoneyLow, Amount: 4100, Days: 0}}},
	{"key_limit", []notify.Fact{{Kind: notify.KeyNear, Ref: "a1b2", Name: "prod", Amount: 500 * rub, Spent: 405 * rub, Percent: 81, Reset: "monthly"}}},
	{"key_limit_reached", []notify.Fact{{Kind: notify.KeyReached, Ref: "a1b2", Name: "prod", Amount: 500 * rub, Spent: 501 * rub, Percent: 100}}},
	{"key_limits", []notify.Fact{
		{Kind: notify.KeyReached, Ref: "a1b2", Name: "prod", Amount: 500 * rub, Spent: 501 * rub, Percent: 100, Reset: "daily"},
		{Kind: notify.KeyNear, Ref: "c3d4", Name: "<b>\"staging\"</b> & \u202eco\r\nBcc: eve@example.org", Amount: 1_000_000 * rub, Spent: 812_000 * rub, Percent: 81, Reset: "weekly"},
	}},
	{"budget_alarm", []notify.Fact{{Kind: notify.BudgetAlarm, Ref: "bud_1", Name: "project=atlas", Amount: 100_000 * rub, Spent: 80_214 * rub, Percent: 80, Reset: "monthly"}}},
	{"budget_reached", []notify.Fact{{Kind: notify.BudgetReached, Ref: "bud_1", Name: "ci-agents", Amount: 500 * rub, Spent: 499 * rub, Percent: 99}}},
	{"agent_out_of_money", []notify.Fact{{Kind: notify.AgentOut, Ref: "a1b2", Name: "release-bot / coder-2", Amount: 1200 * rub, Spent: 1198 * rub, Percent: 99, Days: 134, Reset: "read_file, edit_file, run_tests"}}},
	{"agent_out_of_money_at_last", []notify.Fact{{Kind: notify.AgentOut, Ref: "a1b2", Name: "planner", Amount: 5 * rub, Spent: 5 * rub, Percent: 100}}},
	{"key_expiring", []notify.Fact{{Kind: notify.KeyExpiring, Ref: "a1b2", Name: "prod", At: noon}}},
	{"key_expired", []notify.Fact{{Kind: notify.KeyExpired, Ref: "a1b2", Name: "", At: noon}}},
	{"model_retiring", []notify.Fact{{Kind: notify.ModelRetires, Ref: "acme/large", Name: "Acme Large", At: noon}}},
	{"model_gone", []notify.Fact{{Kind: notify.ModelGone, Ref: "acme/small", Name: "acme/small", At: noon}}},
	{"models", []notify.Fact{{Kind: notify.ModelRetires, Ref: "acme/large", Name: "Acme Large", At: noon}, {Kind: notify.ModelGone, Ref: "acme/small", Name: "acme/small", At: noon}}},
	{"payment_received", []notify.Fact{{Kind: notify.PaymentReceived, Ref: "pay_3dQh4uXc9Rk2mTzB1nV8pLwY", Amount: 1500 * rub, At: noon}}},
	{"payment_refunded", []notify.Fact{{Kind: notify.PaymentRefunded, Ref: "ref_3dQh4uXc9Rk2mTzB1nV8pLwY", Amount: 99*rub + rub/2, At: noon}}},
	{"top_up_failed", []notify.Fact{{Kind: notify.TopUpFailed, Ref: "pay_3dQh4uXc9Rk2mTzB1nV8pLwY", Amount: 500 * rub, At: noon}}},
	{"unusual_spending", []notify.Fact{{Kind: notify.UnusualSpending, Amount: 1250 * rub, Usual: 80 * rub, At: noon}}},
	{"unusual_spending_grown", []notify.Fact{{Kind: notify.UnusualSpending, Amount: 1250 * rub, Usual: 80 * rub, At: noon, Grown: []notify.Growth{
		{By: notify.ByTag, Name: "project=atlas", Spent: 1100*rub + 12*rub/10, Usual: 40 * rub}, {By: notify.BySession, Name: "s-77", Spent: 900 * rub}, {By: notify.ByKey, Ref: "h", Name: "Ночная сборка", Spent: 1000 * rub, Usual: rub / 2},
	}}}},
	{"unusual_spending_of_a_tag", []notify.Fact{{Kind: notify.UnusualSpending, Ref: "project=атлас & co", Name: "project=атлас & co", Amount: 1250 * rub, Usual: 80 * rub, At: noon, Grown: []notify.Growth{{By: notify.ByKey, Ref: "h", Name: "ci <b>", Spent: 1250 * rub, Usual: 80 * rub}}}}},
	{"cache_rate_fell", []notify.Fact{{Kind: notify.CacheRateFell, Percent: 12, At: noon}}},
	{"test", nil},
}

// Each mail in each language and form is as in its file. `go test ./internal/mail -update` writes them.
func TestGolden(t *testing.T) {
	t.Parallel()
	s := serve(t)
	m, _ := s.sender(nil)
	known := map[string]bool{}
	check := func(name, locale string) {
		head, text, html := read(t, got(t, s.received))
		subject, err := new(mime.WordDecoder).DecodeHeader(head.Get("Subject"))
		if err != nil || strings.ContainsAny(subject, "\r\n\u202e") || head.Get("Bcc") != "" {
			t.Errorf("%s %s: subject %q, %v", name, locale, subject, err)
		}
		for form, body := range map[string]string{"txt": "Subject: " + subject + "\n\n" + text, "html": html} {
			body = strings.ReplaceAll(body, "\r\n", "\n")
			file := name + "." + locale + "." + form
			known[file] = true
			path := filepath.Join("testdata", file)
			if *update {
				if err := os.WriteFile(path, []byte(body), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			if want, err := os.ReadFile(path); err != nil || string(want) != body {
				t.Errorf("%s is not what was sent (%v):\n%s", path, err, body)
			}
		}
		if strings.Contains(html, "<img") || strings.Contains(html, "<script") || strings.Contains(html, "url(") || strings.Contains(html, "<b>") {
			t.Errorf("%s: %s", name, html)
		}
	}
	for _, locale := range []string{"en", "ru"} {
		for _, kind := range kinds {
			link := ""
			if linkedKind(kind) {
				link = "/reset#3dQh4uXc9Rk2mTzB1nV8pLwY3dQh4uXc9Rk2mTzB1nV"
			}
			if !m.Send(auth.Mail{To: "anna@example.org", Kind: kind, Link: link, Locale: locale}) {
				t.Fatal("there was no room")
			}
			check("sign-in_"+string(kind), locale)
		}
		for _, n := range notices {
			x := &notify.Mail{ID: "ntf-1", To: "anna@example.org", Locale: locale, Facts: n.facts}
			if len(n.facts) > 0 {
				x.Cause, x.Unsubscribe = n.facts[0].Kind.Cause(), "tok"
			}
			if err := m.Deliver(t.Context(), x); err != nil {
				t.Fatal(err)
			}
			check(n.name, locale)
		}
	}
	files, err := os.ReadDir("testdata")
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range files {
		if !known[f.Name()] {
			t.Errorf("testdata/%s belongs to no mail", f.Name())
		}
	}
}

// A mail of a cause can be stopped with one click, and one that is tried again has the same id.
func TestNoticeHeaders(t *testing.T) {
	t.Parallel()
	s := serve(t)
	m, _ := s.sender(nil)
	x := &notify.Mail{ID: "ntf-7", To: "anna@example.org", Cause: notify.LowBalance, Facts: notices[1].facts, Unsubscribe: "abc.def"}
	for range 2 {
		if err := m.Deliver(t.Context(), x); err != nil {
			t.Fatal(err)
		}
		head, text, _ := read(t, got(t, s.received))
		for name, want := range map[string]string{
			"List-Unsubscribe": "<https://weir.example.org/api/unsubscribe/abc.def>", "List-Unsubscribe-Post": "List-Unsubscribe=One-Click", "Message-Id": "<ntf-7@weir.example.org>",
			"Auto-Submitted": "auto-generated",
		} {
			if head.Get(name) != want {
				t.Errorf("%s: %q, want %q", name, head.Get(name), want)
			}
		}
		if !strings.Contains(text, "https://weir.example.org/unsubscribe#abc.def") || !strings.Contains(text, "https://weir.example.org/settings/notifications") {
			t.Errorf("%s", text)
		}
	}
	var _ auth.Mailer = (*mail.Sender)(nil)
}
