package accounts_test

import (
	"encoding/base64"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"weir/internal/apikey"
	"weir/internal/app/apptest"
	"weir/internal/audit"
	"weir/internal/catalog"
	"weir/internal/config"
	"weir/internal/money"
	"weir/internal/reconcile"
	"weir/internal/reconcile/usagefile"
	"weir/internal/secret"
	"weir/internal/store/postgres/pgtest"
)

// served is a call as its provider bills it: by the tokens that the client saw, at a hundred-thousandth of a dollar each.
type served struct {
	generation, answer string
	prompt, completion int64
	cost               int64
}

func (s served) line(day string) string {
	return fmt.Sprintf("%s,chat,%s,%d,%d,%d.%05d\n", day, s.answer, s.prompt, s.completion, s.cost/100_000, s.cost%100_000)
}

// A provider's file agrees with the calls of a node. Each error that is put into it is found and nothing else, call by call and by day.
func TestReconcile(t *testing.T) {
	t.Parallel()
	for name, dsn := range map[string]func(*testing.T) string{
		"sqlite":     func(*testing.T) string { return "" },
		"postgresql": func(t *testing.T) string { return pgtest.New(t) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			reconciled(t, dsn(t))
		})
	}
}

func reconciled(t *testing.T, dsn string) {
	t.Helper()
	day, start := time.Now().UTC().Truncate(24*time.Hour).AddDate(0, 0, -1), time.Now()
	var later atomic.Int64
	gw := apptest.StartGateway(t, func(s *apptest.Setup) {
		s.Server.AdminListen = "127.0.0.1:0"
		s.Store.DSN = config.DSN(dsn)
		s.Clock = func() time.Time { return day.Add(12*time.Hour + time.Since(start) + time.Duration(later.Load())) } // no test runs for half a day
		s.Pricing.RubPerUSD = "100"
		s.Config.Providers = []config.Provider{{ID: "hut", BaseURL: s.Declared.Providers[0].BaseURL, APIKey: secret.New("hut-key-4711"), Models: []config.Offer{
			{ID: "acme/dollars", UpstreamID: "chat", PriceUSD: config.Prices{Prompt: "10", Completion: "10"}},
		}}}
	})
	a, date := gw.NewAccount(t), day.Format(time.DateOnly)
	calls := make([]served, 6)
	for i := range calls {
		is := a.Chat(t, map[string]any{"model": "acme/dollars", "max_tokens": 5, "messages": ask("", strings.Repeat("word ", i+1))["messages"]}).Reported(t, false)
		a.AwaitSettled(t)
		got := a.Do(t, http.MethodGet, "/api/calls/"+is.ID, nil)
		answer := apptest.Decode[struct {
			Data struct {
				ID string `json:"upstream_id"`
			}
		}](t, got.Body).Data.ID
		calls[i] = served{is.ID, answer, is.Prompt, is.Completion, is.Prompt + is.Completion}
	}
	a.Chat(t, map[string]any{"model": "test/next", "messages": apptest.Question}) // of another provider
	a.AwaitSettled(t)
	compare := func(file string, want ...string) {
		t.Helper()
		f, err := usagefile.Read([]byte(file), nil)
		if err != nil {
			t.Fatalf("%v: %s", err, file)
		}
		r, err := gw.Node.Admin().Reconcile(t.Context(), "hut", f.Rows, 0, day.AddDate(0, 0, 1))
		var got []string
		for i := range r.Differences {
			d := &r.Differences[i]
			got = append(got, strings.TrimSpace(string(d.Kind)+" "+strings.Join(d.Calls, " ")))
		}
		slices.Sort(got)
		slices.Sort(want)
		if err != nil || r.Calls != len(calls) || !slices.Equal(got, want) {
			t.Errorf("%v, %d calls: %q, want %q\n%s", err, r.Calls, got, want, file)
		}
	}
	table := func(all ...served) string {
		b := "date,model,id,prompt_tokens,completion_tokens,cost\n"
		for _, c := range all {
			b += c.line(date)
		}
		return b
	}
	compare(table(calls...))
	wrong := slices.Clone(calls)
	wrong[1].cost++                                                                             // repriced
	wrong[2].completion++                                                                       // other tokens
	wrong = append(wrong[:5:5], wrong[3], served{answer: "chatcmpl-other", prompt: 7, cost: 7}) // one left out, one twice, one of somebody else
	compare(table(wrong...), "repriced "+calls[1].generation, "tokens "+calls[2].generation, "doubled "+calls[3].generation, "extra "+calls[5].generation, "lost")

	usage := func(all ...served) string {
		var n, prompt, completion int64
		for _, c := range all {
			n, prompt, completion = n+1, prompt+c.prompt, completion+c.completion
		}
		return fmt.Sprintf(`{"data":[{"start_time":%d,"end_time":%d,"results":[{"object":"organization.usage.completions.result","model":"chat-2026-01-15","num_model_requests":%d,"input_tokens":%d,"output_tokens":%d}]}],"has_more":false}`,
			day.Unix(), day.AddDate(0, 0, 1).Unix(), n, prompt, completion)
	}
	compare(usage(calls...))
	compare(usage(append(slices.Clone(calls), calls[4])...), "doubled "+calls[4].generation)
	compare(usage(calls[1:]...), "extra "+calls[0].generation)

	boss := gw.NewOwner(t, 1, apikey.NewKey{})
	desk := &apptest.Account{Gw: &apptest.Gateway{URL: gw.Node.AdminURL(), Client: gw.Client}, Key: boss.Pages.Key}
	visitor := &apptest.Account{Gw: desk.Gw, Key: gw.NewOwner(t, 1, apikey.NewKey{}).Pages.Key}
	if got := visitor.Do(t, http.MethodGet, "/api/admin/reconciliations", nil); got.Status != http.StatusForbidden {
		t.Errorf("a user reads reconciliations: %d", got.Status)
	}
	if err := gw.Node.Admin().Users.SetRole(t.Context(), boss.User, apikey.Operator, audit.Actor{Name: "test"}); err != nil {
		t.Fatal(err)
	}
	later.Store(int64(24 * time.Hour))
	reconciledByAPI(t, desk, table(wrong...), calls)
	tag := catalog.KeyTag("hut-key-4711")
	if got := desk.Do(t, http.MethodGet, "/api/admin/calls/"+calls[0].generation, nil); !strings.Contains(string(got.Body), `"provider_key":{"tag":"`+tag+`","id":null,"last4":"4711","note":null},"attempt_keys":[{`) {
		t.Errorf("the operator: %d %s", got.Status, got.Body)
	}
	if got := desk.Do(t, http.MethodGet, "/api/admin/calls?provider=hut&from="+date, nil); strings.Count(string(got.Body), `"provider_key":"`+tag) != len(calls) {
		t.Errorf("the list: %d %s", got.Status, got.Body)
	}
	for _, path := range []string{"/api/calls/" + calls[0].generation, "/v1/generation?id=" + calls[0].generation} {
		if got := a.Do(t, http.MethodGet, path, nil); got.Status != 200 || strings.Contains(string(got.Body), tag) {
			t.Errorf("%s of an ordinary user: %d %s", path, got.Status, got.Body)
		}
	}
	var explained strings.Builder
	if err := gw.Node.Admin().Explain(t.Context(), calls[0].generation, &explained); err != nil || !strings.Contains(explained.String(), "key "+tag) {
		t.Errorf("%v: %s", err, explained.String())
	}

	f, err := usagefile.Read([]byte(table(calls...)), nil)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := gw.Node.Admin().Reconcile(t.Context(), "hut", f.Rows, money.Nano(0), day.Add(23*time.Hour)); err == nil || !strings.Contains(err.Error(), "not over") {
		t.Errorf("a day that is not over: %v", err)
	}
	if r, err := gw.Node.Admin().Reconcile(t.Context(), "other", f.Rows, 0, day.AddDate(0, 0, 1)); err != nil || len(r.Differences) != len(calls) || r.Differences[0].Kind != reconcile.Lost {
		t.Errorf("another provider: %+v %v", r, err)
	}
}

