package httpapi

import (
	"context"
	"errors"
	"hash/fnv"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"weir/internal/apikey"
	"weir/internal/batch"
	"weir/internal/fault"
	"weir/internal/limit"
	"weir/internal/limit/quota"
	"weir/internal/liveupdates"
	"weir/internal/video"
)

// What can be followed with GET /api/events.
const (
	topicCalls  liveupdates.Topic = "calls"
	topicMoney  liveupdates.Topic = "money"
	topicJobs   liveupdates.Topic = "jobs"
	topicKeys   liveupdates.Topic = "keys"
	topicStatus liveupdates.Topic = "status"
)

var allTopics = []liveupdates.Topic{topicCalls, topicMoney, topicJobs, topicKeys, topicStatus}

const (
	markWithin  = 5 * time.Second // longest time for reading one topic
	jobVideo    = "video"         // kinds of jobs
	jobBatch    = "batch"
	markedJobs  = 20              // jobs and batches that a mark has, the newest
	maxEventID  = 256             // bytes
	reconnectIn = 3 * time.Second // when browsers connect again
)

// mark reads what a topic of an account is like; see watch.Source.
func (a *API) mark(ctx context.Context, of liveupdates.Account, t liveupdates.Topic) (m liveupdates.Mark, err error) {
	work := limit.For(ctx, &of.User)
	ctx = &work
	o := newObject(256)
	o.Object()
	switch t {
	case topicCalls:
		err = a.markCalls(ctx, &o, of.Wallet)
	case topicMoney:
		err = a.markMoney(ctx, &o, of.Wallet)
	case topicJobs:
		err = a.markJobs(ctx, &o, of.User)
	case topicKeys:
		err = a.markKeys(ctx, &o, of.User)
	case topicStatus:
		o.text("version", a.StatusTag())
	}
	o.EndObject()
	sum := fnv.New64a()
	_, _ = sum.Write(o.B)
	return liveupdates.Mark{Sum: sum.Sum64(), Data: o.B}, err
}

func (a *API) markCalls(ctx context.Context, o *object, wallet string) error {
	s, err := a.Reports.Pulse(ctx, wallet, a.Now())
	o.integer("calls", s.Calls)
	o.integer("failed", s.Failed)
	o.amountText("cost", s.Cost)
	o.moment("last_call_at", s.LastAt)
	return err
}

func (a *API) markMoney(ctx context.Context, o *object, wallet string) error {
	b, err := a.Ledger.Balance(ctx, wallet)
	o.amountText("available", b.Balance-b.Held)
	o.amountText("balance", b.Balance)
	o.amountText("held", b.Held)
	return err
}

// markJobs adds the newest jobs, and all that are under way.
func (a *API) markJobs(ctx context.Context, o *object, user string) error {
	o.Name("jobs").Array()
	told := map[string]bool{}
	if a.Videos != nil {
		for _, s := range []video.State{video.Pending, video.InProgress, ""} {
			list, _, err := a.Videos.List(ctx, video.Query{User: user, State: s, Limit: markedJobs})
			if err != nil {
				return err
			}
			for i := range list {
				j := &list[i]
				if told[j.ID] {
					continue
				}
				told[j.ID] = true
				o.Object()
				o.text("id", j.ID)
				o.text("kind", jobVideo)
				o.text("state", string(j.State))
				o.integer("progress", int64(j.Progress))
				o.EndObject()
			}
		}
	}
	if a.Batches != nil {
		for _, active := range []bool{true, false} {
			list, _, err := a.Batches.List(ctx, batch.Query{User: user, Active: active, Limit: markedJobs})
			if err != nil {
				return err
			}
			for i := range list {
				b := &list[i]
				if told[b.ID] {
					continue
				}
				told[b.ID] = true
				o.Object()
				o.text("id", b.ID)
				o.text("kind", jobBatch)
				o.text("state", string(b.State))
				o.integer("progress", b.Succeeded+b.Failed)
				o.EndObject()
			}
		}
	}
	o.EndArray()
	return nil
}

