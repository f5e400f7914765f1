// Package pagedb keeps what users keep for themselves: chats, responses, answers to named calls, presets and views.
package pagedb

import (
	"weir/internal/chat"
	"weir/internal/history"
	"weir/internal/idempotency"
	"weir/internal/preset"
	"weir/internal/store/sqldb"
	"weir/internal/view"
)

// Pages has what users keep: chats, responses, answers to named calls, presets and views.
type Pages struct{ db *sqldb.DB }

// New makes the pages of a database.
func New(db *sqldb.DB) *Pages { return &Pages{db} }

var (
	_ chat.Store        = (*Pages)(nil)
	_ history.Store     = (*Pages)(nil)
	_ idempotency.Store = (*Pages)(nil)
	_ preset.Store      = (*Pages)(nil)
	_ view.Store        = (*Pages)(nil)
)
