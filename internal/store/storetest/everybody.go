package storetest

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"

	"weir/internal/account"
	"weir/internal/apikey"
	"weir/internal/audit"
	"weir/internal/ledger"
	"weir/internal/money"
	"weir/internal/record"
	"weir/internal/report"
	"weir/internal/store"
	"weir/internal/usage"
)

// everybody are calls of several accounts, in a store and as they were made.
type everybody struct {
	s     *store.Store
	now   time.Time
	calls []record.Call // the newest first
}

// Everybody checks what operators ask about the calls of all accounts, against calls that are looked at one by one.
func Everybody(t *testing.T, open Open) {
	now := time.Date(2026, 3, 4, 12, 30, 0, 0, time.UTC)
	e := everybody{s: open(t, func() time.Time { return now }), now: now}
	e.fill(t)
	t.Run("lists", e.lists)
	t.Run("over time", e.overTime)
	t.Run("sold", e.sold)
	t.Run("requests", e.requests)
	t.Run("failures", e.failures)
	t.Run("failures at an endpoint", e.failuresAt)
	t.Run("moves", e.moves)
	t.Run("names", e.names)
	t.Run("old failures go", e.old)
}

func (e *everybody) fill(t *testing.T) {
	ctx, random := t.Context(), rand.New(rand.NewPCG(5, 6))
	for i := range 3 {
		u := account.User{ID: fmt.Sprint("usr_", i), Name: fmt.Sprint("User ", i), Wallet: fmt.Sprint("wal_", i), CreatedAt: e.now}
		ok(t, e.s.Accounts.CreateUser(ctx, u, audit.Event{}))
	}
	k := apikey.Key{ID: "key_0", Hash: strings.Repeat("a", 64), Label: "sk-weir-v1-abc...xyz", Name: "laptop", User: "usr_0", CreatedAt: e.now}
	ok(t, e.s.Accounts.InsertKey(ctx, k, apikey.MaxPerUser, audit.Event{}))
	if _, err := e.s.Ledger.Position(ctx, "node"); err != nil {
		t.Fatal(err)
	}
	batch := ledger.Batch{Node: "node", Now: e.now}
	for i := range 400 {
		c := e.call(random, i)
		e.calls = append(e.calls, c)
		batch.Items = append(batch.Items, ledger.Encode(ledger.Item{Call: c}))
		if len(batch.Items) < 90 && i < 399 {
			continue
		}
		batch.To = batch.From + int64(len(batch.Items))
		if to, err := e.s.Ledger.Apply(ctx, &batch); err != nil || to != batch.To {
			t.Fatalf("%d, %v", to, err)
		}
		batch.From, batch.Items = batch.To, nil
	}
	slices.SortFunc(e.calls, func(x, y record.Call) int { return cmp.Compare(y.Generation, x.Generation) })
}

func (e *everybody) call(random *rand.Rand, i int) record.Call {
	at := e.now.Add(-time.Duration(random.IntN(3*24*3600)) * time.Second)
	if i%7 == 0 {
		at = at.Truncate(6 * time.Hour) // several in one second
	}
	w := random.IntN(3)
	c := record.Call{
		Generation: fmt.Sprintf("gen-%d-%020d", at.Unix(), random.Uint64()), Request: fmt.Sprintf("%s%018d", record.AppendRequest(nil, at.Add(-time.Duration(i%3)*time.Second)), i),
		User: fmt.Sprint("usr_", w), Wallet: fmt.Sprint("wal_", w), At: at, Key: fmt.Sprint("key_", w), API: pick(random, "completions", "messages"), ModelAsked: "a/x", Model: pick(random, "a/x", "a/x", "a/y"),
		Provider: pick(random, "p", "q"), Status: 200, Settled: true, Cost: money.Nano(random.Int64N(1e9)), Usage: usage.Usage{Prompt: usage.Of(3)},
	}
	if i%9 == 0 {
		c.Metadata = `{"key":"` + keyTag + `"}` // a client writes what it likes
	}
	c.Endpoint = c.Provider + "/" + c.Model
	c.Lines = []usage.Line{{Kind: usage.KindRequest, Quantity: 1, Price: int64(c.Cost)}}
	failed := record.Attempt{Endpoint: "r/" + c.Model, Provider: "r", ProviderKey: pick(random, keyTag, "0123456789ac", ""), Status: 429, Reason: "rate_limit_exceeded", Words: fmt.Sprintf("Used %d of 30000 tokens", random.IntN(9000))}
	fail := func(code string, status int) {
		c.Error, c.Status, c.Settled, c.Cost, c.Lines, c.Model, c.Provider, c.Endpoint = code, status, false, 0, nil, "", "", ""
	}
	switch random.IntN(8) {
	case 0: // saved by another provider
		c.Attempts = []record.Attempt{failed, {Endpoint: c.Endpoint, Provider: c.Provider, Status: 200}}
	case 1:
		c.Attempts = []record.Attempt{failed, failed}
		fail("rate_limit_exceeded", 429)
	case 2: // the other provider was ejected, and then there was no money
		c.Candidates = []record.Candidate{{Endpoint: "r/" + c.Model, Slug: "a/x", DroppedBy: record.DroppedEjected}}
		fail("payment_required", 402)
	case 4: // the other provider was ejected, or out of service, or had another reason
		c.Candidates = []record.Candidate{{Endpoint: "r/" + c.Model, Slug: "a/x", DroppedBy: pick(random, record.DroppedEjected, record.DroppedOut, "max_price"), Order: i % 2}, {Endpoint: c.Endpoint, Slug: "a/x", Order: 1}}
		c.Attempts = []record.Attempt{{Endpoint: c.Endpoint, Provider: c.Provider, Status: 200}}
	case 3:
		c.Attempts = []record.Attempt{{Endpoint: c.Endpoint, Provider: c.Provider, Reason: "canceled"}}
		c.Error, c.Cancelled = "canceled", true
	default:
		c.Attempts = []record.Attempt{{Endpoint: c.Endpoint, Provider: c.Provider, Status: 200}}
	}
	return c
}

