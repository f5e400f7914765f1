package main_test

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"math/rand/v2"
	"net/http"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"weir/internal/app"
	"weir/internal/config"
	"weir/internal/money"
	"weir/internal/store/postgres/pgtest"
)

var (
	killsEach = flag.Int("kills", 10, "how many SIGKILLs TestKills sends on each store")
	killsSeed = flag.Uint64("kills.seed", 0, "plays the load and the kills of TestKills by this seed, as far as timing allows; 0: a random one")
)

// killsPerRound is the number of kills per database. A new, small database keeps verify fast.
const killsPerRound = 50

// Three nodes are killed again and again at random moments under mixed load. After each kill the ledger is balanced, and each cost that a
// client received is charged once. When all is quiet no hold remains and no part of a top-up is missing.
func TestKills(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("takes half a minute; the full run has it")
	}
	seed := *killsSeed
	if seed == 0 {
		seed = rand.Uint64()
	}
	t.Logf("seed %d: go test ./cmd/weir -run TestKills -kills %d -kills.seed %d", seed, *killsEach, seed)
	for _, store := range []string{"SQLite", "PostgreSQL"} {
		t.Run(store, func(t *testing.T) {
			t.Parallel()
			s := &siege{postgres: store == "PostgreSQL", upstream: simulator(t), client: newClient(t)}
			for round, left := 0, *killsEach; left > 0; round++ {
				kills := min(left, killsPerRound)
				left -= kills
				t.Run(fmt.Sprint("round", round+1), func(t *testing.T) { s.round(t, rand.New(rand.NewPCG(seed, uint64(round))), kills) })
				if t.Failed() {
					return
				}
			}
			s.report(t)
		})
	}
}

// siege is the shared state of the rounds on one store.
type siege struct {
	postgres bool
	crowded  bool // more calls run at one time than the machine can serve
	upstream string
	client   *http.Client

	mu       sync.Mutex
	ready    []time.Duration // durations of starts after a kill
	checked  []time.Duration // durations of the verification after it
	kills    int
	early    int // kills before the node was ready
	reported int // answers whose cost a client received
	paid     int // top-ups, corrections, refunds
	frozen   int // nodes that were stopped until others had taken their leases
}

func (s *siege) report(t *testing.T) {
	slices.Sort(s.ready)
	slices.Sort(s.checked)
	if len(s.ready) == 0 {
		t.Fatal("no node was killed")
	}
	t.Logf("%d kills, %d of them at a start, and %d nodes frozen; %d answers and %d payments; verify took %v in the middle", s.kills, s.early, s.frozen, s.reported, s.paid,
		s.checked[len(s.checked)/2].Round(time.Millisecond))
	promised(t, "ready after a kill, in the middle", s.ready[len(s.ready)/2], 3*time.Second)
}

// member is one of three nodes, over all its restarts.
type member struct {
	*site
	siege *siege
	books *books
	rng   *rand.Rand

	mu       sync.Mutex
	life     *node         // the running process; nil while it is dead
	changed  chan struct{} // closed at the next start
	reported []answer      // not yet compared with the ledger
	all      []answer
	refunded string // the last refunded answer

	fuse  atomic.Int64  // events until the node is killed
	burnt chan struct{} // receives when it is killed
	turns chan struct{} // calls that clients may make before the next kill: without a limit, verification would become slow
}

// fuseMost is the longest fuse; each call is at least one event.
const fuseMost = 150

// customer is a user of a round's load.
type customer struct {
	name, key, file string
	sent            atomic.Int64

	mu       sync.Mutex
	credited money.Nano
}

// answer is a client's view of an answer: generation and cost.
type answer struct {
	by   *customer
	id   string
	cost money.Nano
}

// books are the database of one or three nodes, with its customers.
type books struct {
	members   []*member
	customers []*customer  // the last one makes videos, the others chat
	refs      atomic.Int64 // numbers of payments
}

