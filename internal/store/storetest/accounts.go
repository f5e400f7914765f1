package storetest

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"weir/internal/account"
	"weir/internal/apikey"
	"weir/internal/audit"
	"weir/internal/fault"
	"weir/internal/ledger"
	"weir/internal/record"
	"weir/internal/store"
	"weir/internal/store/accountdb"
)

// Accounts checks users, keys and the audit chain of a store. open gives an empty store, and closes it after the test.
func Accounts(t *testing.T, open Open) {
	cases := map[string]func(*testing.T, *store.Store){
		"users":                       users,
		"an unknown user is NotFound": unknownUser,
		"keys come back as stored":    keysRoundTrip,
		"changing a key":              changeKey,
		"deleting a key":              deleteKey,
		"other users' keys":           foreignKeys,
		"lists and pages":             listKeys,
		"no more keys than allowed":   maxKeys,
		"racing for the last key":     raceKeys,
		"deleted keys do not pile up": deletedKeys,
		"no two keys look alike":      unlikeKeys,
		"bootstrap only once":         bootstrapOnce,
		"bootstrap in a race":         bootstrapRace,
		"text that databases dislike": awkwardText,
		"audit chain":                 auditChain,
		"audit rows are found":        auditFound,
	}
	for name, check := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			check(t, open(t, nil))
		})
	}
}

var (
	at    = time.Date(2026, 3, 1, 12, 0, 0, 123456000, time.UTC)
	actor = audit.Actor{Name: "operator", From: "192.0.2.1"}
)

func event(action string) audit.Event { return audit.Event{Actor: actor, Action: action, Target: "x"} }

func mustUser(t *testing.T, s *store.Store) account.User {
	t.Helper()
	u := account.User{ID: apikey.NewID("usr_"), Name: "Anna", Wallet: apikey.NewID("wal_"), Role: apikey.Operator, CreatedAt: at}
	if err := s.Accounts.CreateUser(t.Context(), u, event(audit.UserCreated)); err != nil {
		t.Fatalf("CreateUser: %v", err)
	}
	return u
}

func mustKey(t *testing.T, s *store.Store, user string, edit func(*apikey.NewKey)) apikey.Key {
	t.Helper()
	n := apikey.NewKey{Name: "one", User: user, Creator: user}
	if edit != nil {
		edit(&n)
	}
	k, _ := apikey.Make(n, at)
	if err := s.Accounts.InsertKey(t.Context(), k, 1000, event(audit.KeyCreated)); err != nil {
		t.Fatalf("InsertKey: %v", err)
	}
	return k
}

func wantKind(t *testing.T, err error, kind fault.Kind) {
	t.Helper()
	if !fault.Is(err, kind) {
		t.Fatalf("error is %v; want kind %s", err, kind)
	}
}

func equal[T any](t *testing.T, what string, got, want T) {
	t.Helper()
	if diff := cmp.Diff(want, got); diff != "" {
		t.Fatalf("%s differs (-want +got):\n%s", what, diff)
	}
}

