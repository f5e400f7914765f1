// Package imagefile recognizes image files: their media type and size, and the sizes and aspect ratios that a request names in other words,
// so that no style and no dialect looks into files itself. It must not decode pixels, and must read no more of a file than its markers.
package imagefile

import (
	"bytes"
	"encoding/base64"
	"encoding/binary"
	"errors"
	"slices"
	"strconv"
	"strings"

	"weir/internal/mediatype"
	"weir/internal/task"
)

// Known reports whether this is the registered media type of a recognized format, as Of returns it.
func Known(mediaType string) bool {
	return slices.ContainsFunc(recognized, func(name string) bool { return mediatype.Of(mediatype.Image, name) == mediaType })
}

// recognized are the formats that Of reads.
var recognized = []string{"png", "jpeg", "webp", "gif", "svg"}

// Info is what a file's bytes show.
type Info struct {
	MediaType     string // of one of the recognized formats, such as "image/png"
	Width, Height int    // pixels, 0 unknown
}

// Of reads the marks of a file. ok is false for what is no image of a kind that is known, and for one that was cut off.
func Of(data []byte) (info Info, ok bool) {
	switch {
	case bytes.HasPrefix(data, []byte(pngMark)):
		return png(data)
	case bytes.HasPrefix(data, []byte("\xff\xd8\xff")):
		return jpeg(data)
	case bytes.HasPrefix(data, []byte("GIF87a")), bytes.HasPrefix(data, []byte("GIF89a")):
		return gif(data)
	case len(data) >= 16 && string(data[:4]) == "RIFF" && string(data[8:12]) == "WEBP":
		return webp(data)
	}
	return svg(data)
}

// New makes the finished image of an index out of a file; ok is false when the file is no image.
func New(index int, data []byte) (p *task.MadeImage, ok bool) {
	info, ok := Of(data)
	if !ok {
		return nil, false
	}
	return &task.MadeImage{Index: index, Data: data, MediaType: info.MediaType, Width: info.Width, Height: info.Height}, true
}

const pngMark = "\x89PNG\r\n\x1a\n"

// png walks over the chunks to the last one (PNG specification, section 5).
func png(data []byte) (Info, bool) {
	const head = len(pngMark) + 8 + 13
	if len(data) < head || string(data[12:16]) != "IHDR" {
		return Info{}, false
	}
	info := Info{mediatype.PNG, side(binary.BigEndian.Uint32(data[16:])), side(binary.BigEndian.Uint32(data[20:]))}
	for at := int64(len(pngMark)); at+12 <= int64(len(data)); {
		if string(data[at+4:at+8]) == "IEND" {
			return info, info.Width > 0 && info.Height > 0
		}
		at += 12 + int64(binary.BigEndian.Uint32(data[at:]))
	}
	return Info{}, false
}

// side is a length in pixels, 0 for one that no image has.
func side(n uint32) int {
	if n > 1<<24 {
		return 0
	}
	return int(n)
}

// jpeg walks over the segments to the frame's head (ITU-T T.81, annex B), and looks for the mark of the end.
func jpeg(data []byte) (Info, bool) {
	if bytes.LastIndex(data, []byte("\xff\xd9")) < 0 {
		return Info{}, false
	}
	for at := 2; at+9 <= len(data) && data[at] == 0xff; {
		kind := data[at+1]
		if kind == 0xff { // a filler
			at++
			continue
		}
		if kind >= 0xc0 && kind <= 0xcf && kind != 0xc4 && kind != 0xc8 && kind != 0xcc {
			info := Info{mediatype.Of(mediatype.Image, "jpeg"), int(binary.BigEndian.Uint16(data[at+7:])), int(binary.BigEndian.Uint16(data[at+5:]))}
			return info, info.Width > 0
		}
		if kind == 0x01 || kind >= 0xd0 && kind <= 0xd8 { // without a length
			at += 2
			continue
		}
		at += 2 + max(int(binary.BigEndian.Uint16(data[at+2:])), 2)
	}
	return Info{}, false
}

func gif(data []byte) (Info, bool) {
	if len(data) < 14 {
		return Info{}, false
	}
	info := Info{mediatype.Of(mediatype.Image, "gif"), int(binary.LittleEndian.Uint16(data[6:])), int(binary.LittleEndian.Uint16(data[8:]))}
	return info, info.Width > 0 && info.Height > 0
}

