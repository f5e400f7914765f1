package app_test

import (
	"net/http"
	"regexp"
	"strings"
	"testing"

	"weir/internal/app/apptest"
	"weir/internal/trace/otlp/otlptest"
)

var exemplar = regexp.MustCompile(`(?m)^(weir_[a-z_]+)_bucket\{.*\} [0-9]+ # \{trace_id="([0-9a-f]{32})"\} [0-9.e-]+ [0-9.e+]+$`)

// Who asks for OpenMetrics finds the trace of a call in the classes that it was counted in, for its time and that of its first content.
func TestExemplars(t *testing.T) {
	t.Parallel()
	receiver := otlptest.Start(t, nil)
	gw := apptest.StartGateway(t, traced(receiver.URL), func(s *apptest.Setup) { s.Server.AdminListen = "127.0.0.1:0" })
	server, _ := spansOf(t, receiver, gw.NewAccount(t).Chat(t, chat("test/next", nil)))
	operator := &apptest.Account{Gw: &apptest.Gateway{URL: gw.Node.AdminURL(), Client: gw.Client}}
	var found map[string]bool
	apptest.WaitFor(t, "the exemplars of a call", func() bool { // the span may arrive before the call is counted
		got := operator.Send(t, http.MethodGet, "/metrics", nil, map[string]string{"Authorization": "", "Accept": "application/openmetrics-text;version=1.0.0,text/plain;q=0.5"})
		if !strings.HasPrefix(got.Header.Get("Content-Type"), "application/openmetrics-text; version=1.0.0; charset=utf-8") || !strings.HasSuffix(string(got.Body), "\n# EOF\n") || strings.Contains(string(got.Body), "_total counter") {
			t.Fatalf("%s: %s", got.Header.Get("Content-Type"), got.Body)
		}
		found = map[string]bool{}
		for _, m := range exemplar.FindAllStringSubmatch(string(got.Body), -1) {
			if m[2] == server.Trace {
				found[m[1]] = true
			}
		}
		return len(found) > 0
	})
	if !found["weir_http_request_seconds"] || !found["weir_first_content_seconds"] {
		t.Errorf("exemplars of %v", found)
	}
	if strings.Contains(gw.Metrics(t), "trace_id") {
		t.Error("the text format has exemplars")
	}
}
