package config

import (
	"fmt"
	"net/netip"
	"net/url"
	"path/filepath"
	"strings"
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
	k.allPositive("fetch", []setting{
		{"connect_timeout", int64(f.ConnectTimeout)}, {"first_byte_timeout", int64(f.FirstByteTimeout)}, {"idle_timeout", int64(f.IdleTimeout)},
		{"total_timeout", int64(f.TotalTimeout)}, {"max_bytes", int64(f.MaxBytes)},
	})
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
		{"max_active_per_user", v.MaxActive}, {"max_age", int64(v.MaxAge)}, {"accept_within", int64(v.AcceptWithin)}, {"lost_after", int64(v.LostAfter)}, {"first_poll", int64(v.FirstPoll)}, {"most_poll", int64(v.MostPoll)},
		{"at_once", v.AtOnce}, {"retention", int64(v.Retention)}, {"forget_after", int64(v.ForgetAfter)}, {"copies_at_once", v.CopiesAtOnce}, {"copy_timeout", int64(v.CopyTimeout)}, {"max_content_bytes", int64(v.MaxContentBytes)},
		{"callbacks.timeout", int64(v.Callbacks.Timeout)}, {"callbacks.at_once", v.Callbacks.AtOnce}, {"callbacks.poll", int64(v.Callbacks.Poll)},
		{"callbacks.keep_for", int64(v.Callbacks.KeepFor)},
	})
	if v.MostPoll < v.FirstPoll {
		k.fail("video.most_poll", "it must not be less than first_poll (%s)", v.FirstPoll)
	}
	k.bucket("video", &v.S3, v.Keep == KeepS3, v.MaxContentBytes)
}

// Bounds of the parts of an upload. The lower one is from "Amazon S3 multipart upload limits"; the upper one limits the memory that a part
// takes.
const leastPart, mostPart = 5 << 20, 1 << 30

// bucket checks the bucket of a part of the configuration, whose largest file has so many bytes.
func (k *checker) bucket(path string, s *S3, used bool, largest Size) {
	path += ".s3."
	if s.PartBytes < leastPart || s.PartBytes > mostPart {
		k.fail(path+"part_bytes", "it must be from 5MiB to 1GiB")
	} else if largest/s.PartBytes >= 10_000 {
		k.fail(path+"part_bytes", "it is too small for files of %s, which may have 10,000 parts", largest)
	}
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
		{"window", int64(b.Window)}, {"keep_for", int64(b.KeepFor)}, {"forget_after", int64(b.ForgetAfter)}, {"max_file_bytes", int64(b.MaxFileBytes)},
		{"max_line_bytes", int64(b.MaxLineBytes)}, {"max_requests", b.MaxRequests}, {"max_files_per_user", b.MaxFiles}, {"max_bytes_per_user", int64(b.MaxBytes)},
		{"max_active_per_user", b.MaxActive}, {"at_once", b.AtOnce}, {"at_once_per_user", b.AtOncePerUser}, {"tries", b.Tries}, {"lost_after", int64(b.LostAfter)},
	})
	k.bucket("batch", &b.S3, b.Keep == KeepS3, b.MaxFileBytes*4)
	// Each deletes what is old in its own place.
	e := &k.c.Export
	k.oneOf("export.keep", e.Keep, KeepFolder, KeepS3)
	k.bucket("export", &e.S3, e.Keep == KeepS3, 0)
	shared := []struct {
		part, what string
		*S3
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
