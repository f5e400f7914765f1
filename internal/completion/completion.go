// Package completion is the canonical form of one request and of the events that answer it. Styles (what clients
// speak) decode into it and encode from it, dialects (what upstreams speak) the other way round; neither knows the other.
package completion

import (
	"weir/internal/catalog"
	"weir/internal/routing"
	"weir/internal/task"
	"weir/internal/usage"
)

// Style is the wire a client speaks.
type Style uint8

// The styles.
const (
	Chat Style = iota
	Responses
	Messages
)

// Member is one top-level member of a request body, as offsets into Body.
type Member struct {
	Name       string
	Start, End int // of the name's opening quote and behind the value: Body[Start:End] is `"name":value`
	Value      int // start of the value
}

// Memory counts the bytes that a call holds in memory until it has ended.
type Memory interface {
	// Force counts n more. It is safe for concurrent use.
	Force(n int64)
}

// Request is one request. It is not changed after decoding: the next attempt starts from the same.
//
// A dialect that speaks the client's own wire splices Body, so that fields unknown here travel on byte for byte.
type Request struct {
	Task    task.Task // what is asked for where it is no text: then only Models, Preferences, Needs, Stream, User and Account count beside it
	Style   Style
	Source  Source   // makes the canonical form of Body
	Body    []byte   // the client's JSON object, checked, never edited
	Members []Member // its top-level members, in the client's order, names unique

	Models      []string // effective list: model, then models, without duplicates; at least one
	Preferences routing.Preferences
	Needs       routing.Needs

	Stream           bool
	IncludeUsage     bool  // stream_options.include_usage
	N                int   // answers asked for, at least 1
	MaxTokens        int64 // cap of the answer's tokens, 0 when the client gave none
	Reasoning        Reasoning
	Prefill          bool     // the last message is the assistant's: the answer continues it
	SessionID        string   // sticky-routing key and grouping, "" when none
	User             string   // client's own user id; goes upstream only as a hash
	Account          string   // whose user ids they are: goes into their hash, so that nobody else can recognise one
	Metadata         []byte   // JSON object without blanks, nil when none: kept with the call
	MessagesAt       Span     // the messages array inside Body
	CacheKey         Span     // the client's name, inside Body, of what shares a provider's cache; empty when it gives none
	Opening          [2]Span  // first instruction and first other message, inside Body: the same in all calls of a conversation
	History          []byte   // JSON list of what was said before, in the style's own items, in front of the input; nil: the body has it all
	Query            string   // of the client's URL, with its question mark, where it travels on: "?beta=true"
	Version          string   // version of the client's wire that it names in a header, "" none
	Betas            []string // features of the wire that it asks for in headers, as written
	HasRoles         Roles    // which message roles occur: tells a dialect whether messages need rewriting
	Signature        string   // the newest one that a provider put on reasoning or a tool call of the conversation, "" none: its issuer knows it again
	WithoutReasoning bool     // reasoning of earlier turns stays out: the upstream has refused it
	Heal             bool     // malformed JSON of a whole answer is to be mended
	Revised          Revision // parts of the prompt that are not the body's any more
	Format           *Format  // shape that the answer must have, nil: any text
	Search           *Search  // asked for as a plugin or by a suffix, beside what the body says; nil: not

	Memory Memory // told of what answers take; nil: nobody counts
}

// Chats reports whether the request asks for text in a conversation, and not for a task.
func (r *Request) Chats() bool { return r.Task == nil }

