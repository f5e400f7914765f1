package rerank

import (
	"io"
	"strconv"

	"weir/internal/completion"
	"weir/internal/rawjson"
	"weir/internal/relay"
	"weir/internal/task"
	"weir/internal/wire"
)

// Whole collects ranks and writes them as one JSON document, in one Write. It is a relay.Sink.
type Whole struct {
	w      io.Writer
	id     string
	task   *task.Rerank
	served relay.Served
	ranks  []task.Rank
}

var _ relay.Sink = (*Whole)(nil)

// NewWhole writes the answer to req, a request of Decode, to w. id is the answer's.
func NewWhole(w io.Writer, req *completion.Request, id string) *Whole {
	t, _ := req.Task.(*task.Rerank)
	return &Whole{w: w, id: id, task: t}
}

// Start begins an answer; data of an earlier attempt is dropped.
func (x *Whole) Start(served relay.Served) error {
	x.served, x.ranks = served, nil
	return nil
}

// Event takes in ranks.
func (x *Whole) Event(ev *completion.Event) error {
	if ev.Result != nil {
		x.ranks = append(x.ranks, ev.Result.Ranks...)
	}
	return nil
}

// End writes the document.
func (x *Whole) End(receipt relay.Receipt) error {
	b := rawjson.AppendText(append(make([]byte, 0, x.size()), `{"id":`...), x.id)
	b = rawjson.AppendText(append(b, `,"object":"list","model":`...), x.served.Model)
	b = append(b, `,"results":[`...)
	for i, rank := range x.ranks {
		if i > 0 {
			b = append(b, ',')
		}
		b = strconv.AppendInt(append(b, `{"index":`...), int64(rank.Index), 10)
		b = strconv.AppendFloat(append(b, `,"relevance_score":`...), rank.Score, 'g', -1, 64)
		if x.task.Return {
			b = append(rawjson.AppendText(append(b, `,"document":{"text":`...), x.task.Documents[rank.Index]), '}')
		}
		b = append(b, '}')
	}
	u := &receipt.Usage
	b = append(b, `],"usage":{"prompt_tokens":`...)
	b = strconv.AppendInt(b, u.Prompt.N, 10)
	b = append(b, `,"total_tokens":`...)
	b = strconv.AppendInt(b, u.Prompt.N+u.Completion.N, 10)
	b = strconv.AppendInt(append(b, `,"search_units":`...), max(u.Requests.N, 1), 10)
	b = append(wire.AppendCost(append(b, ','), &receipt), '}')
	b = append(b, `,"meta":{"api_version":{"version":"2"},"billed_units":{"search_units":`...)
	b = append(strconv.AppendInt(b, max(u.Requests.N, 1), 10), "}}"...)
	b = append(wire.AppendNotice(b, x.served.Head.Notice), '}')
	_, err := x.w.Write(b)
	return err
}

// size is the approximate length of the document.
func (x *Whole) size() int {
	n := 512 + 64*len(x.ranks)
	if x.task.Return {
		for _, rank := range x.ranks {
			n += 32 + len(x.task.Documents[rank.Index])
		}
	}
	return n
}
