package app_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"

	"weir/internal/app/apptest"
	"weir/internal/catalog"
)

type endpointSpread struct {
	P50, P95 *float64
	Calls    int
	Bins     []struct {
		From  float64
		To    *float64
		Calls int
	}
}

// sum checks that bins follow one another, and counts their calls.
func (s *endpointSpread) sum(t *testing.T) (calls int) {
	t.Helper()
	for i, b := range s.Bins {
		if calls += b.Calls; i > 0 && (s.Bins[i-1].To == nil || *s.Bins[i-1].To != b.From) {
			t.Errorf("bin %d does not follow the one before: %+v", i, s.Bins)
		}
	}
	if n := len(s.Bins); n > 0 && (s.Bins[0].Calls == 0 || s.Bins[n-1].Calls == 0 || s.P50 == nil || *s.P50 <= 0) {
		t.Errorf("%+v", s)
	}
	return calls
}

type endpointActivity struct {
	Attempts, Served, Failed, Limited int
	FirstToken                        endpointSpread `json:"first_token_ms"`
	Speed                             endpointSpread `json:"tokens_per_second"`
	Causes                            []struct {
		Code, Call      string
		Said            *string
		Errors, Reached int
		FirstAt         string `json:"first_at"`
		LastAt          string `json:"last_at"`
	}
	Moves []struct {
		Endpoint       *string
		Failed, Passed int
		Call           string
	}
	From       string
	MovesSince string `json:"moves_since"`
}

// refusals are what a provider answers in place of the simulator, by name.
var refusals = map[string]func(http.ResponseWriter){
	"limited": func(w http.ResponseWriter) {
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(http.StatusTooManyRequests)
		_, _ = fmt.Fprint(w, `{"error":{"message":"Rate limit reached for requests per min: Limit 500, Used 500.","type":"requests","code":"rate_limit_exceeded"}}`)
	},
	"broken": func(w http.ResponseWriter) {
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(http.StatusInternalServerError)
		_, _ = fmt.Fprint(w, `{"error":{"message":"The engine crashed while it used sk-proj-abcdefghijklmnopqrstuvwxyz012345.","type":"server_error"}}`)
	},
	"malformed": func(w http.ResponseWriter) {
		w.Header().Set("Content-Type", "text/event-stream")
		_, _ = fmt.Fprint(w, "data: {\"id\":\"x\",\"choices\":[{\n\n")
	},
}

