//go:build !linux

package kit

import "net"

// unsent reports false: only Linux says how much is still to be sent.
func unsent(*net.TCPConn) bool { return false }
