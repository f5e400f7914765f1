// Package routing chooses which endpoints may serve a request and in what order, and gives the reasons. Plan is a pure function of its
// arguments: it reads no clock, no network and no shared state.
package routing

import (
	"cmp"
	"math/big"
	"time"

	"weir/internal/catalog"
	"weir/internal/money"
	"weir/internal/promptcache"
)

// Preferences is the request field provider: what the caller requires of the providers.
type Preferences struct {
	Order             []string
	Only              []string
	Ignore            []string
	Within            [][]string // only of the account and of the key: an endpoint must be named in each of these as well as in Only
	Models            [][]string // only of the account and of the key: the model must match a pattern of each of these; see Matches
	NoFallbacks       bool       // allow_fallbacks: false
	AllowFallbacks    bool       // allow_fallbacks: true was written; it matters to Merge alone
	RequireParameters bool
	DenyCollection    bool // data_collection: deny
	ZDR               bool
	Quantizations     []string
	Sort              string // "", "price", "throughput", "latency"; "exacto" is the same as "", but said
	SortAcrossModels  bool   // sort.partition: none
	MaxPrice          *MaxPrice
	MinThroughput     Cutoffs // tokens/s: endpoints missing any go to the end
	MaxLatency        Cutoffs // seconds to first content
	Batch             string  // who makes the requests of a batch: "" or "auto", BatchOwn, BatchNative
}

// Values of Preferences.Batch: this gateway alone, or providers' batches alone.
const (
	BatchOwn    = "own"
	BatchNative = "native"
)

// MaxPrice is a set of ceilings in rubles; nil means no ceiling. They are decimal text turned exact, never floats.
type MaxPrice struct {
	Prompt, Completion    *big.Rat // per 1000 tokens
	Request, Image, Audio *big.Rat // per one
}

// Cutoffs are percentile limits; 0 means none.
type Cutoffs struct{ P50, P75, P90, P99 float64 }

// Needs are the requirements of the request itself for an endpoint.
type Needs struct {
	Params        catalog.Params   // parameters present
	Input         catalog.Modality // modalities in the prompt
	Output        catalog.Modality // modalities asked for; 0: text
	N             int
	PromptTokens  int64  // estimate
	Dense         int64  // times as many tokens as estimated that text can have; 0: the estimate is the most
	MediaTokens   int64  // of PromptTokens, those of images, audio and files
	MediaMost     int64  // that these can have, by their size
	Open          bool   // some media come by address: their length is unknown
	Tokenized     bool   // the prompt came as tokens: only endpoints with the same tokenizer qualify
	Longest       int64  // tokens, at the least, of the longest of several inputs that an upstream reads each for itself; 0: they are one, of PromptTokens
	FileTokens    int64  // of them, those of files
	MaxTokens     int64  // answer tokens asked for, 0: none given
	MaxTokensName string // field that asks for them, for errors; "": max_tokens
	Cut           bool   // an answer of fewer tokens will do: endpoints that give less than MaxTokens qualify
	Batch         bool   // the request goes to a provider as a part of a batch: only endpoints for that qualify
	Endpoint      string // id of the only endpoint that qualifies, "" any
	Tier          string // service tier asked for: "flex", "priority" or its alias "fast"; anything else asks for no tier
	Web           bool
	Advisor       bool                       // a tool of a second model of the provider's, which is left out
	Search        bool                       // only endpoints with web search qualify
	Paid          catalog.Paid               // features of the request that have a separate price: only endpoints with that price qualify
	Uses          [catalog.HostedTools]int64 // how often each tool that the provider runs may be used, as the request says; 0: it does not
	Region        string                     // where the client requires its answer to be computed, "" anywhere
	Passed        string                     // wire on which providers get the client's tools unchanged, "" none: others get only the tools that they can run
	Shrink        Shrink                     // whether the prompt may be shortened for endpoints that it is too long for
	Readable      bool                       // files of the prompt can be turned into text for endpoints that take no files
	Wire          string                     // dialect whose endpoints take the request byte for byte, and are preferred for it; "" none
}

// Medium adds an image, audio or a file to the prompt: how many tokens it usually has and how many it can have.
func (n *Needs) Medium(usual, most int64) {
	n.PromptTokens += usual
	n.MediaTokens += usual
	n.MediaMost += max(usual, most)
}

// PromptMost is the largest number of tokens that the prompt can have, without files and images given by address.
func (n *Needs) PromptMost() int64 {
	text := max(n.PromptTokens-n.MediaTokens, 0)
	return max(text, text*n.Dense) + max(n.MediaMost, n.MediaTokens)
}

// Shrink says for which endpoints a prompt may be shortened.
type Shrink uint8

// The answers.
const (
	ShrinkNone  Shrink = iota
	ShrinkSmall        // those whose context is small: SmallContext tokens at most
	ShrinkAny
)

// SmallContext is up to how many tokens a context is small.
const SmallContext = 8192

