package httpserver

import (
	"context"
	"errors"
	"net"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"weir/internal/loop"
)

// noNew is a program for the system's packet filter: it drops packets that ask for a new connection (SYN without ACK), and lets all others pass.
var noNew = []unix.SockFilter{
	{Code: unix.BPF_LD | unix.BPF_B | unix.BPF_ABS, K: 13}, // the flags of TCP
	{Code: unix.BPF_ALU | unix.BPF_AND | unix.BPF_K, K: 0x12},
	{Code: unix.BPF_JMP | unix.BPF_JEQ | unix.BPF_K, K: 0x02, Jf: 1},
	{Code: unix.BPF_RET | unix.BPF_K, K: 0},
	{Code: unix.BPF_RET | unix.BPF_K, K: 1 << 18},
}

// handshake is how long connections that have begun may take to be made. A balancer is near.
const handshake = 50 * time.Millisecond

// acceptAll makes the system take no new connections of l, and waits until all that it has taken are accepted: those that wait when a listener
// closes are reset, with the requests that clients have sent. Clients that connect meanwhile are refused when l closes, before they send a
// request, so that a balancer tries another node. It does nothing for listeners without a packet filter.
func acceptAll(ctx context.Context, l net.Listener) {
	sc, ok := l.(syscall.Conn)
	if !ok {
		return
	}
	raw, err := sc.SyscallConn()
	if err != nil {
		return
	}
	filtered := errors.New("the listener is closed")
	_ = raw.Control(func(fd uintptr) {
		filtered = unix.SetsockoptSockFprog(int(fd), unix.SOL_SOCKET, unix.SO_ATTACH_FILTER, &unix.SockFprog{Len: uint16(len(noNew)), Filter: &noNew[0]})
	})
	if filtered != nil {
		return
	}
	for pause := handshake; loop.Wait(ctx, pause) == nil; pause = time.Millisecond {
		waiting := uint32(0)
		_ = raw.Control(func(fd uintptr) {
			if info, err := unix.GetsockoptTCPInfo(int(fd), unix.IPPROTO_TCP, unix.TCP_INFO); err == nil {
				waiting = info.Unacked // of a listener: connections that wait to be accepted
			}
		})
		if waiting == 0 {
			return
		}
	}
}
