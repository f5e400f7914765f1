// Package task is the canonical form of what is asked of models that do not chat, and of what they give back: vectors, verdicts, transcripts,
// images, audio and rankings. Styles decode into it, dialects encode from it. It must not know a wire, a provider or a price.
package task

import (
	"io"
	"time"

	"weir/internal/catalog"
	"weir/internal/usage"
)

// Task is what a request asks for. It is one of the pointers below, and is not changed after decoding: the next attempt starts from the same.
type Task interface {
	// Type is the type of the models that can do it, one of catalog's Type constants.
	Type() string
	// Most is the most that the task can consume, for a hold: what is not Reported in it follows from the prompt's tokens alone.
	Most() usage.Usage
	// Tariff is what the task is charged by for what was made of it; nil: what it is held by, and nothing that may be made of it is dearer.
	Tariff(p *catalog.Pricing, promptTokens int64, m *Made) catalog.Tariff
	// Consumed is what that much of the task consumes where the upstream reports nothing and the result does not show it, and what was counted
	// of it, which holds whatever the upstream reports. What is not Reported of the second is not counted.
	Consumed(m *Made) (usual, counted usage.Usage)
	// Charged reports whether what was made before the answer broke off is charged.
	Charged(m *Made) bool
}

// Embedding asks for one vector for each input.
type Embedding struct {
	Inputs     []Input
	Dimensions int    // 0: the model's own
	InputType  string // what the vectors are for, in the client's words: "search_query", "search_document", ...; "" missing
	Base64     bool   // the client asked for base64; the upstream may be asked for something else
	Numbers    string // quantized numbers that the client asked for: "int8", "uint8", "binary", "ubinary"; "" floats
	Asked      Extra  // the member that has Numbers
	Extra      []Extra
}

// Input is one thing to embed: Tokens, or else Parts.
type Input struct {
	Parts  []Part
	Tokens []int32 // of the model's own tokenizer; nil: Parts
}

// Text is the input's text when it is nothing but one text.
func (in *Input) Text() (text string, plain bool) {
	if in.Tokens == nil && len(in.Parts) == 1 && in.Parts[0].ImageURL == "" {
		return in.Parts[0].Text, true
	}
	return "", false
}

// Part is a piece of an input: an image when ImageURL is set, else a text.
type Part struct {
	Text     string
	ImageURL string // "https://..." or "data:..."
}

// Moderation asks for a verdict on each input.
type Moderation struct {
	Inputs []ModerationInput
	Single bool // the client sent one bare string
	Extra  []Extra
}

// ModerationInput is judged as a whole. Typed reports that the client wrote its parts as objects.
type ModerationInput struct {
	Parts []Part
	Typed bool
}

// Transcription asks what is said in a recording.
type Transcription struct {
	File         File
	Format       string        // of the recording: the name of an audio.Format, such as "mp3"
	MediaType    string        // of the recording, such as "audio/mpeg"
	Duration     time.Duration // as measured, or the most that it can be
	Measured     bool          // Duration is a measurement
	Response     string        // format that the client asked for: "json", "text", "srt", "vtt", "verbose_json", "diarized_json"
	Language     string        // ISO 639-1, "" missing
	Prompt       string
	Temperature  string   // decimal text, "" missing
	Words        bool     // timestamps of words are wanted
	Segments     bool     // timestamps of segments are wanted
	Logprobs     bool     // include[]=logprobs
	Chunking     string   // chunking_strategy as written, "" missing
	SpeakerNames []string // of the references, in the same order
	SpeakerRefs  []string // data URLs
	Extra        []Field  // fields without a place in the canonical form, in the client's order
	Translate    bool     // the text is wanted in English, whatever is spoken
}

// File is bytes that may be read by several at a time and more than once. It outlives every attempt of its call.
type File interface {
	io.ReaderAt
	Size() int64
}

// Field is a field of a form.
type Field struct{ Name, Value string }

// Image asks for images.
type Image struct {
	Prompt      string
	N           int      // images wanted, at least 1
	Size        string   // "auto", "1024x1024" or a tier "512", "1K", "2K", "4K"; "" missing
	Resolution  string   // tier "512", "1K", "2K", "4K"; ""
	AspectRatio string   // "16:9"; ""
	Quality     string   // "auto", "low", "medium", "high", "standard", "hd"; ""
	Background  string   // "auto", "transparent", "opaque"; ""
	Output      string   // output_format: "png", "jpeg", "webp", "svg"; ""
	Compression int      // output_compression 0 to 100; -1 missing
	Seed        *int64   // nil: missing
	References  []string // "https://..." or "data:..." addresses of images to work from
	Mask        string   // address of an image, transparent where the first reference is to change; ""
	Partial     int      // previews wanted while streaming, 0 to 3
	Edit        bool     // the client asked for an edit: names of events differ
	URL         bool     // the client asked for addresses: it gets data URLs beside the base64
	Moderation  string   // "auto", "low"; ""
	Style       string
	Extra       []Extra // properties without a place in the canonical form, in the client's order
	Options     []Extra // provider.options: by provider id, a JSON object of its parameters
}

// Extra is a member of a request without a place in the canonical form: its decoded name and its raw value. Lists of them are in the client's
// order.
type Extra struct {
	Name  string
	Value []byte
}

// Speech asks for speech from a text.
type Speech struct {
	Input        string
	Voice        string
	VoiceID      bool // Voice is the id of a voice of the client's own
	Instructions string
	Format       string  // "mp3", "opus", "aac", "flac", "wav", "pcm"; "" missing
	Speed        string  // decimal text, "" missing
	SSE          bool    // the client asked for events instead of bare bytes
	Extra        []Extra // members without a place in the canonical form
}

// Rerank asks for documents in the order in which they answer a query.
type Rerank struct {
	Query     string
	Documents []string
	TopN      int  // 0: all
	Return    bool // the client asked for the documents back
	Chunks    int  // documents as providers count them: a long one is several
	Extra     []Extra
}

// Type is catalog.TypeEmbedding.
func (*Embedding) Type() string { return catalog.TypeEmbedding }

// Type is catalog.TypeModeration.
func (*Moderation) Type() string { return catalog.TypeModeration }

// Type is catalog.TypeTranscription.
func (*Transcription) Type() string { return catalog.TypeTranscription }

// Type is catalog.TypeImage.
func (*Image) Type() string { return catalog.TypeImage }

// Type is catalog.TypeSpeech.
func (*Speech) Type() string { return catalog.TypeSpeech }

// Type is catalog.TypeRerank.
func (*Rerank) Type() string { return catalog.TypeRerank }
