package httpapi_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"weir/internal/accountapi"
	"weir/internal/agent"
	"weir/internal/apikey"
	"weir/internal/catalogapi"
	"weir/internal/fault"
	"weir/internal/httpapi"
	"weir/internal/record"
	"weir/internal/relay"
)

// reported is a body as Claude Code 2.1.330 sends it, in the JSON of OTLP.
const (
	reportedMetrics = `{"resourceMetrics":[{"resource":{"attributes":[{"key":"service.name","value":{"stringValue":"claude-code"}},{"key":"service.version","value":{"stringValue":"2.1.330"}}]},"scopeMetrics":[{"metrics":[
{"name":"claude_code.lines_of_code.count","sum":{"aggregationTemporality":1,"isMonotonic":true,"dataPoints":[{"attributes":[{"key":"session.id","value":{"stringValue":"SESSION"}},{"key":"type","value":{"stringValue":"added"}}],"asDouble":12},{"attributes":[{"key":"session.id","value":{"stringValue":"SESSION"}},{"key":"type","value":{"stringValue":"removed"}}],"asDouble":5}]}},
{"name":"claude_code.commit.count","sum":{"aggregationTemporality":1,"dataPoints":[{"attributes":[{"key":"session.id","value":{"stringValue":"SESSION"}}],"asInt":"2"}]}},
{"name":"claude_code.code_edit_tool.decision","sum":{"aggregationTemporality":1,"dataPoints":[{"attributes":[{"key":"session.id","value":{"stringValue":"SESSION"}},{"key":"decision","value":{"stringValue":"reject"}},{"key":"tool_name","value":{"stringValue":"Edit"}}],"asInt":1}]}},
{"name":"claude_code.active_time.total","sum":{"aggregationTemporality":1,"dataPoints":[{"attributes":[{"key":"session.id","value":{"stringValue":"SESSION"}},{"key":"type","value":{"stringValue":"cli"}}],"asDouble":61.25}]}},
{"name":"claude_code.token.usage","sum":{"aggregationTemporality":1,"dataPoints":[{"attributes":[{"key":"session.id","value":{"stringValue":"SESSION"}},{"key":"type","value":{"stringValue":"input"}}],"asInt":"99999"}]}}]}]}]}`
	reportedLogs = `{"resourceLogs":[{"scopeLogs":[{"logRecords":[
{"body":{"stringValue":"claude_code.user_prompt"},"attributes":[{"key":"session.id","value":{"stringValue":"SESSION"}},{"key":"event.name","value":{"stringValue":"user_prompt"}},{"key":"prompt","value":{"stringValue":"the secret plan"}}]},
{"body":{"stringValue":"claude_code.tool_decision"},"attributes":[{"key":"session.id","value":{"stringValue":"SESSION"}},{"key":"event.name","value":{"stringValue":"tool_decision"}},{"key":"decision","value":{"stringValue":"accept"}}]},
{"body":{"stringValue":"claude_code.tool_decision"},"attributes":[{"key":"session.id","value":{"stringValue":"SESSION"}},{"key":"event.name","value":{"stringValue":"tool_decision"}},{"key":"decision","value":{"stringValue":"reject"}}]}]}]}]}`
)

