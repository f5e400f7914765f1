// Package video keeps video jobs: what was asked for, how far each has come, what it costs, and that all of it happens once, whatever dies
// on the way. It knows no provider's wire and no client's, and calls others only through the interfaces that it declares.
package video

import (
	"strconv"
	"time"

	"weir/internal/catalog"
	"weir/internal/money"
	"weir/internal/record"
	"weir/internal/routing"
)

// Frame types of Image.
const (
	FirstFrame = "first_frame"
	LastFrame  = "last_frame"
)

// Media is an image, audio or a video that a request brings along: the address of one, or a data URL.
type Media struct {
	Kind  catalog.Modality // Image, Audio or Video
	URL   string           // "https://..." or "data:<media type>;base64,..."
	Frame string           // FirstFrame or LastFrame for a frame image, "" for a reference
}

// Param is a parameter of the provider's own that the client set and that the catalog allows for the model.
type Param struct {
	Name  string
	Value []byte // JSON
}

// Request is what a client asks for. After Planner.Plan everything that decides the price is filled in.
type Request struct {
	Model       string // as the client wrote it
	Prompt      string
	Seconds     int64  // length asked for; 0: not said
	Resolution  string // "720p"; "": not said
	AspectRatio string // "16:9"; "": not said
	Size        string // "1280x720"; "": not said
	Frames      []Media
	References  []Media
	Audio       *bool // nil: as the catalog says
	Seed        *int64
	Upscale     string // upscale_factor, decimal text; "": not said
	Creativity  *int64
	Outputs     int64   // videos asked for; 0: one
	Params      []Param // in the request's order
	// Options are the fields of provider.options: for the provider of that slug alone.
	Options     []ProviderOptions
	CallbackURL string // "" none
	Preferences routing.Preferences
}

// ProviderOptions are the further fields of a request that only one provider gets.
type ProviderOptions struct {
	Provider string // slug
	Fields   []Param
}

// OptionsFor are the fields that the request has for a provider, nil without any.
func (r *Request) OptionsFor(provider string) []Param {
	for i := range r.Options {
		if r.Options[i].Provider == provider {
			return r.Options[i].Fields
		}
	}
	return nil
}

// WithAudio reports whether the videos are to have audio; after Planner.Plan it is never a guess.
func (r *Request) WithAudio() bool { return r.Audio != nil && *r.Audio }

// Offer is an endpoint that may make the videos of a job, at the prices of the job's admission.
type Offer struct {
	Endpoint      string // id
	Provider      string // slug
	ProviderName  string
	UpstreamModel string
	Second        money.Price // per second of each video
	Request       money.Price // per job
	List          string      // of the price list, the rate and the source's price, as catalog.Pricing has them
	Rate          string
	Source        string
	Refused       bool // it does not want the job
}

// Output is one video of a completed job.
type Output struct {
	URL       string // where the provider has it; "" when Handle names it
	Handle    string // the provider's own name for it
	MediaType string // "" unknown
	Bytes     int64  // 0 unknown
	Kept      string // key in the content store, "" when it is not kept
	ETag      string // of the kept one
}

// Job is one request for videos, from its admission on. What the store keeps of it is all of it.
type Job struct {
	ID         string // "vj_" and 24 base62 characters
	User       string // "usr_...": whose it is
	Wallet     string // "wal_..."
	Key        string // "key_...", "" for the web interface
	Generation string // "gen-..."
	Model      string // slug, variant suffix kept
	State      State
	Accepted   bool // its client has been sent its id, or may have been; a job is not begun before

	Request Request // emptied when no provider will be asked for it any more
	Offers  []Offer // in the order in which they are asked
	Offer   int     // the one that is asked, or that took the job
	Rounds  int     // how often all of them were found busy

	UpstreamID string    // the provider's name for the job; "" before one took it
	Submitting bool      // an upstream may have been asked for it, and the answer was lost
	AskedAt    time.Time // just before that
	Doubt      string    // what came for an answer that says neither yes nor no; "" none did
	Progress   int       // percent, 0 unknown
	Outputs    []Output
	Videos     int64 // how many were asked for
	Seconds    int64 // length of each as asked for, and as charged for when it has completed

	Hold     money.Nano // reserved when it was admitted
	Cost     money.Nano // charged when it completed
	Ended    Ending
	Error    string // a sentence for the client; "" unless it failed, or expired before completion
	Reason   string // the machine word for it
	Notice   string
	Call     record.Call // what the ledger gets at the end
	Callback string      // where the event of the end goes; "" nowhere

	Polls    int // asked for progress so far
	Failures int // polls, or other steps, that failed in a row

	CreatedAt   time.Time
	UpdatedAt   time.Time
	DeadlineAt  time.Time // it expires unless it has completed by then
	CompletedAt time.Time // of its end, whatever that is; zero before
	ExpiresAt   time.Time // its content is deleted then; zero before completion
	DueAt       time.Time // a worker is to look at it then; zero: never
	Cleanup     Cleanup   // what is still to be done for an ended job

	Fence int64 // counts claims: who has an older one cannot write any more
}

// Ending is what happened to the money that a job held.
type Ending string

// The endings.
const (
	Open    Ending = ""        // still held
	Settled Ending = "settled" // charged
	Voided  Ending = "voided"  // given back
)

// Cleanup is a set of what is still to be done for an ended job.
type Cleanup uint8

// The members.
const (
	CancelUpstream Cleanup = 1 << iota // the provider is to be asked to cancel the job
	PurgeContent                       // kept videos are to be deleted
)

// Active reports whether the job counts against the limit of jobs.
func (j *Job) Active() bool { return j.State.Active() }

// Serving is the offer that is asked, or that took the job; nil when there is none.
func (j *Job) Serving() *Offer {
	if j.Offer < 0 || j.Offer >= len(j.Offers) {
		return nil
	}
	return &j.Offers[j.Offer]
}

// Token names the submission that is under way: the same however often that is made, another for each offer and each round of them. It is
// fit for an idempotency key, or for a task id of the provider's.
func (j *Job) Token() string {
	return j.ID + "-" + strconv.Itoa(j.Offer) + "-" + strconv.Itoa(j.Rounds)
}
