package httpapi

import (
	"mime"
	"net/http"

	"weir/internal/agent"
	"weir/internal/fault"
	"weir/internal/wire/otlp"
)

// AgentReports takes what programs report of their sessions. *agent.Collector is one.
type AgentReports interface {
	// Add notes reports of a user. It fails with fault.RateLimited.
	Add(user string, all []agent.Reported) error
}

// Attributes of what Claude Code reports (code.claude.com, "Monitoring"): all that is read of its reports beside the counts.
const (
	ofSession  = "session.id"
	ofType     = "type"
	ofDecision = "decision"
	ofEvent    = "event.name"
	ofService  = "service.name"
	ofVersion  = "service.version"
)

var wantedOfReports = []string{ofSession, ofType, ofDecision, ofEvent, ofService, ofVersion}

// metrics of Claude Code by the value of the attribute that divides them.
var reportedMetrics = map[string]struct {
	by     string
	counts map[string]agent.Count
	times  float64
}{
	"claude_code.lines_of_code.count":     {ofType, map[string]agent.Count{"added": agent.LinesAdded, "removed": agent.LinesRemoved}, 1},
	"claude_code.commit.count":            {"", map[string]agent.Count{"": agent.Commits}, 1},
	"claude_code.pull_request.count":      {"", map[string]agent.Count{"": agent.PullRequests}, 1},
	"claude_code.code_edit_tool.decision": {ofDecision, map[string]agent.Count{"accept": agent.EditsAccepted, "reject": agent.EditsRejected}, 1},
	"claude_code.active_time.total":       {ofType, map[string]agent.Count{"user": agent.ActiveUser, "cli": agent.ActiveProgram}, 1000},
}

var reportedDecisions = map[string]agent.Count{"accept": agent.ToolsAccepted, "reject": agent.ToolsRejected}

// report is a body of OTLP with its reader.
func (x *request) report() (otlp.Reader, []byte, error) {
	r := otlp.Reader{Wanted: wantedOfReports}
	switch kind, _, _ := mime.ParseMediaType(x.header("Content-Type")); kind {
	case "application/json":
		r.JSON = true
	case "application/x-protobuf":
	default:
		return r, nil, fault.New(fault.UnsupportedMediaType, "httpapi.report", "Content-Type must be application/x-protobuf or application/json.")
	}
	body, err := x.readBytes()
	return r, body, err
}

// taken answers a report: an empty message.
func (x *request) taken(r otlp.Reader) error {
	if r.JSON {
		x.writeBody(http.StatusOK, jsonType, []byte("{}"))
	} else {
		x.writeBody(http.StatusOK, []string{"application/x-protobuf"}, nil)
	}
	return nil
}

// keep notes what was reported for the caller.
func (x *request) keep(r otlp.Reader, all []agent.Reported) error {
	if x.api.AgentReports != nil && len(all) > 0 {
		if err := x.api.AgentReports.Add(x.caller.User, all); err != nil {
			return err
		}
	}
	return x.taken(r)
}

func clientOf(a otlp.Attributes) string {
	name := a.Of(ofService)
	if name == "" {
		return ""
	}
	if v := a.Of(ofVersion); v != "" {
		name += " " + v
	}
	if len(name) > 64 {
		return ""
	}
	for _, c := range []byte(name) {
		if c < ' ' || c > '~' {
			return ""
		}
	}
	return name
}

// postMetrics takes metrics of Claude Code: what it counts of a session.
func (x *request) postMetrics() error {
	r, body, err := x.report()
	if err != nil {
		return err
	}
	var all []agent.Reported
	if err := r.Metrics(body, func(p *otlp.Point) {
		m, known := reportedMetrics[p.Metric]
		if !known {
			return
		}
		by := ""
		if m.by != "" {
			by = p.Attributes.Of(m.by)
		}
		if count, ok := m.counts[by]; ok {
			all = append(all, agent.Reported{Session: p.Attributes.Of(ofSession), Client: clientOf(p.Attributes), Count: count, N: p.Value * m.times, Since: p.Cumulative})
		}
	}); err != nil {
		return err
	}
	return x.keep(r, all)
}

// postLogs takes events of Claude Code: which tool calls were accepted. Their other attributes may have commands and prompts.
func (x *request) postLogs() error {
	r, body, err := x.report()
	if err != nil {
		return err
	}
	var all []agent.Reported
	if err := r.Logs(body, func(e *otlp.Event) {
		if name := e.Attributes.Of(ofEvent); name != "tool_decision" && name != "claude_code.tool_decision" {
			return
		}
		if count, ok := reportedDecisions[e.Attributes.Of(ofDecision)]; ok {
			all = append(all, agent.Reported{Session: e.Attributes.Of(ofSession), Client: clientOf(e.Attributes), Count: count, N: 1})
		}
	}); err != nil {
		return err
	}
	return x.keep(r, all)
}

// postTraces takes spans and keeps nothing of them: without it, the exporter of a client logs an error each time.
func (x *request) postTraces() error {
	r, body, err := x.report()
	if err != nil {
		return err
	}
	if err := r.Traces(body); err != nil {
		return err
	}
	return x.taken(r)
}
