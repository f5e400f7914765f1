package kit

import (
	"cmp"
	"fmt"
	"strconv"
	"time"
)

// jobKnobs are the settings of jobs: images and videos that are not made at once.
type jobKnobs struct {
	on            string // the step that faults and waits are for; "": submit
	Polls         int    // the number of the poll that finds the job ended; 0: DefaultPolls
	Queued        int    // polls that find it still waiting
	Takes         time.Duration
	HasTakes      bool   // it ends after Takes and not after polls
	End           string // "": done
	Lifetime      time.Duration
	HasLifetime   bool
	Hops          int  // redirects before a result's bytes
	Bare          bool // results come without length, ranges and ETag
	Outputs       int  // results of a job instead of the requested number; 0: the requested number
	StartThenFail bool // a submit starts the job and then fails
}

// How many polls a job takes by default, and how many results it has at most.
const (
	DefaultPolls = 2
	maxOutputs   = 16
)

// JobEnds are the values of the setting "job". "never" and "stuck" are no ends: the job runs, or waits, forever. "refuse" is
// an error at the submit, "lost" one at the first poll, and "empty" is done without a result.
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

// AtStep returns the settings for one step, without faults and waits for other steps.
func (k Knobs) AtStep(step string) *Knobs {
	if cmp.Or(k.Job.on, StepSubmit) != step {
		k.Fault, k.how = "", ""
		k.Delay, k.First, k.Gap, k.hasGap = 0, 0, 0, false
	}
	return &k
}

// JobStage is the state of a job. JobDone and later ones are final.
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
