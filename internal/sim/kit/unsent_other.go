//go:build !linux

package sim

import "net"

// unsent reports false: only Linux says how much is still to be sent.
func unsent(*net.TCPConn) bool { return false }
