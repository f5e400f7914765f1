package tokenizer

// Gauge estimates the tokens of a text as it passes, from what kinds of bytes it has, without reading it a second time and without memory of
// its own. It takes a nanosecond for each byte, where counting by a vocabulary takes hundreds. The zero value is an empty text.
type Gauge struct {
	sums  [2]uint64 // likely, most; in parts of a token
	after byte      // class of the last byte
}

// parts of a token that weights are in.
const parts = 64

// Classes of bytes: the byte before decides whether a byte begins something.
const (
	other byte = iota
	blank
	letter // of the ASCII alphabet, small
	digit
	classes
)

// weight is what a byte adds: likely in the lower half, most in the upper half.
type weight uint64

func weigh(likely, most float64) weight {
	return weight(likely*parts+0.5) | weight(most*parts+0.5)<<32
}

// weights are those of a byte after one of a class; classOf returns the class of a byte.
var weights, classOf = makeTable()

func makeTable() (w [classes][256]weight, of [256]byte) {
	for class := range w {
		for c := range w[class] {
			w[class][c], of[c] = weighByte(byte(class), byte(c))
		}
	}
	return w, of
}

// weighByte weighs a byte and returns its class. The likely weights fit prose, code and tables in the vocabulary of this package; the most are what the least
// economical of common vocabularies makes of them: a token for each digit and sign, two for an ideograph.
func weighByte(behind, c byte) (weight, byte) {
	switch {
	case c == ' ' || c == '\t':
		if behind == blank {
			return weigh(0.06, 0.5), blank // indentation
		}
		return weigh(0.42, 0.7), blank // the beginning of a word
	case c == '\n' || c == '\r':
		if behind == blank {
			return weigh(0.1, 1), blank
		}
		return weigh(0.6, 1), blank
	case c >= 'a' && c <= 'z':
		if behind == letter || behind == blank {
			return weigh(0.155, 0.5), letter
		}
		return weigh(0.3, 0.75), letter
	case c >= 'A' && c <= 'Z':
		return weigh(0.34, 0.8), other // each begins something
	case c >= '0' && c <= '9':
		if behind == digit {
			return weigh(0.34, 1), digit
		}
		return weigh(0.7, 1), digit
	case c < 0x20 || c == 0x7f:
		return weigh(0.5, 1), other
	case c < 0x80:
		return weigh(0.6, 1), other
	case c < 0xc0: // the rest of a character
		return weigh(0, 0), other
	case c < 0xe0: // Cyrillic, Greek, Arabic, letters with accents
		return weigh(0.24, 1), other
	case c < 0xe2: // Indian scripts, Thai
		return weigh(0.4, 2), other
	case c < 0xf0: // ideographs, kana, Korean
		return weigh(0.85, 2), other
	default:
		return weigh(1.6, 4), other
	}
}

// Add takes in a piece of the text.
func (g *Gauge) Add(piece []byte) {
	const run = 1 << 16 // bytes whose weights fit into half a word
	class := g.after
	for len(piece) > 0 {
		n := min(len(piece), run)
		var sum weight
		for _, c := range piece[:n] {
			sum += weights[class&(classes-1)][c]
			class = classOf[c]
		}
		g.sums[0] += uint64(uint32(sum))
		g.sums[1] += uint64(sum >> 32)
		piece = piece[n:]
	}
	g.after = class
}

// Likely is about how many tokens the text has.
func (g *Gauge) Likely() int64 { return int64((g.sums[0] + parts - 1) / parts) }

// Most is how many tokens the text has at most, by nearly any vocabulary.
func (g *Gauge) Most() int64 { return int64((g.sums[1] + parts - 1) / parts) }
