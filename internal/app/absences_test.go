package app_test

import (
	"net/http"
	"net/url"
	"strings"
	"testing"

	"weir/internal/app/apptest"
	"weir/internal/catalog"
)

// pairOf declares two providers that serve test/pair, and the first one alone test/lone.
func pairOf(t *testing.T) func(*apptest.Setup) {
	return func(s *apptest.Setup) {
		s.Server.AdminListen = "127.0.0.1:0"
		works := s.Declared.Providers[0]
		for i, id := range []string{"east", "west"} {
			s.Declared.Providers = append(s.Declared.Providers, catalog.Provider{ID: id, Name: strings.ToUpper(id), Dialect: "openai", BaseURL: works.BaseURL})
			o := apptest.OfferOf(t, id, "test/pair", "chat")
			o.Pricing.Base.Prompt = apptest.Price(t, []string{"0.1", "0.2"}[i])
			s.Offers = append(s.Offers, o)
		}
		s.Offers = append(s.Offers, apptest.OfferOf(t, "east", "test/lone", "chat"))
	}
}

func pairAsk(model string) map[string]any {
	return map[string]any{"model": model, "provider": map[string]any{"sort": "price"}, "messages": []any{map[string]any{"role": "user", "content": "hello"}}}
}

// by is who answered a call, or the status of what went wrong.
func by(t *testing.T, a *apptest.Account, model string) string {
	t.Helper()
	got := a.Chat(t, pairAsk(model))
	if got.Status != http.StatusOK {
		return http.StatusText(got.Status)
	}
	return apptest.Decode[struct{ Provider string }](t, got.Body).Provider
}

func absence(target string) string { return "/api/admin/absences/" + url.PathEscape(target) }

// An operator takes an endpoint, a model and a provider out of service: calls go to others, whoever has no other gets 503, and all say why.
func TestOutOfService(t *testing.T) {
	t.Parallel()
	gw := apptest.StartGateway(t, pairOf(t))
	desk, a := operatorOf(t, gw), gw.NewAccount(t)
	for range 4 {
		if who := by(t, a, "test/pair"); who != "EAST" {
			t.Fatalf("%s answered", who)
		}
	}
	type effect struct {
		Data struct {
			Endpoints int
			Moved     float64 `json:"moved_per_hour"`
			Failing   float64 `json:"failing_per_hour"`
			To        []struct {
				ID    string
				After float64  `json:"after_per_hour"`
				Price *float64 `json:"price_percent"`
			} `json:"goes_to"`
			Alone []string `json:"models_alone"`
		}
	}
	is := apptest.Decode[effect](t, desk.Do(t, http.MethodGet, absence("provider:east")+"/effect", nil).Body).Data
	if is.Endpoints != 2 || is.Moved <= 0 || is.Failing != 0 || len(is.To) != 1 || is.To[0].ID != "west/test/pair" || is.To[0].After != is.Moved || is.To[0].Price == nil || *is.To[0].Price <= 0 {
		t.Errorf("%+v", is)
	}
	if len(is.Alone) != 1 || is.Alone[0] != "test/lone" {
		t.Errorf("without another endpoint are %v", is.Alone)
	}
	put := func(target string, body map[string]any) {
		t.Helper()
		if got := desk.Do(t, http.MethodPut, absence(target), body); got.Status != http.StatusOK {
			t.Fatalf("%d %s", got.Status, got.Body)
		}
	}
	back := func(target string, want int) {
		t.Helper()
		if got := desk.Do(t, http.MethodDelete, absence(target), nil); got.Status != want {
			t.Fatalf("%d %s", got.Status, got.Body)
		}
	}
	for _, target := range []string{"endpoint:east/test/pair", "model:east/test/pair", "provider:east"} {
		for mode, said := range map[string]string{"drain": "drained by an operator", "eject": "ejected by an operator"} {
			put(target, map[string]any{"mode": mode, "reason": "maintenance"})
			if who := by(t, a, "test/pair"); who != "WEST" {
				t.Errorf("%s, %s: %s answered", mode, target, who)
			}
			want := "EAST"
			if target == "provider:east" {
				want = "Service Unavailable"
			}
			if who := by(t, a, "test/lone"); who != want {
				t.Errorf("%s, %s: of the model without another provider %s, want %s", mode, target, who, want)
			}
			explained := string(a.Do(t, http.MethodPost, "/v1/route/explain", pairAsk("test/pair")).Body)
			if !strings.Contains(explained, said) || !strings.Contains(explained, `"out_of_service"`) {
				t.Errorf("%s, %s is not explained: %s", mode, target, explained)
			}
		}
		shown := string(desk.Do(t, http.MethodGet, "/api/admin/endpoints?q=pair&state=off", nil).Body)
		if !strings.Contains(shown, `"east/test/pair"`) || strings.Contains(shown, `"west/test/pair"`) || !strings.Contains(shown, `"maintenance"`) {
			t.Errorf("%s", shown)
		}
		back(target, http.StatusOK)
		back(target, http.StatusConflict)
		if who := by(t, a, "test/pair"); who != "EAST" {
			t.Errorf("after the return %s answered", who)
		}
	}
	put("provider:east", map[string]any{"mode": "drain", "seconds": 1})
	apptest.WaitFor(t, "the provider to come back by itself", func() bool { return by(t, a, "test/pair") == "EAST" })
	for body, field := range map[string]string{`{"mode":"pause"}`: "mode", `{"mode":"drain","seconds":9999999}`: "seconds", `{"mode":"drain","reason":"` + strings.Repeat("x", 300) + `"}`: "reason"} {
		got := desk.Do(t, http.MethodPut, absence("provider:east"), apptest.Raw(body))
		if got.Status != http.StatusBadRequest || !strings.Contains(string(got.Body), `"`+field+`"`) {
			t.Errorf("%s: %d %s", body, got.Status, got.Body)
		}
	}
	if got := desk.Do(t, http.MethodPut, absence("provider:nobody"), map[string]any{"mode": "drain"}); got.Status != http.StatusBadRequest {
		t.Errorf("%d %s", got.Status, got.Body)
	}
	log := string(desk.Do(t, http.MethodGet, "/api/admin/catalog/history", nil).Body)
	for _, action := range []string{"service.drain", "service.eject", "service.return"} {
		if !strings.Contains(log, action) {
			t.Errorf("no %s in the history", action)
		}
	}
}
