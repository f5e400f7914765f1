package app_test

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"go.yaml.in/yaml/v3"

	"weir/internal/app/apptest"
	"weir/internal/catalog"
	"weir/internal/certificate/certificatetest"
	"weir/internal/config"
	"weir/internal/trace/otlp/otlptest"
)

// series are the metrics of an answer of /metrics, with their labels.
func series(text string) map[string]map[string]bool {
	out := map[string]map[string]bool{}
	for line := range strings.Lines(text) {
		if strings.HasPrefix(line, "#") || strings.TrimSpace(line) == "" {
			continue
		}
		name := line[:strings.IndexAny(line, "{ ")]
		if out[name] == nil {
			out[name] = map[string]bool{"instance": true, "job": true} // Prometheus adds these
		}
		_, labels, _ := strings.Cut(line, "{")
		labels, _, _ = strings.Cut(labels, "} ")
		for _, m := range label.FindAllStringSubmatch(labels, -1) {
			out[name][m[1]] = true
		}
	}
	return out
}

var (
	metricName = regexp.MustCompile(`\b(?:weir|go|process)_[a-z0-9_]+`)
	selector   = regexp.MustCompile(`\b((?:weir|go|process)_[a-z0-9_]+)\{([^}]*)\}`)
	label      = regexp.MustCompile(`([a-zA-Z_]+)(?:=~|!~|!=|=)"`)
	grouped    = regexp.MustCompile(`\bby \(([^)]*)\)`)
	shown      = regexp.MustCompile(`\$labels\.([a-z_]+)|\{\{([a-z_]+)\}\}`)
	values     = regexp.MustCompile(`([a-z_]+)(?:=~|!=|=)"([^"$]+)"`)
)

// missing says what an expression, and the texts that show its result, name and no metric has.
func missing(expr string, texts []string, known map[string]map[string]bool, answer string) (out []string) {
	used := metricName.FindAllString(expr, -1)
	any := func(name string) bool {
		return len(used) == 0 && (name == "instance" || name == "job") || slices.ContainsFunc(used, func(m string) bool { return known[m][name] })
	}
	for _, m := range used {
		if known[m] == nil {
			out = append(out, "metric "+m)
		}
	}
	for _, m := range selector.FindAllStringSubmatch(expr, -1) {
		for _, l := range label.FindAllStringSubmatch(m[2], -1) {
			if !known[m[1]][l[1]] {
				out = append(out, fmt.Sprintf("label %s of %s", l[1], m[1]))
			}
		}
		for _, v := range values.FindAllStringSubmatch(m[2], -1) {
			for value := range strings.SplitSeq(v[2], "|") {
				if pair := fmt.Sprintf("%s=%q", v[1], value); !strings.Contains(answer, pair) {
					out = append(out, fmt.Sprintf("value %s of %s", pair, m[1]))
				}
			}
		}
	}
	for _, m := range grouped.FindAllStringSubmatch(expr, -1) {
		for name := range strings.SplitSeq(m[1], ",") {
			if name = strings.TrimSpace(name); !any(name) {
				out = append(out, "label "+name)
			}
		}
	}
	for _, text := range texts {
		for _, m := range shown.FindAllStringSubmatch(text, -1) {
			if name := m[1] + m[2]; !any(name) {
				out = append(out, "shown label "+name)
			}
		}
	}
	return out
}

// scraped is what a node that has seen calls, failures and doubts answers.
func scraped(t *testing.T) string {
	t.Helper()
	receiver := otlptest.Start(t, nil)
	modest := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { // it reports a token for a long text
		w.Header().Set("Content-Type", "application/json")
		_, _ = io.WriteString(w, `{"id":"x","object":"chat.completion","model":"m","choices":[{"index":0,"message":{"role":"assistant","content":"`+strings.Repeat("many words ", 500)+
			`"},"finish_reason":"stop"}],"usage":{"prompt_tokens":1,"completion_tokens":1,"total_tokens":2}}`)
	}))
	t.Cleanup(modest.Close)
	gw := apptest.StartGateway(t, traced(receiver.URL), func(s *apptest.Setup) {
		s.Server.AdminListen = "127.0.0.1:0"
		s.Declared.Providers = append(s.Declared.Providers, catalog.Provider{ID: "modest", Name: "Modest", Dialect: "openai", BaseURL: modest.URL})
		s.Offers = append(s.Offers, apptest.OfferOf(t, "modest", "modest/m", "m"))
	})
	account := gw.NewAccount(t)
	for model, status := range map[string]int{"test/next": 200, "test/u30-missing": 200, "test/u30-huge": 200, "modest/m": 200, "test/u15-status-500": 502} {
		if a := account.Chat(t, chat(model, nil)); a.Status != status {
			t.Fatalf("%s: %d %s", model, a.Status, a.Body)
		}
	}
	account.Send(t, http.MethodGet, "/v1/credits", nil, map[string]string{"Authorization": "Bearer wrong"})
	encrypted := apptest.StartGateway(t, func(s *apptest.Setup) {
		dir := t.TempDir()
		s.Server.AdminListen = "127.0.0.1:0"
		s.Server.TLS = config.TLS{CertFile: filepath.Join(dir, "cert.pem"), KeyFile: filepath.Join(dir, "key.pem")}
		certificatetest.Write(s.Server.TLS.CertFile, s.Server.TLS.KeyFile, time.Now().Add(time.Hour), "127.0.0.1")
	})
	return gw.Metrics(t) + encrypted.Metrics(t)
}

