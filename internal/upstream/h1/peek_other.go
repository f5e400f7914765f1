//go:build !unix

package h1

import "net"

// socket looks into a connection without waiting, which this operating system has no way for: a connection that has died idle is found
// when it is used.
type socket struct{}

func socketOf(net.Conn) *socket { return nil }

func (*socket) read([]byte, bool) (int, error) { return 0, errNothing }
