package quota_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"pgregory.net/rapid"

	"weir/internal/apikey"
	"weir/internal/catalog"
	"weir/internal/completion"
	"weir/internal/fault"
	"weir/internal/ledger"
	"weir/internal/limit"
	"weir/internal/limit/quota"
	"weir/internal/money"
	"weir/internal/record"
	"weir/internal/routing"
	"weir/internal/task"
	"weir/internal/usage"
)

var began = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)

// bank has one balance for every wallet, and counts how often it is asked.
type bank struct {
	balance ledger.Balance
	err     error
	asked   int
}

func (b *bank) Balance(context.Context, string) (ledger.Balance, error) {
	b.asked++
	return b.balance, b.err
}

func open(c quota.Config) *quota.Quotas { return quota.New(c, &bank{}, began) }

func caller(user string) *apikey.Caller {
	return &apikey.Caller{User: user, Wallet: "wal_" + user, Key: "key_" + user}
}

// limitedBy is the limit that a fault names, with what is left of it; "" of no fault.
func limitedBy(t *testing.T, err error) (by, left string) {
	t.Helper()
	if err == nil {
		return "", ""
	}
	var f *fault.Error
	var r *quota.Refusal
	if !errors.As(err, &f) || f.Kind != fault.RateLimited || !errors.As(err, &r) || f.RetryAfter < time.Second {
		t.Fatalf("%#v is no refusal", err)
	}
	return f.Details["limited_by"].(string), r.Left + " of " + r.Limit
}

