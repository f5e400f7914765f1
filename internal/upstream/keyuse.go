package upstream

import (
	"cmp"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"weir/internal/catalog"
	"weir/internal/fault"
)

// KeyUse is what a credential of a provider did at this node within the last hour, and how it stands.
type KeyUse struct {
	Provider, Tag string    // see catalog.KeyTag
	Calls         int64     // attempts with it
	Failed        int64     // of them, other than those that its rate limit refused
	Limited       int64     // of them, that its rate limit refused
	Running       int64     // attempts under way
	Until         time.Time // it rests until then, for some model or for all; zero: it does not
	Model         string    // that it rests for; "" for all
	RefusedAt     time.Time // its last refusal, zero without one
	Status        int       // of that
	Words         string    // what the provider said then, without secrets
}

// Bounds of what is kept of credentials.
const (
	useSlots    = 12
	useSlot     = 5 * time.Minute
	mostUses    = 1000
	maxKeyWords = 200
)

// keyUse counts what a credential does. It outlives the targets of its provider.
type keyUse struct {
	provider, tag string
	running       atomic.Int64

	mu     sync.Mutex // guards the fields below
	slots  [useSlots]useCount
	last   time.Time // of an attempt
	until  time.Time
	model  string
	at     time.Time // of the last refusal
	status int
	words  string
}

// useCount is what was counted in the slot of a time.
type useCount struct {
	slot                   int64
	calls, failed, limited int64
}

// keyUses has those of all providers.
type keyUses struct {
	mu  sync.Mutex
	all map[[2]string]*keyUse
}

// of finds or makes the counts of a credential. Beyond a number of them, those that were used longest ago make room.
func (u *keyUses) of(p *catalog.Provider, tag string) *keyUse {
	if p.OwnKey != "" { // people's own keys are none of the operators' business
		return &keyUse{}
	}
	u.mu.Lock()
	defer u.mu.Unlock()
	at := [2]string{p.ID, tag}
	if known := u.all[at]; known != nil {
		return known
	}
	if u.all == nil {
		u.all = map[[2]string]*keyUse{}
	}
	if len(u.all) >= mostUses {
		u.shrink()
	}
	made := &keyUse{provider: p.ID, tag: tag}
	u.all[at] = made
	return made
}

func (u *keyUses) shrink() {
	var oldest *keyUse
	for _, k := range u.all {
		if k.running.Load() == 0 && (oldest == nil || k.used().Before(oldest.used())) {
			oldest = k
		}
	}
	if oldest != nil {
		delete(u.all, [2]string{oldest.provider, oldest.tag})
	}
}

func (k *keyUse) used() time.Time {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.last
}

// count adds an attempt.
func (k *keyUse) count(at time.Time, f *fault.Error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	n := at.UnixNano() / int64(useSlot)
	c := &k.slots[n%useSlots]
	if c.slot != n {
		*c = useCount{slot: n}
	}
	c.calls++
	k.last = at
	switch {
	case f == nil || f.Kind == fault.Canceled:
	case f.Kind == fault.RateLimited:
		c.limited++
	case f.Kind != fault.Invalid: // that is about the request
		c.failed++
	}
}

// refused notes what the provider said against the credential, and until when it rests.
func (k *keyUse) refused(at time.Time, status int, words string) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.at, k.status, k.words = at, status, words
}

func (k *keyUse) rests(model string, until time.Time) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.model, k.until = model, until
}

// sum is what is known at a time.
func (k *keyUse) sum(now time.Time) KeyUse {
	k.mu.Lock()
	defer k.mu.Unlock()
	out := KeyUse{Provider: k.provider, Tag: k.tag, Running: k.running.Load(), RefusedAt: k.at, Status: k.status, Words: k.words}
	n := now.UnixNano() / int64(useSlot)
	for i := range k.slots {
		if c := &k.slots[i]; c.slot > n-useSlots && c.slot <= n {
			out.Calls, out.Failed, out.Limited = out.Calls+c.calls, out.Failed+c.failed, out.Limited+c.limited
		}
	}
	if now.Before(k.until) {
		out.Until, out.Model = k.until, k.model
	}
	return out
}

// KeyUses are the credentials that this node has used, by provider and tag.
func (c *Client) KeyUses() (list []KeyUse) {
	now := c.cfg.Now()
	c.uses.mu.Lock()
	for _, k := range c.uses.all {
		list = append(list, k.sum(now))
	}
	c.uses.mu.Unlock()
	slices.SortFunc(list, func(a, b KeyUse) int { return cmp.Or(cmp.Compare(a.Provider, b.Provider), cmp.Compare(a.Tag, b.Tag)) })
	return list
}
