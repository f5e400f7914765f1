package httpapi_test

import (
	"context"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"weir/internal/apikey"
	"weir/internal/audit"
	"weir/internal/fault"
	"weir/internal/httpapi"
	"weir/internal/relay"
)

// seers are an administrator, an operator and two people of a node whose clock the test sets.
type seers struct {
	*node
	clock                     *time.Time
	boss, operator, anna, bob []string // headers of their pages
	ids                       map[string]string
}

func startSeers(t *testing.T, upstream relayFunc) *seers {
	now := time.Now()
	n := startWith(t, upstream, func(c *httpapi.Config) {
		c.AdminAPI, c.UserCallsPerMinute, c.FailedAuthPerMinute, c.AnonymousPerSecond = true, 100000, 100000, 0
	}, func(d *httpapi.Deps) { d.Now = func() time.Time { return now } })
	s := &seers{node: n, clock: &now, ids: map[string]string{}}
	s.boss, s.operator = n.join(t, "boss@example.org", apikey.Administrator), n.join(t, "op@example.org", apikey.Operator)
	s.anna, s.bob = n.join(t, "anna@example.org", apikey.User), n.join(t, "bob@example.org", apikey.User)
	for name, page := range map[string][]string{"boss": s.boss, "operator": s.operator, "anna": s.anna, "bob": s.bob} {
		s.ids[name], _ = at(s.me(t, page), "user", "id").(string)
	}
	return s
}

func (s *seers) me(t *testing.T, page []string) map[string]any {
	t.Helper()
	return s.do("GET", "/api/me", "", page...).json(t)
}

func (s *seers) see(page []string, whom string) *response {
	return s.do("POST", "/api/admin/users/"+s.ids[whom]+"/see", "", page...)
}

func (s *seers) mustSee(t *testing.T, page []string, whom string) {
	t.Helper()
	if r := s.see(page, whom); r.StatusCode != 204 {
		t.Fatalf("%d %s", r.StatusCode, r.body)
	}
}

// wantSeen checks as whom a page is shown, and that it says so where that is another person.
func (s *seers) wantSeen(t *testing.T, page []string, whom, by string) {
	t.Helper()
	m := s.me(t, page)
	if at(m, "user", "id") != s.ids[whom] {
		t.Errorf("the page is of %v; want %s", at(m, "user", "id"), whom)
	}
	switch {
	case by == "" && at(m, "seeing") != nil:
		t.Errorf("it says %v", at(m, "seeing"))
	case by != "" && at(m, "seeing", "by") != s.ids[by]:
		t.Errorf("it says %v; want by %s", at(m, "seeing"), by)
	}
}

func (s *seers) log(t *testing.T) []string {
	t.Helper()
	rows, err := s.store.Accounts.AuditFound(t.Context(), audit.Search{Action: "see_as.", Limit: 100})
	if err != nil {
		t.Fatal(err)
	}
	var lines []string
	for _, r := range rows {
		after := r.After
		if r.Action == audit.SeeingBegan {
			after, _, _ = strings.Cut(after, " ")
		}
		name := func(id string) string {
			for n, is := range s.ids {
				if is == strings.TrimPrefix(id, "user:") {
					return n
				}
			}
			return id
		}
		lines = append(lines, name(r.Actor.Name)+" "+r.Action+" "+name(r.Target)+" "+after)
	}
	slices.Reverse(lines)
	return lines
}

// openWhileSeeing are the routes that change something and are open nevertheless, with the reason.
var openWhileSeeing = map[string]string{
	"DELETE /api/auth/seeing": "the way out",
	"POST /api/auth/sign-out": "it ends the operator's own session, and the view with it",
}

// refuses reports whether an answer says, in whatever style, that an operator looks on and may do no more.
func refuses(r *response) bool {
	return r.StatusCode == 403 && strings.Contains(string(r.body), "You look at this gateway as another person sees it")
}

