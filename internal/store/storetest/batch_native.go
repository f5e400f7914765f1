package storetest

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"weir/internal/apikey"
	"weir/internal/batch"
	"weir/internal/fault"
	"weir/internal/money"
)

// shop is a provider with batches, which outlives the nodes that ask it.
type shop struct {
	mu     sync.Mutex
	parts  map[string]*shopPart // by the provider's id
	made   int
	stops  int
	submit error // of the requests that make batches
	limits int   // how many requests submit is for, 0 all
	lost   bool  // the batch is made although there is an error
	hidden bool  // lists do not show it
	never  bool  // a batch does not end until it is stopped
	stuck  bool  // nor then
	edit   func(*shopPart) []batch.Result
	broken error  // of the first read of each batch, after one result
	during func() // what happens while a batch is made
	keeps  int    // so many deletions fail
}

type shopPart struct {
	part     batch.Part
	requests []batch.Request
	stopped  bool
	reads    int
	cleared  bool
}

// kept is how many batches the provider still has.
func (s *shop) kept() (n int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, p := range s.parts {
		if !p.cleared {
			n++
		}
	}
	return n
}

func newShop() *shop { return &shop{parts: map[string]*shopPart{}} }

// join has a node use the provider. act performs what it asks of it; nil: a process that does not die. A nil shop has no batches.
func (s *shop) join(act func(func() error) error) func(*batch.Deps, *batch.Config) {
	if act == nil {
		act = func(do func() error) error { return do() }
	}
	return func(d *batch.Deps, _ *batch.Config) {
		if s != nil {
			d.Native = shopDoor{s, act}
		}
	}
}

// shopDoor is the shop as one process sees it.
type shopDoor struct {
	*shop
	act func(func() error) error
}

func (s shopDoor) Offers() bool { return true }

func (s shopDoor) Submit(_ context.Context, sub *batch.Submission) (id string, err error) {
	err = s.act(func() error {
		s.mu.Lock()
		defer s.mu.Unlock()
		if s.submit != nil && !s.lost {
			failed := s.submit
			if s.limits--; s.limits == 0 {
				s.submit = nil
			}
			return failed
		}
		if s.during != nil {
			s.during()
		}
		s.made++
		id = fmt.Sprint("up-", s.made)
		one := &shopPart{part: *sub.Part}
		for _, r := range sub.Requests {
			one.requests = append(one.requests, batch.Request{Line: r.Line, Body: slices.Clone(r.Body)})
		}
		s.parts[id] = one
		return s.submit
	})
	return id, err
}

func (s shopDoor) Find(_ context.Context, p *batch.Part) (found batch.Found, err error) {
	err = s.act(func() error {
		s.mu.Lock()
		defer s.mu.Unlock()
		found.Fate = batch.Absent
		for id, one := range s.parts {
			if one.part.ID == p.ID && !s.hidden {
				found = batch.Found{Fate: batch.Adopted, ID: id}
			}
		}
		return nil
	})
	return found, err
}

func (s shopDoor) Look(_ context.Context, p *batch.Part) (progress batch.Progress, err error) {
	err = s.act(func() error {
		s.mu.Lock()
		defer s.mu.Unlock()
		one := s.parts[p.Upstream]
		if one == nil {
			e := fault.New(fault.NotFound, "storetest", "No.")
			e.Upstream = &fault.Upstream{Status: 404}
			return e
		}
		progress.Ended = !s.never || one.stopped && !s.stuck
		return nil
	})
	return progress, err
}

func (s shopDoor) Results(_ context.Context, p *batch.Part, each func(*batch.Result) error) error {
	var list []batch.Result
	var broken error
	err := s.act(func() error {
		s.mu.Lock()
		defer s.mu.Unlock()
		one := s.parts[p.Upstream]
		one.reads++
		if one.reads == 1 {
			broken = s.broken
		}
		if s.edit != nil {
			list = s.edit(one)
			return nil
		}
		list = one.answers()
		return nil
	})
	if err != nil {
		return err
	}
	for i := range list {
		if err := each(&list[i]); err != nil || broken != nil {
			return broken
		}
	}
	return nil
}

// answers are those of a provider that does what it should, the last request first. One that was stopped has answered every second request.
func (p *shopPart) answers() (list []batch.Result) {
	for i, r := range slices.Backward(p.requests) {
		one := batch.Result{Line: r.Line, Status: 200, Body: []byte("answer to " + string(r.Body))}
		if p.stopped && i%2 == 1 {
			one.Status, one.Body = 0, nil
		}
		list = append(list, one)
	}
	return list
}