func users(t *testing.T, s *store.Store) {
	all, err := s.Accounts.ListUsers(t.Context())
	if err != nil || all == nil || len(all) != 0 {
		t.Fatalf("an empty store lists %v, %v; want an empty list", all, err)
	}
	u := mustUser(t, s)
	got, err := s.Accounts.UserByID(t.Context(), u.ID)
	if err != nil {
		t.Fatal(err)
	}
	equal(t, "user", got, u)

	if err := s.Accounts.SetUserDisabled(t.Context(), u.ID, true, at, event(audit.UserDisabled)); err != nil {
		t.Fatal(err)
	}
	u.Disabled = true
	if err := s.Accounts.SetUserRole(t.Context(), u.ID, apikey.Administrator, at, event(audit.UserRole)); err != nil {
		t.Fatal(err)
	}
	u.Role = apikey.Administrator
	for was, want := range map[string]bool{"{}": false, u.Preferences: true} {
		if done, err := s.Accounts.SetUserPreferences(t.Context(), u.ID, was, `{"only":["ä"]}`, at, event(audit.UserPreferences)); err != nil || done != want {
			t.Fatalf("preferences that were %q: %t, %v", was, done, err)
		}
	}
	if done, err := s.Accounts.SetUserPreferences(t.Context(), "usr_none", "", `{}`, at, event(audit.UserPreferences)); err != nil || done {
		t.Fatalf("preferences of nobody: %t, %v", done, err)
	}
	u.Preferences = `{"only":["ä"]}`
	all, err = s.Accounts.ListUsers(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	equal(t, "users", all, []account.User{u})

	k := mustKey(t, s, u.ID, nil)
	found, err := s.Accounts.KeyByHash(t.Context(), k.Hash)
	if err != nil || !found.UserDisabled || found.Role != u.Role || found.AccountPreferences != u.Preferences || found.Preferences != "" {
		t.Fatalf("key of a disabled user: %+v, %v; want UserDisabled", found, err)
	}
	if s.Accounts.CreateUser(t.Context(), u, event(audit.UserCreated)) == nil {
		t.Fatal("a user was created twice")
	}
}

func unknownUser(t *testing.T, s *store.Store) {
	_, err := s.Accounts.UserByID(t.Context(), "usr_none")
	wantKind(t, err, fault.NotFound)
	wantKind(t, s.Accounts.SetUserDisabled(t.Context(), "usr_none", true, at, event(audit.UserDisabled)), fault.NotFound)
	wantKind(t, s.Accounts.SetUserRole(t.Context(), "usr_none", apikey.Operator, at, event(audit.UserRole)), fault.NotFound)
	k, _ := apikey.Make(apikey.NewKey{Name: "x", User: "usr_none", Creator: "usr_none"}, at)
	wantKind(t, s.Accounts.InsertKey(t.Context(), k, 10, event(audit.KeyCreated)), fault.NotFound)
	if n := countAudit(t, s); n != 0 {
		t.Fatalf("%d audit rows of changes that did not happen", n)
	}
}

func keysRoundTrip(t *testing.T, s *store.Store) {
	u := mustUser(t, s)
	for name, edit := range map[string]func(*apikey.NewKey){
		"plain":      nil,
		"management": func(n *apikey.NewKey) { n.Management = true },
		"limit":      func(n *apikey.NewKey) { n.Limit = &apikey.Limit{Amount: 1234567890123, Reset: apikey.Weekly} },
		"zero limit": func(n *apikey.NewKey) { n.Limit = &apikey.Limit{} },
		"expiry":     func(n *apikey.NewKey) { n.ExpiresAt = at.Add(time.Hour) },
		"strict":     func(n *apikey.NewKey) { n.Strict = true },
		"rates": func(n *apikey.NewKey) {
			n.Rates = &apikey.Rates{Requests: 60, Tokens: 1 << 40, Rubles: 1234567890123, Calls: 7}
		},
		"some rates": func(n *apikey.NewKey) {
			n.Rates = &apikey.Rates{Requests: 0, Tokens: apikey.DefaultRate, Rubles: apikey.DefaultRate, Calls: apikey.DefaultRate}
		},
	} {
		k := mustKey(t, s, u.ID, edit)
		got, err := s.Accounts.KeyByHash(t.Context(), k.Hash)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		equal(t, name, got, apikey.Found{Key: k, Wallet: u.Wallet, Role: apikey.Operator})
	}
	_, err := s.Accounts.KeyByHash(t.Context(), strings.Repeat("0", 64))
	wantKind(t, err, fault.NotFound)
}

func changeKey(t *testing.T, s *store.Store) {
	u := mustUser(t, s)
	k := mustKey(t, s, u.ID, func(n *apikey.NewKey) { n.Limit = &apikey.Limit{Amount: 5, Reset: apikey.Daily} })
	name, yes := "two", true
	later := at.Add(time.Minute)

	got, err := s.Accounts.ChangeKey(t.Context(), u.ID, k.Hash, apikey.Change{Name: &name, Disabled: &yes, Strict: &yes}, later, event(audit.KeyChanged))
	if err != nil {
		t.Fatal(err)
	}
	k.Name, k.Disabled, k.Strict, k.UpdatedAt = name, true, true, later
	equal(t, "changed key", got, k)

	limit := &apikey.Limit{Amount: 7}
	if _, err = s.Accounts.ChangeKey(t.Context(), "", k.Hash, apikey.Change{Limit: &limit}, later, event(audit.KeyChanged)); err != nil {
		t.Fatal(err)
	}
	var none *apikey.Limit
	stored, _ := s.Accounts.KeyByHash(t.Context(), k.Hash)
	equal(t, "limit", stored.Limit, limit)
	if _, err = s.Accounts.ChangeKey(t.Context(), u.ID, k.Hash, apikey.Change{Limit: &none}, later, event(audit.KeyChanged)); err != nil {
		t.Fatal(err)
	}
	stored, _ = s.Accounts.KeyByHash(t.Context(), k.Hash)
	equal(t, "removed limit", stored.Limit, nil)

	rates := &apikey.Rates{Requests: apikey.DefaultRate, Tokens: 7, Rubles: 0, Calls: 3}
	if _, err = s.Accounts.ChangeKey(t.Context(), u.ID, k.Hash, apikey.Change{Rates: &rates}, later, event(audit.KeyChanged)); err != nil {
		t.Fatal(err)
	}
	stored, _ = s.Accounts.KeyByHash(t.Context(), k.Hash)
	equal(t, "rates", stored.Rates, rates)
	var operators *apikey.Rates
	if _, err = s.Accounts.ChangeKey(t.Context(), u.ID, k.Hash, apikey.Change{Rates: &operators}, later, event(audit.KeyChanged)); err != nil {
		t.Fatal(err)
	}
	stored, _ = s.Accounts.KeyByHash(t.Context(), k.Hash)
	equal(t, "removed rates", stored.Rates, operators)

	for _, preferences := range []string{`{"zdr":true}`, ""} {
		if _, err = s.Accounts.ChangeKey(t.Context(), u.ID, k.Hash, apikey.Change{Preferences: &preferences}, later, event(audit.KeyChanged)); err != nil {
			t.Fatal(err)
		}
		stored, _ = s.Accounts.KeyByHash(t.Context(), k.Hash)
		equal(t, "preferences", stored.Preferences, preferences)
	}
}

func deleteKey(t *testing.T, s *store.Store) {
	u := mustUser(t, s)
	k := mustKey(t, s, u.ID, nil)
	if err := s.Accounts.DeleteKey(t.Context(), u.ID, k.Hash, at.Add(time.Second), event(audit.KeyRevoked)); err != nil {
		t.Fatal(err)
	}
	found, err := s.Accounts.KeyByHash(t.Context(), k.Hash)
	if err != nil || found.State(at) != apikey.Deleted {
		t.Fatalf("deleted key: %+v, %v; want it in state Deleted", found, err)
	}
	wantKind(t, s.Accounts.DeleteKey(t.Context(), u.ID, k.Hash, at, event(audit.KeyRevoked)), fault.NotFound)
	_, err = s.Accounts.ChangeKey(t.Context(), u.ID, k.Hash, apikey.Change{}, at, event(audit.KeyChanged))
	wantKind(t, err, fault.NotFound)
	if keys, err := s.Accounts.ListKeys(t.Context(), apikey.Filter{User: u.ID, IncludeDisabled: true}); err != nil || len(keys) != 0 {
		t.Fatalf("deleted keys are listed: %v, %v", keys, err)
	}
}

func foreignKeys(t *testing.T, s *store.Store) {
	u, other := mustUser(t, s), mustUser(t, s)
	k := mustKey(t, s, u.ID, nil)
	name := "stolen"
	_, err := s.Accounts.ChangeKey(t.Context(), other.ID, k.Hash, apikey.Change{Name: &name}, at, event(audit.KeyChanged))
	wantKind(t, err, fault.NotFound)
	wantKind(t, s.Accounts.DeleteKey(t.Context(), other.ID, k.Hash, at, event(audit.KeyRevoked)), fault.NotFound)
	if keys, err := s.Accounts.ListKeys(t.Context(), apikey.Filter{User: other.ID}); err != nil || len(keys) != 0 {
		t.Fatalf("another user's keys are listed: %v, %v", keys, err)
	}
	found, err := s.Accounts.KeyByHash(t.Context(), k.Hash)
	if err != nil || found.Name != "one" || !found.DeletedAt.IsZero() {
		t.Fatalf("another user changed the key: %+v, %v", found, err)
	}
}

func listKeys(t *testing.T, s *store.Store) {
	u := mustUser(t, s)
	var hashes []string
	for i := range 5 {
		k, _ := apikey.Make(apikey.NewKey{Name: fmt.Sprint(i), User: u.ID, Creator: u.ID}, at.Add(time.Duration(i)*time.Second))
		if err := s.Accounts.InsertKey(t.Context(), k, 10, event(audit.KeyCreated)); err != nil {
			t.Fatal(err)
		}
		hashes = append([]string{k.Hash}, hashes...)
	}
	yes := true
	if _, err := s.Accounts.ChangeKey(t.Context(), u.ID, hashes[0], apikey.Change{Disabled: &yes}, at, event(audit.KeyRevoked)); err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		filter apikey.Filter
		want   []string
	}{
		"newest first":  {apikey.Filter{User: u.ID, IncludeDisabled: true}, hashes},
		"enabled only":  {apikey.Filter{User: u.ID}, hashes[1:]},
		"page":          {apikey.Filter{User: u.ID, IncludeDisabled: true, Offset: 1, Count: 2}, hashes[1:3]},
		"behind a page": {apikey.Filter{User: u.ID, Offset: 9}, nil},
		"everybody's":   {apikey.Filter{IncludeDisabled: true}, hashes},
	} {
		keys, err := s.Accounts.ListKeys(t.Context(), c.filter)
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, k := range keys {
			got = append(got, k.Hash)
		}
		equal(t, name, got, c.want)
	}
}

