package app

import (
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"weir/internal/config"
)

// What a service may not do is said with what gives it the right.
func TestRightsThatAreMissing(t *testing.T) {
	t.Parallel()
	denied := &os.SyscallError{Syscall: "bind", Err: syscall.EACCES}
	if err := notListening("server.listen", denied, "another"); !strings.Contains(err.Error(), "CAP_NET_BIND_SERVICE") || !strings.Contains(err.Error(), "or choose another") {
		t.Errorf("a low port: %v", err)
	}
	taken := &os.SyscallError{Syscall: "bind", Err: syscall.EADDRINUSE}
	if err := notListening("server.listen", taken, "another"); strings.Contains(err.Error(), "CAP_") || !strings.HasSuffix(err.Error(), "; choose another") {
		t.Errorf("a port in use: %v", err)
	}
	if text := unreadable(&fs.PathError{Op: "open", Path: "key.pem", Err: syscall.EACCES}); !strings.Contains(text, "a group") {
		t.Errorf("a file that may not be read: %q", text)
	}
	if text := unreadable(fs.ErrNotExist); text != "" {
		t.Errorf("a file that is missing: %q", text)
	}
}

func TestMayRead(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		user, owner uint32
		mode        fs.FileMode
		want        bool
	}{
		{0, 5, 0, true}, {5, 5, 0o600, true}, {5, 5, 0o066, false}, {5, 0, 0o600, false}, {5, 0, 0o640, true}, {5, 0, 0o604, true}, {5, 0, 0o622, false},
	} {
		if got := mayRead(c.user, c.owner, c.mode); got != c.want {
			t.Errorf("user %d, file %04o of %d: %v", c.user, c.mode, c.owner, got)
		}
	}
}

// Root examines what another user runs, and sees which files that one cannot read.
func TestDoctorReadsAsTheNode(t *testing.T) {
	t.Parallel()
	if os.Getuid() != 0 {
		t.Skip("only root can give a folder to somebody else")
	}
	dir := t.TempDir()
	key := filepath.Join(dir, "key.pem")
	if err := os.WriteFile(key, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	data := t.TempDir()
	if err := os.Chown(data, 12345, 12345); err != nil {
		t.Fatal(err)
	}
	var found []Finding
	d := Doctor{cfg: config.Config{DataDir: data}, report: func(f Finding) { found = append(found, f) }}
	d.readable("certificate", key, filepath.Join(dir, "none"))
	if len(found) != 1 || found[0].Is != Bad || !strings.Contains(found[0].What, "user 12345") || !strings.Contains(found[0].What, key) {
		t.Errorf("%+v", found)
	}
}
