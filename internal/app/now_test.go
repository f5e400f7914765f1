package app_test

import (
	"math"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"weir/internal/apikey"
	"weir/internal/app/apptest"
	"weir/internal/audit"
	"weir/internal/catalog"
	"weir/internal/config"
	"weir/internal/figures"
)

type nowFigure struct{ Node, All, Goal *float64 }

type nowEvent struct {
	Kind  string
	ID    *string
	Calls *float64
}

type nowAnswer struct {
	Over    string
	Seconds float64
	Figures struct {
		Requests nowFigure `json:"requests_per_second"`
		Failed   nowFigure `json:"failed_share"`
		Saved    nowFigure `json:"saved_share"`
		Added    nowFigure `json:"added_p99_ms"`
		Sales    nowFigure `json:"sales_per_minute"`
	}
	Points []struct {
		Requests, Failed, Attempts float64
		FailedAttempts             float64 `json:"failed_attempts"`
	}
	Checks []struct {
		Kind string
		OK   bool
		At   *string
	}
	Endpoints []struct {
		ID, State string
		Until     *string
		OK        *float64 `json:"ok_percent"`
	}
	Counts struct{ Healthy, Ejected int }
	Events []nowEvent
	Nodes  []struct {
		ID      string
		Self    bool
		Version string
		Ahead   *float64 `json:"ahead_ms"`
		Rate    *string
	}
}

// operatorOf is somebody who runs the gateway.
func operatorOf(t *testing.T, gw *apptest.Gateway) *apptest.Account {
	t.Helper()
	return deskOf(t, gw, apikey.Operator)
}

// deskOf is a person of a role at the address for operators.
func deskOf(t *testing.T, gw *apptest.Gateway, role apikey.Role) *apptest.Account {
	t.Helper()
	o := gw.NewOwner(t, 1, apikey.NewKey{})
	if err := gw.Node.Admin().Users.SetRole(t.Context(), o.User, role, audit.Actor{Name: "test"}); err != nil {
		t.Fatal(err)
	}
	return &apptest.Account{Gw: &apptest.Gateway{URL: gw.Node.AdminURL(), Client: gw.Client}, Key: o.Pages.Key}
}

func nowOf(t *testing.T, desk *apptest.Account) nowAnswer {
	t.Helper()
	got := desk.Do(t, http.MethodGet, "/api/admin/now", nil)
	if got.Status != http.StatusOK {
		t.Fatalf("%d %s", got.Status, got.Body)
	}
	return apptest.Decode[nowAnswer](t, got.Body)
}