func (s *siege) round(t *testing.T, rng *rand.Rand, kills int) {
	all := s.open(t, rng, nil)
	ctx, cancel := context.WithCancel(t.Context())
	t.Cleanup(cancel)
	var load, killers sync.WaitGroup
	stop := make(chan struct{})
	for _, b := range all {
		b.load(ctx, t, stop, &load)
	}
	var left atomic.Int64
	left.Store(int64(kills))
	if s.postgres && kills == killsPerRound {
		left.Add(-2) // see evict
	}
	for _, b := range all {
		for _, m := range b.members {
			killers.Go(func() { m.besiege(t, &left) })
		}
	}
	killers.Wait()
	if s.postgres && kills == killsPerRound && !t.Failed() {
		all[0].evict(t)
	}
	close(stop)
	if t.Failed() {
		cancel()
	}
	load.Wait()
	for _, b := range all {
		if !t.Failed() {
			b.quiet(t)
		}
	}
}

// open makes an empty database with three nodes: one for all of them, or one for each. edit, which may be nil, changes their configuration.
func (s *siege) open(t *testing.T, rng *rand.Rand, edit func(text string) string) (all []*books) {
	t.Helper()
	dsn := ""
	if s.postgres {
		dsn = pgtest.New(t)
	}
	for i := range 3 {
		dir := t.TempDir()
		m := &member{siege: s, rng: rand.New(rand.NewPCG(rng.Uint64(), 0)), changed: make(chan struct{}), burnt: make(chan struct{}, 1), turns: make(chan struct{}, fuseMost),
			site: &site{dir: dir, file: filepath.Join(dir, "weir.yaml"), upstream: s.upstream}}
		text := m.text(dsn)
		if edit != nil {
			text = edit(text)
		}
		m.write(t, text)
		if i == 0 || !s.postgres {
			all = append(all, &books{})
			all[len(all)-1].enrol(t, m.file)
		}
		b := all[len(all)-1]
		m.books = b
		b.members = append(b.members, m)
	}
	for _, b := range all {
		for _, m := range b.members {
			m.start(t)
		}
	}
	return all
}

func (m *member) text(dsn string) string {
	return m.config(settings{price: "0.4"}) + `
  - id: films
    base_url: ` + m.upstream + `
    api_key: sk-films
    models:
      - {id: test/film, upstream_id: video, video: [{price: "1.5"}]}
models:
  - id: test/film
    type: video
    video: {resolutions: [720p], durations: [4], aspect_ratios: ["16:9"]}
store: {dsn: "` + dsn + `"}
journal: {segment_bytes: 2MiB}
ledger: {lease_for: 3s, lapse_after: 6s}
video: {first_poll: 100ms, most_poll: 200ms, max_active_per_user: 8, accept_within: 5s, lost_after: 5s}
fetch: {allow_provider_media: [127.0.0.0/8]}
log: {access: false}
`
}

// enrol adds customers: one with enough money, one whose wallet is often nearly empty, one that makes videos.
func (b *books) enrol(t *testing.T, file string) {
	t.Helper()
	for _, c := range []*customer{{name: "anna", credited: 1000 * money.Ruble}, {name: "boris", credited: money.Ruble}, {name: "vera", credited: 100_000 * money.Ruble}} {
		c.file = file
		weir(t, "user", "add", c.name, "-c", file)
		weir(t, "topup", c.name, c.credited.String(), "-c", file)
		c.key = strings.TrimSpace(weir(t, "key", "add", "-q", c.name, "-c", file))
		b.customers = append(b.customers, c)
	}
}

// start starts the node and waits until it is ready.
func (m *member) start(t *testing.T) {
	t.Helper()
	m.site.node = &node{client: m.siege.client, model: "test/chat"}
	m.serve(t)
	m.mu.Lock()
	defer m.mu.Unlock()
	m.life = m.site.node
	close(m.changed)
}

