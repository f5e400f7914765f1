package storetest

import (
	"context"
	"fmt"
	"io"
	"iter"
	"maps"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"weir/internal/apikey"
	"weir/internal/audit"
	"weir/internal/batch"
	"weir/internal/fault"
	"weir/internal/ledger"
	"weir/internal/money"
	"weir/internal/preset"
	"weir/internal/record"
)

// Batches checks a store under files and batches, alone and through one and two nodes that work on them. open gives an empty store that reads
// that clock, and closes it after the test.
func Batches(t *testing.T, open Open) {
	cases := map[string]func(*testing.T, *batchFixture){
		"files":                            batchFiles,
		"files have bounds":                fileBounds,
		"a batch comes back as stored":     batchRoundTrip,
		"batches of others":                foreignBatches,
		"pages of batches":                 batchPages,
		"too many batches":                 tooManyBatches,
		"forbidden changes of state":       illegalBatchStates,
		"a claim is exclusive":             exclusiveBatch,
		"a worker that slept":              sleepingBatchWorker,
		"an item ends once":                itemOnce,
		"batches are counted":              countedBatches,
		"an operator cancels":              operatorCancels,
		"a request charged twice is found": chargedTwice,
		"from submission to results":       wholeBatch,
		"messages":                         wholeMessages,
		"wrong lines":                      wrongLines,
		"hostile files":                    hostileFiles,
		"money ends":                       poorBatch,
		"money for a few at a time":        frugalBatch,
		"providers fail":                   failingBatch,
		"a key that was deleted":           keylessBatch,
		"zero data retention":              secretBatch,
		"cancelled before it begins":       cancelledEarly,
		"cancelled while it runs":          cancelledLate,
		"time is over":                     lateBatch,
		"allowances of keys":               spareBatch,
		"neighbours":                       batchNeighbours,
		"files in use":                     usedFiles,
		"files that are lost":              lostFiles,
		"a wire that panics":               panickingBatch,
		"old files and batches":            oldBatches,
		"two nodes and one batch":          twoNodes,
		"lost answers of the store":        lostBatchAnswers,
		"charges are the sum of the lines": batchCharges,
		"parts":                            storedParts,
		"requests for providers' batches":  gatherNeighbours,
		"a provider's batch of a lost key": nativeBatchOfALostKey,
		"a provider's batch without money": poorNativeBatch,
		"with what a provider was asked":   nativeTerms,
		"what a provider never deletes":    stubbornShop,
		"parts that are to be cleared":     leftParts,
	}
	for name, check := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			check(t, newOffice(t, open))
		})
	}
	nativeBatches(t, open)
	for name, c := range map[string]struct {
		takeover bool
		series   int
	}{"the same node": {false, 0}, "another node": {true, 2}} {
		t.Run("death at every step/"+name, func(t *testing.T) {
			t.Parallel()
			batchDeath(t, newOffice(t, open), c.takeover, false, c.series)
		})
		t.Run("death at every step of a provider's batch/"+name, func(t *testing.T) {
			t.Parallel()
			batchDeath(t, newOffice(t, open), c.takeover, true, c.series+4)
		})
	}
}

// batchFixture is a store with files and a provider of answers.
type batchFixture struct {
	*books
	files *files
	keys  sync.Map // caller by hash
}

func newOffice(t *testing.T, open Open) *batchFixture {
	return &batchFixture{books: newDesk(t, open), files: newFiles()}
}

// writtenLine is the wire of the suite: a line is "custom_id=body".
type writtenLine struct{}

func (writtenLine) Line(_ *batch.Batch, text []byte) (batch.Line, *batch.Problem) {
	id, body, ok := strings.Cut(strings.TrimSpace(string(text)), "=")
	if !ok {
		return batch.Line{}, &batch.Problem{Code: "invalid", Message: "The line has no body."}
	}
	return batch.Line{CustomID: id, Body: []byte(body)}, nil
}

func (writtenLine) AppendResult(to []byte, _ *batch.Batch, it *batch.Item) []byte {
	return fmt.Appendf(to, "%s %s %s\n", it.CustomID, it.Outcome, it.Body)
}

// answers is a provider that answers, and its node charges a ruble for each answer.
type answers struct {
	pace *pace
	o    *batchFixture
	book *ledger.Book

	mu    sync.Mutex
	calls map[string]int    // by generation
	names map[string]string // generation by body
	begun int
	order func(body string, n int) *fault.Error // what is wrong with the nth call; nil: nothing
	spare func() bool

	own      func(body string) bool // whether a request cannot be a part of a provider's batch; nil: each can
	required bool                   // requests want a provider's batch, or nothing
	alone    int                    // requests that were no part of one

	act    func(func() error) error // of a process that may die; nil: it does not
	preset *preset.Preset           // that requests name
	paid   func(*batch.Call)        // gets calls that a provider's batch has answered
}

const lineCost = ruble

func (a *answers) Spare(*apikey.Caller) bool { return a.spare == nil || a.spare() }

func (a *answers) Run(ctx context.Context, c *batch.Call) (answer batch.Answer) {
	if a.order == nil {
		return a.run(ctx, c)
	}
	a.pace.apart(func() { answer = a.run(ctx, c) }) // it may wait for other calls
	return answer
}

func (a *answers) run(ctx context.Context, c *batch.Call) batch.Answer {
	body := string(c.Body)
	a.mu.Lock()
	a.begun++
	n := a.begun
	a.mu.Unlock()
	if c.Deferred.Prepares() {
		return a.prepare(ctx, c)
	}
	rec := a.o.call(c.Caller.Wallet, c.Caller.Key, lineCost)
	rec.Generation, rec.User, rec.Settled = c.Generation, c.Caller.User, false
	failed := func(err error) batch.Answer {
		e := fault.From(err)
		return batch.Answer{Status: 500, Body: []byte("error"), Err: e, Record: rec}
	}
	if a.required && c.Deferred == nil {
		e := fault.New(fault.NoEndpoints, "storetest", "No.")
		a.book.Note(a.voided(rec, e))
		return failed(e)
	}
	if a.order != nil {
		if e := a.order(body, n); e != nil {
			rec.Error, rec.Cost, rec.Lines = e.Kind.String(), 0, nil
			a.book.Note(rec)
			return failed(e)
		}
	}
	hold := c.Held
	if c.Held = nil; hold == nil {
		var err error
		if hold, err = a.book.Hold(ctx, ledger.HoldRequest{Wallet: c.Caller.Wallet, Amount: 2 * lineCost}); err != nil {
			return failed(err)
		}
	}
	defer hold.Release()
	answer := []byte("answer to " + body)
	if c.Deferred == nil {
		a.mu.Lock()
		a.alone++
		a.mu.Unlock()
	} else {
		if status := c.Deferred.Answer.Status; status != 200 {
			e := fault.New(fault.ProviderUnavailable, "storetest", "No.")
			e.Upstream = &fault.Upstream{Status: status}
			a.book.Note(a.voided(rec, e))
			return failed(e)
		}
		answer = slices.Clone(c.Deferred.Answer.Body)
		if a.paid != nil {
			a.paid(c)
		}
	}
	act := a.act
	if act == nil {
		act = func(do func() error) error { return do() }
	}
	if err := act(func() error { return nil }); err != nil { // the provider is asked
		return failed(err)
	}
	if err := act(func() error { return a.book.Settle(ctx, hold, rec) }); err != nil {
		return failed(err)
	}
	rec.Settled = true
	a.mu.Lock()
	if a.calls == nil {
		a.calls, a.names = map[string]int{}, map[string]string{}
	}
	a.calls[c.Generation]++
	a.names[body] = c.Generation
	a.mu.Unlock()
	return batch.Answer{Status: 200, Body: answer, RequestID: "req_" + strconv.Itoa(n), Record: rec}
}