// catalogOf has one model for a ruble a token of the prompt, and one that costs nothing.
func catalogOf(t *testing.T) *catalog.Snapshot {
	t.Helper()
	s, err := catalog.Build(catalog.Declared{
		Providers: []catalog.Provider{{ID: "acme", Name: "Acme", Dialect: "openai", BaseURL: "https://acme.invalid/v1"}},
		Models: []catalog.ModelInfo{{Slug: "acme/dear", Name: "Dear", Created: began}, {Slug: "acme/gift", Name: "Gift", Created: began},
			{Slug: "acme/finder", Name: "Finder", Created: began}, {Slug: "acme/painter", Name: "Painter", Created: began}, {Slug: "acme/short", Name: "Short", Created: began}, {Slug: "acme/pen", Name: "Pen", Created: began, Type: catalog.TypeImage}},
		Offers: []catalog.Offer{
			{Provider: "acme", Model: "acme/dear", Pricing: catalog.Pricing{Base: catalog.Prices{Prompt: price(t, "1000"), Completion: price(t, "1000")}}},
			{Provider: "acme", Model: "acme/short", MaxCompletion: 190, Pricing: catalog.Pricing{Base: catalog.Prices{Prompt: price(t, "1"), Completion: price(t, "1")}}},
			{Provider: "acme", Model: "acme/finder", Pricing: catalog.Pricing{Base: catalog.Prices{Prompt: price(t, "10"), Completion: price(t, "10"), WebSearch: price(t, "100"), MCP: price(t, "50")}}},
			{Provider: "acme", Model: "acme/finder", Region: "eu", Pricing: catalog.Pricing{Base: catalog.Prices{Prompt: price(t, "9"), Completion: price(t, "9")}}},
			{Provider: "acme", Model: "acme/painter", Pricing: catalog.Pricing{Base: catalog.Prices{Prompt: price(t, "1"), Completion: price(t, "1"), ImageOutputEach: price(t, "300"), AudioOutput: price(t, "4000")}}},
			{Provider: "acme", Model: "acme/pen", Pricing: catalog.Pricing{Base: catalog.Prices{ImageOutputEach: price(t, "100")}}},
			{Provider: "acme", Model: "acme/gift", Pricing: catalog.Pricing{Base: catalog.Prices{Prompt: price(t, "0"), Completion: price(t, "0")}}},
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func price(t *testing.T, text string) money.Price {
	t.Helper()
	p, err := money.ParsePrice(text)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// Whatever requests come and go, none takes more than its user's share or the node's limit, and all give back everything.
func TestVisitsAddUp(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		const most, share = 10, 50
		q := open(quota.Config{InFlight: most, UserShare: share, StreamsByKey: 3})
		var under []*quota.Visit
		byUser, streams := map[string]int{}, map[string]int{}
		var of []string
		var streaming []bool
		for range rapid.IntRange(1, 80).Draw(t, "steps") {
			if len(under) > 0 && rapid.Bool().Draw(t, "leave") {
				i := rapid.IntRange(0, len(under)-1).Draw(t, "who")
				under[i].Leave()
				under[i].Leave() // more than once is harmless
				byUser[of[i]]--
				if streaming[i] {
					streams[of[i]]--
				}
				under, of, streaming = append(under[:i], under[i+1:]...), append(of[:i], of[i+1:]...), append(streaming[:i], streaming[i+1:]...)
				continue
			}
			user := rapid.SampledFrom([]string{"a", "b", "c"}).Draw(t, "user")
			v := &quota.Visit{}
			err := v.Enter(q, began, caller(user), true)
			if full := byUser[user] >= most*share/100 || len(under) >= most; full != (err != nil) {
				t.Fatalf("%d under way, %d of the user: %v", len(under), byUser[user], err)
			}
			if err != nil {
				v.Leave() // nothing was entered
				continue
			}
			stream := rapid.Bool().Draw(t, "stream")
			if stream {
				err := v.Stream()
				if full := streams[user] >= 3; full != (err != nil) {
					t.Fatalf("%d streams: %v", streams[user], err)
				}
				if stream = err == nil; stream {
					streams[user]++
				}
			}
			byUser[user]++
			under, of, streaming = append(under, v), append(of, user), append(streaming, stream)
			if q.InFlight() != int64(len(under)) {
				t.Fatalf("%d are counted, %d are under way", q.InFlight(), len(under))
			}
		}
		for _, v := range under {
			v.Leave()
		}
		if q.InFlight() != 0 {
			t.Fatalf("%d are left", q.InFlight())
		}
	})
}

func TestShortOfMemory(t *testing.T) {
	t.Parallel()
	q := open(quota.Config{InFlight: 10, MemoryLimit: 1000, HeapPercent: 85, Heap: func() int64 { return 851 }})
	if err := new(quota.Visit).Enter(q, began, caller("a"), true); !fault.Is(err, fault.Overloaded) {
		t.Error(err)
	}
	if q.InFlight() != 0 {
		t.Error("what was refused is counted")
	}
}

// asking is a request of a conversation; an answer of 0 is one that it does not bound.
func asking(model string, prompt, answer int64) *completion.Request {
	return &completion.Request{Models: []string{model}, N: 1, MaxTokens: answer, Needs: routing.Needs{PromptTokens: prompt}}
}

// Calls that begin together pass only as far as what they may use fits, whatever they have used so far.
func TestCallsThatBeginTogether(t *testing.T) {
	t.Parallel()
	snap := catalogOf(t)
	tokens, rubles := apikey.Rates{Tokens: 1000}, apikey.Rates{Rubles: 1000 * money.Ruble}
	many := asking("acme/dear", 10, 90)
	many.N = 5
	drawn := &completion.Request{Models: []string{"acme/pen"}, N: 1, Task: &task.Image{Prompt: "a cat", N: 4}}
	finding := func(model string, change func(*routing.Needs)) *completion.Request {
		req := asking(model, 100, 100)
		change(&req.Needs)
		return req
	}
	searching := func(n *routing.Needs) { n.Paid = catalog.PaidWebSearch }
	for name, c := range map[string]struct {
		rates apikey.Rates
		req   *completion.Request
		let   int // of ten
		by    string
	}{
		"max_tokens is the limit":       {tokens, asking("acme/dear", 10, 1000), 1, "tokens_per_minute"},
		"max_tokens fits twice":         {tokens, asking("acme/dear", 100, 400), 2, "tokens_per_minute"},
		"several answers":               {tokens, many, 2, "tokens_per_minute"},
		"a long prompt":                 {tokens, asking("acme/dear", 900, 50), 1, "tokens_per_minute"},
		"more than the limit, alone":    {tokens, asking("acme/dear", 5000, 5000), 1, "tokens_per_minute"},
		"an answer of unknown length":   {tokens, asking("acme/dear", 10, 0), 1, "tokens_per_minute"},
		"no more than the offer gives":  {tokens, asking("acme/short", 10, 100_000), 5, "tokens_per_minute"},
		"rubles":                        {rubles, asking("acme/dear", 100, 400), 2, "rubles_per_minute"},
		"images at 100 rubles each":     {rubles, drawn, 2, "rubles_per_minute"},
		"searches, as many as are held": {rubles, finding("acme/finder", searching), 3, "rubles_per_minute"}, // 2 of tokens, and 3 searches of 100
		"the searches of a suffix":      {rubles, finding("acme/finder:online", func(*routing.Needs) {}), 3, "rubles_per_minute"},
		"one search is allowed":         {rubles, finding("acme/finder", func(n *routing.Needs) { searching(n); n.Uses[0] = 1 }), 9, "rubles_per_minute"},
		"several tools":                 {rubles, finding("acme/finder", func(n *routing.Needs) { n.Paid = catalog.PaidWebSearch | catalog.PaidMCP }), 2, "rubles_per_minute"}, // 3 more at 50
		"no tool is offered":            {rubles, finding("acme/finder", func(*routing.Needs) {}), 10, ""},
		"pictures in a conversation":    {rubles, finding("acme/painter", func(n *routing.Needs) { n.Output = catalog.Image }), 3, "rubles_per_minute"},
		"sound in a conversation":       {rubles, finding("acme/painter", func(n *routing.Needs) { n.Output = catalog.Audio }), 2, "rubles_per_minute"},
		"searches leave tokens alone":   {tokens, finding("acme/finder", searching), 5, "tokens_per_minute"},
		"nothing where nothing is paid": {rubles, asking("acme/gift", 100, 400), 10, ""},
		"an unknown model":              {tokens, asking("acme/none", 500, 400), 2, "tokens_per_minute"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			q, let, by := open(quota.Config{InFlight: 10, Keys: c.rates, HostedCalls: 3}), 0, ""
			for range 10 {
				var v quota.Visit
				if err := v.Enter(q, began, caller("a"), true); err != nil {
					t.Fatal(err)
				}
				err := v.Reserve(began, snap, c.req)
				if err == nil {
					let++
				}
				if by, _ = limitedBy(t, err); err == nil && v.Nearest(began) == nil {
					t.Error("nothing says what is left")
				}
			}
			if let != c.let || by != c.by {
				t.Errorf("%d were let in, then %q; want %d, %q", let, by, c.let, c.by)
			}
		})
	}
}

// What a request does not say about its answer is learnt from those before; what goes on after its visit stays reserved until it ends; and however
// much calls have used, two minutes later the key is let in.
func TestWhatIsForeseenIsLearnt(t *testing.T) {
	t.Parallel()
	snap := catalogOf(t)
	q := open(quota.Config{InFlight: 100, Keys: apikey.Rates{Tokens: 1000}})
	enter := func(now time.Time) (v quota.Visit, err error) {
		t.Helper()
		if err := v.Enter(q, now, caller("a"), true); err != nil {
			t.Fatal(err)
		}
		return v, v.Reserve(now, snap, asking("acme/dear", 10, 0))
	}
	used := func(n int64) *record.Call {
		return &record.Call{Settled: true, ModelAsked: "acme/dear", Usage: usage.Usage{Prompt: usage.Of(10), Completion: usage.Of(n)}}
	}
	v, err := enter(began)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := enter(began); err == nil {
		t.Fatal("the length of an answer is unknown, and two were let in")
	}
	kept := v.Keep()
	v.Correct(began, nil) // its request ends
	v.Leave()
	if _, err := enter(began); err == nil {
		t.Fatal("what runs in the background is not reserved for")
	}
	kept.Correct(began, used(90))
	kept.Leave()
	var running []quota.Visit
	for range 9 {
		v, err := enter(began)
		if err != nil {
			t.Fatalf("after %d: %v", len(running), err)
		}
		running = append(running, v)
	}
	if _, err := enter(began); err == nil {
		t.Fatal("eleven calls of 100 tokens were let in")
	}
	for i := range running {
		running[i].Correct(began, used(1_000_000))
	}
	if _, err := enter(began.Add(2 * time.Minute)); err != nil {
		t.Fatalf("two minutes later: %v", err)
	}
}

// A call that goes on after its visit counts until it ends, and every call gives its place back once.
func TestCallsAtOneTime(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		const most = 3
		q := open(quota.Config{InFlight: 100, Keys: apikey.Rates{Calls: most}})
		var under []*quota.Visit
		for range rapid.IntRange(1, 60).Draw(t, "steps") {
			if len(under) > 0 && rapid.Bool().Draw(t, "end") {
				i := rapid.IntRange(0, len(under)-1).Draw(t, "who")
				if rapid.Bool().Draw(t, "goes on") {
					kept := under[i].Keep()
					under[i].Leave()
					under[i] = kept
					continue
				}
				under[i].Leave()
				under[i].Leave()
				under = append(under[:i], under[i+1:]...)
				continue
			}
			v := &quota.Visit{}
			err := v.Enter(q, began, caller("a"), true)
			if (err != nil) != (len(under) >= most) {
				t.Fatalf("%d run: %v", len(under), err)
			}
			if err == nil {
				under = append(under, v)
			}
		}
		for _, v := range under {
			v.Leave()
		}
		for range most {
			if err := new(quota.Visit).Enter(q, began, caller("a"), true); err != nil || q.InFlight() > most {
				t.Fatalf("after all have left: %v, %d under way", err, q.InFlight())
			}
		}
	})
}