func maxKeys(t *testing.T, s *store.Store) {
	u, other := mustUser(t, s), mustUser(t, s)
	insertOf := func(user string) (string, error) {
		k, _ := apikey.Make(apikey.NewKey{Name: "x", User: user, Creator: user}, at)
		return k.Hash, s.Accounts.InsertKey(t.Context(), k, 2, event(audit.KeyCreated))
	}
	insert := func() (string, error) { return insertOf(u.ID) }
	first, err := insert()
	if err != nil {
		t.Fatal(err)
	}
	if _, err = insert(); err != nil {
		t.Fatal(err)
	}
	_, err = insert()
	wantKind(t, err, fault.Invalid)
	if said := err.Error(); !strings.Contains(said, "may have 2 keys") || !strings.Contains(said, "keys.max_per_user") {
		t.Errorf("it is refused with %q", said)
	}
	if _, err := insertOf(other.ID); err != nil {
		t.Errorf("another user: %v", err)
	}
	if err := s.Accounts.DeleteKey(t.Context(), u.ID, first, at, event(audit.KeyRevoked)); err != nil {
		t.Fatal(err)
	}
	if _, err = insert(); err != nil {
		t.Fatalf("deleted keys still count: %v", err)
	}
}

// unlikeKeys gives keys of a user labels that others of it have, had before a rotation, or had when they were deleted.
func unlikeKeys(t *testing.T, s *store.Store) {
	u, other := mustUser(t, s), mustUser(t, s)
	insert := func(user, label string) error {
		k, _ := apikey.Make(apikey.NewKey{Name: "x", User: user, Creator: user}, at)
		k.Label = label
		return s.Accounts.InsertKey(t.Context(), k, 100, event(audit.KeyCreated))
	}
	taken := func(what string, err error) {
		t.Helper()
		if !errors.Is(err, apikey.ErrLabelTaken) {
			t.Errorf("%s: %v, want ErrLabelTaken", what, err)
		}
	}
	first, gone := mustKey(t, s, u.ID, nil), mustKey(t, s, u.ID, nil)
	ok(t, insert(other.ID, first.Label)) // no account sees both
	taken("the label of another key", insert(u.ID, first.Label))
	ok(t, s.Accounts.DeleteKey(t.Context(), u.ID, gone.Hash, at, event(audit.KeyRevoked)))
	taken("the label of a deleted key", insert(u.ID, gone.Label))
	_, err := s.Accounts.RotateKey(t.Context(), u.ID, first.Hash, apikey.Hash("next"), gone.Label, at.Add(time.Hour), at, event(audit.KeyChanged))
	taken("rotated to a label that is taken", err)
	if f, err := s.Accounts.KeyByHash(t.Context(), first.Hash); err != nil || f.Label != first.Label {
		t.Errorf("the refused rotation left %+v, %v", f.Key, err)
	}
	_, err = s.Accounts.RotateKey(t.Context(), u.ID, first.Hash, apikey.Hash("next"), "sk-weir-v1-a...bcd", at.Add(time.Hour), at, event(audit.KeyChanged))
	ok(t, err)
	taken("the former label of a rotated key", insert(u.ID, first.Label))
}

