// Package routing chooses which endpoints may serve a request and in what order, and says why.
// Plan is a pure function of its arguments: it reads no clock, no network and no shared state.
package routing

import (
	"math/big"

	"weir/internal/catalog"
)

// Preferences is the request field provider: what the caller wants of the providers.
type Preferences struct {
	Order             []string
	Only              []string
	Ignore            []string
	Within            []string // only of the account: an endpoint must be named here as well as in Only
	NoFallbacks       bool     // allow_fallbacks: false
	AllowFallbacks    bool     // allow_fallbacks: true was written; it matters to Merge alone
	RequireParameters bool
	DenyCollection    bool // data_collection: deny
	ZDR               bool
	Quantizations     []string
	Sort              string // "", "price", "throughput", "latency"
	SortAcrossModels  bool   // sort.partition: none
	MaxPrice          *MaxPrice
	MinThroughput     Cutoffs // tokens/s: endpoints missing any go to the end
	MaxLatency        Cutoffs // seconds to first content
}

// MaxPrice is a set of ceilings in rubles; nil means no ceiling. They are decimal text turned exact, never floats.
type MaxPrice struct {
	Prompt, Completion    *big.Rat // per 1000 tokens
	Request, Image, Audio *big.Rat // per one
}

// Cutoffs are percentile limits; 0 means none.
type Cutoffs struct{ P50, P75, P90, P99 float64 }

// Needs is what the request itself demands of an endpoint.
type Needs struct {
	Params       catalog.Params   // parameters present
	Input        catalog.Modality // modalities in the prompt
	Output       catalog.Modality // modalities asked for; 0: text
	N            int
	PromptTokens int64  // estimate
	MaxTokens    int64  // answer tokens asked for, 0: none given
	Tier         string // service tier asked for: "flex", "priority" or its alias "fast"; anything else is none
	Web          bool
}

// Health is what is known of an endpoint's recent behaviour; zero values mean unknown.
type Health struct {
	Failing    bool       // a significant outage now: load balancing puts it behind the stable ones
	CoolDown   bool       // left alone where possible: goes to the very end, whatever the order
	Ejected    bool       // gets no calls at present: goes even behind those
	Latency    [4]float64 // seconds to first content: p50 p75 p90 p99
	Throughput [4]float64 // tokens per second that so many percent of the answers reach: p50 p75 p90 p99
}

// Query is one question to Plan.
type Query struct {
	Models      []string // effective list, in order, variant suffixes included
	Preferences Preferences
	Needs       Needs
	Health      func(endpoint string) Health // by endpoint id; nil: nothing is known
	Rand        func() float64               // in [0,1); decides the weighted draw
	Prefer      string                       // id of the endpoint whose cache the conversation is in: it is not drawn for, but taken; "" none
	MaxAttempts int                          // 0: DefaultMaxAttempts
	Type        string                       // model type wanted; "": "chat"
	Explain     bool                         // fill Plan.Candidates, with sentences for what was dropped
}

// DefaultMaxAttempts is how many upstream tries a call may make when the query does not say.
const DefaultMaxAttempts = 6

// Attempt is one upstream try of a plan.
type Attempt struct {
	Endpoint *catalog.Endpoint
	Slug     string          // requested model that it serves, variant suffix kept: what the client is told
	Variant  catalog.Variant // the suffix, for what it changes in the request itself (":thinking")
}

// Candidate is one endpoint that was looked at, and what became of it.
type Candidate struct {
	Endpoint  *catalog.Endpoint
	DroppedBy string  // the filter that removed it: "only", "max_price", ...; "" when it is in the plan
	Detail    string  // one sentence with the figures that decided
	Order     int     // place among the attempts, from 1; 0 when dropped or beyond the last attempt
	Score     float64 // what it was sorted by; its meaning is Reason's
	Reason    string  // one of the Reason constants; "" when dropped
	Slug      string  // requested model it was looked at for, variant suffix kept
}

// Plan is the answer: which endpoints to try, in order, and what became of every candidate.
type Plan struct {
	Attempts   []Attempt
	Candidates []Candidate // in the order of models and their endpoints; nil unless the query asked to explain
}
