package app

import (
	"bufio"
	"context"
	"io"
	"net/http"
	"time"

	"weir/internal/config"
	"weir/internal/fetch"
	"weir/internal/mediatype"
	"weir/internal/outbound"
	"weir/internal/outbound/tunnel"
	"weir/internal/video"
)

// newFetch makes the client that fetches addresses given by clients and providers. The configuration was checked when it was loaded.
func newFetch(f *config.Fetch, d *tunnel.Dialer) *fetch.Client {
	allowed := func(list []string) (a fetch.Allowed) {
		a.Hosts, a.Networks, _ = config.Allowed(list)
		return a
	}
	c := f.Config
	c.ProviderMedia, c.ClientMedia, c.Callbacks = allowed(f.AllowProviderMedia), allowed(f.AllowClientMedia), allowed(f.AllowCallbacks)
	c.Ways, c.Tunnel = d.Ways, d.Dial
	return fetch.New(c)
}

// contentFor limits how long a client may take to read a video.
const contentFor = 6 * time.Hour

// files lets package upstream read video files.
type files struct {
	*fetch.Client
	most int64 // bytes of one video
}

// videoTypes lists the accepted media types of videos. Some file stores do not know the type of a file; an error page in HTML is not
// accepted.
var videoTypes = []string{"video/", "application/mp4", "application/octet-stream", "binary/octet-stream", ""}

// opened is a file of which some was read already.
type opened struct {
	io.Reader
	io.Closer
}

// OpenFile implements upstream.Opener. A file without a type, or with one that says nothing, has that which its first bytes show.
func (f files) OpenFile(ctx context.Context, provider, address string, home outbound.Home, credentials http.Header, r *video.Range) (*video.Content, error) {
	lim := fetch.Limits{Provider: &fetch.Provider{Name: provider, Home: home.URL, Proxy: home.Proxy, Credentials: credentials}, MaxBytes: f.most, Total: contentFor, Types: videoTypes}
	if r != nil {
		lim.Header = http.Header{"Range": {r.String()}}
	}
	got, err := f.Get(ctx, address, lim)
	if err != nil {
		return nil, err
	}
	c := &video.Content{Body: got.Body, From: got.Start, Length: got.Length, Size: got.Size, MediaType: got.MediaType, Partial: got.Status == http.StatusPartialContent}
	if mediatype.Generic(c.MediaType) {
		c.MediaType = ""
		if got.Status == http.StatusOK {
			file := bufio.NewReaderSize(got.Body, 64<<10)
			head, _ := file.Peek(mediatype.HeadBytes) // an error comes again when the file is read
			c.MediaType, c.Body = mediatype.Found(head), opened{file, got.Body}
		}
	}
	if got.Status == http.StatusRequestedRangeNotSatisfiable {
		_ = got.Body.Close()
		c.Body, c.Unfit = nil, true
	}
	return c, nil
}