// deletedKeys makes and deletes keys that nothing uses: the newest of them stay, and so does one that is not deleted.
func deletedKeys(t *testing.T, s *store.Store) {
	u := mustUser(t, s)
	kept, called := mustKey(t, s, u.ID, nil), mustKey(t, s, u.ID, nil)
	_, err := s.Ledger.Position(t.Context(), "node")
	ok(t, err)
	call := record.Call{Generation: fmt.Sprintf("gen-%d-%020d", at.Unix(), 1), Request: "req_1", User: u.ID, Wallet: u.Wallet, Key: called.ID, At: at, API: "messages", Status: 200}
	_, err = s.Ledger.Apply(t.Context(), &ledger.Batch{Node: "node", Now: at, To: 1, Items: []ledger.Recorded{ledger.Encode(ledger.Item{Call: call})}})
	ok(t, err)
	ok(t, s.Accounts.DeleteKey(t.Context(), u.ID, called.Hash, at.Add(-time.Hour), event(audit.KeyRevoked)))
	const more = 5
	for i := range accountdb.MostDeletedKeys + more + 2 { // those that make room are deleted by the insert after them
		k := mustKey(t, s, u.ID, nil)
		ok(t, s.Accounts.DeleteKey(t.Context(), u.ID, k.Hash, at.Add(time.Duration(i)*time.Second), event(audit.KeyRevoked)))
	}
	mustKey(t, s, u.ID, nil)
	all, err := s.Accounts.ListKeys(t.Context(), apikey.Filter{User: u.ID, IncludeDeleted: true, IncludeDisabled: true, Count: 1000})
	if want := accountdb.MostDeletedKeys + 3; err != nil || len(all) != want { // the newest, the one of the call, and two that work
		t.Fatalf("%d keys, %v; want %d", len(all), err, want)
	}
	for i := range all {
		if d := all[i].DeletedAt; all[i].ID != called.ID && !d.IsZero() && d.Before(at.Add((more+2)*time.Second)) {
			t.Errorf("a key stays that was deleted at %s, before others", d)
		}
	}
	for _, k := range []apikey.Key{kept, called} {
		if _, err := s.Accounts.KeyByHash(t.Context(), k.Hash); err != nil {
			t.Errorf("key %s: %v", k.ID, err)
		}
	}
}

