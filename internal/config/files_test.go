package config_test

import (
	"fmt"
	"net/netip"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"weir/internal/config"
)

func TestAllowed(t *testing.T) {
	t.Parallel()
	hosts, networks, err := config.Allowed([]string{"Media.Corp", "localhost", "10.1.2.3/8", "127.0.0.1", "fd00::/8", "::1", "a-b_c.example"})
	if err != nil || fmt.Sprint(hosts) != "[media.corp localhost a-b_c.example]" || fmt.Sprint(networks) != "[10.0.0.0/8 127.0.0.1/32 fd00::/8 ::1/128]" {
		t.Errorf("%v %v %v", hosts, networks, err)
	}
	if !networks[0].Contains(netip.MustParseAddr("10.200.0.1")) {
		t.Error("a network is not masked")
	}
	for _, text := range []string{"", ".", "http://x", "x:80", "x/8", "10.0.0.0/33", "1.2.3", "*.example.com", ".example.com", "a b"} {
		if _, _, err := config.Allowed([]string{text}); err == nil {
			t.Errorf("%q is allowed", text)
		}
	}
}

// A file of the largest size has at most 10,000 parts.
func TestPartsOfUploads(t *testing.T) {
	t.Parallel()
	bucket := config.Default().Video.S3
	for largest, want := range map[int64]int64{0: 8 << 20, 2 << 30: 8 << 20, 100 << 30: 10_738_492} {
		if got := bucket.For(largest).PartBytes; got != want || largest/got >= 10_000 {
			t.Errorf("files of %d bytes have parts of %d bytes, want %d", largest, got, want)
		}
	}
}

func TestErrorsOfFiles(t *testing.T) {
	t.Parallel()
	const bucket = "video:\n  keep: s3\n  s3: {endpoint: https://s.example, region: r, bucket: b, access_key: a, secret_key: geheim}\n"
	cases := map[string]struct{ text, want string }{
		"no host":              {"fetch:\n  allow_callbacks: [\"http://x\"]", `weir.yaml:2: fetch.allow_callbacks: "http://x" is not a host, address or network`},
		"no client's host":     {"fetch:\n  allow_client_media: [\"x:1\"]", `weir.yaml:2: fetch.allow_client_media: "x:1" is not a host`},
		"no provider's host":   {"fetch:\n  allow_provider_media: [\"x:1\"]", `weir.yaml:2: fetch.allow_provider_media: "x:1" is not a host`},
		"the one list":         {"fetch:\n  allow: [localhost]", `weir.yaml:2: fetch.allow: this list became three: allow_provider_media (files that providers name), allow_client_media`},
		"no size":              {"fetch:\n  max_bytes: 0", `weir.yaml:2: fetch.max_bytes: it must be above 0`},
		"no keys":              {"keys:\n  max_per_user: 0", `weir.yaml:2: keys.max_per_user: it must be a number from 1 to 1000`},
		"too many keys":        {"keys:\n  max_per_user: 1001", `weir.yaml:2: keys.max_per_user: it must be a number from 1 to 1000`},
		"no place":             {"video:\n  keep: ftp", `weir.yaml:2: video.keep: "ftp" is not one of provider, folder, s3`},
		"no jobs":              {"video:\n  max_active_per_user: 0", `weir.yaml:2: video.max_active_per_user: it must be above 0`},
		"callbacks of no time": {"video:\n  callbacks:\n    keep_for: 0s", `weir.yaml:3: video.callbacks.keep_for: it must be above 0`},
		"prefix":               {"video:\n  s3:\n    prefix: /x", `weir.yaml:3: video.s3.prefix: it must be letters`},
		"prefix that climbs":   {"video:\n  s3:\n    prefix: a/../b/", `weir.yaml:3: video.s3.prefix: it must be letters`},
		"no bucket":            {"video:\n  keep: s3", `video.s3.bucket: it is required when video.keep is s3`},
		"no endpoint":          {strings.Replace(bucket, "https://s.example", "s.example", 1), `weir.yaml:3: video.s3.endpoint: it must be an address without a path`},
		"endpoint with a path": {strings.Replace(bucket, "s.example", "s.example/bucket", 1), `weir.yaml:3: video.s3.endpoint: it must be an address without a path`},
		"no secret":            {strings.Replace(bucket, "geheim", `""`, 1), `weir.yaml:3: video.s3.secret_key: it is required`},
		"exports with files":   {"batch: {folder: x}\nexport: {folder: x}", `export.folder: it must not be the folder of files or videos`},
		"mistyped":             {"video:\n  s3:\n    buckt: x", `weir.yaml:3: there is no key "buckt" in video.s3; did you mean bucket?`},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := config.Load(write(t, c.text), env(), nil)
			if err == nil || !strings.Contains(err.Error(), c.want) || strings.Contains(err.Error(), "geheim") {
				t.Errorf("error is %v\nwant %s", err, c.want)
			}
		})
	}
	if _, err := config.Load("", env("WEIR_FETCH_ALLOW", "localhost"), nil); err == nil || !strings.Contains(err.Error(), "WEIR_FETCH_ALLOW: fetch.allow: this list became three") {
		t.Errorf("the one list in a variable: %v", err)
	}
	c, err := config.Load(write(t, bucket), env("WEIR_VIDEO_S3_ACCESS_KEY", "env:KEY", "KEY", "from outside", "WEIR_FETCH_ALLOW_CALLBACKS", "localhost,10.0.0.0/8"), nil)
	if err != nil {
		t.Fatal(err)
	}
	if !slices.Contains(c.Secrets(), "geheim") || slices.Contains(c.Secrets(), "") {
		t.Errorf("the log would tell the secret key: only %d are taken out", len(c.Secrets()))
	}
	if c.Video.S3.AccessKey.Reveal() != "from outside" || strings.Contains(fmt.Sprintf("%+v", c.Video), "geheim") || len(c.Fetch.AllowCallbacks) != 2 || c.Fetch.AllowClientMedia != nil || c.Fetch.AllowProviderMedia != nil {
		t.Errorf("%+v", c.Video.S3)
	}
}

func TestContentFolder(t *testing.T) {
	t.Parallel()
	c := config.Default()
	if got := c.ContentFolder(); got != filepath.Join("weir-data", "content") {
		t.Error(got)
	}
	c.Video.Folder = "/srv/videos"
	if got := c.ContentFolder(); got != "/srv/videos" {
		t.Error(got)
	}
}
