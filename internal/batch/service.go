package batch

import (
	"context"
	"io"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"weir/internal/apikey"
	"weir/internal/blob"
	"weir/internal/completion"
	"weir/internal/fault"
	"weir/internal/ledger"
	"weir/internal/limit"
	"weir/internal/loop"
	"weir/internal/preset"
	"weir/internal/record"
)

// Config holds the limits of files and batches. It begins with Default.
type Config struct {
	Now func() time.Time

	Window      time.Duration `constant:"window"`   // a batch that has not ended by then expires
	KeepFor     time.Duration `yaml:"keep_for"`     // of files
	ForgetAfter time.Duration `yaml:"forget_after"` // of batches after their end

	MaxFileBytes int64      `yaml:"max_file_bytes" as:"size"`
	MaxLines     int64      `constant:"max_requests"` // of one batch
	MaxLineBytes int64      `constant:"max_line_bytes" as:"size"`
	Files        FileBounds `yaml:",inline"`             // of one user
	MaxActive    int64      `yaml:"max_active_per_user"` // batches of one user that have not ended

	AtOnce    int           `yaml:"at_once"`              // calls of one node at a time
	PerUser   int           `constant:"at_once_per_user"` // of them for one user
	MaxHeld   int           // batches that one node works on at a time
	Gather    int64         // bytes of requests that wait on one node to be sent in a provider's batch; a quarter of them of one user
	Tries     int64         `constant:"tries"` // of a call that providers fail
	RunFor    time.Duration // longest call
	LookEvery time.Duration // how often a node looks for batches that are due
	WatchFor  time.Duration // how often it looks whether the batches that it works on were cancelled
	StoreFor  time.Duration // how long one call of the store may take
	LostAfter time.Duration `constant:"lost_after"` // how long a provider has to show a batch whose creation it did not answer

	// Wait waits for d or until ctx ends, and then fails.
	Wait func(ctx context.Context, d time.Duration) error
	// Go begins one of a batch's workers, which may wait, in a goroutine. A test's clock has to know of all of them.
	Go func(workers *sync.WaitGroup, work func())
	// Report gets failures of work in the background. They never contain content of requests or answers.
	Report func(what, batch string, err error)
}

// Default is a Config with usual values.
func Default(now func() time.Time) Config {
	return Config{
		Now: now, Window: 24 * time.Hour, KeepFor: 30 * 24 * time.Hour, ForgetAfter: 30 * 24 * time.Hour,
		MaxFileBytes: 100 << 20, MaxLines: 50_000, MaxLineBytes: 4 << 20, Files: FileBounds{Files: 1000, Bytes: 2 << 30}, MaxActive: 20,
		AtOnce: 16, PerUser: 8, MaxHeld: 256, Gather: 64 << 20, Tries: 5, RunFor: 40 * time.Minute, LookEvery: time.Second, WatchFor: time.Second,
		StoreFor: 10 * time.Second, LostAfter: 2 * time.Minute,
		Wait: loop.Wait, Go: (*sync.WaitGroup).Go, Report: func(string, string, error) {},
	}
}

// Line is a line of an input file.
type Line struct {
	CustomID string
	Body     []byte // of its request: a part of the line
}

// Wire reads lines of requests and writes lines of results.
type Wire interface {
	// Line reads a line of a batch, whose bytes may be anything. problem is nil for a good one.
	Line(b *Batch, text []byte) (line Line, problem *Problem)
	// AppendResult appends the line of a result, with its line feed.
	AppendResult(to []byte, b *Batch, it *Item) []byte
}

// Call is one request of a batch.
type Call struct {
	Caller     *apikey.Caller
	Endpoint   string
	Body       []byte
	Generation string
	Version    string // anthropic-version
	Betas      string // anthropic-beta
	Tags       string // of the batch, separated by commas

	// Deferred is the part that the request has, or is to have, in a provider's batch; nil: the request goes to the provider by itself.
	Deferred *completion.Deferred
	// Held is the hold that preparing it has made, which the answer is paid from. What a call does not use stays here.
	Held *ledger.Hold
	// Preset is the preset that preparing it has used, which the answer is read with; nil: one that the request names is looked up.
	Preset *preset.Preset
}

