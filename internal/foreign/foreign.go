// Package foreign is what programs that were written for another gateway call the things of an account, and what they say of them that means nothing
// here. It is kept so that they read again what they have written. It decides nothing.
package foreign

import (
	"context"
	"time"
)

// Kind is of what a record is. Names of one kind are unlike in an account.
type Kind string

// The kinds.
const (
	Key  Kind = "key"
	Team Kind = "team"
	User Kind = "user" // a member, a service or an invitation
)

// Bounds of one account.
const (
	MaxPerAccount = 2000
	MaxName       = 128  // bytes
	MaxFields     = 4096 // bytes
)

// Record is a thing of an account as another gateway's programs know it.
type Record struct {
	Account   string // "usr_..." or "org_..."
	Kind      Kind
	Name      string // their id of it; ours, where they have none
	ID        string // ours
	Fields    string // a JSON object
	UpdatedAt time.Time
}

// Store keeps records. What does not exist is fault.NotFound.
type Store interface {
	// ForeignRecords lists those of a kind.
	ForeignRecords(ctx context.Context, account string, k Kind) ([]Record, error)
	// ForeignNamed finds the one with a name.
	ForeignNamed(ctx context.Context, account string, k Kind, name string) (Record, error)
	// SaveForeign adds a record, or replaces the one of the same thing. It fails with fault.Conflict where another thing has the name, and with fault.Invalid
	// where the account has no room, after what belongs to nothing any more was deleted.
	SaveForeign(ctx context.Context, r Record) error
	// DeleteForeign removes the record of a thing, if there is one.
	DeleteForeign(ctx context.Context, account, id string) error
}