// The page of operators and /metrics say the same, under a load of which a part fails: what is counted there is on the page, whole.
func TestNowAgreesWithMetrics(t *testing.T) {
	t.Parallel()
	var broken, both atomic.Bool
	var sim http.Handler
	flaky := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if broken.Load() {
			http.Error(w, "out of order", http.StatusInternalServerError)
			return
		}
		sim.ServeHTTP(w, r)
	}))
	t.Cleanup(flaky.Close)
	spare := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if both.Load() {
			http.Error(w, "out of order", http.StatusInternalServerError)
			return
		}
		sim.ServeHTTP(w, r)
	}))
	t.Cleanup(spare.Close)
	gw := apptest.StartGateway(t, func(s *apptest.Setup) {
		s.Server.AdminListen = "127.0.0.1:0"
		s.Health = config.Default().Health
		s.Health.CoolDown = time.Hour // on a busy machine it would come back meanwhile, and leave again
		for i, p := range []catalog.Provider{{ID: "flaky", Name: "Flaky", Dialect: "openai", BaseURL: flaky.URL + "/v1"}, {ID: "spare", Name: "Spare", Dialect: "openai", BaseURL: spare.URL + "/v1"}} {
			s.Declared.Providers = append(s.Declared.Providers, p)
			o := apptest.OfferOf(t, p.ID, "test/pair", "chat")
			o.Pricing.Base.Prompt = apptest.Price(t, []string{"0.1", "0.2"}[i])
			s.Offers = append(s.Offers, o)
		}
	})
	sim = gw.Sim
	desk := operatorOf(t, gw)
	accounts := gw.NewAccounts(t, 3)
	apptest.WaitFor(t, "the node to look at itself", func() bool { return nowOf(t, desk).Nodes[0].Ahead != nil })
	load := func(n int) {
		t.Helper()
		var all sync.WaitGroup
		for _, a := range accounts {
			all.Go(func() {
				for range n {
					a.Chat(t, map[string]any{"model": "test/pair", "provider": map[string]any{"sort": "price"}, "messages": []any{map[string]any{"role": "user", "content": "hello"}}})
				}
			})
		}
		all.Wait()
	}
	load(10)
	broken.Store(true)
	load(10)
	both.Store(true)
	load(2)
	s, err := figures.Read(strings.NewReader(gw.Metrics(t)), time.Now())
	if err != nil {
		t.Fatal(err)
	}
	counted := s.Totals()
	if counted.Requests != 66 || counted.Saved == 0 || counted.Failed == 0 || counted.FailedAttempts == 0 {
		t.Fatalf("the load is not as it should be: %+v", counted)
	}
	var is nowAnswer
	apptest.WaitFor(t, "the page to have the whole load", func() bool {
		is = nowOf(t, desk)
		sum := 0.0
		for _, p := range is.Points {
			sum += p.Requests
		}
		return sum == counted.Requests && len(is.Events) > 0
	})
	var failed, attempts, failedAttempts float64
	for _, p := range is.Points {
		failed, attempts, failedAttempts = failed+p.Failed, attempts+p.Attempts, failedAttempts+p.FailedAttempts
	}
	if failed != counted.Failed || attempts != counted.Attempts || failedAttempts != counted.FailedAttempts {
		t.Errorf("the chart has %v failed, %v attempts, %v failed attempts; /metrics has %+v", failed, attempts, failedAttempts, counted)
	}
	whole := figures.Between(nil, &counted, 1)
	f := is.Figures
	for name, x := range map[string]struct {
		is   nowFigure
		want float64
	}{
		"failed": {f.Failed, whole.FailedShare()}, "saved": {f.Saved, whole.SavedShare()}, "added": {f.Added, 1000 * whole.AddedP99()},
		"sales": {f.Sales, *f.Requests.Node * 60 * whole.Rubles / whole.Requests},
	} {
		if x.is.Node == nil || x.is.All == nil || math.Abs(*x.is.Node-x.want) > 1e-6*math.Abs(x.want) || *x.is.All != *x.is.Node {
			t.Errorf("%s is %v, want %v", name, x.is, x.want)
		}
	}
	// Longer times have the whole load, too.
	for _, over := range []string{"5m", "1h", "24h"} {
		got := desk.Do(t, http.MethodGet, "/api/admin/now?over="+over, nil)
		long := apptest.Decode[nowAnswer](t, got.Body)
		l := long.Figures
		if got.Status != http.StatusOK || long.Over != over || long.Seconds <= 0 || math.Abs(*l.Requests.All*long.Seconds-counted.Requests) > 1e-6*counted.Requests {
			t.Errorf("%s: %d %s", over, got.Status, got.Body)
		}
		for name, x := range map[string][2]float64{"failed": {*l.Failed.All, whole.FailedShare()}, "saved": {*l.Saved.Node, whole.SavedShare()}, "added": {*l.Added.All, 1000 * whole.AddedP99()}, "sales": {*l.Sales.All * long.Seconds / 60, whole.Rubles}} {
			if math.Abs(x[0]-x[1]) > 1e-6*math.Abs(x[1]) {
				t.Errorf("%s in %s is %v, want %v", name, over, x[0], x[1])
			}
		}
	}
	if got := desk.Do(t, http.MethodGet, "/api/admin/now?over=2h", nil); got.Status != http.StatusBadRequest || is.Over != "1m" {
		t.Errorf("%d %s", got.Status, got.Body)
	}
	if f.Failed.Goal == nil || f.Added.Goal == nil || f.Saved.Goal != nil {
		t.Error("goals are not where they belong")
	}
	if len(is.Nodes) != 1 || !is.Nodes[0].Self || is.Nodes[0].ID != gw.Node.ID() || is.Nodes[0].Rate == nil || is.Nodes[0].Ahead == nil {
		t.Errorf("%+v", is.Nodes)
	}
	if is.Endpoints[0].ID != "flaky/test/pair" || is.Endpoints[0].State != "ejected" || is.Endpoints[0].Until == nil || is.Counts.Ejected == 0 {
		t.Errorf("%+v %+v", is.Endpoints, is.Counts)
	}
	// Both may be seen out at one look.
	if i := slices.IndexFunc(is.Events, func(e nowEvent) bool { return *e.ID == "flaky/test/pair" }); i < 0 || is.Events[i].Kind != "ejected" || *is.Events[i].Calls != 30 {
		for _, e := range is.Events {
			t.Errorf("%s %s %v", e.Kind, *e.ID, *e.Calls)
		}
	}
	if len(is.Checks) != 6 {
		t.Errorf("%+v", is.Checks)
	}
	visitor := &apptest.Account{Gw: desk.Gw, Key: gw.NewOwner(t, 1, apikey.NewKey{}).Pages.Key}
	if got := visitor.Do(t, http.MethodGet, "/api/admin/now", nil); got.Status != http.StatusForbidden {
		t.Errorf("a user sees how the gateway does: %d", got.Status)
	}
}
