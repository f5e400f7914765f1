package main

import (
	"bytes"
	"crypto/sha256"
	"debug/buildinfo"
	"encoding/hex"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"testing"
)

var (
	releaseDir     = flag.String("release.dir", "", "TestRelease checks the files in this folder, as make release wrote them")
	releaseVersion = flag.String("release.version", "", "version that they should have")
)

// sums are the files that SHA256SUMS of a folder lists, with their sums. All must be there as listed, and no others.
func sums(dir string) (map[string]string, error) {
	list, err := os.ReadFile(filepath.Join(dir, "SHA256SUMS"))
	if err != nil {
		return nil, err
	}
	listed := map[string]string{}
	for line := range strings.Lines(string(list)) {
		sum, name, found := strings.Cut(strings.TrimSuffix(line, "\n"), "  ")
		if _, twice := listed[name]; !found || twice || filepath.Base(name) != name {
			return nil, fmt.Errorf("SHA256SUMS has the line %q", line)
		}
		listed[name] = sum
	}
	files, err := os.ReadDir(dir)
	if err != nil {
		return nil, err
	}
	if len(files) != len(listed)+1 {
		return nil, fmt.Errorf("SHA256SUMS lists %d of %d files", len(listed), len(files)-1)
	}
	for name, sum := range listed {
		is, err := fileSum(filepath.Join(dir, name))
		if err != nil {
			return nil, err
		}
		if is != sum {
			return nil, fmt.Errorf("%s has the sum %s, listed is %s", name, is, sum)
		}
	}
	return listed, nil
}

func fileSum(path string) (string, error) {
	f, err := os.Open(path)
	if err != nil {
		return "", err
	}
	defer func() { _ = f.Close() }()
	h := sha256.New()
	_, err = io.Copy(h, f)
	return hex.EncodeToString(h.Sum(nil)), err
}

// TestReleaseSums has make write the sums of a folder, which fit until anything in it is another.
func TestReleaseSums(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		spoil func(dir string) error
		want  string
	}{
		"as it is": {func(string) error { return nil }, ""},
		"another byte": {func(dir string) error {
			return os.WriteFile(filepath.Join(dir, "weir-linux-amd64"), []byte("b"), 0o600)
		}, "has the sum"},
		"one is gone": {func(dir string) error { return os.Remove(filepath.Join(dir, "weir.go.cdx.json")) }, "lists 2 of 1 files"},
		"one more":    {func(dir string) error { return os.WriteFile(filepath.Join(dir, "weir"), nil, 0o600) }, "lists 2 of 3 files"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			for _, f := range []string{"weir-linux-amd64", "weir.go.cdx.json", "SHA256SUMS"} { // the last of a run before
				if err := os.WriteFile(filepath.Join(dir, f), []byte("a"), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			if out, err := exec.Command("make", "-C", "../..", "sums", "DIST="+dir).CombinedOutput(); err != nil {
				t.Fatalf("%v\n%s", err, out)
			}
			if err := c.spoil(dir); err != nil {
				t.Fatal(err)
			}
			if _, err := sums(dir); (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
				t.Errorf("%v, want %q", err, c.want)
			}
		})
	}
}

// TestRelease checks what make release wrote: each program is for its system and without C, packages have the same one, lists of components are such, and
// SHA256SUMS has all of them.
func TestRelease(t *testing.T) {
	t.Parallel()
	if *releaseDir == "" {
		t.Skip("make release runs it")
	}
	listed, err := sums(*releaseDir)
	if err != nil {
		t.Fatal(err)
	}
	makefile, err := os.ReadFile("../../Makefile")
	if err != nil {
		t.Fatal(err)
	}
	platforms := strings.Fields(string(regexp.MustCompile(`(?m)^PLATFORMS := (.*)$`).FindSubmatch(makefile)[1]))
	want := []string{"weir.go.cdx.json", "weir.web.cdx.json"}
	for _, p := range platforms {
		want = append(want, checkProgram(t, p))
	}
	if _, err := exec.LookPath("dpkg-deb"); err == nil {
		for _, arch := range []string{"amd64", "arm64"} {
			want = append(want, checkPackage(t, arch, listed["weir-linux-"+arch]))
		}
	}
	slices.Sort(want)
	if got := slices.Sorted(maps.Keys(listed)); !slices.Equal(got, want) {
		t.Errorf("files %q, want %q", got, want)
	}
	for _, name := range want {
		if strings.HasSuffix(name, ".json") {
			checkComponents(t, name)
		}
	}
}

