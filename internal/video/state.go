package video

import "weir/internal/fault"

// State is the state of a job.
type State string

// The states. Pending and InProgress are active; the others are final, except that Completed can become Expired.
const (
	Pending    State = "pending"     // admitted; no provider has taken it yet
	InProgress State = "in_progress" // a provider works on it
	Completed  State = "completed"
	Failed     State = "failed"
	Cancelled  State = "cancelled"
	Expired    State = "expired" // no result before the deadline, or the result has been deleted after its time
)

// States lists all of them.
func States() []State { return []State{Pending, InProgress, Completed, Failed, Cancelled, Expired} }

// transitions lists the allowed transitions; docs/video-jobs.md draws them.
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

// Known reports whether s is one of the states.
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

// to changes the job's state. It fails with an internal fault where the transition is not allowed.
func (j *Job) to(next State) error {
	if !j.State.To(next) {
		return fault.Newf(fault.Internal, "video.to", "no job goes from %s to %s", j.State, next)
	}
	j.State = next
	return nil
}