// What a prompt costs is taken at once, and corrected to what the call used; one that was not charged used its request alone.
func TestAllowancesOfAKey(t *testing.T) {
	t.Parallel()
	snap := catalogOf(t)
	rates := apikey.Rates{Requests: 10, Tokens: 100, Rubles: 50 * money.Ruble}
	settled := func(tokens int64, cost money.Nano) *record.Call {
		return &record.Call{Settled: true, Usage: usage.Usage{Prompt: usage.Of(tokens)}, Cost: cost}
	}
	cases := map[string]struct {
		first    int64 // tokens of the first prompt
		call     *record.Call
		second   int64 // and of the second
		by, left string
	}{
		"both fit":                        {first: 20, call: settled(20, 20*money.Ruble), second: 30},
		"too many rubles":                 {first: 30, call: settled(30, 30*money.Ruble), second: 21, by: "rubles_per_minute", left: "20 of 50"},
		"not made, so nothing is used":    {first: 50, call: nil, second: 50},
		"not charged, so nothing is used": {first: 50, call: &record.Call{Usage: usage.Usage{Prompt: usage.Of(50)}}, second: 50},
		"used less than was reserved":     {first: 50, call: settled(50, money.Ruble), second: 49},
		"used more than was reserved":     {first: 10, call: settled(99, 10*money.Ruble), second: 2, by: "tokens_per_minute", left: "1 of 100"},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			q := open(quota.Config{InFlight: 10, Keys: rates})
			var one, two quota.Visit
			for _, v := range []*quota.Visit{&one, &two} {
				if err := v.Enter(q, began, caller("a"), true); err != nil {
					t.Fatal(err)
				}
			}
			if err := one.Reserve(began, snap, asking("acme/dear", c.first-1, 1)); err != nil {
				t.Fatal(err)
			}
			one.Correct(began, c.call)
			one.Correct(began, c.call) // once
			by, left := limitedBy(t, two.Reserve(began, snap, asking("acme/dear", c.second-1, 1)))
			if by != c.by || left != c.left {
				t.Errorf("%q, %q left; want %q, %q", by, left, c.by, c.left)
			}
		})
	}
}

