package batch

import (
	"slices"

	"weir/internal/fault"
)

// State is the state of a batch.
type State string

// The states; docs/batches.md draws them. The last four are final.
const (
	Validating State = "validating"  // its lines are checked; nothing was called yet
	InProgress State = "in_progress" // its lines are called
	Finalizing State = "finalizing"  // nothing more is called; the files of results are written
	Cancelling State = "cancelling"  // likewise, because its user or the gateway gave it up
	Completed  State = "completed"
	Failed     State = "failed"    // a line is wrong: nothing was called
	CancelledS State = "cancelled" // with the results of what was called before
	ExpiredS   State = "expired"   // its time was over; with the results of what was called before
)

var transitions = map[State][]State{
	Validating: {InProgress, Failed, Cancelling},
	InProgress: {Finalizing, Cancelling},
	Finalizing: {Completed, ExpiredS},
	Cancelling: {CancelledS},
	Completed:  nil,
	Failed:     nil,
	CancelledS: nil,
	ExpiredS:   nil,
}

// States lists all of them.
func States() []State {
	return []State{Validating, InProgress, Finalizing, Cancelling, Completed, Failed, CancelledS, ExpiredS}
}

// Next lists the states that may follow.
func (s State) Next() []State { return transitions[s] }

// Known reports whether s is one of the states.
func (s State) Known() bool { _, known := transitions[s]; return known }

// Final reports whether the state can no longer change.
func (s State) Final() bool { return s.Known() && len(transitions[s]) == 0 }

// To reports whether a batch may go from s to next.
func (s State) To(next State) bool { return slices.Contains(transitions[s], next) }

// to changes the batch's state. It fails with an internal fault where the transition is not allowed.
func (b *Batch) to(next State) error {
	if !b.State.To(next) {
		return fault.Newf(fault.Internal, "batch.to", "no batch goes from %s to %s", b.State, next)
	}
	b.State = next
	return nil
}
