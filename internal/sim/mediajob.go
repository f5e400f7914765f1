package sim

import (
	"cmp"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
)

// mediaJob is one job. The store hands out copies.
type mediaJob struct {
	id      string
	on      *wire
	key     string // the credential it belongs to
	made    mediaAsk
	base    string // "http://host:port", as its owner called it
	created time.Time

	polls    int
	stage    jobStage
	progress int // percent
	ended    time.Time
}

// advance moves a job on by the clock, or by the polls so far.
func (j *mediaJob) advance(now time.Time) {
	k := &j.made.knobs.job
	if j.stage >= jobDone || k.end == "stuck" {
		return
	}
	part, waiting := 100*j.polls/cmp.Or(k.polls, defaultPolls), j.polls == 0 || j.polls <= k.queued
	if k.hasTakes {
		part = 100
		if passed := now.Sub(j.created); passed < k.takes {
			part = int(100 * passed / k.takes)
		}
		waiting = part < 25
	}
	switch {
	case part >= 100 && k.end != "never":
		j.stage, j.progress, j.ended = jobEnds[cmp.Or(k.end, "done")], 100, now
	case !waiting:
		j.stage, j.progress = jobRunning, min(part, 99)
	}
}

// resultLife is how long results can be fetched, unless told.
const resultLife = time.Hour

// expires is when the results of a job that is done are gone.
func (j *mediaJob) expires() time.Time {
	life := resultLife
	if j.made.knobs.job.hasLife {
		life = j.made.knobs.job.life
	}
	return j.ended.Add(life)
}

// outputs is how many results there are.
func (j *mediaJob) outputs() int {
	switch k := &j.made.knobs.job; {
	case j.stage != jobDone || k.end == "empty":
		return 0
	case k.outputs > 0:
		return k.outputs
	}
	return max(1, j.made.count)
}

// url is where a result lies for everybody who knows the address.
func (j *mediaJob) url(i int) string {
	return j.base + "/sim/media/" + j.id + "/" + strconv.Itoa(i) + "." + j.made.extension()
}

// urls are those of all results, as JSON texts.
func (j *mediaJob) urls() []any {
	out := []any{}
	for i := range j.outputs() {
		out = append(out, j.url(i))
	}
	return out
}

// mediaJobs remembers the newest jobs and counts what was asked of them.
type mediaJobs struct {
	mu     sync.Mutex
	byID   map[string]*mediaJob
	order  []string
	made   uint64 // since the start: ids do not come again after a reset
	counts map[jobOwner]*JobCounts
}

type jobOwner struct{ wire, key string }

const maxJobs = 4096

// JobCounts counts what one key asked of one wire's pictures and videos.
type JobCounts struct {
	Wire      string // such as "runway"
	Key       string // as it was given
	Submits   int64  // that began something
	Polls     int64  // also of jobs that are not there
	Cancels   int64  // of jobs that had not ended
	Downloads int64  // of results
}

// of finds the counts of an owner. The lock must be held.
func (s *mediaJobs) of(on *wire, key string) *JobCounts {
	if s.counts == nil {
		s.counts = make(map[jobOwner]*JobCounts)
	}
	owner := jobOwner{on.name, key}
	if s.counts[owner] == nil && len(s.counts) >= maxNames {
		owner.key = otherNames
	}
	c := s.counts[owner]
	if c == nil {
		c = &JobCounts{Wire: owner.wire, Key: owner.key}
		s.counts[owner] = c
	}
	return c
}

// add keeps a copy of a new job and counts its submit. Its id is made from a number that no other job gets.
func (s *mediaJobs) add(j *mediaJob, id func(*random) string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.byID == nil {
		s.byID = make(map[string]*mediaJob)
	}
	s.made++
	d := newDigest
	d.add(j.on.name)
	d.add(j.key)
	d.add(strconv.FormatInt(j.created.UnixNano(), 10))
	rnd := random(uint64(d) + s.made)
	j.id = id(&rnd)
	kept := *j
	s.byID[j.id] = &kept
	if s.order = append(s.order, j.id); len(s.order) > maxJobs {
		delete(s.byID, s.order[0])
		s.order = s.order[1:]
	}
	s.of(j.on, j.key).Submits++
}

