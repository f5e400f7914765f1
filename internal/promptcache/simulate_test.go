package promptcache_test

import (
	"bufio"
	"cmp"
	"compress/gzip"
	"crypto/sha256"
	"encoding/binary"
	"encoding/json"
	"math"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"weir/internal/catalog"
	"weir/internal/completion"
	"weir/internal/money"
	"weir/internal/promptcache"
	"weir/internal/routing"
	"weir/internal/usage"
	"weir/internal/wire"
)

// session is the prompts of a recorded agent, call after call.
type session []prompt

// prompt has its beginnings up to each message, with their tokens.
type prompt struct {
	completion.Request
	ids    []uint64
	tokens []int64
}

// recorded reads the sessions of agents that were recorded at real providers: the requests of each file with at least two of them that go on from one
// another. What comes before the messages is made as long as it is for coding agents by a text of so many bytes, and messages are repeated so often:
// the recorded tasks are small.
func recorded(t *testing.T, instructions, times int) (all []session) {
	t.Helper()
	f, err := os.Open("../app/world/testdata/recorded/interactions.jsonl.gz")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	z, err := gzip.NewReader(f)
	if err != nil {
		t.Fatal(err)
	}
	type turn struct {
		File    string
		Index   int
		Request map[string]json.RawMessage
	}
	files, names := map[string][]turn{}, []string{}
	lines := bufio.NewReaderSize(z, 1<<20)
	for {
		line, err := lines.ReadBytes('\n')
		if err != nil {
			break
		}
		var x turn
		if json.Unmarshal(line, &x) != nil || x.Request == nil {
			continue
		}
		if files[x.File] == nil {
			names = append(names, x.File)
		}
		files[x.File] = append(files[x.File], x)
	}
	padding, _ := json.Marshal(strings.Repeat("Follow the conventions of the repository. ", instructions/42))
	for _, name := range names {
		turns := files[name]
		slices.SortFunc(turns, func(a, b turn) int { return cmp.Compare(a.Index, b.Index) })
		var s session
		for _, x := range turns {
			var messages []json.RawMessage
			for _, member := range []string{"messages", "input", "contents"} {
				if json.Unmarshal(x.Request[member], &messages) == nil && len(messages) > 0 {
					break
				}
			}
			if len(messages) == 0 {
				continue
			}
			long := make([]json.RawMessage, len(messages))
			for i, m := range messages {
				text, _ := json.Marshal(strings.Repeat(string(m), times))
				long[i] = text
			}
			list, _ := json.Marshal(long)
			before := [][]byte{padding}
			for _, member := range []string{"tools", "system", "instructions", "systemInstruction", "system_instruction"} {
				if v := x.Request[member]; v != nil {
					before = append(before, v)
				}
			}
			ids, tokens := beginnings(before, long)
			s = append(s, prompt{requestOf(before, list), ids, tokens})
		}
		if len(s) > 1 {
			all = append(all, s)
		}
	}
	return all
}

// requestOf is a request with marks for caches, as a decoder makes it.
func requestOf(before [][]byte, messages []byte) completion.Request {
	r := completion.Request{HasRoles: completion.HasCacheControl}
	for _, v := range before {
		at := len(r.Body)
		r.Body = append(r.Body, v...)
		r.Members = append(r.Members, completion.Member{Name: "system", Start: at, Value: at, End: len(r.Body)})
	}
	r.MessagesAt.Start = len(r.Body)
	r.Body = append(r.Body, messages...)
	r.MessagesAt.End = len(r.Body)
	return r
}

// beginnings are the beginnings of a prompt up to each message, with their tokens.
func beginnings(before [][]byte, messages []json.RawMessage) (ids []uint64, tokens []int64) {
	h := sha256.New()
	n := 0
	end := func() {
		ids, tokens = append(ids, binary.LittleEndian.Uint64(h.Sum(nil))), append(tokens, int64(n/4))
	}
	for _, b := range before {
		h.Write(b)
		n += len(b)
	}
	end()
	for _, m := range messages {
		h.Write(m)
		n += len(m)
		end()
	}
	return ids, tokens
}

// provider is an endpoint as it really behaves.
type provider struct {
	offer  catalog.Offer
	hits   float64 // share of the calls that find what is in its cache
	ttl    time.Duration
	least  int64
	writes bool // writing has its price
	cache  map[uint64]time.Time
}

func at(id, prompt, read, write, completion string, hits float64, ttl time.Duration, least int64) *provider {
	p := &provider{offer: catalog.Offer{Provider: id, Model: "v/m", ImplicitCache: write == ""}, hits: hits, ttl: ttl, least: least, writes: write != ""}
	b := &p.offer.Pricing.Base
	b.Prompt, b.Completion = price(prompt), price(completion)
	if read != "" {
		b.CacheRead = price(read)
	}
	if write != "" {
		b.CacheWrite = price(write)
	}
	return p
}

func price(text string) money.Price {
	p, err := money.ParsePrice(text)
	if err != nil {
		panic(err)
	}
	return p
}

