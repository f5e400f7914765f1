package webhook_test

import (
	"bytes"
	"sync"
	"testing"
	"time"

	"weir/internal/audit"
	"weir/internal/fault"
	"weir/internal/webhook"
)

func fixed() time.Time { return at }

func secretOf(t *testing.T, s *webhook.Secrets, account string) string {
	t.Helper()
	secret, err := s.Secret(t.Context(), account)
	if err != nil {
		t.Fatal(err)
	}
	return secret
}

func TestSecretOfAnAccount(t *testing.T) {
	t.Parallel()
	s, v := newSecrets("a", fixed)
	var wg sync.WaitGroup
	all := make([]string, 8)
	for i := range all {
		wg.Go(func() { all[i], _ = s.Secret(t.Context(), "usr_1") })
	}
	wg.Wait()
	for _, secret := range all {
		if secret != all[0] || secret == "" {
			t.Fatalf("several secrets for one account: %q", all)
		}
	}
	if secretOf(t, s, "usr_2") == all[0] {
		t.Error("two accounts have the same secret")
	}
	if bytes.Contains(v.rows["usr_1"].Current, []byte(all[0])) {
		t.Error("the secret is kept as it is")
	}
	v.rows["usr_2"] = webhook.Sealed{Account: "usr_2", Current: v.rows["usr_1"].Current}
	if _, err := s.Secret(t.Context(), "usr_2"); err == nil {
		t.Error("the secret of one account opens for another")
	}
}

func TestRotate(t *testing.T) {
	t.Parallel()
	s, v := newSecrets("a", fixed)
	first := secretOf(t, s, "usr_1")
	second, err := s.Rotate(t.Context(), "usr_1", audit.Actor{Name: "key:key_1"})
	if err != nil || second == first || secretOf(t, s, "usr_1") != second {
		t.Fatalf("%q then %q: %v", first, second, err)
	}
	if len(v.events) != 1 || v.events[0].Action != audit.SecretRotated || v.events[0].Target != "usr_1" || v.events[0].Name != "key:key_1" {
		t.Errorf("%+v", v.events)
	}
	if until := v.rows["usr_1"].PreviousUntil; !until.Equal(at.Add(24 * time.Hour)) {
		t.Errorf("the one before signs until %s", until)
	}
}

// What may be known of a secret is its end and its age, and asking makes none.
func TestAbout(t *testing.T) {
	t.Parallel()
	now := at
	s, v := newSecrets("a", func() time.Time { return now })
	if _, err := s.About(t.Context(), "usr_1"); !fault.Is(err, fault.NotFound) || len(v.rows) != 0 {
		t.Fatalf("%v, %d secrets", err, len(v.rows))
	}
	first, err := s.Rotate(t.Context(), "usr_1", audit.Actor{})
	if err != nil {
		t.Fatal(err)
	}
	want := webhook.About{Last4: first[len(first)-4:], ChangedAt: at}
	if a, err := s.About(t.Context(), "usr_1"); err != nil || a != want {
		t.Errorf("%+v, %v; want %+v", a, err, want)
	}
	now = at.Add(time.Hour)
	second, err := s.Rotate(t.Context(), "usr_1", audit.Actor{})
	if err != nil {
		t.Fatal(err)
	}
	want = webhook.About{Last4: second[len(second)-4:], ChangedAt: now, PreviousUntil: now.Add(24 * time.Hour)}
	if a, err := s.About(t.Context(), "usr_1"); err != nil || a != want {
		t.Errorf("%+v, %v; want %+v", a, err, want)
	}
	now = now.Add(48 * time.Hour)
	want.PreviousUntil = time.Time{}
	if a, err := s.About(t.Context(), "usr_1"); err != nil || a != want {
		t.Errorf("%+v, %v; want %+v", a, err, want)
	}
}

func TestWithoutMasterKey(t *testing.T) {
	t.Parallel()
	s, _ := newSecrets("", fixed)
	if s.Ready() {
		t.Error("ready without a key")
	}
	if _, err := s.Secret(t.Context(), "usr_1"); !fault.Is(err, fault.Conflict) {
		t.Error(err)
	}
	if _, err := s.About(t.Context(), "usr_1"); !fault.Is(err, fault.Conflict) {
		t.Error(err)
	}
	if _, err := s.Rotate(t.Context(), "usr_1", audit.Actor{}); !fault.Is(err, fault.Conflict) {
		t.Error(err)
	}
}

func TestRewrap(t *testing.T) {
	t.Parallel()
	s, v := newSecrets("a", fixed)
	one := secretOf(t, s, "usr_1")
	if _, err := s.Rotate(t.Context(), "usr_2", audit.Actor{}); err != nil {
		t.Fatal(err)
	}
	two, err := s.Rotate(t.Context(), "usr_2", audit.Actor{})
	if err != nil {
		t.Fatal(err)
	}
	both := under(v, "ba", fixed)
	for _, want := range []int{2, 0} {
		if n, err := both.Rewrap(t.Context()); n != want || err != nil {
			t.Errorf("%d wrapped anew, %v; want %d", n, err, want)
		}
	}
	alone := under(v, "b", fixed)
	if secretOf(t, alone, "usr_1") != one || secretOf(t, alone, "usr_2") != two {
		t.Error("the secrets are others")
	}
	if _, err := under(v, "c", fixed).Rewrap(t.Context()); !fault.Is(err, fault.Conflict) {
		t.Errorf("with a key that sealed nothing: %v", err)
	}
	late := under(v, "c", func() time.Time { return at.Add(48 * time.Hour) })
	if _, err := late.Secret(t.Context(), "usr_2"); !fault.Is(err, fault.Conflict) {
		t.Errorf("%v", err)
	}
}
