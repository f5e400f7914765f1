// Package completion is the canonical form of one request and of the events of its answer. Styles (the wires of
// clients) decode requests into it and encode answers from it; dialects (the wires of upstreams) do the reverse. They do not depend on
// each other.
package completion

import (
	"cmp"
	"fmt"
	"sync/atomic"
	"time"

	"weir/internal/catalog"
	"weir/internal/routing"
	"weir/internal/task"
	"weir/internal/usage"
)

// Style is the wire that a client uses.
type Style uint8

// The styles.
const (
	Chat Style = iota
	Responses
	Messages
	Gemini
)

// Member is one top-level member of a request body, as offsets into Body.
type Member struct {
	Name       string
	Start, End int // from the name's opening quote to the end of the value: Body[Start:End] is `"name":value`
	Value      int // start of the value
}

// Memory counts the bytes that a call holds in memory until it has ended.
type Memory interface {
	// Force adds n bytes to the count. It is safe for concurrent use.
	Force(n int64)
}

// Buffers lends memory for large answers. What is lent is counted, as by Memory, and serves other calls after this one has ended: nothing
// that outlives the call may keep a view of it. Its methods are safe for concurrent use.
type Buffers interface {
	// Lend returns an empty slice with room for at least n bytes.
	Lend(n int) []byte
	// Return gives back early what Lend returned, which nothing may have a view of.
	Return(b []byte)
}

// Request is one request. It is not changed after decoding, because the next attempt starts from the same request.
//
// A dialect that uses the client's wire copies Body in parts, so that fields unknown here go upstream byte for byte.
type Request struct {
	Task    task.Task // nil for a chat; of the other fields, a task uses only Models, Preferences, Needs, Stream, User and Account
	Style   Style
	Source  Source   // makes the canonical form of Body
	Body    []byte   // the client's JSON object, checked, never edited
	Members []Member // its top-level members, in the client's order, names unique

	Models      []string // effective list: model, then models, without duplicates; at least one
	Preferences routing.Preferences
	Needs       routing.Needs

	Unknown   []string // members of a task's body that no provider gets
	Elsewhere bool     // another endpoint can be asked when this one is silent; set for each attempt

	Remaining        time.Duration // with Elsewhere, after which time no other is asked any more; 0: unbounded
	Stream           bool
	IncludeUsage     bool  // stream_options.include_usage
	N                int   // number of answers requested, at least 1
	MaxTokens        int64 // cap of the answer's tokens, 0 when the client gave none
	Lowered          bool  // MaxTokens is less than in Body: see Within
	Reasoning        Reasoning
	Prefill          bool            // the last message is the assistant's: the answer continues it
	SessionID        string          // sticky-routing key and grouping, "" when none
	User             string          // client's own user id; goes upstream only as a hash
	Account          string          // account that User belongs to: part of the hash, so that other accounts' hashes differ
	Metadata         []byte          // JSON object without white space, stored with the call; nil when none
	MessagesAt       Span            // the messages array inside Body
	CacheKey         Span            // the client's cache key inside Body: requests with the same key share a provider's cache; empty when none
	Opening          [2]Span         // first instruction and first other message, inside Body: the same in all calls of a conversation
	History          []byte          // JSON list of earlier items in the style's format, placed before the input; nil: the body is complete
	Query            string          // query of the client's URL with its question mark, where it is forwarded: "?beta=true"
	Version          string          // version of the wire that the client sent in a header, "" none
	Betas            []string        // beta features that the client requested in headers, as written
	Permitted        map[string]bool // members of the messages style that go to a provider, because a feature was left out; nil: all of them
	HasRoles         Roles           // what occurs in the messages: a dialect decides by it whether to rewrite them
	Signature        string          // newest provider signature on reasoning or a tool call in the conversation, "" none: its issuer recognises it
	WithoutReasoning bool            // leave out reasoning of earlier turns, because the upstream refused it
	Translate        bool            // the body must not be sent as it is, even to a provider of its own wire: something in it is for the gateway, or unknown
	Compact          bool            // the answer is to stand for the conversation: see package wire/responses
	Heal             bool            // repair malformed JSON of a whole answer
	Revised          Revision        // parts of the prompt that differ from the body
	Format           *Format         // required format of the answer, nil: any text
	Search           *Search         // web search requested by a plugin or a suffix, in addition to the body; nil: none

	Traceparent string // header of the request to the provider, "" none

	Deferred *Deferred // the request goes to the provider as a part of a batch; nil: by itself

	Used *Used // what the attempt at a provider was made with; nil: it is not asked for

	Memory  Memory  // counts the memory that answers take; nil: not counted
	Buffers Buffers // memory for an answer that is passed on as bytes; nil: it is allocated
}

