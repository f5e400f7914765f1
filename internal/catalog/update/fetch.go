package update

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"weir/internal/catalog/importer"
	"weir/internal/fault"
	"weir/internal/rawjson"
)

// Lists are the addresses of the price lists. Portkey has a file for each provider: {file} in its address is the name of the file.
type Lists struct {
	ModelsDev   string `yaml:"models_dev_url"`
	LiteLLM     string `yaml:"litellm_url"`
	Portkey     string `yaml:"portkey_url"`
	GenAIPrices string `yaml:"genai_prices_url"`
}

// list is a file in the folder and where it comes from.
type list struct{ path, url string }

// all are the lists that an import with a book needs.
func (l *Lists) all(book *importer.Book) []list {
	out := []list{
		{"models-dev/providers.json", l.ModelsDev}, {"litellm/model_prices_and_context_window.json", l.LiteLLM}, {"genai-prices/data.json", l.GenAIPrices},
	}
	for _, n := range book.Providers {
		if p := "portkey-models/pricing/" + n.Portkey + ".json"; n.Portkey != "" && !slices.ContainsFunc(out, func(x list) bool { return x.path == p }) {
			out = append(out, list{p, strings.ReplaceAll(l.Portkey, "{file}", n.Portkey)})
		}
	}
	slices.SortFunc(out, func(a, b list) int { return strings.Compare(a.path, b.path) })
	return out
}

// source is whose list it is: one that has a file for each provider fails as one.
func (l *list) source() string { return l.path[:strings.IndexByte(l.path, '/')] }

// mostFailed is after how many failures the other lists of a source are not asked for.
const mostFailed = 3

// sources are failures by source, so that each is one line.
type sources map[string][]string

func (s sources) add(l list, why string) { s[l.source()] = append(s[l.source()], why) }

func (s sources) lines() (out []string) {
	for _, name := range slices.Sorted(maps.Keys(s)) {
		line := s[name][0]
		if more := len(s[name]) - 1; more > 0 {
			line += fmt.Sprintf(" (and %d or more others of %s)", more, name)
		}
		out = append(out, line)
	}
	return out
}

// known is what is remembered of a list that was fetched.
type known struct {
	url, etag, modified string
	at                  time.Time // when the server last said that it is current
}

const knownFile = "fetched.json"

// fetch brings the folder up to date. A server that has nothing newer says so (304). A list that cannot be fetched stays as it is; one that was
// never fetched fails the whole.
func (u *Updater) fetch(ctx context.Context) (notes []string, err error) {
	ctx, cancel := context.WithTimeout(ctx, u.cfg.Timeout)
	defer cancel()
	if err := os.MkdirAll(u.lists(), 0o700); err != nil {
		return nil, err
	}
	memory := u.remembered()
	never, stale := sources{}, sources{} // lists that have failed, by the source that they are of
	failed, all := 0, u.cfg.Lists.all(&u.book)
	for i, l := range all {
		if u.cfg.Progress != nil {
			u.cfg.Progress(i, len(all))
		}
		old := memory[l.path]
		if _, err := os.Stat(filepath.Join(u.lists(), l.path)); err != nil || old.url != l.url {
			old = known{url: l.url}
		}
		if len(never[l.source()])+len(stale[l.source()]) >= mostFailed {
			continue // its server is away: the others are not made to wait
		}
		now, fresh, err := u.one(ctx, l, old)
		switch {
		case err != nil && old.at.IsZero():
			failed++
			never.add(l, fmt.Sprintf("%s was never fetched: %v", l.path, err))
		case err != nil:
			stale.add(l, fmt.Sprintf("%s is of %s: %v", l.path, old.at.Format(time.DateOnly), err))
		case fresh:
			notes = append(notes, l.path+" is new")
		}
		if err == nil {
			memory[l.path] = now
		}
	}
	if err := u.remember(memory); err != nil {
		return notes, err
	}
	notes = slices.Concat(never.lines(), stale.lines(), notes)
	if failed > 0 {
		return notes, fault.Newf(fault.Invalid, "update.Fetch", "%d of %d lists could not be fetched, and there are no earlier ones of them: %s", failed, len(all), strings.Join(never.lines(), "; ")).
			Coded("lists_missing", "n", failed, "of", len(all))
	}
	return notes, nil
}