// keyTag is of a provider's key that some attempts were made with.
const keyTag = "0123456789ab"

func withKeyTag(c *record.Call) bool {
	return slices.ContainsFunc(c.Attempts, func(a record.Attempt) bool { return a.ProviderKey == keyTag })
}

func (e *everybody) reporter() *report.Reporter { return report.New(e.s.Ledger, flushed{e.s.Ledger}) }

// sold: what a stretch of hours has earned by endpoint is the sum of its calls.
func (e *everybody) sold(t *testing.T) {
	from, to := report.Hour.Floor(e.now.AddDate(0, 0, -2)), report.Hour.Floor(e.now.AddDate(0, 0, -1))
	want := map[string]money.Nano{}
	for i := range e.calls {
		if c := &e.calls[i]; c.Endpoint != "" && c.Cost > 0 && !c.At.Before(from) && c.At.Before(to) {
			want[c.Endpoint] += c.Cost
		}
	}
	got, err := e.s.Ledger.SoldByEndpoint(t.Context(), from, to)
	if err != nil || len(got) != len(want) || len(want) == 0 {
		t.Fatalf("%v, want %v, %v", got, want, err)
	}
	for endpoint, revenue := range want {
		if got[endpoint].Revenue != revenue {
			t.Errorf("%s: %s, want %s", endpoint, got[endpoint].Revenue, revenue)
		}
	}
}