// checkProgram checks the program for a platform, and returns its file's name.
func checkProgram(t *testing.T, platform string) (name string) {
	t.Helper()
	system, arch, _ := strings.Cut(platform, "/")
	name = "weir-" + system + "-" + arch
	if system == "windows" {
		name += ".exe"
	}
	path := filepath.Join(*releaseDir, name)
	built, err := buildinfo.ReadFile(path)
	if err != nil {
		t.Errorf("%s: %v", name, err)
		return name
	}
	for _, s := range built.Settings {
		if is, asked := map[string]string{"GOOS": system, "GOARCH": arch, "CGO_ENABLED": "0", "-trimpath": "true"}[s.Key]; asked && s.Value != is {
			t.Errorf("%s is built with %s = %s", name, s.Key, s.Value)
		}
	}
	if platform == runtime.GOOS+"/"+runtime.GOARCH {
		if out, err := exec.Command(path, "version").CombinedOutput(); err != nil || !strings.Contains(string(out), *releaseVersion) {
			t.Errorf("%s says %s, %v; want the version %s", name, out, err, *releaseVersion)
		}
	}
	return name
}

// checkPackage checks that a Debian package has the program whose sum is given, and a version that follows, and returns its file's name.
func checkPackage(t *testing.T, arch, sum string) (name string) {
	t.Helper()
	version, err := exec.Command("../../packaging/debian-version.sh", *releaseVersion).Output()
	if err != nil {
		t.Fatal(err)
	}
	name = "weir_" + strings.TrimSpace(string(version)) + "_" + arch + ".deb"
	path := filepath.Join(*releaseDir, name)
	fields, err := exec.Command("dpkg-deb", "--field", path, "Version", "Architecture").CombinedOutput()
	if want := "Version: " + strings.TrimSpace(string(version)) + "\nArchitecture: " + arch + "\n"; err != nil || string(fields) != want {
		t.Errorf("%s: %s, %v; want %s", name, fields, err, want)
	}
	into := t.TempDir()
	if out, err := exec.Command("dpkg-deb", "--extract", path, into).CombinedOutput(); err != nil {
		t.Errorf("%s: %v\n%s", name, err, out)
	}
	if is, err := fileSum(filepath.Join(into, "usr", "bin", "weir")); err != nil || is != sum {
		t.Errorf("%s has a program with the sum %s, %v; want %s", name, is, err, sum)
	}
	return name
}

func checkComponents(t *testing.T, name string) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(*releaseDir, name))
	if err != nil {
		t.Fatal(err)
	}
	var list struct {
		Format     string `json:"bomFormat"`
		Components []struct{ Name, Version string }
	}
	if err := json.Unmarshal(text, &list); err != nil || list.Format != "CycloneDX" || len(list.Components) < 5 {
		t.Errorf("%s is a %s of %d components, %v", name, list.Format, len(list.Components), err)
	}
	for _, c := range list.Components {
		if c.Name == "" || c.Version == "" {
			t.Errorf("%s has the component %+v", name, c)
		}
	}
}

// TestTreeVersions has make print the version of a tree: of its last tag, and of the file VERSION where there is none.
func TestTreeVersions(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for _, name := range []string{"Makefile", "VERSION"} {
		text, err := os.ReadFile("../../" + name)
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, name), text, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	file, err := os.ReadFile("../../VERSION")
	if err != nil {
		t.Fatal(err)
	}
	number := regexp.QuoteMeta(string(bytes.TrimSpace(file)))
	run := func(name string, args ...string) string {
		t.Helper()
		cmd := exec.Command(name, args...)
		cmd.Dir = dir
		cmd.Env = append(os.Environ(), "GIT_CEILING_DIRECTORIES="+filepath.Dir(dir), "GIT_CONFIG_GLOBAL="+os.DevNull, "GIT_CONFIG_NOSYSTEM=1",
			"GIT_AUTHOR_NAME=a", "GIT_AUTHOR_EMAIL=a@example.org", "GIT_COMMITTER_NAME=a", "GIT_COMMITTER_EMAIL=a@example.org")
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Fatalf("%q: %v\n%s", cmd.Args, err, out)
		}
		return string(out)
	}
	commit := func() {
		run("git", "add", "-A")
		run("git", "commit", "-q", "--allow-empty", "-m", "a commit of a test")
	}
	for _, c := range []struct {
		what string
		do   func()
		want string
	}{
		{"no repository", func() {}, number + `-dev`},
		{"no tag", func() { run("git", "init", "-q"); commit() }, number + `-dev\.[0-9a-f]{7,}`},
		{"a tag", func() { run("git", "tag", "v1.2.3") }, `1\.2\.3`},
		{"a commit after it", commit, `1\.2\.3-1-g[0-9a-f]{7,}`},
		{"a tag that is no version", func() { run("git", "tag", "latest") }, `1\.2\.3-1-g[0-9a-f]{7,}`},
	} {
		c.do()
		if out := run("make", "-n", "program"); !regexp.MustCompile(`app\.Version=` + c.want + `"`).MatchString(out) {
			t.Errorf("%s: %s, want %s", c.what, out, c.want)
		}
	}
}
