package storetest

import (
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"weir/internal/account"
	"weir/internal/apikey"
	"weir/internal/audit"
	"weir/internal/fault"
	"weir/internal/money"
	"weir/internal/store"
	"weir/internal/voucher"
)

// Vouchers checks what a store does for vouchers. open gives an empty store, and closes it after the test.
func Vouchers(t *testing.T, open Open) {
	cases := map[string]func(*testing.T, *store.Store){
		"a batch comes back as stored":             voucherRoundTrip,
		"a list in pages":                          voucherPages,
		"once for an account, by many at once":     voucherOnce,
		"one code of a batch, by many at once":     voucherOnePerBatch,
		"no more uses than there are":              voucherUses,
		"revoked, expired, unknown, of nobody":     voucherRefused,
		"a refusal of the books leaves no trace":   voucherRollback,
		"revoked while others redeem: none after":  voucherRevokeRace,
		"accounts in any number, each credited it": voucherMany,
	}
	for name, check := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			check(t, open(t, nil))
		})
	}
}

// counter is a manager at a moment.
func counter(s *store.Store, at time.Time) *voucher.Manager {
	return voucher.NewManager(s.Payments, func() time.Time { return at })
}

var voucherBy = audit.Actor{Name: "test"}

func vouchers(t *testing.T, s *store.Store, codes, uses int64) (voucher.Batch, []string) {
	t.Helper()
	b, texts, err := counter(s, payAt).Make(t.Context(), voucher.Order{Amount: 500 * money.Ruble, Codes: codes, Uses: uses, Note: "spring", ExpiresAt: payAt.Add(time.Hour), Actor: voucherBy})
	if err != nil {
		t.Fatal(err)
	}
	return b, texts
}

func voucherRoundTrip(t *testing.T, s *store.Store) {
	want, texts := vouchers(t, s, 3, 2)
	got, err := s.Payments.VoucherBatch(t.Context(), want.ID)
	if d := cmp.Diff(want, got); d != "" || err != nil {
		t.Errorf("%v (-want +got):\n%s", err, d)
	}
	u := payer(t, s)
	first, repeated, err := counter(s, payAt).Redeem(t.Context(), texts[0], u.ID, u.Wallet, voucherBy)
	if err != nil || repeated || first.Amount != 500*money.Ruble || first.Batch != want.ID {
		t.Errorf("%+v, %v, %v", first, repeated, err)
	}
	again, repeated, err := counter(s, payAt.Add(2*time.Hour)).Redeem(t.Context(), " "+texts[0]+" ", u.ID, u.Wallet, voucherBy) // it has expired since
	if d := cmp.Diff(first, again); d != "" || err != nil || !repeated {
		t.Errorf("%v, %v (-want +got):\n%s", repeated, err, d)
	}
	wantBalance(t, s, u, 500*money.Ruble)
	if got, _ := s.Payments.VoucherBatch(t.Context(), want.ID); got.Redeemed != 1 {
		t.Errorf("%d have redeemed", got.Redeemed)
	}
	if _, err := s.Payments.VoucherBatch(t.Context(), "vb_none"); !fault.Is(err, fault.NotFound) {
		t.Error(err)
	}
}

func voucherPages(t *testing.T, s *store.Store) {
	var want, got []string
	for range 5 {
		b, _ := vouchers(t, s, 1, 1) // all at the same time
		want = append(want, b.ID)
	}
	for before := ""; ; {
		page, err := s.Payments.VoucherBatches(t.Context(), before, 2)
		if err != nil {
			t.Fatal(err)
		}
		for i := range page {
			got = append(got, page[i].ID)
		}
		if len(page) < 2 {
			break
		}
		before = page[1].ID
	}
	seen := map[string]bool{}
	for _, id := range got {
		seen[id] = true
	}
	if len(got) != len(want) || len(seen) != len(want) {
		t.Errorf("%q, want %q", got, want)
	}
	if _, err := s.Payments.VoucherBatches(t.Context(), "vb_none", 2); !fault.Is(err, fault.NotFound) {
		t.Error(err)
	}
}

// redeemAll redeems at once, and counts those that were credited and those that were repeated.
func redeemAll(t *testing.T, s *store.Store, n int, code func(int) string, of func(int) account.User) (credited, repeated, refused int) {
	t.Helper()
	var wg sync.WaitGroup
	var mu sync.Mutex
	for i := range n {
		wg.Go(func() {
			u := of(i)
			_, again, err := counter(s, payAt).Redeem(t.Context(), code(i), u.ID, u.Wallet, voucherBy)
			mu.Lock()
			defer mu.Unlock()
			switch {
			case err == nil && again:
				repeated++
			case err == nil:
				credited++
			case fault.Is(err, fault.Conflict):
				refused++
			default:
				t.Error(err)
			}
		})
	}
	wg.Wait()
	return credited, repeated, refused
}

func voucherOnce(t *testing.T, s *store.Store) {
	_, texts := vouchers(t, s, 1, 100)
	u := payer(t, s)
	credited, repeated, _ := redeemAll(t, s, 8, func(int) string { return texts[0] }, func(int) account.User { return u })
	if credited != 1 || repeated != 7 {
		t.Errorf("%d were credited, %d repeated", credited, repeated)
	}
	wantBalance(t, s, u, 500*money.Ruble)
}

