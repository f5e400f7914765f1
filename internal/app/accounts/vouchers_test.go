package accounts_test

import (
	"net/http"
	"testing"

	"weir/internal/apikey"
	"weir/internal/app/apptest"
	"weir/internal/audit"
	"weir/internal/money"
)

// An administrator makes codes, another account redeems one, and statement, balance and books say the same.
func TestVouchers(t *testing.T) {
	t.Parallel()
	gw := apptest.StartGateway(t, func(s *apptest.Setup) { s.Server.AdminListen = "127.0.0.1:0" })
	o, other := gw.NewOwner(t, 100, apikey.NewKey{}), gw.NewOwner(t, 100, apikey.NewKey{})
	boss := gw.NewOwner(t, 1, apikey.NewKey{})
	desk := &apptest.Account{Gw: &apptest.Gateway{URL: gw.Node.AdminURL(), Client: gw.Client}, Key: boss.Pages.Key}
	order := map[string]any{"amount": "250.50", "codes": 2, "uses": 1, "note": "spring"}
	visitor := &apptest.Account{Gw: desk.Gw, Key: other.Pages.Key}
	if got := visitor.Do(t, http.MethodPost, "/api/admin/vouchers", order); got.Status != http.StatusForbidden {
		t.Fatalf("a user makes money: %d %s", got.Status, got.Body)
	}
	if err := gw.Node.Admin().Users.SetRole(t.Context(), boss.User, apikey.Administrator, audit.Actor{Name: "test"}); err != nil {
		t.Fatal(err)
	}
	type answer struct {
		Data struct {
			ID, Amount, Voucher string
			Redeemed            int
			Repeated            bool
			Secrets             []string
			RevokedAt           *string `json:"revoked_at"`
		}
	}
	made := desk.Do(t, http.MethodPost, "/api/admin/vouchers", order)
	batch := apptest.Decode[answer](t, made.Body).Data
	if made.Status != http.StatusCreated || len(batch.Secrets) != 2 {
		t.Fatalf("%d %s", made.Status, made.Body)
	}
	redeem := func(a *apptest.Account, code string, status int) answer {
		t.Helper()
		got := a.Do(t, http.MethodPost, "/api/vouchers/redeem", map[string]any{"code": code})
		if got.Status != status {
			t.Errorf("%d %s", got.Status, got.Body)
		}
		return apptest.Decode[answer](t, got.Body)
	}
	if is := redeem(o.Pages, batch.Secrets[0], http.StatusOK); is.Data.Amount != "250.5" || is.Data.Voucher != batch.ID || is.Data.Repeated {
		t.Errorf("%+v", is)
	}
	if is := redeem(o.Pages, batch.Secrets[0], http.StatusOK); !is.Data.Repeated {
		t.Errorf("%+v", is)
	}
	redeem(o.Pages, batch.Secrets[1], http.StatusConflict)
	redeem(other.Pages, batch.Secrets[0], http.StatusConflict)
	redeem(other.Pages, "0000-0000-0000-0000-0000", http.StatusNotFound)
	redeem(other.Pages, "", http.StatusBadRequest)
	if got := o.Account.Do(t, http.MethodPost, "/api/vouchers/redeem", map[string]any{"code": batch.Secrets[1]}); got.Status != http.StatusForbidden {
		t.Errorf("a key of calls: %d", got.Status)
	}
	for range 20 { // the last of them
		redeemed := other.Pages.Do(t, http.MethodPost, "/api/vouchers/redeem", map[string]any{"code": "0000-0000-0000-0000-0001"})
		if redeemed.Status == http.StatusTooManyRequests {
			batch.Redeemed = -1
			break
		}
	}
	if batch.Redeemed != -1 {
		t.Error("codes can be guessed for ever")
	}
	found := false
	statement := o.Page(t, "/api/ledger")
	for _, row := range elements(statement["rows"]) {
		args, _ := row["title_args"].(map[string]any)
		found = found || args["source"] == "voucher" && row["ref"] == "topup:voucher:"+batch.ID+":"+o.User && rubles(t, row["credit"]) == 250*money.Ruble+money.Ruble/2
	}
	if !found || statement["verified"] != true {
		t.Errorf("%v", statement)
	}
	if got := desk.Do(t, http.MethodDelete, "/api/admin/vouchers/"+batch.ID, nil); got.Status != http.StatusOK || apptest.Decode[answer](t, got.Body).Data.RevokedAt == nil {
		t.Errorf("%d %s", got.Status, got.Body)
	}
	third := gw.NewOwner(t, 1, apikey.NewKey{})
	redeem(third.Pages, batch.Secrets[1], http.StatusConflict)
	gw.WantBalanced(t)
}
