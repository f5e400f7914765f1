package storetest

import (
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"weir/internal/audit"
	"weir/internal/fault"
	"weir/internal/store"
	"weir/internal/webhook"
)

// Webhooks checks what a store does for events that go to accounts. open gives an empty store, and closes it after the test.
func Webhooks(t *testing.T, open Open) {
	cases := map[string]func(*testing.T, *store.Store){
		"an event comes back as stored":      deliveryRoundTrip,
		"an event that is put in twice":      deliveryTwice,
		"the longest due first":              deliveryOrder,
		"a claim is exclusive until it ends": deliveryClaim,
		"an outcome of an earlier claim":     deliveryFence,
		"tried again when it is due":         deliveryAgain,
		"one account leaves room":            deliveryShare,
		"many claim at once":                 deliveryRace,
		"a sweep":                            deliverySweep,
		"a secret":                           webhookSecret,
		"a secret that is wrapped again":     webhookRewrap,
		"operators see those of all":         deliveriesOfAll,
	}
	for name, check := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			check(t, open(t, nil))
		})
	}
}

func delivery(id, account string, due time.Time) webhook.Delivery {
	d := webhook.NewDelivery(id, account, "https://example.com/hook?k=1", "video.generation.completed", []byte(`{"id":"`+id+`"}`), at)
	d.NextAt = due
	return d
}

func addDelivery(t *testing.T, s *store.Store, all ...webhook.Delivery) {
	t.Helper()
	for _, d := range all {
		if err := s.Notices.AddDelivery(t.Context(), d); err != nil {
			t.Fatal(err)
		}
	}
}

// claim claims due events for a minute.
func claim(t *testing.T, s *store.Store, now time.Time, n int) []webhook.Delivery {
	t.Helper()
	all, err := s.Notices.ClaimDeliveries(t.Context(), now, now.Add(time.Minute), 2, n)
	if err != nil {
		t.Fatal(err)
	}
	return all
}

func wantClaimed(t *testing.T, got []webhook.Delivery, want ...string) {
	t.Helper()
	ids := []string{}
	for i := range got {
		ids = append(ids, got[i].ID)
	}
	if d := cmp.Diff(append([]string{}, want...), ids); d != "" {
		t.Errorf("claimed (-want +got):\n%s", d)
	}
}

