//go:build !linux

package kit

import "net"

// unsent returns false: only Linux reports how much is still unsent.
func unsent(*net.TCPConn) bool { return false }
