//go:build !linux

package h1server

// clients watches none: each long request has a goroutine of its own that does.
type clients struct{}

func (*clients) open() {}

func (*clients) close() {}

func (*clients) begin(*conn, int32) bool { return false }

func (*clients) end(*conn) {}

func (*clients) again(*conn) {}
