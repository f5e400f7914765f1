package main_test

import (
	"bytes"
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"weir/internal/apikey"
	"weir/internal/money"
)

var (
	ceilingCalls = flag.Int("ceilings.calls", 150, "how many calls TestCeilingsUnderKills makes at one moment, in each of its parts; there is room for a fifth of them")
	ceilingKills = flag.Int("ceilings.kills", 4, "how many SIGKILLs TestCeilingsUnderKills sends at most, in each of its parts; one at least to each of three nodes")
	ceilingKeys  = flag.Int("ceilings.keys", 40, "how many keys the tree of TestCeilingsUnderKills has")
	ceilingSeed  = flag.Uint64("ceilings.seed", 0, "plays the load and the kills of TestCeilingsUnderKills by this seed, as far as timing allows; 0: a random one")
)

// TestCeilingsUnderKills: many calls at one moment, through three nodes that are killed and start again, have room in a budget of a team and in one of a
// tag for a fifth of them; or in a tree of keys. No ceiling is passed beyond its bound, each answer is charged once in all ceilings above it, and
// what is left is left to the last call.
func TestCeilingsUnderKills(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("takes half a minute; the full run has it")
	}
	seed := *ceilingSeed
	if seed == 0 {
		seed = rand.Uint64()
	}
	t.Logf("seed %d: go test ./cmd/weir -run TestCeilingsUnderKills -ceilings.calls %d -ceilings.kills %d -ceilings.keys %d -ceilings.seed %d", seed, *ceilingCalls, *ceilingKills, *ceilingKeys, seed)
	room := money.Nano(*ceilingCalls / 5)
	const tokens, slice = 200, 100
	const perToken = 4 * money.Ruble / 10_000
	for i, c := range []*ceilings{
		// A call holds what it costs, so nothing is passed.
		{name: "Prices of a call", model: "test/flat", least: money.Ruble, amount: room * money.Ruble, build: (*ceilings).company},
		// The provider reports more than can be: a charge is cut to what is held and a slice. Each call that runs may pass by one, and holds one at least.
		{name: "False reports", model: "test/metered", mood: " usage=huge", least: slice * perToken, amount: room * tokens * perToken, above: room * tokens * perToken, build: (*ceilings).company},
		{name: "Keys of keys", model: "test/flat", least: money.Ruble, amount: room * money.Ruble, build: (*ceilings).tree},
	} {
		t.Run(c.name, func(t *testing.T) {
			c.tokens, c.slice = tokens, slice
			c.run(t, rand.New(rand.NewPCG(seed, uint64(i))))
		})
	}
}

// ceilings are limits above calls, and the calls.
type ceilings struct {
	name, model, mood string
	tokens, slice     int64
	least             money.Nano // that a call holds
	amount            money.Nano // of each ceiling
	above             money.Nano // by which it may be passed
	build             func(*ceilings, *testing.T, *rand.Rand)

	*books
	siege  *siege
	boss   string // a management key
	wallet string
	tag    map[*customer]string
	limits []limit
	sent   atomic.Int64
	whole  atomic.Int64
}

// limit is one ceiling.
type limit struct {
	name  string
	above []*customer // whose calls count in it
	last  *customer   // nothing else refuses its calls, once others have ended
	state func(*testing.T) (spent, held money.Nano)
}

func (c *ceilings) run(t *testing.T, rng *rand.Rand) {
	c.siege = &siege{postgres: true, crowded: true, upstream: simulator(t), client: newClient(t)}
	c.tag = map[*customer]string{}
	c.open(t, rng)
	c.build(c, t, rng)
	c.storm(t, rng)
	for _, m := range c.members {
		m.compare(t)
	}
	for i := range c.limits {
		l := &c.limits[i]
		waitFor(t, "all holds in "+l.name+" to end", func() bool { _, held := l.state(t); return held == 0 })
		spent, _ := l.state(t)
		t.Logf("%s: %s of %s spent after %d calls were sent and %d answered whole, with %d kills", l.name, spent, c.amount, c.sent.Load(), c.whole.Load(), c.siege.kills)
		c.agree(t, l)
	}
	for i := range c.limits {
		c.fill(t, &c.limits[i])
	}
	for i := range c.limits {
		c.agree(t, &c.limits[i])
	}
	for _, m := range c.members {
		m.compare(t)
		for _, a := range m.all {
			m.wantCharge(t, a)
		}
	}
	for _, m := range c.members {
		m.kill()
		verify(t, "-c", m.file)
	}
}

