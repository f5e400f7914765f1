// Package video runs video jobs: it stores the request, the progress and the cost of each, and does each step once even when processes
// die. It must not use the wire of a provider or a client, and calls other parts only through the interfaces that it declares.
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

// Media is an image, audio or a video in a request, given as an address or a data URL.
type Media struct {
	Kind  catalog.Modality // Image, Audio or Video
	URL   string           // "https://..." or "data:<media type>;base64,..."
	Frame string           // FirstFrame or LastFrame for a frame image, "" for a reference
}

// Param is a provider-specific parameter that the client set and that the catalog allows for the model.
type Param struct {
	Name  string
	Value []byte // JSON
}

// Request is a client's request for videos. Planner.Plan fills in everything that decides the price.
type Request struct {
	Model       string // as the client wrote it
	Prompt      string
	Seconds     int64  // requested length; 0: missing
	Resolution  string // "720p"; "": missing
	AspectRatio string // "16:9"; "": missing
	Size        string // "1280x720"; "": missing
	Frames      []Media
	References  []Media
	Guide       string // address of an image; Planner.Plan makes it the first frame where the model takes one, else a reference
	Audio       *bool  // nil: the default of the catalog
	Seed        *int64
	Upscale     string // upscale_factor, decimal text; "": missing
	Creativity  *int64
	Outputs     int64   // number of videos requested; 0: one
	Params      []Param // in the request's order
	// Options are the fields of provider.options. Only the provider with that slug gets them.
	Options     []ProviderOptions
	CallbackURL string // "" none
	Preferences routing.Preferences
	Form        bool // it came as a form, as OpenAI's clients send it
}

// ProviderOptions are the further fields of a request that only one provider gets.
type ProviderOptions struct {
	Provider string // slug
	Fields   []Param
}

// OptionsFor returns the request's options for a provider, nil without any.
func (r *Request) OptionsFor(provider string) []Param {
	for i := range r.Options {
		if r.Options[i].Provider == provider {
			return r.Options[i].Fields
		}
	}
	return nil
}

// WithAudio reports whether the videos get audio. Planner.Plan fills in Audio where the request leaves it open.
func (r *Request) WithAudio() bool { return r.Audio != nil && *r.Audio }

// Offer is an endpoint that may make the videos of a job, at the prices of the job's admission.
type Offer struct {
	Endpoint      string // id
	Provider      string // slug
	ProviderName  string
	UpstreamModel string
	Second        money.Price // per second of each video
	Request       money.Price // per job
	List          string      // identifies the price list, the rate and the source's price, as in catalog.Pricing
	Rate          string
	Source        string
	Refused       bool   // it has refused the job
	OwnKey        string // id of the own key of the job's user that the endpoint is called with, "" the gateway's
}

// Output is one video of a completed job.
type Output struct {
	URL       string // address at the provider; "" when Handle is used instead
	Handle    string // the provider's id of it
	MediaType string // "" unknown
	Bytes     int64  // 0 unknown
	Kept      string // key in the blob store, "" when it is not stored there
	ETag      string // of the stored copy
}

// Job is one admitted request for videos. The store has its whole state: nothing of it is in memory only.
type Job struct {
	ID         string // "vj_" and 24 base62 characters
	User       string // "usr_...": its owner
	Wallet     string // "wal_..."
	Key        string // "key_...", "" for the web interface
	Generation string // "gen-..."
	Model      string // slug, variant suffix kept
	State      State
	Accepted   bool // the client got, or may have got, a success response; a job that is not accepted is not started

	Request Request // emptied when it will not be submitted again
	Offers  []Offer // in the order in which they are tried
	Offer   int     // index of the offer that is tried, or that took the job
	Rounds  int     // rounds in which all of them were busy

	UpstreamID string    // the provider's id of the job; "" before a provider took it
	Submitting bool      // the job may have been submitted to an upstream, and its answer was not received
	AskedAt    time.Time // just before that submission
	Doubt      string    // the unclear answer to the submission; "" none
	Progress   int       // percent, 0 unknown
	Outputs    []Output
	Videos     int64  // number of videos requested
	Seconds    int64  // length of each: as requested, and after completion as charged
	Size       string // as requested, "" not
	Form       bool   // its clients are shown the job in OpenAI's shape

	Hold     money.Nano // reserved when it was admitted
	Cost     money.Nano // charged when it completed
	Ended    Ending
	Error    string // a sentence for the client; "" unless it failed, or expired before completion
	Reason   string // machine-readable reason of it
	Notice   string
	Call     record.Call // goes to the ledger at the end
	Callback string      // address that gets the final event; "" none
	Trace    string      // traceparent of the request that made it; "": its end is not traced

	Polls    int // so far
	Failures int // polls, or other steps, that failed in a row

	CreatedAt   time.Time
	UpdatedAt   time.Time
	DeadlineAt  time.Time // it expires unless it has completed by then
	CompletedAt time.Time // when it ended, in any state; zero before
	ExpiresAt   time.Time // when its content is deleted; zero before completion
	DueAt       time.Time // when a worker must process it; zero: never
	Cleanup     Cleanup   // work that is left after the job's end

	Fence int64 // number of the claim: writes with an older one are refused
}

// Ending is what happened to the money that a job held.
type Ending string

// The endings.
const (
	Open    Ending = ""        // still held
	Settled Ending = "settled" // charged
	Voided  Ending = "voided"  // given back
)

// Cleanup is a set of the work that is left after a job's end.
type Cleanup uint8

// The members.
const (
	CancelUpstream Cleanup = 1 << iota // cancel the job at the provider
	PurgeContent                       // delete the stored videos
)

// Active reports whether the job counts against the limit of jobs.
func (j *Job) Active() bool { return j.State.Active() }

// Serving returns the offer that is tried, or that took the job, or nil.
func (j *Job) Serving() *Offer {
	if j.Offer < 0 || j.Offer >= len(j.Offers) {
		return nil
	}
	return &j.Offers[j.Offer]
}

// Token identifies the present submission. Repeats of the submission have the same token; each offer and each round has another. It can be
// used as an idempotency key or as a provider's task id.
func (j *Job) Token() string {
	return j.ID + "-" + strconv.Itoa(j.Offer) + "-" + strconv.Itoa(j.Rounds)
}
