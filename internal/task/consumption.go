package task

import (
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"weir/internal/usage"
)

// Most is nothing beyond the prompt.
func (*Embedding) Most() usage.Usage { return usage.Usage{} }

// Usual is nothing beyond the prompt, whose length is known where it came as tokens.
func (t *Embedding) Usual() usage.Usage {
	u, tokens := usage.Usage{Completion: usage.Of(0)}, int64(0)
	for i := range t.Inputs {
		if t.Inputs[i].Tokens == nil {
			return u
		}
		tokens += int64(len(t.Inputs[i].Tokens))
	}
	u.Prompt = usage.Of(tokens)
	return u
}

// Most is nothing beyond the prompt.
func (*Moderation) Most() usage.Usage { return usage.Usage{} }

// Usual is nothing beyond the prompt.
func (*Moderation) Usual() usage.Usage { return usage.Usage{Completion: usage.Of(0)} }

// Tokens of a second of a recording: what providers usually count, and more than any of them does.
const (
	audioTokens     = 10
	mostAudioTokens = 32
	mostSpoken      = 12 // tokens of text; no speech is faster
)

// Most follows from how long the recording can be.
func (t *Transcription) Most() usage.Usage {
	seconds := int64((t.Duration + time.Second - 1) / time.Second)
	audio, text := mostAudioTokens*(seconds+1), int64(len(t.Prompt))
	for _, ref := range t.SpeakerRefs {
		audio += mostAudioTokens * min(int64(len(ref)/1024)+1, 10) // a reference is 2 to 10 s
	}
	return usage.Usage{
		Millis: usage.Of(t.Duration.Milliseconds()), Prompt: usage.Of(audio + text), PromptAudio: usage.Of(audio),
		Completion: usage.Of(mostSpoken*seconds + 64),
	}
}

// Usual is the recording's duration, and the audio tokens that it usually comes to.
func (t *Transcription) Usual() usage.Usage {
	millis := t.Duration.Milliseconds()
	audio := (millis*audioTokens + 999) / 1000
	return usage.Usage{Millis: usage.Of(millis), Prompt: usage.Of(audio + int64(len(t.Prompt)/4)), PromptAudio: usage.Of(audio)}
}

// Tokens of images.
const (
	mostImageTokens = 6240 // of an image of up to imagePixels at the highest quality
	imagePixels     = 1536 * 1024
	mostReference   = 6500 // of an image that goes in
	previewTokens   = 100
	mostReasoning   = 4096 // of a model's text next to its images
)

// Most follows from how many images of what size are wanted.
func (t *Image) Most() usage.Usage {
	n, pixels := int64(max(t.N, 1)), t.Pixels()
	each := mostImageTokens*max((pixels+imagePixels-1)/imagePixels, 1) + int64(t.Partial)*previewTokens
	refs := int64(len(t.References))
	if t.Mask != "" {
		refs++
	}
	return usage.Usage{
		Prompt: usage.Of(int64(len(t.Prompt)) + refs*mostReference), PromptImage: usage.Of(refs * mostReference),
		Completion: usage.Of(n*each + mostReasoning), OutputImage: usage.Of(n * each),
		Images: usage.Of(n), Kilopixels: usage.Of(n * ((pixels + 999) / 1000)),
	}
}

// usualTokens is how many tokens an image of 1024 x 1024 usually has (OpenAI, "Image generation", cost and latency); one of unknown quality is
// of the middling one.
func (t *Image) usualTokens() int64 {
	switch t.Quality {
	case "low":
		return 272
	case "high", "hd":
		return 4160
	}
	return 1056
}

// Usual is what images of that quality usually cost in tokens, with their previews.
func (t *Image) Usual() usage.Usage {
	n, pixels := int64(max(t.N, 1)), t.Pixels()
	out := n * (t.usualTokens()*max((pixels+imagePixels-1)/imagePixels, 1) + int64(t.Partial)*previewTokens)
	return usage.Usage{
		Prompt: usage.Of(int64(len(t.Prompt)/4 + 1)), Completion: usage.Of(out), OutputImage: usage.Of(out),
		Images: usage.Of(n), Kilopixels: usage.Of(n * ((pixels + 999) / 1000)),
	}
}

// tiers are the pixels of the sizes that have a name.
var tiers = map[string]int64{"512": 512 * 512, "1K": imagePixels, "2K": 4 * imagePixels, "4K": 16 * imagePixels}

// Pixels is how many pixels an image of the size asked for has at most; where none was asked for, what models usually make.
func (t *Image) Pixels() int64 {
	if w, h, ok := Dimensions(t.Size); ok {
		return int64(w) * int64(h)
	}
	for _, name := range []string{t.Size, t.Resolution} {
		if n, ok := tiers[strings.ToUpper(name)]; ok {
			return n
		}
	}
	return imagePixels
}

// Dimensions reads "1024x768".
func Dimensions(size string) (width, height int, ok bool) {
	w, h, found := strings.Cut(size, "x")
	x, errX := strconv.ParseUint(w, 10, 16)
	y, errY := strconv.ParseUint(h, 10, 16)
	return int(x), int(y), found && errX == nil && errY == nil && x > 0 && y > 0
}

// Tokens of a character of speech, at most and usually.
const (
	mostAudio  = 6
	audioTenth = 14 // tenths
)

// Most follows from the text's length.
func (t *Speech) Most() usage.Usage {
	chars := int64(utf8.RuneCountInString(t.Input))
	return usage.Usage{
		Characters: usage.Of(chars), Prompt: usage.Of(int64(len(t.Input) + len(t.Instructions))),
		Completion: usage.Of(mostAudio*chars + 64), OutputAudio: usage.Of(mostAudio*chars + 64),
	}
}

// Usual is the text's length, and the tokens that audio of it usually comes to.
func (t *Speech) Usual() usage.Usage {
	chars := int64(utf8.RuneCountInString(t.Input))
	out := (chars*audioTenth + 9) / 10
	return usage.Usage{
		Characters: usage.Of(chars), Prompt: usage.Of(int64((len(t.Input)+len(t.Instructions))/4 + 1)),
		Completion: usage.Of(out), OutputAudio: usage.Of(out),
	}
}

// searchDocuments is how many documents one search ranks, as providers bill it.
const searchDocuments = 100

// Most is the searches that so many documents are billed as.
func (t *Rerank) Most() usage.Usage { return usage.Usage{Requests: t.searches()} }

// Usual is the same.
func (t *Rerank) Usual() usage.Usage {
	return usage.Usage{Requests: t.searches(), Completion: usage.Of(0)}
}

func (t *Rerank) searches() usage.Count {
	return usage.Of(int64((max(t.Chunks, len(t.Documents), 1) + searchDocuments - 1) / searchDocuments))
}