// TestReportsOfAgents takes what Claude Code reports with its sign-in, and shows it with the calls of the session. Prompts are dropped, requests of the key are
// not counted, and another account sees nothing.
func TestReportsOfAgents(t *testing.T) {
	t.Parallel()
	const session = "0f7c1a4e-3c1d-4f0b-9a55-6f2a1a2b3c4d"
	seen := make(chan string, 10)
	r := relayFunc(func(ctx context.Context, c *relay.Call, sink relay.Sink) error {
		seen <- c.Request.SessionID
		return hello(ctx, c, sink)
	})
	var reports *agent.Collector
	n := startAll(t, r, func(c *httpapi.Config) { c.KeyRates.Requests = 2 }, func(d *httpapi.Deps) { d.AgentReports = later{&reports} }, func(a *accountapi.Deps, _ *catalogapi.Deps, _ *accountapi.EventsConfig) {
		a.AgentReports = later{&reports}
	})
	reports = agent.NewCollector(n.store.Agents, time.Now)
	page := n.join(t, "anna@example.org", apikey.User)
	access, _ := n.signAgentIn(page)["access_token"].(string)
	bearer := []string{"Authorization", "Bearer " + access, "User-Agent", "claude-code/2.1.330"}
	if r := n.do("POST", "/v1/messages", messagesBody(false), append(bearer, "X-Claude-Code-Session-Id", session)...); r.StatusCode != 200 || <-seen != session {
		t.Fatalf("%d %s", r.StatusCode, r.body)
	}
	for range 3 {
		if r := n.do("POST", "/v1/metrics", strings.ReplaceAll(reportedMetrics, "SESSION", session), bearer...); r.StatusCode != 200 || string(r.body) != "{}" {
			t.Errorf("%d %s", r.StatusCode, r.body)
		}
	}
	if r := n.do("POST", "/v1/logs", strings.ReplaceAll(reportedLogs, "SESSION", session), bearer...); r.StatusCode != 200 {
		t.Errorf("%d %s", r.StatusCode, r.body)
	}
	if r := n.do("POST", "/v1/traces", `{"resourceSpans":[]}`, bearer...); r.StatusCode != 200 {
		t.Errorf("%d %s", r.StatusCode, r.body)
	}
	caller := n.keyOf(t, access)
	for _, c := range []struct{ user, wallet, id string }{{caller.User, caller.Wallet, "gen-1-anna"}, {"usr_other", caller.Wallet, "gen-1-other"}} {
		n.books.calls[c.wallet+c.id] = &record.Call{Generation: c.id, User: c.user, Session: session}
	}
	got := at(n.do("GET", "/api/calls/gen-1-anna", "", page...).json(t), "data", "session_report")
	for name, want := range map[string]any{"client": "claude-code 2.1.330", "lines_added": 36.0, "lines_removed": 15.0, "commits": 6.0, "pull_requests": 0.0, "edits_accepted": 0.0, "edits_rejected": 3.0,
		"tools_accepted": 1.0, "tools_rejected": 1.0, "user_ms": 0.0, "program_ms": 183750.0} {
		if at(got, name) != want {
			t.Errorf("%s is %v, want %v", name, at(got, name), want)
		}
	}
	if other := at(n.do("GET", "/api/calls/gen-1-other", "", page...).json(t), "data", "session_report"); other != nil {
		t.Errorf("a session of another user: %v", other)
	}
	if log := n.logged(); strings.Contains(log, "secret plan") || strings.Contains(log, access) {
		t.Error("the log has a prompt or a token")
	}

	for name, c := range map[string]struct {
		path, body string
		headers    []string
		status     int
		kind       string
	}{
		"no key":            {"/v1/metrics", "{}", []string{"Authorization", ""}, 401, "authentication_error"},
		"no type":           {"/v1/metrics", "{}", []string{"Content-Type", "text/plain"}, 415, "invalid_request_error"},
		"malformed":         {"/v1/logs", `{"resourceLogs":`, nil, 400, "invalid_request_error"},
		"malformed buffers": {"/v1/traces", "\xff", []string{"Content-Type", "application/x-protobuf"}, 400, "invalid_request_error"},
		"too large":         {"/v1/metrics", `{"a":"` + strings.Repeat("x", 2<<20) + `"}`, nil, 413, "request_too_large"},
	} {
		if r := n.do("POST", c.path, c.body, append(append([]string(nil), bearer...), c.headers...)...); r.StatusCode != c.status || at(r.json(t), "error", "type") != c.kind {
			t.Errorf("%s: %d %s", name, r.StatusCode, r.body)
		}
	}
	if r := n.do("POST", "/v1/metrics", "", append(bearer, "Content-Type", "application/x-protobuf")...); r.StatusCode != 200 || len(r.body) != 0 {
		t.Errorf("%d %q", r.StatusCode, r.body)
	}
}

// later is a collector that is made after the node.
type later struct{ c **agent.Collector }

func (l later) Add(user string, all []agent.Reported) error { return (*l.c).Add(user, all) }

func (l later) ReportOf(ctx context.Context, user, session string) (agent.Report, error) {
	return (*l.c).ReportOf(ctx, user, session)
}

// TestReportsAreBounded refuses more sessions at once than one user may have, and keeps what waits while the store is away.
func TestReportsAreBounded(t *testing.T) {
	t.Parallel()
	s := &awayReports{err: fault.New(fault.StorageUnavailable, "test", "away")}
	c := agent.NewCollector(s, time.Now)
	one := func(session string, n float64) []agent.Reported {
		return []agent.Reported{{Session: session, Count: agent.Commits, N: n}}
	}
	refused := 0
	for i := range 300 {
		if err := c.Add("usr_a", one(strings.Repeat("s", 1+i%255)+strings.Repeat("t", i/255), 1)); err != nil {
			if !fault.Is(err, fault.RateLimited) {
				t.Fatal(err)
			}
			refused++
		}
	}
	if refused != 100 {
		t.Errorf("%d were refused", refused)
	}
	for _, bad := range []float64{-1, 1e13} {
		if err := c.Add("usr_b", one("bad", bad)); err != nil {
			t.Error(err)
		}
	}
	if err := c.Add("usr_b", one("good", 2)); err != nil {
		t.Error(err)
	}
	if c.Flush(t.Context()) == nil {
		t.Fatal("nothing failed")
	}
	if err := c.Add("usr_b", one("good", 3)); err != nil {
		t.Error(err)
	}
	s.err = nil
	if err := c.Flush(t.Context()); err != nil {
		t.Fatal(err)
	}
	if got := s.all["usr_bgood"]; len(s.all) != 201 || got.Add[agent.Commits] != 5 {
		t.Errorf("%d, %+v", len(s.all), got)
	}
}

type awayReports struct {
	err error
	all map[string]agent.Change
}

func (a *awayReports) AddReports(_ context.Context, all []agent.Change, _ int) error {
	if a.err != nil {
		return a.err
	}
	a.all = map[string]agent.Change{}
	for _, c := range all {
		a.all[c.User+c.Session] = c
	}
	return nil
}

func (a *awayReports) ReportOf(context.Context, string, string) (agent.Report, error) {
	return agent.Report{}, fault.New(fault.NotFound, "test", "none")
}
