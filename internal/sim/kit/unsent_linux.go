package kit

import (
	"net"

	"golang.org/x/sys/unix"
)

// unsent reports whether the peer has not yet acknowledged all that was written to conn. A reset would discard the rest.
func unsent(conn *net.TCPConn) bool {
	raw, err := conn.SyscallConn()
	if err != nil {
		return false
	}
	left := 0
	err = raw.Control(func(fd uintptr) { left, _ = unix.IoctlGetInt(int(fd), unix.SIOCOUTQ) })
	return err == nil && left > 0
}