func (a *answers) voided(rec *record.Call, e *fault.Error) *record.Call {
	rec.Error, rec.Cost, rec.Lines = e.Kind.String(), 0, nil
	return rec
}

// prepare makes a request for a provider's batch, and holds what it may cost.
func (a *answers) prepare(ctx context.Context, c *batch.Call) batch.Answer {
	if a.own != nil && a.own(string(c.Body)) {
		return batch.Answer{Err: fault.New(fault.NoEndpoints, "storetest", "No.")}
	}
	hold, err := a.book.Hold(ctx, ledger.HoldRequest{Wallet: c.Caller.Wallet, Amount: 2 * lineCost})
	if err != nil {
		return batch.Answer{Status: 402, Err: fault.From(err)}
	}
	c.Held = hold
	if c.Preset == nil {
		c.Preset = a.preset
	}
	c.Deferred.Endpoint, c.Deferred.Path, c.Deferred.Body, c.Deferred.Required = "ep", "/x", slices.Clone(c.Body), a.required
	return batch.Answer{Err: fault.New(fault.Canceled, "storetest", "Prepared.")}
}

// idle is how often workers of the suite look whether a batch was cancelled: never, for its waits end at once.
const idle = 1234 * time.Hour

type clerk struct {
	*batch.Service
	o       *batchFixture
	book    *ledger.Book
	answers *answers
	pace    pace
	least   time.Duration // of a wait
}

// clerk makes a node that works on batches when step is called.
func (o *batchFixture) clerk(book *ledger.Book, edit ...func(*batch.Deps, *batch.Config)) *clerk {
	k := &clerk{o: o, book: book, pace: pace{clock: o.clock}}
	k.answers = &answers{o: o, book: book, pace: &k.pace}
	d := batch.Deps{Store: o.store.Jobs, Contents: o.files, Member: book, Wire: writtenLine{}, Defaults: func(d apikey.Defaults) (*apikey.Defaults, error) { return &d, nil },
		Caller: func(_ context.Context, key string) (*apikey.Caller, error) {
			if c, ok := o.keys.Load(key); ok {
				return c.(*apikey.Caller), nil
			}
			return nil, fault.New(fault.Authentication, "storetest", "The API key is invalid.")
		},
		Charge: func(ctx context.Context, wallet, generation string) (batch.Charge, error) {
			c, _, err := book.Call(ctx, wallet, generation)
			if fault.Is(err, fault.NotFound) {
				return batch.Charge{}, nil
			}
			if err != nil {
				return batch.Charge{}, err
			}
			return batch.Charge{Known: true, Settled: c.Settled, Cost: c.Cost}, nil
		},
		Void: func(ctx context.Context, b *batch.Batch, generation string) error {
			rec := o.call(b.Wallet, b.Key, 0)
			rec.Generation, rec.User, rec.Settled, rec.Error, rec.Lines = generation, b.User, false, "canceled", nil
			book.Note(rec)
			return book.Flush(ctx)
		},
	}
	c := batch.Default(o.clock.Now)
	c.PerUser, c.WatchFor, c.MaxLines, c.MaxLineBytes, c.MaxActive, c.Tries = 1, idle, 100, 1000, 3, 3
	c.StoreFor = time.Minute
	c.Wait = func(ctx context.Context, d time.Duration) error {
		if d == idle {
			<-ctx.Done()
			return ctx.Err()
		}
		err := k.pace.wait(ctx, max(d, k.least))
		_ = book.Tick(ctx) // its node lives on
		return err
	}
	c.Go = k.pace.work
	c.Report = func(what, id string, err error) { o.t.Logf("%s: %s: %v", id, what, err) }
	for _, e := range edit {
		e(&d, &c)
	}
	k.Service = batch.New(d, c)
	o.t.Cleanup(func() { k.Close(o.ctx) })
	return k
}

// clear has a provider delete what it keeps, for two days if need be.
func (k *clerk) clear(shop *shop) {
	k.ClearParts(k.o.ctx)
	for end := k.o.clock.Now().Add(48 * time.Hour); shop.kept() > 0 && k.o.clock.Now().Before(end); k.o.clock.Advance(time.Hour) {
		k.ClearParts(k.o.ctx)
	}
}

// author makes a user with a key.
func (o *batchFixture) author(amount money.Nano) *apikey.Caller {
	w := o.wallet(amount)
	c := &apikey.Caller{User: "usr_" + strings.TrimPrefix(w, "wal_"), Wallet: w, Key: "key_" + w, Hash: "hash_" + w}
	o.keys.Store(c.Key, c)
	return c
}

func requests(n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, "id%d=body %d\n", i, i)
	}
	return b.String()
}

func (k *clerk) upload(c *apikey.Caller, text string) *batch.File {
	k.o.t.Helper()
	f, err := k.AddFile(k.o.ctx, batch.NewFile{User: c.User, Name: "a.jsonl", Purpose: batch.PurposeInput, Content: strings.NewReader(text)})
	if err != nil {
		k.o.t.Fatal(err)
	}
	return f
}

func (k *clerk) add(c *apikey.Caller, text string) *batch.Batch {
	k.o.t.Helper()
	b, err := k.Add(k.o.ctx, &batch.NewBatch{Caller: c, Shape: batch.Requests, Endpoint: "/v1/x", Input: k.upload(c, text).ID, Generation: apikey.NewID("gen-")})
	if err != nil {
		k.o.t.Fatal(err)
	}
	return b
}

func (k *clerk) step() {
	k.o.t.Helper()
	if err := k.Step(k.o.ctx, k.answers); err != nil {
		k.o.t.Fatal(err)
	}
}

// end has the batch carried to its end, and returns it.
func (k *clerk) end(b *batch.Batch) *batch.Batch {
	k.o.t.Helper()
	for range 20 {
		k.step()
		now, err := k.Get(k.o.ctx, b.User, b.ID, b.Shape)
		if err != nil {
			k.o.t.Fatal(err)
		}
		if now.State.Final() {
			return now
		}
		k.o.clock.Advance(10 * time.Second)
	}
	k.o.t.Fatalf("the batch does not end: %+v", must(k.Get(k.o.ctx, b.User, b.ID, b.Shape)))
	return nil
}

// lines are those of a file of results, "" none.
func (o *batchFixture) lines(id string) []string {
	if id == "" {
		return nil
	}
	r, _, err := o.files.Open(o.ctx, id, 0, -1)
	if err != nil {
		o.t.Fatal(err)
	}
	text := string(must(io.ReadAll(r)))
	if text == "" {
		return nil
	}
	return strings.Split(strings.TrimSuffix(text, "\n"), "\n")
}

