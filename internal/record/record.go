// Package record is the stored record of a call: enough to bill it, to explain every number of the bill, and to explain its routing. It
// holds no prompt and no answer.
package record

import (
	"time"

	"weir/internal/money"
	"weir/internal/usage"
)

// Call is one request of a client from admission to its end. Text fields from the client are already cut to their limits.
type Call struct {
	Generation string // "gen-<unix seconds>-<20 base62>"
	Request    string // "req_..."
	User       string // "usr_..."
	Wallet     string // "wal_..."
	Key        string // "key_...", "" for calls of the web interface
	API        string // "completions", "responses", "messages", ...
	At         time.Time

	Preset        string // name of the preset that it used, "" none
	PresetVersion int64
	ModelAsked    string // as the client wrote it, or as its preset says
	Model         string // slug that served, variant suffix kept; "" when none did
	Provider      string // slug of the provider that served
	ProviderName  string
	Endpoint      string // id of the endpoint that served
	UpstreamModel string // the provider's id of the model
	UpstreamID    string // the provider's id of the answer
	OwnKey        string // id of the caller's own key that it was served with, "" the gateway's

	Streamed     bool
	Cancelled    bool   // the client went away before the end
	Status       int    // HTTP status the client saw or, in a stream, would have seen
	Error        string // error_type, "" on success
	Finish       string
	NativeFinish string
	Notice       string // sentences about the parts of the request that were not sent to the provider that served

	Usage usage.Usage
	Lines []usage.Line // how Cost was calculated
	Cost  money.Nano   // rounded up once from the sum of Lines
	// Settled calls have a ledger entry, which may be zero; the others cost nothing and are in no activity.
	Settled     bool
	PriceList   string
	Rate        string
	SourcePrice string
	Hold        money.Nano // most that was reserved at any time
	Catalog     string     // version of the snapshot that the call was planned and priced with, "" in records of old

	Lost Lost // of the conversation in caches

	FirstContent time.Duration // from At; 0 without any
	Duration     time.Duration // from At to settlement
	Generating   time.Duration // from first content to the upstream's end

	Candidates []Candidate
	Attempts   []Attempt

	UserAgent  string
	Referer    string
	Title      string
	Session    string
	ClientUser string // the client's own user id
	Metadata   string // JSON object, "" when none
	Parameters string // JSON object of the request's settings, "" when none: numbers and names, never a text

	Member string   // id of the person, or of the service, of an organization for whom the key works; "" in a personal account
	Team   string   // id of that person's team at the time of the call; "" none
	Tags   []string // words by which the account sorts its calls, "name=value" or a name alone: distinct, in order
	Funds  []Fund   // in what the charge counts beside the wallet and the limit of the key
}

// Fund is one interval of a budget, or of the limit of a key above the one that made the call.
type Fund struct {
	ID    string // "bud_..." or "key_..."
	Kind  string // as ledger.Period
	Start int64
	Lease int64 // from which the charge was taken; 0 none
}

// Lost is what a call did not read from a provider's cache although the call before it in its conversation had sent the same.
type Lost struct {
	Tokens  int64
	Why     string     // one of the words below; "" nothing was lost
	Message int64      // of LostPrefix: the first message that differs, from 1; 0: tools or instructions
	From    string     // of LostEndpoint: id of the endpoint that had it
	Cost    money.Nano // what it cost more than reading would have, rounded up
}

// Why something was lost.
const (
	LostEndpoint = "endpoint_changed" // another endpoint served it, which did not have it
	LostPrefix   = "prefix_changed"   // an earlier message, the instructions or the tools differ
	LostExpired  = "expired"          // it was not used for longer than providers keep it
	LostNotKept  = "not_kept"         // none of these: the provider did not read it
)

// The results of calls that have no error_type.
const (
	OK       = "ok"
	Canceled = "canceled"
)

// Result is how a call ended, in one word: OK, Canceled or the error_type.
func (c *Call) Result() string {
	switch {
	case c.Cancelled:
		return Canceled
	case c.Error != "":
		return c.Error
	}
	return OK
}

// ProviderKey is which of the gateway's keys of the provider served the call, as catalog.KeyTag: that of the last attempt at its endpoint. It is "" where none
// served it, and in records of old.
func (c *Call) ProviderKey() string {
	for i := len(c.Attempts) - 1; i >= 0 && c.Endpoint != ""; i-- {
		if a := &c.Attempts[i]; a.Endpoint == c.Endpoint && a.OwnKey == c.OwnKey {
			return a.ProviderKey
		}
	}
	return ""
}

// Candidate is an endpoint that routing looked at, as in routing.Candidate.
type Candidate struct {
	Endpoint  string
	DroppedBy string
	Detail    string
	Order     int
	Score     float64
	Reason    string

	OwnKey string // id of the caller's own key that it would be called with, "" the gateway's

	Slug string // model that it was looked at for, variant suffix kept; "" in records of old, which have no prices either
	// What the call would have been charged by, as far as its prompt could be estimated: rubles per 1000 tokens, and per request.
	Prompt, Completion, PerRequest money.Nano
}

// Words of Candidate.DroppedBy for endpoints that were left out because of how they stood, and not because of the request.
const (
	DroppedEjected = "ejected"        // it failed too often in a row; also a word of Reason
	DroppedFull    = "max_in_flight"  // it had as many attempts as it may have
	DroppedCrowded = "max_user_share" // the account had its share of them
	DroppedOut     = "out_of_service" // an operator took it out
)

// PassedOver reports whether the endpoint could have served the call, and was left out or put last because of how it stood.
func (x *Candidate) PassedOver() bool {
	switch x.DroppedBy {
	case DroppedEjected, DroppedFull, DroppedCrowded, DroppedOut:
		return true
	case "":
		return x.Reason == DroppedEjected
	}
	return false
}

// Attempt is one try at an upstream. Times are from the call's At.
type Attempt struct {
	Endpoint     string
	Provider     string
	Status       int    // HTTP status, 0 without an answer
	Reason       string // error_type, "" for the one that served
	Words        string // what the provider said of the failure, as Words makes it; "" nothing, or an own key was used
	OwnKey       string // id of the caller's own key that it was made with, "" the gateway's
	ProviderKey  string // which of the gateway's keys of the provider it was made with, as catalog.KeyTag; "" with an own key, without any key, and in records of old
	Started      time.Duration
	FirstContent time.Duration // 0 without any
	Ended        time.Duration
}
