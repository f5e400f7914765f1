package completion

// Prompt is the content of a request in the form that all wires share: what a dialect encodes when its wire is not the client's.
// It is made from the body on demand, because most requests travel on the wire they came by.
//
// Byte slices are views into the request's Body, or were made for it; nobody changes them. Numbers are kept as the client wrote them.
type Prompt struct {
	System   []Part // instructions in front of the conversation, in order
	Turns    []Turn // the conversation; neighbours may have the same role
	Tools    []Tool
	Choice   Choice
	Serial   bool // no parallel tool calls
	Sampling Sampling
	Stop     []string
	Format   Format
	Audio    *AudioOutput // asked for with audio among the output modalities
	Search   *Search
	Cache    Cache // mark on the request as a whole: on its last block that can be cached
	CacheKey string
	Files    []ReadFile
	Extra    []Member // members of Body that the canonical form has no place for, for wires that know them
}

// Role is who speaks in a turn.
type Role uint8

// The roles. Results of tools are parts of a User turn; System is an instruction inside the conversation.
const (
	User Role = iota
	Assistant
	System
)

// Turn is what one side said.
type Turn struct {
	Role  Role
	Name  string // of the speaker, "" when not told
	Parts []Part
	At    Span // of the message in Body that it is all of, empty when there is none or the turn was changed
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
	ReasoningPart                 // Thought; in an Assistant turn, where it stood
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

// Cache is a mark behind which the prompt is to be cached: "" none, "5m" or "1h".
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

// Media is something that is no text, by value or by address.
type Media struct {
	Type   string // media type such as "image/png", "" unknown
	Base64 []byte // standard base64 without line ends; nil when only an address or id is given
	URL    string // address, when not given by value
	FileID string // a provider's own id
	Name   string // file name
	Detail string // of an image: "", "auto", "low", "high", "original"
}

// Call is a tool call that an assistant made.
type Call struct {
	ID        string
	Name      string
	Arguments []byte // JSON object as text, "{}" for none; free text when Custom
	Custom    bool
	Signature string // thought signature that belongs to it
}

// Result is what a tool answered.
type Result struct {
	CallID string
	Name   string // of the tool, found from the call; "" when unknown
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

// Formats of reasoning: whose they are. A piece of reasoning goes back only to a provider that knows its format.
const (
	FormatUnknown   = "unknown"
	FormatAnthropic = "anthropic-claude-v1"
	FormatGoogle    = "google-gemini-v1"
	FormatOpenAI    = "openai-responses-v1"
	FormatAzure     = "azure-openai-responses-v1"
	FormatXAI       = "xai-responses-v1"
	FormatGigaChat  = "gigachat-v1"
)

// ReasoningDetail is a piece of reasoning that an answer had, and that comes back with it.
type ReasoningDetail struct {
	Kind      ReasoningKind
	Format    string // "": none was told
	ID        string // the provider's id of the item, or of the tool call that it belongs to
	Text      string
	Signature string
	Data      string
	Origin    string // the model of the provider whose it is, where that matters; "": any model of the format
}

// Tool is something that the model may call.
type Tool struct {
	Name        string
	Description string
	Parameters  []byte // JSON schema, nil: none
	Strict      *bool
	Custom      bool // takes free text
	Cache       Cache
	Hosted      []byte // the whole declaration of a tool that the provider runs itself, as the client wrote it; else nil
	HostedType  string // its type
}

// ChoiceMode is how free the model is to call tools.
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

// Sampling steers the choice of tokens. Texts are JSON numbers as written, "" when absent.
type Sampling struct {
	Temperature, TopP, TopK, MinP, TopA                  string
	FrequencyPenalty, PresencePenalty, RepetitionPenalty string
	Seed                                                 string
	Logprobs                                             bool
	TopLogprobs                                          int
	LogitBias                                            []byte // JSON object
	Verbosity                                            string
}

// FormatKind is the shape that an answer must have.
type FormatKind uint8

// The formats.
const (
	FormatText FormatKind = iota
	FormatJSON            // any JSON object
	FormatSchema
)

// Format is the shape asked for.
type Format struct {
	Kind        FormatKind
	Name        string
	Description string
	Schema      []byte // JSON schema
	Strict      *bool
}

// AudioOutput is how spoken output is wanted.
type AudioOutput struct{ Voice, Format string }

// Search asks the provider to search the web.
type Search struct {
	ContextSize string // "", "low", "medium", "high"
	MaxResults  int    // 0: the provider's default
	Location    []byte // JSON object, nil: none
	Include     []string
	Exclude     []string
}

// NoticeSearch reports that a web search which the client offered to the model did not go to the provider, who has none. Coding agents
// offer one without being asked.
const NoticeSearch = "The web search was left out, because the provider has none."

// Source makes the canonical form of a request. Each style is one.
type Source interface {
	// Prompt reads req.Body, which the style has checked. It fails with fault.Invalid or fault.InvalidPrompt where something that
	// travels on its own wire cannot be said in the canonical form.
	Prompt(req *Request) (*Prompt, error)
}

// Prompt is the canonical form of the request. It is made anew at each call: attempts that fail over are rare, and what they hold
// on to should be little.
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
