package chat

import (
	"bytes"
	"net/http"
	"strconv"
	"strings"
	"time"

	"weir/internal/sim/kit"
)

// peeked is what the bench model needs from a request; nothing else of it is read.
type peeked struct {
	model         []byte // as written between the quotes
	stream, usage bool
}

const benchName = "bench"

func (p *peeked) bench() bool {
	return bytes.HasPrefix(p.model, []byte(benchName)) && (len(p.model) == len(benchName) || p.model[len(benchName)] == '@')
}

// peek finds the top-level members model, stream and stream_options without checking anything. A body that is no JSON object gives
// nothing, or something that only the bench model would believe.
func peek(b []byte) (p peeked) {
	depth := 0
	for i := 0; i < len(b); i++ {
		switch b[i] {
		case '{', '[':
			depth++
		case '}', ']':
			depth--
		case '"':
			end := kit.StringEnd(b, i)
			if end < 0 {
				return p
			}
			if depth == 1 {
				p.member(b[i+1:end], b[end+1:])
			}
			i = end
		}
	}
	return p
}

func (p *peeked) member(name, rest []byte) {
	switch string(name) {
	case "model", "stream", "stream_options":
	default:
		return
	}
	rest = bytes.TrimLeft(rest, " \t\r\n")
	if len(rest) == 0 || rest[0] != ':' {
		return // a value
	}
	rest = bytes.TrimLeft(rest[1:], " \t\r\n")
	switch {
	case len(rest) == 0:
	case name[0] == 'm' && rest[0] == '"':
		if end := kit.StringEnd(rest, 0); end > 0 {
			p.model = rest[1:end]
		}
	case len(name) == len("stream"):
		p.stream = rest[0] == 't'
	case name[0] == 's' && rest[0] == '{':
		if end := bytes.IndexByte(rest, '}'); end > 0 {
			p.usage = bytes.Contains(rest[:end], []byte("true")) && bytes.Contains(rest[:end], []byte("include_usage"))
		}
	}
}

// The bench model's answer: 45 tokens in a body of about 1 KB.
const (
	benchPrompt = 123
	benchTokens = 45
)

var (
	benchText  = strings.Repeat("the quiet river carries the cold water past the mill ", 12)[:600]
	benchHead  = `{"id":"chatcmpl-bench","object":"chat.completion`
	benchInfo  = `","created":1735689600,"model":"bench","system_fingerprint":"fp_sim","service_tier":"default","choices":[`
	benchBody  = []byte(benchHead + benchInfo + `{"index":0,"message":{"role":"assistant","content":"` + benchText + `","refusal":null},"logprobs":null,"finish_reason":"stop"}]` + benchUsage(benchTokens) + "}")
	benchSize  = []string{strconv.Itoa(len(benchBody))}
	benchFirst = benchChunk(`{"role":"assistant","content":"","refusal":null}`, "null")
	benchFrame = benchChunk(`{"content":" a word here"}`, "null")
	benchLast  = benchChunk(`{}`, `"stop"`)
	benchDone  = []byte("data: [DONE]\n\n")
)

func benchChunk(delta, finish string) []byte {
	return []byte("data: " + benchHead + ".chunk" + benchInfo + `{"index":0,"delta":` + delta + `,"logprobs":null,"finish_reason":` + finish + "}]}\n\n")
}

func benchUsage(completion int) string {
	return `,"usage":{"prompt_tokens":` + strconv.Itoa(benchPrompt) + `,"completion_tokens":` + strconv.Itoa(completion) +
		`,"total_tokens":` + strconv.Itoa(benchPrompt+completion) +
		`,"prompt_tokens_details":{"cached_tokens":0,"audio_tokens":0},"completion_tokens_details":{"reasoning_tokens":0,"audio_tokens":0}}`
}

// bench answers a request to the bench model; false when it is one for the general path, with a fault or a bad setting.
func (s *Wires) bench(w http.ResponseWriter, r *http.Request, p *peeked, body []byte, started time.Time) bool {
	k := kit.Knobs{After: -1}
	if !benchKnobs(&k, p, body) {
		return false
	}
	if !p.stream && k.IsPlain() && s.Config.Delay == 0 && s.Config.First == 0 {
		c := s.Stats.OfBytes(p.model)
		c.Requests.Add(1)
		h := w.Header()
		h["Content-Type"] = kit.JSONType
		h["Content-Length"] = benchSize
		w.Write(benchBody) //nolint:errcheck // a client that has gone needs no answer
		return true
	}
	x := s.Exchange(kit.ChatWire, w, r, string(p.model), p.stream, &k, started)
	defer x.End()
	if !x.Wait(k.Delay) {
		return true
	}
	if !p.stream {
		x.SendWhole(&kit.Reply{Body: func() []byte { return benchBody }})
		return true
	}
	benchStream(x, p.usage)
	return true
}

// benchKnobs reads the settings in the model's name and in the markers of the body; false when they are not for bench to obey.
func benchKnobs(k *kit.Knobs, p *peeked, body []byte) bool {
	k.Name, k.Base = benchName, benchName
	if len(p.model) > len(benchName) {
		if _, err := k.ParseName(string(p.model)); err != nil {
			return false
		}
	}
	if at := bytes.Index(body, []byte(kit.MarkerStart)); at >= 0 {
		// a marker holds nothing that JSON would escape
		if _, err := k.Markers(string(body[at:])); err != nil {
			return false
		}
	}
	return k.Fault == "" && k.Usage == "" && k.Finish == ""
}

const (
	stampStart  = "@T"
	stampDigits = 19
)

// benchStream sends frames that were written before, each with one write.
func benchStream(x *kit.Exchange, usage bool) {
	frames := benchTokens
	if x.Knobs.Frames > 0 {
		frames = x.Knobs.Frames
	}
	frame, at := benchFrameFor(x)
	x.OpenStream()
	if !x.Put(benchFirst) {
		return
	}
	for i := range frames {
		pause := x.Knobs.Gap
		if i == 0 {
			pause = x.Knobs.First
		}
		if !x.Wait(pause) {
			return
		}
		if at > 0 {
			stamp(frame[at:at+stampDigits], time.Now().UnixNano())
		}
		if !x.Put(frame) {
			return
		}
	}
	x.Buf = append(x.Buf[:0], benchLast...)
	if usage {
		x.Buf = append(x.Buf, "data: "+benchHead+".chunk"+benchInfo+"]"...)
		x.Buf = append(append(x.Buf, benchUsage(frames*max(x.Knobs.Chunk, 1))...), "}\n\n"...)
	}
	x.Put(append(x.Buf, benchDone...))
}

// benchFrameFor is the frame to send and the place of its time stamp, 0 without one.
func benchFrameFor(x *kit.Exchange) (frame []byte, at int) {
	if x.Knobs.Chunk <= 1 && !x.Knobs.Stamp {
		return benchFrame, 0
	}
	said := strings.Repeat(" a word here", max(x.Knobs.Chunk, 1))
	if x.Knobs.Stamp {
		said = stampStart + strings.Repeat("0", stampDigits) + "@" + said
	}
	frame = benchChunk(`{"content":"`+said+`"}`, "null")
	if x.Knobs.Stamp {
		at = bytes.Index(frame, []byte(stampStart)) + len(stampStart)
	}
	return frame, at
}

func stamp(dst []byte, n int64) {
	for i := len(dst) - 1; i >= 0; i-- {
		dst[i] = byte('0' + n%10)
		n /= 10
	}
}
