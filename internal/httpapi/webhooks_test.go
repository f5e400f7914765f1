package httpapi_test

import (
	"context"
	"strings"
	"testing"

	"weir/internal/fault"
	"weir/internal/httpapi"
)

// secretsOf keeps one secret for each account.
type secretsOf map[string]string

func (s secretsOf) Secret(_ context.Context, account string) (string, error) {
	if s == nil {
		return "", fault.New(fault.Conflict, "test", "the master key file is /etc/weir/key")
	}
	if s[account] == "" {
		s[account] = "whsec_first"
	}
	return s[account], nil
}

func (s secretsOf) Rotate(_ context.Context, account string, by httpapi.Actor) (string, error) {
	if s == nil {
		return "", fault.New(fault.Conflict, "test", "the master key file is /etc/weir/key")
	}
	s[account] = "whsec_by_" + by.Name
	return s[account], nil
}

func TestWebhookSecret(t *testing.T) {
	t.Parallel()
	const path = "/api/account/webhook-secret"
	n := startWith(t, nil, nil, func(d *httpapi.Deps) { d.WebhookSecrets = secretsOf{} })
	manage := []string{"Authorization", "Bearer " + n.first.ManagementKey}
	if r := n.do("GET", path, "", manage...); r.StatusCode != 200 || string(r.body) != `{"data":{"secret":"whsec_first"}}` || r.Header.Get("Cache-Control") != "no-store" {
		t.Errorf("%d %s %v", r.StatusCode, r.body, r.Header)
	}
	if r := n.do("POST", path, "", manage...); r.StatusCode != 200 || !strings.HasPrefix(string(r.body), `{"data":{"secret":"whsec_by_key:`) {
		t.Errorf("%d %s", r.StatusCode, r.body)
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
		"no master key": func(d *httpapi.Deps) { d.WebhookSecrets = secretsOf(nil) },
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
