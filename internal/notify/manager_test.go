package notify_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"weir/internal/apikey"
	"weir/internal/catalog"
	"weir/internal/fault"
	"weir/internal/ledger"
	"weir/internal/money"
	"weir/internal/notify"
	"weir/internal/report"
)

// keyring is a store that knows the key of links and nothing else.
type keyring struct{ notify.Store }

func (keyring) NoticeKey(context.Context, []byte) ([]byte, error) {
	return []byte("the key of a test, 32 bytes long"), nil
}

// Whatever a link says, it names an account and a cause only if this gateway has made it for them.
func FuzzCauseOf(f *testing.F) {
	m := notify.NewManager(keyring{}, nil, nil, notify.Config{Now: time.Now})
	made := map[string]string{}
	for _, account := range []string{"usr_a", "usr_b", "", "usr_a\nlow_balance"} {
		for _, cause := range notify.Causes {
			token, err := m.Token(context.Background(), account, cause)
			if err != nil {
				f.Fatal(err)
			}
			made[token] = account + " " + string(cause)
			f.Add(token)
		}
	}
	for _, s := range []string{"", ".", "a.b", "e30.e30", strings.Repeat("A", 500), "dXNyX2EKbG93X2JhbGFuY2U.AAAA", "\x00.\xff"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, token string) {
		account, cause, err := m.CauseOf(t.Context(), token)
		if err != nil {
			if !fault.Is(err, fault.NotFound) || strings.Contains(err.Error(), "usr_") {
				t.Fatalf("%q: %v", token, err)
			}
			return
		}
		again, err := m.Token(t.Context(), account, cause)
		if err != nil || again != token {
			t.Fatalf("%q was taken for %q of %q, whose token is %q (%v)", token, cause, account, again, err)
		}
		if want, ours := made[token]; ours && want != account+" "+string(cause) {
			t.Fatalf("%q is of %s, not of %s %s", token, want, account, cause)
		}
	})
}

