package config_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"weir/internal/config"
)

// watched runs a Watcher over a file, in a bubble whose clock advances only when all goroutines wait.
type watched struct {
	path    string
	watcher *config.Watcher
	applied []string // data_dir of each configuration
	errs    []error
}

func watch(t *testing.T, text string) *watched {
	w := &watched{path: filepath.Join(t.TempDir(), "weir.yaml")}
	w.write(t, text)
	w.watcher = &config.Watcher{Path: w.path,
		Load:   func() (config.Config, error) { return config.Load(w.path, env(), nil) },
		Apply:  func(c config.Config) { w.applied = append(w.applied, c.DataDir) },
		Report: func(err error) { w.errs = append(w.errs, err) },
	}
	w.watcher.Start()
	synctest.Wait()
	return w
}

// write replaces the file, and advances its time stamp, because two writes in the bubble can have the same time in the file system.
func (w *watched) write(t *testing.T, text string) {
	t.Helper()
	if err := os.WriteFile(w.path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	now := time.Now()
	if err := os.Chtimes(w.path, now, now); err != nil {
		t.Fatal(err)
	}
}

func (w *watched) pass() {
	time.Sleep(1500 * time.Millisecond) // by the bubble's clock
	synctest.Wait()
}

func TestWatcher(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := watch(t, "data_dir: one")
		defer w.watcher.Stop()
		w.pass()
		if len(w.applied) != 0 {
			t.Fatalf("applied %v without a change", w.applied)
		}
		w.write(t, "data_dir: two")
		w.pass()
		w.write(t, "data_dir: two") // new time, equal content
		w.pass()
		if strings.Join(w.applied, " ") != "two" {
			t.Fatalf("applied %v", w.applied)
		}
		w.write(t, "data_dri: three")
		w.pass()
		w.pass()
		if len(w.errs) != 1 || !strings.Contains(w.errs[0].Error(), "weir.yaml:1: there is no key") || len(w.applied) != 1 {
			t.Fatalf("a broken file gave errors %v and %v", w.errs, w.applied)
		}
		w.write(t, "data_dir: two") // the original content: the configuration in use is applied again
		w.pass()
		w.watcher.Reload()
		synctest.Wait()
		if strings.Join(w.applied, " ") != "two two two" {
			t.Fatalf("applied %v", w.applied)
		}
		if err := os.Remove(w.path); err != nil {
			t.Fatal(err)
		}
		w.pass()
		if len(w.errs) != 1 {
			t.Fatalf("a file that is away for a moment is no change, but gave %v", w.errs)
		}
	})
}