// wantCharged compares what a wallet was charged with its batches, and its batches with their lines.
func (o *batchFixture) wantCharged(book *ledger.Book, wallet string, credited, charged money.Nano, batches ...*batch.Batch) {
	o.t.Helper()
	var sum money.Nano
	for _, b := range batches {
		sum += b.Cost
	}
	if sum != charged {
		o.t.Errorf("the batches cost %s, want %s", sum, charged)
	}
	if err := book.Flush(o.ctx); err != nil {
		o.t.Fatal(err)
	}
	got, err := o.store.Ledger.Balance(o.ctx, wallet)
	if err != nil {
		o.t.Fatal(err)
	}
	if got.Charged != charged || got.Credited != credited {
		o.t.Errorf("credited %s and charged %s, want %s and %s", got.Credited, got.Charged, credited, charged)
	}
	o.balanced()
}

func batchFiles(t *testing.T, o *batchFixture) {
	k, c, other := o.clerk(o.node()), o.author(0), o.author(0)
	var ids []string
	for i := range 5 {
		o.clock.Advance(time.Second)
		ids = append(ids, k.upload(c, requests(i+1)).ID)
	}
	f, err := k.File(o.ctx, c.User, ids[1])
	if err != nil || f.Bytes != int64(len(requests(2))) || f.Name != "a.jsonl" || f.Purpose != batch.PurposeInput || !f.ExpiresAt.After(f.CreatedAt) {
		t.Fatalf("%+v, %v", f, err)
	}
	for _, user := range []string{other.User, ""} {
		if _, err := k.File(o.ctx, user, ids[1]); !fault.Is(err, fault.NotFound) {
			t.Errorf("a file of somebody else: %v", err)
		}
		if err := k.DeleteFile(o.ctx, user, ids[1]); !fault.Is(err, fault.NotFound) {
			t.Errorf("deleting a file of somebody else: %v", err)
		}
	}
	page := func(q batch.FileQuery) (got []string, more bool) {
		q.User, q.Limit = c.User, 2
		files, more, err := k.Files(o.ctx, q)
		if err != nil {
			t.Fatal(err)
		}
		for i := range files {
			got = append(got, files[i].ID)
		}
		return got, more
	}
	got, more := page(batch.FileQuery{})
	if !slices.Equal(got, []string{ids[4], ids[3]}) || !more {
		t.Errorf("%v %v", got, more)
	}
	got, more = page(batch.FileQuery{After: ids[1]})
	if !slices.Equal(got, []string{ids[0]}) || more {
		t.Errorf("%v %v", got, more)
	}
	got, _ = page(batch.FileQuery{After: ids[1], Ascending: true})
	if !slices.Equal(got, []string{ids[2], ids[3]}) {
		t.Errorf("%v", got)
	}
	if got, _ = page(batch.FileQuery{Purpose: batch.PurposeOutput}); got != nil {
		t.Errorf("%v", got)
	}
	if _, _, err := k.Files(o.ctx, batch.FileQuery{User: other.User, After: ids[0], Limit: 1}); !fault.Is(err, fault.Invalid) {
		t.Errorf("after a file of somebody else: %v", err)
	}
	if err := k.DeleteFile(o.ctx, c.User, ids[0]); err != nil {
		t.Fatal(err)
	}
	if _, err := k.File(o.ctx, c.User, ids[0]); !fault.Is(err, fault.NotFound) || slices.Contains(o.files.keys(), ids[0]) {
		t.Errorf("a deleted file: %v", err)
	}
}

func fileBounds(t *testing.T, o *batchFixture) {
	k := o.clerk(o.node(), func(_ *batch.Deps, c *batch.Config) { c.Files = batch.FileBounds{Files: 2, Bytes: 100} })
	c := o.author(0)
	add := func(n int) error {
		_, err := k.AddFile(o.ctx, batch.NewFile{User: c.User, Purpose: batch.PurposeInput, Content: strings.NewReader(strings.Repeat("x", n))})
		return err
	}
	if err := add(90); err != nil {
		t.Fatal(err)
	}
	if err := add(11); !fault.Is(err, fault.RateLimited) {
		t.Errorf("too many bytes: %v", err)
	}
	if err := add(10); err != nil {
		t.Error(err)
	}
	if err := add(0); !fault.Is(err, fault.RateLimited) {
		t.Errorf("too many files: %v", err)
	}
	if n := len(o.files.keys()); n != 2 {
		t.Errorf("%d files are kept", n)
	}
}

func someBatch(o *batchFixture, c *apikey.Caller, id string) *batch.Batch {
	at := o.clock.Now().UTC().Truncate(time.Microsecond)
	return &batch.Batch{ID: id, User: c.User, Wallet: c.Wallet, Key: c.Key, Generation: "gen-" + id, Shape: batch.Messages, Endpoint: "/v1/messages", Metadata: `{"a":"b"}`,
		Version: "2023", Betas: "x,y", State: batch.Validating, Input: "file-" + id, Problems: []batch.Problem{{Code: "c", Param: "p", Message: "m\x01", Line: 7}, {Message: "n"}}, Total: 9,
		CreatedAt: at, ExpiresAt: at.Add(time.Hour), KeepFor: time.Hour, DueAt: at}
}

func (o *batchFixture) addBatch(b *batch.Batch, limit int64) error {
	return o.store.Jobs.AddBatch(o.ctx, b, &batch.File{ID: b.Input, User: b.User, Purpose: batch.PurposeInput, Hidden: true, CreatedAt: b.CreatedAt, ExpiresAt: b.ExpiresAt}, limit)
}

func batchRoundTrip(t *testing.T, o *batchFixture) {
	c := o.author(0)
	b := someBatch(o, c, "msgbatch_1")
	if err := o.addBatch(b, 10); err != nil {
		t.Fatal(err)
	}
	got := must(o.store.Jobs.Batch(o.ctx, c.User, b.ID, batch.Messages))
	if diff := cmp.Diff(b, got); diff != "" {
		t.Fatal(diff)
	}
	node := o.node()
	claimed := must(o.store.Jobs.ClaimBatches(o.ctx, node.Node(), node.Epoch(), o.clock.Now(), 10, nil))
	if len(claimed) != 1 || claimed[0].Fence != 1 {
		t.Fatalf("%+v", claimed)
	}
	b = claimed[0]
	b.State, b.StartedAt, b.Total, b.Paused = batch.InProgress, o.clock.Now().UTC().Truncate(time.Microsecond), 10, "reason"
	if err := o.store.Jobs.KeepBatch(o.ctx, b, batch.Validating, false); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(b, must(o.store.Jobs.OwnBatch(o.ctx, b.ID, b.Fence))); diff != "" {
		t.Fatal(diff)
	}
	if found := must(o.store.Jobs.HasBatch(o.ctx, c.Wallet, b.Generation)); !found {
		t.Error("the request that made it is not found")
	}
	if found := must(o.store.Jobs.HasBatch(o.ctx, "wal_x", b.Generation)); found {
		t.Error("it is found by another wallet")
	}
}

