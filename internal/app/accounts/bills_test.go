package accounts_test

import (
	"bufio"
	"cmp"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"

	"weir/internal/app/apptest"
	"weir/internal/audit"
	"weir/internal/catalog"
	"weir/internal/config"
	"weir/internal/fault"
	"weir/internal/reconcile"
	"weir/internal/reconcile/usagefile"
	"weir/internal/report"
	"weir/internal/secret"
	"weir/internal/sim"
)

// billed is a node, and the simulator that serves and bills its calls. Both have a clock that a test can move.
type billed struct {
	*apptest.Gateway
	a        *apptest.Account
	upstream *sim.Server
	now      atomic.Int64 // added to the time since start
	refused  atomic.Value // the key that the simulator refuses
	start    time.Time
}

func (b *billed) clock() time.Time {
	return time.Unix(0, b.now.Load()).Add(time.Since(b.start)).UTC()
}

func (b *billed) at(t time.Time) { b.now.Store(t.UnixNano() - int64(time.Since(b.start))) }

var billDay = time.Now().UTC().Truncate(24*time.Hour).AddDate(0, 0, -3)

func startBilled(t *testing.T) *billed {
	t.Helper()
	b := &billed{start: time.Now()}
	b.at(billDay.Add(10 * time.Hour))
	b.upstream = sim.New(sim.Config{Now: b.clock})
	b.refused.Store("")
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Authorization") == "Bearer "+b.refused.Load().(string) {
			http.Error(w, `{"error":{"message":"this key is off","code":"invalid_api_key"}}`, http.StatusUnauthorized)
			return
		}
		b.upstream.ServeHTTP(w, r)
	}))
	t.Cleanup(server.Close)
	offers := func(key string, ids ...string) (o []config.Offer) {
		for _, id := range ids {
			o = append(o, config.Offer{ID: "acme/" + id, UpstreamID: id, PriceUSD: config.Prices{Prompt: "10", Completion: "20"}})
		}
		return o
	}
	b.Gateway = apptest.StartGateway(t, func(s *apptest.Setup) {
		s.Clock, s.Pricing.RubPerUSD = b.clock, "100"
		s.Config.Providers = []config.Provider{
			{ID: "hut", BaseURL: server.URL + "/v1", APIKey: secret.New("first-key-aaaa"), Models: offers("", "chat", "echo", "reason")},
			{ID: "two", BaseURL: server.URL + "/v1", APIKey: secret.New("one-key-cccc"), APIKeys: []secret.Text{secret.New("two-key-dddd")}, Models: offers("", "chat", "echo")},
			{ID: "den", BaseURL: server.URL + "/v1", APIKey: secret.New("other-key-bbbb"), Models: offers("", "chat")},
		}
	})
	b.a = b.NewAccount(t)
	return b
}

// call makes a call through one provider, whose prompt has n words. No two calls of a test have the same tokens.
func (b *billed) call(t *testing.T, model, provider, before string, n int) {
	t.Helper()
	body := map[string]any{"model": model, "messages": ask("", before+strings.Repeat("word ", n))["messages"], "provider": map[string]any{"order": []string{provider}}}
	if got := b.a.Chat(t, body); got.Status != http.StatusOK {
		t.Fatalf("%d %s", got.Status, got.Body)
	}
	b.a.AwaitSettled(t)
}

var chosenColumns = map[string]string{"date": "When", "model": "What", "id": "Number", "prompt_tokens": "In", "completion_tokens": "Out", "cost": "Amount"}

