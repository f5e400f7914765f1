package wire

import "weir/internal/routing"

// The estimates of an input's tokens are for the size of a hold: they should rather be high than low. Sizes are in bytes of base64.
const (
	LowImageTokens = 85
	FullImage      = 1500 // tokens of a large image at full detail
	mostImage      = 6500 // where a provider divides it into the smallest parts

	bytesPerTokenPlain      = 1000 // uncompressed audio: 43 KB a second at least, 32 tokens a second at most
	bytesPerTokenCompressed = 128  // compressed audio: 4 KB a second at least
	bytesPerTokenFile       = 8
	bytesPerTokenVideo      = 256

	// The densest inputs that a client can choose: audio of 8 KB a second, or of 1 KB compressed, a page of two words.
	denserAudio      = 300
	densestAudio     = 32
	densestFile      = 2
	densestVideo     = 2
	mostFile         = 300_000 // tokens of the largest number of pages that providers read; such pages may have hardly any bytes
	tokensRemoteFile = 4000    // a file or video given by address
)

// TakeImage adds an image of so many tokens to a prompt.
func TakeImage(n *routing.Needs, tokens int64) { n.Medium(tokens, mostImage) }

// TakeAudio adds audio in a format of the chat style.
func TakeAudio(n *routing.Needs, format string, size int) {
	switch format {
	case "wav", "aiff", "pcm16", "pcm24", "flac":
		n.Medium(int64(size)/bytesPerTokenPlain+1, int64(size)/denserAudio+1)
	default:
		n.Medium(int64(size)/bytesPerTokenCompressed+1, int64(size)/densestAudio+1)
	}
}

// TakeFile adds a document; its size is 0 where it is given by address.
func TakeFile(n *routing.Needs, size int) {
	tokens, most := int64(tokensRemoteFile), int64(0)
	if size > 0 {
		tokens, most = int64(size)/bytesPerTokenFile+1, max(int64(size)/densestFile, mostFile)
	}
	n.Medium(tokens, most)
	n.FileTokens += tokens
	n.Open = n.Open || most == 0
}

// TakeVideo adds a video; its size is 0 where it is given by address.
func TakeVideo(n *routing.Needs, size int) {
	tokens, most := int64(tokensRemoteFile), int64(0)
	if size > 0 {
		tokens, most = int64(size)/bytesPerTokenVideo+FullImage, int64(size)/densestVideo+mostImage
	}
	n.Medium(tokens, most)
	n.Open = n.Open || most == 0
}