func foreignBatches(t *testing.T, o *batchFixture) {
	k, c, other := o.clerk(o.node()), o.author(10*ruble), o.author(0)
	b := k.add(c, requests(1))
	for _, x := range []struct {
		user  string
		shape batch.Shape
	}{{other.User, batch.Requests}, {"", batch.Requests}, {c.User, batch.Messages}} {
		if _, err := k.Get(o.ctx, x.user, b.ID, x.shape); !fault.Is(err, fault.NotFound) {
			t.Errorf("%v: %v", x, err)
		}
		if _, err := k.Cancel(o.ctx, x.user, b.ID, x.shape); !fault.Is(err, fault.NotFound) {
			t.Errorf("cancel %v: %v", x, err)
		}
		if err := k.Delete(o.ctx, x.user, b.ID, x.shape); !fault.Is(err, fault.NotFound) {
			t.Errorf("delete %v: %v", x, err)
		}
	}
	if _, err := k.Add(o.ctx, &batch.NewBatch{Caller: other, Shape: batch.Requests, Input: b.Input}); !fault.Is(err, fault.Invalid) {
		t.Errorf("with a file of somebody else: %v", err)
	}
	if list, _, err := k.List(o.ctx, batch.Query{User: other.User, Limit: 10}); err != nil || len(list) != 0 {
		t.Errorf("%v, %v", list, err)
	}
	done := k.end(b)
	if _, err := k.File(o.ctx, other.User, done.Output); !fault.Is(err, fault.NotFound) {
		t.Errorf("results of somebody else: %v", err)
	}
	if _, err := k.Add(o.ctx, &batch.NewBatch{Caller: c, Shape: batch.Requests, Input: done.Output}); !fault.Is(err, fault.Invalid) {
		t.Errorf("results as requests: %v", err)
	}
}

func batchPages(t *testing.T, o *batchFixture) {
	c := o.author(0)
	var ids []string
	for i := range 5 {
		o.clock.Advance(time.Second)
		id := fmt.Sprint("msgbatch_", i)
		if err := o.addBatch(someBatch(o, c, id), 10); err != nil {
			t.Fatal(err)
		}
		ids = append([]string{id}, ids...) // the newest first
	}
	k := o.clerk(o.node())
	for _, x := range []struct {
		q    batch.Query
		want []string
		more bool
	}{
		{batch.Query{Limit: 2}, ids[:2], true},
		{batch.Query{Limit: 2, After: ids[1]}, ids[2:4], true},
		{batch.Query{Limit: 2, After: ids[3]}, ids[4:], false},
		{batch.Query{Limit: 2, Before: ids[4]}, ids[2:4], true},
		{batch.Query{Limit: 2, Before: ids[1]}, ids[:1], false},
		{batch.Query{Limit: 9, Active: true}, ids, false},
	} {
		x.q.User, x.q.Shape = c.User, batch.Messages
		list, more, err := k.List(o.ctx, x.q)
		var got []string
		for i := range list {
			got = append(got, list[i].ID)
		}
		if err != nil || more != x.more || !slices.Equal(got, x.want) {
			t.Errorf("%+v: %v %v %v", x.q, got, more, err)
		}
	}
	if _, _, err := k.List(o.ctx, batch.Query{User: c.User, After: "x", Limit: 1}); !fault.Is(err, fault.Invalid) {
		t.Error(err)
	}
}

func tooManyBatches(t *testing.T, o *batchFixture) {
	c := o.author(0)
	var wait sync.WaitGroup
	errs := make([]error, 6)
	for i := range errs {
		b := someBatch(o, c, fmt.Sprint("msgbatch_", i))
		wait.Go(func() { errs[i] = o.addBatch(b, 3) })
	}
	wait.Wait()
	refused := 0
	for _, err := range errs {
		if fault.Is(err, fault.RateLimited) {
			refused++
		} else if err != nil {
			t.Error(err)
		}
	}
	if refused != 3 {
		t.Errorf("%d were refused", refused)
	}
}

func illegalBatchStates(t *testing.T, o *batchFixture) {
	node := o.node()
	for i, from := range batch.States() {
		for j, next := range batch.States() {
			c := o.author(0)
			b := someBatch(o, c, fmt.Sprint("msgbatch_", i, "x", j))
			b.State = from
			if err := o.addBatch(b, 10); err != nil {
				t.Fatal(err)
			}
			claimed := must(o.store.Jobs.ClaimBatches(o.ctx, node.Node(), node.Epoch(), o.clock.Now(), 1, nil))
			b = claimed[0]
			b.State, b.DueAt = next, time.Time{}
			err := o.store.Jobs.KeepBatch(o.ctx, b, from, true)
			if ok := from == next || from.To(next); ok != (err == nil) {
				t.Errorf("%s to %s: %v", from, next, err)
			}
			if err != nil {
				b.State = from
				if err := o.store.Jobs.KeepBatch(o.ctx, b, from, true); err != nil {
					t.Fatal(err)
				}
			}
		}
	}
}

func exclusiveBatch(t *testing.T, o *batchFixture) {
	c := o.author(0)
	for i := range 6 {
		if err := o.addBatch(someBatch(o, c, fmt.Sprint("msgbatch_", i)), 10); err != nil {
			t.Fatal(err)
		}
	}
	nodes := []*ledger.Book{o.node(), o.node()}
	var wait sync.WaitGroup
	var mu sync.Mutex
	seen := map[string]int{}
	for _, node := range nodes {
		for range 3 {
			wait.Go(func() {
				list, err := o.store.Jobs.ClaimBatches(o.ctx, node.Node(), node.Epoch(), o.clock.Now(), 2, []string{"msgbatch_0", "msgbatch_1", "msgbatch_2", "msgbatch_3", "msgbatch_4", "msgbatch_5"})
				if err != nil {
					t.Error(err)
				}
				mu.Lock()
				defer mu.Unlock()
				for _, b := range list {
					seen[b.ID]++
				}
			})
		}
	}
	wait.Wait()
	rest := must(o.store.Jobs.ClaimBatches(o.ctx, nodes[0].Node(), nodes[0].Epoch(), o.clock.Now(), 10, slices.Collect(maps.Keys(seen))))
	for _, b := range rest {
		seen[b.ID]++
	}
	for id, n := range seen {
		if n != 1 {
			t.Errorf("%s was claimed %d times", id, n)
		}
	}
	if len(seen) != 6 {
		t.Errorf("%v", seen)
	}
	if _, err := o.store.Jobs.ClaimBatches(o.ctx, nodes[0].Node(), nodes[0].Epoch()-1, o.clock.Now(), 10, nil); !fault.Is(err, fault.StorageUnavailable) {
		t.Errorf("a node of the past claims: %v", err)
	}
	// A claim whose answer was lost is made again by its node, and by no other.
	again := must(o.store.Jobs.ClaimBatches(o.ctx, nodes[0].Node(), nodes[0].Epoch(), o.clock.Now(), 10, nil))
	other := must(o.store.Jobs.ClaimBatches(o.ctx, nodes[1].Node(), nodes[1].Epoch(), o.clock.Now(), 10, nil))
	if len(again)+len(other) != 6 || len(again) == 0 {
		t.Errorf("%d and %d are claimed again", len(again), len(other))
	}
}

