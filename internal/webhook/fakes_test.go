package webhook_test

import (
	"bytes"
	"context"
	"slices"
	"sync"
	"time"

	"weir/internal/audit"
	"weir/internal/fault"
	"weir/internal/seal"
	"weir/internal/webhook"
)

// outbox keeps deliveries in memory, as the store's suite says.
type outbox struct {
	mu     sync.Mutex
	rows   map[string]*row
	broken bool // nothing can be read or written
}

type row struct {
	d      webhook.Delivery
	leased time.Time
	o      webhook.Outcome
	tried  []time.Time
}

func newOutbox(all ...webhook.Delivery) *outbox {
	b := &outbox{rows: map[string]*row{}}
	for _, d := range all {
		b.rows[d.ID] = &row{d: d, o: webhook.Outcome{State: webhook.Pending}}
	}
	return b
}

var errBroken = fault.New(fault.StorageUnavailable, "test", "away")

func (b *outbox) ClaimDeliveries(_ context.Context, now, until time.Time, perAccount, n int) ([]webhook.Delivery, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.broken {
		return nil, errBroken
	}
	var due []*row
	held := map[string]int{}
	for _, r := range b.rows {
		switch {
		case r.o.State != webhook.Pending:
		case r.leased.After(now):
			held[r.d.Account]++
		case !r.d.NextAt.After(now):
			due = append(due, r)
		}
	}
	slices.SortFunc(due, func(x, y *row) int { return x.d.NextAt.Compare(y.d.NextAt) })
	var all []webhook.Delivery
	for _, r := range due {
		if held[r.d.Account] < perAccount && len(all) < n {
			held[r.d.Account]++
			r.leased, r.tried = until, append(r.tried, now)
			r.d.Attempts++
			r.d.Fence++
			all = append(all, r.d)
		}
	}
	return all, nil
}

func (b *outbox) EndDelivery(_ context.Context, id string, fence int64, o webhook.Outcome) (bool, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.broken {
		return false, errBroken
	}
	r := b.rows[id]
	if r == nil || r.d.Fence != fence || r.o.State != webhook.Pending {
		return false, nil
	}
	r.o, r.d.NextAt, r.leased = o, o.NextAt, time.Time{}
	return true, nil
}

func (b *outbox) SweepDeliveries(_ context.Context, before time.Time, n int) (gone int, err error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for id, r := range b.rows {
		if gone < n && r.o.State != webhook.Pending && r.o.At.Before(before) {
			delete(b.rows, id)
			gone++
		}
	}
	return gone, nil
}

func (b *outbox) breaks(yes bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.broken = yes
}

// outcome is what became of a delivery, and when it was tried. It is the zero one for a delivery that was forgotten.
func (b *outbox) outcome(id string) (o webhook.Outcome, tried []time.Time) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if r := b.rows[id]; r != nil {
		return r.o, slices.Clone(r.tried)
	}
	return o, nil
}

// vault keeps sealed secrets in memory.
type vault struct {
	mu     sync.Mutex
	rows   map[string]webhook.Sealed
	events []audit.Event
}

func (v *vault) WebhookSecret(_ context.Context, account string) (webhook.Sealed, error) {
	v.mu.Lock()
	defer v.mu.Unlock()
	if s, ok := v.rows[account]; ok {
		return s, nil
	}
	return webhook.Sealed{}, fault.New(fault.NotFound, "test", "none")
}

func (v *vault) InsertWebhookSecret(_ context.Context, account string, current []byte, now time.Time) error {
	v.mu.Lock()
	defer v.mu.Unlock()
	if _, ok := v.rows[account]; !ok {
		v.rows[account] = webhook.Sealed{Account: account, Current: current, ChangedAt: now}
	}
	return nil
}

func (v *vault) RotateWebhookSecret(_ context.Context, account string, current []byte, until, now time.Time, e audit.Event) error {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.rows[account] = webhook.Sealed{Account: account, Current: current, Previous: v.rows[account].Current, PreviousUntil: until, ChangedAt: now}
	v.events = append(v.events, e)
	return nil
}

func (v *vault) WebhookSecrets(context.Context) ([]webhook.Sealed, error) {
	v.mu.Lock()
	defer v.mu.Unlock()
	var all []webhook.Sealed
	for _, s := range v.rows {
		all = append(all, s)
	}
	return all, nil
}

func (v *vault) RewrapWebhookSecret(_ context.Context, from, to webhook.Sealed) (bool, error) {
	v.mu.Lock()
	defer v.mu.Unlock()
	if !bytes.Equal(v.rows[from.Account].Current, from.Current) {
		return false, nil
	}
	v.rows[to.Account] = to
	return true, nil
}

// keys is a ring of master keys, each a letter.
func keys(letters string) *seal.Ring {
	var all [][]byte
	for _, l := range letters {
		key := bytes.Repeat([]byte{byte(l)}, 32)
		key[0] = 0
		all = append(all, key)
	}
	r, err := seal.NewRing(all...)
	if err != nil {
		panic(err)
	}
	return r
}

func newSecrets(letters string, now func() time.Time) (*webhook.Secrets, *vault) {
	v := &vault{rows: map[string]webhook.Sealed{}}
	ring := keys(letters)
	return webhook.NewSecrets(v, func() *seal.Ring { return ring }, now), v
}

func under(v *vault, letters string, now func() time.Time) *webhook.Secrets {
	ring := keys(letters)
	return webhook.NewSecrets(v, func() *seal.Ring { return ring }, now)
}
