package promptcache

import (
	"hash/maphash"
	"slices"
	"sync"
	"sync/atomic"
	"time"
)

// Lifetime is how long a conversation is kept without a call. Longer-lived caches are not counted on.
const Lifetime = time.Hour

// Bounds of what is kept. A conversation takes at most a kilobyte.
const (
	shardCount = 16
	perShard   = 2048 // conversations
	perUser    = 512
	maxThreads = 8 // conversations of a session: an agent and those that it starts
	maxPlaces  = 3 // endpoints of a conversation
	lookAt     = 8 // among so many, whichever the map gives, is chosen what is dropped
)

// Memory keeps where conversations were served, and the prints of their newest prompts. It is safe for concurrent use.
type Memory struct {
	Seed   maphash.Seed
	held   atomic.Bool // something was ever kept
	shards [shardCount]shard
}

type shard struct {
	mu    sync.Mutex
	users map[uint64]*user
	count int // conversations
}

type user struct {
	sessions map[uint64]*session
	count    int // conversations
}

// session is what has one key: mostly one conversation.
type session struct {
	threads []*thread // the newest first
	used    int64
}

// thread is a conversation.
type thread struct {
	prints Prints
	tokens int64 // of its newest prompt, as the provider counted
	answer int64 // of its newest answer
	growth int64 // tokens by which the newest prompt was longer than the one before
	gap    time.Duration
	calls  int
	used   int64   // Unix nanoseconds
	places []place // the newest first
}

// place is an endpoint that has served a conversation.
type place struct {
	endpoint string
	size     uint32 // bytes of the prompt that it has seen, as far as that is the beginning of the newest one
	used     int64
}

// NewMemory makes an empty Memory.
func NewMemory() *Memory {
	m := &Memory{Seed: maphash.MakeSeed()}
	for i := range m.shards {
		m.shards[i].users = map[uint64]*user{}
	}
	return m
}

// Warm is what an endpoint may have of a prompt in its cache.
type Warm struct {
	Endpoint string
	Tokens   int64
	Age      time.Duration // since it was last used there
}

// View is what is known of the conversation of a request when the request comes.
type View struct {
	User, Key uint64 // of the session
	Model     uint64 // hash of its slug
	Prints    Prints
	Prompt    int64 // tokens, estimated

	Warm   []Warm
	Calls  int // of the conversation before this one
	Answer int64
	Growth int64
	Gap    time.Duration

	Before  int64  // tokens of its prompt before; 0: the conversation begins, or is not known
	Common  int64  // of these, tokens with which this prompt begins
	Changed int    // number of the first message that differs from the one before, 0 for instructions and tools; Unchanged
	Last    string // endpoint that served it last
	Age     time.Duration

	thread *thread
}

// Look fills in what is known of a conversation. User, Key, Model, Prints and Prompt of v must be set.
func (m *Memory) Look(v *View, now time.Time) {
	v.Changed = Unchanged
	if !m.held.Load() || v.Prints.Empty() {
		return
	}
	s := &m.shards[v.User%shardCount]
	s.mu.Lock()
	defer s.mu.Unlock()
	u := s.users[v.User]
	if u == nil {
		return
	}
	v.lookAt(u.sessions[v.Key], now)
	shared := v.shared(m.Seed)
	if x := u.sessions[shared.Key]; x != nil {
		shared.lookAt(x, now)
		for _, w := range shared.Warm {
			if tokens, _ := v.At(w.Endpoint); tokens < w.Tokens {
				v.Warm = append(slices.DeleteFunc(v.Warm, func(have Warm) bool { return have.Endpoint == w.Endpoint }), w)
			}
		}
	}
}

// shared is the view of a prompt's instructions and tools, which other conversations of the user may have put into caches, too.
func (v *View) shared(seed maphash.Seed) *View {
	p := v.Prints.instructions()
	return &View{User: v.User, Prints: p, Key: maphash.Comparable(seed, [3]uint64{v.Model, uint64(p.marks[len(p.marks)-1].sum), uint64(p.Bytes())})}
}

// lookAt fills in what a session knows of a conversation.
func (v *View) lookAt(kept *session, now time.Time) {
	if kept == nil {
		return
	}
	t, size, changed := kept.find(&v.Prints)
	fresh := t != nil && changed != Unchanged && v.Prints.begins() // another conversation with the same beginning
	if t == nil || now.UnixNano()-t.used > int64(Lifetime) {
		return
	}
	v.Age = time.Duration(now.UnixNano() - t.used)
	if !fresh {
		v.thread = t
		v.Calls, v.Answer, v.Growth, v.Gap = t.calls, t.answer, t.growth, t.gap
		v.Before, v.Common, v.Changed = t.tokens, t.tokensOf(size), changed
	}
	v.Prompt = max(t.tokensOf(v.Prints.Bytes()), 1)
	for _, p := range t.places {
		if v.Last == "" {
			v.Last = p.endpoint
		}
		v.Warm = append(v.Warm, Warm{p.endpoint, t.tokensOf(min(p.size, size)), time.Duration(now.UnixNano() - p.used)})
	}
}