// A key without allowances is not counted, and one that has its own is not bound by the operator's.
func TestWhoseAllowances(t *testing.T) {
	t.Parallel()
	own := apikey.Rates{Requests: 2, Tokens: apikey.DefaultRate, Rubles: apikey.DefaultRate}
	for name, c := range map[string]struct {
		operator apikey.Rates
		own      *apikey.Rates
		rated    bool
		let      int // of 5 requests
	}{
		"nobody has any":    {rated: true, let: 5},
		"the operator's":    {operator: apikey.Rates{Requests: 3}, rated: true, let: 3},
		"the key's own":     {operator: apikey.Rates{Requests: 3}, own: &own, rated: true, let: 2},
		"a route without":   {operator: apikey.Rates{Requests: 3}, let: 5},
		"own, no operators": {own: &own, rated: true, let: 2},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			q := open(quota.Config{InFlight: 10, Keys: c.operator})
			let := 0
			for range 5 {
				var v quota.Visit
				who := caller("a")
				who.Rates = c.own
				err := v.Enter(q, began, who, c.rated)
				if by, left := limitedBy(t, err); err == nil {
					let++
				} else if by != "requests_per_minute" || left[:2] != "0 " {
					t.Errorf("%s, %s", by, left)
				}
				v.Leave()
			}
			if let != c.let || q.InFlight() != 0 {
				t.Errorf("%d were let in, %d are counted", let, q.InFlight())
			}
		})
	}
}

