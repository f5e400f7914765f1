// Package update keeps the built-in price list current: it fetches the public lists, imports them by the rules of package importer into a
// draft, compares the draft with the list in use, and publishes it when an operator says so or when the changes are within bounds. What it
// fetches is not trusted: every list is bounded, checked, and cannot replace the one in use if it is implausible.
package update

import (
	"cmp"
	"context"
	"errors"
	"io/fs"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"weir/internal/catalog/builtin"
	"weir/internal/catalog/edit"
	"weir/internal/catalog/importer"
	"weir/internal/fault"
)

// Config configures an Updater.
type Config struct {
	Dir        string        `yaml:"dir"`     // where lists and draft are kept; "" in settings: prices in the data directory
	Every      time.Duration `yaml:"every"`   // 0: only by weir catalog update
	Publish    string        `yaml:"publish"` // Rising, ByHand, WithinBounds; Off: nothing is fetched either
	Bounds     `yaml:",inline"`
	StaleAfter time.Duration `constant:"stale_after"`
	Timeout    time.Duration `constant:"timeout"`             // for all lists together
	MaxBytes   int64         `constant:"max_bytes" as:"size"` // of one list
	Lists      `yaml:",inline"`

	Store    Store // where published lists are kept; nil: none is
	Now      func() time.Time
	Progress func(done, of int)                                                   // called before each list is fetched; nil: not
	Dial     func(ctx context.Context, network, address string) (net.Conn, error) // nil: directly
}

// Who publishes new prices.
const (
	Rising       = "rising" // new models and prices that rise are published; the rest waits
	Off          = "off"
	ByHand       = "by_hand"
	WithinBounds = "within_bounds"
)

// Default is the configuration of a node without one.
func Default() Config {
	return Config{
		Every: 24 * time.Hour, Publish: Rising, Bounds: Bounds{Drop: "0.2", Rise: "1", Gone: "0.1", New: "0.1"}, StaleAfter: 30 * 24 * time.Hour, Timeout: 5 * time.Minute, MaxBytes: 32 << 20,
		Lists: Lists{
			ModelsDev:   "https://models.dev/api.json",
			LiteLLM:     "https://raw.githubusercontent.com/BerriAI/litellm/main/model_prices_and_context_window.json",
			Portkey:     "https://raw.githubusercontent.com/Portkey-AI/models/main/pricing/{file}.json",
			GenAIPrices: "https://raw.githubusercontent.com/pydantic/genai-prices/main/prices/new_data/v2/data.json",
		},
	}
}

// Updater updates the price list. It is safe for concurrent use.
type Updater struct {
	cfg    Config
	book   importer.Book
	client *http.Client
	mu     sync.Mutex // one update at a time
}

// New makes an Updater. It follows no redirects, which could lead to any server, and uses no proxy of the environment.
func New(cfg Config) *Updater {
	return &Updater{cfg: cfg, book: importer.DefaultBook(), client: &http.Client{
		Transport:     &http.Transport{DisableKeepAlives: true, DialContext: cfg.Dial, ResponseHeaderTimeout: 30 * time.Second},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}}
}

// Draft is a list that is not in use yet.
type Draft struct {
	edit.Import
	Read    *builtin.List // Import.Data
	Changes Changes
	Offers  []edit.ListChange // Changes by offer
}

// Fetch fetches the public lists and makes a draft of them.
func (u *Updater) Fetch(ctx context.Context) (Draft, error) {
	u.mu.Lock()
	defer u.mu.Unlock()
	notes, err := u.fetch(ctx)
	if err != nil {
		return Draft{Import: edit.Import{Notes: notes}}, err
	}
	return u.draft(ctx, os.DirFS(u.lists()), u.oldest(), notes)
}

// Read makes a draft of lists in a folder, for machines without a network. They are as old as at.
func (u *Updater) Read(ctx context.Context, dir fs.FS, at time.Time) (Draft, error) {
	u.mu.Lock()
	defer u.mu.Unlock()
	return u.draft(ctx, dir, at, nil)
}

