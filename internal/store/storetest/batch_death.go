package storetest

import (
	"context"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"pgregory.net/rapid"

	"weir/internal/apikey"
	"weir/internal/batch"
	"weir/internal/fault"
	"weir/internal/ledger"
	"weir/internal/money"
)

// mortalOffice is a process that dies before or after one of its acts on the world, and does nothing more. With lossy set it does not die:
// the answer to the act is lost.
type mortalOffice struct {
	batch.Store
	*files
	lossy bool
	kill  func() // ends what the process has running

	mu    sync.Mutex
	acts  int
	at    int
	after bool
	dead  bool
}

func (m *mortalOffice) act(do func() error) error {
	m.mu.Lock()
	m.acts++
	mine := m.acts == m.at
	if mine && m.lossy {
		m.mu.Unlock()
		if m.after {
			_ = do()
		}
		return errDead
	}
	if m.dead || mine && !m.after {
		m.die()
		m.mu.Unlock()
		return errDead
	}
	m.mu.Unlock()
	err := do()
	if mine {
		m.mu.Lock()
		m.die()
		m.mu.Unlock()
		return errDead
	}
	return err
}

func (m *mortalOffice) die() {
	if !m.dead {
		m.dead = true
		m.kill()
	}
}

func (m *mortalOffice) gone() bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.dead
}

func (m *mortalOffice) AddFile(ctx context.Context, f *batch.File, b batch.FileBounds) error {
	return m.act(func() error { return m.Store.AddFile(ctx, f, b) })
}

func (m *mortalOffice) AddBatch(ctx context.Context, b *batch.Batch, f *batch.File, limit int64) error {
	return m.act(func() error { return m.Store.AddBatch(ctx, b, f, limit) })
}

func (m *mortalOffice) ClaimBatches(ctx context.Context, node string, epoch int64, now time.Time, n int, held []string) (list []*batch.Batch, err error) {
	err = m.act(func() error { list, err = m.Store.ClaimBatches(ctx, node, epoch, now, n, held); return err })
	if err != nil {
		return nil, err
	}
	return list, nil
}

func (m *mortalOffice) OwnBatch(ctx context.Context, id string, fence int64) (*batch.Batch, error) {
	if m.gone() {
		return nil, errDead
	}
	return m.Store.OwnBatch(ctx, id, fence)
}

func (m *mortalOffice) KeepBatch(ctx context.Context, b *batch.Batch, from batch.State, release bool) error {
	return m.act(func() error { return m.Store.KeepBatch(ctx, b, from, release) })
}

func (m *mortalOffice) AddPart(ctx context.Context, b *batch.Batch, p *batch.Part, items []*batch.Item, terms map[string][]byte) error {
	return m.act(func() error { return m.Store.AddPart(ctx, b, p, items, terms) })
}

func (m *mortalOffice) LeftParts(ctx context.Context, now time.Time, n int, pause func(int64) time.Duration) (list []batch.Part, err error) {
	if m.gone() {
		return nil, errDead
	}
	return m.Store.LeftParts(ctx, now, n, pause)
}

func (m *mortalOffice) ClearedPart(ctx context.Context, id string) error {
	return m.act(func() error { return m.Store.ClearedPart(ctx, id) })
}

func (m *mortalOffice) KeepPart(ctx context.Context, b *batch.Batch, p *batch.Part) error {
	return m.act(func() error { return m.Store.KeepPart(ctx, b, p) })
}

func (m *mortalOffice) StartItem(ctx context.Context, b *batch.Batch, it *batch.Item) error {
	return m.act(func() error { return m.Store.StartItem(ctx, b, it) })
}

func (m *mortalOffice) EndItem(ctx context.Context, b *batch.Batch, it *batch.Item) error {
	return m.act(func() error { return m.Store.EndItem(ctx, b, it) })
}

func (m *mortalOffice) EndBatch(ctx context.Context, b *batch.Batch, from batch.State, files []batch.File) error {
	return m.act(func() error { return m.Store.EndBatch(ctx, b, from, files) })
}

func (m *mortalOffice) SweepItems(ctx context.Context, n int) (gone int, err error) {
	err = m.act(func() error { gone, err = m.Store.SweepItems(ctx, n); return err })
	return gone, err
}

func (m *mortalOffice) DropFile(ctx context.Context, id string) error {
	return m.act(func() error { return m.Store.DropFile(ctx, id) })
}

func (m *mortalOffice) Put(ctx context.Context, key, mediaType string, r io.Reader) (n int64, etag string, err error) {
	err = m.act(func() error { n, etag, err = m.files.Put(ctx, key, mediaType, r); return err })
	return n, etag, err
}

