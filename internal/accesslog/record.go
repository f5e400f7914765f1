package accesslog

import (
	"strconv"
	"time"
	"unicode/utf8"

	"weir/internal/money"
)

// Record is the log entry of one request. It has no field for anything that a client sent to a model.
type Record struct {
	At         time.Time
	Level      string // "INFO", "WARN", "ERROR"
	RequestID  string
	ClientID   string // the client's own X-Request-Id
	Trace      string // of a traced call, in hex
	Socket     string // request id of the WebSocket through which it came, "" none
	Generation string
	User       string
	Key        string // id of the key, never the key
	Method     string
	Route      string // pattern, such as "/v1/keys/{hash}"
	ModelAsked string
	Model      string
	Provider   string
	Status     int
	Reason     string // error_type, "" on success
	Param      string // field that was wrong
	Detail     string // for operators: where it failed and why
	Attempts   int

	PromptTokens     int64
	CompletionTokens int64
	Estimated        bool
	Cost             money.Nano
	Hold             money.Nano // most that was reserved
	FirstContent     time.Duration
	Duration         time.Duration
	BytesIn          int64
	BytesOut         int64
	Address          string
	Streamed         bool
	Canceled         bool
}

// append adds the record as one line of JSON.
func (r *Record) append(b []byte) []byte {
	b = append(b, `{"time":"`...)
	b = r.At.UTC().AppendFormat(b, "2006-01-02T15:04:05.000000Z")
	b = append(b, `","level":"`...)
	b = append(b, r.Level...)
	b = append(b, `","msg":"access","request_id":"`...)
	b = append(b, r.RequestID...)
	b = append(b, '"')
	b = text(b, "generation_id", r.Generation)
	b = text(b, "client_request_id", r.ClientID)
	b = text(b, "trace_id", r.Trace)
	b = text(b, "socket_id", r.Socket)
	b = text(b, "user_id", r.User)
	b = text(b, "key_id", r.Key)
	b = text(b, "method", r.Method)
	b = text(b, "route", r.Route)
	b = append(b, `,"status":`...)
	b = strconv.AppendInt(b, int64(r.Status), 10)
	b = text(b, "reason", r.Reason)
	b = text(b, "param", r.Param)
	b = text(b, "detail", r.Detail)
	b = text(b, "model_asked", r.ModelAsked)
	b = text(b, "model", r.Model)
	b = text(b, "provider", r.Provider)
	b = number(b, "attempts", int64(r.Attempts))
	if r.Generation != "" {
		b = append(b, `,"prompt_tokens":`...)
		b = strconv.AppendInt(b, r.PromptTokens, 10)
		b = append(b, `,"completion_tokens":`...)
		b = strconv.AppendInt(b, r.CompletionTokens, 10)
		b = append(b, `,"cost_nano":`...)
		b = strconv.AppendInt(b, int64(r.Cost), 10)
		b = number(b, "hold_nano", int64(r.Hold))
	}
	b = flag(b, "estimated", r.Estimated)
	b = flag(b, "stream", r.Streamed)
	b = flag(b, "canceled", r.Canceled)
	b = number(b, "ttft_us", r.FirstContent.Microseconds())
	b = append(b, `,"duration_us":`...)
	b = strconv.AppendInt(b, r.Duration.Microseconds(), 10)
	b = number(b, "bytes_in", r.BytesIn)
	b = number(b, "bytes_out", r.BytesOut)
	b = text(b, "address", r.Address)
	return append(b, '}', '\n')
}

// text adds a member unless s is empty.
func text(b []byte, name, s string) []byte {
	if s == "" {
		return b
	}
	b = append(b, ',', '"')
	b = append(b, name...)
	b = append(b, '"', ':', '"')
	b = AppendEscaped(b, s)
	return append(b, '"')
}

func number(b []byte, name string, n int64) []byte {
	if n == 0 {
		return b
	}
	b = append(b, ',', '"')
	b = append(b, name...)
	b = append(b, '"', ':')
	return strconv.AppendInt(b, n, 10)
}

func flag(b []byte, name string, set bool) []byte {
	if !set {
		return b
	}
	b = append(b, ',', '"')
	b = append(b, name...)
	return append(b, `":true`...)
}

// maxField is the longest field in bytes; cutMark ends a field that was longer.
const (
	maxField = 2 << 10
	cutMark  = "...[cut]"
)

const hex = "0123456789abcdef"

// AppendEscaped adds s as the inside of a JSON string: control characters (C0, DEL, C1) and the line separators of Unicode are escaped so
// that a record stays one line on any terminal, invalid UTF-8 becomes U+FFFD, and text beyond 2 KiB is cut with a mark.
func AppendEscaped(b []byte, s string) []byte {
	cut := false
	if len(s) > maxField {
		s, cut = s[:maxField], true
		for i := 0; i < utf8.UTFMax-1 && len(s) > 0; i++ { // not in the middle of a character
			if r, n := utf8.DecodeLastRuneInString(s); r != utf8.RuneError || n != 1 {
				break
			}
			s = s[:len(s)-1]
		}
	}
	start := 0
	for i := 0; i < len(s); {
		c := s[i]
		if c >= ' ' && c < 0x7f && c != '"' && c != '\\' {
			i++
			continue
		}
		r, n := utf8.DecodeRuneInString(s[i:])
		if r >= 0xa0 && r != '\u2028' && r != '\u2029' && (r != utf8.RuneError || n > 1) {
			i += n
			continue
		}
		b = append(b, s[start:i]...)
		switch {
		case c == '"' || c == '\\':
			b = append(b, '\\', c)
		case r == utf8.RuneError:
			b = append(b, `\ufffd`...)
		default:
			b = append(b, '\\', 'u', hex[r>>12&15], hex[r>>8&15], hex[r>>4&15], hex[r&15])
		}
		i += n
		start = i
	}
	b = append(b, s[start:]...)
	if cut {
		b = append(b, cutMark...)
	}
	return b
}