// reconciledByAPI uploads a file with errors: it is looked at, compared, kept, listed, read as a file and deleted, with a line in the audit log.
func reconciledByAPI(t *testing.T, desk *apptest.Account, file string, calls []served) {
	t.Helper()
	type difference struct {
		ID, Kind string
		Decision *struct{ Outcome, Reason, Actor string }
		CallIDs  []string `json:"call_ids"`
	}
	type kept struct {
		ID, Format, Wrong, Dollars string
		Rows, Open                 int
		Columns                    map[string]string
		Differences                []difference
		Delta                      struct{ Dollars string }
	}
	type one struct{ Data kept }
	type all struct{ Data []kept }
	const path = "/api/admin/reconciliations"
	send := func(to, file string, more map[string]any) *apptest.Answer {
		t.Helper()
		body := map[string]any{"files": []any{map[string]any{"name": "november.csv", "content": base64.StdEncoding.EncodeToString([]byte(file))}}}
		for name, v := range more {
			body[name] = v
		}
		return desk.Do(t, http.MethodPost, to, body)
	}
	looked := send(path+"/look", file, nil)
	if looked.Status != http.StatusOK {
		t.Fatalf("%d %s", looked.Status, looked.Body)
	}
	look := apptest.Decode[all](t, looked.Body).Data[0]
	if look.Format != "CSV" || look.Rows != 7 || look.Columns["cost"] != "cost" || look.Wrong != "" {
		t.Errorf("%+v", look)
	}
	if look := apptest.Decode[all](t, send(path+"/look", "When,What\n1,2\n", nil).Body).Data[0]; !strings.Contains(look.Wrong, "line 1: there is no column") {
		t.Errorf("%+v", look)
	}
	got := send(path, file, map[string]any{"provider": "hut"})
	made := apptest.Decode[one](t, got.Body).Data
	if got.Status != http.StatusCreated || len(made.Differences) != 5 || made.Delta.Dollars == "" {
		t.Fatalf("%d %s", got.Status, got.Body)
	}
	again := apptest.Decode[one](t, desk.Do(t, http.MethodGet, path+"/"+made.ID, nil).Body).Data
	for _, d := range again.Differences {
		if d.Kind == "doubled" && !slices.Equal(d.CallIDs, []string{calls[3].generation}) {
			t.Errorf("%+v", d)
		}
	}
	if got := desk.Do(t, http.MethodGet, path+"/"+made.ID+"/file", nil); got.Status != http.StatusOK || strings.Count(string(got.Body), "\n") != 6 || !strings.Contains(string(got.Body), calls[3].generation) {
		t.Errorf("%d %s", got.Status, got.Body)
	}
	if list := apptest.Decode[all](t, desk.Do(t, http.MethodGet, path, nil).Body).Data; len(list) != 1 || list[0].ID != made.ID {
		t.Errorf("%+v", list)
	}
	decision := path + "/" + made.ID + "/differences/" + made.Differences[0].ID
	for body, status := range map[[2]string]int{{"loss", ""}: 400, {"gift", "x"}: 400, {"loss", "too small for a letter"}: 200} {
		if got := desk.Do(t, http.MethodPut, decision, map[string]any{"outcome": body[0], "reason": body[1]}); got.Status != status {
			t.Errorf("%v: %d %s", body, got.Status, got.Body)
		}
	}
	if got := desk.Do(t, http.MethodPut, path+"/"+made.ID+"/differences/none", map[string]any{"outcome": "loss", "reason": "x"}); got.Status != 404 {
		t.Errorf("%d %s", got.Status, got.Body)
	}
	later := apptest.Decode[one](t, send(path, file, map[string]any{"provider": "hut"}).Body).Data
	if later.Open != 4 || later.Differences[0].Decision == nil || later.Differences[0].Decision.Reason != "too small for a letter" {
		t.Errorf("compared again: %+v", later)
	}
	for _, status := range []int{200, 404} {
		if got := desk.Do(t, http.MethodDelete, decision, nil); got.Status != status {
			t.Errorf("%d %s", got.Status, got.Body)
		}
	}
	if got := desk.Do(t, http.MethodDelete, path+"/"+later.ID, nil); got.Status != 200 {
		t.Errorf("%d %s", got.Status, got.Body)
	}
	for name, got := range map[string]*apptest.Answer{
		"keys of nobody": send(path, file, map[string]any{"provider": "hut", "our_keys": map[string]string{"a": "pkey_none"}}),
		"no provider":    send(path, file, nil),
		"no file":        desk.Do(t, http.MethodPost, path, map[string]any{"provider": "hut", "files": []any{}}),
		"no base64":      desk.Do(t, http.MethodPost, path, map[string]any{"provider": "hut", "files": []any{map[string]any{"name": "a", "content": "?"}}}),
		"no such key":    send(path, file, map[string]any{"provider": "hut", "keys": []string{"other"}}),
		"not readable":   send(path, "{}", map[string]any{"provider": "hut"}),
	} {
		if got.Status != http.StatusBadRequest {
			t.Errorf("%s: %d %s", name, got.Status, got.Body)
		}
	}
	if got := desk.Do(t, http.MethodDelete, path+"/"+made.ID, nil); got.Status != http.StatusOK {
		t.Errorf("%d %s", got.Status, got.Body)
	}
	if got := desk.Do(t, http.MethodGet, path+"/"+made.ID, nil); got.Status != http.StatusNotFound {
		t.Errorf("%d %s", got.Status, got.Body)
	}
	for _, action := range []string{"reconciliation.make", "reconciliation.delete"} {
		if got := desk.Do(t, http.MethodGet, "/api/admin/audit?action="+action, nil); strings.Count(string(got.Body), made.ID) != 1 {
			t.Errorf("%s: %s", action, got.Body)
		}
	}
}