// Who has paid may ask free models more often a day. That somebody has not is asked again, that somebody has is remembered.
func TestFree(t *testing.T) {
	t.Parallel()
	cfg := quota.Config{InFlight: 100, Free: quota.Free{PerMinute: 3, PerDay: 4, PaidPerDay: 6}}
	for name, c := range map[string]struct {
		credited money.Nano
		models   []string
		let      string // of four requests in each of three minutes
		by       string // what refused the last one
		asked    int
	}{
		"unpaid":            {models: []string{"a/b:free"}, let: "3 1 0 ", by: "free_requests_per_day", asked: 3},
		"paid":              {credited: money.Ruble, models: []string{"a/b:free"}, let: "3 3 0 ", by: "free_requests_per_day", asked: 1},
		"only the fallback": {credited: money.Ruble, models: []string{"a/b", "a/c:free"}, let: "3 3 0 ", by: "free_requests_per_day", asked: 1},
		"no free model":     {models: []string{"a/b"}, let: "4 4 4 "},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := &bank{balance: ledger.Balance{Credited: c.credited}}
			q := quota.New(cfg, b, began)
			let, by := "", ""
			for minute := range time.Duration(3) {
				n := 0
				for range 4 {
					var v quota.Visit
					now := began.Add(minute * time.Minute)
					if err := v.Enter(q, now, caller("a"), true); err != nil {
						t.Fatal(err)
					}
					err := v.Free(t.Context(), now, c.models)
					if by, _ = limitedBy(t, err); err == nil {
						n++
					}
					v.Leave()
				}
				let += string(rune('0'+n)) + " "
			}
			if let != c.let || by != c.by || b.asked != c.asked {
				t.Errorf("let in %s, then %q, asked %d times", let, by, b.asked)
			}
		})
	}
}

func TestFreeWithoutTheStore(t *testing.T) {
	t.Parallel()
	away := fault.New(fault.StorageUnavailable, "test", "")
	q := quota.New(quota.Config{InFlight: 1, Free: quota.Free{PerDay: 4, PaidPerDay: 6}}, &bank{err: away}, began)
	var v quota.Visit
	if err := v.Enter(q, began, caller("a"), true); err != nil {
		t.Fatal(err)
	}
	if err := v.Free(t.Context(), began, []string{"a/b:free"}); !errors.Is(err, away) {
		t.Error(err)
	}
}

func TestCredit(t *testing.T) {
	t.Parallel()
	snap := catalogOf(t)
	chat := snap.Models()[0].Type
	for name, c := range map[string]struct {
		balance ledger.Balance
		err     error
		model   string
		refused bool
		waits   bool // for calls that run
		asked   int  // of three looks within a second
	}{
		"has money":             {balance: ledger.Balance{Balance: 5}, model: "acme/dear", asked: 1},
		"has none":              {model: "acme/dear", refused: true, asked: 1},
		"all of it is held":     {balance: ledger.Balance{Balance: 5, Held: 5}, model: "acme/dear", refused: true, waits: true, asked: 1},
		"the model is free":     {model: "acme/gift"},
		"a model is free":       {model: ""},
		"an unknown model":      {model: "acme/none", refused: true, asked: 1},
		"the store is away":     {err: errors.New("away"), model: "acme/dear", asked: 3},
		"money, model is free":  {balance: ledger.Balance{Balance: 5}, model: "acme/gift"},
		"money, model unknown ": {balance: ledger.Balance{Balance: 5}, model: "acme/none", asked: 1},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := &bank{balance: c.balance, err: c.err}
			q := quota.New(quota.Config{}, b, began)
			for i := range time.Duration(3) {
				err := q.Credit(t.Context(), began.Add(i*300*time.Millisecond), "wal_1", snap, chat, c.model)
				if c.refused != fault.Is(err, fault.PaymentRequired) || !c.refused && err != nil {
					t.Error(err)
				}
				if err != nil && c.waits != (fault.From(err).RetryAfter > 0) {
					t.Errorf("%v, again in %v", err, fault.From(err).RetryAfter)
				}
			}
			if b.asked != c.asked {
				t.Errorf("asked %d times", b.asked)
			}
		})
	}
}

