//go:build !unix

package h1server

import "net"

// Supported reports whether this system's sockets can be watched without reading from them.
const Supported = false

type readiness struct{}

func readinessOf(net.Conn) *readiness { return nil }

func (*readiness) read() (*buffer, int, error) { return nil, 0, nil }

func (*readiness) ended() bool { return false }

func (*readiness) state() (arrived, gone bool) { return false, false }
