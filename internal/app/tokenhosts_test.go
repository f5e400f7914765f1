package app

import (
	"errors"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"weir/internal/catalog"
	"weir/internal/config"
	"weir/internal/dialect/auth"
	"weir/internal/fault"
	"weir/internal/redact"
)

// TestTokenHostsAreNamed has the hosts of tokens fail as they do: another name, another authority and other words than those of the calls.
func TestTokenHostsAreNamed(t *testing.T) {
	t.Parallel()
	scope := http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(http.StatusBadRequest)
		_, _ = w.Write([]byte(`{"code":7,"message":"scope from db not fully includes consumed scope"}`))
	})
	plain, encrypted := httptest.NewServer(scope), httptest.NewTLSServer(scope)
	page := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte("<html>log in</html>")) }))
	closed := httptest.NewServer(scope)
	closed.Close()
	encrypted.Config.ErrorLog = log.New(io.Discard, "", 0)
	for _, s := range []*httptest.Server{plain, encrypted, page} {
		t.Cleanup(s.Close)
	}
	cfg := config.Default()
	const key = "c2VjcmV0OnNlY3JldA=="
	for _, c := range []struct{ name, address, wrong, detail, advice string }{
		{"wrong scope", plain.URL, wrongKey, "gives no token, status 400: scope from db not fully includes consumed scope", "quirk auth_scope: GIGACHAT_API_PERS"},
		{"unknown authority", encrypted.URL, wrongAddress, "no token from", "ca_file"},
		{"nobody there", closed.URL, wrongAddress, "refused", "quirk auth_url"},
		{"a page", page.URL, wrongAddress, "is not JSON", "quirk auth_url"},
	} {
		snap, err := catalog.Build(catalog.Declared{
			Providers: []catalog.Provider{{ID: "giga", Dialect: "gigachat", BaseURL: plain.URL, Key: key, Quirks: catalog.Quirks{AuthURL: c.address}}},
			Offers:    []catalog.Offer{{Provider: "giga", Model: "sber/giga", Pricing: freePrices()}},
		})
		if err != nil {
			t.Fatal(err)
		}
		tested := tester{cfg: cfg, redactor: redact.New(key), dialer: dialerOf(&cfg)}
		got := tested.call(t.Context(), snap.Models()[0].Endpoints[0])
		if got.Wrong != c.wrong || !strings.Contains(got.Detail, c.detail) || !strings.Contains(strings.Join(got.Advice, " "), c.advice) || strings.Contains(got.Detail, key) {
			t.Errorf("%s: %s: %s; %q", c.name, got.Wrong, got.Detail, got.Advice)
		}
	}
}

func freePrices() catalog.Pricing {
	var p catalog.Pricing
	p.Base.Prompt.Set, p.Base.Completion.Set = true, true
	p.List = "test"
	return p
}

// TestAnyTokenHost judges what every exchange of credentials may fail with, whatever the provider.
func TestAnyTokenHost(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		dialect       string
		cause         error
		wrong, advice string
	}{
		{"gigachat", &auth.HostError{Host: "ngw.devices.sberbank.ru:9443", Cause: &net.DNSError{Err: "no such host", Name: "ngw.devices.sberbank.ru", IsNotFound: true}}, wrongAddress, "is not resolved: check DNS"},
		{"openai", &auth.HostError{Host: "iam.api.cloud.yandex.net", Cause: &net.DNSError{Err: "no such host"}}, wrongAddress, "iam.api.cloud.yandex.net, which gives tokens, is not resolved"},
		{"gemini", &auth.HostError{Host: "oauth2.googleapis.com", Cause: errors.New("connection reset")}, wrongAddress, "Calls need a token from oauth2.googleapis.com first"},
		{"openai", &auth.RefusedError{Host: "login.microsoftonline.com", Status: 401, Reason: "invalid_client"}, wrongKey, "Check its api_key"},
		{"openai", &auth.RefusedError{Host: "iam.api.cloud.yandex.net", Status: 503}, wrongProvider, "Try again later"},
	} {
		ep := &catalog.Endpoint{Provider: &catalog.Provider{ID: "p", Dialect: c.dialect, Key: "k"}, Model: &catalog.Model{}}
		var got Trial
		got.judge(ep, fault.New(fault.ProviderUnavailable, "test", "The provider did not accept the gateway's request.").Because(c.cause))
		if got.Wrong != c.wrong || !strings.Contains(strings.Join(got.Advice, " "), c.advice) {
			t.Errorf("%v: %s: %s; %q", c.cause, got.Wrong, got.Detail, got.Advice)
		}
	}
}