// compare reconciles exports of the simulator, and returns what was named, and the calls behind each difference by kind, day and model.
func (b *billed) compare(t *testing.T, provider string, o sim.BillOrder, formats ...string) ([]reconcile.Difference, []sim.SeededError) {
	t.Helper()
	o.Prompt, o.Completion = 10_000, 20_000
	var rows []reconcile.Row
	var seeded []sim.SeededError
	for _, format := range formats {
		o.Format = format
		file, errors, err := b.upstream.Bill(&o)
		if err != nil {
			t.Fatal(err)
		}
		columns := map[string]string(nil)
		if format == "csv" {
			columns = chosenColumns
		}
		f, err := usagefile.Read(file, columns)
		if err != nil {
			t.Fatalf("%s: %v\n%s", format, err, file)
		}
		rows, seeded = append(rows, f.Rows...), errors
	}
	r, err := b.Node.Admin().Reconcile(t.Context(), provider, rows, 0, billDay.AddDate(0, 0, 3))
	if err != nil {
		t.Fatal(err)
	}
	return r.Differences, seeded
}

// answersOf are the provider's ids of calls, by ours.
func (b *billed) answersOf(t *testing.T, ids []string) (all []string) {
	t.Helper()
	for _, id := range ids {
		all = append(all, apptest.Decode[struct {
			Data struct {
				ID string `json:"upstream_id"`
			}
		}](t, b.a.Do(t, http.MethodGet, "/api/calls/"+id, nil).Body).Data.ID)
	}
	return all
}

// Each error that the simulator puts into each format of its bill is named, at its day and model, with the call that it happened to among those behind
// it; and nothing else is.
func TestSeededBills(t *testing.T) {
	t.Parallel()
	b := startBilled(t)
	n := 0
	for day := range 2 {
		b.at(billDay.AddDate(0, 0, day).Add(10 * time.Hour))
		for _, model := range []string{"chat", "echo", "reason"} {
			for range 3 {
				n++
				b.call(t, "acme/"+model, "hut", "", n*n)
			}
		}
	}
	b.call(t, "acme/chat", "den", "", 700) // with another key, on another bill
	hut := sim.BillOrder{Keys: []string{"first-key-aaaa"}}
	// What a file without counts or without tokens cannot tell apart is named as what it is: other tokens, or another cost.
	same := map[string]string{}
	for _, x := range []struct {
		formats []string
		named   map[string]string // other names of errors; "": the file cannot show it
	}{
		{[]string{"openai-usage"}, map[string]string{"repriced": ""}},
		{[]string{"openai-costs"}, map[string]string{"lost": "cost", "tokens": "cost", "repriced": "cost"}},
		{[]string{"openai-usage", "openai-costs"}, same},
		{[]string{"anthropic-usage"}, map[string]string{"lost": "tokens", "repriced": ""}},
		{[]string{"anthropic-costs"}, map[string]string{"lost": "cost", "tokens": "cost", "repriced": "cost"}},
		{[]string{"anthropic-usage", "anthropic-costs"}, map[string]string{"lost": "tokens"}},
		{[]string{"anthropic-csv"}, map[string]string{"lost": "tokens", "repriced": ""}},
		{[]string{"openrouter"}, same},
		{[]string{"openrouter-csv"}, same},
		{[]string{"csv"}, same},
	} {
		if got, _ := b.compare(t, "hut", hut, x.formats...); len(got) != 0 {
			t.Errorf("%v without errors: %+v", x.formats, got)
		}
		for _, kind := range []string{"lost", "extra", "doubled", "tokens", "repriced"} {
			for count := 1; count <= 2; count++ {
				o := hut
				o.Errors, o.Seed = map[string]int{kind: count}, uint64(count)
				got, seeded := b.compare(t, "hut", o, x.formats...)
				name, other := x.named[kind]
				if !other {
					name = kind
				}
				b.named(t, fmt.Sprintf("%v, %d %s", x.formats, count, kind), name, got, seeded)
			}
		}
	}
	// All at once: call by call, and where each day and model has errors of one kind.
	for _, formats := range [][]string{{"csv"}, {"openrouter-csv"}, {"openrouter"}, {"openai-usage", "openai-costs"}} {
		o := hut
		o.Errors, o.Seed = map[string]int{"lost": 1, "extra": 1, "doubled": 1, "tokens": 1, "repriced": 1}, 5
		got, seeded := b.compare(t, "hut", o, formats...)
		b.named(t, fmt.Sprint(formats, " with all errors"), "", got, seeded)
	}
}

