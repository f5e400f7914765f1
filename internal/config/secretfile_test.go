package config_test

import (
	"io/fs"
	"testing"

	"weir/internal/config"
)

// A secret file that others may read is refused; what systemd has passed on shows its user's right as the group's.
func TestSecretFilesArePrivate(t *testing.T) {
	t.Parallel()
	for _, x := range []struct {
		path string
		mode fs.FileMode
		want bool
	}{
		{"/etc/weir/master.key", 0o600, true}, {"/etc/weir/master.key", 0o400, true}, {"/etc/weir/master.key", 0o440, false}, {"/etc/weir/master.key", 0o604, false},
		{"/run/credentials/weir.service/master.key", 0o400, true}, {"/run/credentials/weir.service/master.key", 0o440, true},
		{"/run/credentials/weir.service/master.key", 0o444, false}, {"/run/credentials/weir.service/master.key", 0o460, false},
		{"/run/credentials/../../etc/weir/master.key", 0o440, false}, {"run/credentials/weir.service/master.key", 0o440, false},
	} {
		if got := config.Private(x.path, x.mode); got != x.want {
			t.Errorf("%s with %04o: %t", x.path, x.mode, got)
		}
	}
}
