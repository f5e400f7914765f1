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
		if got := config.Private(x.path, x.mode, false, false); got != x.want {
			t.Errorf("%s with %04o: %t", x.path, x.mode, got)
		}
	}
}

// Secrets of Docker and Kubernetes are taken as those mount them; a read-only disk alone, which other users of a machine read as well, is no such mount.
func TestMountedSecretsAreTaken(t *testing.T) {
	t.Parallel()
	for _, x := range []struct {
		path             string
		mode             fs.FileMode
		readOnly, memory bool
		want             bool
	}{
		{"/etc/weir/secrets/master", 0o440, true, true, true},   // Kubernetes with fsGroup
		{"/etc/weir/secrets/master", 0o644, true, true, true},   // Kubernetes without defaultMode
		{"/run/secrets/master", 0o444, true, true, true},        // Swarm
		{"/run/secrets/master", 0o444, true, false, true},       // Compose, from a file of the host
		{"/var/run/secrets/master", 0o440, true, false, true},   // the same under its older name
		{"/run/secrets/master", 0o444, false, true, false},      // may be written
		{"/run/secrets/master", 0o464, true, true, false},       // by others, too
		{"/etc/weir/secrets/master", 0o440, false, true, false}, // a tmpfs of the machine
		{"/nix/store/master", 0o444, true, false, false},        // a disk that is read-only
		{"/run/secrets/../../etc/key", 0o444, true, false, false},
	} {
		if got := config.Private(x.path, x.mode, x.readOnly, x.memory); got != x.want {
			t.Errorf("%s with %04o, read-only %t, in memory %t: %t", x.path, x.mode, x.readOnly, x.memory, got)
		}
	}
	if config.ReadOnly(t.TempDir()) {
		t.Error("a folder that was just made is on a read-only mount")
	}
}
