//go:build !unix

package h1

import "net"

// socket checks a connection without waiting, which is not possible on this operating system: a connection that was closed while idle is
// detected when it is used.
type socket struct{}

func socketOf(net.Conn) *socket { return nil }

func (*socket) read([]byte, bool) (int, error) { return 0, errNothing }
