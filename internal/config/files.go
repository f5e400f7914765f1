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
		{"max_active_per_user", v.MaxActive}, {"max_age", int64(v.MaxAge)}, {"first_poll", int64(v.FirstPoll)}, {"most_poll", int64(v.MostPoll)},
		{"at_once", v.AtOnce}, {"retention", int64(v.Retention)}, {"forget_after", int64(v.ForgetAfter)}, {"copies_at_once", v.CopiesAtOnce}, {"copy_timeout", int64(v.CopyTimeout)}, {"max_content_bytes", int64(v.MaxContentBytes)},
		{"callbacks.timeout", int64(v.Callbacks.Timeout)}, {"callbacks.at_once", v.Callbacks.AtOnce}, {"callbacks.poll", int64(v.Callbacks.Poll)},
		{"callbacks.keep_for", int64(v.Callbacks.KeepFor)},
	})
	if v.MostPoll < v.FirstPoll {
		k.fail("video.most_poll", "it must not be less than first_poll (%s)", v.FirstPoll)
	}
	k.s3()
}

// Bounds of the parts of an upload. The lower one is from "Amazon S3 multipart upload limits"; the upper one limits the memory that a part
// takes.
const leastPart, mostPart = 5 << 20, 1 << 30

func (k *checker) s3() {
	v, s := &k.c.Video, &k.c.Video.S3
	if s.PartBytes < leastPart || s.PartBytes > mostPart {
		k.fail("video.s3.part_bytes", "it must be from 5MiB to 1GiB")
	} else if v.MaxContentBytes/s.PartBytes >= 10_000 {
		k.fail("video.s3.part_bytes", "it is too small for files of max_content_bytes (%s), which may have 10,000 parts", v.MaxContentBytes)
	}
	if !isPrefix(s.Prefix) {
		k.fail("video.s3.prefix", "it must be letters, digits, -, _, . and /, and not begin with a slash, such as weir/")
	}
	if v.Keep != KeepS3 {
		return
	}
	u, err := url.Parse(s.Endpoint)
	if err != nil || u.Scheme != "https" && u.Scheme != "http" || u.Host == "" || u.User != nil || strings.Trim(u.Path, "/") != "" || u.RawQuery != "" || u.Fragment != "" {
		k.fail("video.s3.endpoint", "it must be an address without a path, such as https://storage.yandexcloud.net")
	}
	for _, x := range []struct{ name, text string }{
		{"region", s.Region}, {"bucket", s.Bucket}, {"access_key", s.AccessKey.Reveal()}, {"secret_key", s.SecretKey.Reveal()},
	} {
		if x.text == "" {
			k.fail("video.s3."+x.name, "it is required when video.keep is s3")
		}
	}
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
