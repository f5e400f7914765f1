package media

import (
	"cmp"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"weir/internal/sim/kit"
)

// mediaJob is one job. The store returns copies.
type mediaJob struct {
	id      string
	on      *kit.Wire
	key     string // the credential of its owner
	spec    mediaRequest
	base    string // "http://host:port", as its owner called it
	created time.Time

	polls    int
	stage    kit.JobStage
	progress int // percent
	ended    time.Time
}

// advance updates a job's stage from the clock or from the number of polls.
func (j *mediaJob) advance(now time.Time) {
	k := &j.spec.knobs.Job
	if j.stage >= kit.JobDone || k.End == "stuck" {
		return
	}
	part, waiting := 100*j.polls/cmp.Or(k.Polls, kit.DefaultPolls), j.polls == 0 || j.polls <= k.Queued
	if k.HasTakes {
		part = 100
		if passed := now.Sub(j.created); passed < k.Takes {
			part = int(100 * passed / k.Takes)
		}
		waiting = part < 25
	}
	switch {
	case part >= 100 && k.End != "never":
		j.stage, j.progress, j.ended = kit.JobEnds[cmp.Or(k.End, "done")], 100, now
	case !waiting:
		j.stage, j.progress = kit.JobRunning, min(part, 99)
	}
}

// resultLife is how long results can be fetched, by default.
const resultLife = time.Hour

// expires returns when the results of a finished job are deleted.
func (j *mediaJob) expires() time.Time {
	life := resultLife
	if j.spec.knobs.Job.HasLifetime {
		life = j.spec.knobs.Job.Lifetime
	}
	return j.ended.Add(life)
}

// outputs returns the number of results.
func (j *mediaJob) outputs() int {
	switch k := &j.spec.knobs.Job; {
	case j.stage != kit.JobDone || k.End == "empty":
		return 0
	case k.Outputs > 0:
		return k.Outputs
	}
	return max(1, j.spec.count)
}

// url is the address of a result, which needs no key.
func (j *mediaJob) url(i int) string {
	return j.base + "/sim/media/" + j.id + "/" + strconv.Itoa(i) + "." + j.spec.extension()
}

// urls returns the addresses of all results, as JSON strings.
func (j *mediaJob) urls() []any {
	out := []any{}
	for i := range j.outputs() {
		out = append(out, j.url(i))
	}
	return out
}

// mediaJobs stores the newest jobs and counts the requests about them.
type mediaJobs struct {
	mu     sync.Mutex
	byID   map[string]*mediaJob
	order  []string
	issued uint64 // jobs since the start, so that ids are not repeated after a reset
	counts map[jobOwner]*JobCounts
}

type jobOwner struct{ wire, key string }

const maxJobs = 4096

// JobCounts counts the requests of one key for images and videos on one wire.
type JobCounts struct {
	Wire      string // such as "runway"
	Key       string // as it was given
	Submits   int64  // submits that started a job
	Polls     int64  // including polls of unknown jobs
	Cancels   int64  // of jobs that had not ended
	Downloads int64  // of results
}

// of returns the counts of an owner. The lock must be held.
func (s *mediaJobs) of(on *kit.Wire, key string) *JobCounts {
	if s.counts == nil {
		s.counts = make(map[jobOwner]*JobCounts)
	}
	owner := jobOwner{on.Name, key}
	if s.counts[owner] == nil && len(s.counts) >= kit.MaxNames {
		owner.key = kit.OtherNames
	}
	c := s.counts[owner]
	if c == nil {
		c = &JobCounts{Wire: owner.wire, Key: owner.key}
		s.counts[owner] = c
	}
	return c
}

