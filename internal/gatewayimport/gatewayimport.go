// Package gatewayimport reads what other gateways export: keys with their limits, presets and routing of OpenRouter, LiteLLM, one-api and new-api. It
// says what each becomes here and what is lost, and makes it for an account. It never carries a secret of theirs into a key, and shows none.
package gatewayimport

import (
	"math/big"
	"net/netip"
	"strings"
	"time"

	"weir/internal/apikey"
	"weir/internal/fault"
	"weir/internal/money"
)

// The gateways whose exports are read.
const (
	OpenRouter = "openrouter"
	LiteLLM    = "litellm"
	OneAPI     = "one-api"
	NewAPI     = "new-api"
)

// Sources are the names of the gateways.
var Sources = []string{OpenRouter, LiteLLM, OneAPI, NewAPI}

// Bounds of one import.
const (
	MaxFiles   = 120     // a preset of OpenRouter is a file of its own
	MaxBytes   = 1 << 20 // of all files together
	maxKeys    = 1000
	maxPresets = 1000
	maxLosses  = 500
	maxName    = 240 // bytes of a key's name, with room for a number
	maxNote    = 200 // bytes of a description
	maxDropped = 10  // models that are named in a plan
)

// File is one exported file.
type File struct {
	Name string // for errors
	Text []byte // JSON, or YAML without anchors
}

// World is what is here: which models are served, and what a dollar costs.
type World struct {
	// Model finds the slug of a model by a name that others use.
	Model func(name string) (slug string, ok bool)
	// Rate is how many rubles a dollar costs, without margin and tax.
	Rate *big.Rat
	// Rates are the operator's: a key has none above them.
	Rates apikey.Rates
	// Organization says that they are for one, which has teams.
	Organization bool
	// Credentials has the secrets of providers noted, for an operator who asked for it.
	Credentials bool
	Now         time.Time
}

// Plan is what files of another gateway become here.
type Plan struct {
	Groups  []Group // teams, users and tags
	Keys    []Key
	Presets []Preset
	Lost    []Loss
	// Credentials are the operator's; the others' secrets of providers are in it as long as the plan lives.
	Credentials []Credential
}

// Key is a key to be made.
type Key struct {
	Name      string
	Team      string         // id there; "" none
	User      string         // id there; "" none
	Limit     *apikey.Limit  // nil: none
	Rates     *apikey.Rates  // nil: the operator's
	Models    []string       // patterns of slugs; none: all
	Addresses []netip.Prefix // from which it may be used; none: all
	ExpiresAt time.Time
	Disabled  bool
	Refused   Reason // why it is not made; "": it is
	Dropped   []string
}

// Preset is a preset to be made.
type Preset struct {
	Name, Description string
	Content           []byte // JSON, as a preset says it; not yet checked
	Refused           Reason
	Dropped           []string // models that are not served here, at most a few
}

// Credential is a secret with which another gateway asked a provider. Its text is never written to a log or an answer.
type Credential struct {
	Provider string // id of ours
	From     string // the variable that has it, "" for one that the file has itself
	secret   string
}

// String hides the secret.
func (c Credential) String() string { return c.Provider }

// GoString hides the secret.
func (c Credential) GoString() string { return c.Provider }

// Reason is why something is not made.
type Reason string

// The reasons.
const (
	Expired    Reason = "expired"
	NoName     Reason = "no_name"     // it has no name that can be one here
	NotActive  Reason = "not_active"  // a preset that is off there
	NoContent  Reason = "no_content"  // the export does not say what it is
	NoModel    Reason = "no_model"    // none of its models is served here, so it could call none, or all
	Management Reason = "management"  // it administers their gateway
	WrongLimit Reason = "wrong_limit" // its limit is no amount
	NoRoom     Reason = "no_room"     // the account has as many as it may
	Invalid    Reason = "invalid"     // it is refused here; the sentence says why
)

// Loss is a field that was given and is not carried.
type Loss struct {
	Field string // its path
	Fate  Fate
	Count int // how often it was given
}

// Read reads the files of one gateway. It fails with fault.Invalid for files that are too large, or not what that gateway exports.
func Read(source string, files []File, w World) (*Plan, error) {
	const op = "gatewayimport.Read"
	if len(files) == 0 {
		return nil, fault.Field(op, "files", "files is missing: give the exported files.").Coded("files_missing")
	}
	if len(files) > MaxFiles {
		return nil, fault.Field(op, "files", "files must be at most %d.", MaxFiles).Coded("most_files", "most", MaxFiles)
	}
	total := 0
	for i := range files {
		if total += len(files[i].Text); total > MaxBytes {
			return nil, fault.Field(op, "files", "files must have at most %d bytes together.", MaxBytes).Coded("files_bytes", "most", MaxBytes)
		}
	}
	r := &reader{world: w, plan: &Plan{}, counts: map[string]int{}, names: map[string]bool{}}
	var read func([]document) error
	switch source {
	case OpenRouter:
		r.fields, read = fieldsOf(OpenRouter), r.openRouter
	case LiteLLM:
		r.fields, read = fieldsOf(LiteLLM), r.liteLLM
	case OneAPI, NewAPI:
		r.fields, read = fieldsOf(source), func(d []document) error { return r.oneAPI(d, source) }
	default:
		return nil, fault.Field(op, "source", "source must be one of %s.", strings.Join(Sources, ", ")).Coded("import_source")
	}
	documents := make([]document, 0, len(files))
	for i := range files {
		d, err := decode(&files[i])
		if err != nil {
			return nil, err
		}
		documents = append(documents, d)
	}
	if err := read(documents); err != nil {
		return nil, err
	}
	r.finish()
	return r.plan, nil
}

// reader builds a plan.
type reader struct {
	world  World
	plan   *Plan
	fields map[string]Field
	counts map[string]int
	order  []string        // paths of counts
	names  map[string]bool // of keys
}

// lose counts a field that was given and is not carried.
func (r *reader) lose(path string) {
	if r.counts[path] == 0 {
		if len(r.order) == maxLosses {
			return
		}
		r.order = append(r.order, path)
	}
	r.counts[path]++
}

func (r *reader) finish() {
	for _, path := range r.order {
		fate := Unknown
		if f, ok := r.fields[path]; ok {
			fate = f.Fate
		}
		r.plan.Lost = append(r.plan.Lost, Loss{Field: path, Fate: fate, Count: r.counts[path]})
	}
}

// rubles is an amount of dollars in rubles: rounded down, so that a limit never lets more be spent than the one that it was. It is false for
// what is no amount, or too large to be one.
func rubles(dollars *big.Rat, rate *big.Rat) (money.Nano, bool) {
	if dollars == nil || dollars.Sign() < 0 {
		return 0, false
	}
	n := new(big.Rat).Mul(dollars, rate)
	n.Mul(n, big.NewRat(int64(1_000_000_000), 1))
	whole := new(big.Int).Quo(n.Num(), n.Denom())
	if !whole.IsInt64() {
		return 0, false
	}
	return money.Nano(whole.Int64()), true
}
