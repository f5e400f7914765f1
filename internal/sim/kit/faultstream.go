package kit

import (
	"bytes"
	"compress/flate"
	"compress/gzip"
	"encoding/binary"
	"hash/crc32"
	"net/http"
	"strconv"
	"time"
	"unicode/utf8"
)

func badGzip(x *Exchange, r *Reply) {
	body := r.Body()
	if r.Stream {
		body = nil
		for f := range r.Frames {
			body = x.wire.append(body, f)
		}
	}
	var packed bytes.Buffer
	z := gzip.NewWriter(&packed)
	z.Write(body) //nolint:errcheck // into memory
	z.Close()     //nolint:errcheck // into memory
	out := packed.Bytes()
	switch x.Knobs.how {
	case "truncated":
		out = out[:len(out)/2]
	case "rubbish":
		out = []byte("this was never compressed, whatever the header says")
	}
	x.w.Header().Set("Content-Encoding", "gzip")
	if !r.Stream {
		x.setContentType(r)
		x.status(200, out)
		return
	}
	x.OpenStream()
	x.Put(out)
}

const (
	tooManyBytes = 256 << 20
	mebibyte     = 1 << 20
)

// hugeBody sends a body of the given size, compressed to a thousandth or as it is. A reader that reads all of it finds a
// valid answer with one more member, or a stream with one endless line.
func hugeBody(x *Exchange, r *Reply) {
	total := x.Knobs.bytesOr(tooManyBytes)
	body := r.Body()
	before, after := body, []byte(nil)
	if len(body) > 0 && body[0] == '{' {
		before, after = []byte(`{"filler":"`), append([]byte(`",`), body[1:]...)
	}
	if r.Stream {
		before, after = x.wire.flood(total)
	}
	filler := bytes.Repeat([]byte("a"), mebibyte)
	if x.Knobs.how == "bomb" {
		x.w.Header().Set("Content-Encoding", "gzip")
	}
	if r.Stream {
		x.OpenStream()
	} else {
		x.setContentType(r)
	}
	if x.Knobs.how == "bomb" {
		x.bomb(before, filler, after, total)
		return
	}
	if !x.Put(before) {
		return
	}
	for left := total; left > 0 && x.Put(filler[:min(left, mebibyte)]); left -= mebibyte {
		if x.left() {
			return
		}
	}
	x.Put(after)
}

// bomb compresses a mebibyte once and sends it repeatedly. In the deflate format each piece is independent, so a bomb of any size costs
// little memory and time.
func (x *Exchange) bomb(before, filler, after []byte, total int64) {
	var one bytes.Buffer
	z, err := flate.NewWriter(&one, flate.BestCompression)
	if err != nil {
		panic("sim: the compression level is a constant: " + err.Error())
	}
	pack := func(b []byte, last bool) []byte {
		one.Reset()
		z.Reset(&one)
		z.Write(b) //nolint:errcheck // into memory
		if last {
			z.Close() //nolint:errcheck // into memory
		} else {
			z.Flush() //nolint:errcheck // into memory
		}
		return bytes.Clone(one.Bytes())
	}
	sum, size := crc32.ChecksumIEEE(before), uint32(len(before)+len(after))
	gzipHead := []byte{0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 255}
	if !x.Put(append(gzipHead, pack(before, false)...)) {
		return
	}
	packed := pack(filler, false)
	for left := total; left > 0; left -= mebibyte {
		sum = crc32.Update(sum, crc32.IEEETable, filler)
		size += mebibyte
		if !x.Put(packed) || x.left() {
			return
		}
	}
	end := pack(after, true)
	sum = crc32.Update(sum, crc32.IEEETable, after)
	end = binary.LittleEndian.AppendUint32(end, sum)
	x.Put(binary.LittleEndian.AppendUint32(end, size))
}

const dripGap = 100 * time.Millisecond