// find is the conversation that a prompt most likely goes on, how many bytes they have in common and which message differs first; nil for none.
func (s *session) find(q *Prints) (best *thread, size uint32, changed int) {
	for _, t := range s.threads {
		n, at := t.prints.Common(q)
		if best == nil || n > size {
			best, size, changed = t, n, at
		}
	}
	return best, size, changed
}

// tokensOf is how many tokens so many bytes at the beginning of the prompt are.
func (t *thread) tokensOf(bytes uint32) int64 {
	if t.prints.Bytes() == 0 {
		return 0
	}
	return int64(float64(t.tokens) * float64(bytes) / float64(t.prints.Bytes()))
}

// Keep notes that an endpoint has served the request of a view, with a prompt and an answer of so many tokens.
func (m *Memory) Keep(v *View, endpoint string, prompt, answer int64, now time.Time) {
	if v.Prints.Empty() || prompt <= 0 {
		return
	}
	m.held.Store(true)
	at := now.UnixNano()
	s := &m.shards[v.User%shardCount]
	s.mu.Lock()
	defer s.mu.Unlock()
	u := s.users[v.User]
	if u == nil {
		u = &user{sessions: map[uint64]*session{}}
		s.users[v.User] = u
	}
	s.keep(u, v, endpoint, prompt, answer, at)
	shared := v.shared(m.Seed)
	shared.thread = u.sessions[shared.Key].only()
	if tokens := int64(float64(prompt) * float64(shared.Prints.Bytes()) / float64(max(v.Prints.Bytes(), 1))); tokens >= LeastTokens {
		s.keep(u, shared, endpoint, tokens, 0, at)
	}
}

// only is the one thread of a session for instructions, nil where there is none.
func (s *session) only() *thread {
	if s == nil {
		return nil
	}
	return s.threads[0]
}

// keep notes that an endpoint has served a prompt of a user.
func (s *shard) keep(u *user, v *View, endpoint string, prompt, answer, at int64) {
	kept := u.sessions[v.Key]
	if kept == nil {
		kept = &session{}
		u.sessions[v.Key] = kept
	}
	kept.used = at
	t := kept.thread(v.thread)
	if t == nil {
		t = &thread{}
		if len(kept.threads) == maxThreads {
			kept.threads = kept.threads[:maxThreads-1]
		} else {
			s.count++
			u.count++
		}
		kept.threads = append(kept.threads, nil)
		copy(kept.threads[1:], kept.threads)
		kept.threads[0] = t
	} else {
		t.gap, t.growth = time.Duration(max(at-t.used, 0)), max(prompt-t.tokens, 0)
	}
	t.seen(v, endpoint, prompt, answer, at)
	s.bound(v.User, kept)
}

// thread moves a conversation to the front; nil where it is not kept any more.
func (s *session) thread(t *thread) *thread {
	at := slices.Index(s.threads, t)
	if t == nil || at < 0 {
		return nil
	}
	copy(s.threads[1:at+1], s.threads[:at])
	s.threads[0] = t
	return t
}

// seen makes a prompt the newest of the conversation.
func (t *thread) seen(v *View, endpoint string, prompt, answer, at int64) {
	common, _ := t.prints.Common(&v.Prints)
	places := make([]place, 1, maxPlaces)
	places[0] = place{endpoint, v.Prints.Bytes(), at}
	for _, p := range t.places {
		if p.endpoint != endpoint && len(places) < maxPlaces && at-p.used <= int64(Lifetime) {
			p.size = min(p.size, common)
			places = append(places, p)
		}
	}
	t.prints, t.places = v.Prints.kept(), places
	t.tokens, t.answer, t.used = prompt, answer, at
	t.calls++
}

// bound drops what is too much of a user, and of the user who has most of some; never the session that was used just now.
func (s *shard) bound(id uint64, newest *session) {
	if s.users[id].count > perUser {
		s.drop(id, newest)
	}
	if s.count <= perShard {
		return
	}
	most, n := id, 0
	for other, u := range s.users {
		if u.count > s.users[most].count {
			most = other
		}
		if n++; n == lookAt {
			break
		}
	}
	s.drop(most, newest)
}

// drop drops the session of a user that was not used for longest, of some.
func (s *shard) drop(id uint64, newest *session) {
	u := s.users[id]
	var oldest uint64
	var found *session
	n := 0
	for key, x := range u.sessions {
		if x != newest && (found == nil || x.used < found.used) {
			oldest, found = key, x
		}
		if n++; n == lookAt {
			break
		}
	}
	if found == nil {
		return
	}
	s.count -= len(found.threads)
	u.count -= len(found.threads)
	delete(u.sessions, oldest)
	if len(u.sessions) == 0 {
		delete(s.users, id)
	}
}

// At is how many tokens an endpoint may have in its cache, and since when they were not used.
func (v *View) At(endpoint string) (tokens int64, age time.Duration) {
	for _, w := range v.Warm {
		if w.Endpoint == endpoint {
			return w.Tokens, w.Age
		}
	}
	return 0, 0
}
