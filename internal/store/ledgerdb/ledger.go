// Package ledgerdb keeps wallets, leases, calls and what they cost, and reads, checks and drops them. It lies below the other aggregates: what
// moves money locks wallets here, and posts here.
package ledgerdb

import (
	"weir/internal/ledger"
	"weir/internal/report"
	"weir/internal/store/sqldb"
)

// Ledger has wallets, calls, what they cost, and sums of it.
type Ledger struct{ db *sqldb.DB }

// New makes a ledger of a database.
func New(db *sqldb.DB) *Ledger { return &Ledger{db} }

var (
	_ ledger.Store   = (*Ledger)(nil)
	_ ledger.Sweeper = (*Ledger)(nil)
	_ report.Store   = (*Ledger)(nil)
)