func (u *Updater) draft(ctx context.Context, dir fs.FS, at time.Time, notes []string) (d Draft, err error) {
	d.Notes = notes
	book := u.book
	if day := at.UTC().Format(time.DateOnly); day > book.AsOf {
		book.AsOf = day
	}
	r, err := importer.Import(dir, builtin.Providers(), book)
	if err != nil {
		return d, err
	}
	list, err := builtin.ReadList(r.Catalog)
	if err != nil {
		return d, err
	}
	if r.Taken == 0 {
		return d, fault.New(fault.Invalid, "update.Draft", "The lists have no model that can be taken.")
	}
	d.Import = edit.Import{List: list.Version, AsOf: list.AsOf.Format(time.DateOnly), At: u.cfg.Now().UTC(), Notes: notes, Sources: r.Sources, Differs: len(r.Differs), Refused: len(r.Refused), Data: r.Catalog}
	if err := u.against(ctx, &d, list); err != nil || u.cfg.Store == nil {
		return d, err
	}
	return d, u.cfg.Store.Import(ctx, &d.Import)
}

// against compares a draft with the list in use.
func (u *Updater) against(ctx context.Context, d *Draft, list *builtin.List) error {
	current, err := u.Current(ctx)
	if err != nil {
		return err
	}
	d.Read, d.Changes, d.Offers = list, Compare(current.Data(), list.Data()), ByOffer(current.Data(), list.Data())
	return nil
}

// publishedFile is where lists were published before they were kept with the ledger.
const publishedFile = "published.json"

// Published are the lists of a Store; nil: the program's own.
type Published struct{ Last, Approved []byte }

// Choice is a list to publish. Approved says that an operator has seen it.
type Choice struct {
	List     *builtin.List
	Approved bool
}

// Store keeps published lists, for all nodes.
type Store interface {
	Published(ctx context.Context) (Published, error)
	// Publish puts the list that choose returns into use, nil: none. choose may be called more than once.
	Publish(ctx context.Context, choose func(now Published) (*Choice, error)) error
	// Import keeps a list that is not in use, in place of the last one.
	Import(ctx context.Context, i *edit.Import) error
	// LastImport returns nil without one.
	LastImport(ctx context.Context) (*edit.Import, error)
}

// Drafted is the draft that an earlier update made, on whichever node.
func (u *Updater) Drafted(ctx context.Context) (d Draft, err error) {
	var last *edit.Import
	if u.cfg.Store != nil {
		if last, err = u.cfg.Store.LastImport(ctx); err != nil {
			return d, err
		}
	}
	if last == nil {
		return d, noDraft()
	}
	d.Import = *last
	list, err := builtin.ReadList(last.Data)
	if err != nil {
		return d, err
	}
	return d, u.against(ctx, &d, list)
}

func noDraft() error {
	return fault.New(fault.NotFound, "update.Drafted", "There is no draft; make one with: weir catalog update")
}

// Publish puts the draft into use, in the name of an operator.
func (u *Updater) Publish(ctx context.Context) (Draft, error) {
	u.mu.Lock()
	defer u.mu.Unlock()
	d, err := u.Drafted(ctx)
	if err != nil {
		return d, err
	}
	if current, err := u.Current(ctx); err != nil || current.Version == d.List {
		return d, cmp.Or(err, noDraft())
	}
	return d, u.cfg.Store.Publish(ctx, func(Published) (*Choice, error) { return &Choice{List: d.Read, Approved: true}, nil })
}

// PublishWithinBounds puts the draft into use if its changes are within the bounds; else it returns why not. They are compared with the list
// that an operator published last: prices that fall a little every day do not fall without end. A draft that is older than the list in use,
// which another node has published, is left.
func (u *Updater) PublishWithinBounds(ctx context.Context) (beyond string, err error) {
	u.mu.Lock()
	defer u.mu.Unlock()
	d, err := u.Drafted(ctx)
	if err != nil {
		return "", err
	}
	err = u.cfg.Store.Publish(ctx, func(now Published) (*Choice, error) {
		last, _ := Use(now.Last)
		approved, err := Use(now.Approved)
		if err != nil {
			return nil, err
		}
		since := Compare(approved.Data(), d.Read.Data())
		if beyond = since.Beyond(u.cfg.Bounds); beyond != "" || d.Read.AsOf.Before(last.AsOf) {
			return nil, nil
		}
		return &Choice{List: d.Read}, nil
	})
	return beyond, err
}

// Outcome is what became of a draft.
type Outcome struct {
	Published int    // offers that are new, or of which prices rise
	Waiting   int    // offers that are gone, of which a price falls, or which can hold less than before
	Beyond    string // why nothing is published; "": nothing was implausible
}

// mostNew is which share of the offers in use may be new at once. An offer that is new raises the charges of no account.
const mostNew = "0.5"