// drip makes slow progress that does not end within a reasonable time: byte by byte, or the same frame again and again.
func drip(x *Exchange, r *Reply) {
	gap := x.Knobs.Gap
	if !x.Knobs.hasGap && gap == 0 {
		gap = dripGap
	}
	if !r.Stream {
		body := r.Body()
		x.head(r, len(body))
		for i := range body {
			if !x.Put(body[i:i+1]) || !x.Wait(gap) {
				return
			}
		}
		return
	}
	x.Knobs.Gap = gap
	x.OpenStream()
	for f := range r.Frames {
		if f.Kind == Content {
			// the frame is repeated until the client leaves or the server closes
			again := f
			again.Data = bytes.Clone(f.Data)
			for x.s.Stalls.Err() == nil && x.send(again) && x.Wait(gap) {
			}
			if !x.gone {
				x.cut()
			}
			return
		}
		if !x.emit(f) {
			return
		}
	}
}

const (
	floodBytes = 80_000
	floodCount = 32
)

func headerFlood(x *Exchange, r *Reply) {
	if x.Knobs.how == "1xx" {
		x.w.Header().Set("Link", "</style.css>; rel=preload")
		count := x.Knobs.count
		if count == 0 {
			count = floodCount
		}
		for range count {
			x.w.WriteHeader(http.StatusEarlyHints)
		}
		x.w.Header().Del("Link")
		x.plain(r)
		return
	}
	size, line := int(min(x.Knobs.bytesOr(floodBytes), 64<<20)), 1000
	if x.Knobs.how == "line" {
		line = size
	}
	filler := string(bytes.Repeat([]byte("f"), line))
	for i := 0; i*line < size; i++ {
		x.w.Header().Set("X-Sim-Filler-"+strconv.Itoa(i), filler)
	}
	x.plain(r)
}

const longLineBytes = 5 << 20

func longLine(x *Exchange, r *Reply) {
	if !r.Stream {
		x.plain(r)
		return
	}
	x.OpenStream()
	x.sendInserting(r, 0, func() bool {
		total := x.Knobs.bytesOr(longLineBytes)
		before, after := x.wire.flood(total)
		if x.Knobs.how == "comment" && !x.wire.Binary {
			before, after = []byte(": "), []byte("\n\n")
		}
		filler := bytes.Repeat([]byte("a"), 64<<10)
		if !x.Put(before) {
			return false
		}
		for left := total; left > 0; left -= int64(len(filler)) {
			if !x.Put(filler[:min(left, int64(len(filler)))]) {
				return false
			}
		}
		if x.Knobs.how == "endless" {
			x.stall()
			return false
		}
		return x.Put(after)
	})
}

func badFrame(x *Exchange, r *Reply) {
	if !r.Stream {
		x.plain(r)
		return
	}
	x.OpenStream()
	x.sendInserting(r, framesBefore, func() bool {
		f := x.wire.TextFrame("cut")
		switch x.Knobs.how {
		case "text":
			f.Data = []byte("Internal Server Error")
		case "utf8":
			f = x.wire.TextFrame("\xff\xfe")
		default:
			f.Data = f.Data[:bytes.Index(f.Data, []byte("cut"))+len("cut")]
		}
		return x.send(f)
	})
}

func afterDone(x *Exchange, r *Reply) {
	if !r.Stream {
		x.plain(r)
		return
	}
	x.OpenStream()
	var again, last Frame
	for f := range r.Frames {
		if f.Kind == Content && again.Data == nil {
			again = f
			again.Data = bytes.Clone(f.Data)
		}
		last = f
		if !x.emit(f) {
			return
		}
	}
	if x.Knobs.how == "frames" {
		x.send(again)
		x.send(again)
	}
	x.send(last)
}

func noContent(x *Exchange, r *Reply) {
	if !r.Stream {
		x.status(200, r.EmptyBody())
		return
	}
	x.OpenStream()
	how := x.Knobs.how
	if how == "comments" && !x.wire.Binary {
		for range 3 {
			x.Put([]byte(": nothing yet\n\n"))
		}
	}
	for f := range r.Frames {
		keep := f.Kind == Opening && how == "role" || f.Kind == Done && (how == "role" || how == "done")
		if keep && !x.emit(f) {
			return
		}
	}
}