// Answer is the answer to a Call, with its HTTP status.
type Answer struct {
	Status    int
	Body      []byte
	RequestID string
	Err       *fault.Error // nil: the call succeeded
	Record    *record.Call // nil when it did not reach the relay
}

// Runner makes calls, as if their user had sent them: each is held for, routed, settled and recorded by the relay.
type Runner interface {
	Run(ctx context.Context, c *Call) Answer
	// Spare reports whether the key has so much left of its allowances that calls of its user in person are not the ones that are refused.
	Spare(caller *apikey.Caller) bool
}

// Member is this node's name and epoch. The epoch rises when other nodes treat this node as dead. *ledger.Book is one.
type Member interface {
	Node() string
	Epoch() int64
}

// Deps are the dependencies of a Service.
type Deps struct {
	Store    Store
	Contents blob.Store
	Member   Member
	Wire     Wire
	// Caller finds the owner of a key by its id, which stays when the key is rotated. It fails with fault.Authentication for one that is not
	// valid any more.
	Caller func(ctx context.Context, key string) (*apikey.Caller, error)
	// Defaults makes the preferences of a caller out of their texts, as apikey.ReadDefaults does.
	Defaults func(d apikey.Defaults) (*apikey.Defaults, error)
	// Charge reports what the ledger knows of a call.
	Charge func(ctx context.Context, wallet, generation string) (Charge, error)
	// Void records that a call of a batch was not made, so that it can never be charged any more, unless it was.
	Void func(ctx context.Context, b *Batch, generation string) error
	// Native makes providers run batches; nil: none does.
	Native Native
	// Observer counts how requests end; it may be nil.
	Observer Observer
}

// Service keeps files, admits and shows batches, and works on those that are due. It is safe for concurrent use.
type Service struct {
	Deps
	cfg      Config
	runner   Runner // set by Start
	turns    *limit.Turns
	gathered *limit.Budget // bytes of requests that wait to be sent in a part
	began    time.Time
	looks    *loop.Loop
	clears   *loop.Loop
	swept    time.Time // used by look alone, as is counted
	counted  time.Time

	ahead  atomic.Int64 // of the database's clock to this node's, in nanoseconds
	synced atomic.Bool

	work sync.WaitGroup

	mu      sync.Mutex
	held    map[string]bool // batches that this node works on
	closing bool
	ctx     context.Context // of calls under way
	cancel  context.CancelCauseFunc
	soon    chan struct{} // closed when no more calls are to be begun
}

// New makes a Service. It works on no batch before Start.
func New(d Deps, c Config) *Service {
	c.PerUser = min(c.PerUser, c.AtOnce)
	s := &Service{Deps: d, cfg: c, began: c.Now(), turns: limit.NewTurns(c.AtOnce, c.PerUser), gathered: limit.NewBudget(c.Gather, c.Gather/gatherShare), held: map[string]bool{}, soon: make(chan struct{})}
	s.ctx, s.cancel = context.WithCancelCause(context.Background())
	s.looks = loop.New(0, s.look)
	s.clears = loop.New(0, s.clearRound)
	return s
}

// Limits are the bounds that clients may need to know.
func (s *Service) Limits() (fileBytes, lineBytes, lineCount int64) {
	return s.cfg.MaxFileBytes, s.cfg.MaxLineBytes, s.cfg.MaxLines
}

// local is the time of this node. Steps of the wall clock while the process runs do not change it.
func (s *Service) local() time.Time { return s.began.Add(s.cfg.Now().Sub(s.began)) }

// now is the time by which everything here is done: that of the database, as last read, and what has passed since.
func (s *Service) now() time.Time {
	return s.local().Add(time.Duration(s.ahead.Load())).UTC().Truncate(time.Microsecond)
}

func (s *Service) sync(ctx context.Context) error {
	ctx, cancel := s.short(ctx)
	defer cancel()
	asked := s.local()
	reported, err := s.Store.Clock(ctx)
	if err != nil {
		return err
	}
	took := s.local().Sub(asked)
	if took > time.Second && s.synced.Load() {
		return nil
	}
	s.ahead.Store(int64(reported.Sub(asked.Add(took / 2))))
	s.synced.Store(true)
	return nil
}

