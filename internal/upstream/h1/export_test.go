package h1

import (
	"context"
	"io"
	"net"
	"net/netip"
)

// Ended reports whether the other side's end has arrived at c.
func Ended(c net.Conn) bool {
	var one [1]byte
	_, err := socketOf(c).read(one[:], true)
	return err == io.EOF
}

// Addresses are those of host.
func (s *Names) Addresses(ctx context.Context, host string) ([]netip.Addr, error) {
	return s.addresses(ctx, host)
}

// Has reports whether address belongs to host.
func (s *Names) Has(host string, address netip.Addr) bool { return s.has(host, address) }

// Race is race.
func Race(ctx context.Context, addresses []netip.Addr, dial func(context.Context, netip.Addr) (net.Conn, error)) (net.Conn, netip.Addr, error) {
	return race(ctx, addresses, dial)
}