// submitted counts what was made at once and is not kept.
func (s *mediaJobs) submitted(on *wire, key string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.of(on, key).Submits++
}

// owned is the job of that id; nil when it is another owner's, or on another wire. The lock must be held.
func (s *mediaJobs) owned(on *wire, id, key string) *mediaJob {
	if j := s.byID[id]; j != nil && j.on == on && j.key == key {
		return j
	}
	return nil
}

// poll is the job as one more poll finds it.
func (s *mediaJobs) poll(on *wire, id, key string, now time.Time) (mediaJob, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.of(on, key).Polls++
	j := s.owned(on, id, key)
	if j == nil || j.made.knobs.job.end == "lost" {
		return mediaJob{}, false
	}
	j.polls++
	j.advance(now)
	return *j, true
}

// look is the job as it stands.
func (s *mediaJobs) look(on *wire, id, key string, now time.Time) (mediaJob, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	j := s.owned(on, id, key)
	if j == nil {
		return mediaJob{}, false
	}
	j.advance(now)
	return *j, true
}

// fetch finds the job that a result's address belongs to, and counts a download.
func (s *mediaJobs) fetch(id string) (mediaJob, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	j := s.byID[id]
	if j == nil {
		return mediaJob{}, false
	}
	s.of(j.on, j.key).Downloads++
	return *j, true
}

// cancel ends a job and, if told, forgets it. The copy is from before.
func (s *mediaJobs) cancel(on *wire, id, key string, now time.Time, forget bool) (mediaJob, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	j := s.owned(on, id, key)
	if j == nil {
		return mediaJob{}, false
	}
	j.advance(now)
	before := *j
	if j.stage < jobDone {
		s.of(on, key).Cancels++
		j.stage, j.ended = jobCancelled, now
	}
	if forget {
		delete(s.byID, id)
	}
	return before, true
}

// list are the jobs of an owner, the newest first.
func (s *mediaJobs) list(on *wire, key string, now time.Time) []mediaJob {
	s.mu.Lock()
	defer s.mu.Unlock()
	var out []mediaJob
	for _, id := range slices.Backward(s.order) {
		if j := s.owned(on, id, key); j != nil {
			j.advance(now)
			out = append(out, *j)
		}
	}
	return out
}

// snapshot are the counts, by wire and key.
func (s *mediaJobs) snapshot() []JobCounts {
	s.mu.Lock()
	defer s.mu.Unlock()
	var out []JobCounts
	for _, c := range s.counts {
		out = append(out, *c)
	}
	slices.SortFunc(out, func(a, b JobCounts) int { return cmp.Or(cmp.Compare(a.Wire, b.Wire), cmp.Compare(a.Key, b.Key)) })
	return out
}

func (s *mediaJobs) reset() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.byID, s.order, s.counts = nil, nil, nil
}

// jobWire is a wire on which answers take their time.
type jobWire struct {
	*wire
	id       func(*random) string
	status   int                            // of an accepted job; 0: 200
	barred   refusal                        // said of what the content policy does not allow
	unknown  func(id string) *refusal       // said of a job that is not there
	accepted func(j *mediaJob) []byte       // the answer to a submit
	view     func(j *mediaJob) []byte       // the answer to a poll
	polled   func(j *mediaJob) (status int) // nil: 200
}

// credential is the key of a request, however its wire passes it.
func credential(r *http.Request) string {
	for _, name := range [...]string{"X-Key", "X-Goog-Api-Key"} {
		if key := r.Header.Get(name); key != "" {
			return key
		}
	}
	if _, key, ok := strings.Cut(r.Header.Get("Authorization"), " "); ok {
		if claims, signed := jwtClaims(key); signed {
			return claims.get("iss").str()
		}
		return key
	}
	return r.URL.Query().Get("key")
}

// newJob begins the job that a request asks for.
func (s *mediaWires) newJob(on *wire, id func(*random) string, r *http.Request, a *mediaAsk) *mediaJob {
	j := &mediaJob{on: on, key: credential(r), made: *a, base: "http://" + r.Host, created: s.config.Now()}
	if k := &j.made.knobs.job; s.config.JobTime > 0 && !k.hasTakes && k.polls == 0 {
		k.takes, k.hasTakes = s.config.JobTime, true
	}
	s.jobs.add(j, id)
	return j
}