type alert struct {
	Alert, Expr, For string
	Labels           map[string]string
	Annotations      map[string]string
}

func alerts(t *testing.T) []alert {
	t.Helper()
	text, err := os.ReadFile("../../packaging/prometheus/alerts.yaml")
	if err != nil {
		t.Fatal(err)
	}
	var file struct {
		Groups []struct {
			Name  string
			Rules []alert
		}
	}
	if err := yaml.Unmarshal(text, &file); err != nil || len(file.Groups) != 1 || len(file.Groups[0].Rules) < 10 {
		t.Fatalf("%v, %+v", err, file)
	}
	return file.Groups[0].Rules
}

// What the alert rules and the dashboard name is in the answer of a node: metrics, labels, and the values that they compare with.
func TestAlertsAndDashboardNameWhatThereIs(t *testing.T) {
	t.Parallel()
	answer := scraped(t)
	known := series(answer)
	for _, a := range alerts(t) {
		if a.Annotations["summary"] == "" || !slices.Contains([]string{"critical", "warning"}, a.Labels["severity"]) {
			t.Errorf("%s has no summary, or a severity of its own: %+v", a.Alert, a)
		}
		for _, m := range missing(a.Expr, []string{a.Annotations["summary"]}, known, answer) {
			t.Errorf("alert %s: there is no %s", a.Alert, m)
		}
	}
	text, err := os.ReadFile("../../packaging/grafana/weir.json")
	if err != nil {
		t.Fatal(err)
	}
	var board struct {
		Panels []struct {
			Title, Type string
			Targets     []struct{ Expr, LegendFormat string }
		}
		Templating struct {
			List []struct{ Name, Query string }
		}
	}
	if err := json.Unmarshal(text, &board); err != nil || len(board.Panels) < 20 {
		t.Fatalf("%v, %d panels", err, len(board.Panels))
	}
	for _, p := range board.Panels {
		if p.Type != "row" && len(p.Targets) == 0 {
			t.Errorf("panel %s shows nothing", p.Title)
		}
		for _, q := range p.Targets {
			for _, m := range missing(q.Expr, []string{q.LegendFormat}, known, answer) {
				t.Errorf("panel %s: there is no %s", p.Title, m)
			}
		}
	}
	for _, v := range board.Templating.List {
		for _, m := range missing(v.Query, nil, known, answer) {
			t.Errorf("variable %s: there is no %s", v.Name, m)
		}
	}
}

// The check finds what is not there.
func TestMissing(t *testing.T) {
	t.Parallel()
	answer := "# HELP weir_a is a\nweir_a{kind=\"x\"} 1\nweir_b 2\n"
	for expr, want := range map[string]string{
		`sum by (kind) (weir_a{kind="x"})`: "", "weir_b": "", `weir_b{instance=~"$instance"}`: "", `up{job="weir"}`: "",
		`weir_a{kind=~"x|z"}`: `value kind="z" of weir_a`, "weir_c": "metric weir_c", `weir_b{kind="x"}`: "label kind of weir_b", `weir_a{kind="y"}`: `value kind="y" of weir_a`, "sum by (other) (weir_a)": "label other",
	} {
		if got := strings.Join(missing(expr, nil, series(answer), answer), ", "); got != want {
			t.Errorf("%s: %q, want %q", expr, got, want)
		}
	}
	if got := missing("weir_b", []string{"{{kind}}", "{{ $labels.kind }}"}, series(answer), answer); len(got) != 2 {
		t.Errorf("shown labels: %q", got)
	}
}

// Each alert has a section that says what to do, and each section an alert.
func TestEachAlertHasARunbook(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("../../docs/alerts.md")
	if err != nil {
		t.Fatal(err)
	}
	sections := map[string]string{}
	for _, part := range strings.Split(string(text), "\n## ")[1:] {
		name, body, _ := strings.Cut(part, "\n")
		sections[name] = body
	}
	for _, a := range alerts(t) {
		if len(sections[a.Alert]) < 80 {
			t.Errorf("docs/alerts.md does not say what to do about %s", a.Alert)
		}
		delete(sections, a.Alert)
	}
	for name := range sections {
		if strings.HasPrefix(name, "Alerts from ") {
			continue // where they come from
		}
		t.Errorf("docs/alerts.md has a section for %s, which is no alert", name)
	}
}