// As is the request as the variant suffix of a model's slug wants it: the receiver itself where the suffix changes nothing in it.
func (r *Request) As(v catalog.Variant) *Request {
	switch {
	case v == catalog.Thinking && !r.Reasoning.Chosen():
		out := *r
		out.Reasoning.Set, out.Reasoning.Enabled = true, true
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

// Span is a range of Body; empty when the member is absent.
type Span struct{ Start, End int }

// Roles is a set of what occurs in the messages, so that a dialect can skip rewriting what is not there.
type Roles uint16

// What messages may hold that some servers want written differently.
const (
	HasDeveloper        Roles = 1 << iota // a developer message
	HasFunctionRole                       // a deprecated function message or function_call
	HasReasoning                          // an assistant message with reasoning, reasoning_content or reasoning_details
	HasToolParts                          // a tool message whose content is an array
	HasCacheControl                       // a cache_control or prompt_cache_breakpoint marker
	HasThoughtSignature                   // a tool call with a reasoning_signature
	HasOldVideo                           // a content part of the older type input_video
	HasBareFunction                       // a function without parameters, in tools or functions
	HasNulls                              // an optional field of a message that is null
	HasGatewayFields                      // images, annotations or other fields that only gateways write
)

// Reasoning is what the client asked about reasoning, in any of its spellings.
type Reasoning struct {
	Set       bool
	Effort    string // "", "none", "minimal", "low", "medium", "high", "xhigh", "max"
	MaxTokens int64  // budget, 0 when none
	Exclude   bool   // reason, but return none of it
	Enabled   bool   // asked for without an effort
	Disabled  bool   // switched off
	Summary   string
}

// Chosen reports whether the client asked for more or less reasoning, and not merely how to show it.
func (r *Reasoning) Chosen() bool {
	return r.Effort != "" || r.MaxTokens > 0 || r.Enabled || r.Disabled
}

// FinishReason is why an answer ended, in the words of the chat style.
type FinishReason string

// The finish reasons. The empty one means that the answer has not ended.
const (
	Stop          FinishReason = "stop"
	Length        FinishReason = "length"
	ToolCalls     FinishReason = "tool_calls"
	ContentFilter FinishReason = "content_filter"
	Failed        FinishReason = "error"
)

// Head is what an upstream says of an answer as a whole. Empty fields were not told.
type Head struct {
	ID          string
	Model       string // the upstream's name of the model
	Fingerprint string
	Tier        string
	Notice      string // sentences on what of the request did not reach the upstream
}

// ToolCall is a tool call or a fragment of one. ID, Name and Signature stand in its first fragment only.
type ToolCall struct {
	Index     int // 0, 1, ... within the choice, without gaps, whatever the upstream wrote
	ID        string
	Name      string
	Arguments []byte // decoded text of this fragment
	Signature string // thought signature, complete
	Custom    bool   // type "custom": Arguments is its free-form input
	Extra     []byte // raw `"name":value,...` members that the canonical form does not know
}

// Event is one piece of an answer: what one upstream frame said of one choice.
// Byte slices are views into a buffer of the decoder, valid until the next event; who keeps them copies them.
//
// A whole (not streamed) answer is the same sequence with everything of a choice in one event.
type Event struct {
	Head   *Head // set on the first event, nil after it
	Choice int   // 0..n-1; -1 when the frame speaks of no choice

	Text             []byte // decoded text
	Reasoning        []byte // decoded text
	Refusal          []byte // decoded text
	ReasoningDetails []byte // raw JSON array of reasoning_details entries, complete or fragments
	ToolCalls        []ToolCall
	Images           []byte // raw JSON array of image entries
	ImageCount       int    // how many they are: some prices are for each
	Audio            []byte // raw JSON object
	Annotations      []byte // raw JSON array
	Logprobs         []byte // raw JSON object {content, refusal}

	Finish       FinishReason // set on the choice's last event
	NativeFinish string       // the upstream's own word

	Result    *task.Result // a piece of what a task gives, nil none
	Signature string       // what the provider will know its reasoning by when that comes back, "" none
	Called    *usage.Usage // counts, so far, of calls of tools that the provider runs, nil: none, or its usage alone tells
	Usage     *usage.Usage // cumulative: a later one replaces an earlier one
	Opening   bool         // Usage was reported before the content of this event

	// Frames are the upstream's own events, or its whole answer, where the endpoint speaks the client's wire: what the client gets then.
	// The other fields tell what they say as far as it is metered. What came before the first content is in the first event.
	Frames []Frame

	FrameExtra  []byte // raw members `"name":value,...` beside choices, unknown to the canonical form
	ChoiceExtra []byte // the same inside the choice
	DeltaExtra  []byte // the same inside the delta or message

	Done bool // the upstream's own end: nothing follows. A sequence that ends without it has failed
}

// Frame is one event of a stream as the upstream wrote it, or a whole answer.
type Frame struct {
	Name string // of the event, "" where its wire has none and for a whole answer
	Data []byte // checked JSON
}

// HasContent reports whether the event carries model output or an ending: what makes an attempt a success.
func (e *Event) HasContent() bool {
	return len(e.Text) > 0 || len(e.Reasoning) > 0 || len(e.Refusal) > 0 || len(e.ToolCalls) > 0 || len(e.Images) > 0 ||
		len(e.Audio) > 0 || len(e.ReasoningDetails) > 0 || len(e.Annotations) > 0 || e.Result != nil || (e.Finish != "" && e.Finish != Failed)
}
