// Package audit is the chain of who changed what: each row carries the hash of the one before it, so that a removed or edited
// row is found. It holds no secrets and stores nothing itself: a store appends rows and hands them back in order.
package audit

import (
	"crypto/sha256"
	"encoding/hex"
	"iter"
	"strconv"
	"time"

	"weir/internal/fault"
)

// The actions that are recorded.
const (
	UserCreated     = "user.create"
	UserDisabled    = "user.disable"
	UserEnabled     = "user.enable"
	UserRole        = "user.role"
	UserPreferences = "user.preferences"
	KeyCreated      = "key.create"
	KeyChanged      = "key.change"
	KeyRevoked      = "key.revoke"
	TopUp           = "topup"

	CatalogAdded   = "catalog.add"
	CatalogChanged = "catalog.change"
	CatalogRemoved = "catalog.remove"
	RateSet        = "rate.set"
	SecretRotated  = "secret.rotate"
)

// Actor is who does something, and from where.
type Actor struct {
	Name string // "key:key_...", "operator", "bootstrap"
	From string // network address, "" for a command on the machine
}

// Event is one change. Before and After are short sentences without secrets; either may be empty.
type Event struct {
	Actor
	Action string
	Target string // id of the user, key or wallet
	Before string
	After  string
}

// Row is an event with its place in the chain.
type Row struct {
	Event
	Seq  int64     // 1, 2, ... without gaps
	At   time.Time // microseconds, UTC
	Prev string    // Hash of the row before, "" for the first
	Hash string    // hex
}

// Link puts e behind the row whose number and hash are given; 0 and "" begin a chain.
func Link(e Event, seq int64, prev string, at time.Time) Row {
	r := Row{Event: e, Seq: seq + 1, At: at.UTC().Truncate(time.Microsecond), Prev: prev}
	r.Hash = r.sum()
	return r
}

// sum hashes the row's fields, each behind its length: two rows that differ never give the same text to hash.
func (r *Row) sum() string {
	text := make([]byte, 0, 256)
	for _, field := range []string{r.Prev, strconv.FormatInt(r.Seq, 10), strconv.FormatInt(r.At.UnixMicro(), 10),
		r.Name, r.From, r.Action, r.Target, r.Before, r.After} {
		text = strconv.AppendInt(text, int64(len(field)), 10)
		text = append(text, ':')
		text = append(text, field...)
	}
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:])
}

// Verify walks a whole chain in order and returns its length. It fails with fault.Conflict at the first row that was changed,
// or in front of which one is missing. A chain cut at its end looks whole: compare the length with one noted elsewhere.
func Verify(rows iter.Seq2[Row, error]) (int64, error) {
	var seq int64
	var prev string
	for row, err := range rows {
		if err != nil {
			return seq, err
		}
		if row.Seq != seq+1 || row.Prev != prev {
			return seq, fault.Newf(fault.Conflict, "audit.Verify", "A row is missing between %d and %d.", seq, row.Seq)
		}
		if row.sum() != row.Hash {
			return seq, fault.Newf(fault.Conflict, "audit.Verify", "Row %d was changed.", row.Seq)
		}
		seq, prev = row.Seq, row.Hash
	}
	return seq, nil
}
