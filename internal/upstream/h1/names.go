package h1

import (
	"context"
	"errors"
	"net"
	"net/netip"
	"sync"
	"time"
)

const (
	renewAfter  = 15 * time.Second // age at which an answer is renewed in the background
	trustFor    = 30 * time.Second // age at which a new answer is waited for
	keepFor     = 5 * time.Minute  // how long an answer is used while renewing fails
	waitFor     = 2 * time.Second  // how long to wait for a new answer, while there is an old one
	askAgain    = 5 * time.Second  // after a failure
	nextAddress = 300 * time.Millisecond
)

// Names caches the addresses of hosts: a change of address takes effect within 30 seconds, and while names cannot be resolved an address
// is used for five minutes. It is safe for concurrent use; Close ends it.
type Names struct {
	lookup func(ctx context.Context, host string) ([]netip.Addr, error)
	now    func() time.Time
	ctx    context.Context
	cancel context.CancelFunc
	asking sync.WaitGroup

	mu    sync.Mutex
	known map[string]*name
}

// name is the cache entry of one host.
type name struct {
	addresses []netip.Addr             // of the last successful answer
	seen      map[netip.Addr]time.Time // when an address was last in an answer
	at        time.Time                // time of the last successful answer
	err       error                    // of the last answer
	next      time.Time                // no new lookup before
	done      chan struct{}            // closed when the running lookup ends, nil: none is running
}

// NewNames makes Names with lookup, nil for the system's resolver, and a clock, nil for the system's.
func NewNames(lookup func(ctx context.Context, host string) ([]netip.Addr, error), now func() time.Time) *Names {
	if lookup == nil {
		lookup = func(ctx context.Context, host string) ([]netip.Addr, error) {
			return net.DefaultResolver.LookupNetIP(ctx, "ip", host)
		}
	}
	if now == nil {
		now = time.Now
	}
	s := &Names{lookup: lookup, now: now, known: make(map[string]*name)}
	s.ctx, s.cancel = context.WithCancel(context.Background())
	return s
}

// Close ends running lookups.
func (s *Names) Close() {
	s.cancel()
	s.asking.Wait()
}

// addresses returns the addresses of host, best first.
func (s *Names) addresses(ctx context.Context, host string) ([]netip.Addr, error) {
	if ip, err := netip.ParseAddr(host); err == nil {
		return []netip.Addr{ip}, nil
	}
	s.mu.Lock()
	n := s.known[host]
	if n == nil {
		n = &name{seen: make(map[netip.Addr]time.Time)}
		s.known[host] = n
	}
	now := s.now()
	age := now.Sub(n.at)
	if age >= renewAfter && n.done == nil && !now.Before(n.next) {
		s.ask(host, n)
	}
	done := n.done
	s.mu.Unlock()
	if done != nil && age >= trustFor {
		if age < keepFor {
			var cancel context.CancelFunc
			ctx, cancel = context.WithTimeout(ctx, waitFor)
			defer cancel()
		}
		select {
		case <-done:
		case <-ctx.Done():
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if now := s.now(); now.Sub(n.at) < keepFor {
		return n.addresses, nil
	}
	if n.err != nil {
		return nil, n.err
	}
	return nil, ctx.Err()
}

// ask starts a lookup. The caller holds the lock.
func (s *Names) ask(host string, n *name) {
	done := make(chan struct{})
	n.done = done
	s.asking.Go(func() {
		defer close(done)
		addresses, err := s.lookup(s.ctx, host)
		if err == nil && len(addresses) == 0 {
			err = errors.New("h1: the host has no address")
		}
		s.mu.Lock()
		defer s.mu.Unlock()
		now := s.now()
		if n.done, n.err = nil, err; err != nil {
			n.next = now.Add(askAgain)
			return
		}
		n.addresses, n.at = make([]netip.Addr, len(addresses)), now
		for i, a := range addresses {
			n.addresses[i] = a.Unmap()
			n.seen[a.Unmap()] = now
		}
		for a, at := range n.seen {
			if now.Sub(at) >= trustFor {
				delete(n.seen, a)
			}
		}
	})
}

// has reports whether address still belongs to host. The addresses of recent answers count together, because large services return other
// ones each time. Without an answer, a connection that works is kept.
func (s *Names) has(host string, address netip.Addr) bool {
	if _, err := s.addresses(s.ctx, host); err != nil {
		return true
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	n := s.known[host]
	return n == nil || n.err != nil || s.now().Sub(n.seen[address]) < trustFor
}

// current reports whether a connection may be used again, by its address. A recent connection may, without a lookup for each request.
func (h *Host) current(c *conn, now time.Time) bool {
	return h.cfg.Names == nil || h.literal || !c.peer.IsValid() || now.Sub(c.dialled) < trustFor || h.cfg.Names.has(h.name, c.peer)
}

// dial opens a connection to the first address that answers. When one takes long, the next is tried in parallel.
func (s *Names) dial(ctx context.Context, host, port string) (net.Conn, netip.Addr, error) {
	addresses, err := s.addresses(ctx, host)
	if err != nil {
		return nil, netip.Addr{}, &net.OpError{Op: "dial", Net: "tcp", Err: err}
	}
	if len(addresses) == 1 {
		c, err := dialAddress(ctx, addresses[0], port)
		return c, addresses[0], err
	}
	return race(ctx, addresses, func(ctx context.Context, a netip.Addr) (net.Conn, error) { return dialAddress(ctx, a, port) })
}

func dialAddress(ctx context.Context, a netip.Addr, port string) (net.Conn, error) {
	dialer := net.Dialer{KeepAlive: 30 * time.Second}
	return dialer.DialContext(ctx, "tcp", net.JoinHostPort(a.String(), port))
}

// race dials the addresses in order: the next one as soon as one fails or takes longer than a moment. The first connection wins.
func race(ctx context.Context, addresses []netip.Addr, dial func(context.Context, netip.Addr) (net.Conn, error)) (net.Conn, netip.Addr, error) {
	type result struct {
		conn net.Conn
		peer netip.Addr
		err  error
	}
	ctx, cancel := context.WithCancel(ctx)
	over, results := make(chan struct{}), make(chan result)
	defer close(over)
	defer cancel()
	begin := func(a netip.Addr) {
		conn, err := dial(ctx, a)
		select {
		case results <- result{conn, a, err}:
		case <-over:
			if err == nil {
				_ = conn.Close()
			}
		}
	}
	patience := time.NewTimer(0)
	defer patience.Stop()
	var first error
	for begun, failed := 0, 0; ; {
		next := patience.C
		if begun == len(addresses) {
			next = nil
		}
		select {
		case r := <-results:
			if r.err == nil {
				return r.conn, r.peer, nil
			}
			if first == nil {
				first = r.err
			}
			if failed++; failed == len(addresses) {
				return nil, netip.Addr{}, first
			}
			patience.Reset(0)
		case <-next:
			go begin(addresses[begun])
			begun++
			patience.Reset(nextAddress)
		}
	}
}
