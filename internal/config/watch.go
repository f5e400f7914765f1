package config

import (
	"context"
	"crypto/sha256"
	"io/fs"
	"os"
	"time"
)

// Watcher reloads a configuration when its file changes or when it is told to.
type Watcher struct {
	Path   string                 // file; "": only Kick reloads
	Every  time.Duration          // how often the file is looked at; 0: one second
	Kick   <-chan struct{}        // a reload whether or not the file changed, as after SIGHUP; may be nil
	Load   func() (Config, error) // reads and checks the whole configuration
	Apply  func(Config)           // is given each new valid configuration
	Report func(error)            // hears of each one that is not valid; the old one stays in force
}

// Run watches until ctx ends. It compares with what the file was when Run began. An error is reported once for each state of
// the file, so that a file left broken does not fill the log.
func (w *Watcher) Run(ctx context.Context) {
	every := w.Every
	if every == 0 {
		every = time.Second
	}
	last := w.look(state{})
	tick := time.NewTicker(every)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-w.Kick:
			last = w.look(last)
			w.reload()
		case <-tick.C:
			now := w.look(last)
			changed := now.sum != last.sum
			last = now
			if changed {
				w.reload()
			}
		}
	}
}

func (w *Watcher) reload() {
	c, err := w.Load()
	if err != nil {
		w.Report(err)
		return
	}
	w.Apply(c)
}

// state is what a file was when it was looked at.
type state struct {
	modified time.Time
	size     int64
	mode     fs.FileMode
	sum      [sha256.Size]byte
}

// look reads the file only when its time, size or mode differ from the last look. A file that is away for a moment, as when an
// editor replaces it, counts as unchanged.
func (w *Watcher) look(last state) state {
	if w.Path == "" {
		return last
	}
	info, err := os.Stat(w.Path)
	if err != nil || info.Size() > maxFileBytes || info.ModTime().Equal(last.modified) && info.Size() == last.size && info.Mode() == last.mode {
		return last
	}
	data, err := os.ReadFile(w.Path)
	if err != nil {
		return last
	}
	return state{info.ModTime(), info.Size(), info.Mode(), sha256.Sum256(data)}
}