// webp reads the first chunk, of any of its three kinds (RFC 9649).
func webp(data []byte) (Info, bool) {
	if int64(binary.LittleEndian.Uint32(data[4:]))+8 > int64(len(data)) || len(data) < 30 && string(data[12:16]) != "VP8L" || len(data) < 25 {
		return Info{}, false
	}
	info := Info{MediaType: mediatype.Of(mediatype.Image, "webp")}
	switch string(data[12:16]) {
	case "VP8X":
		info.Width = 1 + int(data[24]) + int(data[25])<<8 + int(data[26])<<16
		info.Height = 1 + int(data[27]) + int(data[28])<<8 + int(data[29])<<16
	case "VP8L":
		bits := binary.LittleEndian.Uint32(data[21:])
		info.Width, info.Height = 1+int(bits&0x3fff), 1+int(bits>>14&0x3fff)
		return info, data[20] == 0x2f
	case "VP8 ":
		if string(data[23:26]) != "\x9d\x01\x2a" {
			return Info{}, false
		}
		info.Width, info.Height = int(binary.LittleEndian.Uint16(data[26:])&0x3fff), int(binary.LittleEndian.Uint16(data[28:])&0x3fff)
	default:
		return Info{}, false
	}
	return info, info.Width > 0 && info.Height > 0
}

// svgHead is within how many bytes the first element of a drawing must begin.
const svgHead = 4 << 10

// svg finds the first element and its size.
func svg(data []byte) (Info, bool) {
	data = bytes.TrimSpace(bytes.TrimPrefix(data, []byte("\xef\xbb\xbf")))
	if len(data) == 0 || data[0] != '<' {
		return Info{}, false
	}
	head := data[:min(len(data), svgHead)]
	at := bytes.Index(head, []byte("<svg"))
	if at < 0 || !bytes.HasPrefix(head, []byte("<svg")) && !bytes.HasPrefix(head, []byte("<?xml")) && !bytes.HasPrefix(head, []byte("<!")) {
		return Info{}, false
	}
	end := bytes.IndexByte(head[at:], '>')
	closed := bytes.HasSuffix(data, []byte("</svg>")) || end >= 0 && bytes.HasSuffix(data, []byte("/>"))
	if end < 0 || !closed {
		return Info{}, false
	}
	tag := string(head[at : at+end])
	info := Info{mediatype.SVG, length(attribute(tag, "width")), length(attribute(tag, "height"))}
	if box := strings.FieldsFunc(attribute(tag, "viewBox"), func(r rune) bool { return r == ' ' || r == ',' }); info.Width*info.Height == 0 && len(box) == 4 {
		info.Width, info.Height = length(box[2]), length(box[3])
	}
	if info.Width*info.Height == 0 {
		info.Width, info.Height = 0, 0
	}
	return info, true
}

// attribute is the value of an attribute of a tag, "" when it has none of that name.
func attribute(tag, name string) string {
	for rest := tag; ; {
		_, after, found := strings.Cut(rest, name+"=")
		if !found {
			return ""
		}
		before := rest[:len(rest)-len(after)-len(name)-1]
		if before != "" && after != "" && strings.IndexByte(" \t\r\n", before[len(before)-1]) >= 0 {
			value, _, _ := strings.Cut(after[1:], after[:1])
			return value
		}
		rest = after
	}
}

// length is a length in pixels, 0 for any other.
func length(text string) int {
	n, err := strconv.ParseFloat(strings.TrimSuffix(strings.TrimSpace(text), "px"), 32)
	if err != nil || n < 1 || n > 1<<20 {
		return 0
	}
	return int(n)
}

var errData = errors.New("the data is not a base64 image")

// FromURL is the file inside a data: address. It fails for other addresses and for what is no base64.
func FromURL(address string) (data []byte, err error) {
	head, encoded, ok := strings.Cut(address, ",")
	if !ok || !IsData(address) || !strings.HasSuffix(strings.ToLower(head), ";base64") {
		return nil, errData
	}
	return FromBase64(encoded)
}

// IsData reports whether an address holds its data itself.
func IsData(address string) bool {
	return len(address) >= 5 && strings.EqualFold(address[:5], "data:")
}

// FromBase64 is the file that was written as base64, with or without its padding.
func FromBase64(encoded string) ([]byte, error) {
	data, err := base64.StdEncoding.DecodeString(encoded)
	if err != nil {
		data, err = base64.RawStdEncoding.DecodeString(encoded)
	}
	if err != nil || len(data) == 0 {
		return nil, errData
	}
	return data, nil
}

// URL is a file as a data: address.
func URL(mediaType string, data []byte) string {
	b := make([]byte, 0, 20+len(mediaType)+base64.StdEncoding.EncodedLen(len(data)))
	b = append(append(append(b, "data:"...), mediaType...), ";base64,"...)
	return string(base64.StdEncoding.AppendEncode(b, data))
}