// Used says with which credential of a provider an attempt was made.
type Used struct{ key atomic.Pointer[string] }

// Set notes the tag of a credential. Of calls at the same time that make one attempt, the last counts.
func (u *Used) Set(key *string) {
	if u != nil {
		u.key.Store(key)
	}
}

// Take is what was noted since the last time, "" nothing.
func (u *Used) Take() string {
	if key := u.key.Swap(nil); key != nil {
		return *key
	}
	return ""
}

// Chats reports whether the request is a chat and not a task.
func (r *Request) Chats() bool { return r.Task == nil }

// As returns the request with the changes that the variant suffix of a model's slug requires. Without changes it returns the receiver.
func (r *Request) As(v catalog.Variant) *Request {
	switch {
	case v == catalog.Thinking && !r.Reasoning.Chosen():
		out := *r
		out.Reasoning.Set, out.Reasoning.Enabled, out.Translate = true, true, true
		return &out
	case v == catalog.Online:
		out := *r
		out.Needs.Web = true
		if out.Search == nil {
			out.Search = &Search{}
		}
		return &out
	}
	return r
}

// Within returns the request with no longer an answer than an endpoint gives, and the notice of it. Without a change it returns the receiver.
func (r *Request) Within(ep *catalog.Endpoint) (*Request, string) {
	if !r.Chats() || r.MaxTokens == 0 || ep.Params&(catalog.ParamMaxTokens|catalog.ParamMaxCompletionTokens) == 0 {
		return r, ""
	}
	needs := r.Needs
	needs.MaxTokens = r.MaxTokens // the messages style does not route by it
	most := needs.Answer(ep)
	if most == r.MaxTokens {
		return r, ""
	}
	out := *r
	out.MaxTokens, out.Lowered = most, true
	out.Needs.MaxTokens = min(out.Needs.MaxTokens, most)
	name := cmp.Or(r.Needs.MaxTokensName, "max_tokens")
	return &out, fmt.Sprintf("%s was lowered from %d to %d, the most that this provider of the model gives.", name, r.MaxTokens, most)
}

// Paid lists what the request costs in addition to its tokens.
func (r *Request) Paid() catalog.Paid {
	if r.Needs.Web {
		return r.Needs.Paid | catalog.PaidWebSearch
	}
	return r.Needs.Paid
}

// Calls is how often each tool that the provider runs is held for: as often as the request allows, or else so many times.
func (r *Request) Calls(unbounded int64) usage.Calls {
	calls, paid := usage.Calls(r.Needs.Uses), r.Paid()
	for i := range calls {
		switch {
		case paid&(1<<i) == 0:
			calls[i] = 0
		case calls[i] == 0:
			calls[i] = unbounded
		}
	}
	return calls
}

// Span is a range of Body; empty when the member is absent.
type Span struct{ Start, End int }

// Roles is a set of things that occur in the messages. A dialect skips the rewriting of those that do not occur.
type Roles uint16

// Things in messages that some servers require in another form.
const (
	HasDeveloper        Roles = 1 << iota // a developer message
	HasFunctionRole                       // a deprecated function message or function_call
	HasReasoning                          // an assistant message with reasoning, reasoning_content or reasoning_details
	HasToolParts                          // a tool message whose content is an array
	HasCacheControl                       // a cache_control or prompt_cache_breakpoint marker
	HasThoughtSignature                   // a tool call with a reasoning_signature
	HasOldVideo                           // a content part of the older type input_video
	HasBareFunction                       // a function whose parameters are missing or have no type, in tools or functions
	HasNulls                              // an optional field of a message that is null, or an empty answer
	HasLateSystem                         // a system or developer message after another message
	HasGatewayFields                      // images, annotations or other fields that only gateways and the helpers of client libraries write
	HasRefused                            // in the messages style: a text of white space, or a media type by a name that is not the registered one
)

// Reasoning holds the client's reasoning settings, whichever of the accepted fields they came in.
type Reasoning struct {
	Set       bool
	Effort    string // "", "none", "minimal", "low", "medium", "high", "xhigh", "max"
	MaxTokens int64  // budget, 0 when none
	Exclude   bool   // reason, but return none of it
	Enabled   bool   // requested without an effort
	Disabled  bool   // switched off
	Summary   string
}

