package postgres_test

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"weir/internal/account"
	"weir/internal/audit"
	"weir/internal/fault"
	"weir/internal/ledger"
	"weir/internal/money"
	"weir/internal/record"
	"weir/internal/store"
	"weir/internal/store/postgres"
	"weir/internal/usage"
)

// The environment of a process that is a node of these tests: the database, the folder of its journal, and after how many answers it goes on in
// silence (0: never).
const (
	nodeDSN    = "WEIR_TEST_LEDGER_DSN"
	nodeDir    = "WEIR_TEST_LEDGER_DIR"
	nodeSilent = "WEIR_TEST_LEDGER_SILENT_AFTER"
)

// ask is a call that a node is to make, answer what became of it.
type (
	ask struct {
		ID, Wallet, Key string
		Limits          []ledger.Limit
		Hold, Cost      money.Nano
	}
	answer struct {
		ID, Refused, Err string
	}
)

// ledgerNode is the process of a node: it makes the calls that it reads, all at once, and says of each what became of it.
func ledgerNode() error {
	ctx := context.Background()
	s, err := postgres.Open(ctx, os.Getenv(nodeDSN))
	if err != nil {
		return err
	}
	cfg := ledger.Default(os.Getenv(nodeDir), time.Now)
	cfg.StoreFor = 20 * time.Second // the machine is busy
	book, err := ledger.Start(ctx, s.Ledger, cfg)
	if err != nil {
		return err
	}
	silent, err := strconv.Atoi(os.Getenv(nodeSilent))
	if err != nil {
		return err
	}
	said := 0
	var mu sync.Mutex
	var calls sync.WaitGroup
	out := json.NewEncoder(os.Stdout)
	in := json.NewDecoder(os.Stdin)
	for {
		var a ask
		if err := in.Decode(&a); err != nil {
			calls.Wait()
			return errors.Join(book.Close(ctx), s.Close())
		}
		calls.Go(func() {
			r := a.make(ctx, book)
			mu.Lock()
			defer mu.Unlock()
			if said++; silent == 0 || said <= silent {
				_ = out.Encode(r)
			}
		})
	}
}

func (a *ask) make(ctx context.Context, book *ledger.Book) answer {
	h, err := book.Hold(ctx, ledger.HoldRequest{Wallet: a.Wallet, Key: a.Key, Limits: a.Limits, Amount: a.Hold})
	if e := fault.From(err); err != nil && e.Kind == fault.PaymentRequired {
		return answer{ID: a.ID, Refused: fmt.Sprint(e.Details["reason"], " ", e.Details["budget"], e.Details["key"])}
	}
	if err != nil {
		return answer{ID: a.ID, Err: err.Error()}
	}
	c := &record.Call{Generation: a.ID, Request: "req_1", User: "usr_1", Wallet: a.Wallet, Key: a.Key, API: "completions", At: time.Now(), ModelAsked: "a/b", Model: "a/b",
		Provider: "p", Endpoint: "p/a/b", Status: 200, Cost: a.Cost, Usage: usage.Usage{Prompt: usage.Of(1), Completion: usage.Of(1)},
		Lines: []usage.Line{{Kind: usage.KindPrompt, Quantity: 1}, {Kind: usage.KindCompletion, Quantity: 1}, {Kind: usage.KindRequest, Quantity: 1, Price: int64(a.Cost)}}}
	if err := book.Settle(ctx, h, c); err != nil {
		return answer{ID: a.ID, Err: err.Error()}
	}
	return answer{ID: a.ID}
}

// member is a process, which the test kills and starts again.
type member struct {
	t        *testing.T
	dsn, dir string
	cmd      *exec.Cmd
	in       io.WriteCloser
	answers  chan answer // closed at its end
}

func (n *member) start(silent int) {
	n.cmd = exec.CommandContext(context.WithoutCancel(n.t.Context()), os.Args[0])
	n.cmd.Env = append(os.Environ(), nodeDSN+"="+n.dsn, nodeDir+"="+n.dir, nodeSilent+"="+strconv.Itoa(silent))
	n.cmd.Stderr = os.Stderr
	var err error
	if n.in, err = n.cmd.StdinPipe(); err != nil {
		n.t.Fatal(err)
	}
	out, err := n.cmd.StdoutPipe()
	if err != nil {
		n.t.Fatal(err)
	}
	if err := n.cmd.Start(); err != nil {
		n.t.Fatal(err)
	}
	n.answers = make(chan answer, 10_000)
	go func() {
		defer close(n.answers)
		for lines := bufio.NewScanner(out); lines.Scan(); {
			var a answer
			if json.Unmarshal(lines.Bytes(), &a) == nil {
				n.answers <- a
			}
		}
	}()
}

