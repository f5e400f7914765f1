// Package batch keeps files, and runs the requests in them as batches: each line is one call through the relay, is charged at most once and
// has one line in the results, whatever dies on the way. It must not know a wire or a socket: it reads lines and runs calls through the
// interfaces that it declares.
package batch

import (
	"crypto/sha256"
	"encoding/binary"
	"strconv"
	"time"

	"weir/internal/ledger"
	"weir/internal/money"
)

// Shape is the API that a batch came by, which decides how its lines and its results look.
type Shape string

// The shapes.
const (
	Requests Shape = "requests" // /v1/batches: a file of lines, each with a method, an address and a body
	Messages Shape = "messages" // /v1/messages/batches: a list of requests, and one list of results
)

// Purposes of files.
const (
	PurposeInput  = "batch"
	PurposeOutput = "batch_output"
)

// Beginnings of ids.
const (
	FilePrefix     = "file-"
	BatchPrefix    = "batch_"
	MessagesPrefix = "msgbatch_"
)

// File is a file of a user. Its content is in the blob store, under its id.
type File struct {
	ID        string
	User      string // "usr_..."
	Key       string // "key_...": it was made with; "" before that was kept
	Purpose   string
	Name      string // as the user named it
	Bytes     int64
	Hidden    bool // it belongs to a batch of messages: users never see it
	CreatedAt time.Time
	ExpiresAt time.Time
}

// Problem is one reason why a batch failed.
type Problem struct {
	Code    string
	Param   string // "" none
	Message string
	Line    int64 // from 1; 0: no line
}

// Batch is a file of requests that are made one by one.
type Batch struct {
	ID         string
	User       string // "usr_..."
	Wallet     string // "wal_..."
	Key        string // "key_...": pays, and must be valid until the end
	Generation string // of the request that made it
	Shape      Shape
	Endpoint   string // route of all its requests, such as "/v1/chat/completions"
	Metadata   string // JSON object of the client, "" none
	Version    string // header fields of Messages that all its requests have: anthropic-version
	Betas      string // and anthropic-beta, separated by commas
	Tags       string // of the header of the request that made it, for all its requests; separated by commas

	State    State
	Input    string // id of the file with the requests
	Output   string // id of the file with the answers, "" none
	Failures string // id of the file with what failed, "" none
	Problems []Problem
	Late     bool   // its time was over before all of it was done
	Paused   string // why no request is made at the moment, "" not

	Total     int64 // lines; 0 before they were counted
	Succeeded int64
	Failed    int64
	Cancelled int64 // set at the end
	Expired   int64 // set at the end

	Prompt, Cached, Completion, Reasoning int64 // tokens of all that was charged
	Cost                                  money.Nano

	CreatedAt    time.Time
	StartedAt    time.Time // when its lines had been checked; zero before
	FinalizingAt time.Time
	CancellingAt time.Time
	EndedAt      time.Time
	ExpiresAt    time.Time // when no more requests are made
	KeepFor      time.Duration
	DueAt        time.Time // when a worker is to take it; zero: never

	Fence int64 // number of the claim: writes with an older one are refused
}

// Stage is how far one line has come. A line without an Item was not begun.
type Stage string

// The stages.
const (
	Running Stage = "running" // begun: after a crash it is unknown whether it was charged
	Waiting Stage = "waiting" // not charged; to be tried again, or with a provider as a line of a part
	Done    Stage = "done"
)

// Outcome is what became of a line.
type Outcome string

// The outcomes.
const (
	Open      Outcome = ""
	Succeeded Outcome = "succeeded"
	Errored   Outcome = "errored"
	Canceled  Outcome = "canceled"
	Expired   Outcome = "expired"
)

// Item is one line of a batch that was begun.
type Item struct {
	Line       int64 // from 1
	CustomID   string
	Stage      Stage
	Generation string // of its call
	Part       string // that it is a line of, "" none
	Terms      string // id of the Terms with which it was prepared for a provider, "" none
	Tries      int64  // that failed
	Offset     int64  // of its line in the input file
	Length     int64  // of its line, in bytes
	Outcome    Outcome
	Status     int64  // HTTP status of the answer, 0 none
	RequestID  string // of the call, "" none
	Body       []byte // of the answer, nil none
	Cost       money.Nano

	Prompt, Cached, Completion, Reasoning int64

	due      time.Time
	fails    int64        // calls by this worker that failed
	unclear  bool         // a call was begun whose outcome is not known
	required bool         // it wants a provider's batch, or nothing
	own      bool         // no provider takes it as a part of a batch
	later    time.Time    // when it is to be offered again to a provider that had too much to do; zero: not
	held     *ledger.Hold // what it may cost, while a provider has it; nil none
}

// generation names the call of a line. Repeats of a call whose outcome is not known have the same name, under which the ledger charges once.
func (b *Batch) generation(it *Item) string {
	return GenerationOf(b.ID, b.CreatedAt, it.Line, it.Tries)
}

// GenerationOf is the generation of the call of a line after so many that failed.
func GenerationOf(batch string, created time.Time, line, tries int64) string {
	h := sha256.New()
	_, _ = h.Write([]byte(batch + "/" + strconv.FormatInt(line, 10) + "/" + strconv.FormatInt(tries, 10)))
	sum := h.Sum(nil)
	name := strconv.AppendInt([]byte("gen-"), created.Unix(), 10)
	name = append(name, '-')
	for i := range generationDigits {
		name = append(name, base62[(uint16(sum[i])<<8|uint16(sum[generationDigits/2+i/2]))%62])
	}
	return string(name)
}

const (
	generationDigits = 20
	base62           = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
)

// EncodeProblems encodes problems for a store.
func EncodeProblems(list []Problem) []byte {
	b := []byte{}
	text := func(s string) { b = append(binary.AppendUvarint(b, uint64(len(s))), s...) }
	for i := range list {
		p := &list[i]
		text(p.Code)
		text(p.Param)
		text(p.Message)
		b = binary.AppendUvarint(b, uint64(p.Line))
	}
	return b
}

// DecodeProblems decodes the bytes of EncodeProblems. What cannot be read is left out.
func DecodeProblems(b []byte) (list []Problem) {
	number := func() (uint64, bool) {
		n, size := binary.Uvarint(b)
		if size <= 0 {
			return 0, false
		}
		b = b[size:]
		return n, true
	}
	text := func() (s string, ok bool) {
		n, ok := number()
		if !ok || n > uint64(len(b)) {
			return "", false
		}
		s, b = string(b[:n]), b[n:]
		return s, true
	}
	for len(b) > 0 {
		code, ok1 := text()
		param, ok2 := text()
		message, ok3 := text()
		line, ok4 := number()
		if !ok1 || !ok2 || !ok3 || !ok4 {
			return list
		}
		list = append(list, Problem{code, param, message, int64(line)})
	}
	return list
}