func (s shopDoor) Clear(_ context.Context, p *batch.Part) error {
	return s.act(func() error {
		s.mu.Lock()
		defer s.mu.Unlock()
		if s.keeps--; s.keeps >= 0 {
			return errDead
		}
		for id, one := range s.parts {
			if id == p.Upstream || p.Upstream == "" && one.part.ID == p.ID {
				if s.never && !one.stopped || s.stuck {
					return batch.ErrWorking
				}
				one.cleared = true
			}
		}
		return nil
	})
}

func (s shopDoor) Cancel(_ context.Context, p *batch.Part) error {
	return s.act(func() error {
		s.mu.Lock()
		defer s.mu.Unlock()
		if one := s.parts[p.Upstream]; one != nil && !one.stopped {
			one.stopped = true
			s.stops++
		}
		return nil
	})
}

// nativeBatches checks what providers do with batches, apart from deaths: each line has one result and one charge at most.
func nativeBatches(t *testing.T, open Open) {
	upstream := func(status int) error {
		e := fault.New(fault.ProviderUnavailable, "storetest", "No.")
		e.Upstream = &fault.Upstream{Status: status}
		return e
	}
	for name, c := range map[string]struct {
		set       func(*shop, *answers)
		late      bool // the batch's time is over before it is carried on
		made      int
		stops     int
		own       int // lines that were called by themselves
		succeeded int
		errored   int
		expired   int
	}{
		"all is well":              {made: 1, succeeded: 6},
		"refused":                  {set: func(s *shop, _ *answers) { s.submit = upstream(400) }, own: 6, succeeded: 6},
		"not sent":                 {set: func(s *shop, _ *answers) { s.submit = &batch.NotSubmitted{Err: upstream(500)} }, own: 6, succeeded: 6},
		"the provider fails":       {set: func(s *shop, _ *answers) { s.submit = upstream(500) }, own: 6, succeeded: 6},
		"a limit of the provider":  {set: func(s *shop, _ *answers) { s.submit, s.limits = upstream(429), 2 }, made: 1, succeeded: 6},
		"it has no room all day":   {set: func(s *shop, _ *answers) { s.submit = upstream(429) }, own: 6, succeeded: 6},
		"the answer is lost":       {set: func(s *shop, _ *answers) { s.submit, s.lost = errDead, true }, made: 1, succeeded: 6},
		"the batch is hidden":      {set: func(s *shop, _ *answers) { s.submit, s.lost, s.hidden = errDead, true, true }, made: 1, own: 6, succeeded: 6},
		"reading breaks off":       {set: func(s *shop, _ *answers) { s.broken = errDead }, made: 1, succeeded: 6},
		"it never ends":            {set: func(s *shop, _ *answers) { s.never = true }, made: 1, stops: 1, own: 3, succeeded: 6},
		"it cannot be stopped":     {set: func(s *shop, _ *answers) { s.never, s.stuck = true, true }, made: 1, stops: 1, own: 6, succeeded: 6},
		"all or nothing":           {set: func(s *shop, a *answers) { s.never, a.required = true, true }, made: 1, stops: 1, succeeded: 3, expired: 3},
		"refused, all or nothing":  {set: func(s *shop, a *answers) { s.submit, a.required = upstream(400), true }, errored: 6},
		"some are not for batches": {set: func(_ *shop, a *answers) { a.own = func(body string) bool { return body < "body 2" } }, made: 1, own: 2, succeeded: 6},
		"none is for batches":      {set: func(_ *shop, a *answers) { a.own = func(string) bool { return true } }, own: 6, succeeded: 6},
		"results twice": {set: func(s *shop, _ *answers) {
			s.edit = func(p *shopPart) []batch.Result { return append(p.answers(), p.answers()...) }
		}, made: 1, succeeded: 6},
		"results of others": {set: func(s *shop, _ *answers) {
			s.edit = func(p *shopPart) []batch.Result {
				return append([]batch.Result{{Line: 0, Status: 200}, {Line: 99, Status: 200, Body: []byte("x")}, {Line: -1, Status: 200}}, p.answers()...)
			}
		}, made: 1, succeeded: 6},
		"results are missing": {set: func(s *shop, _ *answers) {
			s.edit = func(p *shopPart) []batch.Result { return p.answers()[:2] }
		}, made: 1, own: 4, succeeded: 6},
		"no results": {set: func(s *shop, _ *answers) { s.edit = func(*shopPart) []batch.Result { return nil } }, made: 1, own: 6, succeeded: 6},
		"requests fail": {set: func(s *shop, _ *answers) {
			s.edit = func(p *shopPart) []batch.Result {
				list := p.answers()
				list[0].Status, list[3].Status = 500, 429
				return list
			}
		}, made: 1, own: 2, succeeded: 6},
		"it does not delete at first": {set: func(s *shop, _ *answers) { s.keeps = 5 }, made: 1, succeeded: 6},
		"its time is over":            {set: func(s *shop, _ *answers) { s.never = true }, late: true, made: 1, stops: 1, succeeded: 3, expired: 3},
	} {
		t.Run("providers' batches/"+name, func(t *testing.T) {
			t.Parallel()
			o := newOffice(t, open)
			user := o.author(100 * ruble)
			shop := newShop()
			k := o.clerk(o.node(), shop.join(nil), func(_ *batch.Deps, c *batch.Config) { c.Window = 2 * time.Hour })
			k.least = 10 * time.Second // a batch that its provider keeps takes hours, and its node lives on at each wait
			if c.set != nil {
				c.set(shop, k.answers)
			}
			if c.late {
				shop.during = func() { o.clock.Advance(3 * time.Hour) }
			}
			b := k.end(k.add(user, requests(6)))
			own := k.answers.alone
			if b.Succeeded != int64(c.succeeded) || b.Failed != int64(c.errored) || b.Expired != int64(c.expired) || shop.made != c.made || shop.stops != c.stops || own != c.own {
				t.Errorf("%+v, %d made, %d stopped, %d by themselves; want %+v", b, shop.made, shop.stops, own, c)
			}
			lines := append(o.lines(b.Output), o.lines(b.Failures)...)
			slices.Sort(lines)
			for i, line := range lines {
				if !strings.HasPrefix(line, fmt.Sprintf("id%d ", i)) || strings.Contains(line, " succeeded ") && line != fmt.Sprintf("id%d succeeded answer to body %d", i, i) {
					t.Errorf("%q", lines)
				}
			}
			o.wantCharged(k.book, user.Wallet, 100*ruble, money.Nano(c.succeeded)*lineCost, b)
			if n, held := k.book.Open(); n != 0 {
				t.Errorf("%d holds of %s are open", n, held)
			}
			shop.stuck = false // it has ended at last
			k.clear(shop)
			if n := shop.kept(); n != 0 {
				t.Errorf("the provider keeps %d batches", n)
			}
			o.balanced()
		})
	}
}

