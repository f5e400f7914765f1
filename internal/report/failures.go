package report

import (
	"context"
	"time"
)

// MostFailureDays is how many days back causes of failures are known.
const MostFailureDays = 31

// Cause is why attempts failed: a code, the provider that was asked, and what its error texts have in common.
type Cause struct {
	Code     string // error_type
	Provider string // "": none was asked
	Words    string // as record.Cause makes them
}

// FailureSums are the figures of failures together.
type FailureSums struct {
	Errors      int64 // attempts that failed, and calls that failed without one
	Reached     int64 // of them, clients; of the others another attempt made good, or the client went
	First, Last time.Time
	Call        string // the generation of the last one
	Said        string // what the provider said then, redacted; "" nothing
}

// Failure is a cause with what it did.
type Failure struct {
	Cause
	FailureSums
	Accounts, Endpoints int64 // how many it affected
}

// FailurePart is by what the failures of a cause are divided.
type FailurePart string

// The parts.
const (
	FailedWallet   FailurePart = "wallet"
	FailedEndpoint FailurePart = "endpoint"
)

// FailedPart is the part of a cause that concerns one account or endpoint.
type FailedPart struct {
	Value string
	FailureSums
}

// NameKind says what ids are of, for which names are looked up.
type NameKind uint8

// The kinds of names.
const (
	UsersByID NameKind = iota
	UsersByWallet
	KeysByID
)

// Named is what a user or a key is called.
type Named struct {
	ID    string // of the user; the hash of the key
	Name  string
	Label string // of the key
}

// Causes are the failures of some hours by cause, those with most errors first, with the sums of all.
func (r *Reporter) Causes(ctx context.Context, from, to time.Time, most int) (list []Failure, errors, reached int64, err error) {
	if _, err = r.book.CatchUp(ctx); err != nil {
		return nil, 0, 0, err
	}
	if list, err = r.store.Failures(ctx, from, to, most); err != nil {
		return nil, 0, 0, err
	}
	errors, reached, err = r.store.FailureTotals(ctx, from, to)
	return list, errors, reached, err
}

// OneCause is what a cause, or with the zero value any cause, did to accounts, by their wallets, and to endpoints.
func (r *Reporter) OneCause(ctx context.Context, from, to time.Time, c Cause, most int) (accounts, endpoints []FailedPart, err error) {
	if _, err = r.book.CatchUp(ctx); err != nil {
		return nil, nil, err
	}
	if accounts, err = r.store.FailureParts(ctx, from, to, c, FailedWallet, most); err == nil {
		endpoints, err = r.store.FailureParts(ctx, from, to, c, FailedEndpoint, most)
	}
	return accounts, endpoints, err
}

// CausesAt are the failures of some hours at an endpoint by cause, those with most errors first.
func (r *Reporter) CausesAt(ctx context.Context, endpoint string, from, to time.Time, most int) ([]Failure, error) {
	if _, err := r.book.CatchUp(ctx); err != nil {
		return nil, err
	}
	return r.store.FailuresAt(ctx, endpoint, from, to, most)
}

// Names are what users and keys are called, by the ids that were asked for. Those that do not exist are left out.
func (r *Reporter) Names(ctx context.Context, kind NameKind, ids []string) (map[string]Named, error) {
	return r.store.Names(ctx, kind, ids)
}
