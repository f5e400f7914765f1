// Package s3 stores files in a bucket of an S3-compatible store, which several nodes can share. It does not make the bucket or change its
// settings; the operator does.
package s3

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/minio/minio-go/v7"
	"github.com/minio/minio-go/v7/pkg/credentials"

	"weir/internal/blob"
	"weir/internal/fault"
	"weir/internal/secret"
)

// Config configures a Bucket. The defaults are in package config.
type Config struct {
	Endpoint  string      `yaml:"endpoint"` // base URL, such as "https://storage.yandexcloud.net"
	Region    string      `yaml:"region"`
	Bucket    string      `yaml:"bucket"`
	Prefix    string      `yaml:"prefix"` // of all keys, such as "weir/"; may be empty
	AccessKey secret.Text `yaml:"access_key"`
	SecretKey secret.Text `yaml:"secret_key"`
	// Session is the token of temporary credentials; else "".
	Session secret.Text `yaml:"session_token"`
	// VirtualHost puts the bucket's name into the host instead of the path.
	VirtualHost bool `yaml:"virtual_host"`
	// PartBytes is the size of the parts of an upload, at least 5 MiB. Each running upload takes that much memory. A file can have at most
	// mostParts parts.
	PartBytes int64 `constant:"part_bytes" as:"size"`
}

// Default is a bucket without a name, where all keys have a prefix.
func Default(prefix string) Config { return Config{Prefix: prefix, PartBytes: 8 << 20} }

// mostParts is how many parts an upload may have at Amazon and others.
const mostParts = 10_000

// For returns c with parts that are large enough for the largest file.
func (c Config) For(largest int64) Config {
	c.PartBytes = max(c.PartBytes, largest/(mostParts-1))
	return c
}

const (
	retries      = 3
	connect      = 5 * time.Second
	answerWithin = 30 * time.Second
)

// Bucket is a blob.Store.
type Bucket struct {
	cfg       Config
	client    minio.Core
	transport *http.Transport
}

var _ blob.Store = (*Bucket)(nil)

// Open makes a Bucket. It sends no request; Ready reports whether the store can be reached.
func Open(cfg Config) (*Bucket, error) {
	u, err := url.Parse(cfg.Endpoint)
	if err != nil || u.Host == "" || u.Path != "" && u.Path != "/" {
		return nil, fault.New(fault.Invalid, "s3.Open", "The endpoint of the S3 store must be a base URL.")
	}
	b := &Bucket{cfg: cfg, transport: &http.Transport{
		DialContext: (&net.Dialer{Timeout: connect}).DialContext, TLSHandshakeTimeout: connect, ResponseHeaderTimeout: answerWithin,
		MaxIdleConnsPerHost: 16, IdleConnTimeout: time.Minute, DisableCompression: true, ForceAttemptHTTP2: false,
	}}
	lookup := minio.BucketLookupPath
	if cfg.VirtualHost {
		lookup = minio.BucketLookupDNS
	}
	client, err := minio.NewCore(u.Host, &minio.Options{
		Creds: credentials.NewStaticV4(cfg.AccessKey.Reveal(), cfg.SecretKey.Reveal(), cfg.Session.Reveal()), Secure: u.Scheme == "https", Transport: b.transport,
		Region: cfg.Region, BucketLookup: lookup, MaxRetries: retries,
	})
	if err != nil {
		return nil, fault.New(fault.Invalid, "s3.Open", "The settings of the S3 store are invalid.").Because(err)
	}
	b.client = *client
	return b, nil
}

// Close closes idle connections.
func (b *Bucket) Close() error {
	b.transport.CloseIdleConnections()
	return nil
}

func (b *Bucket) name(op, key string) (string, error) {
	if err := blob.CheckKey(key); err != nil {
		return "", fault.Wrap(op, err)
	}
	return b.cfg.Prefix + key, nil
}

// failed converts an error of the store.
func failed(ctx context.Context, op string, err error) error {
	if ctx.Err() != nil {
		return fault.New(fault.Canceled, op, "The request was cancelled.").Because(err)
	}
	var answer minio.ErrorResponse
	if errors.As(err, &answer) {
		switch answer.Code {
		case minio.NoSuchKey:
			return blob.NotFound(op)
		case minio.InvalidRange:
			return blob.PastEnd(op)
		}
	}
	return blob.Unavailable(op, err)
}

// Ready implements blob.Store, with one request.
func (b *Bucket) Ready(ctx context.Context) error {
	there, err := b.client.BucketExists(ctx, b.cfg.Bucket)
	if err == nil && !there {
		err = errors.New("there is no such bucket")
	}
	if err != nil {
		return blob.Unavailable("s3.Ready", err)
	}
	return nil
}

