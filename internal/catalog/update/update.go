// Package update keeps the built-in price list current: it fetches the public lists, imports them by the rules of package importer into a
// draft, compares the draft with the list in use, and publishes it when an operator says so or when the changes are within bounds. What it
// fetches is not trusted: every list is bounded, checked, and cannot replace the one in use if it is implausible.
package update

import (
	"context"
	"errors"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"sync"
	"time"

	"weir/internal/catalog/builtin"
	"weir/internal/catalog/importer"
	"weir/internal/fault"
)

// Config configures an Updater.
type Config struct {
	Dir      string // where lists, draft and the published list are kept
	Lists    Lists
	Timeout  time.Duration // for all lists together
	MaxBytes int64         // of one list
	Bounds   Bounds
	Now      func() time.Time
}

// Updater updates the price list in a folder. It is safe for concurrent use.
type Updater struct {
	cfg    Config
	book   importer.Book
	client *http.Client
	mu     sync.Mutex // one update at a time
}

// New makes an Updater. It follows no redirects, which could lead to any server, and uses no proxy of the environment.
func New(cfg Config) *Updater {
	return &Updater{cfg: cfg, book: importer.DefaultBook(), client: &http.Client{
		Transport:     &http.Transport{DisableKeepAlives: true, ResponseHeaderTimeout: 30 * time.Second},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}}
}

// Draft is a list that is not in use yet.
type Draft struct {
	List    *builtin.List
	Changes Changes
	Differs int      // prices on which the lists disagree
	Refused int      // ids that were left out
	Notes   []string // what happened to the lists
}

// Fetch fetches the public lists and makes a draft of them.
func (u *Updater) Fetch(ctx context.Context) (Draft, error) {
	u.mu.Lock()
	defer u.mu.Unlock()
	notes, err := u.fetch(ctx)
	if err != nil {
		return Draft{Notes: notes}, err
	}
	at := u.oldest()
	d, err := u.draft(os.DirFS(u.lists()), at)
	d.Notes = notes
	return d, err
}

// Read makes a draft of lists in a folder, for machines without a network. They are as old as at.
func (u *Updater) Read(dir fs.FS, at time.Time) (Draft, error) {
	u.mu.Lock()
	defer u.mu.Unlock()
	return u.draft(dir, at)
}

func (u *Updater) draft(dir fs.FS, at time.Time) (d Draft, err error) {
	book := u.book
	if day := at.UTC().Format(time.DateOnly); day > book.AsOf {
		book.AsOf = day
	}
	r, err := importer.Import(dir, builtin.Providers(), book)
	if err != nil {
		return d, err
	}
	if d.List, err = builtin.ReadList(r.Catalog); err != nil {
		return d, err
	}
	if r.Taken == 0 {
		return d, fault.New(fault.Invalid, "update.Draft", "The lists have no model that can be taken.")
	}
	d.Differs, d.Refused = len(r.Differs), len(r.Refused)
	d.Changes = Compare(u.Current().Data(), r.Catalog)
	return d, replace(u.path(draftFile), r.Catalog)
}

const (
	draftFile     = "draft.json"
	publishedFile = "published.json"
	previousFile  = "previous.json"
	approvedFile  = "approved.json" // what an operator published last, when later lists were published without one
)

func (u *Updater) path(name string) string { return filepath.Join(u.cfg.Dir, name) }

// Drafted is the draft that an earlier update made.
func (u *Updater) Drafted() (Draft, error) {
	list, err := ReadFile(u.path(draftFile))
	if errors.Is(err, fs.ErrNotExist) {
		return Draft{}, fault.New(fault.NotFound, "update.Drafted", "There is no draft; make one with: weir catalog update")
	}
	if err != nil {
		return Draft{}, err
	}
	return Draft{List: list, Changes: Compare(u.Current().Data(), list.Data())}, nil
}

// Publish puts the draft into use, in the name of an operator. The replaced list is kept.
func (u *Updater) Publish() (Draft, error) {
	u.mu.Lock()
	defer u.mu.Unlock()
	d, err := u.Drafted()
	if err != nil {
		return d, err
	}
	if err := u.publish(); err != nil {
		return d, err
	}
	if err := os.Remove(u.path(approvedFile)); !errors.Is(err, fs.ErrNotExist) {
		return d, err
	}
	return d, nil
}

// PublishWithinBounds puts the draft into use if its changes are within the bounds; else it returns why not. They are compared with the list
// that an operator published last: prices that fall a little every day do not fall without end.
func (u *Updater) PublishWithinBounds() (beyond string, err error) {
	u.mu.Lock()
	defer u.mu.Unlock()
	d, err := u.Drafted()
	if err != nil {
		return "", err
	}
	approved, err := ReadFile(u.path(approvedFile))
	if errors.Is(err, fs.ErrNotExist) {
		approved, err = u.Current(), nil
	}
	if err != nil {
		return "", err
	}
	if embedded := builtin.Embedded(); approved.AsOf.Before(embedded.AsOf) {
		approved = embedded // a newer program is an operator's word, too
	}
	since := Compare(approved.Data(), d.List.Data())
	if beyond := since.Beyond(u.cfg.Bounds); beyond != "" {
		return beyond, nil
	}
	if err := replace(u.path(approvedFile), approved.Data()); err != nil {
		return "", err
	}
	return "", u.publish()
}

func (u *Updater) publish() error {
	if old, err := os.ReadFile(u.path(publishedFile)); err == nil {
		if err := replace(u.path(previousFile), old); err != nil {
			return err
		}
	}
	return os.Rename(u.path(draftFile), u.path(publishedFile))
}

// Beyond says why a draft needs an operator, "" when it does not.
func (u *Updater) Beyond(d *Draft) string { return d.Changes.Beyond(u.cfg.Bounds) }

// Current is the list in use: the published one, or the built-in one where none is published, or where that is older or damaged.
func (u *Updater) Current() *builtin.List {
	list, _ := InUse(u.cfg.Dir)
	return list
}

// maxListBytes bounds a published list; the built-in one has 200 KB.
const maxListBytes = 32 << 20

// InUse is the list that a folder of published lists leaves in use. The error is why a published list is not; the list is valid with it, too.
func InUse(dir string) (*builtin.List, error) {
	list, err := ReadFile(filepath.Join(dir, publishedFile))
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return builtin.Embedded(), nil
	case err != nil:
		return builtin.Embedded(), err
	case list.AsOf.Before(builtin.Embedded().AsOf):
		return builtin.Embedded(), nil
	}
	return list, nil
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

// Stamp changes whenever another list is published in a folder.
func Stamp(dir string) (stamp string) {
	if info, err := os.Stat(filepath.Join(dir, publishedFile)); err == nil {
		stamp = info.ModTime().UTC().Format(time.RFC3339Nano)
	}
	return stamp
}