func (e *everybody) lists(t *testing.T) {
	r := e.reporter()
	day := e.now.AddDate(0, 0, -1)
	for name, x := range map[string]struct {
		search report.Search
		fits   func(c *record.Call) bool
	}{
		"all":                    {report.Search{}, func(*record.Call) bool { return true }},
		"a day":                  {report.Search{From: day}, func(c *record.Call) bool { return !c.At.Before(day) }},
		"before":                 {report.Search{To: day}, func(c *record.Call) bool { return c.At.Before(day) }},
		"a person":               {report.Search{Filter: report.Filter{Member: "usr_1"}}, func(c *record.Call) bool { return c.User == "usr_1" }},
		"a key":                  {report.Search{Filter: report.Filter{Key: "key_2"}}, func(c *record.Call) bool { return c.Key == "key_2" }},
		"a model":                {report.Search{Filter: report.Filter{Model: "a/y"}}, func(c *record.Call) bool { return c.Model == "a/y" }},
		"both":                   {report.Search{Filter: report.Filter{Model: "a/y", Provider: "q"}}, func(c *record.Call) bool { return c.Model == "a/y" && c.Provider == "q" }},
		"nowhere":                {report.Search{Filter: report.Filter{Provider: "never"}}, func(*record.Call) bool { return false }},
		"no model":               {report.Search{Filter: report.Filter{Model: report.Nothing}}, func(c *record.Call) bool { return c.Model == "" }},
		"failed":                 {report.Search{Filter: report.Filter{Result: report.Failed}}, func(c *record.Call) bool { return c.Error != "" && !c.Cancelled }},
		"a code":                 {report.Search{Filter: report.Filter{Result: "payment_required"}}, func(c *record.Call) bool { return c.Error == "payment_required" }},
		"cancelled":              {report.Search{Filter: report.Filter{Result: record.Canceled}}, func(c *record.Call) bool { return c.Cancelled }},
		"well":                   {report.Search{Filter: report.Filter{Result: record.OK}}, func(c *record.Call) bool { return c.Error == "" }},
		"a status":               {report.Search{Status: 402}, func(c *record.Call) bool { return c.Status == 402 }},
		"a status of an account": {report.Search{Wallet: "wal_1", Status: 402}, func(c *record.Call) bool { return c.Status == 402 && c.User == "usr_1" }},
		"a key of the provider":  {report.Search{ProviderKey: keyTag}, withKeyTag},
		"that of an account":     {report.Search{Wallet: "wal_1", ProviderKey: keyTag}, func(c *record.Call) bool { return c.User == "usr_1" && withKeyTag(c) }},
		"that of failures":       {report.Search{ProviderKey: keyTag, Filter: report.Filter{Result: report.Failed}}, func(c *record.Call) bool { return c.Error != "" && !c.Cancelled && withKeyTag(c) }},
		"a key that none has":    {report.Search{ProviderKey: "fedcba987654"}, func(*record.Call) bool { return false }},
		"dear":                   {report.Search{MinCost: 5e8}, func(c *record.Call) bool { return c.Cost >= 5e8 }},
		"kind":                   {report.Search{Filter: report.Filter{Kind: "messages"}}, func(c *record.Call) bool { return c.API == "messages" }},
	} {
		var want, got []string
		for i := range e.calls {
			if x.fits(&e.calls[i]) {
				want = append(want, e.calls[i].Generation)
			}
		}
		s := x.search
		if s.To.IsZero() {
			s.To = e.now.Add(time.Second)
		}
		if s.From.IsZero() {
			s.From = time.Unix(0, 0)
		}
		find := r.AllCalls
		if s.Wallet != "" {
			find = r.Calls
		}
		for s.Limit = 7; ; {
			p, err := find(t.Context(), s)
			if err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			for i := range p.Calls {
				got = append(got, p.Calls[i].Generation)
			}
			if s.After = p.Next; p.Next == (report.Place{}) {
				break
			}
		}
		if diff := gocmp.Diff(want, got); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}
	// A step looks at so many calls, and says how far it came.
	w, err := e.s.Ledger.SearchAll(t.Context(), report.Search{Filter: report.Filter{Provider: "never"}, From: time.Unix(0, 0), To: e.now.Add(time.Second), Limit: 5}, 40)
	if err != nil || len(w.Calls) != 0 || w.End.ID != e.calls[39].Generation {
		t.Errorf("%+v, %v, want %s", w, err, e.calls[39].Generation)
	}
}