// nativeBatchOfALostKey checks that what a provider was asked for is paid and delivered when the key is disabled meanwhile.
func nativeBatchOfALostKey(t *testing.T, o *batchFixture) {
	c := o.author(100 * ruble)
	shop := newShop()
	shop.during = func() { o.keys.Delete(c.Key) }
	k := o.clerk(o.node(), shop.join(nil))
	b := k.end(k.add(c, requests(4)))
	if b.Succeeded != 4 || len(o.lines(b.Output)) != 4 {
		t.Errorf("%+v", b)
	}
	o.wantCharged(k.book, c.Wallet, 100*ruble, 4*lineCost, b)
}

// poorNativeBatch checks that no more is sent to a provider than its user can pay.
func poorNativeBatch(t *testing.T, o *batchFixture) {
	c := o.author(5 * ruble) // two rubles are held for each
	shop := newShop()
	most := 0
	shop.edit = func(p *shopPart) []batch.Result {
		most = max(most, len(p.requests))
		return p.answers()
	}
	k := o.clerk(o.node(), shop.join(nil))
	b := k.end(k.add(c, requests(4)))
	if b.Succeeded != 4 || most > 2 {
		t.Errorf("%d at a time: %+v", most, b)
	}
	o.wantCharged(k.book, c.Wallet, 5*ruble, 4*lineCost, b)
}

// gatherNeighbours checks that the requests of one user that wait for a provider's batch have a bound, below that of all.
func gatherNeighbours(t *testing.T, o *batchFixture) {
	const lines, share = 40, 64 // bytes: room for nine requests
	greedy, modest := o.author(100*ruble), o.author(100*ruble)
	shop := newShop()
	k := o.clerk(o.node(), shop.join(nil), func(_ *batch.Deps, c *batch.Config) { c.Gather = 4 * share })
	shop.edit = func(p *shopPart) []batch.Result {
		size := 0
		for _, r := range p.requests {
			size += len(r.Body)
		}
		if size > share {
			t.Errorf("a part has %d bytes, and all of a user may have %d", size, share)
		}
		return p.answers()
	}
	for _, b := range []*batch.Batch{k.add(greedy, requests(lines)), k.add(modest, requests(2))} {
		if b = k.end(b); b.Succeeded != b.Total {
			t.Errorf("%+v", b)
		}
	}
	if shop.made < lines*len("body 10")/share || k.answers.alone != 0 {
		t.Errorf("%d parts, %d requests by themselves", shop.made, k.answers.alone)
	}
	o.wantCharged(k.book, greedy.Wallet, 100*ruble, lines*lineCost, must(k.Get(o.ctx, greedy.User, must(o.store.Jobs.Batches(o.ctx, batch.Query{User: greedy.User, Limit: 1}))[0].ID, batch.Requests)))
}