func voucherOnePerBatch(t *testing.T, s *store.Store) {
	_, texts := vouchers(t, s, 8, 1)
	u := payer(t, s)
	credited, _, refused := redeemAll(t, s, 8, func(i int) string { return texts[i] }, func(int) account.User { return u })
	if credited != 1 || refused != 7 {
		t.Errorf("%d were credited, %d refused", credited, refused)
	}
	wantBalance(t, s, u, 500*money.Ruble)
}

func voucherUses(t *testing.T, s *store.Store) {
	b, texts := vouchers(t, s, 1, 3)
	users := make([]account.User, 8)
	for i := range users {
		users[i] = payer(t, s)
	}
	credited, _, refused := redeemAll(t, s, 8, func(int) string { return texts[0] }, func(i int) account.User { return users[i] })
	if credited != 3 || refused != 5 {
		t.Errorf("%d were credited, %d refused", credited, refused)
	}
	var sum money.Nano
	for _, u := range users {
		b, err := s.Ledger.Balance(t.Context(), u.Wallet)
		if err != nil {
			t.Fatal(err)
		}
		sum += b.Balance
	}
	if sum != 1500*money.Ruble {
		t.Errorf("the wallets have %s", sum)
	}
	if got, _ := s.Payments.VoucherBatch(t.Context(), b.ID); got.Redeemed != 3 {
		t.Errorf("%d have redeemed", got.Redeemed)
	}
}

func voucherRefused(t *testing.T, s *store.Store) {
	b, texts := vouchers(t, s, 2, 1)
	u := payer(t, s)
	redeem := func(at time.Time, code string) error {
		_, _, err := counter(s, at).Redeem(t.Context(), code, u.ID, u.Wallet, voucherBy)
		return err
	}
	for code, kind := range map[string]fault.Kind{"": fault.Invalid, "7K3M": fault.Invalid, texts[0] + "X": fault.Invalid, "UUUU-UUUU-UUUU-UUUU-UUUU": fault.Invalid, "0000-0000-0000-0000-0000": fault.NotFound} {
		if err := redeem(payAt, code); !fault.Is(err, kind) {
			t.Errorf("%q: %v", code, err)
		}
	}
	if err := redeem(payAt.Add(time.Hour), texts[0]); !fault.Is(err, fault.Conflict) || fault.From(err).Details["reason"] != "expired" {
		t.Error(err)
	}
	revoked, err := counter(s, payAt.Add(time.Minute)).Revoke(t.Context(), b.ID, voucherBy)
	if err != nil || !revoked.RevokedAt.Equal(payAt.Add(time.Minute)) {
		t.Errorf("%+v, %v", revoked, err)
	}
	if again, err := counter(s, payAt.Add(2*time.Minute)).Revoke(t.Context(), b.ID, voucherBy); err != nil || again != revoked {
		t.Errorf("%+v, %v", again, err)
	}
	if err := redeem(payAt, texts[0]); !fault.Is(err, fault.Conflict) || fault.From(err).Details["reason"] != "revoked" {
		t.Error(err)
	}
	if _, err := counter(s, payAt).Revoke(t.Context(), "vb_none", voucherBy); !fault.Is(err, fault.NotFound) {
		t.Error(err)
	}
	wantBalance(t, s, u, 0)
}

func voucherRollback(t *testing.T, s *store.Store) {
	b, texts := vouchers(t, s, 1, 1)
	nobody := account.User{ID: "usr_none", Wallet: "wal_none"}
	if _, _, err := counter(s, payAt).Redeem(t.Context(), texts[0], nobody.ID, nobody.Wallet, voucherBy); !fault.Is(err, fault.NotFound) {
		t.Error(err)
	}
	if got, _ := s.Payments.VoucherBatch(t.Context(), b.ID); got.Redeemed != 0 {
		t.Errorf("%d have redeemed", got.Redeemed)
	}
	u := payer(t, s)
	if _, _, err := counter(s, payAt).Redeem(t.Context(), texts[0], u.ID, u.Wallet, voucherBy); err != nil {
		t.Errorf("the use is gone: %v", err)
	}
}

func voucherRevokeRace(t *testing.T, s *store.Store) {
	b, texts := vouchers(t, s, 1, 100)
	users := make([]account.User, 8)
	for i := range users {
		users[i] = payer(t, s)
	}
	var revoked voucher.Batch
	var wg sync.WaitGroup
	wg.Go(func() {
		var err error
		if revoked, err = counter(s, payAt).Revoke(t.Context(), b.ID, voucherBy); err != nil {
			t.Error(err)
		}
	})
	credited, _, refused := redeemAll(t, s, 8, func(int) string { return texts[0] }, func(i int) account.User { return users[i] })
	wg.Wait()
	if int64(credited) != revoked.Redeemed || credited+refused != 8 {
		t.Errorf("%d were credited and %d refused; the revoked batch says %d", credited, refused, revoked.Redeemed)
	}
}

func voucherMany(t *testing.T, s *store.Store) {
	b, texts := vouchers(t, s, 2000, 1)
	seen := map[apikey.Sum]bool{}
	for _, text := range texts {
		sum, err := voucher.SumOf(text)
		if err != nil || seen[sum] {
			t.Fatalf("%s: %v", text, err)
		}
		seen[sum] = true
	}
	for i := range 5 {
		u := payer(t, s)
		if _, _, err := counter(s, payAt).Redeem(t.Context(), texts[i*399], u.ID, u.Wallet, voucherBy); err != nil {
			t.Error(err)
		}
		wantBalance(t, s, u, 500*money.Ruble)
	}
	if got, _ := s.Payments.VoucherBatch(t.Context(), b.ID); got.Redeemed != 5 {
		t.Error(fmt.Sprint(got))
	}
}
