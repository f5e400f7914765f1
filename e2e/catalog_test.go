package e2e_test

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"

	"github.com/openai/openai-go/v3/option"
)

// fetch requests a path without the SDK. The response is checked against the document.
func (d *demo) fetch(ctx context.Context, t *testing.T, method, path, body string, headers ...string) (*http.Response, []byte) {
	t.Helper()
	base, err := url.Parse(d.BaseURL)
	if err != nil {
		t.Fatal(err)
	}
	request, err := http.NewRequestWithContext(ctx, method, "http://"+base.Host+path, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	if body == "" {
		request.Body = nil
	} else {
		request.Header.Set("Content-Type", "application/json")
	}
	for i := 0; i < len(headers); i += 2 {
		request.Header.Set(headers[i], headers[i+1])
	}
	response, err := (&checked{t, d.contract}).RoundTrip(request)
	if err != nil {
		t.Fatalf("%s %s: %v", method, path, err)
	}
	defer response.Body.Close()
	got, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatal(err)
	}
	return response, got
}

func TestModelOfTheSDK(t *testing.T) {
	t.Parallel()
	client := theDemo.client(t)
	model, err := client.Models.Get(t.Context(), "sim/chat") // the SDK escapes the slash
	if err != nil {
		t.Fatal(explain(err))
	}
	if model.ID != "sim/chat" || string(model.Object) != "model" || model.OwnedBy != "sim" {
		t.Errorf("not the model: %s", model.RawJSON())
	}
	_, err = client.Models.Get(t.Context(), "sim/none")
	refused(t, err, 404, "model_not_found")
}

// Catalogs need no key, ignore any key, and support conditional requests.
func TestCatalogsArePublic(t *testing.T) {
	t.Parallel()
	for _, path := range []string{"/v1/models", "/v1/models?sort_by=input_price&sort_order=desc&page=1&per_page=2", "/v1/models?search=SIM+chat", "/v1/models/sim/chat",
		"/v1/models/sim/chat/providers", "/v1/embeddings/models", "/v1/embeddings/models?model_type=embedding", "/v1/videos/models"} {
		for _, headers := range [][]string{nil, {"Authorization", "Bearer wrong"}} {
			response, body := theDemo.fetch(t.Context(), t, "GET", path, "", headers...)
			tag := response.Header.Get("ETag")
			if response.StatusCode != 200 || tag == "" || response.Header.Get("Cache-Control") != "public, max-age=60" {
				t.Fatalf("%s: %s %v %.200s", path, response.Status, response.Header, body)
			}
			if path == "/v1/models/sim/chat/providers" {
				continue // its measured values may change between requests
			}
			if again, _ := theDemo.fetch(t.Context(), t, "GET", path, "", "If-None-Match", tag); again.StatusCode != 304 {
				t.Errorf("%s asked for again: %s", path, again.Status)
			}
		}
	}
	for _, query := range []string{"page=0&per_page=1", "page=1&per_page=101", "sort_by=size", "sort_order=up", "model_type=video", "search=" + strings.Repeat("x", 201), "search=%00"} {
		for _, list := range []string{"/v1/models?", "/v1/embeddings/models?"} {
			if response, body := theDemo.fetch(sendingWrong(t.Context()), t, "GET", list+query, ""); response.StatusCode != 400 {
				t.Errorf("%s%s: %s %s", list, query, response.Status, body)
			}
		}
	}
	for _, path := range []string{"/v1/models/sim/none", "/v1/models/sim/none/providers", "/v1/models/sim/chat:quick/providers"} {
		if response, body := theDemo.fetch(t.Context(), t, "GET", path, ""); response.StatusCode != 404 {
			t.Errorf("%s: %s %s", path, response.Status, body)
		}
	}
}

func TestPagesAreTheList(t *testing.T) {
	t.Parallel()
	type list struct{ Data []struct{ ID string } }
	read := func(path string) (ids []string, header http.Header) {
		response, body := theDemo.fetch(t.Context(), t, "GET", path, "")
		var l list
		if err := json.Unmarshal(body, &l); err != nil {
			t.Fatalf("%s: %v", path, err)
		}
		for _, m := range l.Data {
			ids = append(ids, m.ID)
		}
		return ids, response.Header
	}
	all, _ := read("/v1/models?sort_by=name")
	var paged []string
	for next := "/v1/models?sort_by=name&page=1&per_page=2"; next != ""; {
		ids, header := read(next)
		paged = append(paged, ids...)
		next = ""
		for link := range strings.SplitSeq(header.Get("Link"), ", ") {
			if target, ok := strings.CutSuffix(link, `; rel="next"`); ok {
				next = strings.Trim(target, "<>")
			}
		}
	}
	if len(all) < 5 || !slices.Equal(all, paged) {
		t.Errorf("the list has %v, its pages %v", all, paged)
	}
}

