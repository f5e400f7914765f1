package config

import (
	"context"
	"crypto/sha256"
	"io/fs"
	"os"
	"sync/atomic"
	"time"

	"weir/internal/loop"
)

// Watcher reloads a configuration when its file changes or Reload is called.
type Watcher struct {
	Path   string                 // file; "": only Reload reloads
	Every  time.Duration          // interval between checks of the file; 0: one second
	Load   func() (Config, error) // reads and checks the whole configuration
	Apply  func(Config)           // called with each new valid configuration
	Report func(error)            // called with the error of each invalid one; the old one stays in use

	looks  *loop.Loop
	last   state
	kicked atomic.Bool
}

// Start watches the file until Stop, starting from its current state. It reports an error once for each state of the file, so that a broken
// file does not fill the log.
func (w *Watcher) Start() {
	every := w.Every
	if every == 0 {
		every = time.Second
	}
	w.last = w.look(state{})
	w.looks = loop.Every(every, func(context.Context) {
		now := w.look(w.last)
		changed := now.sum != w.last.sum
		w.last = now
		if w.kicked.Swap(false) || changed {
			w.reload()
		}
	})
	w.looks.Start()
}

// Reload reloads at once, even if the file has not changed, as after SIGHUP.
func (w *Watcher) Reload() {
	w.kicked.Store(true)
	w.looks.Wake()
}

// Stop ends the watching, and waits for it.
func (w *Watcher) Stop() { w.looks.Stop() }

func (w *Watcher) reload() {
	c, err := w.Load()
	if err != nil {
		w.Report(err)
		return
	}
	w.Apply(c)
}

// state is what a check saw of a file.
type state struct {
	modified time.Time
	size     int64
	mode     fs.FileMode
	sum      [sha256.Size]byte
}

// look reads the file only if its time, size or mode differ from the last check. A missing file counts as unchanged, because an editor may
// be replacing it.
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