func (s *Service) timed(ctx context.Context) error {
	if s.synced.Load() {
		return nil
	}
	return s.sync(ctx)
}

func (s *Service) short(ctx context.Context) (context.Context, context.CancelFunc) {
	return context.WithTimeout(ctx, s.cfg.StoreFor)
}

// Keeps fails for users of whom nothing may be stored.
func Keeps(c *apikey.Caller, what string) error {
	if d := c.Defaults; d != nil && d.Preferences.ZDR {
		return fault.Newf(fault.PermissionDenied, "batch.Keeps", "The preferences of this account or key require zero data retention, and %s stores requests and answers. Send the requests one by one.", what)
	}
	return nil
}

// NewFile is a file that a user sends.
type NewFile struct {
	User    string
	Key     string // that it is sent with
	Name    string
	Purpose string
	Keep    time.Duration // 0: as configured, which is also the most
	Content io.Reader
	Hidden  bool
}

// AddFile stores a file, and returns it when it is on the disk. It fails with fault.RateLimited when its user would have too many, and with
// fault.StorageUnavailable.
func (s *Service) AddFile(ctx context.Context, n NewFile) (*File, error) {
	f, err := s.put(ctx, n)
	if err != nil {
		return nil, err
	}
	short, cancel := s.short(context.WithoutCancel(ctx))
	defer cancel()
	if err := s.Store.AddFile(short, f, s.cfg.Files); err != nil {
		s.discard(ctx, f.ID)
		return nil, err
	}
	return f, nil
}

// put stores the content of a file that has no row yet. If it never gets one, a sweep deletes it.
func (s *Service) put(ctx context.Context, n NewFile) (*File, error) {
	if err := s.timed(ctx); err != nil {
		return nil, err
	}
	if err := s.Contents.Ready(ctx); err != nil {
		return nil, err
	}
	now := s.now()
	keep := s.cfg.KeepFor
	if n.Keep > 0 {
		keep = min(keep, n.Keep)
	}
	f := &File{ID: apikey.NewID(FilePrefix), User: n.User, Key: n.Key, Purpose: n.Purpose, Name: n.Name, Hidden: n.Hidden, CreatedAt: now, ExpiresAt: now.Add(keep)}
	size, _, err := s.Contents.Put(ctx, f.ID, "application/jsonl", n.Content)
	if err != nil {
		return nil, err
	}
	f.Bytes = size
	return f, nil
}

// discard deletes the content of a file that has no row.
func (s *Service) discard(ctx context.Context, id string) {
	short, cancel := s.short(context.WithoutCancel(ctx))
	defer cancel()
	if err := s.Contents.Delete(short, id); err != nil {
		s.cfg.Report("a file without an owner cannot be deleted yet", "", err)
	}
}

// File finds a user's file. It fails with fault.NotFound.
func (s *Service) File(ctx context.Context, user, id string) (*File, error) {
	f, err := s.file(ctx, user, id)
	if err == nil && f.Hidden {
		return nil, NoFile("batch.File")
	}
	return f, err
}

func (s *Service) file(ctx context.Context, user, id string) (*File, error) {
	if err := s.timed(ctx); err != nil {
		return nil, err
	}
	short, cancel := s.short(ctx)
	defer cancel()
	f, err := s.Store.File(short, user, id, s.now())
	if fault.Is(err, fault.NotFound) {
		return nil, NoFile("batch.File").Because(err)
	}
	return f, err
}

// NoFile is the error for a file that does not exist, or that somebody does not see.
func NoFile(op string) *fault.Error {
	return fault.New(fault.NotFound, op, "There is no such file. Files are deleted when their time is over.")
}

// NoInput is the error for a batch of such a file.
func NoInput(op, id string) *fault.Error {
	return fault.Field(op, "input_file_id", "There is no file %.64q.", id)
}

// NoBatch is the error for a batch that does not exist, or that somebody does not see.
func NoBatch(op string) *fault.Error { return fault.New(fault.NotFound, op, "There is no such batch.") }

// Files lists a user's files, and whether there are more.
func (s *Service) Files(ctx context.Context, q FileQuery) (files []File, more bool, err error) {
	if err := s.timed(ctx); err != nil {
		return nil, false, err
	}
	short, cancel := s.short(ctx)
	defer cancel()
	n := q.Limit
	q.Limit, q.Now = n+1, s.now()
	files, err = s.Store.Files(short, q)
	if more = len(files) > n; more {
		files = files[:n]
	}
	return files, more, err
}

