package accountapi

import (
	"cmp"
	"context"
	"errors"
	"hash/fnv"
	"io"
	"slices"
	"strconv"
	"strings"
	"time"

	"weir/internal/apikey"
	"weir/internal/batch"
	"weir/internal/fault"
	"weir/internal/ledger"
	"weir/internal/limit"
	"weir/internal/limit/quota"
	"weir/internal/liveupdates"
	"weir/internal/money"
	"weir/internal/operation"
	"weir/internal/rawjson"
	"weir/internal/report"
	"weir/internal/video"
)

// What can be followed with GET /api/events.
const (
	topicCalls   liveupdates.Topic = "calls"
	topicMoney   liveupdates.Topic = "money"
	topicJobs    liveupdates.Topic = "jobs"
	topicKeys    liveupdates.Topic = "keys"
	topicNotices liveupdates.Topic = "notices"
	topicStatus  liveupdates.Topic = "status"
)

var allTopics = []liveupdates.Topic{topicCalls, topicMoney, topicJobs, topicKeys, topicNotices, topicStatus}

const (
	markWithin  = 5 * time.Second // longest time for reading one topic
	jobVideo    = "video"         // kinds of jobs
	jobBatch    = "batch"
	markedJobs  = 20              // jobs and batches that a mark has, the newest
	maxEventID  = 256             // bytes
	reconnectIn = 3 * time.Second // when browsers connect again
)

// Batches are the batches of accounts. *batch.Service has them.
type Batches interface {
	List(ctx context.Context, q batch.Query) (list []batch.Batch, more bool, err error)
	// Cancel has no more requests of a batch begun. It fails with fault.Conflict when all of them were.
	Cancel(ctx context.Context, user, id string, shape batch.Shape) (*batch.Batch, error)
}

// EventsConfig bounds streams of events.
type EventsConfig struct {
	Most       int64         // at one time
	MostByUser int64         // of them, of one user
	Every      time.Duration // what they follow is read after this pause
	Check      time.Duration // and whether their callers may still read it
	KeepAlive  time.Duration // silence before a keep-alive
	Now        func() time.Time
}

// DefaultEvents is how often a node looks. How many streams there may be, and when they say that they live, the settings of the server say.
func DefaultEvents() EventsConfig {
	return EventsConfig{Every: time.Second, Check: 5 * time.Second, Now: time.Now}
}

// EventsDeps are what events are about.
type EventsDeps struct {
	Books   ledger.Reader
	Reports *report.Reporter
	Keys    *apikey.Manager
	Videos  Videos         // nil: there are none
	Batches Batches        // nil: there are none
	Notices NoticesVersion // nil: nothing is noticed
	Status  func() string  // identifies the answer about the status of providers; nil: it is not shown
}

// NoticesVersion says whether an account's notices have changed. *notify.Manager knows it.
type NoticesVersion interface {
	NoticesVersion(ctx context.Context, account string) (int64, error)
}

// Events are streams of what changes of accounts.
type Events struct {
	EventsDeps
	cfg     EventsConfig
	watcher *liveupdates.Watcher
}

// NewEvents makes them.
func NewEvents(d EventsDeps, c EventsConfig) *Events {
	e := &Events{EventsDeps: d, cfg: c}
	e.watcher = liveupdates.New(e.mark, liveupdates.Config{Every: c.Every, Within: markWithin, All: c.Most, Each: c.MostByUser})
	return e
}

// Followers counts the streams.
func (e *Events) Followers() int64 { return e.watcher.Followers() }

// Close ends all streams: they would not end by themselves.
func (e *Events) Close() { e.watcher.Close() }

// EventCalls is the data of the event `calls`: the calls of yesterday and today.
type EventCalls struct {
	Calls      int64      `json:"calls"`
	Failed     int64      `json:"failed"`
	Cost       money.Nano `json:"cost"`
	LastCallAt *time.Time `json:"last_call_at"`
}

// EventMoney is the data of the event `money`, as in GET /api/overview.
type EventMoney struct {
	Available money.Nano `json:"available"`
	Balance   money.Nano `json:"balance"`
	Held      money.Nano `json:"held"`
}

// EventJobs is the data of the event `jobs`: those under way and the newest.
type EventJobs struct {
	Jobs []EventJob `json:"jobs"`
}