func sleepingBatchWorker(t *testing.T, o *batchFixture) {
	slept, awake, c := o.node(), o.node(), o.author(0)
	if err := o.addBatch(someBatch(o, c, "msgbatch_1"), 10); err != nil {
		t.Fatal(err)
	}
	old := must(o.store.Jobs.ClaimBatches(o.ctx, slept.Node(), slept.Epoch(), o.clock.Now(), 1, nil))[0]
	if list := must(o.store.Jobs.ClaimBatches(o.ctx, awake.Node(), awake.Epoch(), o.clock.Now(), 1, nil)); len(list) != 0 {
		t.Fatal("it is claimed while its node lives")
	}
	evict(o.books, awake)
	now := must(o.store.Jobs.ClaimBatches(o.ctx, awake.Node(), awake.Epoch(), o.clock.Now(), 1, nil))[0]
	it := &batch.Item{Line: 1, Stage: batch.Done, Outcome: batch.Succeeded}
	for name, err := range map[string]error{
		"keep": o.store.Jobs.KeepBatch(o.ctx, old, old.State, false), "start": o.store.Jobs.StartItem(o.ctx, old, it), "end": o.store.Jobs.EndItem(o.ctx, old, it),
		"end all": o.store.Jobs.EndBatch(o.ctx, old, old.State, nil),
	} {
		if !fault.Is(err, fault.Conflict) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := o.store.Jobs.OwnBatch(o.ctx, old.ID, old.Fence); !fault.Is(err, fault.Conflict) {
		t.Error(err)
	}
	if err := o.store.Jobs.StartItem(o.ctx, now, it); !fault.Is(err, fault.Conflict) {
		t.Errorf("a line of a batch that is not in progress: %v", err)
	}
}

// evict has other nodes take all but one for dead.
func evict(d *books, by *ledger.Book) {
	d.t.Helper()
	d.tick(by)
	for range 14 {
		d.clock.Advance(5 * time.Second)
		d.tick(by)
	}
}

func countedBatches(t *testing.T, o *batchFixture) {
	if c := must(o.store.Jobs.CountBatches(o.ctx)); c != (batch.Counts{}) {
		t.Errorf("without batches: %+v", c)
	}
	c, node := o.author(0), o.node()
	first := o.clock.Now().UTC().Truncate(time.Microsecond)
	for i := range 4 {
		if err := o.addBatch(someBatch(o, c, fmt.Sprint("msgbatch_", i)), 10); err != nil {
			t.Fatal(err)
		}
		o.clock.Advance(time.Second)
	}
	claimed := must(o.store.Jobs.ClaimBatches(o.ctx, node.Node(), node.Epoch(), o.clock.Now(), 3, nil))
	claimed[1].State, claimed[1].Paused = batch.InProgress, "payment_required"
	if err := o.store.Jobs.KeepBatch(o.ctx, claimed[1], batch.Validating, false); err != nil {
		t.Fatal(err)
	}
	claimed[2].State, claimed[2].EndedAt = batch.Failed, o.clock.Now()
	if err := o.store.Jobs.EndBatch(o.ctx, claimed[2], batch.Validating, nil); err != nil {
		t.Fatal(err)
	}
	if c := must(o.store.Jobs.CountBatches(o.ctx)); c != (batch.Counts{Queued: 1, Running: 2, Paused: 1, Oldest: first}) {
		t.Errorf("%+v", c)
	}
}

// Who cancels somebody else's batch is recorded, once, and only if there was something to cancel.
func operatorCancels(t *testing.T, o *batchFixture) {
	k, c := o.clerk(o.node()), o.author(100*ruble)
	b := k.add(c, requests(3))
	before := len(slices.Collect(rowsOf(o.store.Accounts.AuditRows(o.ctx))))
	event := &audit.Event{Actor: audit.Actor{Name: "operator"}, Action: audit.BatchCancelled, Target: b.ID, Before: "validating", After: "asked for"}
	for range 2 {
		if err := o.store.Jobs.CancelBatch(o.ctx, b.ID, o.clock.Now(), []batch.Problem{{Code: "cancelled_by_operator", Message: "asked for"}}, event); err != nil {
			t.Fatal(err)
		}
	}
	rows := slices.Collect(rowsOf(o.store.Accounts.AuditRows(o.ctx)))
	if len(rows) != before+1 || rows[before].Event != *event {
		t.Errorf("%+v", rows[before:])
	}
	if done := k.end(b); done.State != batch.CancelledS || len(done.Problems) != 1 {
		t.Errorf("%+v", done)
	}
}

func rowsOf(rows iter.Seq2[audit.Row, error]) iter.Seq[audit.Row] {
	return func(yield func(audit.Row) bool) {
		for r, err := range rows {
			if must(r, err); !yield(r) {
				return
			}
		}
	}
}

// A line whose former call was charged, too, and one that cost another amount than its call, are found.
func chargedTwice(t *testing.T, o *batchFixture) {
	book, c := o.node(), o.author(100*ruble)
	b := someBatch(o, c, "msgbatch_1")
	b.State = batch.InProgress
	if err := o.addBatch(b, 10); err != nil {
		t.Fatal(err)
	}
	b = must(o.store.Jobs.ClaimBatches(o.ctx, book.Node(), book.Epoch(), o.clock.Now(), 1, nil))[0]
	charge := func(line, tries int64) string {
		h, err := book.Hold(o.ctx, ledger.HoldRequest{Wallet: c.Wallet, Key: c.Key, Amount: 2 * ruble})
		if err != nil {
			t.Fatal(err)
		}
		rec := o.call(c.Wallet, c.Key, ruble)
		rec.Generation, rec.User = batch.GenerationOf(b.ID, b.CreatedAt, line, tries), c.User
		if err := book.Settle(o.ctx, h, rec); err != nil {
			t.Fatal(err)
		}
		if err := book.Flush(o.ctx); err != nil {
			t.Fatal(err)
		}
		return rec.Generation
	}
	end := func(it batch.Item) {
		it.Stage, it.Outcome = batch.Done, batch.Succeeded
		if err := o.store.Jobs.EndItem(o.ctx, b, &it); err != nil {
			t.Fatal(err)
		}
	}
	end(batch.Item{Line: 1, CustomID: "a", Generation: charge(1, 0), Cost: ruble})
	end(batch.Item{Line: 2, CustomID: "b", Generation: charge(2, 2), Tries: 2, Cost: ruble})
	o.balanced()
	found := func(text string) {
		t.Helper()
		r, err := ledger.Verify(o.ctx, o.store.Ledger, "", ledger.Anchor{}, time.Time{})
		if err != nil {
			t.Fatal(err)
		}
		for _, k := range r.Checks {
			if k.OK != (k.Name != "batches") || !k.OK && !strings.Contains(k.Detail, text) {
				t.Errorf("%s: %s", k.Name, k.Detail)
			}
		}
	}
	twice := charge(2, 1)
	found("line 2 of batch msgbatch_1 was charged 1 rubles by " + twice)
	end(batch.Item{Line: 3, CustomID: "c", Generation: charge(3, 0), Cost: 2 * ruble})
	found("line 3 of batch msgbatch_1 cost 2 rubles, its call 1")
}

func itemOnce(t *testing.T, o *batchFixture) {
	c, node := o.author(0), o.node()
	b := someBatch(o, c, "msgbatch_1")
	b.State = batch.InProgress
	if err := o.addBatch(b, 10); err != nil {
		t.Fatal(err)
	}
	b = must(o.store.Jobs.ClaimBatches(o.ctx, node.Node(), node.Epoch(), o.clock.Now(), 1, nil))[0]
	it := batch.Item{Line: 3, CustomID: "x", Generation: "gen-1", Offset: 5, Length: 6, Tries: 2}
	if err := o.store.Jobs.StartItem(o.ctx, b, &it); err != nil {
		t.Fatal(err)
	}
	it.Stage = batch.Running
	opt := cmp.AllowUnexported(batch.Item{})
	if diff := cmp.Diff([]batch.Item{it}, emptied(must(o.store.Jobs.Items(o.ctx, b.ID, 0, 10, true))), opt); diff != "" {
		t.Fatal(diff)
	}
	done := it
	done.Stage, done.Outcome, done.Status, done.RequestID, done.Body, done.Cost, done.Prompt, done.Completion = batch.Done, batch.Succeeded, 200, "req_1", []byte("a"), 5, 7, 8
	other := done
	other.Outcome, other.Cost, other.Body = batch.Errored, 9, []byte("b")
	for _, x := range []*batch.Item{&done, &other} {
		if err := o.store.Jobs.EndItem(o.ctx, b, x); err != nil {
			t.Fatal(err)
		}
	}
	if err := o.store.Jobs.StartItem(o.ctx, b, &it); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]batch.Item{done}, must(o.store.Jobs.Items(o.ctx, b.ID, 0, 10, true, batch.Succeeded)), opt); diff != "" {
		t.Fatal(diff)
	}
	if list := must(o.store.Jobs.Items(o.ctx, b.ID, 0, 10, true, batch.Errored, batch.Expired)); len(list) != 0 {
		t.Errorf("%+v", list)
	}
	if list := must(o.store.Jobs.Items(o.ctx, b.ID, 3, 10, false)); len(list) != 0 {
		t.Errorf("%+v", list)
	}
	if now := must(o.store.Jobs.OwnBatch(o.ctx, b.ID, b.Fence)); now.Succeeded != 1 || now.Failed != 0 || now.Cost != 5 || now.Prompt != 7 || now.Completion != 8 {
		t.Errorf("%+v", now)
	}
}