// OpenFile reads a user's file. The reader must be closed.
func (s *Service) OpenFile(ctx context.Context, user, id string) (io.ReadCloser, *File, error) {
	f, err := s.File(ctx, user, id)
	if err != nil {
		return nil, nil, err
	}
	r, _, err := s.Contents.Open(ctx, f.ID, 0, -1)
	if fault.Is(err, fault.NotFound) {
		err = NoFile("batch.OpenFile").Because(err)
	}
	return r, f, err
}

// DeleteFile deletes a user's file. It fails with fault.NotFound, and with fault.Conflict while a batch reads it.
func (s *Service) DeleteFile(ctx context.Context, user, id string) error {
	if _, err := s.File(ctx, user, id); err != nil {
		return err
	}
	short, cancel := s.short(ctx)
	defer cancel()
	if err := s.Store.MarkFile(short, user, id); err != nil {
		return err
	}
	s.erase(ctx, id) // or a sweep does
	return nil
}

// erase deletes the content of a file that is marked as gone, and then its row.
func (s *Service) erase(ctx context.Context, id string) bool {
	ctx, cancel := s.short(context.WithoutCancel(ctx))
	defer cancel()
	err := s.Contents.Delete(ctx, id)
	if err == nil {
		err = s.Store.DropFile(ctx, id)
	}
	if err != nil {
		s.cfg.Report("a file cannot be deleted yet", "", err)
	}
	return err == nil
}

// NewBatch is a batch that a user wants.
type NewBatch struct {
	Caller     *apikey.Caller
	Shape      Shape
	Endpoint   string
	Metadata   string
	Input      string    // id of a file, "" for Requests
	Requests   io.Reader // its lines, when there is no file
	Total      int64     // how many they are
	Generation string
	Version    string
	Betas      string
	Tags       []string      // for all of its requests
	Keep       time.Duration // of its results; 0: as configured, which is also the most
}

// Add admits a batch, and returns it when it is on the disk. It fails with fault.NotFound when there is no such file, with fault.RateLimited
// when the user has too many batches, and with fault.StorageUnavailable.
func (s *Service) Add(ctx context.Context, n *NewBatch) (*Batch, error) {
	if s.stopping() {
		return nil, fault.New(fault.Draining, "batch.Add", "The gateway is shutting down.")
	}
	if err := Keeps(n.Caller, "a batch"); err != nil {
		return nil, err
	}
	if err := s.timed(ctx); err != nil {
		return nil, err
	}
	prefix := BatchPrefix
	if n.Shape == Messages {
		prefix = MessagesPrefix
	}
	now := s.now()
	keep := s.cfg.KeepFor
	if n.Keep > 0 {
		keep = min(keep, n.Keep)
	}
	c := n.Caller
	b := &Batch{ID: apikey.NewID(prefix), User: c.User, Wallet: c.Wallet, Key: c.Key, Generation: n.Generation, Shape: n.Shape, Endpoint: n.Endpoint,
		Metadata: n.Metadata, Version: n.Version, Betas: n.Betas, Tags: strings.Join(n.Tags, ","), State: Validating, Input: n.Input, Total: n.Total, KeepFor: keep, CreatedAt: now, ExpiresAt: now.Add(s.cfg.Window), DueAt: now}
	var input *File
	if n.Requests != nil {
		f, err := s.put(ctx, NewFile{User: c.User, Key: c.Key, Purpose: PurposeInput, Hidden: true, Content: n.Requests})
		if err != nil {
			return nil, err
		}
		input, b.Input = f, f.ID
	} else {
		f, err := s.File(ctx, c.User, n.Input)
		switch {
		case fault.Is(err, fault.NotFound):
			return nil, NoInput("batch.Add", n.Input)
		case err != nil:
			return nil, err
		case f.Purpose != PurposeInput:
			return nil, fault.Field("batch.Add", "input_file_id", "The file has the purpose %s. Upload the requests with the purpose batch.", f.Purpose)
		}
	}
	short, cancel := s.short(context.WithoutCancel(ctx))
	defer cancel()
	if err := s.Store.AddBatch(short, b, input, s.cfg.MaxActive); err != nil {
		if input != nil && !fault.Is(err, fault.StorageUnavailable) {
			s.discard(ctx, input.ID)
		}
		return nil, err
	}
	s.looks.Wake()
	return b, nil
}