// Every route that changes something, spends something or belongs to the person alone refuses an operator who sees as that person: whatever a new
// route is for, it refuses until it says otherwise.
func TestEveryRouteThatChangesRefusesWhoSeesAsAnother(t *testing.T) {
	t.Parallel()
	called := false
	s := startSeers(t, func(context.Context, *relay.Call, relay.Sink) error { called = true; return nil })
	s.mustSee(t, s.boss, "anna")
	refused, open := 0, map[string]bool{}
	for _, r := range s.api.Routes() {
		name := r.Method + " " + r.Pattern
		if r.Notified() || strings.HasPrefix(r.Pattern, "/v2/") || r.LiteLLM() || r.Method == http.MethodGet { // the first three take no session
			continue
		}
		if openWhileSeeing[name] != "" {
			open[name] = true
			continue
		}
		path := strings.NewReplacer("{id}", "none", "{hash}", "none", "{name}", "none", "{version}", "1", "{kind}", "video", "{target}", "none").Replace(r.Pattern)
		if strings.HasPrefix(path, "/v1") {
			path = "/api" + path
		}
		got := s.do(r.Method, path, "{}", s.boss...)
		if !refuses(got) {
			t.Errorf("%s: %d %s", name, got.StatusCode, got.body)
		}
		refused++
	}
	if refused < 80 || called {
		t.Errorf("%d routes were asked; a model was called: %t", refused, called)
	}
	for name := range openWhileSeeing {
		if !open[name] {
			t.Errorf("openWhileSeeing has %s, which is no route", name)
		}
	}
	s.wantSeen(t, s.boss, "anna", "boss")
	for _, path := range []string{ // readings that are for the person alone, or change something
		"/api/account/webhook-secret", "/api/chats", "/api/chats/none", "/api/chats.json", "/api/calls/none/text", "/api/auth/oidc/none/callback",
		"/api/v1/responses/none", "/api/v1/responses/none/input_items", "/api/v1/files/none/content", "/api/v1/videos/none/content", "/api/v1/messages/batches/none/results",
	} {
		if got := s.do("GET", path, "", s.boss...); !refuses(got) {
			t.Errorf("%s: %d %s", path, got.StatusCode, got.body)
		}
	}
	for _, page := range []string{"/api/auth/sessions", "/api/v1/keys", "/api/v1/credits", "/api/account/profile"} {
		if got := s.do("GET", page, "", s.boss...); got.StatusCode != 200 || got.Header.Get("X-Weir-Sees") != s.ids["anna"] {
			t.Errorf("%s: %d %s", page, got.StatusCode, got.body)
		}
	}
}

// Who sees as a user has what the user has: nothing of the operators, nothing of their own account, and no more than before.
func TestWhoSeesAsAnotherHasTheirRole(t *testing.T) {
	t.Parallel()
	s := startSeers(t, hello)
	s.mustSee(t, s.boss, "anna")
	r := s.do("GET", "/api/admin/users", "", s.boss...)
	if wantError(t, r, 403, fault.PermissionDenied); r.Header.Get("X-Weir-Sees") != s.ids["anna"] {
		t.Error("a page that does not know it yet is not shown it")
	}
	wantError(t, s.see(s.boss, "bob"), 403, fault.PermissionDenied) // never one within another
	s.wantSeen(t, s.anna, "anna", "")
	if r := s.do("PATCH", "/api/account/profile", `{"name":"Anna"}`, s.anna...); r.StatusCode != 200 {
		t.Errorf("she is hindered: %d %s", r.StatusCode, r.body)
	}
	for page, sessions := range map[*[]string]int{&s.anna: 1, &s.boss: 1} { // the view is no sign-in
		if got, _ := at(s.do("GET", "/api/auth/sessions", "", *page...).json(t), "data").([]any); len(got) != sessions {
			t.Errorf("%v", got)
		}
	}
	if r := s.do("DELETE", "/api/auth/seeing", "", s.boss...); r.StatusCode != 204 {
		t.Fatalf("%d %s", r.StatusCode, r.body)
	}
	s.wantSeen(t, s.boss, "boss", "")
	if r := s.do("DELETE", "/api/auth/seeing", "", s.boss...); r.StatusCode != 204 { // again
		t.Errorf("%d %s", r.StatusCode, r.body)
	}
	if got := strings.Join(s.log(t), "; "); got != "boss see_as.begin anna until; boss see_as.end anna asked" {
		t.Error(got)
	}
}

