package config

import (
	"fmt"
	"net/netip"
	"net/url"
	"path/filepath"
	"strings"

	"weir/internal/blob/s3"
)

// Allowed splits a list into hosts, in lower case, and networks. These may be reached although they are not on the public Internet.
func Allowed(list []string) (hosts []string, networks []netip.Prefix, err error) {
	for _, text := range list {
		p, err := netip.ParsePrefix(text)
		if a, bad := netip.ParseAddr(text); bad == nil {
			p, err = netip.PrefixFrom(a, a.BitLen()), nil
		}
		switch {
		case err == nil:
			networks = append(networks, p.Masked())
		case isHost(text):
			hosts = append(hosts, strings.ToLower(text))
		default:
			return nil, nil, fmt.Errorf("%q is not a host, address or network; write media.example.com, 10.1.2.3 or 10.0.0.0/8", text)
		}
	}
	return hosts, networks, nil
}

// isHost reports whether text is a host name: letters, digits, '-', '_' and dots, with an end unlike that of an IP address.
func isHost(text string) bool {
	last := text[strings.LastIndexByte(text, '.')+1:]
	return last != "" && strings.Trim(last, "0123456789") != "" && !strings.HasPrefix(text, ".") && len(text) <= 253 &&
		strings.Trim(strings.ToLower(text), "abcdefghijklmnopqrstuvwxyz0123456789-_.") == ""
}

func (k *checker) fetch() {
	f := &k.c.Fetch
	for _, x := range []struct {
		name string
		list []string
	}{{"allow_provider_media", f.AllowProviderMedia}, {"allow_client_media", f.AllowClientMedia}, {"allow_callbacks", f.AllowCallbacks}} {
		if _, _, err := Allowed(x.list); err != nil {
			k.fail("fetch."+x.name, "%w", err)
		}
	}
	k.positive("fetch.max_bytes", f.MaxBytes)
}

type setting struct {
	name string
	n    int64
}

func (k *checker) allPositive(path string, all []setting) {
	for _, x := range all {
		k.positive(path+"."+x.name, x.n)
	}
}

func (k *checker) video() {
	v := &k.c.Video
	k.oneOf("video.keep", v.Keep, KeepProvider, KeepFolder, KeepS3)
	k.allPositive("video", []setting{
		{"max_active_per_user", int64(v.Limit)},
		{"at_once", int64(v.AtOnce)}, {"retention", int64(v.KeepFor)}, {"forget_after", int64(v.ForgetAfter)}, {"max_content_bytes", int64(v.MaxContentBytes)},
		{"callbacks.keep_for", int64(v.Callbacks.KeepFor)},
	})
	k.bucket("video", &v.S3, v.Keep == KeepS3)
}

// bucket checks the bucket of a part of the configuration.
func (k *checker) bucket(path string, s *s3.Config, used bool) {
	path += ".s3."
	if !isPrefix(s.Prefix) {
		k.fail(path+"prefix", "it must be letters, digits, -, _, . and /, and not begin with a slash, such as weir/")
	}
	if !used {
		return
	}
	u, err := url.Parse(s.Endpoint)
	if err != nil || u.Scheme != "https" && u.Scheme != "http" || u.Host == "" || u.User != nil || strings.Trim(u.Path, "/") != "" || u.RawQuery != "" || u.Fragment != "" {
		k.fail(path+"endpoint", "it must be an address without a path, such as https://storage.yandexcloud.net")
	}
	for _, x := range []struct{ name, text string }{
		{"region", s.Region}, {"bucket", s.Bucket}, {"access_key", s.AccessKey.Reveal()}, {"secret_key", s.SecretKey.Reveal()},
	} {
		if x.text == "" {
			k.fail(path+x.name, "it is required when %s is s3", strings.TrimSuffix(path, "s3.")+"keep")
		}
	}
}

func (k *checker) batch() {
	b, v := &k.c.Batch, &k.c.Video
	k.oneOf("batch.keep", b.Keep, KeepFolder, KeepS3)
	k.allPositive("batch", []setting{
		{"keep_for", int64(b.KeepFor)}, {"forget_after", int64(b.ForgetAfter)}, {"max_file_bytes", b.MaxFileBytes},
		{"max_bytes_per_user", b.Files.Bytes},
		{"max_active_per_user", b.MaxActive}, {"at_once", int64(b.AtOnce)},
	})
	k.bucket("batch", &b.S3, b.Keep == KeepS3)
	// Each deletes what is old in its own place.
	e := &k.c.Export
	k.oneOf("export.keep", e.Keep, KeepFolder, KeepS3)
	k.bucket("export", &e.S3, e.Keep == KeepS3)
	shared := []struct {
		part, what string
		*s3.Config
		used bool
	}{{"video", "videos", &v.S3, v.Keep == KeepS3}, {"batch", "files", &b.S3, b.Keep == KeepS3}, {"export", "exports", &e.S3, e.Keep == KeepS3}}
	for i, x := range shared {
		for _, y := range shared[:i] {
			if x.used && y.used && x.Endpoint == y.Endpoint && x.Bucket == y.Bucket && (strings.HasPrefix(x.Prefix, y.Prefix) || strings.HasPrefix(y.Prefix, x.Prefix)) {
				k.fail(x.part+".s3.prefix", "%s and %s are in one bucket, so neither prefix may begin with the other", x.what, y.what)
			}
		}
	}
	if b.Keep == KeepFolder && v.Keep == KeepFolder && k.c.FileFolder() == k.c.ContentFolder() {
		k.fail("batch.folder", "it must not be the folder of videos")
	}
	if e.Keep == KeepFolder && (k.c.ExportFolder() == k.c.FileFolder() || k.c.ExportFolder() == k.c.ContentFolder()) {
		k.fail("export.folder", "it must not be the folder of files or videos, where what is old is deleted")
	}
}

// FileFolder returns the folder of users' files, for batch.keep: folder.
func (c *Config) FileFolder() string {
	if c.Batch.Folder == "" {
		return filepath.Join(c.DataDir, "files")
	}
	return c.Batch.Folder
}

// ExportFolder is where exports go, unless they go into a bucket.
func (c *Config) ExportFolder() string {
	if c.Export.Folder == "" {
		return filepath.Join(c.DataDir, "exports")
	}
	return c.Export.Folder
}

func isPrefix(text string) bool {
	return !strings.HasPrefix(text, "/") && !strings.Contains(text, "//") && !strings.Contains(text, "..") && len(text) <= 200 &&
		strings.Trim(strings.ToLower(text), "abcdefghijklmnopqrstuvwxyz0123456789-_./") == ""
}

// ContentFolder returns the folder of finished videos, for video.keep: folder.
func (c *Config) ContentFolder() string {
	if c.Video.Folder == "" {
		return filepath.Join(c.DataDir, "content")
	}
	return c.Video.Folder
}
