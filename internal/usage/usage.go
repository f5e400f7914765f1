// Package usage holds what a call consumed, counted once at the upstream edge, and what that costs.
// Both the client's view and the bill read the same struct; a count that nobody reported differs from zero.
package usage

// Count is a number of something that was reported, or not.
type Count struct {
	N        int64
	Reported bool
}

// Of is a reported count.
func Of(n int64) Count { return Count{N: n, Reported: true} }

// Source tells who counted, and what is to be said of it: a set. It is stored.
type Source uint8

// The sources. None of them: the upstream said so.
const (
	Estimated Source = 1 << iota // we counted, because the upstream said nothing or nonsense, or had not finished saying it
	Capped                       // the upstream's figure was above what the call could consume, and was cut to that
	TooLow                       // the upstream's figure is implausibly below what it delivered
)

// Reported is the source of what the upstream said, and nothing is to be said of it.
const Reported Source = 0

// String is the most notable that is to be said: "capped", "low", "estimated" or "reported".
func (s Source) String() string {
	switch {
	case s&Capped != 0:
		return "capped"
	case s&TooLow != 0:
		return "low"
	case s&Estimated != 0:
		return "estimated"
	}
	return "reported"
}

// Usage is what one call consumed. Prompt includes everything that went in (cached, written, audio, images),
// Completion everything that came out (reasoning, audio, images), as the chat wire counts them;
// a dialect whose wire counts otherwise adds up before it fills this in.
type Usage struct {
	Prompt       Count  // tokens, all of the prompt
	CacheRead    Count  // of Prompt: read from the provider's cache
	CacheWrite   Count  // of Prompt: written to its five-minute cache
	CacheWrite1h Count  // of Prompt: written to its one-hour cache
	PromptAudio  Count  // of Prompt
	PromptImage  Count  // of Prompt
	PromptVideo  Count  // of Prompt
	Completion   Count  // tokens, all of the answer
	Reasoning    Count  // of Completion
	OutputAudio  Count  // of Completion
	OutputImage  Count  // of Completion
	Accepted     Count  // of Completion: accepted prediction tokens
	Rejected     Count  // of Completion: rejected prediction tokens
	WebSearches  Count  // searches run by the provider
	Images       Count  // images produced
	Requests     Count  // requests as the provider bills them, where one of ours is several of its own; not told: one
	Millis       Count  // milliseconds of audio that went in
	Characters   Count  // characters that went in to be spoken
	Kilopixels   Count  // thousands of pixels of the images produced
	Seconds      Count  // seconds of video produced
	WebFetches   Count  // pages that the provider fetched
	FileSearches Count  // searches in files that the provider keeps
	Containers   Count  // containers in which the provider ran code
	MCPCalls     Count  // calls of tools of somebody's server that the provider made
	UpstreamCost string // dollars as the upstream wrote them, decimal text, "" when not told
	Tier         string // service tier that the reply names, "" when not told
	Source       Source
}

// Counts are all counts of u in the order in which records keep them, so new ones come at the end.
func (u *Usage) Counts() [24]*Count {
	return [...]*Count{&u.Prompt, &u.CacheRead, &u.CacheWrite, &u.CacheWrite1h, &u.PromptAudio, &u.PromptImage, &u.PromptVideo,
		&u.Completion, &u.Reasoning, &u.OutputAudio, &u.OutputImage, &u.Accepted, &u.Rejected, &u.WebSearches, &u.Images,
		&u.Requests, &u.Millis, &u.Characters, &u.Kilopixels, &u.Seconds, &u.WebFetches, &u.FileSearches, &u.Containers, &u.MCPCalls}
}

// Kind names one line of a cost.
type Kind uint8

// The kinds of cost lines; the numbers are stored, so they are never reused.
const (
	KindPrompt Kind = iota + 1
	KindCacheRead
	KindCacheWrite
	KindCacheWrite1h
	KindPromptAudio
	KindPromptImage
	KindCompletion
	KindReasoning
	KindOutputAudio
	KindOutputImage
	KindRequest
	KindWebSearch
	KindImage
	KindMinute     // of audio that went in, in thousandths: in records of old
	KindCharacters // that went in to be spoken
	KindMegapixel  // of images produced, in thousandths
	KindVideo      // seconds produced
	KindAudio      // milliseconds that went in
	KindWebFetch
	KindFileSearch
	KindCodeExecution
	KindMCP
)

// Line is one part of a cost: quantity × price, before the one rounding of the whole.
type Line struct {
	Kind     Kind
	Quantity int64
	Price    int64  // 10⁻⁹ rubles per 1000 tokens, characters or thousandths, per minute of audio, or per one for requests, searches, images and seconds
	Dollars  string // what the price was made of, as money.Price has it; "" when it was in rubles, and in records of old
}