// emptied gives items without bodies the one that they were written with.
func emptied(list []batch.Item) []batch.Item {
	for i := range list {
		if len(list[i].Body) == 0 {
			list[i].Body = nil
		}
	}
	return list
}

func wholeBatch(t *testing.T, o *batchFixture) {
	k, c := o.clerk(o.node()), o.author(100*ruble)
	k.answers.order = func(body string, _ int) *fault.Error {
		if body == "body 3" {
			return fault.New(fault.Invalid, "storetest", "No.")
		}
		return nil
	}
	b := k.add(c, "\n"+requests(10)+"  \n\nlast=body 10")
	done := k.end(b)
	if done.State != batch.Completed || done.Total != 11 || done.Succeeded != 10 || done.Failed != 1 || done.StartedAt.IsZero() || done.FinalizingAt.IsZero() || done.EndedAt.IsZero() {
		t.Fatalf("%+v", done)
	}
	lines := o.lines(done.Output)
	if len(lines) != 10 || lines[0] != "id0 succeeded answer to body 0" || lines[9] != "last succeeded answer to body 10" {
		t.Errorf("%q", lines)
	}
	if lines := o.lines(done.Failures); !slices.Equal(lines, []string{"id3 errored error"}) {
		t.Errorf("%q", lines)
	}
	f := must(k.File(o.ctx, c.User, done.Output))
	if f.Purpose != batch.PurposeOutput || f.Bytes == 0 {
		t.Errorf("%+v", f)
	}
	if items := must(o.store.Jobs.Items(o.ctx, b.ID, 0, 100, false)); len(items) != 0 {
		t.Errorf("%d lines are left", len(items))
	}
	o.wantCharged(k.book, c.Wallet, 100*ruble, 10*ruble, done)
	if _, err := k.Cancel(o.ctx, c.User, b.ID, batch.Requests); !fault.Is(err, fault.Conflict) {
		t.Errorf("cancelling one that has ended: %v", err)
	}
}

func wholeMessages(t *testing.T, o *batchFixture) {
	k, c := o.clerk(o.node()), o.author(100*ruble)
	b, err := k.Add(o.ctx, &batch.NewBatch{Caller: c, Shape: batch.Messages, Endpoint: "/v1/messages", Requests: strings.NewReader(requests(3)), Total: 3, Generation: "gen-1"})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := k.Results(o.ctx, c.User, b.ID); !fault.Is(err, fault.NotFound) {
		t.Errorf("results before the end: %v", err)
	}
	if err := k.Delete(o.ctx, c.User, b.ID, batch.Messages); !fault.Is(err, fault.Conflict) {
		t.Errorf("deleted before the end: %v", err)
	}
	if files, _, err := k.Files(o.ctx, batch.FileQuery{User: c.User, Limit: 10}); err != nil || len(files) != 0 {
		t.Errorf("its files are shown: %v, %v", files, err)
	}
	done := k.end(b)
	if r, err := k.Results(o.ctx, c.User, b.ID); err != nil {
		t.Error(err)
	} else if text := string(must(io.ReadAll(r))); strings.Count(text, "succeeded") != 3 {
		t.Error(text)
	}
	if _, err := k.File(o.ctx, c.User, done.Output); !fault.Is(err, fault.NotFound) {
		t.Errorf("its results are a file: %v", err)
	}
	if keys := o.files.keys(); !slices.Equal(keys, []string{done.Output}) {
		t.Errorf("left are %v", keys)
	}
	o.wantCharged(k.book, c.Wallet, 100*ruble, 3*ruble, done)
	if err := k.Delete(o.ctx, c.User, b.ID, batch.Messages); err != nil {
		t.Fatal(err)
	}
	if keys := o.files.keys(); len(keys) != 0 {
		t.Errorf("left are %v", keys)
	}
	if _, err := k.Get(o.ctx, c.User, b.ID, batch.Messages); !fault.Is(err, fault.NotFound) {
		t.Error(err)
	}
}

func wrongLines(t *testing.T, o *batchFixture) {
	k, c := o.clerk(o.node()), o.author(100*ruble)
	done := k.end(k.add(c, "a=1\nnonsense\na=2\n"))
	if done.State != batch.Failed || len(done.Problems) != 2 || done.Problems[0].Line != 2 || done.Problems[1].Line != 3 || done.Problems[1].Code != "duplicate_custom_id" {
		t.Errorf("%+v", done)
	}
	if k.answers.begun != 0 {
		t.Error("something was called")
	}
	o.wantCharged(k.book, c.Wallet, 100*ruble, 0, done)
}

func hostileFiles(t *testing.T, o *batchFixture) {
	k, c := o.clerk(o.node()), o.author(100*ruble)
	for name, x := range map[string]struct{ text, code string }{
		"nothing":          {"", "empty_file"},
		"only white space": {"\n \n\t\n", "empty_file"},
		"one long line":    {strings.Repeat("x", 1<<20), "line_too_long"},
		"a long line":      {"a=1\nb=" + strings.Repeat("x", 1000) + "\nc=1", "line_too_long"},
		"too many lines":   {requests(101), "too_many_requests"},
		"all wrong":        {strings.Repeat("x\n", 90), "invalid"},
	} {
		done := k.end(k.add(c, x.text))
		if done.State != batch.Failed || len(done.Problems) == 0 || len(done.Problems) > 20 || done.Problems[len(done.Problems)-1].Code != x.code {
			t.Errorf("%s: %+v", name, done)
		}
	}
	if done := k.end(k.add(c, "a="+strings.Repeat("x", 998))); done.State != batch.Completed {
		t.Errorf("a line of the most bytes: %+v", done)
	}
}

