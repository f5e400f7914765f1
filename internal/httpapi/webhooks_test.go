package httpapi_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"weir/internal/accountapi"
	"weir/internal/fault"
	"weir/internal/httpapi"
	"weir/internal/webhook"
)

// secretsOf keeps one secret for each account.
type secretsOf map[string]string

func (s secretsOf) About(_ context.Context, account string) (webhook.About, error) {
	switch text := s[account]; {
	case s == nil:
		return webhook.About{}, fault.New(fault.Conflict, "test", "the master key file is /etc/weir/key")
	case text == "":
		return webhook.About{}, fault.New(fault.NotFound, "test", "none")
	default:
		return webhook.About{Last4: text[len(text)-4:], ChangedAt: time.Unix(1000, 0)}, nil
	}
}

func (s secretsOf) Rotate(_ context.Context, account string, by httpapi.Actor) (string, error) {
	if s == nil {
		return "", fault.New(fault.Conflict, "test", "the master key file is /etc/weir/key")
	}
	s[account] = "whsec_by_" + by.Name
	return s[account], nil
}

func signedWith(s accountapi.WebhookSecrets) func(*httpapi.Deps) {
	return func(d *httpapi.Deps) {
		d.Operations = accountapi.Operations(accountapi.Deps{WebhookSecrets: s})
	}
}

func TestWebhookSecret(t *testing.T) {
	t.Parallel()
	const path = "/api/account/webhook-secret"
	n := startWith(t, nil, nil, signedWith(secretsOf{}))
	manage := []string{"Authorization", "Bearer " + n.first.ManagementKey}
	for range 2 { // to ask makes none
		if r := n.do("GET", path, "", manage...); r.StatusCode != 200 || string(r.body) != `{"data":null}` {
			t.Errorf("before there is one: %d %s", r.StatusCode, r.body)
		}
	}
	made := n.do("POST", path, "", manage...)
	if made.StatusCode != 200 || !strings.HasPrefix(string(made.body), `{"data":{"secret":"whsec_by_key:`) || made.Header.Get("Cache-Control") != "no-store" {
		t.Errorf("%d %s %v", made.StatusCode, made.body, made.Header)
	}
	secret := at(made.json(t), "data", "secret").(string)
	for range 2 {
		r := n.do("GET", path, "", manage...)
		want := `{"data":{"last4":"` + secret[len(secret)-4:] + `","changed_at":"1970-01-01T00:16:40Z","previous_until":null}}`
		if r.StatusCode != 200 || strings.Contains(string(r.body), "whsec_") || string(r.body) != want {
			t.Errorf("afterwards: %d %s, want %s", r.StatusCode, r.body, want)
		}
	}
	for _, method := range []string{"GET", "POST"} {
		if r := n.do(method, path, "", "Authorization", ""); r.StatusCode != 401 {
			t.Errorf("%s without a key: %d %s", method, r.StatusCode, r.body)
		}
		if r := n.do(method, path, ""); r.StatusCode != 403 || strings.Contains(string(r.body), "whsec_") {
			t.Errorf("%s with a key for requests: %d %s", method, r.StatusCode, r.body)
		}
	}
	if logs := n.logged(); strings.Contains(logs, "whsec_") {
		t.Errorf("a secret is in the log:\n%s", logs)
	}
	for name, edit := range map[string]func(*httpapi.Deps){
		"no master key": signedWith(secretsOf(nil)),
		"no callbacks":  nil,
	} {
		n := startWith(t, nil, nil, edit)
		for _, method := range []string{"GET", "POST"} {
			r := n.do(method, path, "", "Authorization", "Bearer "+n.first.ManagementKey)
			if r.StatusCode != 409 || strings.Contains(string(r.body), "/etc") {
				t.Errorf("%s, %s: %d %s", name, method, r.StatusCode, r.body)
			}
		}
	}
}
