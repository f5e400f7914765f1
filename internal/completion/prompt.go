package completion

import (
	"slices"

	"weir/internal/encoded"
)

// Prompt is the content of a request in the form that all wires share. A dialect encodes it when its wire is not the client's.
// It is made from the body on demand, because most requests go upstream on the wire they arrived on.
//
// Byte slices are views into the request's Body, or were made for it; they must not be changed. Numbers are kept as the client wrote them.
type Prompt struct {
	System   []Part // instructions before the conversation, in order
	Turns    []Turn // the conversation; neighbours may have the same role
	Tools    []Tool
	Choice   Choice
	Serial   bool // no parallel tool calls
	Sampling Sampling
	Stop     []string
	Format   Format
	Audio    *AudioOutput // set when the output modalities include audio
	Search   *Search
	Safety   []byte // JSON list of safety settings of the Gemini wire, nil: none
	Cache    Cache  // mark on the whole request: applies to its last block that can be cached
	CacheKey string
	Files    []ReadFile
}

// Filler is the text of a message that would be empty, which most wires refuse.
const Filler = "..."

// Role is the author of a turn.
type Role uint8

// The roles. Results of tools are parts of a User turn; System is an instruction inside the conversation.
const (
	User Role = iota
	Assistant
	System
)

// Turn is one message of the conversation.
type Turn struct {
	Role  Role
	Name  string // name of the author, "" when missing
	Parts []Part
	At    Span // the message in Body that is exactly this turn; empty when there is none or the turn was changed
}

// PartKind reports which fields of a Part count.
type PartKind uint8

// The kinds of parts.
const (
	TextPart      PartKind = iota // Text
	RefusalPart                   // Text
	ImagePart                     // Media
	AudioPart                     // Media
	FilePart                      // Media
	VideoPart                     // Media
	CallPart                      // Call; in an Assistant turn
	ResultPart                    // Result; in a User turn
	ReasoningPart                 // Thought; in an Assistant turn, at its place
)

// Part is a piece of a turn.
type Part struct {
	Kind      PartKind
	Text      string
	Media     *Media
	Call      *Call
	Result    *Result
	Reasoning *ReasoningDetail
	Cache     Cache
}

// Cache is a mark that asks to cache the prompt up to and including this place: "" none, "5m" or "1h".
type Cache string

// Marks counts the cache marks.
func (p *Prompt) Marks() (n int) {
	count := func(c Cache) {
		if c != "" {
			n++
		}
	}
	in := func(parts []Part) {
		for i := range parts {
			count(parts[i].Cache)
		}
	}
	for i := range p.Tools {
		count(p.Tools[i].Cache)
	}
	in(p.System)
	for i := range p.Turns {
		in(p.Turns[i].Parts)
	}
	count(p.Cache)
	return n
}

// Media is content other than text, given by value or by address.
type Media struct {
	Type   string         // media type such as "image/png", "" unknown
	Base64 encoded.Base64 // none when only an address or id is given
	URL    string         // address, when not given by value
	FileID string         // a provider's own id
	Name   string         // file name
	Detail string         // of an image: "", "auto", "low", "high", "original"
}

// Call is a tool call by the assistant.
type Call struct {
	ID        string
	Name      string
	Arguments []byte // JSON object as text, "{}" for none; free text when Custom
	Custom    bool
	Signature string // thought signature that belongs to it
}

// Result is the result of a tool call.
type Result struct {
	CallID string
	Name   string // name of the tool, taken from the call; "" when unknown
	Parts  []Part // text and media
	Failed bool
}

// ReasoningKind reports what a Thought holds.
type ReasoningKind uint8

// The kinds of reasoning.
const (
	ReasoningText      ReasoningKind = iota // Text, and Signature where the provider signs
	ReasoningSummary                        // Text
	ReasoningEncrypted                      // Data
)

// Formats of reasoning. Each belongs to one group of providers, and reasoning goes back only to a provider that accepts its format.
const (
	FormatUnknown   = "unknown"
	FormatAnthropic = "anthropic-claude-v1"
	FormatGoogle    = "google-gemini-v1"
	FormatOpenAI    = "openai-responses-v1"
	FormatAzure     = "azure-openai-responses-v1"
	FormatXAI       = "xai-responses-v1"
	FormatGigaChat  = "gigachat-v1"
)

