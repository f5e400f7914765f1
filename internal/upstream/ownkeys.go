package upstream

import (
	"sync"

	"weir/internal/catalog"
)

// owned has the targets of providers that are called with people's own keys, by key and wire: apart from those of the gateway, so that no
// credential, and no token that one was exchanged for, is ever used for somebody else. Only connections are shared, which carry no
// credential. What is not used for long makes room for others.
type owned struct {
	mu  sync.Mutex
	all map[ownedBy]*target
}

type ownedBy struct{ key, wire string }

const maxOwned = 1024

// get finds or makes the target of p. Another secret, address or declaration of the provider brings another target.
func (o *owned) get(c *Client, p *catalog.Provider) (*target, error) {
	at := ownedBy{p.OwnKey, p.Wire()}
	if t := o.find(at, p); t != nil {
		return t, nil
	}
	made, err := c.newTarget(p)
	if err != nil {
		return nil, err
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	if t := o.all[at]; t != nil && t.provider.Of == p.Of && t.provider.Key == p.Key {
		return t, nil // one target for simultaneous calls, so that its tokens are fetched once
	}
	if o.all == nil {
		o.all = map[ownedBy]*target{}
	}
	if _, known := o.all[at]; !known && len(o.all) >= maxOwned {
		for other := range o.all { // any will do: it is made again in no time
			delete(o.all, other)
			break
		}
	}
	o.all[at] = made
	return made, nil
}

func (o *owned) find(at ownedBy, p *catalog.Provider) *target {
	o.mu.Lock()
	defer o.mu.Unlock()
	if t := o.all[at]; t != nil && t.provider.Of == p.Of && t.provider.Key == p.Key {
		return t
	}
	return nil
}