func (m *mortalOffice) Delete(ctx context.Context, key string) error {
	return m.act(func() error { return m.files.Delete(ctx, key) })
}

const deathLines = 4

// every returns the step from one tried moment to the next: n with -short, which leaves the others out, else 1. make soak tries them all.
func every(n int) int {
	if testing.Short() {
		return n
	}
	return 1
}

// deaths is the step from one act that a process dies at to the next, with -short. Each series of deaths begins at another act, so that
// together they try most.
const deaths = 8

// batchDeath kills a process before and after each of its acts, in turn, and has another life of it, or another node, go on. Each line is
// charged once and has one result, whenever it was.
func batchDeath(t *testing.T, o *batchFixture, takeover, native bool, series int) {
	dir := filepath.Join(t.TempDir(), "journal")
	other := o.node()
	for i, cancel := range []bool{false, true} {
		for at := 1 + (series+i)%every(deaths); ; at += every(deaths) {
			lived := true
			for _, after := range []bool{false, true} {
				lived = o.oneDeath(dir, other, at, after, takeover, cancel, native) && lived
			}
			if lived {
				if at < 10 {
					t.Fatalf("a whole batch took only %d acts", at)
				}
				break
			}
		}
	}
}

// oneDeath reports whether the process lived to see the batch's end. With cancel set, the batch is cancelled after the death.
func (o *batchFixture) oneDeath(dir string, other *ledger.Book, at int, after, takeover, cancel, native bool) (lived bool) {
	t := o.t
	t.Helper()
	what := fmt.Sprintf("act %d, after %t, takeover %t, cancel %t, native %t", at, after, takeover, cancel, native)
	c := o.author(100 * ruble)
	book := o.start(o.config(dir))
	m := &mortalOffice{Store: o.store.Jobs, files: o.files, at: at, after: after}
	var shop *shop
	if native {
		shop = newShop()
	}
	k := o.clerk(book, shop.join(m.act), func(d *batch.Deps, _ *batch.Config) { d.Store, d.Contents = m, m })
	done, stop := context.WithCancel(o.ctx)
	stop()
	m.kill = func() { go k.Close(done) }
	k.answers.act = m.act
	f, err := k.AddFile(o.ctx, batch.NewFile{User: c.User, Purpose: batch.PurposeInput, Content: strings.NewReader(requests(deathLines))})
	if err == nil {
		_, err = k.Add(o.ctx, &batch.NewBatch{Caller: c, Shape: batch.Requests, Endpoint: "/v1/x", Input: f.ID, Generation: apikey.NewID("gen-")})
	}
	if err == nil {
		_ = k.Step(o.ctx, k.answers)
	}
	lived = !m.gone()
	k.Close(done)
	if err := book.Abandon(); err != nil {
		t.Fatal(err)
	}
	again := func() *ledger.Book { return o.start(o.config(dir)) }
	next := other
	if takeover && !lived {
		evict(o.books, other)
	} else {
		next = again()
		defer func() { _ = next.Abandon() }()
	}
	heir := o.clerk(next, shop.join(nil))
	list := must(o.store.Jobs.Batches(o.ctx, batch.Query{User: c.User, Limit: 5}))
	if len(list) == 0 { // it died before there was one
		heir.step()
		o.wantCharged(next, c.Wallet, 100*ruble, 0)
		return lived
	}
	b := &list[0]
	if cancel && !b.State.Final() {
		if _, err := heir.Cancel(o.ctx, c.User, b.ID, b.Shape); err != nil && !fault.Is(err, fault.Conflict) {
			t.Fatalf("%s: %v", what, err)
		}
	}
	b = heir.end(b)
	results := append(o.lines(b.Output), o.lines(b.Failures)...)
	slices.Sort(results)
	if len(results) != deathLines && b.Total > 0 {
		t.Fatalf("%s: %q", what, results)
	}
	succeeded := 0
	for i, line := range results {
		if !strings.HasPrefix(line, fmt.Sprintf("id%d ", i)) {
			t.Fatalf("%s: %q", what, results)
		}
		if line == fmt.Sprintf("id%d succeeded answer to body %d", i, i) {
			succeeded++
		}
	}
	if !cancel && (succeeded != deathLines || b.State != batch.Completed) || int64(succeeded) != b.Succeeded {
		t.Fatalf("%s: %q, %+v", what, results, b)
	}
	if next != other || lived {
		o.wantCharged(next, c.Wallet, 100*ruble, money.Nano(succeeded)*lineCost, b)
	} else { // what the dead process had in its journal comes later
		if err := next.Flush(o.ctx); err != nil {
			t.Fatal(err)
		}
		late := again()
		o.wantCharged(late, c.Wallet, 100*ruble, money.Nano(succeeded)*lineCost, b)
		if err := late.Abandon(); err != nil {
			t.Fatal(err)
		}
		evict(o.books, other)
	}
	if native {
		heir.clear(shop)
		if n := shop.kept(); n != 0 {
			t.Fatalf("%s: the provider keeps %d batches", what, n)
		}
	}
	if native && (shop.made > 1 || !cancel && lived && shop.made != 1) {
		t.Fatalf("%s: the provider made %d batches", what, shop.made)
	}
	heir.Sweep(o.ctx)
	if items := must(o.store.Jobs.Items(o.ctx, b.ID, 0, 100, false)); len(items) != 0 {
		t.Fatalf("%s: %d lines are left", what, len(items))
	}
	return lived
}

