package alert

import (
	"context"
	"math"
	"strconv"
	"strings"
	"time"

	"weir/internal/loop"
)

const (
	lookEvery  = 15 * time.Second
	turnFor    = time.Minute // that a node goes on looking for all, without a sign of life
	sendEvery  = 5 * time.Second
	claimFor   = 2 * time.Minute
	sendWithin = 30 * time.Second
	keepFor    = 90 * day
	sweepEvery = time.Hour
	sweepSome  = 500
)

// WatchDeps are what a Watcher works with.
type WatchDeps struct {
	Node   string
	World  func() *World
	Mark   func(ctx context.Context) (string, error) // which node looks for all, and until when
	Swap   func(ctx context.Context, old, value string) (bool, error)
	Chance func() float64 // from 0 to 1, spreads retries
	Report func(what string, channel string, err error)
	Effect func(ctx context.Context, target string) (calls, moved, failing float64, err error) // of an hour, without a target of package edit
}

// Watcher looks for incidents, and sends what is written of them. One node of many looks at a time, and one sends to a channel at a time.
type Watcher struct {
	*Manager
	WatchDeps
	looks, sends *loop.Loop
	hold         map[string]time.Time // used by rounds alone
	swept        time.Time
}

// NewWatcher makes a Watcher. It does nothing before Start.
func NewWatcher(m *Manager, d WatchDeps) *Watcher {
	w := &Watcher{Manager: m, WatchDeps: d, hold: map[string]time.Time{}}
	w.looks = loop.Every(lookEvery, w.Look)
	w.sends = loop.Every(sendEvery, w.SendAll)
	m.Wake = func() {
		w.looks.Wake()
		w.sends.Wake()
	}
	return w
}

// Start begins the work.
func (w *Watcher) Start() {
	w.looks.Start()
	w.sends.Start()
}

// Stop ends it, and waits for a message that is under way.
func (w *Watcher) Stop() {
	w.looks.Stop()
	w.sends.Stop()
}

// Look finds out what has changed, if it is this node's turn.
func (w *Watcher) Look(ctx context.Context) {
	if err := w.look(ctx); err != nil && ctx.Err() == nil {
		w.Report("alerts cannot be looked for; it is tried again", "", err)
	}
}

func (w *Watcher) look(ctx context.Context) error {
	now := w.Now()
	mine, err := w.turn(ctx, now)
	if err != nil || !mine {
		clear(w.hold)
		return err
	}
	rules, err := w.Rules(ctx)
	if err != nil {
		return err
	}
	open, err := w.Store.OpenIncidents(ctx)
	if err != nil {
		return err
	}
	world := w.World()
	world.Now = now
	changes := Judge(open, rules, Find(rules, world), w.hold, now)
	if err := w.measure(ctx, changes); err != nil {
		return err
	}
	written, err := w.Store.ApplyChanges(ctx, changes, now)
	if err != nil {
		return err
	}
	if written > 0 {
		w.sends.Wake()
	}
	if now.Sub(w.swept) >= sweepEvery {
		w.swept = now
		return loop.Sweep(ctx, time.Minute, sweepSome, func(ctx context.Context, most int) (int, error) {
			return w.Store.SweepIncidents(ctx, now.Add(-keepFor), most)
		})
	}
	return nil
}

// measure adds what ejections do that begin.
func (w *Watcher) measure(ctx context.Context, changes []Change) error {
	for i := range changes {
		c := &changes[i]
		if !c.New || c.Kind != Ejected {
			continue
		}
		calls, moved, failing, err := w.Effect(ctx, Ejection(c.Subject))
		if err != nil {
			return err
		}
		c.Calls, c.Value, c.Failed = int64(math.Round(calls)), int(math.Round(moved)), int64(math.Ceil(failing))
	}
	return nil
}

// turn reports whether this node looks for all. It goes on while it gives signs of life, so that what only time shows is not found anew by each.
func (w *Watcher) turn(ctx context.Context, now time.Time) (bool, error) {
	text, err := w.Mark(ctx)
	if err != nil {
		return false, err
	}
	until, node, _ := strings.Cut(text, " ")
	if micro, err := strconv.ParseInt(until, 10, 64); err == nil && node != w.Node && now.Before(time.UnixMicro(micro)) && time.UnixMicro(micro).Sub(now) <= turnFor {
		return false, nil
	}
	return w.Swap(ctx, text, strconv.FormatInt(now.Add(turnFor).UnixMicro(), 10)+" "+w.Node)
}

// SendAll sends what waits, to one channel after another.
func (w *Watcher) SendAll(ctx context.Context) {
	for ctx.Err() == nil {
		work, err := w.Store.ClaimAlerts(ctx, w.Now(), w.Now().Add(claimFor))
		if err != nil && ctx.Err() == nil {
			w.Report("alerts cannot be read from the store", "", err)
		}
		if err != nil || work == nil {
			return
		}
		o := w.send(context.WithoutCancel(ctx), work)
		if o.Failed {
			w.Report("a channel of alerts has failed: nothing is sent to it until it is mended", work.ID, errWords(o.Reason.Sentence(o.Words)))
		}
		if _, err := w.Store.EndAlerts(context.WithoutCancel(ctx), work, o); err != nil {
			w.Report("the outcome of an alert cannot be stored", work.ID, err) // it is sent once more when the claim ends
			return
		}
	}
}

type errWords string

func (e errWords) Error() string { return string(e) }

const tooLate = day // after which a message is given up

// send sends one post of what waits for a channel.
func (w *Watcher) send(ctx context.Context, work *Work) *Outcome {
	now := w.Now()
	o := &Outcome{At: now, NextAt: now}
	var waiting []Message
	for _, m := range work.Waiting {
		if now.Sub(m.At) > tooLate {
			o.Dropped = append(o.Dropped, m)
		} else {
			waiting = append(waiting, m)
		}
	}
	take, summary, next := Pick(waiting, work.Sent, now)
	if len(take) == 0 {
		o.NextAt = next
		return o
	}
	secret, err := w.secretOf(&work.Channel)
	if err != nil {
		o.Reason, o.NextAt = NoKey, now.Add(w.pause(work.Attempts))
		return o
	}
	what := take[0].What
	if summary {
		what = Summary
	}
	p := w.compose(&work.Channel, what, take)
	p.ID = "alert-" + take[0].Incident.ID + "-" + string(what) + "-" + strconv.FormatInt(take[0].At.UnixMicro(), 10)
	short, stop := context.WithTimeout(ctx, sendWithin)
	defer stop()
	o.Answer = w.Sender.Send(short, &work.Channel, secret, p, now)
	o.Post, o.Parts, o.Summary = p.ID, take, summary
	if !o.Sent && !o.Failed {
		o.NextAt = w.Now().Add(max(o.Wait, w.pause(work.Attempts)))
	}
	return o
}

// pauses are the waits after failed attempts; the last one is repeated.
var pauses = [...]time.Duration{10 * time.Second, time.Minute, 5 * time.Minute, 15 * time.Minute, 30 * time.Minute, time.Hour}

func (w *Watcher) pause(attempts int) time.Duration {
	d := pauses[min(max(attempts, 1), len(pauses))-1]
	return d + time.Duration(float64(d)/10*w.Chance())
}
