package kit

import (
	"cmp"
	"fmt"
	"strconv"
	"time"
)

// jobKnobs are what a caller asks of pictures and videos that take their time.
type jobKnobs struct {
	on            string // the step that faults and waits are for; "": submit
	Polls         int    // the poll that finds the job ended; 0: defaultPolls
	Queued        int    // polls that find it waiting still
	Takes         time.Duration
	HasTakes      bool   // it ends by the clock and not by polls
	End           string // "": done
	Lifetime      time.Duration
	HasLifetime   bool
	Hops          int  // redirects before a result's bytes
	Bare          bool // results come without length, ranges and ETag
	Outputs       int  // results of a job, whatever was asked for; 0: as asked for
	StartThenFail bool // a submit begins the job, and fails then
}

// How many polls a job takes by default, and how many results it has at most.
const (
	DefaultPolls = 2
	maxOutputs   = 16
)

// JobEnds are the ends that a job can be asked to reach. "never" and "stuck" are none: it runs, or waits, for ever. "refuse" is
// met at the submit, "lost" at the first poll, and "empty" is done without a result.
var JobEnds = map[string]JobStage{
	"done": JobDone, "empty": JobDone, "fail": JobFailed, "policy": JobBlocked, "cancelled": JobCancelled, "expired": JobExpired,
	"never": JobRunning, "stuck": JobQueued, "refuse": JobBlocked, "lost": JobFailed,
}

// set takes one key=value; false when there is no such key.
func (k *jobKnobs) set(key, value string) (known bool, err error) {
	switch key {
	case "on":
		k.on, err = oneOf(value, StepSubmit, StepPoll, StepCancel, StepContent)
	case "polls":
		k.Polls, err = ParseInt(value, 1, maxFrames)
	case "queued":
		k.Queued, err = ParseInt(value, 0, maxFrames)
	case "takes":
		k.Takes, err = wait(value)
		k.HasTakes = true
	case "job":
		if k.End = value; JobEnds[value] == JobQueued && value != "stuck" {
			err = fmt.Errorf("unknown word")
		}
	case "life":
		k.Lifetime, err = wait(value)
		k.HasLifetime = true
	case "hops":
		k.Hops, err = ParseInt(value, 0, 100)
	case "bare":
		k.Bare, err = strconv.ParseBool(value)
	case "made":
		k.StartThenFail, err = strconv.ParseBool(value)
	case "outputs":
		k.Outputs, err = ParseInt(value, 1, maxOutputs)
	default:
		return false, nil
	}
	return true, err
}

// The steps of a job. Each is a separate request, and a fault is for one of them.
const (
	StepSubmit  = "submit"
	StepPoll    = "poll"
	StepCancel  = "cancel"
	StepContent = "content"
)

// AtStep are the settings of one step: faults and waits for another step are left out.
func (k Knobs) AtStep(step string) *Knobs {
	if cmp.Or(k.Job.on, StepSubmit) != step {
		k.Fault, k.how = "", ""
		k.Delay, k.First, k.Gap, k.hasGap = 0, 0, 0, false
	}
	return &k
}

// JobStage is how far a job is. Those from jobDone on are ends.
type JobStage uint8

// The stages.
const (
	JobQueued JobStage = iota
	JobRunning
	JobDone
	JobFailed
	JobBlocked // by the content policy
	JobCancelled
	JobExpired
)