// open starts three nodes with a price for each call and one for tokens.
func (c *ceilings) open(t *testing.T, rng *rand.Rand) {
	t.Helper()
	c.books = c.siege.open(t, rng, func(text string) string {
		const flat = `  - id: fixed
    base_url: %s
    quirks: {reasoning_in_sight: true}
    models:
      - id: test/flat
        upstream_id: chat
        prices: {prompt: "0", completion: "0", request: "1"}
        context_length: 100000
        max_output: 4000
      - id: test/metered
        upstream_id: chat
        prices: {prompt: "0", completion: "0.4"}
        context_length: 100000
        max_output: 4000
`
		return strings.Replace(text, "  - id: films\n", fmt.Sprintf(flat, c.siege.upstream)+"  - id: films\n", 1) + fmt.Sprintf("relay: {slice_tokens: %d}\n", c.slice)
	})[0]
	c.boss = strings.TrimSpace(weir(t, "key", "add", "-q", "--management", "anna", "-c", c.members[0].file))
}

// do sends a request to the first node and returns the answer, which must have a status of success.
func (c *ceilings) do(t *testing.T, key, method, path string, body any) []byte {
	t.Helper()
	var text []byte
	if body != nil {
		text, _ = json.Marshal(body)
	}
	n := c.members[0]
	req, err := http.NewRequestWithContext(t.Context(), method, n.BaseURL+path, bytes.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer "+key)
	req.Header.Set("Content-Type", "application/json")
	res, err := n.client.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	got, err := io.ReadAll(res.Body)
	if err != nil || res.StatusCode/100 != 2 {
		t.Fatalf("%s %s: %d %v %s", method, path, res.StatusCode, err, got)
	}
	return got
}

// made is the id, and the text of a key, in the answer of do.
type made struct {
	Key  string
	Data struct{ ID, Hash string }
}

func (c *ceilings) make(t *testing.T, key, path string, body any) (m made) {
	t.Helper()
	if err := json.Unmarshal(c.do(t, key, http.MethodPost, path, body), &m); err != nil {
		t.Fatal(err)
	}
	return m
}

// company makes an organization with two teams: calls of the first count in its budget, and calls of both with a tag in another one.
func (c *ceilings) company(t *testing.T, _ *rand.Rand) {
	org := c.make(t, c.boss, "/api/organizations", map[string]any{"name": "River"}).Data.ID
	weir(t, "topup", org, "100000", "-c", c.members[0].file)
	c.wallet = org
	in := "?account=" + org
	customers := make([]*customer, 3)
	var teams [2]string
	for i, name := range []string{"search", "ads"} {
		teams[i] = c.make(t, c.boss, "/api/organizations/"+org+"/teams", map[string]any{"name": name}).Data.ID
	}
	for i, team := range []string{teams[0], teams[0], teams[1]} {
		service := c.make(t, c.boss, "/api/organizations/"+org+"/services", map[string]any{"name": fmt.Sprint("service ", i), "team": team}).Data.ID
		k := c.make(t, c.boss, "/api/keys"+in, map[string]any{"name": "runs", "service": service})
		customers[i] = &customer{name: fmt.Sprint("service ", i), key: k.Key, file: c.members[0].file}
	}
	c.customers = customers
	c.tag[customers[1]], c.tag[customers[2]] = "project=atlas", "project=atlas"
	for _, b := range []struct {
		kind, id string
		above    []*customer
		last     *customer
	}{{"team", teams[0], customers[:2], customers[0]}, {"tag", "project=atlas", customers[1:], customers[2]}} {
		id := c.make(t, c.boss, "/api/budgets"+in, map[string]any{"scope": map[string]any{"kind": b.kind, "id": b.id}, "period": "total", "amount": c.amount.String()}).Data.ID
		c.limits = append(c.limits, limit{name: "the budget of the " + b.kind, above: b.above, last: b.last, state: func(t *testing.T) (spent, held money.Nano) {
			var is struct {
				Data struct{ Spent, Held json.Number }
			}
			if err := json.Unmarshal(c.do(t, c.boss, http.MethodGet, "/api/budgets/"+id+in, nil), &is); err != nil {
				t.Fatal(err)
			}
			return rubles(t, is.Data.Spent), rubles(t, is.Data.Held)
		}})
	}
}

// branch is a key of the tree.
type branch struct {
	ID, Name, Parent, Hash  string
	Amount, Own, Held, Left json.Number
	ByChildren              json.Number `json:"by_children"`
	by                      *customer
	depth, children         int
}

// tree makes keys that come from keys at random, each with what the one above has, or less.
func (c *ceilings) tree(t *testing.T, rng *rand.Rand) {
	c.wallet = "anna"
	top := c.customers[0].key
	c.customers = nil
	var all []*branch
	for i := range *ceilingKeys {
		amount, above := c.amount, &branch{by: &customer{key: top}}
		if i > 0 {
			above = all[rng.IntN(len(all))]
			for above.depth == 7 || above.children == 100 {
				above = all[rng.IntN(len(all))]
			}
			amount = money.Nano(1+rng.Int64N(int64(rubles(t, above.Amount)/money.Ruble))) * money.Ruble
		}
		name := fmt.Sprint("agent ", i)
		k := c.make(t, above.by.key, "/v1/keys/child", map[string]any{"name": name, "amount": amount.String(), "depth": 7 - above.depth})
		above.children++
		b := &branch{ID: k.Data.ID, Name: name, Parent: above.ID, Hash: k.Data.Hash, Amount: json.Number(amount.String()), by: &customer{name: name, key: k.Key, file: c.members[0].file}, depth: above.depth + 1}
		all = append(all, b)
		c.customers = append(c.customers, b.by)
	}
	c.limits = []limit{{name: "the first key", above: c.customers, last: c.customers[0], state: func(t *testing.T) (spent, held money.Nano) { return c.addUp(t, all) }}}
}

// addUp checks that each key of the tree has what it and those below it have spent, and not more than it may. It returns what the first has spent and
// holds.
func (c *ceilings) addUp(t *testing.T, all []*branch) (spent, held money.Nano) {
	t.Helper()
	var is struct{ Data struct{ Data []branch } }
	if err := json.Unmarshal(c.do(t, c.boss, http.MethodGet, "/api/agents/"+all[0].Hash, nil), &is); err != nil {
		t.Fatal(err)
	}
	if len(is.Data.Data) != len(all) {
		t.Fatalf("%d keys of %d are in the tree", len(is.Data.Data), len(all))
	}
	below := map[string]money.Nano{}
	for _, b := range is.Data.Data {
		below[b.Parent] += rubles(t, b.Own) + rubles(t, b.ByChildren)
	}
	for _, b := range is.Data.Data {
		own, children, amount := rubles(t, b.Own), rubles(t, b.ByChildren), rubles(t, b.Amount)
		if children != below[b.ID] || own < 0 || own+children > amount || own+children+rubles(t, b.Held)+rubles(t, b.Left) != amount {
			t.Errorf("%s: of %s it spent %s, those below it %s by its line and %s by theirs; %s are held and %s left", b.Name, b.Amount, b.Own, b.ByChildren, below[b.ID], b.Held, b.Left)
		}
	}
	first := is.Data.Data[0]
	return rubles(t, first.Own) + rubles(t, first.ByChildren), rubles(t, first.Held)
}

// storm makes all calls at one moment while nodes are killed. Each is tried again until it is answered or refused.
func (c *ceilings) storm(t *testing.T, rng *rand.Rand) {
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var calls, killers sync.WaitGroup
	start, ended := make(chan struct{}), make(chan struct{})
	var left atomic.Int64
	left.Store(int64(*ceilingKills))
	for i, m := range c.members {
		m.fuse.Store(1 + rng.Int64N(int64(max(1, *ceilingCalls/len(c.members)/2)))) // each call of its first ones is an event, so it burns down
		killers.Go(func() {
			defer func() {
				if t.Failed() { // the node may not be back, and calls would wait for it
					cancel()
				}
			}()
			c.besiege(t, m, &left, ended, rand.New(rand.NewPCG(uint64(i), m.rng.Uint64())))
		})
	}
	for i := range *ceilingCalls {
		rng := rand.New(rand.NewPCG(rng.Uint64(), 2))
		calls.Go(func() {
			<-start
			by := c.customers[rng.IntN(len(c.customers))]
			for j := 0; ctx.Err() == nil; j++ {
				m := c.members[(i+j)%len(c.members)]
				if n := m.alive(ctx.Done()); n == nil || c.call(ctx, t, m, n, by, rng) {
					return
				}
			}
		})
	}
	close(start)
	calls.Wait()
	close(ended)
	killers.Wait()
	for _, m := range c.members {
		m.fuse.Store(0) // no further call kills it
	}
	if c.siege.kills == 0 && *ceilingKills > 0 {
		t.Fatal("no node was killed")
	}
}

// besiege kills a node at random events and starts it again, until all kills are used or all calls have ended.
func (c *ceilings) besiege(t *testing.T, m *member, left *atomic.Int64, ended <-chan struct{}, rng *rand.Rand) {
	for {
		select {
		case <-m.burnt:
		case <-ended:
			select {
			case <-m.burnt: // by the last call
			default:
				return
			}
		}
		m.bury(t)
		m.revive(t)
		if left.Add(-1) <= 2 { // each of the others has its first one
			return
		}
		m.fuse.Store(1 + rng.Int64N(20))
	}
}

// call makes one call, and reports whether it has ended: it was answered, refused for money, or its client hung up.
func (c *ceilings) call(ctx context.Context, t *testing.T, m *member, n *node, by *customer, rng *rand.Rand) bool {
	stream, most := "", 1<<20
	if rng.IntN(3) > 0 {
		stream = `,"stream":true`
	}
	if rng.IntN(12) == 0 {
		most = rng.IntN(3000)
	}
	prompt := fmt.Sprintf("[[sim tokens=%d frames=%d gap=%dms%s]] hello", c.tokens, 1+rng.IntN(8), rng.IntN(40), c.mood)
	c.sent.Add(1)
	id, text := m.sendTagged(ctx, n, by, c.tag[by], "/v1/chat/completions", fmt.Sprintf(`{"model":%q,"max_tokens":%d,"messages":[{"role":"user","content":%q}]%s}`, c.model, c.tokens, prompt, stream), most)
	if cost, reported := reportedCost(t, text); reported {
		c.whole.Add(1)
		m.noteAnswer(answer{by, id, cost})
		return true
	}
	switch {
	case strings.Contains(text, `"error":{"code":402`):
		if !strings.Contains(text, `"reason":"budget"`) && !strings.Contains(text, `"reason":"key_limit"`) {
			t.Errorf("refused, and not by a ceiling: %s", text)
		}
		return true
	case strings.Contains(text, `"error":{"code":`) && !strings.Contains(text, `"code":503`):
		t.Errorf("%s", text)
		return true
	}
	return most < 1<<20
}

// agree compares what is spent of a limit with the calls below it.
func (c *ceilings) agree(t *testing.T, l *limit) {
	t.Helper()
	spent, _ := l.state(t)
	if spent > c.amount+c.above {
		t.Errorf("%s: %s are spent, and %s is its bound", l.name, spent, c.amount+c.above)
	}
	reported := map[*customer]money.Nano{}
	for _, m := range c.members {
		for _, a := range m.all {
			reported[a.by] += a.cost
		}
	}
	costs := c.charged(t, l.above)
	var charged money.Nano
	for i, by := range l.above {
		if costs[i] < reported[by] {
			t.Errorf("%s: the answers of %s reported %s, and %s are charged", l.name, by.name, reported[by], costs[i])
		}
		charged += costs[i]
	}
	if charged != spent {
		t.Errorf("%s: %s are spent, and the calls below it are charged with %s", l.name, spent, charged)
	}
}

// charged is what the calls of keys cost by the sums of their calls, which the ledger keeps apart from the limits.
func (c *ceilings) charged(t *testing.T, of []*customer) []money.Nano {
	t.Helper()
	o := opened(t, of[0].file)
	defer o.Close()
	u, err := o.UserNamed(t.Context(), c.wallet)
	if err != nil {
		t.Fatal(err)
	}
	costs := make([]money.Nano, len(of))
	for i, by := range of {
		key, err := o.Keys.ByHash(t.Context(), "", apikey.Hash(by.key))
		if err != nil {
			t.Fatal(err)
		}
		rows, err := o.Store.Ledger.Activity(t.Context(), u.Wallet, key.ID, "2000-01-01", "2999-12-31")
		if err != nil {
			t.Fatal(err)
		}
		for _, r := range rows {
			costs[i] += r.Cost
		}
	}
	return costs
}

// fill spends what is left of a limit, one call after another through all nodes: less than a call stays.
func (c *ceilings) fill(t *testing.T, l *limit) {
	t.Helper()
	rng := rand.New(rand.NewPCG(0, 0))
	i := 0
	waitFor(t, "what is left of "+l.name+" to be spent", func() bool {
		spent, _ := l.state(t)
		if spent > c.amount-c.least {
			return true
		}
		m := c.members[i%len(c.members)]
		i++
		c.call(t.Context(), t, m, m.alive(nil), l.last, rng)
		return false
	})
	before, _ := l.state(t)
	for _, m := range c.members {
		m.compare(t)
		c.call(t.Context(), t, m, m.alive(nil), l.last, rng)
		m.mu.Lock()
		if len(m.reported) > 0 && c.above == 0 { // otherwise a stream may get the rest, and end with it
			t.Errorf("%s is used up, and a call of %s is answered", l.name, m.reported[0].cost)
		}
		m.mu.Unlock()
	}
	if after, _ := l.state(t); c.above == 0 && (after != before || after != c.amount) {
		t.Errorf("%s: %s are spent, %s before it refused a call of each node, of %s", l.name, after, before, c.amount)
	}
}