// overTime: calls are counted by the hour and by the day, whatever is asked for, and what was sold in whole days is the sum of these calls.
func (e *everybody) overTime(t *testing.T) {
	r := e.reporter()
	today := report.Day.Floor(e.now)
	failed := func(c *record.Call) bool { return c.Error != "" && !c.Cancelled }
	for name, f := range map[string]struct {
		search report.Search
		fits   func(c *record.Call) bool
	}{
		"all":                             {report.Search{}, func(*record.Call) bool { return true }},
		"a model":                         {report.Search{Filter: report.Filter{Model: "a/y"}}, func(c *record.Call) bool { return c.Model == "a/y" }},
		"no model":                        {report.Search{Filter: report.Filter{Model: report.Nothing}}, func(c *record.Call) bool { return c.Model == "" }},
		"a provider of it":                {report.Search{Filter: report.Filter{Model: "a/y", Provider: "q"}}, func(c *record.Call) bool { return c.Model == "a/y" && c.Provider == "q" }},
		"failed":                          {report.Search{Filter: report.Filter{Result: report.Failed}}, failed},
		"a code":                          {report.Search{Filter: report.Filter{Result: "payment_required"}}, func(c *record.Call) bool { return c.Error == "payment_required" }},
		"a code of a kind":                {report.Search{Filter: report.Filter{Result: "payment_required", Kind: "messages"}}, func(c *record.Call) bool { return c.Error == "payment_required" && c.API == "messages" }},
		"well":                            {report.Search{Filter: report.Filter{Result: record.OK}}, func(c *record.Call) bool { return c.Error == "" }},
		"a kind of a model":               {report.Search{Filter: report.Filter{Kind: "messages", Model: "a/x"}}, func(c *record.Call) bool { return c.API == "messages" && c.Model == "a/x" }},
		"a person":                        {report.Search{Wallet: "wal_1", Filter: report.Filter{Member: "usr_1"}}, func(c *record.Call) bool { return c.User == "usr_1" }},
		"a key that failed":               {report.Search{Wallet: "wal_2", Filter: report.Filter{Key: "key_2", Result: report.Failed}}, func(c *record.Call) bool { return c.User == "usr_2" && failed(c) }},
		"a provider":                      {report.Search{Filter: report.Filter{Provider: "q"}}, func(c *record.Call) bool { return c.Provider == "q" }},
		"a key of anybody":                {report.Search{Filter: report.Filter{Key: "key_2"}}, func(c *record.Call) bool { return c.Key == "key_2" }},
		"a status":                        {report.Search{Status: 402}, func(c *record.Call) bool { return c.Status == 402 }},
		"a status of a model that failed": {report.Search{Status: 429, Filter: report.Filter{Model: report.Nothing, Result: report.Failed}}, func(c *record.Call) bool { return c.Status == 429 }},
		"a provider's key":                {report.Search{ProviderKey: keyTag}, withKeyTag},
		"a provider's key and a status":   {report.Search{ProviderKey: keyTag, Status: 200}, func(c *record.Call) bool { return withKeyTag(c) && c.Status == 200 }},
	} {
		for _, days := range []int{1, 3} {
			from := today.AddDate(0, 0, 1-days)
			s := f.search
			s.From, s.To = from, e.now.Add(time.Second)
			u, err := r.OverTime(t.Context(), s, e.now)
			if err != nil {
				t.Fatal(err)
			}
			want := map[time.Time]report.Sums{}
			var total report.Sums
			var margin money.Nano
			for i := range e.calls {
				c := &e.calls[i]
				if c.At.Before(from) || !f.fits(c) {
					continue
				}
				one := report.Sums{Calls: 1, Cost: c.Cost}
				if failed(c) {
					one.Failed = 1
				}
				at := want[u.Query.Bucket.Floor(c.At)]
				at.Add(&one)
				want[u.Query.Bucket.Floor(c.At)] = at
				total.Add(&one)
				if m, known := report.MarginOf(c); known {
					margin += m.Margin
				}
			}
			for i, at := range u.Times {
				got := report.Sums{Calls: u.Sums[i].Calls, Failed: u.Sums[i].Failed, Cost: u.Sums[i].Cost}
				if diff := gocmp.Diff(want[at], got); diff != "" {
					t.Errorf("%s, %d days, %s: %s", name, days, at, diff)
				}
			}
			if u.Total.Calls != total.Calls || u.Total.Failed != total.Failed || u.Total.Cost != total.Cost || total.Calls == 0 {
				t.Errorf("%s, %d days: %+v, want %+v", name, days, u.Total, total)
			}
			if told := s.Wallet == "" && s.Filter.Key == "" || s.Filter == (report.Filter{Member: "usr_1"}); (u.Sold != nil) != told || told && u.Sold.Margin() != margin {
				t.Errorf("%s, %d days: %+v was sold, want a margin of %s", name, days, u.Sold, margin)
			}
			if hours := u.Query.Bucket == report.Hour; hours != (days == 1 || s.Wallet != "") {
				t.Errorf("%s, %d days: by %s", name, days, u.Query.Bucket)
			}
		}
	}
	for _, x := range []struct {
		search report.Search
		want   []report.Beside
	}{
		{report.Search{MinCost: 1}, []report.Beside{report.ByCost}},
		{report.Search{Wallet: "wal_1", Status: 402, MinCost: 1}, []report.Beside{report.ByCost, report.ByStatus}},
		{report.Search{Wallet: "wal_1", ProviderKey: keyTag}, []report.Beside{report.ByProviderKey}},
		{report.Search{Filter: report.Filter{Model: "a/x"}, ProviderKey: keyTag}, []report.Beside{report.ByProviderKey}},
		{report.Search{Filter: report.Filter{Key: report.Nothing}, Status: 402}, []report.Beside{report.ByStatus}},
	} {
		x.search.From, x.search.To = today, e.now
		u, err := r.OverTime(t.Context(), x.search, e.now)
		if err != nil || !slices.Equal(u.Uncounted, x.want) || len(u.Times) != 0 || u.Sold != nil {
			t.Errorf("%+v: %+v, %v", x.search, u, err)
		}
	}
}

