// Package webhook notifies accounts of the ends of their jobs: events wait in an outbox that the store keeps, and are posted, signed, until
// they were taken or a day is over. It opens no connection and decides nothing about the jobs themselves.
package webhook

import (
	"context"
	"strconv"
	"time"
)

// State says how far a delivery is.
type State string

// The states. Only Pending ones are sent.
const (
	Pending   State = "pending"
	Delivered State = "delivered"
	Failed    State = "failed" // given up
)

// Delivery is one event on its way to one address.
type Delivery struct {
	ID        string // the receiver's webhook-id, the same in each attempt, such as "vj_...-completed"
	Account   string // whose event it is, and whose secret signs: "usr_..."
	URL       string // checked by the rules for addresses when it was named, and again when it is called
	Event     string // such as "video.generation.completed"
	Payload   []byte // JSON
	CreatedAt time.Time

	// What the outbox says of it.
	NextAt   time.Time // not sent before
	Attempts int       // begun
	Fence    int64     // of the claim that it was handed out by
}

// NewDelivery makes an event of an account ready for the outbox. data is a JSON value; id names job and event, so that one that is put
// into the outbox twice is there once.
func NewDelivery(id, account, url, event string, data []byte, now time.Time) Delivery {
	b := strconv.AppendQuote([]byte(`{"type":`), event) // an event is plain ASCII
	b = append(b, `,"created_at":"`...)
	b = now.UTC().AppendFormat(b, "2006-01-02T15:04:05.000Z")
	b = append(b, `","data":`...)
	b = append(append(b, data...), '}')
	return Delivery{ID: id, Account: account, URL: url, Event: event, Payload: b, CreatedAt: now.UTC(), NextAt: now.UTC()}
}

// Outcome is the result of an attempt.
type Outcome struct {
	State  State
	NextAt time.Time // of a Pending one
	At     time.Time
	Status int    // that the receiver answered with, 0 without an answer
	Error  string // why it failed, for the operator; "" when it did not
}

// Outbox keeps deliveries. They are stored together with their event, in one transaction of the store.
type Outbox interface {
	// ClaimDeliveries hands out at most n deliveries that are due and not claimed, the longest due first, each until the claim ends.
	// perAccount bounds how many of one account may be handed out at a time. Attempts and Fence count the claim.
	ClaimDeliveries(ctx context.Context, now, until time.Time, perAccount, n int) ([]Delivery, error)
	// EndDelivery ends a claim. It does nothing, and says so, when the delivery was handed to someone else meanwhile.
	EndDelivery(ctx context.Context, id string, fence int64, o Outcome) (done bool, err error)
	// SweepDeliveries forgets at most n deliveries that ended before, and reports how many.
	SweepDeliveries(ctx context.Context, before time.Time, n int) (int, error)
}