func (a *API) markKeys(ctx context.Context, o *object, user string) error {
	keys, err := a.Keys.List(ctx, apikey.Filter{User: user, IncludeDisabled: true})
	sum := fnv.New64a()
	for i := range keys {
		k := &keys[i]
		_, _ = sum.Write([]byte(k.Hash + " " + k.UpdatedAt.Format(time.RFC3339Nano) + "\n"))
	}
	o.integer("keys", int64(len(keys)))
	o.text("version", strconv.FormatUint(sum.Sum64(), 36))
	return err
}

// topicsOf reads which topics are asked for, each once.
func topicsOf(text string) (list []liveupdates.Topic, err error) {
	for _, name := range strings.Split(text, ",") {
		t := liveupdates.Topic(strings.TrimSpace(name))
		if !slices.Contains(allTopics, t) {
			return nil, fault.Field("httpapi.getEvents", "topics", "topics must be some of calls, money, jobs, keys, status, separated by commas.")
		}
		if !slices.Contains(list, t) {
			list = append(list, t)
		}
	}
	return list, nil
}

// An id of an event is what its reader has seen of each topic: any node can say what is new since then.
func appendEventID(b []byte, f *liveupdates.Follower, topics []liveupdates.Topic) []byte {
	for _, t := range topics {
		if sum, told := f.Seen(t); told {
			b = append(append(b, t...), ':')
			b = append(strconv.AppendUint(b, sum, 36), ',')
		}
	}
	return b[:max(len(b)-1, 0)]
}

// seenIn reads an id of an event; nil for "". What it does not know counts as not seen.
func seenIn(text string) (map[liveupdates.Topic]uint64, error) {
	if text == "" {
		return nil, nil
	}
	seen := map[liveupdates.Topic]uint64{}
	if len(text) > maxEventID {
		return nil, fault.Field("httpapi.getEvents", "Last-Event-ID", "Last-Event-ID must be the id of an event, at most %d bytes. Leave it out to begin anew.", maxEventID)
	}
	for _, part := range strings.Split(text, ",") {
		t, digits, _ := strings.Cut(part, ":")
		sum, err := strconv.ParseUint(digits, 36, 64)
		if err != nil {
			return nil, fault.Field("httpapi.getEvents", "Last-Event-ID", "Last-Event-ID must be the id of an event. Leave it out to begin anew.")
		}
		seen[liveupdates.Topic(t)] = sum
	}
	return seen, nil
}

// getEvents serves GET /api/events: a stream of the changes of the caller's account, until the client goes, the caller may no longer
// read, or the node ends.
func (x *request) getEvents() error {
	q, err := x.query()
	if err != nil {
		return err
	}
	topics, err := topicsOf(q.Get("topics"))
	if err != nil {
		return err
	}
	if slices.Contains(topics, topicStatus) && x.api.StatusTag == nil {
		return fault.Field("httpapi.getEvents", "topics", "The status of providers is not shown on this gateway. Leave status out of topics.")
	}
	last := x.header("Last-Event-Id")
	if last == "" {
		last = q.Get("after")
	}
	seen, err := seenIn(last)
	if err != nil {
		return err
	}
	f, now, err := x.api.watcher.Follow(x.context(), liveupdates.Account{User: x.caller.User, Wallet: x.caller.Wallet}, topics, seen)
	if err != nil {
		return x.noEvents(err)
	}
	defer f.Close()
	e := &events{x: x, f: f, topics: topics, checked: x.at, wrote: x.at}
	x.writeStreamHead(streamType)
	if x.r.Method == http.MethodHead {
		return nil
	}
	e.ready(now)
	for e.err == nil {
		e.step()
	}
	return nil // the stream has said why it ends, or its client has gone
}

// noEvents is why a stream cannot begin.
func (x *request) noEvents(err error) error {
	switch {
	case errors.Is(err, liveupdates.ErrUser):
		most := x.api.cfg.MaxEventsByUser
		return quota.Crowded(most, "max_event_streams_per_user", "This user has reached the limit of concurrent streams of events. Close a page, or ask again and again instead.")
	case errors.Is(err, liveupdates.ErrFull):
		return fault.New(fault.Overloaded, "httpapi.getEvents", "The gateway is at its limit of streams of events. Ask again and again instead.")
	case errors.Is(err, liveupdates.ErrClosed):
		return fault.New(fault.Draining, "httpapi.getEvents", "The gateway is shutting down.")
	}
	return err
}