// The page of an endpoint has what the records have: its attempts, why they failed in the words of the provider, and who answered in its place.
func TestEndpointActivity(t *testing.T) {
	t.Parallel()
	var refuses atomic.Value
	refuses.Store("")
	var sim http.Handler
	front := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if refuse := refusals[refuses.Load().(string)]; refuse != nil {
			refuse(w)
			return
		}
		sim.ServeHTTP(w, r)
	}))
	t.Cleanup(front.Close)
	gw := apptest.StartGateway(t, pairOf(t), func(s *apptest.Setup) {
		for i := range s.Declared.Providers {
			if p := &s.Declared.Providers[i]; p.ID == "east" {
				*p = catalog.Provider{ID: p.ID, Name: p.Name, Dialect: p.Dialect, BaseURL: front.URL + "/v1"}
			}
		}
	})
	sim = gw.Sim
	desk, a := operatorOf(t, gw), gw.NewAccount(t)
	read := func(id, query string) endpointActivity {
		t.Helper()
		got := desk.Do(t, http.MethodGet, "/api/admin/endpoints/"+strings.ReplaceAll(id, "/", "%2F")+"/activity"+query, nil)
		if got.Status != http.StatusOK {
			t.Fatalf("%d %s", got.Status, got.Body)
		}
		return apptest.Decode[struct{ Data endpointActivity }](t, got.Body).Data
	}
	if is := read("east/test/pair", ""); is.Attempts != 0 || len(is.Causes)+len(is.Moves)+len(is.FirstToken.Bins) != 0 || is.FirstToken.P50 != nil {
		t.Errorf("an endpoint without calls has %+v", is)
	}
	ask := func(n int, refusal string, want string) {
		t.Helper()
		refuses.Store(refusal)
		for range n {
			body := pairAsk("test/pair")
			body["stream"] = refusal == "malformed"
			got := a.Chat(t, body)
			if got.Status != http.StatusOK || !strings.Contains(string(got.Body), `"provider":"`+want+`"`) {
				t.Fatalf("%s: %d %s", refusal, got.Status, got.Body)
			}
		}
	}
	ask(3, "", "EAST")
	ask(2, "limited", "WEST")
	ask(2, "broken", "WEST")
	ask(1, "malformed", "WEST")
	if got := desk.Do(t, http.MethodPut, absence("endpoint:east/test/pair"), map[string]any{"mode": "drain"}); got.Status != http.StatusOK {
		t.Fatalf("%d %s", got.Status, got.Body)
	}
	ask(2, "", "WEST")

	is := read("east/test/pair", "?hours=2")
	if is.Attempts != 8 || is.Served != 3 || is.Limited != 2 || is.Failed != 3 {
		t.Errorf("%+v", is)
	}
	if is.FirstToken.sum(t) != 3 || is.FirstToken.Calls != 3 || is.Speed.sum(t) != 3 || is.Speed.Calls != 3 {
		t.Errorf("%+v\n%+v", is.FirstToken, is.Speed)
	}
	if len(is.Moves) != 1 || is.Moves[0].Endpoint == nil || *is.Moves[0].Endpoint != "west/test/pair" || is.Moves[0].Failed != 5 || is.Moves[0].Passed != 2 || is.MovesSince != is.From {
		t.Errorf("%+v, since %s", is.Moves, is.MovesSince)
	}
	said := map[string]string{}
	for _, c := range is.Causes {
		key := c.Code
		if c.Said != nil {
			key += ": " + *c.Said
		}
		said[key] = fmt.Sprint(c.Errors, " errors, ", c.Reached, " reached")
		if c.FirstAt == "" || c.LastAt < c.FirstAt {
			t.Errorf("%+v", c)
		}
	}
	want := map[string]string{
		"rate_limit_exceeded: Rate limit reached for requests per min: Limit 500, Used 500.": "2 errors, 0 reached",
		"provider_unavailable: The engine crashed while it used [redacted:key]":              "2 errors, 0 reached",
		"provider_unavailable": "1 errors, 0 reached", // the stream that is no JSON: the provider said nothing of it
	}
	if fmt.Sprint(said) != fmt.Sprint(want) {
		t.Errorf("%v\nwant\n%v", said, want)
	}
	recordsAgree(t, desk, &is)
	for path, status := range map[string]int{"nobody%2Ftest%2Fpair/activity": 404, "east%2Ftest%2Fpair/activity?hours=169": 400} {
		if got := desk.Do(t, http.MethodGet, "/api/admin/endpoints/"+path, nil); got.Status != status {
			t.Errorf("%s: %d %s", path, got.Status, got.Body)
		}
	}
}

// recordsAgree adds up the attempts at an endpoint that the records of all calls have.
func recordsAgree(t *testing.T, desk *apptest.Account, is *endpointActivity) {
	t.Helper()
	type call struct {
		ID       string
		Attempts []struct {
			Endpoint string
			Reason   *string
		}
	}
	list := apptest.Decode[struct{ Data []struct{ ID string } }](t, desk.Do(t, http.MethodGet, "/api/admin/calls?limit=50", nil).Body).Data
	reasons, attempts := map[string]int{}, 0
	for _, c := range list {
		one := apptest.Decode[struct{ Data call }](t, desk.Do(t, http.MethodGet, "/api/admin/calls/"+c.ID, nil).Body).Data
		for _, x := range one.Attempts {
			if x.Endpoint != "east/test/pair" {
				continue
			}
			if attempts++; x.Reason != nil && *x.Reason != "" {
				reasons[*x.Reason]++
			}
		}
	}
	if len(list) != 10 || attempts != is.Attempts {
		t.Errorf("%d calls have %d attempts, the page %d", len(list), attempts, is.Attempts)
	}
	for _, c := range is.Causes {
		reasons[c.Code] -= c.Errors
	}
	for code, n := range reasons {
		if n != 0 {
			t.Errorf("the records have %d more of %s than the page", n, code)
		}
	}
}