// Get finds a user's batch. It fails with fault.NotFound.
func (s *Service) Get(ctx context.Context, user, id string, shape Shape) (*Batch, error) {
	short, cancel := s.short(ctx)
	defer cancel()
	b, err := s.Store.Batch(short, user, id, shape)
	if fault.Is(err, fault.NotFound) {
		return nil, NoBatch("batch.Get").Because(err)
	}
	return b, err
}

// List lists a user's batches, the newest first, and whether there are more.
func (s *Service) List(ctx context.Context, q Query) (list []Batch, more bool, err error) {
	short, cancel := s.short(ctx)
	defer cancel()
	n := q.Limit
	q.Limit++
	list, err = s.Store.Batches(short, q)
	if more = len(list) > n; more {
		if q.Before != "" {
			list = list[1:] // the one that is too many is the newest
		} else {
			list = list[:n]
		}
	}
	return list, more, err
}

// Cancel has a batch cancelled: no more of its lines are begun, and what is under way is finished and charged. It fails with fault.NotFound,
// and with fault.Conflict when the batch has ended or all of it was called.
func (s *Service) Cancel(ctx context.Context, user, id string, shape Shape) (*Batch, error) {
	if err := s.timed(ctx); err != nil {
		return nil, err
	}
	if _, err := s.Get(ctx, user, id, shape); err != nil {
		return nil, err
	}
	short, cancel := s.short(ctx)
	defer cancel()
	if err := s.Store.CancelBatch(short, id, s.now(), nil, nil); err != nil {
		return nil, err
	}
	s.looks.Wake()
	b, err := s.Get(ctx, user, id, shape)
	if err == nil && b.State != Cancelling && b.State != CancelledS {
		return nil, fault.Newf(fault.Conflict, "batch.Cancel", "The batch is %s and cannot be cancelled any more.", b.State)
	}
	return b, err
}

// Delete forgets a batch that has ended, with its files. It fails with fault.NotFound, and with fault.Conflict for one that has not.
func (s *Service) Delete(ctx context.Context, user, id string, shape Shape) error {
	if _, err := s.Get(ctx, user, id, shape); err != nil {
		return err
	}
	short, cancel := s.short(ctx)
	defer cancel()
	if err := s.Store.DeleteBatch(short, user, id, shape); err != nil {
		return err
	}
	s.clear(ctx)
	return nil
}

// Results opens the results of a batch of messages. It fails with fault.NotFound while there are none.
func (s *Service) Results(ctx context.Context, user, id string) (io.ReadCloser, error) {
	b, err := s.Get(ctx, user, id, Messages)
	if err != nil {
		return nil, err
	}
	if !b.State.Final() || b.Output == "" {
		return nil, fault.New(fault.NotFound, "batch.Results", "The batch has no results yet. Ask again when its processing_status is ended.")
	}
	f, err := s.file(ctx, user, b.Output)
	if fault.Is(err, fault.NotFound) {
		return nil, fault.New(fault.NotFound, "batch.Results", "The results were deleted when their time was over.").Because(err)
	}
	if err != nil {
		return nil, err
	}
	r, _, err := s.Contents.Open(ctx, f.ID, 0, -1)
	return r, err
}

// TooMany is the error for a user who has reached the limit of batches.
func TooMany(n int64) error {
	e := fault.Newf(fault.RateLimited, "batch.Add", "At most %d batches can run at a time. Wait for one to end.", n)
	e.RetryAfter = time.Minute
	e.Details = map[string]any{"limited_by": "max_active_batches_per_user"}
	return e
}

// NoRoom is the error for a user who has stored too much.
func NoRoom(b FileBounds) error {
	e := fault.Newf(fault.RateLimited, "batch.AddFile", "A user can keep %d files of %d bytes in all. Delete some first.", b.Files, b.Bytes)
	e.RetryAfter = time.Hour
	e.Details = map[string]any{"limited_by": "max_stored_files_per_user"}
	return e
}