func poorBatch(t *testing.T, o *batchFixture) {
	k, c := o.clerk(o.node()), o.author(4*ruble)
	waits := 0
	k.answers.spare = func() bool {
		b := must(o.store.Jobs.Batches(o.ctx, batch.Query{User: c.User, Limit: 1}))[0]
		if b.Paused == "payment_required" {
			if waits++; waits == 3 {
				o.topUp(c.Wallet, 20*ruble)
			}
		}
		return true
	}
	done := k.end(k.add(c, requests(10)))
	if done.State != batch.Completed || done.Succeeded != 10 || waits < 3 || done.Paused != "" {
		t.Errorf("%+v after %d waits", done, waits)
	}
	o.wantCharged(k.book, c.Wallet, 24*ruble, 10*ruble, done)
}

func frugalBatch(t *testing.T, o *batchFixture) {
	k, c := o.clerk(o.node(), func(_ *batch.Deps, c *batch.Config) { c.PerUser = 4 }), o.author(7*ruble)
	var together sync.WaitGroup
	together.Add(4) // so that the first four are held for at one time
	k.answers.order = func(_ string, n int) *fault.Error {
		if n <= 4 {
			together.Done()
			together.Wait()
		}
		return nil
	}
	done := k.end(k.add(c, requests(6)))
	if done.State != batch.Completed || done.Succeeded != 6 {
		t.Errorf("%+v", done)
	}
	o.wantCharged(k.book, c.Wallet, 7*ruble, 6*ruble, done)
}

func failingBatch(t *testing.T, o *batchFixture) {
	k, c := o.clerk(o.node()), o.author(100*ruble)
	tries := map[string]int{}
	k.answers.order = func(body string, _ int) *fault.Error {
		tries[body]++
		switch {
		case body == "body 1" && tries[body] < 3:
			return fault.New(fault.ProviderUnavailable, "storetest", "Down.")
		case body == "body 2":
			return fault.New(fault.Timeout, "storetest", "Slow.")
		case body == "body 3" && tries[body] < 9:
			e := fault.New(fault.RateLimited, "storetest", "Later.")
			e.RetryAfter = time.Second
			return e
		}
		return nil
	}
	done := k.end(k.add(c, requests(5)))
	if done.State != batch.Completed || done.Succeeded != 4 || done.Failed != 1 || tries["body 1"] != 3 || tries["body 2"] != 3 || tries["body 3"] != 9 || tries["body 4"] != 1 {
		t.Errorf("%+v, %v", done, tries)
	}
	o.wantCharged(k.book, c.Wallet, 100*ruble, 4*ruble, done)
}

func keylessBatch(t *testing.T, o *batchFixture) {
	k, c := o.clerk(o.node()), o.author(100*ruble)
	k.answers.order = func(_ string, n int) *fault.Error {
		if n == 3 {
			o.keys.Delete(c.Key)
		}
		return nil
	}
	done := k.end(k.add(c, requests(10)))
	if done.State != batch.CancelledS || done.Succeeded != 3 || done.Cancelled != 7 || len(done.Problems) != 1 || done.Problems[0].Code != "invalid_key" {
		t.Errorf("%+v", done)
	}
	o.wantCharged(k.book, c.Wallet, 100*ruble, 3*ruble, done)
}

func secretBatch(t *testing.T, o *batchFixture) {
	k, c := o.clerk(o.node()), o.author(100*ruble)
	secret := *c
	secret.Defaults = &apikey.Defaults{}
	secret.Defaults.Preferences.ZDR = true
	if _, err := k.Add(o.ctx, &batch.NewBatch{Caller: &secret, Shape: batch.Requests}); !fault.Is(err, fault.PermissionDenied) {
		t.Error(err)
	}
	b := k.add(c, requests(4))
	k.answers.order = func(_ string, n int) *fault.Error {
		if n == 2 {
			o.keys.Store(c.Key, &secret)
		}
		return nil
	}
	if done := k.end(b); done.State != batch.CancelledS || done.Succeeded != 2 || done.Problems[0].Code != "zero_data_retention" {
		t.Errorf("%+v", done)
	}
}

func cancelledEarly(t *testing.T, o *batchFixture) {
	k, c := o.clerk(o.node()), o.author(100*ruble)
	b := k.add(c, requests(3))
	m := must(k.Add(o.ctx, &batch.NewBatch{Caller: c, Shape: batch.Messages, Endpoint: "/v1/messages", Requests: strings.NewReader(requests(3)), Total: 3, Generation: "gen-1"}))
	for _, x := range []*batch.Batch{b, m} {
		for range 2 { // a second time changes nothing
			if got, err := k.Cancel(o.ctx, c.User, x.ID, x.Shape); err != nil || got.State != batch.Cancelling {
				t.Fatalf("%+v, %v", got, err)
			}
		}
	}
	k.step()
	if done := must(k.Get(o.ctx, c.User, b.ID, b.Shape)); done.State != batch.CancelledS || done.Output != "" {
		t.Errorf("%+v", done)
	}
	if done := must(k.Get(o.ctx, c.User, m.ID, m.Shape)); done.State != batch.CancelledS || done.Cancelled != 3 || len(o.lines(done.Output)) != 3 {
		t.Errorf("%+v", done)
	}
	if k.answers.begun != 0 {
		t.Error("something was called")
	}
}

func cancelledLate(t *testing.T, o *batchFixture) {
	k, c := o.clerk(o.node()), o.author(100*ruble)
	b := k.add(c, requests(10))
	k.answers.order = func(_ string, n int) *fault.Error {
		if n == 4 {
			if _, err := k.Cancel(o.ctx, c.User, b.ID, b.Shape); err != nil {
				t.Error(err)
			}
		}
		return nil
	}
	done := k.end(b)
	if done.State != batch.CancelledS || done.Succeeded != 4 || done.Cancelled != 6 || done.CancellingAt.IsZero() {
		t.Errorf("%+v", done)
	}
	if lines := o.lines(done.Failures); len(lines) != 6 || lines[0] != "id4 canceled " || len(o.lines(done.Output)) != 4 {
		t.Errorf("%q", lines)
	}
	o.wantCharged(k.book, c.Wallet, 100*ruble, 4*ruble, done)
}

func lateBatch(t *testing.T, o *batchFixture) {
	k := o.clerk(o.node(), func(_ *batch.Deps, c *batch.Config) { c.Window = time.Hour })
	c := o.author(3 * ruble) // enough for two: the third cannot be held for
	done := k.end(k.add(c, requests(5)))
	if done.State != batch.ExpiredS || done.Succeeded != 2 || done.Expired != 3 || !done.Late || done.EndedAt.Before(done.ExpiresAt) {
		t.Errorf("%+v", done)
	}
	if lines := o.lines(done.Failures); len(lines) != 3 || lines[0] != "id2 expired " || lines[2] != "id4 expired " {
		t.Errorf("%q", lines)
	}
	o.wantCharged(k.book, c.Wallet, 3*ruble, 2*ruble, done)
}