// Room is how many tokens of a shortened prompt an endpoint has room for, in addition to the answer asked for or, when no length is, a quarter of
// its context; 0 when the prompt may not be shortened for it.
func (n *Needs) Room(ep *catalog.Endpoint) int64 {
	if n.Shrink == ShrinkNone || n.Shrink == ShrinkSmall && ep.ContextLength > SmallContext {
		return 0
	}
	answer := n.MaxTokens
	if n.Cut {
		answer = n.Answer(ep)
	}
	if answer == 0 {
		answer = ep.ContextLength / 4
		if ep.MaxCompletion > 0 {
			answer = min(answer, ep.MaxCompletion)
		}
	}
	return max(ep.ContextLength-answer, 0)
}

// Answer is how many of the answer tokens asked for an endpoint gives, where it has fewer: as many as it has, or of one whose context is all that
// bounds an answer, as many as the prompt leaves. 0: no number was asked for.
func (n *Needs) Answer(ep *catalog.Endpoint) int64 {
	switch {
	case ep.MaxCompletion > 0:
		return min(n.MaxTokens, ep.MaxCompletion)
	case ep.ContextLength > 0 && n.MaxTokens >= ep.ContextLength:
		return max(ep.ContextLength-n.PromptTokens, 1)
	}
	return n.MaxTokens
}

// TooLong reports whether the prompt and the answer asked for are more than an endpoint's context.
func (n *Needs) TooLong(ep *catalog.Endpoint) bool {
	prompt := cmp.Or(n.Longest, n.PromptTokens)
	if n.FileTokens > 0 && n.Readable && n.Unread(ep) {
		prompt -= n.FileTokens // how long their text is shows when they are read
	}
	answer := n.MaxTokens
	if n.Cut {
		answer = n.Answer(ep)
	}
	return ep.ContextLength > 0 && prompt+answer > ep.ContextLength
}

// Unread reports whether the prompt has files that this otherwise suitable endpoint does not take.
func (n *Needs) Unread(ep *catalog.Endpoint) bool { return n.Input&^ep.Input == catalog.File }

// Health is the recent behaviour of an endpoint; zero values mean unknown.
type Health struct {
	Failing    bool       // a significant outage now: load balancing puts it after the stable ones
	CoolDown   bool       // in cool-down: goes to the very end, whatever the order
	Ejected    bool       // ejected: gets no calls at present and goes even after those in cool-down
	Latency    [4]float64 // seconds to first content: p50 p75 p90 p99
	Throughput [4]float64 // tokens per second that this share of the answers reaches at least: p50 p75 p90 p99
}

// Service is whether an operator lets an endpoint serve.
type Service uint8

// The answers.
const (
	InService Service = iota
	Drained           // it gets no new calls; those under way may still try it
	Cut               // ejected by an operator: it gets none at all
)

// Query is one question to Plan.
type Query struct {
	Models      []string // effective list, in order, variant suffixes included
	Preferences Preferences
	Needs       Needs
	Health      func(endpoint string) Health  // by endpoint id; nil: nothing is known
	Out         func(endpoint string) Service // by endpoint id; nil: all are in service
	Rand        func() float64                // in [0,1); decides the weighted draw
	Prefer      string                        // id of the endpoint whose cache the conversation is in: it is not drawn for, but taken; "" none
	Issuer      bool                          // Prefer has signed the conversation's reasoning, which others may refuse
	MaxAttempts int                           // 0: DefaultMaxAttempts
	Type        string                        // model type wanted; "": "chat"
	At          time.Time                     // when the call begins, for prices that depend on the hour
	Own         []Own                         // the caller's own keys, at most one of a provider
	Explain     bool                          // fill Plan.Candidates, with sentences for what was dropped

	// Rest is what the rest of the conversation is expected to cost at an endpoint with these prices: load balancing goes by it, so that a
	// conversation stays with a cache as long as that is worth it. nil: it is not known, or no cache is worth anything.
	Rest func(ep *catalog.Endpoint, prices *catalog.Prices) promptcache.Forecast

	// Price is what the request usually costs at an endpoint, to compare endpoints of what is not priced by tokens alone. nil: the price of
	// 1000 tokens of the prompt and 1000 of the answer.
	Price func(ep *catalog.Endpoint) money.Nano
}

// DefaultMaxAttempts is how many upstream tries a call may make when the query does not say.
const DefaultMaxAttempts = 6

// Attempt is one upstream try of a plan.
type Attempt struct {
	Endpoint *catalog.Endpoint
	Slug     string          // requested model that it serves, variant suffix kept: the name that the client sees
	Variant  catalog.Variant // the suffix, for what it changes in the request itself (":thinking")
}

// Candidate is one endpoint that was considered, and the decision about it.
type Candidate struct {
	Endpoint  *catalog.Endpoint
	DroppedBy string  // the filter that removed it: "only", "max_price", ...; "" when it is in the plan
	Detail    string  // one sentence with the figures that decided; of a candidate in the plan, what its cache is expected to save
	Order     int     // place among the attempts, from 1; 0 when dropped or beyond the last attempt
	Score     float64 // the value by which it was sorted; Reason says which value that is
	Reason    string  // one of the Reason constants; "" when dropped
	Slug      string  // requested model it was looked at for, variant suffix kept
}

// Plan is the result: which endpoints to try, in order, and the decision about every candidate.
type Plan struct {
	Attempts   []Attempt
	Retired    []string    // models of the list that no provider serves any more; they were passed over
	Candidates []Candidate // in the order of models and their endpoints; nil unless the query asked to explain
}