// events is a stream of GET /api/events.
type events struct {
	x       *request
	f       *liveupdates.Follower
	topics  []liveupdates.Topic
	checked time.Time // when the caller was known to be permitted
	wrote   time.Time
	frame   []byte
	err     error // why the stream ends
}

var errEventsEnded = errors.New("the stream has ended")

// ready is the first event: what all topics are like.
func (e *events) ready(now []liveupdates.Change) {
	var o object
	o.Object()
	for _, c := range now {
		o.raw(string(c.Topic), string(c.Data))
	}
	o.EndObject()
	e.frame = append(strconv.AppendInt(append(e.frame, "retry: "...), reconnectIn.Milliseconds(), 10), '\n')
	e.event("ready", o.B)
	e.send()
}

// step waits for changes, and sends them. It breaks silence, and ends the stream of a caller who may no longer read.
func (e *events) step() {
	cfg := &e.x.api.cfg
	wait, cancel := context.WithTimeout(e.x.context(), min(cfg.EventsCheck, cfg.KeepAliveEvery))
	changes, err := e.f.Next(wait)
	cancel()
	switch {
	case errors.Is(err, liveupdates.ErrClosed):
		e.end("draining")
		return
	case e.x.context().Err() != nil:
		e.err = e.x.context().Err()
		return
	}
	if now := e.x.api.Now(); now.Sub(e.checked) >= cfg.EventsCheck {
		if err := e.x.mayStillRead(); err != nil {
			reason := "unavailable"
			if fault.Is(err, fault.Authentication) || fault.Is(err, fault.PermissionDenied) {
				reason = "signed_out"
			}
			e.end(reason)
			return
		}
		e.checked = now
	}
	for _, c := range changes {
		e.event(string(c.Topic), c.Data)
	}
	if changes == nil && e.x.api.Now().Sub(e.wrote) >= cfg.KeepAliveEvery {
		e.frame = append(e.frame, ": keep-alive\n\n"...)
	}
	e.send()
}

// event adds an event to the frame. Its id counts it, and all before it, as seen.
func (e *events) event(name string, data []byte) {
	e.frame = appendEventID(append(e.frame, "id: "...), e.f, e.topics)
	e.frame = append(append(e.frame, "\nevent: "...), name...)
	e.frame = append(append(append(e.frame, "\ndata: "...), data...), "\n\n"...)
}

// end says why the stream ends. It has no id: a client that comes back goes on after the last event.
func (e *events) end(reason string) {
	var o object
	o.Object()
	o.text("reason", reason)
	o.EndObject()
	e.frame = append(append(append(e.frame, "event: end\ndata: "...), o.B...), "\n\n"...)
	e.send()
	e.err = errEventsEnded
}

func (e *events) send() {
	if len(e.frame) == 0 {
		return
	}
	x := e.x
	x.beforeWrite()
	n, err := x.w.Write(e.frame)
	if x.sent += int64(n); err == nil {
		err = flushed(x.w)
	}
	if e.frame = e.frame[:0]; err != nil {
		e.err = err
	}
	e.wrote = x.api.Now()
}

// mayStillRead fails when the caller of a long answer has lost the right to it: the session or the key has ended, or is no longer permitted.
func (x *request) mayStillRead() error {
	if x.session != nil {
		return x.api.People.Lives(x.context(), x.session)
	}
	text, _ := credential(x.r, x.envelope())
	caller, err := x.api.Verifier.Verify(x.context(), text, nil)
	if err == nil {
		err = x.mayFrom(caller)
	}
	if err == nil && !caller.Management {
		err = fault.New(fault.PermissionDenied, "httpapi.mayStillRead", "This route needs a management key.")
	}
	return err
}
