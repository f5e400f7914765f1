// Package store holds what the databases share: the interface that they satisfy together, the SQL text that all of them accept,
// and how records become rows. It must not know which database it speaks to.
package store

import (
	"weir/internal/account"
	"weir/internal/apikey"
	"weir/internal/ledger"
)

// Store is everything that is kept.
type Store interface {
	ledger.Store
	account.Store
	apikey.Store
	Close() error
}