// EventJob is a job or a batch.
type EventJob struct {
	ID       string `json:"id"`
	Kind     string `json:"kind" enum:"video,batch"`
	State    string `json:"state"`
	Progress int64  `json:"progress"` // of a video in percent, 0 when it is not known; of a batch the requests that are done
}

// EventKeys is the data of the event `keys`: keys were made, changed or removed.
type EventKeys struct {
	Keys    int    `json:"keys"`    // how many there are
	Version string `json:"version"` // another one after each change
}

// EventNotices is the data of the event `notices`: something was noticed, is over, or was read.
type EventNotices struct {
	Version int64 `json:"version"` // another one after each change
}

// EventStatus is the data of the event `status`: GET /api/status has another answer.
type EventStatus struct {
	Version string `json:"version"`
}

// EventEnd is the data of the event `end`: why the gateway ends the stream.
type EventEnd struct {
	Reason string `json:"reason" enum:"signed_out,draining,unavailable"`
}

// EventReady is the data of the event `ready`: the topics that were asked for, as they are now.
type EventReady struct {
	Calls   *EventCalls   `json:"calls,omitzero"`
	Money   *EventMoney   `json:"money,omitzero"`
	Jobs    *EventJobs    `json:"jobs,omitzero"`
	Keys    *EventKeys    `json:"keys,omitzero"`
	Notices *EventNotices `json:"notices,omitzero"`
	Status  *EventStatus  `json:"status,omitzero"`
}

type eventsInput struct {
	Topics string `json:"-" query:"topics" pattern:"^ *(calls|money|jobs|keys|notices|status) *(, *(calls|money|jobs|keys|notices|status) *)*$" example:"calls,money"` // some of `calls`, `money`, `jobs`, `keys`, `notices`, `status`, separated by commas; needed
	After  string `json:"-" query:"after" maxLength:"256"`                                                                                                             // the same as Last-Event-ID, for clients that cannot send the header
	Last   string `json:"-" header:"Last-Event-ID" maxLength:"256"`                                                                                                    // the id of the last event that was read
}

func events(e *Events) []operation.Operation {
	return []operation.Operation{operation.Of(operation.Operation{
		Method: "GET", Path: "/api/events", ID: "followEvents", Org: operation.Anyone, Access: operation.Management, Tag: "pages", Answer: "Events until the client goes",
		Summary: "What has changed of the account, as a stream of server-sent events",
		Description: "The first event is `ready`, with what each topic is like now. Then an event with the name of a topic comes within about a second of each change; several " +
			"changes of a topic may be one event. The `id` of an event says what its reader has seen: send the last one as `Last-Event-ID`, at any node, and what was " +
			"missed comes at once. Comments break silence. An event `end` says why the gateway ends the stream: `signed_out` (the session or the key has ended), " +
			"`draining` or `unavailable` (connect again). A user has at most ten streams.",
		Events: []any{EventReady{}, EventCalls{}, EventMoney{}, EventJobs{}, EventKeys{}, EventNotices{}, EventStatus{}, EventEnd{}},
	}, func(ctx context.Context, c *operation.Call, in *eventsInput) (operation.Stream, error) {
		return e.follow(ctx, c, in)
	})}
}

// follow is a stream of the changes of the caller's account, until the client goes, the caller may no longer read, or the node ends.
func (e *Events) follow(ctx context.Context, c *operation.Call, in *eventsInput) (operation.Stream, error) {
	topics, err := topicsOf(in.Topics)
	if err != nil {
		return operation.Stream{}, err
	}
	if slices.Contains(topics, topicStatus) && e.Status == nil {
		return operation.Stream{}, fault.Field("accountapi.events", "topics", "The status of providers is not shown on this gateway. Leave status out of topics.").Coded("status_hidden")
	}
	seen, err := seenIn(cmp.Or(in.Last, in.After))
	if err != nil {
		return operation.Stream{}, err
	}
	f, now, err := e.watcher.Follow(ctx, liveupdates.Account{User: c.User, Wallet: c.Wallet, Sees: c.Sees}, topics, seen)
	if err != nil {
		return operation.Stream{}, e.refused(err)
	}
	return operation.Stream{Close: f.Close, Follow: func(w io.Writer) {
		s := &feed{e: e, ctx: ctx, w: w, f: f, topics: topics, still: c.Still, checked: c.At, wrote: c.At}
		s.ready(now)
		for s.err == nil {
			s.step()
		}
	}}, nil
}