// listedFormats are the formats that clients know. They drop details of any other, and encrypted reasoning with them.
// Source: OpenRouter's description of reasoning_details and its official client.
var listedFormats = []string{FormatUnknown, FormatOpenAI, FormatAzure, "bedrock-openai-responses-v1", "bedrock-xai-responses-v1", FormatXAI, "meta-responses-v1", FormatAnthropic, FormatGoogle}

// ShownFormat is the format that clients read in reasoning_details: the format itself if they know it, else FormatUnknown. What comes back
// under FormatUnknown and must go to its own provider only is packed with its true format.
func ShownFormat(format string) string {
	if slices.Contains(listedFormats, format) {
		return format
	}
	return FormatUnknown
}

// ReasoningDetail is a piece of reasoning of an answer. The client sends it back with the conversation.
type ReasoningDetail struct {
	Kind      ReasoningKind
	Format    string // "": not given
	ID        string // the provider's id of the item, or of the tool call that it belongs to
	Text      string
	Signature string
	Data      string
	Origin    string // the provider's model that made it, where only that model accepts it; "": any model of the format
}

// Tool is something that the model may call.
type Tool struct {
	Name        string
	Description string
	Parameters  []byte // JSON schema, nil: none
	Strict      *bool
	Custom      bool     // takes free text
	Grammar     *Grammar // of a custom tool's text, nil: any text
	Cache       Cache
	Hosted      []byte // the whole declaration of a tool that the provider runs itself, as the client wrote it; else nil
	HostedType  string // its type
}

// Grammar is the form that the text of a custom tool must have.
type Grammar struct {
	Syntax     string // "lark", "regex"
	Definition string
}

// ChoiceMode says whether the model may or must call tools.
type ChoiceMode uint8

// The modes of a tool choice.
const (
	ChoiceUnset ChoiceMode = iota
	ChoiceAuto
	ChoiceNone
	ChoiceRequired // any of them
	ChoiceTool     // the named one
)

// Choice is the tool choice.
type Choice struct {
	Mode    ChoiceMode
	Name    string   // of ChoiceTool
	Custom  bool     // the named one takes free text
	Allowed []string // with ChoiceAuto or ChoiceRequired: only these; nil: all
}

// Sampling holds the sampling parameters. Texts are JSON numbers as written, "" when absent.
type Sampling struct {
	Temperature, TopP, TopK, MinP, TopA                  string
	FrequencyPenalty, PresencePenalty, RepetitionPenalty string
	Seed                                                 string
	Logprobs                                             bool
	TopLogprobs                                          int
	LogitBias                                            []byte // JSON object
	Verbosity                                            string
}

// FormatKind is the kind of format required of an answer.
type FormatKind uint8

// The formats.
const (
	FormatText FormatKind = iota
	FormatJSON            // any JSON object
	FormatSchema
)

// Format is the required format of an answer.
type Format struct {
	Kind        FormatKind
	Name        string
	Description string
	Schema      []byte // JSON schema
	Strict      *bool
}

// AudioOutput holds the requested voice and format of audio output.
type AudioOutput struct{ Voice, Format string }

// Search asks the provider to search the web.
type Search struct {
	ContextSize string // "", "low", "medium", "high"
	MaxResults  int    // 0: the provider's default
	Location    []byte // JSON object, nil: none
	Include     []string
	Exclude     []string
}

// NoticeSearch says that the client's web search tool was not sent to the provider, which has no web search. Coding agents offer this
// tool by default.
const NoticeSearch = "The web search was left out, because the provider has none."

// Source makes the canonical form of a request. Each style is one.
type Source interface {
	// Prompt reads req.Body, which the style has checked. It fails with fault.Invalid or fault.InvalidPrompt where the body has
	// something that the canonical form cannot express.
	Prompt(req *Request) (*Prompt, error)
}

// Prompt is the canonical form of the request. Each call makes it again and does not store it: failover is rare, and attempts should
// hold little memory.
func (r *Request) Prompt() (*Prompt, error) {
	p, err := r.Source.Prompt(r)
	if err != nil {
		return nil, err
	}
	if r.WithoutReasoning {
		p.forget()
	}
	if p.Search == nil {
		p.Search = r.Search
	}
	return p, nil
}

// FreeText is the name of the one argument of a function that stands for a tool that takes free text.
const FreeText = "input"

// NoticeGrammar says that a grammar does not bind the model.
const NoticeGrammar = "The provider does not enforce the grammar of a tool's text: it is a part of the tool's description."