const answered = 250

// serve answers a call: what it read and wrote. luck is the same for all that ask.
func (p *provider) serve(ids []uint64, tokens []int64, now time.Time, luck float64) (u usage.Usage, cost float64) {
	read := int64(0)
	for i := len(ids) - 1; i >= 0 && luck < p.hits && p.offer.Pricing.Base.CacheRead.Set; i-- {
		if used, ok := p.cache[ids[i]]; ok && now.Sub(used) <= p.ttl && tokens[i] >= p.least {
			read = tokens[i] / 128 * 128
			break
		}
	}
	for _, id := range ids {
		p.cache[id] = now
	}
	all := tokens[len(tokens)-1]
	u = usage.Usage{Prompt: usage.Of(all), CacheRead: usage.Of(read), Completion: usage.Of(answered)}
	if p.writes {
		u.CacheWrite = usage.Of(all - read)
	}
	lines := usage.AppendLines(nil, &u, &p.offer.Pricing.Base)
	total, err := usage.Total(lines)
	if err != nil {
		panic(err)
	}
	return u, float64(total)
}

func (p *provider) without(tokens int64) float64 {
	u := usage.Usage{Prompt: usage.Of(tokens), Completion: usage.Of(answered)}
	total, _ := usage.Total(usage.AppendLines(nil, &u, &p.offer.Pricing.Base))
	return float64(total)
}

// world is some providers of a model, and when sessions come.
type world struct {
	name      string
	providers []*provider
	apart     time.Duration // from session to session
	gap       time.Duration // from call to call
}

var begin = time.Date(2026, 11, 30, 9, 0, 0, 0, time.UTC)

// luck depends on the call and the endpoint alone, so that all policies are compared under the same conditions.
func luck(session, call, provider int) float64 {
	return rand.New(rand.NewPCG(uint64(session)<<20|uint64(call), uint64(provider)+77)).Float64()
}

func (w *world) reset() {
	for _, p := range w.providers {
		p.cache = map[uint64]time.Time{}
	}
}

// run serves all sessions by a choice, and returns what they cost.
func (w *world) run(all []session, choose func(s, call int, p *prompt, now time.Time) (int, func(*usage.Usage))) (total float64) {
	w.reset()
	for i, s := range all {
		now := begin.Add(time.Duration(i) * w.apart)
		for j := range s {
			ids, tokens := s[j].ids, s[j].tokens
			to, told := choose(i, j, &s[j], now)
			u, cost := w.providers[to].serve(ids, tokens, now, luck(i, j, to))
			total += cost
			told(&u)
			now = now.Add(w.gap)
		}
	}
	return total
}

// oracle knows how each conversation goes on and what each provider will read: of all ways through a session it takes the cheapest.
func (w *world) oracle(all []session) (total float64) {
	w.reset()
	for i, s := range all {
		start := begin.Add(time.Duration(i) * w.apart)
		best, bestCost := []int(nil), math.Inf(1)
		path := make([]int, len(s))
		var try func(call int, cost float64)
		try = func(call int, cost float64) {
			if cost >= bestCost {
				return
			}
			if call == len(s) {
				best, bestCost = slices.Clone(path), cost
				return
			}
			for to, p := range w.providers {
				before := make(map[uint64]time.Time, len(s[call].ids))
				for _, id := range s[call].ids {
					if used, ok := p.cache[id]; ok {
						before[id] = used
					}
				}
				_, c := p.serve(s[call].ids, s[call].tokens, start.Add(time.Duration(call)*w.gap), luck(i, call, to))
				path[call] = to
				try(call+1, cost+c)
				for _, id := range s[call].ids {
					if used, ok := before[id]; ok {
						p.cache[id] = used
					} else {
						delete(p.cache, id)
					}
				}
			}
		}
		try(0, 0)
		for call, to := range best {
			_, c := w.providers[to].serve(s[call].ids, s[call].tokens, start.Add(time.Duration(call)*w.gap), luck(i, call, to))
			total += c
		}
	}
	return total
}

// policy is the choice that routing makes with what it measures.
func (w *world) policy(t *testing.T) func(int, int, *prompt, time.Time) (int, func(*usage.Usage)) {
	t.Helper()
	d := catalog.Declared{}
	for _, p := range w.providers {
		d.Providers = append(d.Providers, catalog.Provider{ID: p.offer.Provider, Dialect: "openai", BaseURL: "https://" + p.offer.Provider + ".test/v1"})
		d.Offers = append(d.Offers, p.offer)
	}
	snap, err := catalog.Build(d)
	if err != nil {
		t.Fatal(err)
	}
	m, rates := promptcache.NewMemory(), promptcache.NewRates()
	random := rand.New(rand.NewPCG(1, 2))
	return func(s, _ int, p *prompt, now time.Time) (int, func(*usage.Usage)) {
		v := &promptcache.View{User: 1, Key: uint64(s), Prints: wire.Prints(m.Seed, &p.Request), Prompt: p.tokens[len(p.tokens)-1]}
		m.Look(v, now)
		plan, err := routing.Choose(routing.Query{Models: []string{"v/m"}, Rand: random.Float64, At: now,
			Rest: func(ep *catalog.Endpoint, prices *catalog.Prices) promptcache.Forecast {
				return v.Forecast(rates, ep, prices)
			}}, snap)
		if err != nil {
			t.Fatal(err)
		}
		ep := plan.Attempts[0].Endpoint
		to := slices.IndexFunc(w.providers, func(p *provider) bool { return p.offer.Provider == ep.Provider.ID })
		return to, func(u *usage.Usage) {
			warm, age := v.At(ep.ID)
			rates.Measure(ep.ID, v.Prints.Kind(), warm, age, u)
			m.Keep(v, ep.ID, u.Prompt.N, u.Completion.N, now)
		}
	}
}