// Chosen reports whether the client set the amount of reasoning, and not only whether to show it.
func (r *Reasoning) Chosen() bool {
	return r.Effort != "" || r.MaxTokens > 0 || r.Enabled || r.Disabled
}

// FinishReason says why an answer ended. Its values are those of the chat style.
type FinishReason string

// The finish reasons. An empty one means that the answer has not ended.
const (
	Stop          FinishReason = "stop"
	Length        FinishReason = "length"
	ToolCalls     FinishReason = "tool_calls"
	ContentFilter FinishReason = "content_filter"
	Failed        FinishReason = "error"
)

// Head describes an answer as a whole, as the upstream reported it. Fields that were not reported are empty.
type Head struct {
	ID          string
	Model       string // the upstream's name of the model
	Fingerprint string
	Tier        string
	Notice      string // sentences that say which parts of the request were not sent upstream
}

// MaxCalls bounds the tool calls of a choice.
const MaxCalls = 1024

// ToolCall is a tool call or a fragment of one. Fragments of several calls may alternate; package calls brings them into the order of a style.
type ToolCall struct {
	Index     int    // 0, 1, ... within the choice, in the order in which the calls began, whatever numbers the upstream used
	ID        string // in one fragment, mostly the first; "" where the upstream wrote none
	Name      string // may come late, and in pieces
	Arguments []byte // decoded text of this fragment. An object without members is the same as no arguments
	Signature string // thought signature, complete
	Custom    bool   // type "custom": Arguments is its free-form input
	Extra     []byte // raw `"name":value,...` members that the canonical form has no field for

	First bool // the call begins here: set by package calls
	Last  bool // the call ends here. A dialect whose wire says so sets it; where none is, the call ends with the choice
}

// Event is one piece of an answer: the content of one upstream frame for one choice.
// Byte slices are views into a buffer of the decoder, valid until the next event; copy them to keep them.
//
// A whole (not streamed) answer is the same sequence with everything of a choice in one event.
type Event struct {
	Head   *Head // set on the first event, nil after it
	Choice int   // 0..n-1; -1 when the frame belongs to no choice

	Text             []byte // decoded text
	Reasoning        []byte // decoded text
	Refusal          []byte // decoded text
	Sentence         bool   // Refusal is the provider's own sentence, and no output of the model: it has no tokens
	ReasoningDetails []byte // raw JSON array of reasoning_details entries, complete or fragments
	ToolCalls        []ToolCall
	Images           []byte // raw JSON array of image entries
	ImageCount       int    // number of entries in Images: some prices are per image
	Audio            []byte // raw JSON object
	Annotations      []byte // raw JSON array
	Logprobs         []byte // raw JSON object {content, refusal}

	Finish       FinishReason // set on the choice's last event
	NativeFinish string       // finish reason as the upstream wrote it

	Result    *task.Result // a piece of a task's result, nil none
	Signature string       // signature by which the provider recognises its reasoning in a later request, "" none
	Called    *usage.Usage // calls so far of tools that the provider runs; nil: none, or reported in Usage only
	Usage     *usage.Usage // cumulative: a later one replaces an earlier one
	Replaces  bool         // counts of Usage may be lower than earlier ones: the last report of this wire is that of the whole answer
	Opening   bool         // Usage was reported before the content of this event

	// Frames are the upstream's own events, or its whole answer, where the endpoint uses the client's wire: the client gets them as they
	// are. The other fields then hold only what is metered. Frames before the first content are in the first event.
	Frames []Frame

	FrameExtra  []byte // raw members `"name":value,...` next to choices, unknown to the canonical form
	ChoiceExtra []byte // the same inside the choice
	DeltaExtra  []byte // the same inside the delta or message

	Done bool // the upstream ended the answer: nothing follows. A sequence without it has failed
}

// Frame is one event of a stream as the upstream wrote it, or a whole answer.
type Frame struct {
	Name string // name of the event, "" for a whole answer and on wires without event names
	Data []byte // checked JSON
}

// HasContent reports whether the event has model output or a finish reason. The first such event makes an attempt a success.
func (e *Event) HasContent() bool {
	return len(e.Text) > 0 || len(e.Reasoning) > 0 || len(e.Refusal) > 0 || len(e.ToolCalls) > 0 || len(e.Images) > 0 ||
		len(e.Audio) > 0 || len(e.ReasoningDetails) > 0 || len(e.Annotations) > 0 || e.Result != nil || (e.Finish != "" && e.Finish != Failed)
}