// storedParts checks parts as a store keeps them.
func storedParts(t *testing.T, o *batchFixture) {
	book := o.node()
	c := o.author(100 * ruble)
	b := someBatch(o, c, apikey.NewID(batch.BatchPrefix))
	if err := o.addBatch(b, 10); err != nil {
		t.Fatal(err)
	}
	claimed := must(o.store.Jobs.ClaimBatches(o.ctx, book.Node(), book.Epoch(), o.clock.Now().Add(time.Hour), 10, nil))
	i := slices.IndexFunc(claimed, func(x *batch.Batch) bool { return x.ID == b.ID })
	b = claimed[i]
	b.State = batch.InProgress
	if err := o.store.Jobs.KeepBatch(o.ctx, b, batch.Validating, false); err != nil {
		t.Fatal(err)
	}
	p := &batch.Part{ID: apikey.NewID(batch.PartPrefix), Endpoint: "ep", Path: "/p", State: batch.PartIntended, Lines: 2, CreatedAt: o.clock.Now().UTC().Truncate(time.Microsecond)}
	items := []*batch.Item{{Line: 3, CustomID: "c", Generation: "gen-3", Terms: "t1", Offset: 9, Length: 4}, {Line: 1, CustomID: "a", Generation: "gen-1", Length: 4}}
	if err := o.store.Jobs.AddPart(o.ctx, b, p, items, map[string][]byte{"t1": []byte("with \x00 this"), "t2": {}}); err != nil {
		t.Fatal(err)
	}
	p.State, p.Upstream = batch.PartSubmitted, "up/1"
	if err := o.store.Jobs.KeepPart(o.ctx, b, p); err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]string{"t1": "with \x00 this", "t2": ""} {
		if got := must(o.store.Jobs.Terms(o.ctx, b.ID, name)); string(got) != want {
			t.Errorf("terms %s: %q", name, got)
		}
	}
	if _, err := o.store.Jobs.Terms(o.ctx, b.ID, "t3"); !fault.Is(err, fault.NotFound) {
		t.Errorf("terms that are not there: %v", err)
	}
	if got := must(o.store.Jobs.Parts(o.ctx, b.ID)); len(got) != 1 || fmt.Sprint(got[0]) != fmt.Sprint(*p) {
		t.Errorf("%+v, want %+v", got, p)
	}
	for _, it := range must(o.store.Jobs.Items(o.ctx, b.ID, 0, 10, false)) {
		if it.Part != p.ID || it.Stage != batch.Waiting || it.Terms != map[int64]string{3: "t1"}[it.Line] {
			t.Errorf("%+v", it)
		}
	}
	stale := *b
	stale.Fence--
	for what, err := range map[string]error{"AddPart": o.store.Jobs.AddPart(o.ctx, &stale, &batch.Part{ID: "bp_other", State: batch.PartIntended, Lines: 1}, items, nil), "KeepPart": o.store.Jobs.KeepPart(o.ctx, &stale, p)} {
		if !fault.Is(err, fault.Conflict) {
			t.Errorf("%s of a worker that lost its claim: %v", what, err)
		}
	}
	now := b.State
	b.State = batch.Cancelling
	if err := o.store.Jobs.KeepBatch(o.ctx, b, now, false); err != nil {
		t.Fatal(err)
	}
	if err := o.store.Jobs.AddPart(o.ctx, b, &batch.Part{ID: "bp_late", State: batch.PartIntended, Lines: 1}, items, nil); !fault.Is(err, fault.Conflict) {
		t.Errorf("a part of a batch that is cancelled: %v", err)
	}
	answered := *items[0]
	if answered.Part = p.ID; o.store.Jobs.StartItem(o.ctx, b, &answered) != nil {
		t.Error("the answer of a provider cannot be paid in a batch that is cancelled")
	}
	if alone := *items[1]; !fault.Is(o.store.Jobs.StartItem(o.ctx, b, &alone), fault.Conflict) {
		t.Error("a line is called in a batch that is cancelled")
	}
}
