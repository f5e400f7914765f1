package httpapi

import (
	"net/http"

	"weir/internal/completion"
	"weir/internal/httpserver"
	"weir/internal/idempotency"
	"weir/internal/relay"
	"weir/internal/task"
	"weir/internal/wire/speech"
)

// postSpeech serves POST /v1/audio/speech: audio as bytes, or as a stream of events.
func (x *request) postSpeech() error {
	body, err := x.readBody()
	if err != nil {
		return err
	}
	req, err := speech.Decode(body)
	if err != nil {
		return err
	}
	if err := x.admitTask(req); err != nil {
		return err
	}
	call := x.newCall(req, "audio.speech", speech.PromptText(req))
	if req.Task.(*task.Speech).SSE {
		return x.performStream(call, httpserver.ErrorObject, func(w *frameWriter) frames { return speech.NewStream(w) })
	}
	w := &audioWriter{x: x}
	return x.perform(call, audioSink{speech.NewBytes(w), w})
}

// audioWriter sends audio as it comes: each piece is flushed on its own. What is cut before its end has no end for the client either.
type audioWriter struct {
	x    *request
	kind []string
	all  []byte // of a named request
	lost bool   // there is more than is kept
}

// Begin gets the type of the audio.
func (w *audioWriter) Begin(mediaType string) { w.kind = []string{mediaType} }

// Write sends one piece, before the first one the head.
func (w *audioWriter) Write(piece []byte) (int, error) {
	x := w.x
	w.remember(piece)
	if x.w.Status() == 0 {
		h := x.w.Header()
		h["Content-Type"], h["Cache-Control"], h["X-Accel-Buffering"] = w.kind, noCache, noBuffer
		x.w.WriteHeader(http.StatusOK)
	}
	n, err := x.w.Write(piece)
	if err != nil {
		return n, err
	}
	return n, x.w.Flush()
}

// remember keeps the answer to a named request.
func (w *audioWriter) remember(piece []byte) {
	n := w.x.named
	if n == nil || n.run == nil || w.lost {
		return
	}
	if w.lost = !n.open || !n.add(&w.all, piece); w.lost {
		n.forget(&w.all)
	}
}

// audioSink keeps the answer to a named request when the relay has charged it: the client has its end only when the handler returns.
type audioSink struct {
	to *speech.Bytes
	w  *audioWriter
}

// Start begins an answer.
func (s audioSink) Start(served relay.Served) error { return s.to.Start(served) }

// Event writes a piece of it.
func (s audioSink) Event(ev *completion.Event) error { return s.to.Event(ev) }

// End keeps it.
func (s audioSink) End(receipt relay.Receipt) error {
	if n := s.w.x.named; n != nil && n.run != nil {
		run := n.run
		n.run = nil
		switch {
		case !n.open:
			run.Withhold()
		case s.w.lost:
			run.Lose()
		default:
			run.Keep(idempotency.Answer{Status: http.StatusOK, Type: s.w.kind[0], Body: s.w.all})
		}
	}
	return s.to.End(receipt)
}