// Each limit by address or user lets so many in, names itself, and leaves other names alone.
func TestOfOneName(t *testing.T) {
	t.Parallel()
	q := open(quota.Config{CallsByUser: 2, FailuresByAddress: 2, VisitsByAddress: 2, Anonymous: limit.Rate{Amount: 2, Per: time.Second}})
	for by, take := range map[string]func(now time.Time, name string) error{
		"user_calls_per_minute": q.Call, "failed_auth_per_minute": q.Failure, "public_per_minute": q.Visit, "anonymous": q.Anonymous,
	} {
		for _, name := range []string{"a", "b"} {
			for i := range 3 {
				err := take(began, name)
				if got, left := limitedBy(t, err); i < 2 && err != nil || i == 2 && (got != by || left != "0 of 2") {
					t.Errorf("%s, time %d of %s: %q %q", by, i, name, got, left)
				}
			}
		}
	}
	off := open(quota.Config{})
	for range 100 {
		if err := errors.Join(off.Call(began, "a"), off.Failure(began, "a"), off.Visit(began, "a"), off.Anonymous(began, "a")); err != nil {
			t.Fatal(err)
		}
	}
}

func TestMisses(t *testing.T) {
	t.Parallel()
	q := open(quota.Config{})
	for range 600 {
		if err := q.MayMiss(began, "a"); err != nil {
			t.Fatal(err)
		}
		q.Missed(began, "a")
	}
	if by, left := limitedBy(t, q.MayMiss(began, "a")); by != "unknown_keys" || left != "0 of 20" {
		t.Errorf("%q %q", by, left)
	}
	if err := errors.Join(q.MayMiss(began, "b"), q.MayMiss(began.Add(time.Second), "a")); err != nil {
		t.Error(err)
	}
}

func TestShare(t *testing.T) {
	t.Parallel()
	for _, c := range [][4]int64{{100, 0, 5, 100}, {100, 50, 5, 50}, {100, 1, 5, 5}, {1 << 62, 50, 0, 1 << 61 / 100 * 100}} {
		got := quota.Share(c[0], c[1], c[2])
		if c[0] < 1<<60 && got != c[3] || c[0] >= 1<<60 && (got < 1<<60 || got > 1<<61) {
			t.Errorf("%d %% of %d, at least %d: %d", c[1], c[0], c[2], got)
		}
	}
}

// Tries to redeem codes are counted for the account and for the address, whatever the other has left.
func TestRedeem(t *testing.T) {
	t.Parallel()
	q := open(quota.Config{})
	for i := range 20 {
		if err := q.Redeem(began, "usr_1", "a"); err != nil {
			t.Fatalf("try %d: %v", i, err)
		}
	}
	if err := q.Redeem(began, "usr_1", "b"); !fault.Is(err, fault.RateLimited) {
		t.Errorf("an account at another address: %v", err)
	}
	for i := range 80 {
		if err := q.Redeem(began, fmt.Sprint("usr_", 2+i/10), "a"); err != nil {
			t.Fatalf("another account, try %d: %v", i, err)
		}
	}
	if err := q.Redeem(began, "usr_new", "a"); !fault.Is(err, fault.RateLimited) {
		t.Errorf("an address that many accounts share: %v", err)
	}
	if err := q.Redeem(began.Add(time.Hour), "usr_1", "a"); err != nil {
		t.Errorf("after an hour: %v", err)
	}
}

