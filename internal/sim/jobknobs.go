package sim

import (
	"cmp"
	"fmt"
	"strconv"
	"time"
)

// jobKnobs are what a caller asks of pictures and videos that take their time.
type jobKnobs struct {
	on       string // the step that faults and waits are for; "": submit
	polls    int    // the poll that finds the job ended; 0: defaultPolls
	queued   int    // polls that find it waiting still
	takes    time.Duration
	hasTakes bool   // it ends by the clock and not by polls
	end      string // "": done
	life     time.Duration
	hasLife  bool
	hops     int  // redirects before a result's bytes
	bare     bool // results come without length, ranges and ETag
	outputs  int  // results of a job, whatever was asked for; 0: as asked for
	made     bool // a submit begins the job, and fails then
}

const (
	defaultPolls = 2
	maxOutputs   = 16
)

// jobEnds are the ends that a job can be told to come to. "never" and "stuck" are none: it runs, or waits, for ever. "refuse" is
// met at the submit, "lost" at the first poll, and "empty" is done without a result.
var jobEnds = map[string]jobStage{
	"done": jobDone, "empty": jobDone, "fail": jobFailed, "policy": jobBarred, "cancelled": jobCancelled, "expired": jobExpired,
	"never": jobRunning, "stuck": jobQueued, "refuse": jobBarred, "lost": jobFailed,
}

// set takes one key=value; false when there is no such key.
func (k *jobKnobs) set(key, value string) (known bool, err error) {
	switch key {
	case "on":
		k.on, err = oneOf(value, stepSubmit, stepPoll, stepCancel, stepContent)
	case "polls":
		k.polls, err = among(value, 1, maxFrames)
	case "queued":
		k.queued, err = among(value, 0, maxFrames)
	case "takes":
		k.takes, err = wait(value)
		k.hasTakes = true
	case "job":
		if k.end = value; jobEnds[value] == jobQueued && value != "stuck" {
			err = fmt.Errorf("unknown word")
		}
	case "life":
		k.life, err = wait(value)
		k.hasLife = true
	case "hops":
		k.hops, err = among(value, 0, 100)
	case "bare":
		k.bare, err = strconv.ParseBool(value)
	case "made":
		k.made, err = strconv.ParseBool(value)
	case "outputs":
		k.outputs, err = among(value, 1, maxOutputs)
	default:
		return false, nil
	}
	return true, err
}

// The steps of a job. Each is a request of its own, and a fault is for one of them.
const (
	stepSubmit  = "submit"
	stepPoll    = "poll"
	stepCancel  = "cancel"
	stepContent = "content"
)

// at are the settings of one step: faults and waits for another step are left out.
func (k knobs) at(step string) *knobs {
	if cmp.Or(k.job.on, stepSubmit) != step {
		k.fault, k.how = "", ""
		k.delay, k.first, k.gap, k.hasGap = 0, 0, 0, false
	}
	return &k
}

// jobStage is how far a job is. Those from jobDone on are ends.
type jobStage uint8

const (
	jobQueued jobStage = iota
	jobRunning
	jobDone
	jobFailed
	jobBarred // by the content policy
	jobCancelled
	jobExpired
)