func deliveryRoundTrip(t *testing.T, s *store.Store) {
	d := delivery("vj_1-completed", "usr_1", at)
	addDelivery(t, s, d)
	got := claim(t, s, at, 10)
	d.Attempts, d.Fence = 1, 1
	if diff := cmp.Diff([]webhook.Delivery{d}, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func deliveryTwice(t *testing.T, s *store.Store) {
	addDelivery(t, s, delivery("a", "usr_1", at), delivery("a", "usr_1", at.Add(time.Hour)))
	got := claim(t, s, at, 10)
	wantClaimed(t, got, "a")
	wantEnded(t, s, got[0], webhook.Outcome{State: webhook.Delivered, At: at, Status: 200}, true)
	addDelivery(t, s, delivery("a", "usr_1", at))
	wantClaimed(t, claim(t, s, at.Add(2*time.Hour), 10))
}

func deliveryOrder(t *testing.T, s *store.Store) {
	addDelivery(t, s, delivery("late", "usr_1", at.Add(-time.Second)), delivery("later", "usr_2", at), delivery("first", "usr_3", at.Add(-time.Hour)),
		delivery("not yet", "usr_4", at.Add(time.Microsecond)))
	wantClaimed(t, claim(t, s, at, 2), "first", "late")
	wantClaimed(t, claim(t, s, at, 2), "later")
}

func deliveryClaim(t *testing.T, s *store.Store) {
	addDelivery(t, s, delivery("a", "usr_1", at))
	wantClaimed(t, claim(t, s, at, 10), "a")
	wantClaimed(t, claim(t, s, at.Add(time.Minute-time.Microsecond), 10))
	again := claim(t, s, at.Add(time.Minute), 10)
	wantClaimed(t, again, "a")
	if again[0].Attempts != 2 || again[0].Fence != 2 {
		t.Errorf("%+v: an unreported attempt counts", again[0])
	}
}

func wantEnded(t *testing.T, s *store.Store, d webhook.Delivery, o webhook.Outcome, want bool) {
	t.Helper()
	if done, err := s.Notices.EndDelivery(t.Context(), d.ID, d.Fence, o); done != want || err != nil {
		t.Errorf("end %s with fence %d: %t %v, want %t", d.ID, d.Fence, done, err, want)
	}
}

func deliveryFence(t *testing.T, s *store.Store) {
	addDelivery(t, s, delivery("a", "usr_1", at))
	first := claim(t, s, at, 1)[0]
	second := claim(t, s, at.Add(time.Minute), 1)[0]
	done := webhook.Outcome{State: webhook.Delivered, At: at, Status: 204}
	wantEnded(t, s, first, webhook.Outcome{State: webhook.Failed, At: at, Error: "x"}, false)
	wantEnded(t, s, second, done, true)
	wantEnded(t, s, second, webhook.Outcome{State: webhook.Pending, NextAt: at, At: at}, false) // what ended stays so
	wantEnded(t, s, delivery("unknown", "usr_1", at), done, false)
}

func deliveryAgain(t *testing.T, s *store.Store) {
	addDelivery(t, s, delivery("a", "usr_1", at))
	wantEnded(t, s, claim(t, s, at, 1)[0], webhook.Outcome{State: webhook.Pending, NextAt: at.Add(5 * time.Second), At: at, Status: 500, Error: "status 500"}, true)
	wantClaimed(t, claim(t, s, at.Add(4*time.Second), 1))
	again := claim(t, s, at.Add(5*time.Second), 1)
	wantClaimed(t, again, "a")
	if again[0].Attempts != 2 {
		t.Errorf("%+v", again[0])
	}
}

func deliveryShare(t *testing.T, s *store.Store) {
	for i := range 5 {
		addDelivery(t, s, delivery(fmt.Sprint("a", i), "usr_1", at.Add(-time.Hour).Add(time.Duration(i))))
	}
	addDelivery(t, s, delivery("b", "usr_2", at))
	got := claim(t, s, at, 10)
	wantClaimed(t, got, "a0", "a1", "b")
	wantClaimed(t, claim(t, s, at, 10))
	wantEnded(t, s, got[0], webhook.Outcome{State: webhook.Delivered, At: at, Status: 200}, true)
	wantClaimed(t, claim(t, s, at, 10), "a2")
}

func deliveryRace(t *testing.T, s *store.Store) {
	const events, takers = 40, 8
	for i := range events {
		addDelivery(t, s, delivery(fmt.Sprint("d", i), fmt.Sprint("usr_", i), at))
	}
	var all sync.Map
	var wg sync.WaitGroup
	for range takers {
		wg.Go(func() {
			for {
				got, err := s.Notices.ClaimDeliveries(t.Context(), at, at.Add(time.Minute), 2, 3)
				if err != nil {
					t.Error(err)
				}
				for i := range got {
					if _, twice := all.LoadOrStore(got[i].ID, true); twice {
						t.Errorf("%s was claimed twice", got[i].ID)
					}
				}
				if len(got) == 0 {
					return
				}
			}
		})
	}
	wg.Wait()
	wantClaimed(t, claim(t, s, at, 1)) // a taker may have found nothing because others held what it saw; none is left over for long
	n := 0
	all.Range(func(any, any) bool { n++; return true })
	if n != events {
		t.Errorf("%d of %d were claimed", n, events)
	}
}

func deliverySweep(t *testing.T, s *store.Store) {
	addDelivery(t, s, delivery("a", "usr_1", at), delivery("b", "usr_2", at), delivery("c", "usr_3", at), delivery("d", "usr_4", at))
	for i, d := range claim(t, s, at, 4) {
		o := webhook.Outcome{State: webhook.Delivered, At: at.Add(time.Duration(i) * time.Hour), Status: 200}
		if i == 3 {
			o = webhook.Outcome{State: webhook.Pending, NextAt: at.Add(9 * time.Hour), At: at}
		}
		wantEnded(t, s, d, o, true)
	}
	for _, want := range []int{1, 1, 0} {
		if n, err := s.Notices.SweepDeliveries(t.Context(), at.Add(2*time.Hour), 1); n != want || err != nil {
			t.Errorf("swept %d %v, want %d", n, err, want)
		}
	}
	if n, err := s.Notices.SweepDeliveries(t.Context(), at.Add(99*time.Hour), 10); n != 1 || err != nil {
		t.Errorf("swept %d %v, want the last that ended, and not the one that waits", n, err)
	}
}

func webhookSecret(t *testing.T, s *store.Store) {
	if _, err := s.Notices.WebhookSecret(t.Context(), "usr_1"); !fault.Is(err, fault.NotFound) {
		t.Errorf("%v, want not found", err)
	}
	for _, secret := range []string{"one", "two"} {
		if err := s.Notices.InsertWebhookSecret(t.Context(), "usr_1", []byte(secret), at); err != nil {
			t.Fatal(err)
		}
	}
	want := webhook.Sealed{Account: "usr_1", Current: []byte("one"), PreviousUntil: time.UnixMicro(0).UTC(), ChangedAt: at.UTC()}
	wantSecret(t, s, want)
	event := audit.Event{Actor: audit.Actor{Name: "operator"}, Action: audit.SecretRotated, Target: "usr_1"}
	if err := s.Notices.RotateWebhookSecret(t.Context(), "usr_1", []byte("three"), at.Add(time.Hour), at.Add(time.Minute), event); err != nil {
		t.Fatal(err)
	}
	wantSecret(t, s, webhook.Sealed{Account: "usr_1", Current: []byte("three"), Previous: []byte("one"), PreviousUntil: at.Add(time.Hour), ChangedAt: at.Add(time.Minute).UTC()})
	if err := s.Notices.RotateWebhookSecret(t.Context(), "usr_2", []byte("first"), at.Add(time.Hour), at, event); err != nil {
		t.Fatal(err)
	}
	wantSecret(t, s, webhook.Sealed{Account: "usr_2", Current: []byte("first"), PreviousUntil: time.UnixMicro(0).UTC(), ChangedAt: at.UTC()})
}

func wantSecret(t *testing.T, s *store.Store, want webhook.Sealed) {
	t.Helper()
	got, err := s.Notices.WebhookSecret(t.Context(), want.Account)
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
}

func webhookRewrap(t *testing.T, s *store.Store) {
	if err := s.Notices.InsertWebhookSecret(t.Context(), "usr_1", []byte("one"), at); err != nil {
		t.Fatal(err)
	}
	all, err := s.Notices.WebhookSecrets(t.Context())
	if err != nil || len(all) != 1 {
		t.Fatal(all, err)
	}
	to := all[0]
	to.Current = []byte("one, wrapped")
	for _, want := range []bool{true, false} {
		if done, err := s.Notices.RewrapWebhookSecret(t.Context(), all[0], to); done != want || err != nil {
			t.Errorf("%t %v, want %t", done, err, want)
		}
	}
	wantSecret(t, s, to)
}
