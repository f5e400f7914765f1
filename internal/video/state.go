package video

import "weir/internal/fault"

// State reports how far a job has come.
type State string

// The states. Pending and InProgress are active; the others are ends, and only Completed can be followed by another one.
const (
	Pending    State = "pending"     // admitted; no provider has taken it yet
	InProgress State = "in_progress" // a provider works on it
	Completed  State = "completed"
	Failed     State = "failed"
	Cancelled  State = "cancelled"
	Expired    State = "expired" // no result in time, or the result's time is over
)

// States lists all of them.
func States() []State { return []State{Pending, InProgress, Completed, Failed, Cancelled, Expired} }

// transitions are all that there are; docs/video-jobs.md draws them.
var transitions = map[State][]State{
	Pending:    {InProgress, Failed, Cancelled, Expired},
	InProgress: {Completed, Failed, Cancelled, Expired},
	Completed:  {Expired},
	Failed:     nil,
	Cancelled:  nil,
	Expired:    nil,
}

// Next lists the states that may follow.
func (s State) Next() []State { return transitions[s] }

// Known reports whether s is a state at all.
func (s State) Known() bool { _, known := transitions[s]; return known }

// Active reports whether a job in it counts against the limit of jobs, and holds money.
func (s State) Active() bool { return s == Pending || s == InProgress }

// To reports whether a job may go from s to next.
func (s State) To(next State) bool {
	for _, t := range transitions[s] {
		if t == next {
			return true
		}
	}
	return false
}

// to moves the job on. It fails, as a fault of ours, where there is no such transition.
func (j *Job) to(next State) error {
	if !j.State.To(next) {
		return fault.Newf(fault.Internal, "video.to", "no job goes from %s to %s", j.State, next)
	}
	j.State = next
	return nil
}