// one fetches a list, and keeps it if it is JSON.
func (u *Updater) one(ctx context.Context, l list, old known) (now known, fresh bool, err error) {
	ctx, cancel := context.WithTimeout(ctx, u.cfg.Timeout/5) // one slow server leaves time for the others
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, l.url, nil)
	if err != nil {
		return old, false, err
	}
	req.Header.Set("User-Agent", "weir")
	if old.etag != "" {
		req.Header.Set("If-None-Match", old.etag)
	}
	if old.modified != "" {
		req.Header.Set("If-Modified-Since", old.modified)
	}
	res, err := u.client.Do(req)
	if err != nil {
		return old, false, err
	}
	defer func() { _ = res.Body.Close() }()
	if old.at = u.cfg.Now().UTC(); res.StatusCode == http.StatusNotModified && (old.etag != "" || old.modified != "") {
		return old, false, nil
	}
	if res.StatusCode != http.StatusOK {
		return old, false, fmt.Errorf("status %d", res.StatusCode)
	}
	body, err := io.ReadAll(io.LimitReader(res.Body, u.cfg.MaxBytes+1))
	if err != nil {
		return old, false, err
	}
	if int64(len(body)) > u.cfg.MaxBytes {
		return old, false, fmt.Errorf("it has more than %d bytes", u.cfg.MaxBytes)
	}
	if err := rawjson.Check(body, rawjson.Limits{Depth: maxDepth, Values: maxValues}); err != nil {
		return old, false, err
	}
	now = known{url: l.url, etag: header(res, "ETag"), modified: header(res, "Last-Modified"), at: old.at}
	return now, true, replace(filepath.Join(u.lists(), filepath.FromSlash(l.path)), body)
}

// Bounds of one list: the longest has a fifth of the values.
const (
	maxDepth  = 32
	maxValues = 2_000_000
)

// header is a field that is sent back to the server the next time, "" when it is longer than any that is usual.
func header(res *http.Response, name string) string {
	if v := res.Header.Get(name); len(v) <= 200 {
		return v
	}
	return ""
}

func (u *Updater) lists() string { return filepath.Join(u.cfg.Dir, "lists") }

// remembered reads what is known of earlier fetches; a file that is missing or damaged means that nothing is.
func (u *Updater) remembered() map[string]known {
	out := map[string]known{}
	data, err := os.ReadFile(filepath.Join(u.cfg.Dir, knownFile))
	if err != nil || rawjson.Check(data, rawjson.Limits{}) != nil {
		return out
	}
	for m := rawjson.MembersOf(data); m.Next(); {
		text := func(name string) string { return rawjson.TextAt(m.Value, name) }
		at, _ := time.Parse(time.RFC3339, text("at"))
		out[string(m.Name)] = known{text("url"), text("etag"), text("modified"), at}
	}
	return out
}

func (u *Updater) remember(memory map[string]known) error {
	var w rawjson.Writer
	w.Object()
	for _, l := range u.cfg.Lists.all(&u.book) {
		k, ok := memory[l.path]
		if !ok {
			continue
		}
		w.Name(l.path).Object()
		w.Name("url").Text(k.url)
		w.Name("etag").Text(k.etag)
		w.Name("modified").Text(k.modified)
		w.Name("at").Text(k.at.Format(time.RFC3339))
		w.EndObject()
	}
	w.EndObject()
	return replace(filepath.Join(u.cfg.Dir, knownFile), w.B)
}

// replace writes a file so that a reader sees the old content or the new one.
func replace(path string, data []byte) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return err
	}
	f, err := os.CreateTemp(filepath.Dir(path), ".new-*")
	if err != nil {
		return err
	}
	_, err = f.Write(data)
	err = errors.Join(err, f.Sync(), f.Close())
	if err == nil {
		err = os.Rename(f.Name(), path)
	}
	if err != nil {
		_ = os.Remove(f.Name())
	}
	return err
}

// oldest is when the list was last current that has not been for the longest time; zero when there is one that is not known.
func (u *Updater) oldest() (at time.Time) {
	memory := u.remembered()
	for _, l := range u.cfg.Lists.all(&u.book) {
		if k := memory[l.path]; at.IsZero() || k.at.Before(at) {
			at = k.at
		}
	}
	return at
}