// Put implements blob.Store. It uploads the file in parts, and retries a part that fails. The parts of a killed process must be removed by
// the lifecycle rules of the bucket.
func (b *Bucket) Put(ctx context.Context, key, mediaType string, r io.Reader) (size int64, etag string, err error) {
	const op = "s3.Put"
	name, err := b.name(op, key)
	if err != nil {
		return 0, "", err
	}
	src := &blob.Source{Reader: r}
	done, err := b.client.Client.PutObject(ctx, b.cfg.Bucket, name, src, -1, minio.PutObjectOptions{
		ContentType: blob.MediaType(mediaType), PartSize: uint64(b.cfg.PartBytes),
	})
	if src.Err != nil {
		return 0, "", src.Err
	}
	if err != nil {
		return 0, "", failed(ctx, op, err)
	}
	return done.Size, done.ETag, nil
}

// Open implements blob.Store.
func (b *Bucket) Open(ctx context.Context, key string, offset, length int64) (io.ReadCloser, blob.Info, error) {
	const op = "s3.Open"
	name, err := b.name(op, key)
	if err != nil {
		return nil, blob.Info{}, err
	}
	if offset < 0 {
		return nil, blob.Info{}, blob.PastEnd(op)
	}
	opts := minio.GetObjectOptions{}
	switch {
	case length == 0:
		return b.stat(ctx, name, offset)
	case length > 0:
		opts.Set("Range", "bytes="+strconv.FormatInt(offset, 10)+"-"+strconv.FormatInt(max(offset+length-1, offset), 10))
	case offset > 0:
		opts.Set("Range", "bytes="+strconv.FormatInt(offset, 10)+"-")
	}
	body, info, header, err := b.client.GetObject(ctx, b.cfg.Bucket, name, opts)
	if err != nil {
		if err = failed(ctx, op, err); fault.Is(err, fault.Invalid) {
			return b.stat(ctx, name, offset) // at the end there is no valid range to request
		}
		return nil, blob.Info{}, err
	}
	size := info.Size
	if header.Get("Content-Range") != "" {
		_, whole, _ := strings.Cut(header.Get("Content-Range"), "/")
		if size, err = strconv.ParseInt(whole, 10, 64); err != nil {
			return nil, blob.Info{}, errors.Join(blob.Unavailable(op, err), body.Close())
		}
	} else if opts.Header().Get("Range") != "" {
		return nil, blob.Info{}, errors.Join(blob.Unavailable(op, errRange), body.Close())
	}
	return &reading{ReadCloser: body, ctx: ctx}, describe(&info, size), nil
}

var errRange = errors.New("the store does not support ranges")

func describe(info *minio.ObjectInfo, size int64) blob.Info {
	return blob.Info{Size: size, MediaType: info.ContentType, ETag: info.ETag}
}

func (b *Bucket) stat(ctx context.Context, name string, offset int64) (io.ReadCloser, blob.Info, error) {
	const op = "s3.Open"
	info, err := b.client.StatObject(ctx, b.cfg.Bucket, name, minio.StatObjectOptions{})
	if err != nil {
		return nil, blob.Info{}, failed(ctx, op, err)
	}
	if offset > info.Size {
		return nil, blob.Info{}, blob.PastEnd(op)
	}
	return http.NoBody, describe(&info, info.Size), nil
}

// reading converts a failure of the store while a file is read.
type reading struct {
	io.ReadCloser
	ctx context.Context
}

func (r *reading) Read(p []byte) (int, error) {
	n, err := r.ReadCloser.Read(p)
	if err != nil && err != io.EOF {
		err = failed(r.ctx, "s3.Read", err)
	}
	return n, err
}

// Delete implements blob.Store.
func (b *Bucket) Delete(ctx context.Context, key string) error {
	const op = "s3.Delete"
	name, err := b.name(op, key)
	if err != nil {
		return err
	}
	if err := b.client.RemoveObject(ctx, b.cfg.Bucket, name, minio.RemoveObjectOptions{}); err != nil {
		if err = failed(ctx, op, err); !fault.Is(err, fault.NotFound) {
			return err
		}
	}
	return nil
}

// Sweep implements blob.Store. It only considers keys with the prefix.
func (b *Bucket) Sweep(ctx context.Context, before time.Time, n int) (gone int, err error) {
	const op = "s3.Sweep"
	for o := range b.client.ListObjectsIter(ctx, b.cfg.Bucket, minio.ListObjectsOptions{Prefix: b.cfg.Prefix, Recursive: true}) {
		if o.Err != nil {
			return gone, failed(ctx, op, o.Err)
		}
		if !o.LastModified.Before(before) || blob.CheckKey(strings.TrimPrefix(o.Key, b.cfg.Prefix)) != nil {
			continue // it is too new, or foreign
		}
		if err := b.client.RemoveObject(ctx, b.cfg.Bucket, o.Key, minio.RemoveObjectOptions{}); err != nil {
			return gone, failed(ctx, op, err)
		}
		if gone++; gone == n {
			break
		}
	}
	return gone, nil
}