// play makes calls on a node. After kill answers, which are all that it gives, it is killed with SIGKILL (0: never), and started again; the other calls
// stay without one, however far they came.
func (n *member) play(asks []ask, kill int) (got []answer) {
	enc := json.NewEncoder(n.in)
	for i := range asks {
		if enc.Encode(&asks[i]) != nil {
			break
		}
	}
	for len(got) < len(asks) {
		a, ok := <-n.answers
		if !ok {
			n.t.Error("a node has ended")
			return got
		}
		if got = append(got, a); len(got) == kill {
			_ = n.cmd.Process.Kill()
			_ = n.cmd.Wait()
			n.start(0)
			return got
		}
	}
	return got
}

func (n *member) stop() {
	_ = n.in.Close()
	for range n.answers {
	}
	if err := n.cmd.Wait(); err != nil {
		n.t.Error(err)
	}
}

// siege is three nodes on one database, with a wallet that has enough for everything.
func siege(t *testing.T) (s *store.Store, nodes []*member, wallet string) {
	dsn := migrated(t)
	s = openDSN(t, dsn)
	u := account.User{ID: "usr_1", Name: "u", Wallet: "wal_1", CreatedAt: time.Now()}
	if err := s.Accounts.CreateUser(t.Context(), u, account.CreatedEvent(&u, audit.Actor{})); err != nil {
		t.Fatal(err)
	}
	if _, err := ledger.Credit(t.Context(), s.Ledger, ledger.TopUp{Wallet: u.Wallet, Source: "test", ExternalID: "1", Amount: 1_000_000}, time.Now()); err != nil {
		t.Fatal(err)
	}
	for i := range 3 {
		nodes = append(nodes, &member{t: t, dsn: dsn, dir: filepath.Join(t.TempDir(), fmt.Sprint(i))})
	}
	return s, nodes, u.Wallet
}

// attack starts the nodes, makes calls on all of them at once, and kills each node but the first in the middle of its part.
func attack(nodes []*member, asks []ask) (got []answer) {
	var all sync.WaitGroup
	var mu sync.Mutex
	part := (len(asks) + len(nodes) - 1) / len(nodes)
	for i, n := range nodes {
		mine := asks[min(i*part, len(asks)):min((i+1)*part, len(asks))]
		all.Go(func() {
			kill := i * len(mine) / 4
			n.start(kill)
			answers := n.play(mine, kill)
			mu.Lock()
			defer mu.Unlock()
			got = append(got, answers...)
		})
	}
	all.Wait()
	return got
}

// counted ends the nodes and compares the books with what they said: each paid call is charged once, and each limit has counted its calls and is passed
// by no more than those calls cost beyond their holds. It returns what was spent by the id of a limit.
func counted(t *testing.T, s *store.Store, nodes []*member, asks []ask, got []answer) map[string]money.Nano {
	t.Helper()
	for _, n := range nodes {
		n.stop()
	}
	said := map[string]answer{}
	for _, a := range got {
		if a.Err != "" {
			t.Errorf("%s: %s", a.ID, a.Err)
		}
		said[a.ID] = a
	}
	want, beyond, most := map[string]money.Nano{}, map[string]money.Nano{}, map[string]money.Nano{}
	paid, unheard := 0, 0
	for i := range asks {
		a := &asks[i]
		for _, l := range a.Limits {
			most[l.ID] = l.Amount
		}
		r, heard := said[a.ID]
		c, entries, err := s.Ledger.Call(t.Context(), a.Wallet, a.ID)
		switch {
		case fault.Is(err, fault.NotFound):
			if heard && r.Refused == "" && r.Err == "" {
				t.Errorf("%s was paid and is lost", a.ID)
			}
			continue
		case err != nil:
			t.Fatal(err)
		case heard && r.Refused != "":
			t.Errorf("%s was refused and is charged", a.ID)
		case len(entries) != 1 || c.Cost != a.Cost:
			t.Errorf("%s: %+v of %s", a.ID, entries, c.Cost)
		}
		if paid++; !heard {
			unheard++
		}
		for _, l := range a.Limits {
			want[l.ID] += a.Cost
			beyond[l.ID] += max(0, a.Cost-a.Hold)
		}
	}
	t.Logf("%d calls, %d answered, %d paid, %d of them by nodes that were killed before they said so", len(asks), len(got), paid, unheard)
	spent := map[string]money.Nano{}
	for id, amount := range most {
		states, err := s.Ledger.FundStates(t.Context(), []ledger.Fund{{Wallet: asks[0].Wallet, Key: id, Period: ledger.Period{Kind: ledger.PeriodTotal}}})
		if err != nil {
			t.Fatal(err)
		}
		if spent[id] = states[0].Spent; spent[id] != want[id] || states[0].Held != 0 || spent[id] > amount+beyond[id] {
			t.Errorf("%s has %s spent and %s held, its calls say %s; it may have %s, and its calls cost %s beyond their holds", id, states[0].Spent, states[0].Held, want[id], amount, beyond[id])
		}
	}
	r, err := ledger.Verify(t.Context(), s.Ledger, "", ledger.Anchor{}, time.Now())
	if err != nil || !r.OK() {
		var text strings.Builder
		_, _ = r.WriteTo(&text)
		t.Errorf("%v\n%s", err, &text)
	}
	return spent
}