// oddStream sends the answer with every spelling that the format of server-sent events allows.
func oddStream(x *Exchange, r *Reply) {
	if !r.Stream {
		x.plain(r)
		return
	}
	x.OpenStream()
	o := oddities{x: x}
	if x.wire.Binary {
		o.inPieces(r)
		return
	}
	if o.has("bom") && !x.Put([]byte("\xef\xbb\xbf")) {
		return
	}
	for f := range r.Frames {
		if !x.pace(f.Kind) || !o.send(f) {
			return
		}
	}
}

type oddities struct {
	x *Exchange
	n int // frames sent
}

func (o *oddities) has(how string) bool { return o.x.Knobs.how == how || o.x.Knobs.how == "all" }

// lineEnd returns the line end of the variant; the variant "all" uses all of them in turn.
func (o *oddities) lineEnd() string {
	switch {
	case o.x.Knobs.how == "crlf" || o.x.Knobs.how == "all" && o.n%3 == 1:
		return "\r\n"
	case o.x.Knobs.how == "cr" || o.x.Knobs.how == "all" && o.n%3 == 2:
		return "\r"
	}
	return "\n"
}

func (o *oddities) send(f Frame) bool {
	end := o.lineEnd()
	o.n++
	dst := o.x.Buf[:0]
	if o.has("comments") {
		dst = append(append(dst, ": a comment"...), end...)
		dst = append(append(dst, ':'), end...)
	}
	if o.has("empty") && f.Kind == Content {
		dst = append(append(append(o.event(dst, o.x.wire.IdleFrame.Event, end), "data: "...), o.x.wire.IdleFrame.Data...), end...)
		dst = append(dst, end...)
	}
	dst = o.event(dst, f.Event, end)
	if o.has("fields") {
		dst = append(strconv.AppendInt(append(dst, "id: "...), int64(o.n), 10), end...)
		dst = append(append(dst, "retry: 3000"...), end...)
		dst = append(append(dst, "unknown: field"...), end...)
		dst = append(append(dst, "flag"...), end...)
	}
	dst = o.data(dst, f.Data, end)
	dst = append(dst, end...)
	o.x.Buf = dst
	if o.has("split") {
		return o.split(dst)
	}
	return o.x.Put(dst)
}

// event writes the line with an event's name. The name "message" is the default, so an event without a name may have it.
func (o *oddities) event(dst []byte, name, end string) []byte {
	if name == "" && o.has("fields") {
		name = "message"
	}
	if name == "" {
		return dst
	}
	return append(append(append(dst, "event: "...), name...), end...)
}

func (o *oddities) data(dst, data []byte, end string) []byte {
	field := "data: "
	if o.has("nospace") {
		field = "data:"
	}
	for range 2 { // three lines; between members a line end is white space
		at := topComma(data)
		if !o.has("multiline") || at < 0 {
			break
		}
		dst = append(append(append(dst, field...), data[:at+1]...), end...)
		data = data[at+1:]
	}
	return append(append(append(dst, field...), data...), end...)
}

// topComma returns the offset of the first comma between members of the outermost object, or -1. data may begin after such
// a comma.
func topComma(data []byte) int {
	depth := 0
	for i := 0; i < len(data); i++ {
		switch data[i] {
		case '{', '[':
			depth++
		case '}', ']':
			depth--
		case '"':
			end := StringEnd(data, i)
			if end < 0 {
				return -1
			}
			i = end
		case ',':
			if depth == 1 && data[0] == '{' || depth == 0 {
				return i
			}
		}
	}
	return -1
}

// inPieces is oddStream for a stream without lines: events are split at any byte.
func (o *oddities) inPieces(r *Reply) {
	for f := range r.Frames {
		if !o.x.pace(f.Kind) || !o.split(o.x.wire.append(nil, f)) {
			return
		}
	}
}

// splitPause makes it likely that the pieces are sent in separate segments.
const splitPause = time.Millisecond

// split writes a frame in three pieces. The cuts are inside a character of several bytes if there is one.
func (o *oddities) split(b []byte) bool {
	cut := len(b) / 2
	for i, c := range b {
		if !utf8.RuneStart(c) {
			cut = i
			break
		}
	}
	for _, piece := range [...][]byte{b[:cut], b[cut : cut+1], b[cut+1:]} {
		if !o.x.Put(piece) || !o.x.Wait(splitPause) {
			return false
		}
	}
	return true
}