func raceKeys(t *testing.T, s *store.Store) {
	u := mustUser(t, s)
	var made atomic.Int64
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			k, _ := apikey.Make(apikey.NewKey{Name: "x", User: u.ID, Creator: u.ID}, at)
			if s.Accounts.InsertKey(t.Context(), k, 3, event(audit.KeyCreated)) == nil {
				made.Add(1)
			}
		})
	}
	wg.Wait()
	if made.Load() != 3 {
		t.Fatalf("%d keys were made; want 3", made.Load())
	}
}

func bootstrap(ctx context.Context, s *store.Store) (apikey.Key, bool, error) {
	u := account.User{ID: apikey.NewID("usr_"), Name: "first", Wallet: apikey.NewID("wal_"), Role: apikey.Administrator, CreatedAt: at}
	k, _ := apikey.Make(apikey.NewKey{Name: "first", User: u.ID, Creator: u.ID}, at)
	done, err := s.Accounts.Bootstrap(ctx, u, []apikey.Key{k}, []audit.Event{event(audit.UserCreated), event(audit.KeyCreated)})
	return k, done, err
}

func bootstrapOnce(t *testing.T, s *store.Store) {
	k, done, err := bootstrap(t.Context(), s)
	if err != nil || !done {
		t.Fatalf("bootstrap of an empty store: %v, %v", done, err)
	}
	if _, err := s.Accounts.KeyByHash(t.Context(), k.Hash); err != nil {
		t.Fatal(err)
	}
	if k, done, err = bootstrap(t.Context(), s); err != nil || done {
		t.Fatalf("second bootstrap: %v, %v; want it to do nothing", done, err)
	}
	_, err = s.Accounts.KeyByHash(t.Context(), k.Hash)
	wantKind(t, err, fault.NotFound)
}

