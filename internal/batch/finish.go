package batch

import (
	"context"
	"io"

	"weir/internal/apikey"
	"weir/internal/fault"
)

// finish writes the files of results, and ends the batch.
func (s *Service) finish(ctx context.Context, b *Batch) error {
	from := b.State
	left := Canceled
	if b.Late {
		left = Expired
	}
	r, err := s.resume(ctx, b)
	if err != nil {
		return err
	}
	if err := s.drain(ctx, r); err != nil {
		return err
	}
	for _, it := range r.retry {
		if err := s.settle(ctx, b, it, left); err != nil {
			return err
		}
	}
	if err := s.name(ctx, b, from); err != nil {
		return err
	}
	files, err := s.assemble(ctx, b, r, left)
	if err != nil {
		return err
	}
	next := map[State]State{Cancelling: CancelledS, Finalizing: Completed}[from]
	if from == Finalizing && b.Late {
		next = ExpiredS
	}
	if err := b.to(next); err != nil {
		return err
	}
	b.EndedAt = s.now()
	for i := range files {
		files[i].CreatedAt, files[i].ExpiresAt = b.EndedAt, b.EndedAt.Add(b.KeepFor)
	}
	short, cancel := s.short(ctx)
	defer cancel()
	if err := s.Store.EndBatch(short, b, from, files); err != nil {
		b.State = from
		return err
	}
	s.observed(Canceled, b.Cancelled)
	s.observed(Expired, b.Expired)
	return nil
}

// settle ends a line of a batch that is not called any more. What was charged, though its answer was lost, is answered all the same.
func (s *Service) settle(ctx context.Context, b *Batch, it *Item, left Outcome) error {
	if it.unclear {
		prior, err := s.prepare(ctx, b, it)
		if err != nil {
			return err
		}
		if prior.Settled {
			return s.deliver(ctx, b, it, prior)
		}
	}
	it.Stage, it.Outcome, it.Body, it.Status = Done, left, nil, 0
	short, cancel := s.short(ctx)
	defer cancel()
	return s.Store.EndItem(short, b, it)
}

// deliver makes a call again that was charged and whose answer was lost.
func (s *Service) deliver(ctx context.Context, b *Batch, it *Item, prior Charge) error {
	text, err := s.textOf(ctx, b, it)
	if err != nil && !fault.Is(err, fault.NotFound) {
		return err
	}
	lost := err != nil
	caller, stop, err := s.caller(ctx, b)
	if err != nil {
		return err
	}
	a := Answer{Err: fault.New(fault.Internal, "batch.deliver", "")} // the answer of a line that cannot be called again
	if stop == nil && !lost {
		body, err := s.read(b, it, text)
		if err != nil {
			return err
		}
		if err := s.turns.Enter(ctx, b.User); err != nil {
			return err
		}
		func() {
			defer s.turns.Leave(b.User)
			a = s.perform(ctx, b, it, caller, body)
		}()
		if v := s.judge(ctx, it, &a); v.again && s.now().Before(b.ExpiresAt.Add(s.cfg.Window)) {
			return fault.New(fault.StorageUnavailable, "batch.deliver", "A line that was charged cannot be answered yet.").Because(a.Err)
		}
	}
	return s.end(ctx, b, it, &a, prior, verdict{})
}

// name chooses the ids of the results before the first is written, so that a worker who goes on after a crash replaces them.
func (s *Service) name(ctx context.Context, b *Batch, from State) error {
	if b.Output != "" {
		return nil
	}
	b.Output = apikey.NewID(FilePrefix)
	if b.Shape == Requests {
		b.Failures = apikey.NewID(FilePrefix)
	}
	return s.keep(ctx, b, from)
}

// assemble writes the results: what succeeded to one file and the rest to another, or all to one. A file without lines is not kept.
func (s *Service) assemble(ctx context.Context, b *Batch, r *running, left Outcome) (files []File, err error) {
	type part struct {
		id       *string
		outcomes []Outcome
		rest     bool
		name     string
	}
	parts := []part{{&b.Output, []Outcome{Succeeded}, false, "_output.jsonl"}, {&b.Failures, []Outcome{Errored, Canceled, Expired}, true, "_error.jsonl"}}
	if b.Shape == Messages {
		parts = []part{{&b.Output, nil, true, "_results.jsonl"}}
	}
	b.Cancelled, b.Expired = 0, 0
	for _, p := range parts {
		w := &results{s: s, ctx: ctx, b: b, r: r, left: left, outcomes: p.outcomes, rest: p.rest}
		size, _, err := s.Contents.Put(ctx, *p.id, "application/jsonl", w)
		if err != nil {
			return nil, err
		}
		if size == 0 && b.Shape == Requests {
			if err := s.Contents.Delete(ctx, *p.id); err != nil {
				return nil, err
			}
			*p.id = ""
			continue
		}
		files = append(files, File{ID: *p.id, User: b.User, Key: b.Key, Purpose: PurposeOutput, Name: b.ID + p.name, Bytes: size, Hidden: b.Shape == Messages})
	}
	return files, nil
}

// results reads as the lines of results: those of lines that were begun, and then those of lines that were not.
type results struct {
	s        *Service
	ctx      context.Context //nolint:containedctx // of the one Put that reads it
	b        *Batch
	r        *running
	left     Outcome
	outcomes []Outcome
	rest     bool

	buf   []byte
	at    int
	after int64
	done  bool // of the lines that were begun
	input *lines
}

// Read implements io.Reader.
func (w *results) Read(p []byte) (int, error) {
	for w.at == len(w.buf) {
		w.buf, w.at = w.buf[:0], 0
		if err := w.more(); err != nil {
			return 0, err
		}
	}
	n := copy(p, w.buf[w.at:])
	w.at += n
	return n, nil
}

// answersAtOnce is how many answers are in memory at a time.
const answersAtOnce = 8

func (w *results) more() error {
	if w.done {
		return w.unbegun()
	}
	short, cancel := w.s.short(w.ctx)
	defer cancel()
	list, err := w.s.Store.Items(short, w.b.ID, w.after, answersAtOnce, true, w.outcomes...)
	if err != nil {
		return err
	}
	for i := range list {
		it := &list[i]
		w.after = it.Line
		if it.Stage == Done {
			w.count(it.Outcome)
			w.buf = w.s.Wire.AppendResult(w.buf, w.b, it)
		}
	}
	if len(list) == 0 {
		w.done = true
	}
	return nil
}

func (w *results) count(o Outcome) {
	switch o {
	case Canceled:
		w.b.Cancelled++
	case Expired:
		w.b.Expired++
	}
}

// unbegun appends the result of the next line that was not begun.
func (w *results) unbegun() error {
	if !w.rest || w.b.Total == 0 {
		return io.EOF
	}
	if w.input == nil {
		var err error
		if w.input, err = w.s.open(w.ctx, w.b); err != nil {
			return err
		}
	}
	for len(w.buf) < chunk {
		one, err := w.input.after(w.ctx)
		if err == io.EOF && len(w.buf) > 0 {
			return nil
		}
		if fault.Is(err, fault.NotFound) { // the file is gone, and with it their names
			for n := w.b.Total - int64(len(w.r.seen)); n > 0; n-- {
				w.count(w.left)
			}
			return io.EOF
		}
		if err != nil {
			return err
		}
		if w.r.seen[one.number] {
			continue
		}
		read, _ := w.s.Wire.Line(w.b, one.text)
		w.count(w.left)
		w.buf = w.s.Wire.AppendResult(w.buf, w.b, &Item{Line: one.number, CustomID: read.CustomID, Stage: Done, Outcome: w.left})
	}
	return nil
}