// add keeps a copy of a new job and counts its submit. Its id is made from a number that no other job gets.
func (s *mediaJobs) add(j *mediaJob, id func(*kit.Random) string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.byID == nil {
		s.byID = make(map[string]*mediaJob)
	}
	s.issued++
	d := kit.NewDigest
	d.Add(j.on.Name)
	d.Add(j.key)
	d.Add(strconv.FormatInt(j.created.UnixNano(), 10))
	rnd := kit.Random(uint64(d) + s.issued)
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
func (s *mediaJobs) submitted(on *kit.Wire, key string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.of(on, key).Submits++
}

// owned returns the job with that id; nil when it has another owner or another wire. The lock must be held.
func (s *mediaJobs) owned(on *kit.Wire, id, key string) *mediaJob {
	if j := s.byID[id]; j != nil && j.on == on && j.key == key {
		return j
	}
	return nil
}

// poll counts a poll and returns the job after it.
func (s *mediaJobs) poll(on *kit.Wire, id, key string, now time.Time) (mediaJob, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.of(on, key).Polls++
	j := s.owned(on, id, key)
	if j == nil || j.spec.knobs.Job.End == "lost" {
		return mediaJob{}, false
	}
	j.polls++
	j.advance(now)
	return *j, true
}

// look is the job in its present state.
func (s *mediaJobs) look(on *kit.Wire, id, key string, now time.Time) (mediaJob, bool) {
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

// cancel ends a job and, if asked, forgets it. The copy is from before.
func (s *mediaJobs) cancel(on *kit.Wire, id, key string, now time.Time, forget bool) (mediaJob, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	j := s.owned(on, id, key)
	if j == nil {
		return mediaJob{}, false
	}
	j.advance(now)
	before := *j
	if j.stage < kit.JobDone {
		s.of(on, key).Cancels++
		j.stage, j.ended = kit.JobCancelled, now
	}
	if forget {
		delete(s.byID, id)
	}
	return before, true
}

// list returns the jobs of an owner, newest first.
func (s *mediaJobs) list(on *kit.Wire, key string, now time.Time) []mediaJob {
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

// snapshot returns the counts by wire and key.
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

// jobWire is a wire with jobs: the client polls for the result.
type jobWire struct {
	*kit.Wire
	id       func(*kit.Random) string
	status   int                            // of an accepted job; 0: 200
	blocked  kit.Refusal                    // the error for a request that the content policy forbids
	unknown  func(id string) *kit.Refusal   // the error for an unknown job
	accepted func(j *mediaJob) []byte       // the answer to a submit
	view     func(j *mediaJob) []byte       // the answer to a poll
	polled   func(j *mediaJob) (status int) // nil: 200
}

// credential returns the key of a request, from any of the headers or parameters that wires use.
func credential(r *http.Request) string {
	for _, name := range [...]string{"X-Key", "X-Goog-Api-Key"} {
		if key := r.Header.Get(name); key != "" {
			return key
		}
	}
	if _, key, ok := strings.Cut(r.Header.Get("Authorization"), " "); ok {
		if claims, signed := jwtClaims(key); signed {
			return claims.Get("iss").Str()
		}
		return key
	}
	return r.URL.Query().Get("key")
}

// newJob returns a job for a request.
func (s *Wires) newJob(on *kit.Wire, id func(*kit.Random) string, r *http.Request, a *mediaRequest) *mediaJob {
	j := &mediaJob{on: on, key: credential(r), spec: *a, base: "http://" + r.Host, created: s.Config.Now()}
	if k := &j.spec.knobs.Job; s.Config.JobTime > 0 && !k.HasTakes && k.Polls == 0 {
		k.Takes, k.HasTakes = s.Config.JobTime, true
	}
	s.jobs.add(j, id)
	return j
}

// finishedJob stores results whose addresses are in the first answer, without a job to poll.
func (s *Wires) finishedJob(on *kit.Wire, r *http.Request, a *mediaRequest) *mediaJob {
	j := &mediaJob{on: on, key: credential(r), spec: *a, base: "http://" + r.Host, created: s.Config.Now(), stage: kit.JobDone, progress: 100}
	j.ended = j.created
	s.jobs.add(j, hexID("made_"))
	return j
}

// submit begins a job. A fault that writes nothing of the answer leaves nothing begun, unless made=1.
func (s *Wires) submit(on *jobWire, w http.ResponseWriter, r *http.Request, began time.Time, a *mediaRequest) *kit.Refusal {
	if a.knobs.Job.End == "refuse" {
		blocked := on.blocked
		return &blocked
	}
	body := sync.OnceValue(func() []byte { return on.accepted(s.newJob(on.Wire, on.id, r, a)) })
	if a.knobs.Job.StartThenFail {
		body()
	}
	s.playMedia(&kit.Reply{Wire: on.Wire, Status: on.status, Body: body}, w, r, began, a, kit.StepSubmit)
	return nil
}

// playMedia answers one step.
func (s *Wires) playMedia(out *kit.Reply, w http.ResponseWriter, r *http.Request, began time.Time, a *mediaRequest, step string) {
	s.playStep(out, w, r, began, a.name, a.knobs.AtStep(step))
}

func (s *Wires) playStep(out *kit.Reply, w http.ResponseWriter, r *http.Request, began time.Time, model string, k *kit.Knobs) {
	if out.EmptyBody == nil {
		out.EmptyBody = func() []byte { return []byte(`{}`) }
	}
	x := s.Exchange(out.Wire, w, r, model, out.Stream, k, began)
	defer x.End()
	x.Play(out)
}

// poll answers with the state of a job.
func (s *Wires) poll(on *jobWire, w http.ResponseWriter, r *http.Request, id string) {
	began := time.Now()
	j, found := s.jobs.poll(on.Wire, id, credential(r), s.Config.Now())
	if !found {
		s.Refuse(on.Wire, w, on.unknown(id))
		return
	}
	status := 200
	if on.polled != nil {
		status = on.polled(&j)
	}
	s.playMedia(&kit.Reply{Wire: on.Wire, Status: status, Body: func() []byte { return on.view(&j) }}, w, r, began, &j.spec, kit.StepPoll)
}

// forget cancels a running job or removes a finished one, and answers 204.
func (s *Wires) forget(on *jobWire, w http.ResponseWriter, r *http.Request, id string) {
	s.cancelled(on, w, r, id, true, func(*mediaJob) (int, []byte) { return 204, nil })
}

// cancelled cancels a job and answers with what is said of it as it was before.
func (s *Wires) cancelled(on *jobWire, w http.ResponseWriter, r *http.Request, id string, forget bool, say func(*mediaJob) (int, []byte)) {
	began := time.Now()
	key, now := credential(r), s.Config.Now()
	j, found := s.jobs.look(on.Wire, id, key, now)
	if !found {
		s.Refuse(on.Wire, w, on.unknown(id))
		return
	}
	status, body := say(&j)
	cancel := sync.OnceValue(func() []byte {
		s.jobs.cancel(on.Wire, id, key, now, forget)
		return body
	})
	s.playMedia(&kit.Reply{Wire: on.Wire, Status: status, Body: cancel}, w, r, began, &j.spec, kit.StepCancel)
}

// Ids in the providers' forms.
func uuidOf(rnd *kit.Random) string {
	h := kit.HexOf(rnd.Next()) + kit.HexOf(rnd.Next())
	return h[:8] + "-" + h[8:12] + "-4" + h[13:16] + "-8" + h[17:20] + "-" + h[20:]
}

func hexID(prefix string) func(*kit.Random) string {
	return func(rnd *kit.Random) string { return prefix + kit.HexOf(rnd.Next()) + kit.HexOf(rnd.Next()) }
}

func numberID(rnd *kit.Random) string {
	return strconv.FormatUint(100_000_000_000_000+rnd.Next()%900_000_000_000_000, 10)
}
