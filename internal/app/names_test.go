package app_test

import (
	"net/http"
	"net/url"
	"testing"

	"weir/internal/apikey"
	"weir/internal/app/apptest"
)

// An operator gives a model another name and says who serves it first: calls follow on all surfaces, and go back when it is taken away.
func TestOtherNamesAndOrder(t *testing.T) {
	t.Parallel()
	gw := apptest.StartGateway(t, pairOf(t))
	desk, a := deskOf(t, gw, apikey.Administrator), gw.NewAccount(t)
	do := func(method, path string, body any, want int) []byte {
		t.Helper()
		got := desk.Do(t, method, path, body)
		if got.Status != want {
			t.Fatalf("%s %s: %d %s", method, path, got.Status, got.Body)
		}
		return got.Body
	}
	alias, order := "/api/admin/aliases/"+url.PathEscape("test/before"), "/api/admin/orders/"+url.PathEscape("test/pair")

	if who := by(t, a, "test/before"); who != http.StatusText(http.StatusNotFound) {
		t.Fatalf("%s answered to a name that is not", who)
	}
	do(http.MethodPut, alias, map[string]any{"model": "test/pair"}, http.StatusOK)
	if who := by(t, a, "test/before"); who != "EAST" {
		t.Errorf("%s answered to the former name", who)
	}
	do(http.MethodPut, "/api/admin/aliases/"+url.PathEscape("test/lone"), map[string]any{"model": "test/pair"}, http.StatusConflict)

	balanced := func(want string) {
		t.Helper()
		for range 8 {
			got := a.Chat(t, map[string]any{"model": "test/pair", "messages": []any{map[string]any{"role": "user", "content": "hello"}}})
			if who := apptest.Decode[struct{ Provider string }](t, got.Body).Provider; who != want {
				t.Fatalf("%s answered, want %s: %s", who, want, got.Body)
			}
		}
	}
	do(http.MethodPut, order, map[string]any{"endpoints": []any{map[string]any{"id": "west/test/pair", "place": 1}}}, http.StatusOK)
	balanced("WEST")
	if who := by(t, a, "test/pair"); who != "EAST" {
		t.Errorf("%s answered a request that sorts by price itself", who)
	}
	do(http.MethodPut, order, map[string]any{"endpoints": []any{map[string]any{"id": "east/test/pair", "place": 1}, map[string]any{"id": "west/test/pair", "place": 2}}}, http.StatusOK)
	balanced("EAST")
	type endpoints struct {
		Data struct {
			Endpoints []struct {
				ID      string
				PerHour float64 `json:"calls_per_hour"`
			}
		}
	}
	if is := apptest.Decode[endpoints](t, do(http.MethodGet, order, nil, http.StatusOK)).Data.Endpoints; len(is) != 2 || is[0].ID != "east/test/pair" || is[0].PerHour <= 0 {
		t.Errorf("%+v", is)
	}
	do(http.MethodDelete, order, nil, http.StatusOK)
	do(http.MethodDelete, alias, nil, http.StatusOK)
	if who := by(t, a, "test/before"); who != http.StatusText(http.StatusNotFound) {
		t.Errorf("%s answered to a name that was removed", who)
	}
}