func spareBatch(t *testing.T, o *batchFixture) {
	k, c := o.clerk(o.node()), o.author(100*ruble)
	asked := 0
	k.answers.spare = func() bool { asked++; return asked%3 == 0 }
	begin := o.clock.Now()
	done := k.end(k.add(c, requests(4)))
	if done.Succeeded != 4 || asked != 12 || o.clock.Now().Sub(begin) < 40*time.Second {
		t.Errorf("%+v, asked %d times", done, asked)
	}
}

// batchNeighbours: a user whose calls take for ever leaves places to others.
func batchNeighbours(t *testing.T, o *batchFixture) {
	k := o.clerk(o.node(), func(_ *batch.Deps, c *batch.Config) { c.AtOnce, c.PerUser = 3, 2 })
	greedy, other := o.author(100*ruble), o.author(100*ruble)
	full, release := make(chan struct{}, 2), make(chan struct{})
	k.answers.order = func(body string, _ int) *fault.Error {
		if strings.HasPrefix(body, "slow") {
			full <- struct{}{}
			<-release
		}
		return nil
	}
	slow := []*batch.Batch{k.add(greedy, "a=slow\nb=slow\n"), k.add(greedy, "a=slow\nb=slow\n")}
	var wait sync.WaitGroup
	wait.Go(func() {
		if err := k.Step(o.ctx, k.answers); err != nil {
			t.Error(err)
		}
	})
	<-full
	<-full // as many as one user may have
	done := k.end(k.add(other, requests(5)))
	if done.State != batch.Completed || done.Succeeded != 5 {
		t.Errorf("%+v", done)
	}
	close(release)
	go func() {
		for range full { // the other two
		}
	}()
	wait.Wait()
	close(full)
	for _, b := range slow {
		if now := k.end(b); now.Succeeded != 2 {
			t.Errorf("%+v", now)
		}
	}
}

func usedFiles(t *testing.T, o *batchFixture) {
	k, c := o.clerk(o.node()), o.author(100*ruble)
	b := k.add(c, requests(2))
	if err := k.DeleteFile(o.ctx, c.User, b.Input); !fault.Is(err, fault.Conflict) {
		t.Errorf("a file that is read: %v", err)
	}
	if done := k.end(b); done.State != batch.Completed {
		t.Fatalf("%+v", done)
	}
	if err := k.DeleteFile(o.ctx, c.User, b.Input); err != nil {
		t.Error(err)
	}
}

func lostFiles(t *testing.T, o *batchFixture) {
	k, c := o.clerk(o.node()), o.author(100*ruble)
	early := k.add(c, requests(3))
	_ = o.files.Delete(o.ctx, early.Input)
	if done := k.end(early); done.State != batch.CancelledS || len(done.Problems) != 1 || done.Problems[0].Code != "file_lost" {
		t.Errorf("%+v", done)
	}
	late := k.add(c, requests(5))
	tries := map[string]int{}
	k.answers.order = func(body string, n int) *fault.Error {
		if n == 2 {
			_ = o.files.Delete(o.ctx, late.Input)
		}
		if tries[body]++; body == "body 0" && tries[body] == 1 {
			return fault.New(fault.ProviderUnavailable, "storetest", "Later.") // its text must be read again
		}
		return nil
	}
	done := k.end(late)
	if done.State != batch.CancelledS || done.Succeeded+done.Cancelled != 5 || done.Cancelled == 0 || done.Problems[0].Code != "file_lost" {
		t.Errorf("%+v", done)
	}
	o.wantCharged(k.book, c.Wallet, 100*ruble, money.Nano(done.Succeeded)*lineCost, done)
}

// panicking is a wire that panics at one line, once.
type panicking struct {
	writtenLine
	left *int
}

func (p panicking) Line(b *batch.Batch, text []byte) (batch.Line, *batch.Problem) {
	line, problem := p.writtenLine.Line(b, text)
	if b.State == batch.InProgress && line.CustomID == "id1" {
		if *p.left--; *p.left >= 0 {
			panic("id1 is secret")
		}
	}
	return line, problem
}

func panickingBatch(t *testing.T, o *batchFixture) {
	left := 2
	k := o.clerk(o.node(), func(d *batch.Deps, c *batch.Config) {
		d.Wire = panicking{left: &left}
		c.Report = func(_, _ string, err error) {
			if strings.Contains(err.Error(), "secret") {
				t.Error("the value of a panic is reported")
			}
		}
	})
	c := o.author(100 * ruble)
	done := k.end(k.add(c, requests(4)))
	if done.State != batch.Completed || done.Succeeded != 4 {
		t.Errorf("%+v", done)
	}
	o.wantCharged(k.book, c.Wallet, 100*ruble, 4*ruble, done)
}

func oldBatches(t *testing.T, o *batchFixture) {
	k, c := o.clerk(o.node()), o.author(100*ruble)
	done := k.end(k.add(c, requests(2)))
	o.clock.Advance(29 * 24 * time.Hour)
	k.Sweep(o.ctx)
	if keys := o.files.keys(); len(keys) != 2 {
		t.Errorf("%v", keys)
	}
	o.clock.Advance(2 * 24 * time.Hour)
	if _, err := k.File(o.ctx, c.User, done.Output); !fault.Is(err, fault.NotFound) {
		t.Errorf("a file whose time is over: %v", err)
	}
	k.Sweep(o.ctx)
	if keys := o.files.keys(); len(keys) != 0 {
		t.Errorf("left are %v", keys)
	}
	if _, err := k.Get(o.ctx, c.User, done.ID, done.Shape); !fault.Is(err, fault.NotFound) {
		t.Error(err)
	}
}

func twoNodes(t *testing.T, o *batchFixture) {
	one, two, c := o.clerk(o.node()), o.clerk(o.node()), o.author(1000*ruble)
	batches := []*batch.Batch{one.add(c, requests(20)), one.add(c, requests(20)), two.add(c, requests(20))}
	for range 10 {
		var wait sync.WaitGroup
		for _, k := range []*clerk{one, two} {
			wait.Go(func() {
				if err := k.Step(o.ctx, k.answers); err != nil {
					t.Error(err)
				}
			})
		}
		wait.Wait()
		o.clock.Advance(10 * time.Second)
	}
	for i, b := range batches {
		batches[i] = must(one.Get(o.ctx, c.User, b.ID, b.Shape))
		if batches[i].State != batch.Completed || len(o.lines(batches[i].Output)) != 20 {
			t.Errorf("%+v", batches[i])
		}
	}
	for _, k := range []*clerk{one, two} {
		for generation, n := range k.answers.calls {
			other := one
			if k == one {
				other = two
			}
			if n != 1 || other.answers.calls[generation] != 0 {
				t.Errorf("%s was called %d and %d times", generation, n, other.answers.calls[generation])
			}
		}
		if err := k.book.Flush(o.ctx); err != nil {
			t.Fatal(err)
		}
	}
	o.wantCharged(one.book, c.Wallet, 1000*ruble, 60*ruble, batches...)
}