// PublishRising puts of the draft into use what is new and what rises. What falls, and what is gone, waits for an operator: users pay more than they
// have to for a while, and never less than it costs. Where the draft is implausible as a whole, nothing is published: one price that rises by more than
// the bound, and too many offers that are gone or new, say that a list is wrong.
func (u *Updater) PublishRising(ctx context.Context) (out Outcome, err error) {
	u.mu.Lock()
	defer u.mu.Unlock()
	d, err := u.Drafted(ctx)
	if err != nil {
		return out, err
	}
	bounds := u.cfg.Bounds
	bounds.New, bounds.Drop = mostNew, "1"
	err = u.cfg.Store.Publish(ctx, func(now Published) (*Choice, error) {
		out = Outcome{}
		last, _ := Use(now.Last)
		approved, err := Use(now.Approved)
		if err != nil {
			return nil, err
		}
		changes := ByOffer(last.Data(), d.Read.Data())
		since, step := Compare(approved.Data(), d.Read.Data()), Compare(last.Data(), d.Read.Data())
		out.Beyond = cmp.Or(since.Beyond(bounds), step.Beyond(bounds))
		chosen := map[string]bool{}
		for i := range changes {
			switch {
			case out.Beyond != "" || !rises(&changes[i]):
				out.Waiting++
			default:
				chosen[changes[i].Offer] = true
			}
		}
		if out.Published = len(chosen); out.Published == 0 || d.Read.AsOf.Before(last.AsOf) {
			out.Published = 0
			return nil, nil
		}
		list, err := Pick(last.Data(), d.Read.Data(), chosen)
		if err != nil {
			return nil, err
		}
		return &Choice{List: list}, nil
	})
	return out, err
}

// rises reports whether an offer is new, or some of its prices, lengths and facts change and no price or length falls.
func rises(c *edit.ListChange) bool {
	if c.Kind == edit.ListNew {
		return true
	}
	if c.Kind == edit.ListGone {
		return false
	}
	for _, p := range c.Prices {
		if slices.Contains(facts, p.Name) {
			continue
		}
		if p.Old == "" || p.New == "" || share(p.Old, p.New).Sign() < 0 {
			return false
		}
	}
	return true
}

// Keep keeps what happened to a draft with it, for the page of prices.
func (u *Updater) Keep(ctx context.Context, d *Draft, sentence string) error {
	d.Notes = append([]string{sentence}, d.Notes...)
	return u.cfg.Store.Import(ctx, &d.Import)
}

// Addresses are the lists that are fetched, without those of single providers.
func (c *Config) Addresses() []string {
	return []string{c.ModelsDev, c.LiteLLM, c.Portkey, c.GenAIPrices}
}

// Beyond says why a draft needs an operator, "" when it does not.
func (u *Updater) Beyond(d *Draft) string { return d.Changes.Beyond(u.cfg.Bounds) }

// Current is the list in use.
func (u *Updater) Current(ctx context.Context) (*builtin.List, error) {
	if u.cfg.Store == nil {
		return builtin.Embedded(), nil
	}
	now, err := u.cfg.Store.Published(ctx)
	if err != nil {
		return nil, err
	}
	list, _ := Use(now.Last)
	return list, nil
}

// maxListBytes bounds a published list; the built-in one has 200 KB.
const maxListBytes = 32 << 20

// Use is the list that a published one leaves in use: itself, or the program's own where none is published, or where that is older or
// damaged. The error is why a published list is not used; the list is valid with it, too.
func Use(published []byte) (*builtin.List, error) {
	if published == nil {
		return builtin.Embedded(), nil
	}
	list, err := builtin.ReadList(published)
	switch {
	case err != nil:
		return builtin.Embedded(), err
	case list.AsOf.Before(builtin.Embedded().AsOf): // a newer program is an operator's word, too
		return builtin.Embedded(), nil
	}
	return list, nil
}

// Left is the list that an earlier version of the program published in a folder; nil: none that is newer than the program's.
func Left(dir string) (*builtin.List, error) {
	list, err := ReadFile(filepath.Join(dir, publishedFile))
	if errors.Is(err, fs.ErrNotExist) || err == nil && list.AsOf.Before(builtin.Embedded().AsOf) {
		return nil, nil
	}
	return list, err
}

// ReadFile reads a list in a file.
func ReadFile(path string) (*builtin.List, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	if info.Size() > maxListBytes {
		return nil, fault.Newf(fault.Invalid, "update.ReadFile", "%s has more than %d bytes.", path, maxListBytes)
	}
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	return builtin.ReadList(data)
}
