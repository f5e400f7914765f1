package kit

import (
	"bytes"
	"encoding/binary"
	"image"
	"image/color"
	"image/jpeg"
	"image/png"
	"math/bits"
	"strconv"
)

// MaxSide limits the sides of images, in pixels. The limits of the wires are lower.
const MaxSide = 8192

// EncodeImage returns an image file of the given size and format: a pattern of eight by eight squares that depends on the seed.
func EncodeImage(format string, width, height int, clear bool, seed uint64) []byte {
	width, height = min(max(width, 1), MaxSide), min(max(height, 1), MaxSide)
	switch format {
	case "jpeg":
		return encodeJPEG(width, height, seed)
	case "webp":
		return encodeWebP(width, height, clear, seed)
	case "svg":
		return encodeSVG(width, height, seed)
	}
	return encodePNG(width, height, clear, seed)
}

// square reports whether a pixel is in a filled square.
func square(seed uint64, x, y, width, height int) bool {
	return seed>>(8*(y*8/height)+x*8/width)&1 == 1
}

func colorOf(seed uint64) color.RGBA {
	return color.RGBA{R: byte(seed), G: byte(seed >> 8), B: byte(seed >> 16), A: 255}
}

// encodePNG uses two colors, so that even a large image is small and quick to make.
func encodePNG(width, height int, clear bool, seed uint64) []byte {
	ground := color.RGBA{R: 255, G: 255, B: 255, A: 255}
	if clear {
		ground = color.RGBA{}
	}
	img := image.NewPaletted(image.Rect(0, 0, width, height), color.Palette{ground, colorOf(seed)})
	for y := range height {
		row := img.Pix[y*img.Stride : y*img.Stride+width]
		if y > 0 && y*8/height == (y-1)*8/height {
			copy(row, img.Pix[(y-1)*img.Stride:])
			continue
		}
		for x := range row {
			if square(seed, x, y, width, height) {
				row[x] = 1
			}
		}
	}
	var b bytes.Buffer
	if err := png.Encode(&b, img); err != nil {
		panic("sim: a picture in memory cannot fail: " + err.Error())
	}
	return b.Bytes()
}

func encodeJPEG(width, height int, seed uint64) []byte {
	img := image.NewGray(image.Rect(0, 0, width, height))
	for y := range height {
		row := img.Pix[y*img.Stride : y*img.Stride+width]
		if y > 0 && y*8/height == (y-1)*8/height {
			copy(row, img.Pix[(y-1)*img.Stride:])
			continue
		}
		for x := range row {
			row[x] = 230
			if square(seed, x, y, width, height) {
				row[x] = byte(seed) / 2
			}
		}
	}
	var b bytes.Buffer
	if err := jpeg.Encode(&b, img, nil); err != nil {
		panic("sim: a picture in memory cannot fail: " + err.Error())
	}
	return b.Bytes()
}

// encodeWebP makes a lossless image of one color: each code has a single symbol, so the pixels take no bits.
func encodeWebP(width, height int, clear bool, seed uint64) []byte {
	c, alpha := colorOf(seed), byte(255)
	if clear {
		alpha = 0
	}
	w := BitWriter{low: true}
	w.Put(0x2f, 8)
	w.Put(uint64(width-1), 14)
	w.Put(uint64(height-1), 14)
	used := uint64(0)
	if clear {
		used = 1
	}
	w.Put(used, 1)
	w.Put(0, 3) // version
	w.Put(0, 3) // no transform, no color cache, one group of codes
	for _, symbol := range [...]byte{c.G, c.R, c.B, alpha} {
		w.Put(0b101, 3) // a simple code of one symbol of eight bits
		w.Put(uint64(symbol), 8)
	}
	w.Put(0b0001, 4) // distances: the symbol 0 in one bit
	data := w.bytes()
	if len(data)%2 == 1 {
		data = append(data, 0)
	}
	out := binary.LittleEndian.AppendUint32([]byte("RIFF"), uint32(12+len(data)))
	out = append(out, "WEBPVP8L"...)
	return append(binary.LittleEndian.AppendUint32(out, uint32(len(data))), data...)
}

func encodeSVG(width, height int, seed uint64) []byte {
	size := strconv.Itoa(width) + `" height="` + strconv.Itoa(height)
	return []byte(`<svg xmlns="http://www.w3.org/2000/svg" width="` + size + `"><rect width="` + size + `" fill="#` + HexOf(seed)[:6] + `"/></svg>`)
}

// BitWriter writes numbers of a given width in bits, lowest or highest bit first.
type BitWriter struct {
	out  []byte
	bits int
	low  bool
}

// Put writes the low bits of v.
func (w *BitWriter) Put(v uint64, bits int) {
	for i := range bits {
		bit := v >> i & 1
		if !w.low {
			bit = v >> (bits - 1 - i) & 1
		}
		if w.bits%8 == 0 {
			w.out = append(w.out, 0)
		}
		at := w.bits % 8
		if !w.low {
			at = 7 - at
		}
		w.out[len(w.out)-1] |= byte(bit << at)
		w.bits++
	}
}

func (w *BitWriter) bytes() []byte { return w.out }

// ExpGolomb writes an Exp-Golomb number, as in H.264.
func (w *BitWriter) ExpGolomb(v int) {
	n := bits.Len(uint(v + 1))
	w.Put(uint64(v+1), 2*n-1)
}

// NALUnit ends and returns a NAL unit, with escapes so that it contains no start code.
func (w *BitWriter) NALUnit(kind byte) []byte {
	w.Put(1, 1)
	out, zeros := []byte{kind}, 0
	for _, b := range w.out {
		if zeros >= 2 && b <= 3 {
			out, zeros = append(out, 3), 0
		}
		out = append(out, b)
		if zeros++; b != 0 {
			zeros = 0
		}
	}
	return out
}
