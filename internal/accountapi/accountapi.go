// Package accountapi is the part of the HTTP API that people and their programs manage an account with: each operation is declared with its
// types, and a function of the domain answers it. Package operation reads requests and writes answers; package httpapi has the server.
package accountapi

import (
	"weir/internal/operation"
	"weir/internal/view"
)

// Deps are what the operations work with.
type Deps struct {
	Views *view.Manager
}

// Operations lists the operations. With empty Deps they can be described, not performed.
func Operations(d Deps) []operation.Operation {
	return views(d.Views)
}
