package kit

import (
	"encoding/base64"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Knobs are the settings of a request for the simulator, from markers in the prompt or from the model's name.
type Knobs struct {
	Name, Base string // the requested model, as written and without its settings

	Fault    string // "u7", "" none
	how      string // variant of the fault
	status   int
	code     int    // error code inside a 200 answer
	retry    string // Retry-After as written
	hasRetry bool
	to       string // where a redirect points
	After    int    // content frames before the fault, -1: the fault's own default
	times    int    // number of calls that fail; 0: all
	id       string // name that times counts under
	Bytes    int64  // size of a fault that makes something too large
	count    int    // number for a fault that sends too many of something

	Delay, First, Gap time.Duration
	hasGap            bool
	Chunk             int    // tokens in a content frame
	Frames            int    // content frames of an answer
	Tokens            int    // length of the text
	calls             int    // tool calls in an answer
	uses              int    // calls of each tool that the provider runs
	script            string // tool calls written out, each "name,base64 of its arguments", separated by spaces
	Usage             string
	Finish            string
	Seed              uint64
	Redact            bool   // thinking is kept from the caller
	Stamp             bool   // bench: each frame reports when it was written
	Shape             string // how the answer is dressed: a name of Shapes, "any", "none"; "": as the server is set
	Job               jobKnobs
}

const (
	maxFrames = 1_000_000
	maxTokens = 200_000
	maxBytes  = 16 << 30
	maxWait   = time.Hour
)

// Set takes one key=value. It fails with a sentence for the caller, so that a misspelt marker is never ignored.
func (k *Knobs) Set(key, value string) error {
	var err error
	switch key {
	case "fault":
		err = k.setFault(value)
	case "how":
		k.how = value
	case "status":
		k.status, err = ParseInt(value, 100, 599)
	case "code":
		k.code, err = ParseInt(value, 1, 999)
	case "retry-after":
		k.retry, k.hasRetry = value, true
	case "to":
		k.to = value
	case "after":
		k.After, err = ParseInt(value, 0, maxFrames)
	case "times":
		k.times, err = ParseInt(value, 1, maxFrames)
	case "id":
		k.id = value
	case "bytes":
		k.Bytes, err = strconv.ParseInt(value, 10, 64)
		if err == nil && (k.Bytes < 1 || k.Bytes > maxBytes) {
			err = fmt.Errorf("out of range")
		}
	case "count":
		k.count, err = ParseInt(value, 1, maxFrames)
	case "delay":
		k.Delay, err = wait(value)
	case "first":
		k.First, err = wait(value)
	case "gap":
		k.Gap, err = wait(value)
		k.hasGap = true
	case "chunk":
		k.Chunk, err = ParseInt(value, 1, maxTokens)
	case "frames":
		k.Frames, err = ParseInt(value, 1, maxFrames)
	case "tokens":
		k.Tokens, err = ParseInt(value, 1, maxTokens)
	case "calls":
		k.calls, err = ParseInt(value, 1, 128)
	case "uses":
		k.uses, err = ParseInt(value, 1, 128)
	case "call":
		err = k.setCall(value)
	case "usage":
		k.Usage, err = oneOf(value, "missing", "negative", "huge", "strings", "floats")
	case "finish":
		k.Finish, err = oneOf(value, "stop", "length", "tool_calls", "content_filter", "refusal")
	case "seed":
		k.Seed, err = strconv.ParseUint(value, 10, 64)
	case "redact":
		k.Redact, err = strconv.ParseBool(value)
	case "shape":
		err = k.setShape(value)
	case "stamp":
		k.Stamp, err = strconv.ParseBool(value)
	default:
		var known bool
		if known, err = k.Job.set(key, value); !known {
			return fmt.Errorf("the simulator has no setting '%s'", key)
		}
	}
	if err != nil {
		return fmt.Errorf("the simulator's setting '%s' cannot be '%s'", key, value)
	}
	return nil
}

func (k *Knobs) setFault(value string) error {
	name, how, _ := strings.Cut(value, "-")
	if name == "none" {
		k.Fault, k.how = "", ""
		return nil
	}
	if _, ok := Faults[name]; !ok {
		return fmt.Errorf("unknown fault")
	}
	k.Fault = name
	if how != "" {
		k.how = how
	}
	return nil
}

func (k *Knobs) setShape(value string) error {
	if value != "any" && value != "none" && !slices.ContainsFunc(Shapes, func(s Shape) bool { return s.Name == value }) {
		return fmt.Errorf("unknown shape")
	}
	k.Shape = value
	return nil
}

const maxScript = 1 << 20

// setCall appends a call to the script: a tool's name and, after a comma, its arguments in base64 for URLs.
func (k *Knobs) setCall(value string) error {
	if name, _, err := scripted(value); err != nil || name == "" || len(k.script)+len(value) > maxScript {
		return fmt.Errorf("no call")
	}
	k.script = strings.TrimSpace(k.script + " " + value)
	return nil
}

// scripted reads one call of a script.
func scripted(value string) (name, arguments string, err error) {
	name, encoded, _ := strings.Cut(value, ",")
	decoded, err := base64.RawURLEncoding.DecodeString(strings.TrimRight(encoded, "="))
	return name, string(decoded), err
}

// ParseInt reads a whole number from low to high.
func ParseInt(value string, low, high int) (int, error) {
	n, err := strconv.Atoi(value)
	if err == nil && (n < low || n > high) {
		err = fmt.Errorf("out of range")
	}
	return n, err
}

func wait(value string) (time.Duration, error) {
	d, err := time.ParseDuration(value)
	if err == nil && (d < 0 || d > maxWait) {
		err = fmt.Errorf("out of range")
	}
	return d, err
}

func oneOf(value string, words ...string) (string, error) {
	for _, w := range words {
		if value == w {
			return value, nil
		}
	}
	return "", fmt.Errorf("unknown word")
}

// The ends of a marker inside a prompt.
const (
	MarkerStart = "[[sim "
	MarkerEnd   = "]]"
)

// Markers reads every [[sim key=value ...]] of a text and returns the text without them. A later setting wins.
func (k *Knobs) Markers(s string) (string, error) {
	at := strings.Index(s, MarkerStart)
	if at < 0 {
		return s, nil
	}
	var plain strings.Builder
	for at >= 0 {
		plain.WriteString(s[:at])
		inside, rest, closed := strings.Cut(s[at+len(MarkerStart):], MarkerEnd)
		if !closed {
			return "", fmt.Errorf("a simulator marker is not closed with ]]")
		}
		if err := k.marker(strings.Fields(inside)); err != nil {
			return "", err
		}
		// one space is removed with the marker, so that a marker before or after a text does not change the text
		if plain.Len() == 0 {
			rest = strings.TrimPrefix(rest, " ")
		}
		s = rest
		at = strings.Index(s, MarkerStart)
	}
	plain.WriteString(s)
	out := plain.String()
	if s == "" {
		out = strings.TrimSuffix(out, " ")
	}
	return out, nil
}

// marker applies one marker, unless it has for=another model: a prompt that goes from model to model can fail at one of them.
func (k *Knobs) marker(fields []string) error {
	with, mine := *k, true
	for _, field := range fields {
		key, value, _ := strings.Cut(field, "=")
		if key == "for" {
			mine = value == k.Name || value == k.Base
			continue
		}
		if err := with.Set(key, value); err != nil {
			return err
		}
	}
	if mine {
		*k = with
	}
	return nil
}

// ParseName splits a model's name: base[-fault-u7[-variant]][@key=value,...]. A name "fault-u7" without a base is the chat model.
func (k *Knobs) ParseName(name string) (base string, err error) {
	base, settings, _ := strings.Cut(name, "@")
	defer func() { k.Name, k.Base = name, base }()
	base = "-" + base
	if b, f, found := strings.Cut(base, "-fault-"); found {
		base = b
		if base == "" {
			base = "-chat"
		}
		if err := k.Set("fault", f); err != nil {
			return "", err
		}
	}
	if settings != "" {
		for _, field := range strings.Split(settings, ",") {
			key, value, _ := strings.Cut(field, "=")
			if err := k.Set(key, value); err != nil {
				return "", err
			}
		}
	}
	return base[1:], nil
}

// IsPlain reports whether nothing was set.
func (k *Knobs) IsPlain() bool { return *k == Knobs{Name: k.Name, Base: k.Base, After: -1} }