// A thousand calls at once, on three nodes of which two are killed meanwhile, compete for a team's budget and a tag's that have room for two hundred:
// neither is passed but by what calls cost beyond their holds, nothing is lost or doubled, and all that is left can be spent in the end.
func TestBudgetsUnderKills(t *testing.T) {
	t.Parallel()
	s, nodes, wallet := siege(t)
	limits := []ledger.Limit{{ID: "bud_team", Amount: 2000}, {ID: "bud_tag", Amount: 2000}, {ID: "bud_alarm", Amount: 1, Open: true}}
	calls := func(from, n int) (asks []ask) {
		for i := range n {
			a := ask{ID: fmt.Sprintf("gen-%d-%d", time.Now().Unix(), from+i), Wallet: wallet, Key: "key_1", Limits: limits, Hold: 10, Cost: 10}
			if (from+i)%10 == 0 {
				a.Cost = 12
			}
			asks = append(asks, a)
		}
		return asks
	}
	asks := calls(0, 1000)
	got := attack(nodes, asks)
	if len(got) == len(asks) {
		t.Error("no call was under way when nodes were killed")
	}
	for i := range 200 { // one after another, on the node that stayed: until nothing is left
		more := calls(1000+i, 1)
		answers := nodes[0].play(more, 0)
		asks, got = append(asks, more...), append(got, answers...)
		if answers[0].Refused != "" {
			break
		}
	}
	limits[2].Amount = 1 << 40 // it refuses nothing
	spent := counted(t, s, nodes, asks, got)
	for _, id := range []string{"bud_team", "bud_tag"} {
		if spent[id] <= 2000-10 {
			t.Errorf("%s was spent of %s, and the rest is lost", spent[id], id)
		}
	}
}

// Calls with a thousand keys that come from one another at random, on three nodes of which two are killed: no key spends more than it has with all
// below it, and none loses anything.
func TestTreeOfKeysUnderKills(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("takes half a minute; the full run has it")
	}
	s, nodes, wallet := siege(t)
	random := rand.New(rand.NewPCG(37, 1000))
	keys := make([]ledger.Limit, 1000)
	above := make([]int, len(keys))
	chain := func(i int) (list []ledger.Limit) {
		for ; i >= 0; i = above[i] {
			list = append(list, keys[i])
		}
		return list
	}
	for i := range keys {
		for above[i] = -1; i > 0; {
			above[i] = random.IntN(i)
			if len(chain(above[i])) < 12 {
				break
			}
		}
		depth := len(chain(above[i])) // keys have less the deeper they are
		keys[i] = ledger.Limit{ID: fmt.Sprint("key_", i), Amount: money.Nano(20 + random.IntN(4000/(1+depth*depth)))}
	}
	keys[0].Amount = 4000
	asks := make([]ask, 1500)
	for i := range asks {
		list := chain(random.IntN(len(keys)))
		asks[i] = ask{ID: fmt.Sprintf("gen-%d-%d", time.Now().Unix(), i), Wallet: wallet, Key: list[0].ID, Limits: list, Hold: 10, Cost: money.Nano(random.IntN(12))}
	}
	got := attack(nodes, asks)
	spent := counted(t, s, nodes, asks, got)
	if spent["key_0"] < 500 {
		t.Errorf("only %s were spent", spent["key_0"])
	}
}