// Who may look at whom.
func TestWhoMaySeeAsWhom(t *testing.T) {
	t.Parallel()
	s := startSeers(t, hello)
	by := map[string][]string{"boss": s.boss, "operator": s.operator, "anna": s.anna}
	if r := s.do("POST", "/api/admin/users/"+s.ids["bob"]+"/block", "", s.boss...); r.StatusCode != 204 {
		t.Fatalf("%d %s", r.StatusCode, r.body)
	}
	s.ids["nobody"] = "usr_none"
	for _, try := range []struct {
		who, whom string
		status    int
	}{
		{"anna", "boss", 403}, {"anna", "anna", 403}, {"operator", "boss", 403}, {"operator", "operator", 409}, {"boss", "boss", 409},
		{"boss", "bob", 409}, {"boss", "nobody", 404}, {"operator", "anna", 204}, {"boss", "operator", 204},
	} {
		if r := s.see(by[try.who], try.whom); r.StatusCode != try.status {
			t.Errorf("%s sees as %s: %d %s", try.who, try.whom, r.StatusCode, r.body)
		}
	}
	if r := s.manage("POST", "/api/admin/users/"+s.ids["anna"]+"/see", ""); r.StatusCode != 403 {
		t.Errorf("a management key: %d %s", r.StatusCode, r.body)
	}
}

// It ends by itself: with the time, the role, the person, and the operator's own session. Each end is in the audit once.
func TestSeeingEndsByItself(t *testing.T) {
	t.Parallel()
	for why, try := range map[string]struct {
		end    func(t *testing.T, s *seers)
		signed bool // the operator is still signed in
		log    string
	}{
		"time": {func(_ *testing.T, s *seers) { *s.clock = s.clock.Add(15 * time.Minute) }, true, "time"},
		"the role": {func(t *testing.T, s *seers) {
			s.must(t, s.users.SetRole(t.Context(), s.ids["operator"], apikey.User, audit.Actor{Name: "test"}))
		}, true, "refused"},
		"the person becomes an administrator": {func(t *testing.T, s *seers) {
			s.must(t, s.users.SetRole(t.Context(), s.ids["anna"], apikey.Administrator, audit.Actor{Name: "test"}))
		}, true, "refused"},
		"the person is blocked": {func(t *testing.T, s *seers) {
			s.must(t, s.users.SetDisabled(t.Context(), s.ids["anna"], true, audit.Actor{Name: "test"}))
		}, true, "refused"},
		"the person is forgotten": {func(t *testing.T, s *seers) {
			s.must(t, s.users.Forget(t.Context(), s.ids["anna"], audit.Actor{Name: "test"}))
		}, true, "refused"},
		"the operator is forgotten": {func(t *testing.T, s *seers) {
			s.must(t, s.users.Forget(t.Context(), s.ids["operator"], audit.Actor{Name: "test"}))
		}, false, "session"},
		"sign-out": {func(t *testing.T, s *seers) {
			if r := s.do("POST", "/api/auth/sign-out", "{}", s.operator...); r.StatusCode != 204 {
				t.Errorf("%d %s", r.StatusCode, r.body)
			}
		}, false, "session"},
		"another ends the session": {func(t *testing.T, s *seers) {
			_, err := s.people.EndAll(t.Context(), s.ids["operator"], audit.Actor{Name: "test"})
			s.must(t, err)
		}, false, "session"},
		"the operator is blocked": {func(t *testing.T, s *seers) {
			s.must(t, s.users.SetDisabled(t.Context(), s.ids["operator"], true, audit.Actor{Name: "test"}))
			*s.clock = s.clock.Add(15 * time.Minute)
		}, false, "time"},
	} {
		t.Run(why, func(t *testing.T) {
			t.Parallel()
			s := startSeers(t, hello)
			s.mustSee(t, s.operator, "anna")
			*s.clock = s.clock.Add(14 * time.Minute)
			s.wantSeen(t, s.operator, "anna", "operator")
			try.end(t, s)
			// a page that still shows Anna is refused, whatever it asks: it would act for the operator's own account
			believes := append(slices.Clone(s.operator), "X-Weir-Sees", s.ids["anna"])
			wants := 403
			if !try.signed {
				wants = 401
			}
			for _, act := range []struct{ method, path, body string }{{"POST", "/api/v1/keys", `{"name":"backend"}`}, {"GET", "/api/v1/keys", ""}, {"POST", "/api/v1/chat/completions", chatBody(false)}, {"DELETE", "/api/auth/sessions", ""}} {
				r := s.do(act.method, act.path, act.body, believes...)
				if r.StatusCode != wants || try.signed && at(r.json(t), "error", "metadata", "seeing") != "ended" {
					t.Errorf("%s %s: %d %s", act.method, act.path, r.StatusCode, r.body)
				}
			}
			if try.signed {
				s.wantSeen(t, s.operator, "operator", "")
			}
			for range 2 {
				_, err := s.people.Sweep(t.Context(), 10)
				s.must(t, err)
			}
			if got := strings.Join(s.log(t), "; "); got != "operator see_as.begin anna until; operator see_as.end anna "+try.log {
				t.Error(got)
			}
		})
	}
}