func (e *everybody) requests(t *testing.T) {
	r := e.reporter()
	for i := range e.calls[:50] {
		if got, err := r.CallOfRequest(t.Context(), e.calls[i].Request); err != nil || got != e.calls[i].Generation {
			t.Errorf("%s: %q, %v, want %s", e.calls[i].Request, got, err, e.calls[i].Generation)
		}
	}
	for _, id := range []string{"req_0000000000000000", "req_", "gen-1", string(record.AppendRequest(nil, e.calls[0].At)) + "x"} {
		if got, err := r.CallOfRequest(t.Context(), id); err != nil || got != "" {
			t.Errorf("%s: %q, %v", id, got, err)
		}
	}
}

func (e *everybody) failures(t *testing.T) {
	r := e.reporter()
	from, to := report.Hour.Floor(e.now.AddDate(0, 0, -1)), e.now
	const words = "Used 0 of 0 tokens"
	limited, poor := report.Cause{Code: "rate_limit_exceeded", Provider: "r", Words: words}, report.Cause{Code: "payment_required"}
	want := map[report.Cause]report.FailureSums{}
	byWallet, endpoints := map[string]int64{}, map[string]bool{}
	for i := range e.calls {
		c := &e.calls[i]
		if c.At.Before(from) || c.Cancelled || len(c.Attempts) == 1 {
			continue
		}
		cause, sums := poor, report.FailureSums{Errors: 1, Reached: 1}
		if len(c.Attempts) == 2 {
			cause, sums = limited, report.FailureSums{Errors: 1}
			if c.Error != "" {
				sums = report.FailureSums{Errors: 2, Reached: 1}
			}
			byWallet[c.Wallet] += sums.Errors
			endpoints[c.Attempts[0].Endpoint] = true
		}
		had := want[cause]
		had.Errors, had.Reached = had.Errors+sums.Errors, had.Reached+sums.Reached
		if had.First.IsZero() || c.At.Before(had.First) {
			had.First = c.At
		}
		if c.At.After(had.Last) {
			had.Last = c.At
		}
		want[cause] = had
	}
	list, all, reached, err := r.Causes(t.Context(), from, to, 10)
	if err != nil || len(list) != 2 || all != list[0].Errors+list[1].Errors || reached != list[0].Reached+list[1].Reached {
		t.Fatalf("%+v, %d, %d, %v", list, all, reached, err)
	}
	for _, f := range list {
		last, _, err := e.s.Ledger.Call(t.Context(), "", f.Call)
		if err != nil || !last.At.Equal(f.Last) || f.Accounts != 3 || f.Endpoints != map[report.Cause]int64{limited: int64(len(endpoints)), poor: 1}[f.Cause] {
			t.Errorf("%+v, %v", f, err)
		}
		if f.Cause == limited && !strings.HasPrefix(f.Said, "Used ") || f.Cause == poor && f.Said != "" {
			t.Errorf("%q", f.Said)
		}
		f.Call, f.Said = "", ""
		if f.FailureSums != want[f.Cause] {
			t.Errorf("%+v, want %+v", f, want[f.Cause])
		}
	}
	if one, _, _, err := r.Causes(t.Context(), from, to, 1); err != nil || len(one) != 1 || one[0].Errors != max(list[0].Errors, list[1].Errors) {
		t.Errorf("%+v, %v", one, err)
	}
	accounts, at, err := r.OneCause(t.Context(), from, to, limited, 10)
	if err != nil || len(accounts) != 3 || len(at) != len(endpoints) {
		t.Fatalf("%+v, %+v, %v", accounts, at, err)
	}
	for _, a := range accounts {
		if a.Errors != byWallet[a.Value] || a.Call == "" {
			t.Errorf("%+v, want %d", a, byWallet[a.Value])
		}
	}
	if none, n, _, err := r.Causes(t.Context(), to.Add(time.Hour), to.Add(2*time.Hour), 10); err != nil || len(none) != 0 || n != 0 {
		t.Errorf("%+v, %v", none, err)
	}
}