// lostBatchAnswers has each answer of the store and of the files lost in turn, by a process that lives.
func lostBatchAnswers(t *testing.T, o *batchFixture) {
	book := o.node()
	for at := 3; ; at += every(5) { // the first two add the file and the batch
		for _, after := range []bool{false, true} {
			what := fmt.Sprintf("act %d, after %t", at, after)
			c := o.author(100 * ruble)
			m := &mortalOffice{Store: o.store.Jobs, files: o.files, at: at, after: after, lossy: true}
			k := o.clerk(book, func(d *batch.Deps, _ *batch.Config) { d.Store, d.Contents = m, m })
			f, err := k.AddFile(o.ctx, batch.NewFile{User: c.User, Purpose: batch.PurposeInput, Content: strings.NewReader(requests(deathLines))})
			var b *batch.Batch
			if err == nil {
				b, err = k.Add(o.ctx, &batch.NewBatch{Caller: c, Shape: batch.Requests, Endpoint: "/v1/x", Input: f.ID, Generation: apikey.NewID("gen-")})
			}
			if err != nil {
				if at > 3 {
					t.Fatalf("%s: %v", what, err)
				}
				continue
			}
			for range 20 {
				_ = k.Step(o.ctx, k.answers)
				o.clock.Advance(10 * time.Second)
			}
			b = must(k.Get(o.ctx, c.User, b.ID, b.Shape))
			if b.State != batch.Completed || len(o.lines(b.Output)) != deathLines {
				t.Fatalf("%s: %+v", what, b)
			}
			o.wantCharged(book, c.Wallet, 100*ruble, deathLines*lineCost, b)
			if m.acts < at {
				return
			}
		}
	}
}

// batchCharges draws batches and what happens to them: whatever it is, the charges of a wallet are the sum of what its batches cost.
func batchCharges(t *testing.T, o *batchFixture) {
	book := o.node()
	checks := 0
	rapid.Check(t, func(r *rapid.T) {
		if checks++; testing.Short() && checks > 15 {
			return
		}
		credit := money.Nano(rapid.Int64Range(0, 12).Draw(r, "rubles")) * ruble
		c := o.author(credit)
		k := o.clerk(book, func(_ *batch.Deps, c *batch.Config) { c.Window = time.Hour }) // some wait until their time is over, and ask all the while
		fates := rapid.SliceOfN(rapid.SampledFrom([]fault.Kind{fault.Internal, fault.Invalid, fault.ProviderUnavailable, fault.RateLimited, fault.Timeout}), 1, 12).Draw(r, "fates")
		cancelAt := rapid.IntRange(0, 30).Draw(r, "cancel at")
		var b *batch.Batch
		k.answers.order = func(_ string, n int) *fault.Error {
			if n == cancelAt {
				_, _ = k.Cancel(o.ctx, c.User, b.ID, b.Shape)
			}
			if kind := fates[n%len(fates)]; kind != fault.Internal {
				return fault.New(kind, "storetest", "No.")
			}
			return nil
		}
		b = k.add(c, requests(rapid.IntRange(1, 10).Draw(r, "lines")))
		done := k.end(b)
		if sum := done.Succeeded + done.Failed + done.Cancelled + done.Expired; sum != done.Total && done.Total > 0 {
			r.Fatalf("%d of %d lines have ended: %+v", sum, done.Total, done)
		}
		if n := int64(len(o.lines(done.Output)) + len(o.lines(done.Failures))); n != done.Total {
			r.Fatalf("%d results of %d lines", n, done.Total)
		}
		if done.Cost != money.Nano(done.Succeeded)*lineCost || done.Cost > credit {
			r.Fatalf("%+v costs %s", done, done.Cost)
		}
		if err := book.Flush(o.ctx); err != nil {
			r.Fatal(err)
		}
		if got := must(o.store.Ledger.Balance(o.ctx, c.Wallet)); got.Charged != done.Cost {
			r.Fatalf("charged %s, want %s", got.Charged, done.Cost)
		}
	})
	o.balanced()
}