// With several keys, each error is named at its day, model and key, also where the keys of one day and model have errors of other kinds; and nothing else is.
func TestSeededBillsOverSeveralKeys(t *testing.T) {
	t.Parallel()
	b := startBilled(t)
	keys := []string{"one-key-cccc", "two-key-dddd"}
	n := 0
	for day := range 2 {
		for i, key := range keys {
			b.at(billDay.AddDate(0, 0, day).Add(time.Duration(10+i) * time.Hour)) // a key rests for at most an hour
			b.refused.Store(keys[1-i])
			for _, model := range []string{"chat", "echo"} {
				for range 3 {
					n++
					b.call(t, "acme/"+model, "two", "", n*n)
				}
			}
			if got := b.servedBy(t); got != catalog.KeyTag(key) {
				t.Fatalf("the last call was made with %s, want %s", got, catalog.KeyTag(key))
			}
		}
	}
	b.refused.Store("")
	b.call(t, "acme/chat", "den", "", 700) // the key of another program, on the same bill
	m := b.Node.Admin().Reconciler(nil, func() time.Time { return billDay.AddDate(0, 0, 3) })
	const provider = "two"
	order := sim.BillOrder{Keys: append(slices.Clone(keys), "other-key-bbbb"), Prompt: 10_000, Completion: 20_000}
	compare := func(o sim.BillOrder, format string) (reconcile.Result, []sim.SeededError) {
		t.Helper()
		o.Format = format
		file, seeded, err := b.upstream.Bill(&o)
		if err != nil {
			t.Fatal(err)
		}
		f, err := usagefile.Read(file, nil)
		if err != nil {
			t.Fatal(err)
		}
		r, err := m.Compare(t.Context(), provider, f.Rows, nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		return r, seeded
	}
	if r, _ := compare(order, "openai-usage"); r.ByKey || len(r.Differences) == 0 {
		t.Errorf("without a word on keys: %+v", r)
	}
	by := audit.Actor{Name: "test"}
	if err := m.Say(t.Context(), provider, map[string]string{"key_cccc": "one-key-cccc"}, by); !fault.Is(err, fault.Invalid) {
		t.Errorf("the key itself is no name of it: %v", err)
	}
	said := map[string]string{"key_cccc": catalog.KeyTag(keys[0]), "key_dddd": catalog.KeyTag(keys[1]), "key_bbbb": reconcile.Elsewhere}
	for range 2 { // the second time nothing changes
		if err := m.Say(t.Context(), provider, said, by); err != nil {
			t.Fatal(err)
		}
	}
	if rows, err := b.Node.Admin().Store.Accounts.AuditFound(t.Context(), audit.Search{Action: audit.BilledKeysNamed, Limit: 5}); err != nil || len(rows) != 1 {
		t.Errorf("%+v %v", rows, err)
	}
	for format, others := range map[string]map[string]string{ // how errors are named by files without counts or cost
		"openai-usage":    {},
		"anthropic-usage": {"lost": "tokens"},
	} {
		if r, _ := compare(order, format); !r.ByKey || len(r.Differences) != 0 {
			t.Errorf("%s without errors: %+v", format, r.Differences)
		}
		mixed := false
		for seed := range uint64(6) {
			o := order
			o.Keys = keys
			o.Errors, o.Seed = map[string]int{"lost": 1, "extra": 2, "doubled": 2, "tokens": 1}, seed
			r, seeded := compare(o, format)
			want := map[string]int{}
			places := map[string]string{}
			for _, s := range seeded {
				kind := cmp.Or(others[s.Kind], s.Kind)
				want[strings.Join([]string{kind, s.Day, s.Model, catalog.KeyTag(s.Key)}, " ")] = 1
				at := s.Day + s.Model
				mixed = mixed || places[at] != "" && places[at] != s.Kind
				places[at] = s.Kind
			}
			got := map[string]int{}
			for _, d := range r.Differences {
				model, _, _ := strings.Cut(d.Model, "-20")
				got[strings.Join([]string{string(d.Kind), d.Day, model, d.Key}, " ")]++
			}
			if diff := gocmp.Diff(want, got); diff != "" {
				t.Errorf("%s, seed %d: %s", format, seed, diff)
			}
		}
		if !mixed {
			t.Errorf("%s: no day and model had errors of two kinds", format)
		}
	}
	b.decided(t, m, provider, order)
}

// servedBy is the key of the provider that the last call was made with.
func (b *billed) servedBy(t *testing.T) string {
	t.Helper()
	w, err := b.Node.Admin().Store.Ledger.SearchAll(t.Context(), report.Search{From: billDay, To: billDay.AddDate(0, 0, 5), Limit: 1}, 1)
	if err != nil || len(w.Calls) != 1 {
		t.Fatalf("%+v %v", w, err)
	}
	return w.Calls[0].ProviderKey()
}

// decided settles one of two differences: the next comparison of the same days shows it so, and one that has grown is open.
func (b *billed) decided(t *testing.T, m *reconcile.Manager, provider string, order sim.BillOrder) {
	t.Helper()
	compare := func(doubled int) reconcile.Result {
		t.Helper()
		o := order
		o.Format, o.Errors, o.Seed = "openai-usage", map[string]int{"doubled": doubled}, 3
		file, _, err := b.upstream.Bill(&o)
		if err != nil {
			t.Fatal(err)
		}
		f, err := usagefile.Read(file, nil)
		if err != nil {
			t.Fatal(err)
		}
		r, err := m.Compare(t.Context(), provider, f.Rows, nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		return r
	}
	by := audit.Actor{Name: "test"}
	r := compare(1)
	mark := r.Differences[0].Mark
	for what, err := range map[string]error{
		"no reason":     m.Settle(t.Context(), provider, &r, mark, reconcile.Loss, " ", by),
		"no outcome":    m.Settle(t.Context(), provider, &r, mark, "", "x", by),
		"no difference": m.Settle(t.Context(), provider, &r, "other", reconcile.Loss, "x", by),
		"not decided":   m.Reopen(t.Context(), provider, &r, mark, by),
	} {
		if err == nil {
			t.Errorf("%s is accepted", what)
		}
	}
	if err := m.Settle(t.Context(), provider, &r, mark, reconcile.Loss, "not worth a letter", by); err != nil {
		t.Fatal(err)
	}
	if r = compare(1); r.Open() != 0 || r.Differences[0].Settled == nil || r.Differences[0].Settled.Reason != "not worth a letter" {
		t.Errorf("%+v", r.Differences)
	}
	more := compare(2)
	if more.Open() == 0 {
		t.Errorf("another difference is settled, too: %+v", more.Differences)
	}
	if err := m.Reopen(t.Context(), provider, &r, mark, by); err != nil {
		t.Fatal(err)
	}
	if r = compare(1); r.Open() != 1 {
		t.Errorf("%+v", r.Differences)
	}
	for _, action := range []string{audit.DifferenceSettled, audit.DifferenceReopened} {
		if rows, err := b.Node.Admin().Store.Accounts.AuditFound(t.Context(), audit.Search{Action: action, Limit: 5}); err != nil || len(rows) != 1 || !strings.Contains(rows[0].Before, mark) {
			t.Errorf("%s: %+v %v", action, rows, err)
		}
	}
}

// named checks that each seeded error has its name at its place, and that there is no other.
func (b *billed) named(t *testing.T, what, name string, got []reconcile.Difference, seeded []sim.SeededError) {
	t.Helper()
	groups := map[string]bool{}
	for _, s := range seeded {
		kind := name
		if len(seeded) == 5 {
			kind = s.Kind
		}
		if kind == "" {
			continue
		}
		at := kind + " " + s.Day + " " + s.Model
		groups[at] = true
		i := slices.IndexFunc(got, func(d reconcile.Difference) bool {
			return string(d.Kind) == kind && d.Day == s.Day && strings.HasPrefix(d.Model, s.Model) && (kind == "lost" || slices.Contains(b.answersOf(t, d.Calls), s.ID))
		})
		if i < 0 {
			t.Errorf("%s: %s of %s is not named: %+v", what, at, s.ID, got)
		}
	}
	for _, d := range got {
		if model, _, _ := strings.Cut(d.Model, "-20"); !groups[string(d.Kind)+" "+d.Day+" "+model] {
			t.Errorf("%s: %s of %s %s is named, and was not put in", what, d.Kind, d.Day, d.Model)
		}
	}
}

// Calls past midnight, calls that another provider answered in the end, and two keys make no false difference.
func TestBillsOfUnusualCalls(t *testing.T) {
	t.Parallel()
	b := startBilled(t)
	for n := 1; n <= 3; n++ {
		b.call(t, "acme/chat", "hut", "", n)
		b.call(t, "acme/chat", "den", "", 10*n)
	}
	b.call(t, "acme/chat", "hut", "[[sim fault=u14 times=1 id=failover]] ", 40) // the first provider fails, the second answers
	b.at(billDay.AddDate(0, 0, 1).Add(-time.Second))                            // it begins before midnight and ends after it
	b.call(t, "acme/chat", "hut", "[[sim delay=1500ms]] ", 50)
	b.at(billDay.AddDate(0, 0, 1).Add(10 * time.Hour))
	b.call(t, "acme/chat", "hut", "", 60)
	for _, x := range []struct {
		provider, key string
		end           bool
		want          string
	}{
		{"hut", "first-key-aaaa", false, ""},
		{"hut", "first-key-aaaa", true, "late"},
		{"den", "other-key-bbbb", true, ""},
	} {
		for _, format := range []string{"openai-usage", "openai-costs", "anthropic-usage", "anthropic-costs", "anthropic-csv", "openrouter", "csv"} {
			var names []string
			got, _ := b.compare(t, x.provider, sim.BillOrder{Keys: []string{x.key}, ByEnd: x.end}, format)
			for _, d := range got {
				names = append(names, string(d.Kind))
			}
			if strings.Join(names, " ") != x.want {
				t.Errorf("%s of %s, by end %v: %+v, want %q", format, x.provider, x.end, got, x.want)
			}
		}
	}
}

// A client that leaves in the middle of a stream pays for what arrived. The provider bills more, which is named, with the call behind it.
func TestBillOfACancelledStream(t *testing.T) {
	t.Parallel()
	b := startBilled(t)
	b.call(t, "acme/chat", "hut", "", 3)
	body := strings.NewReader(`{"model":"acme/chat","stream":true,"provider":{"order":["hut"]},"messages":[{"role":"user","content":"[[sim gap=50ms]] Tell me of weirs"}]}`)
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, b.URL+"/v1/chat/completions", body)
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer "+b.a.Key)
	req.Header.Set("Content-Type", "application/json")
	resp, err := b.Client.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	for read := bufio.NewReader(resp.Body); ; {
		line, err := read.ReadString('\n')
		if err != nil {
			t.Fatal(err)
		}
		if strings.Contains(line, `"content":"`) {
			break
		}
	}
	resp.Body.Close()
	apptest.WaitFor(t, "the provider to see the client leave", func() bool { return len(b.upstream.Served()) == 2 })
	b.a.AwaitSettled(t)
	for _, format := range []string{"csv", "openai-usage", "anthropic-usage", "openrouter"} {
		got, _ := b.compare(t, "hut", sim.BillOrder{}, format)
		if len(got) != 1 || got[0].Kind != reconcile.Tokens || !slices.Contains(got[0].Calls, resp.Header.Get("X-Generation-Id")) {
			t.Errorf("%s: %+v", format, got)
		}
	}
}