// failuresAt: the failures of one endpoint are those of its attempts.
func (e *everybody) failuresAt(t *testing.T) {
	from := report.Hour.Floor(e.now.AddDate(0, 0, -1))
	for _, endpoint := range []string{"r/a/x", "r/a/y", "p/a/x"} {
		var want int64
		wallets := map[string]bool{}
		for i := range e.calls {
			for _, a := range e.calls[i].Attempts {
				if a.Endpoint == endpoint && a.Reason == "rate_limit_exceeded" && !e.calls[i].At.Before(from) {
					want++
					wallets[e.calls[i].Wallet] = true
				}
			}
		}
		list, err := e.reporter().CausesAt(t.Context(), endpoint, from, e.now, 10)
		if err != nil || len(list) != int(min(want, 1)) {
			t.Fatalf("%s: %+v, %v", endpoint, list, err)
		}
		if want > 0 && (list[0].Errors != want || list[0].Accounts != int64(len(wallets)) || list[0].Endpoints != 1 || !strings.HasPrefix(list[0].Said, "Used ")) {
			t.Errorf("%s: %+v, want %d of %d", endpoint, list[0], want, len(wallets))
		}
	}
}

// moves: what is found of the calls that an endpoint lost to others is what a walk through all of them finds.
func (e *everybody) moves(t *testing.T) {
	from := e.now.AddDate(0, 0, -1)
	for _, endpoint := range []string{"r/a/x", "r/a/y", "p/a/x", "r/a_x", "never"} {
		want, sum := report.MovesFrom(endpoint), int64(0)
		for i := range e.calls {
			if !e.calls[i].At.Before(from) {
				want.Add(&e.calls[i])
			}
		}
		got, since, err := e.reporter().Moves(t.Context(), endpoint, from, e.now.Add(time.Second))
		if diff := gocmp.Diff(want.List(), got); diff != "" || err != nil || !since.Equal(from) {
			t.Errorf("%s: %s, %v, since %v", endpoint, diff, err, since)
		}
		for _, m := range got {
			sum += min(m.Failed, 1) + min(m.Passed, 1)
		}
		if endpoint == "r/a/x" && sum < 5 {
			t.Errorf("%+v: there are too few to show anything", got)
		}
	}
	// Of a busy gateway only the newest calls are looked at, and it says since when.
	n := 0
	since, err := e.s.Ledger.CallsElsewhere(t.Context(), "r/a/x", from, e.now.Add(time.Second), 50, func(*record.Call) { n++ })
	if err != nil || !since.Equal(e.calls[49].At) || n == 0 || n > 50 {
		t.Errorf("%d, %v, %v; want %v", n, since, err, e.calls[49].At)
	}
}

func (e *everybody) names(t *testing.T) {
	r := e.reporter()
	for kind, x := range map[report.NameKind]struct {
		ids  []string
		want map[string]report.Named
	}{
		report.UsersByID:     {[]string{"usr_1", "usr_9", "usr_1"}, map[string]report.Named{"usr_1": {ID: "usr_1", Name: "User 1"}}},
		report.UsersByWallet: {[]string{"wal_2"}, map[string]report.Named{"wal_2": {ID: "usr_2", Name: "User 2"}}},
		report.KeysByID:      {[]string{"key_0"}, map[string]report.Named{"key_0": {ID: strings.Repeat("a", 64), Name: "laptop", Label: "sk-weir-v1-abc...xyz"}}},
	} {
		got, err := r.Names(t.Context(), kind, x.ids)
		if diff := gocmp.Diff(x.want, got); diff != "" || err != nil {
			t.Errorf("%d: %v %s", kind, err, diff)
		}
	}
	if got, err := r.Names(t.Context(), report.UsersByID, nil); err != nil || len(got) != 0 {
		t.Errorf("%v, %v", got, err)
	}
}

// old shows that hours are dropped after their time.
func (e *everybody) old(t *testing.T) {
	later := e.now.AddDate(0, 0, report.MostFailureDays+1)
	c := record.Call{Generation: fmt.Sprintf("gen-%d-late", later.Unix()), Request: "req_1", User: "usr_0", Wallet: "wal_0", At: later, API: "messages", ModelAsked: "a/x", Status: 404, Error: "model_not_found"}
	batch := ledger.Batch{Node: "node", Now: later, From: 400, To: 401, Items: []ledger.Recorded{ledger.Encode(ledger.Item{Call: c})}}
	if to, err := e.s.Ledger.Apply(t.Context(), &batch); err != nil || to != 401 {
		t.Fatalf("%d, %v", to, err)
	}
	list, n, _, err := e.reporter().Causes(t.Context(), e.now.AddDate(0, 0, -9), later, 10)
	if err != nil || n != 1 || len(list) != 1 || list[0].Code != "model_not_found" {
		t.Errorf("%+v, %v", list, err)
	}
}