func TestProvidersOfAModel(t *testing.T) {
	t.Parallel()
	type prices struct {
		Base map[string]string
	}
	var m struct {
		ID        string `json:"model_id"`
		Slug      string `json:"model_slug"`
		Providers []struct {
			ID, Provider string
			In           string `json:"price_in_per_1k"`
			Pricing      prices
			Endpoints    []struct {
				Tag     string
				Pricing prices
			}
		}
	}
	_, body := theDemo.fetch(t.Context(), t, "GET", "/v1/models/sim/chat/providers", "")
	if err := json.Unmarshal(body, &m); err != nil {
		t.Fatal(err)
	}
	if len(m.Providers) != 1 || m.Providers[0].Provider != "sim" || m.Providers[0].In != m.Providers[0].Pricing.Base["prompt_per_1k"] || m.Providers[0].Endpoints[0].Tag != "sim" {
		t.Errorf("%s", body)
	}
}

// explanation is the routing explanation, before a call and after it.
type explanation struct {
	Candidates []struct {
		Endpoint  string
		Order     int
		DroppedBy *string `json:"dropped_by"`
		Score     *struct{ By, Meaning string }
		Price     *struct {
			Prompt string `json:"prompt_per_1k"`
		}
		Hold string
	}
	Attempts json.RawMessage
	Error    *struct{ Code int }
}

// explained is the routing in a generation's record.
type explained struct {
	Data struct {
		Metadata struct {
			Routing struct {
				Candidates []struct {
					Endpoint string
					Order    int
					Price    *struct {
						Prompt string `json:"prompt_per_1k"`
					}
				}
				Attempts []struct{ Endpoint string }
			}
		}
	}
}

func (e explanation) attempts(t *testing.T) (endpoints []string) {
	t.Helper()
	if err := json.Unmarshal(e.Attempts, &endpoints); err != nil {
		t.Fatal(err)
	}
	return endpoints
}

func TestRouteIsExplainedBeforeAndAfter(t *testing.T) {
	t.Parallel()
	client := theDemo.client(t)
	var before struct{ Data explanation }
	params := ask("sim/chat", "Hello.")
	if err := client.Post(t.Context(), "route/explain", params, &before, option.WithJSONSet("models", []string{"sim/echo"})); err != nil {
		t.Fatal(explain(err))
	}
	e := before.Data
	if len(e.Candidates) != 2 || e.Error != nil || !slices.Equal(e.attempts(t), []string{"sim/sim/chat", "sim/sim/echo"}) {
		t.Fatalf("%+v", e)
	}
	if c := e.Candidates[0]; c.Order != 1 || c.DroppedBy != nil || c.Score == nil || c.Score.Meaning == "" || nanos(t, c.Hold) <= 0 || c.Price == nil {
		t.Errorf("the first candidate: %+v", c)
	}
	answer := complete(t, client, params, option.WithJSONSet("models", []string{"sim/echo"}))
	r := get[explained](t, client, "generation", url.Values{"id": {answer.ID}}).Data.Metadata.Routing
	if len(r.Candidates) != 2 || r.Candidates[0].Endpoint != e.Candidates[0].Endpoint || r.Candidates[0].Order != 1 || r.Candidates[0].Price == nil ||
		r.Candidates[0].Price.Prompt != e.Candidates[0].Price.Prompt || len(r.Attempts) != 1 || r.Attempts[0].Endpoint != "sim/sim/chat" {
		t.Errorf("after the call: %+v", r)
	}
}

func TestRouteExplainedWithoutCandidates(t *testing.T) {
	t.Parallel()
	client := theDemo.client(t)
	var reported struct{ Data explanation }
	err := client.Post(t.Context(), "route/explain", ask("sim/chat", "Hello."), &reported, option.WithJSONSet("provider", map[string]any{"ignore": []string{"sim"}}))
	if err != nil {
		t.Fatal(explain(err))
	}
	e := reported.Data
	if e.Error == nil || e.Error.Code != 404 || len(e.attempts(t)) != 0 || len(e.Candidates) != 1 || e.Candidates[0].DroppedBy == nil || *e.Candidates[0].DroppedBy != "ignore" {
		t.Errorf("%+v", e)
	}
	err = client.Post(t.Context(), "route/explain", ask("sim/none", "Hello."), &reported)
	refused(t, err, 404, "model_not_found")
	err = client.Post(t.Context(), "route/explain", ask("sim/chat", "Hello."), &reported, withKey("sk-wrong"))
	refused(t, err, 401, "authentication")
}