// refused is why a stream cannot begin.
func (e *Events) refused(err error) error {
	switch {
	case errors.Is(err, liveupdates.ErrUser):
		return quota.Crowded(e.cfg.MostByUser, "max_event_streams_per_user", "This user has reached the limit of concurrent streams of events. Close a page, or ask again and again instead.")
	case errors.Is(err, liveupdates.ErrFull):
		return fault.New(fault.Overloaded, "accountapi.events", "The gateway is at its limit of streams of events. Ask again and again instead.")
	case errors.Is(err, liveupdates.ErrClosed):
		return fault.New(fault.Draining, "accountapi.events", "The gateway is shutting down.")
	}
	return err
}

// mark reads what a topic of an account is like; see liveupdates.Source.
func (e *Events) mark(ctx context.Context, of liveupdates.Account, t liveupdates.Topic) (m liveupdates.Mark, err error) {
	work := limit.For(ctx, &of.User)
	ctx = &work
	var what any
	switch t {
	case topicCalls:
		what, err = e.calls(ctx, of)
	case topicMoney:
		what, err = e.money(ctx, of.Wallet)
	case topicJobs:
		what, err = e.jobs(ctx, of)
	case topicKeys:
		what, err = e.keys(ctx, of)
	case topicNotices:
		what, err = e.notices(ctx, of.User)
	case topicStatus:
		what = EventStatus{Version: e.Status()}
	}
	if err != nil {
		return m, err
	}
	if m.Data, err = operation.JSON(what); err != nil {
		return m, err
	}
	sum := fnv.New64a()
	_, _ = sum.Write(m.Data)
	m.Sum = sum.Sum64()
	return m, nil
}

func (e *Events) calls(ctx context.Context, of liveupdates.Account) (EventCalls, error) {
	s, err := e.Reports.Pulse(ctx, of.Wallet, seenBy(of.User, of.Sees), e.cfg.Now())
	return EventCalls{Calls: s.Calls, Failed: s.Failed, Cost: s.Cost, LastCallAt: Moment(s.LastAt)}, err
}

func (e *Events) money(ctx context.Context, wallet string) (EventMoney, error) {
	b, err := e.Books.Balance(ctx, wallet)
	return EventMoney{Available: b.Balance - b.Held, Balance: b.Balance, Held: b.Held}, err
}

// jobs are the newest jobs, and all that are under way.
func (e *Events) jobs(ctx context.Context, of liveupdates.Account) (out EventJobs, err error) {
	seen := map[string]bool{}
	add := func(id, kind, state string, progress int64) {
		if !seen[id] {
			seen[id] = true
			out.Jobs = append(out.Jobs, EventJob{ID: id, Kind: kind, State: state, Progress: progress})
		}
	}
	if e.Videos != nil {
		for _, s := range []video.State{video.Pending, video.InProgress, ""} {
			list, _, err := e.Videos.List(ctx, video.Query{User: of.User, Sees: of.Sees, State: s, Limit: markedJobs})
			if err != nil {
				return out, err
			}
			for i := range list {
				add(list[i].ID, jobVideo, string(list[i].State), int64(list[i].Progress))
			}
		}
	}
	if e.Batches != nil {
		for _, active := range []bool{true, false} {
			list, _, err := e.Batches.List(ctx, batch.Query{User: of.User, Sees: of.Sees, Active: active, Limit: markedJobs})
			if err != nil {
				return out, err
			}
			for i := range list {
				add(list[i].ID, jobBatch, string(list[i].State), list[i].Succeeded+list[i].Failed)
			}
		}
	}
	return out, nil
}

func (e *Events) keys(ctx context.Context, of liveupdates.Account) (EventKeys, error) {
	keys, err := e.Keys.List(ctx, apikey.Filter{User: of.User, Sees: of.Sees, IncludeDisabled: true, Count: apikey.MostPerUser})
	sum := fnv.New64a()
	for i := range keys {
		k := &keys[i]
		_, _ = sum.Write([]byte(k.Hash + " " + k.UpdatedAt.Format(time.RFC3339Nano) + "\n"))
	}
	return EventKeys{Keys: len(keys), Version: strconv.FormatUint(sum.Sum64(), 36)}, err
}

