// Package apikey mints, hashes and verifies the keys that clients present. It never sees a key twice: only hashes are stored.
package apikey

import (
	"weir/internal/money"
)

// Reset is how often a key's spending limit starts anew, at 00:00 UTC; weeks start on Monday.
type Reset string

// The reset intervals.
const (
	Never   Reset = ""
	Daily   Reset = "daily"
	Weekly  Reset = "weekly"
	Monthly Reset = "monthly"
)

// Limit is a key's own ceiling, within the wallet's balance.
type Limit struct {
	Amount money.Nano
	Reset  Reset
}

// Caller is who makes a request, as found by a key. It is shared between requests and never changed.
type Caller struct {
	Key        string // "key_..."
	Hash       string // hex SHA-256 of the key's text: its public identifier
	Label      string // first 12 characters ... last 3
	User       string // "usr_..."
	Wallet     string // "wal_..."
	Management bool
	Limit      *Limit // nil: only the wallet's balance binds
	Strict     bool   // X-Response-Schema: strict is this key's default
}