func worlds() []*world {
	const minute = time.Minute
	return []*world{
		{name: "equal offers of one vendor", apart: 30 * time.Second, gap: 15 * time.Second, providers: []*provider{
			at("alpha", "0.3", "0.03", "0.375", "1.5", 1, 5*minute, 1024), at("beta", "0.3", "0.03", "0.375", "1.5", 1, 5*minute, 1024), at("gamma", "0.3", "0.03", "0.375", "1.5", 1, 5*minute, 1024)}},
		{name: "the cheapest prompt has no cache", apart: 30 * time.Second, gap: 15 * time.Second, providers: []*provider{
			at("alpha", "0.27", "", "", "1.5", 0, 0, 0), at("beta", "0.3", "0.03", "0.375", "1.5", 1, 5*minute, 1024), at("gamma", "0.33", "0.033", "", "1.6", 0.8, 10*minute, 1024)}},
		{name: "a listed price for reading that is never given", apart: 30 * time.Second, gap: 15 * time.Second, providers: []*provider{
			at("alpha", "0.27", "0.027", "", "1.4", 0, 10*minute, 1024), at("beta", "0.3", "0.03", "0.375", "1.5", 0.98, 5*minute, 1024), at("gamma", "0.28", "0.07", "", "1.5", 0.5, 10*minute, 1024)}},
		{name: "pauses beyond the lifetime at some", apart: 30 * minute, gap: 8 * minute, providers: []*provider{
			at("alpha", "0.28", "0.028", "0.35", "1.5", 1, 5*minute, 1024), at("beta", "0.3", "0.03", "", "1.5", 0.9, 60*minute, 1024), at("gamma", "0.26", "", "", "1.5", 0, 0, 0)}},
		{name: "the discount is small", apart: 30 * time.Second, gap: 15 * time.Second, providers: []*provider{
			at("alpha", "0.1", "0.09", "", "0.4", 0.9, 10*minute, 1024), at("beta", "0.105", "0.02", "", "0.4", 0.3, 10*minute, 4096), at("gamma", "0.12", "0.012", "", "0.4", 0.9, 10*minute, 1024)}},
	}
}

// TestRecordedSessions compares routing, which must find out what caches are worth, with an oracle that knows it and the rest of each conversation, and
// with each provider alone.
func TestRecordedSessions(t *testing.T) {
	t.Parallel()
	for _, size := range []struct {
		name                string
		instructions, times int
	}{{"instructions of 2,000 tokens", 8000, 1}, {"instructions of 12,000 tokens and long results", 48000, 8}} {
		all := recorded(t, size.instructions, size.times)
		calls := 0
		for _, s := range all {
			calls += len(s)
		}
		if len(all) < 250 || calls < 600 {
			t.Fatalf("%d sessions with %d calls", len(all), calls)
		}
		for _, w := range worlds() {
			t.Run(size.name+"/"+w.name, func(t *testing.T) {
				nothing := func(*usage.Usage) {}
				fixed, none := math.Inf(1), math.Inf(1)
				for i := range w.providers {
					fixed = min(fixed, w.run(all, func(int, int, *prompt, time.Time) (int, func(*usage.Usage)) { return i, nothing }))
					uncached := 0.0
					for _, s := range all {
						for j := range s {
							uncached += w.providers[i].without(s[j].tokens[len(s[j].tokens)-1])
						}
					}
					none = min(none, uncached)
				}
				oracle := w.oracle(all)
				got := w.run(all, w.policy(t))
				saved, could := none-got, none-min(oracle, fixed)
				t.Logf("%d sessions, %d calls; rubles without caches %.1f, cheapest fixed %.1f, oracle %.1f, routing %.1f: %.1f %% of the oracle's saving, %+.2f %% to the cheapest fixed",
					len(all), calls, none/1e9, fixed/1e9, oracle/1e9, got/1e9, 100*saved/could, 100*(got/fixed-1))
				if saved < 0.9*could {
					t.Errorf("saves %.1f %% of what the oracle saves", 100*saved/could)
				}
				if got > 1.02*fixed {
					t.Errorf("costs %.2f %% more than the cheapest fixed choice", 100*(got/fixed-1))
				}
			})
		}
	}
}
