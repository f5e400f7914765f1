package main

import (
	"os/exec"
	"strings"
	"testing"
)

// TestDebianVersions has each state of the tree in a package that dpkg installs over the one before.
func TestDebianVersions(t *testing.T) {
	t.Parallel()
	rising := []struct{ version, debian string }{
		{"1.0.0-dev.8df484f5", "1.0.0~dev.8df484f5"},
		{"1.0.0-rc.1", "1.0.0~rc.1"},
		{"1.0.0-rc.1-3-g8df484f5", "1.0.0~rc.1+3.g8df484f5"},
		{"v1.0.0", "1.0.0"},
		{"1.0.0-5-g8df484f5", "1.0.0+5.g8df484f5"},
		{"1.0.0-12-g08df484f-dirty", "1.0.0+12.g08df484f+dirty"},
		{"1.0.1", "1.0.1"},
	}
	for _, c := range rising {
		out, err := exec.Command("../../packaging/debian-version.sh", c.version).CombinedOutput()
		if got := strings.TrimSpace(string(out)); err != nil || got != c.debian {
			t.Errorf("%s: %s, %v, want %s", c.version, got, err, c.debian)
		}
	}
	if out, err := exec.Command("../../packaging/debian-version.sh", "8df484f5").CombinedOutput(); err == nil {
		t.Errorf("a commit's id is the version %s", out)
	}
	dpkg, err := exec.LookPath("dpkg")
	if err != nil {
		return // no other system sorts by its rules
	}
	for i, c := range rising[1:] {
		if err := exec.Command(dpkg, "--compare-versions", rising[i].debian, "lt", c.debian).Run(); err != nil {
			t.Errorf("%s does not sort before %s", rising[i].debian, c.debian)
		}
	}
}