// A further key of a user is no further allowance, whatever is limited; what the operator gave one key is not taken from it, nor from others.
func TestKeysOfAUserTogether(t *testing.T) {
	t.Parallel()
	own := func(requests, calls int64) *apikey.Rates {
		return &apikey.Rates{Requests: requests, Tokens: apikey.DefaultRate, Rubles: apikey.DefaultRate, Calls: calls}
	}
	for name, c := range map[string]struct {
		cfg    quota.Config
		own    *apikey.Rates // of each key
		tokens int64         // that each request asks for
		stay   bool          // calls do not end
		let    int           // of 60 requests, each with a key of its own
		by     string
	}{
		"requests":              {cfg: quota.Config{Keys: apikey.Rates{Requests: 3}}, let: 30, by: "account_requests_per_minute"},
		"requests as set":       {cfg: quota.Config{Keys: apikey.Rates{Requests: 3}, Users: apikey.Rates{Requests: 4}}, let: 4, by: "account_requests_per_minute"},
		"only the account's":    {cfg: quota.Config{Users: apikey.Rates{Requests: 4}}, let: 4, by: "account_requests_per_minute"},
		"tokens":                {cfg: quota.Config{Keys: apikey.Rates{Tokens: 100}}, tokens: 100, let: 10, by: "account_tokens_per_minute"},
		"rubles":                {cfg: quota.Config{Keys: apikey.Rates{Rubles: 100 * money.Ruble}}, tokens: 100, let: 10, by: "account_rubles_per_minute"},
		"calls":                 {cfg: quota.Config{Keys: apikey.Rates{Calls: 1}}, stay: true, let: 10, by: "account_concurrent_calls"},
		"calls that end":        {cfg: quota.Config{Keys: apikey.Rates{Calls: 1}}, let: 60},
		"keys that the owner":   {cfg: quota.Config{Keys: apikey.Rates{Requests: 3}}, own: own(2, apikey.DefaultRate), let: 30, by: "account_requests_per_minute"},
		"given by the operator": {cfg: quota.Config{Keys: apikey.Rates{Requests: 3}}, own: own(31, apikey.DefaultRate), let: 60},
		"without, by operator":  {cfg: quota.Config{Keys: apikey.Rates{Requests: 3, Calls: 1}}, own: own(0, 0), stay: true, let: 60},
		"the owner alone":       {own: own(1, 1), stay: true, let: 60},
		"nobody":                {let: 60, tokens: 100, stay: true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c.cfg.InFlight = 1000
			q, let := open(c.cfg), 0
			visit := func(user string, key int) (*quota.Visit, error) {
				who := caller(user)
				who.Key, who.Rates = fmt.Sprint(user, key), c.own
				v := new(quota.Visit)
				err := v.Enter(q, began, who, true)
				if err == nil && c.tokens > 0 {
					err = v.Reserve(began, catalogOf(t), asking("acme/dear", c.tokens-10, 10))
				}
				return v, err
			}
			for key := range 60 {
				v, err := visit("a", key)
				if by, _ := limitedBy(t, err); err == nil {
					let++
				} else if by != c.by {
					t.Fatalf("%s refused, not %s", by, c.by)
				}
				if !c.stay || err != nil {
					v.Leave()
				}
			}
			if let != c.let {
				t.Errorf("%d were let in, want %d", let, c.let)
			}
			if v, err := visit("b", 0); err != nil {
				t.Errorf("another user: %v", err)
			} else {
				v.Leave()
			}
		})
	}
}

// What a user's allowance refuses is not taken from the key's.
func TestRefusedByTheUser(t *testing.T) {
	t.Parallel()
	q := open(quota.Config{InFlight: 10, Keys: apikey.Rates{Requests: 3}, Users: apikey.Rates{Requests: 1}})
	var v, w quota.Visit
	if err := v.Enter(q, began, caller("a"), true); err != nil {
		t.Fatal(err)
	}
	for range 5 {
		if err := w.Enter(q, began, caller("a"), true); err == nil {
			t.Fatal("let in")
		}
	}
	wider := caller("a")
	wider.Rates = &apikey.Rates{Requests: 3} // the key's own, so that the user's does not count
	wider.User = "b"
	for range 2 {
		if err := w.Enter(q, began, wider, true); err != nil {
			t.Fatal("the key has lost what was refused: ", err)
		}
	}
}