func (s *seers) must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// The view is with the session and nothing else: no header and no cookie begins it, moves it, or takes a read-only session out of it.
func TestSeeingCannotBeForged(t *testing.T) {
	t.Parallel()
	s := startSeers(t, hello)
	for _, with := range [][]string{{"X-Weir-Sees", s.ids["anna"]}, {"X-Weir-Sees", s.ids["boss"]}} {
		for _, page := range [][]string{s.bob, s.operator, s.boss} {
			if r := s.do("GET", "/api/v1/keys", "", append(slices.Clone(page), with...)...); r.StatusCode != 403 {
				t.Errorf("%d %s", r.StatusCode, r.body)
			}
		}
	}
	s.mustSee(t, s.boss, "anna")
	for _, with := range [][]string{nil, {"X-Weir-Sees", s.ids["anna"]}, {"X-Weir-Sees", s.ids["boss"]}, {"X-Weir-Sees", s.ids["bob"]}, {"X-HTTP-Method-Override", "GET"}} {
		if r := s.do("POST", "/api/v1/keys", `{"name":"x"}`, append(slices.Clone(s.boss), with...)...); r.StatusCode != 403 {
			t.Errorf("%v: %d %s", with, r.StatusCode, r.body)
		}
	}
	// a sign-in in the same browser begins no session that sees as somebody, and none that is left half
	wantError(t, s.do("POST", "/api/auth/sign-in", `{"email":"boss@example.org","password":"`+password+`"}`, s.boss...), 403, fault.PermissionDenied)
	in := s.do("POST", "/api/auth/sign-in", `{"email":"boss@example.org","password":"`+password+`"}`, s.page()...)
	s.wantSeen(t, s.page("Cookie", "__Host-weir="+cookieOf(t, in).Value), "boss", "")
	s.wantSeen(t, s.boss, "anna", "boss")
	if r := s.do("GET", "/api/v1/keys", "", s.anna...); strings.Contains(string(r.body), `"web"`) {
		t.Errorf("a key was made for her: %s", r.body)
	}
}

// Of many begins and ends at one moment each begin has one end, and whatever is sent meanwhile is refused or the operator's own.
func TestSeeingBeginsAndEndsAtOneMoment(t *testing.T) {
	t.Parallel()
	s := startSeers(t, hello)
	believes := append(slices.Clone(s.boss), "X-Weir-Sees", s.ids["anna"])
	for range 5 {
		var wg sync.WaitGroup
		for range 4 {
			wg.Go(func() {
				s.see(s.boss, "anna")
				if r := s.do("PATCH", "/api/account/profile", `{"name":"Mallory"}`, believes...); r.StatusCode < 400 {
					t.Errorf("%d %s", r.StatusCode, r.body)
				}
				s.do("DELETE", "/api/auth/seeing", "", s.boss...)
			})
		}
		wg.Wait()
	}
	s.do("DELETE", "/api/auth/seeing", "", s.boss...)
	lines := s.log(t)
	for i, line := range lines {
		if want := [...]string{audit.SeeingBegan, audit.SeeingEnded}[i%2]; !strings.Contains(line, want) {
			t.Fatalf("%d: %v", i, lines)
		}
	}
	if len(lines)%2 != 0 || len(lines) == 0 {
		t.Errorf("%v", lines)
	}
	for _, page := range [][]string{s.anna, s.boss} {
		if at(s.me(t, page), "user", "name") == "Mallory" {
			t.Error("a name was changed")
		}
	}
}