// alive waits for the node and returns it; nil if stop closes first.
func (m *member) alive(stop <-chan struct{}) *node {
	for {
		m.mu.Lock()
		life, changed := m.life, m.changed
		m.mu.Unlock()
		select {
		case <-stop:
			return nil
		default:
		}
		if life != nil {
			return life
		}
		select {
		case <-changed:
		case <-stop:
			return nil
		}
	}
}

// event counts something that a client sent or received. The last event of the fuse kills the node.
func (m *member) event() {
	if m.fuse.Add(-1) != 0 {
		return
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	_ = m.life.cmd.Process.Kill()
	m.burnt <- struct{}{}
}

// besiege kills the node and starts it again while kills are left.
func (m *member) besiege(t *testing.T, left *atomic.Int64) {
	for left.Add(-1) >= 0 {
		m.killAnytime(t)
		if m.rng.IntN(5) == 0 && left.Add(-1) >= 0 {
			m.killStarting(t)
		}
		paid := make(chan struct{})
		next := m.payment()
		go func() {
			defer close(paid)
			next.make(t, m.rng)
		}()
		m.revive(t)
		<-paid
		if t.Failed() {
			return
		}
	}
}

// killAnytime kills the node after a random number of events.
func (m *member) killAnytime(t *testing.T) {
	t.Helper()
	m.refill()
	m.fuse.Store(1 + m.rng.Int64N(fuseMost))
	waitFor(t, "a kill", func() bool { return len(m.burnt) > 0 })
	<-m.burnt
	m.bury(t)
}

// refill allows clients as many calls as the longest fuse takes.
func (m *member) refill() {
	for {
		select {
		case m.turns <- struct{}{}:
		default:
			return
		}
	}
}

// turn waits until a client may call; it returns nil if stop closes first.
func (m *member) turn(stop <-chan struct{}) *node {
	select {
	case <-m.turns:
		return m.alive(stop)
	case <-stop:
		return nil
	}
}

// revive starts the node again and verifies the ledger.
func (m *member) revive(t *testing.T) {
	t.Helper()
	began := time.Now()
	m.start(t)
	ready := time.Since(began)
	began = time.Now()
	verify(t, "-c", m.file)
	checked := time.Since(began)
	m.compare(t)
	m.siege.mu.Lock()
	defer m.siege.mu.Unlock()
	m.siege.kills++
	m.siege.ready = append(m.siege.ready, ready)
	m.siege.checked = append(m.siege.checked, checked)
}

// evict keeps one node dead and another one stopped, until the others have taken back their leases. The stopped one then restarts.
func (b *books) evict(t *testing.T) {
	t.Helper()
	const gone = "its leases went back"
	evicted := func(m *member) int { return strings.Count(m.stderr.String(), gone) }
	dead, asleep, awake := b.members[0], b.members[1], b.members[2]
	dead.killAnytime(t)
	waitFor(t, "the dead node's leases to be taken back", func() bool { return evicted(asleep)+evicted(awake) > 0 })
	dead.revive(t)
	before := evicted(awake)
	asleep.refill()
	asleep.signal(t, syscall.SIGSTOP)
	waitFor(t, "the sleeping node's leases to be taken back", func() bool { return evicted(dead)+evicted(awake) > before })
	asleep.signal(t, syscall.SIGCONT)
	waitFor(t, "the sleeping node to start again", func() bool { return asleep.stderr.with("it starts again") != "" })
	asleep.killAnytime(t)
	asleep.revive(t)
	asleep.siege.mu.Lock()
	defer asleep.siege.mu.Unlock()
	asleep.siege.frozen++
}

// bury waits until the node has ended, and makes clients wait for its next start.
func (m *member) bury(t *testing.T) {
	<-m.exited
	if m.err == nil || m.err.Error() != "signal: killed" {
		t.Errorf("a node ended by itself: %v\n%s", m.err, m.stderr)
	}
	for line := range strings.Lines(m.stderr.String()) {
		// A node stopped in a transaction keeps its rows locked until the server ends it, which delays the settlements of others. A thousand calls at
		// one moment keep a small machine from answering to a node in time.
		if strings.Contains(line, `"level":"ERROR"`) && !strings.Contains(line, "settlements wait in the journal") && !(m.siege.crowded && strings.Contains(line, "context deadline exceeded")) {
			t.Errorf("a node complained: %s", line)
		}
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.life, m.changed = nil, make(chan struct{})
}

// killStarting starts the node and kills it at a random moment, before or soon after it is ready.
func (m *member) killStarting(t *testing.T) {
	t.Helper()
	p := start(t, nil, "serve", "-c", m.file)
	<-time.After(time.Duration(m.rng.Int64N(int64(150 * time.Millisecond)))) // any moment is right, so there is no state to wait for
	p.kill()
	verify(t, "-c", m.file)
	m.siege.mu.Lock()
	defer m.siege.mu.Unlock()
	m.siege.kills++
	m.siege.early++
}

// compare checks the answers since the last comparison against the ledger.
func (m *member) compare(t *testing.T) {
	t.Helper()
	m.mu.Lock()
	reported := m.reported
	m.reported = nil
	m.all = append(m.all, reported...)
	m.mu.Unlock()
	for _, a := range reported {
		m.wantCharge(t, a)
	}
}

func (m *member) wantCharge(t *testing.T, a answer) {
	t.Helper()
	var g struct {
		Data struct {
			ID        string      `json:"id"`
			TotalCost json.Number `json:"total_cost"`
		} `json:"data"`
	}
	var status int
	var err error
	waitFor(t, "the store to answer", func() bool { // on a busy machine it may be too slow for one request
		status, err = m.getAs(a.by, "/v1/generation?id="+a.id, &g)
		return err != nil || status != http.StatusServiceUnavailable
	})
	if err != nil || status != http.StatusOK || g.Data.ID != a.id {
		t.Errorf("%s reported a cost of %s and is not recorded: status %d, %v", a.id, a.cost, status, err)
	} else if got := rubles(t, g.Data.TotalCost); got != a.cost {
		t.Errorf("%s reported a cost of %s, charged was %s", a.id, a.cost, got)
	}
}

// getAs sends a GET request of a customer to the running node.
func (m *member) getAs(c *customer, path string, into any) (int, error) {
	n := *m.site.node
	n.APIKey = c.key
	return n.getJSON(path, into)
}

// quiet checks what must hold when no call is running.
func (b *books) quiet(t *testing.T) {
	t.Helper()
	for _, m := range b.members {
		for _, c := range b.customers {
			waitFor(t, "all holds of "+c.name+" to end", func() bool { return m.credits(t, c).Reserved == "0" })
		}
		m.compare(t)
	}
	reported, sums := map[*customer]int64{}, map[*customer]money.Nano{}
	seen := map[string]bool{}
	for _, m := range b.members {
		for _, a := range m.all {
			if seen[a.id] {
				t.Errorf("two answers with the id %s", a.id)
			}
			seen[a.id] = true
			reported[a.by]++
			sums[a.by] += a.cost
			m.wantCharge(t, a) // after all changes since then, too
		}
	}
	s := b.members[0].siege
	s.mu.Lock()
	s.reported += len(seen)
	s.paid += int(b.refs.Load())
	s.mu.Unlock()
	for _, c := range b.customers {
		b.balanced(t, c, reported[c], sums[c])
	}
	for _, m := range b.members {
		m.kill()
		verify(t, "-c", m.file)
	}
}

func (m *member) credits(t *testing.T, c *customer) (is walletState) {
	t.Helper()
	var answer struct{ Data walletState }
	if status, err := m.getAs(c, "/v1/credits", &answer); err != nil || status != http.StatusOK {
		t.Fatalf("credits: status %d, %v", status, err)
	}
	return answer.Data
}

type walletState struct {
	credits
	TotalCredits json.Number `json:"total_credits"`
}

// balanced compares a customer's wallet with the sum of its payments and charges.
func (b *books) balanced(t *testing.T, c *customer, reported int64, sum money.Nano) {
	t.Helper()
	is := b.members[0].credits(t, c)
	credited, charged, balance := rubles(t, is.TotalCredits), rubles(t, is.TotalUsage), rubles(t, is.Balance)
	calls := b.charges(t, c)
	t.Logf("%s: %s credited, %s charged for %d calls of %d sent; %d reported a cost, in total %s", c.name, credited, charged, calls, c.sent.Load(), reported, sum)
	if credited != c.credited || balance != credited-charged {
		t.Errorf("%s: topped up by %s, credited are %s; charged are %s, the balance is %s", c.name, c.credited, credited, charged, balance)
	}
	if calls < reported || calls > c.sent.Load() || charged < sum {
		t.Errorf("%s: %d calls were sent and %d charged with %s, %d of them reported a cost, in total %s", c.name, c.sent.Load(), calls, charged, reported, sum)
	}
}

// opened is what commands work on, of the node that a file configures.
func opened(t *testing.T, file string) *app.Admin {
	t.Helper()
	cfg, err := config.Load(file, func(string) (string, bool) { return "", false }, nil)
	if err != nil {
		t.Fatal(err)
	}
	o, err := app.OpenAdmin(t.Context(), cfg, false)
	if err != nil {
		t.Fatal(err)
	}
	return o
}

// charges returns the number of a customer's charged calls.
func (b *books) charges(t *testing.T, c *customer) (calls int64) {
	t.Helper()
	o := opened(t, c.file)
	defer o.Close()
	u, err := o.UserNamed(t.Context(), c.name)
	if err != nil {
		t.Fatal(err)
	}
	rows, err := o.Store.Ledger.Activity(t.Context(), u.Wallet, "", "2000-01-01", "2999-12-31")
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range rows {
		calls += r.Requests
	}
	return calls
}

// payment is a movement of money by a command.
type payment struct {
	by     *customer
	amount money.Nano
	args   []string
}

// make runs the command, which may be killed and is then repeated.
func (p *payment) make(t *testing.T, rng *rand.Rand) {
	if rng.IntN(2) == 0 {
		cmd := exec.Command("weir", p.args...)
		cmd.Env = environment()
		if err := cmd.Start(); err != nil {
			t.Error(err)
			return
		}
		<-time.After(time.Duration(rng.Int64N(int64(100 * time.Millisecond)))) // as in killStarting
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	}
	cmd := exec.Command("weir", p.args...)
	cmd.Env = environment()
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("weir %s: %v\n%s", strings.Join(p.args, " "), err, out)
		return
	}
	p.by.mu.Lock()
	defer p.by.mu.Unlock()
	p.by.credited += p.amount
}

// payment returns the next payment: a top-up, a correction, or the refund of an answer.
func (m *member) payment() *payment {
	by := m.books.customers[m.rng.IntN(len(m.books.customers))]
	ref := fmt.Sprint("case-", m.books.refs.Add(1))
	why := []string{"--reason=test", "--reference=" + ref, "-c", m.file}
	last := answer{}
	if len(m.all) > 0 {
		last = m.all[len(m.all)-1]
	}
	switch kind := m.rng.IntN(4); {
	case kind == 0:
		amount := -money.Ruble / 10
		return &payment{by, amount, append(append([]string{"ledger", "adjust", "--below-zero"}, why...), "--", by.name, amount.String())}
	case kind == 1 && last.cost > 0 && last.id != m.refunded:
		m.refunded = last.id
		return &payment{last.by, last.cost, append([]string{"ledger", "refund", last.id}, why...)}
	}
	amount := 3 * money.Ruble / 10
	return &payment{by, amount, []string{"topup", by.name, amount.String(), "--ref", ref, "-c", m.file}}
}
