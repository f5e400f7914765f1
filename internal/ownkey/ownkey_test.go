package ownkey_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"weir/internal/fault"
	"weir/internal/ownkey"
)

var at = time.Date(2026, 11, 26, 12, 0, 0, 0, time.UTC)

// What an error shows about a key: nothing when the request or the client was at fault.
func TestFailureOf(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		kind   fault.Kind
		status int
		code   string
		about  bool
	}{
		{fault.ProviderUnavailable, 401, ownkey.Refused, true}, {fault.ProviderUnavailable, 403, ownkey.Refused, true}, {fault.ContentPolicy, 403, "", false},
		{fault.ProviderUnavailable, 402, ownkey.NoCredit, true}, {fault.RateLimited, 429, ownkey.RateLimited, true}, {fault.ProviderUnavailable, 404, ownkey.NoModel, false},
		{fault.ProviderUnavailable, 500, ownkey.Unavailable, false}, {fault.ProviderOverloaded, 529, ownkey.Unavailable, false}, {fault.Timeout, 0, ownkey.Unavailable, false},
		{fault.Invalid, 400, "", false}, {fault.ContextLength, 413, "", false}, {fault.Invalid, 422, "", false}, {fault.ProviderUnavailable, 200, ownkey.Unavailable, false},
	} {
		f := ownkey.FailureOf(&fault.Error{Kind: c.kind, Upstream: &fault.Upstream{Status: c.status}}, at)
		if f.Code != c.code || f.AboutKey() != c.about {
			t.Errorf("%v with %d: %+v", c.kind, c.status, f)
		}
		if said := f.Sentence("Acme"); (c.code == "") != (said == "") || said != "" && !strings.Contains(said, "Acme") {
			t.Errorf("%s: %q", c.code, said)
		}
	}
	if f := ownkey.FailureOf(fault.New(fault.Canceled, "x", "gone"), at); f != (ownkey.Failure{}) {
		t.Errorf("a client that left: %+v", f)
	}
	if f := ownkey.FailureOf(nil, at); f != (ownkey.Failure{}) {
		t.Errorf("an answer: %+v", f)
	}
}

func FuzzCheckSecret(f *testing.F) {
	for _, s := range []string{"", "sk-abcdefgh", "{\"type\":\"service_account\"}", "AKIA:secret:token", "tab\tinside", "ключ-ключ", "a b c d e f", strings.Repeat("x", 3000), "line\nfeed-here", "nul\x00byte-here"} {
		f.Add(s)
	}
	var said []string // the errors, which are the same for any key, so that none shows a part of it
	for _, s := range []string{"{}", "", "with a space"} {
		said = append(said, ownkey.CheckSecret(s).Error())
	}
	f.Fuzz(func(t *testing.T, s string) {
		err := ownkey.CheckSecret(s)
		plain := len(s) >= 8 && len(s) <= 2048 && s[0] != '{'
		for i := range len(s) {
			plain = plain && s[i] > ' ' && s[i] < 0x7f
		}
		if plain != (err == nil) {
			t.Errorf("%q: %v", s, err)
		}
		if err != nil && (!fault.Is(err, fault.Invalid) || !slices.Contains(said, err.Error())) {
			t.Errorf("%q: the error says something of the key, or is of another kind: %v", s, err)
		}
	})
}