func (e *Events) notices(ctx context.Context, account string) (out EventNotices, err error) {
	if e.Notices != nil {
		out.Version, err = e.Notices.NoticesVersion(ctx, account)
	}
	return out, err
}

// topicsOf reads which topics are asked for, each once.
func topicsOf(text string) (list []liveupdates.Topic, err error) {
	for name := range strings.SplitSeq(text, ",") {
		t := liveupdates.Topic(strings.TrimSpace(name))
		if !slices.Contains(allTopics, t) {
			return nil, fault.Field("accountapi.events", "topics", "topics must be some of calls, money, jobs, keys, notices, status, separated by commas.").Coded("topics")
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
		return nil, fault.Field("accountapi.events", "Last-Event-ID", "Last-Event-ID must be the id of an event, at most %d bytes. Leave it out to begin anew.", maxEventID).Coded("event_id")
	}
	for part := range strings.SplitSeq(text, ",") {
		t, digits, _ := strings.Cut(part, ":")
		sum, err := strconv.ParseUint(digits, 36, 64)
		if err != nil {
			return nil, fault.Field("accountapi.events", "Last-Event-ID", "Last-Event-ID must be the id of an event. Leave it out to begin anew.").Coded("event_id")
		}
		seen[liveupdates.Topic(t)] = sum
	}
	return seen, nil
}

// feed is one stream.
type feed struct {
	e       *Events
	ctx     context.Context
	w       io.Writer
	f       *liveupdates.Follower
	topics  []liveupdates.Topic
	still   func() error
	checked time.Time // when the caller was known to be permitted
	wrote   time.Time
	frame   []byte
	err     error // why the stream ends
}

var errEventsEnded = errors.New("the stream has ended")

// ready is the first event: what all topics are like.
func (s *feed) ready(now []liveupdates.Change) {
	var w rawjson.Writer
	w.Object()
	for _, c := range now {
		w.Name(string(c.Topic)).Raw(c.Data)
	}
	w.EndObject()
	s.frame = append(strconv.AppendInt(append(s.frame, "retry: "...), reconnectIn.Milliseconds(), 10), '\n')
	s.event("ready", w.B)
	s.send()
}

// step waits for changes, and sends them. It breaks silence, and ends the stream of a caller who may no longer read.
func (s *feed) step() {
	cfg := &s.e.cfg
	wait, cancel := context.WithTimeout(s.ctx, min(cfg.Check, cfg.KeepAlive))
	changes, err := s.f.Next(wait)
	cancel()
	switch {
	case errors.Is(err, liveupdates.ErrClosed):
		s.end("draining")
		return
	case s.ctx.Err() != nil:
		s.err = s.ctx.Err()
		return
	}
	if now := cfg.Now(); now.Sub(s.checked) >= cfg.Check {
		if err := s.still(); err != nil {
			reason := "unavailable"
			if fault.Is(err, fault.Authentication) || fault.Is(err, fault.PermissionDenied) {
				reason = "signed_out"
			}
			s.end(reason)
			return
		}
		s.checked = now
	}
	for _, c := range changes {
		s.event(string(c.Topic), c.Data)
	}
	if changes == nil && cfg.Now().Sub(s.wrote) >= cfg.KeepAlive {
		s.frame = append(s.frame, ": keep-alive\n\n"...)
	}
	s.send()
}

// event adds an event to the frame. Its id counts it, and all before it, as seen.
func (s *feed) event(name string, data []byte) {
	s.frame = appendEventID(append(s.frame, "id: "...), s.f, s.topics)
	s.frame = append(append(s.frame, "\nevent: "...), name...)
	s.frame = append(append(append(s.frame, "\ndata: "...), data...), "\n\n"...)
}

// end says why the stream ends. It has no id: a client that comes back goes on after the last event.
func (s *feed) end(reason string) {
	data, _ := operation.JSON(EventEnd{Reason: reason}) // a word
	s.frame = append(append(append(s.frame, "event: end\ndata: "...), data...), "\n\n"...)
	s.send()
	s.err = errEventsEnded
}

func (s *feed) send() {
	if len(s.frame) == 0 {
		return
	}
	if _, err := s.w.Write(s.frame); err != nil {
		s.err = err
	}
	s.frame = s.frame[:0]
	s.wrote = s.e.cfg.Now()
}