// madeAtOnce keeps results that a first answer has addresses of.
func (s *mediaWires) madeAtOnce(on *wire, r *http.Request, a *mediaAsk) *mediaJob {
	j := &mediaJob{on: on, key: credential(r), made: *a, base: "http://" + r.Host, created: s.config.Now(), stage: jobDone, progress: 100}
	j.ended = j.created
	s.jobs.add(j, hexID("made_"))
	return j
}

// submit begins a job. A fault that writes nothing of the answer leaves nothing begun, unless it is told to.
func (s *mediaWires) submit(on *jobWire, w http.ResponseWriter, r *http.Request, began time.Time, a *mediaAsk) *refusal {
	if a.knobs.job.end == "refuse" {
		barred := on.barred
		return &barred
	}
	body := sync.OnceValue(func() []byte { return on.accepted(s.newJob(on.wire, on.id, r, a)) })
	if a.knobs.job.made {
		body()
	}
	s.playMedia(&reply{wire: on.wire, status: on.status, body: body}, w, r, began, a, stepSubmit)
	return nil
}

// playMedia answers one step.
func (s *mediaWires) playMedia(out *reply, w http.ResponseWriter, r *http.Request, began time.Time, a *mediaAsk, step string) {
	s.playStep(out, w, r, began, a.name, a.knobs.at(step))
}

func (s *mediaWires) playStep(out *reply, w http.ResponseWriter, r *http.Request, began time.Time, model string, k *knobs) {
	if out.hollow == nil {
		out.hollow = func() []byte { return []byte(`{}`) }
	}
	x := s.exchange(out.wire, w, r, model, out.stream, k, began)
	defer x.end()
	x.play(out)
}

// poll answers how far a job is.
func (s *mediaWires) poll(on *jobWire, w http.ResponseWriter, r *http.Request, id string) {
	began := time.Now()
	j, found := s.jobs.poll(on.wire, id, credential(r), s.config.Now())
	if !found {
		s.refuse(on.wire, w, on.unknown(id))
		return
	}
	status := 200
	if on.polled != nil {
		status = on.polled(&j)
	}
	s.playMedia(&reply{wire: on.wire, status: status, body: func() []byte { return on.view(&j) }}, w, r, began, &j.made, stepPoll)
}

// forget cancels a job that runs and removes one that does not, and answers 204.
func (s *mediaWires) forget(on *jobWire, w http.ResponseWriter, r *http.Request, id string) {
	s.cancelled(on, w, r, id, true, func(*mediaJob) (int, []byte) { return 204, nil })
}

// cancelled cancels a job and answers with what is said of it as it was before.
func (s *mediaWires) cancelled(on *jobWire, w http.ResponseWriter, r *http.Request, id string, forget bool, say func(*mediaJob) (int, []byte)) {
	began := time.Now()
	key, now := credential(r), s.config.Now()
	j, found := s.jobs.look(on.wire, id, key, now)
	if !found {
		s.refuse(on.wire, w, on.unknown(id))
		return
	}
	status, body := say(&j)
	cancel := sync.OnceValue(func() []byte {
		s.jobs.cancel(on.wire, id, key, now, forget)
		return body
	})
	s.playMedia(&reply{wire: on.wire, status: status, body: cancel}, w, r, began, &j.made, stepCancel)
}

// ids as providers write them.
func uuidOf(rnd *random) string {
	h := hexOf(rnd.next()) + hexOf(rnd.next())
	return h[:8] + "-" + h[8:12] + "-4" + h[13:16] + "-8" + h[17:20] + "-" + h[20:]
}

func hexID(prefix string) func(*random) string {
	return func(rnd *random) string { return prefix + hexOf(rnd.next()) + hexOf(rnd.next()) }
}

func numberID(rnd *random) string {
	return strconv.FormatUint(100_000_000_000_000+rnd.next()%900_000_000_000_000, 10)
}
