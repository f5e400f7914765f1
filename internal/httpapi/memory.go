package httpapi

import (
	"weir/internal/limit"
	"weir/internal/limit/quota"
)

// memory is what a request takes of what its user, and the node, has for bytes of clients and providers. It implements httpserver.Memory.
type memory struct {
	limit.Tab
	quotas *quota.Quotas
}

// Charge takes bytes, or fails with what to answer.
func (m *memory) Charge(n int64) error { return m.quotas.Short(m.Take(n), "httpapi.charge") }