// When a state is worth a word.
func TestStates(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 11, 26, 12, 0, 0, 0, time.UTC)
	key := func(edit func(*apikey.Key)) []*apikey.Key {
		k := &apikey.Key{ID: "key_1", Hash: "h", Name: "prod", Limit: &apikey.Limit{Amount: 100 * money.Ruble}}
		if edit != nil {
			edit(k)
		}
		return []*apikey.Key{k}
	}
	spent := func(total, monthly money.Nano) map[string]report.KeySpend {
		return map[string]report.KeySpend{"key_1": {KeySpend: ledger.KeySpend{Total: total, Monthly: monthly}}}
	}
	v := func(balance, held money.Nano, days int) *report.Overview {
		return &report.Overview{Balance: ledger.Balance{Balance: balance, Held: held}, Runway: days, Topped: true}
	}
	well := v(1000*money.Ruble, 0, 30)
	const r = money.Ruble
	for name, row := range map[string]struct {
		seen notify.Seen
		want string
	}{
		"all is well":               {notify.Seen{Overview: well, Keys: key(nil)}, ""},
		"nobody has paid yet":       {notify.Seen{Overview: &report.Overview{Runway: -1}, Threshold: 50 * r}, ""},
		"used without paying":       {notify.Seen{Overview: &report.Overview{Runway: -1, Top: []report.Share{{Model: "a/b"}}}}, "money_gone//"},
		"three days":                {notify.Seen{Overview: v(100*r, 0, 3)}, "money_low//"},
		"four days":                 {notify.Seen{Overview: v(100*r, 0, 4)}, ""},
		"below the threshold":       {notify.Seen{Overview: v(50*r-1, 0, -1), Threshold: 50 * r}, "money_low//"},
		"at the threshold":          {notify.Seen{Overview: v(50*r, 0, -1), Threshold: 50 * r}, ""},
		"below with what is held":   {notify.Seen{Overview: v(60*r, 11*r, 30), Threshold: 50 * r}, "money_low//"},
		"gone":                      {notify.Seen{Overview: v(0, 0, 0), Threshold: 50 * r}, "money_gone//"},
		"held altogether":           {notify.Seen{Overview: v(5*r, 5*r, 0)}, "money_gone//"},
		"79 percent":                {notify.Seen{Overview: well, Keys: key(nil), Spends: spent(80*r-1, 0)}, ""},
		"80 percent":                {notify.Seen{Overview: well, Keys: key(nil), Spends: spent(80*r, 0)}, "key_limit/h/"},
		"99 percent":                {notify.Seen{Overview: well, Keys: key(nil), Spends: spent(100*r-1, 0)}, "key_limit/h/"},
		"all of it":                 {notify.Seen{Overview: well, Keys: key(nil), Spends: spent(100*r, 0)}, "key_limit_reached/h/"},
		"all of a month":            {notify.Seen{Overview: well, Keys: key(func(k *apikey.Key) { k.Limit.Reset = apikey.Monthly }), Spends: spent(500*r, 100*r)}, "key_limit_reached/h/2026-11-01"},
		"little of a month":         {notify.Seen{Overview: well, Keys: key(func(k *apikey.Key) { k.Limit.Reset = apikey.Monthly }), Spends: spent(500*r, 10*r)}, ""},
		"a limit of nothing":        {notify.Seen{Overview: well, Keys: key(func(k *apikey.Key) { k.Limit.Amount = 0 }), Spends: spent(r, 0)}, ""},
		"no limit":                  {notify.Seen{Overview: well, Keys: key(func(k *apikey.Key) { k.Limit = nil }), Spends: spent(r, 0)}, ""},
		"the largest limit":         {notify.Seen{Overview: well, Keys: key(func(k *apikey.Key) { k.Limit.Amount = 1<<63 - 1 }), Spends: spent(1<<63-1, 0)}, "key_limit_reached/h/"},
		"expires in a week":         {notify.Seen{Overview: well, Keys: key(func(k *apikey.Key) { k.ExpiresAt = now.Add(7 * 24 * time.Hour) })}, ""},
		"expires sooner":            {notify.Seen{Overview: well, Keys: key(func(k *apikey.Key) { k.ExpiresAt = now.Add(7*24*time.Hour - 1) })}, "key_expiring/h/2026-12-03T11:59:59Z"},
		"expires at this moment":    {notify.Seen{Overview: well, Keys: key(func(k *apikey.Key) { k.ExpiresAt = now })}, "key_expired/h/2026-11-26T12:00:00Z"},
		"expired a week ago":        {notify.Seen{Overview: well, Keys: key(func(k *apikey.Key) { k.ExpiresAt = now.Add(-7 * 24 * time.Hour) })}, ""},
		"expired, and at its limit": {notify.Seen{Overview: well, Keys: key(func(k *apikey.Key) { k.ExpiresAt = now.Add(-time.Hour) }), Spends: spent(100*r, 0)}, "key_expired/h/2026-11-26T11:00:00Z"},
		"a model nobody knows":      {notify.Seen{Overview: &report.Overview{Runway: 30, Topped: true, Balance: ledger.Balance{Balance: r}, Models: []string{"acme/none"}}}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			row.seen.Now, row.seen.Catalog = now, &catalog.Snapshot{}
			var got []string
			for _, f := range notify.States(&row.seen) {
				got = append(got, string(f.Kind)+"/"+f.Ref+"/"+f.Episode)
				if f.Kind.Cause() == "" || f.Happened() {
					t.Errorf("%+v", f)
				}
			}
			if s := strings.Join(got, " "); s != row.want {
				t.Errorf("%q, want %q", s, row.want)
			}
		})
	}
	for _, kind := range notify.Kinds {
		if kind.Cause() == "" {
			t.Errorf("%s has no cause", kind)
		}
	}
}
