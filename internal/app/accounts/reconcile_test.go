package accounts_test

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"weir/internal/app/apptest"
	"weir/internal/config"
	"weir/internal/money"
	"weir/internal/reconcile"
	"weir/internal/reconcile/usagefile"
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
	gw := apptest.StartGateway(t, func(s *apptest.Setup) {
		s.Store.DSN = config.DSN(dsn)
		s.Clock = func() time.Time { return day.Add(12*time.Hour + time.Since(start)) } // no test runs for half a day
		s.Pricing.RubPerUSD = "100"
		s.Config.Providers = []config.Provider{{ID: "hut", BaseURL: s.Declared.Providers[0].BaseURL, Models: []config.Offer{
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