func bootstrapRace(t *testing.T, s *store.Store) {
	var first atomic.Int64
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			if _, done, err := bootstrap(t.Context(), s); err != nil {
				t.Errorf("bootstrap: %v", err)
			} else if done {
				first.Add(1)
			}
		})
	}
	wg.Wait()
	if first.Load() != 1 {
		t.Fatalf("%d bootstraps think they were first; want 1", first.Load())
	}
}

func awkwardText(t *testing.T, s *store.Store) {
	u := mustUser(t, s)
	for _, name := range []string{"'; DROP TABLE users; --", "%_\\", "имя", "😀", "a\tb"} {
		k := mustKey(t, s, u.ID, func(n *apikey.NewKey) { n.Name = name })
		if got, err := s.Accounts.KeyByHash(t.Context(), k.Hash); err != nil || got.Name != name {
			t.Fatalf("name %q came back as %q, %v", name, got.Name, err)
		}
	}
	for name, want := range map[string]string{"a\x00b": "a\uFFFDb", "a\xff\xfe\xfdb": "a\uFFFDb", "\x00": "\uFFFD"} {
		k := mustKey(t, s, u.ID, func(n *apikey.NewKey) { n.Name = name })
		if got, err := s.Accounts.KeyByHash(t.Context(), k.Hash); err != nil || got.Name != want {
			t.Fatalf("name %q came back as %q, %v", name, got.Name, err)
		}
		if err := s.Accounts.Audit(t.Context(), audit.Event{Actor: audit.Actor{Name: name, From: name}, Action: name, Target: name, Before: name, After: name}, at); err != nil {
			t.Fatal(err)
		}
		if _, err := s.Accounts.UserByID(t.Context(), name); !fault.Is(err, fault.NotFound) {
			t.Fatalf("user %q: %v; want NotFound", name, err)
		}
	}
	countAudit(t, s) // the chain holds
	if _, err := s.Accounts.KeyByHash(t.Context(), "\x00' OR 1=1"); !fault.Is(err, fault.NotFound) {
		t.Fatalf("look-up of rubbish: %v; want NotFound", err)
	}
}

func countAudit(t *testing.T, s *store.Store) int64 {
	t.Helper()
	n, err := audit.Verify(s.Accounts.AuditRows(t.Context()))
	if err != nil {
		t.Fatalf("audit.Verify: %v", err)
	}
	return n
}

func auditChain(t *testing.T, s *store.Store) {
	u := mustUser(t, s)
	k := mustKey(t, s, u.ID, nil)
	if err := s.Accounts.DeleteKey(t.Context(), u.ID, k.Hash, at, event(audit.KeyRevoked)); err != nil {
		t.Fatal(err)
	}
	e := audit.Event{Actor: actor, Action: audit.TopUp, Target: u.Wallet, Before: "a", After: "b"}
	if err := s.Accounts.Audit(t.Context(), e, at); err != nil {
		t.Fatal(err)
	}
	var actions []string
	var last audit.Row
	for row, err := range s.Accounts.AuditRows(t.Context()) {
		if err != nil {
			t.Fatal(err)
		}
		actions, last = append(actions, row.Action), row
	}
	equal(t, "actions", actions, []string{audit.UserCreated, audit.KeyCreated, audit.KeyRevoked, audit.TopUp})
	equal(t, "last event", last.Event, e)
	if n := countAudit(t, s); n != 4 {
		t.Fatalf("chain has %d rows; want 4", n)
	}
	for _, err := range s.Accounts.AuditRows(cancelled()) {
		if err == nil || errors.Is(err, context.DeadlineExceeded) {
			t.Fatalf("walking with a cancelled context: %v", err)
		}
		break
	}
}

func cancelled() context.Context {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	return ctx
}
