package upstream_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"weir/internal/catalog"
	"weir/internal/dialect"
	"weir/internal/dialect/gemini"
	"weir/internal/dialect/openai"
	"weir/internal/fault"
	"weir/internal/outbound"
	"weir/internal/upstream"
	"weir/internal/upstream/upstreamtest"
	"weir/internal/video"
)

// What a list says of a submission whose answer was lost.
func TestVideosFound(t *testing.T) {
	t.Parallel()
	now := time.Unix(1_800_000_000, 0)
	entry := func(id string, age time.Duration, prompt, seconds string) string {
		return fmt.Sprintf(`{"id":%q,"object":"video","model":"sora-2-2025-12-08","created_at":%d,"prompt":%q,"seconds":%q}`, id, now.Add(-age).Unix(), prompt, seconds)
	}
	list := func(more bool, entries ...string) upstreamtest.Script {
		return upstreamtest.Send(upstreamtest.JSON(fmt.Sprintf(`{"object":"list","has_more":%t,"data":[%s]}`, more, strings.Join(entries, ","))))
	}
	for name, c := range map[string]struct {
		scripts []upstreamtest.Script
		fate    video.Fate
		alike   []string
	}{
		"one":                     {[]upstreamtest.Script{list(false, entry("a", time.Minute, "x", "4"), entry("b", time.Minute, "y", "4"), entry("c", time.Minute, "x", "8"))}, video.Absent, []string{"a"}},
		"two that are alike":      {[]upstreamtest.Script{list(false, entry("a", time.Minute, "x", "4"), entry("b", 2*time.Minute, "x", "4"))}, video.Absent, []string{"a", "b"}},
		"none":                    {[]upstreamtest.Script{list(false)}, video.Absent, nil},
		"one that is older":       {[]upstreamtest.Script{list(true, entry("a", time.Hour, "x", "4"))}, video.Absent, nil},
		"one of a slow clock":     {[]upstreamtest.Script{list(false, entry("a", 6*time.Minute, "x", "4"))}, video.Absent, []string{"a"}},
		"one that came later":     {[]upstreamtest.Script{list(false, entry("a", -15*time.Minute, "x", "4"))}, video.Absent, nil},
		"one that says little":    {[]upstreamtest.Script{list(false, `{"id":"a"}`)}, video.Absent, []string{"a"}},
		"one on the second page":  {[]upstreamtest.Script{list(true, entry("b", time.Minute, "y", "4")), list(false, entry("a", time.Minute, "x", "4"))}, video.Absent, []string{"a"}},
		"more than can be looked": {[]upstreamtest.Script{list(true, entry("b", time.Minute, "y", "4"))}, video.Unknown, nil},
		"a server without a list": {[]upstreamtest.Script{upstreamtest.Send(upstreamtest.Sized(http.StatusNotFound, "application/json", `{}`))}, video.Unknown, nil},
		"a name that is none":     {[]upstreamtest.Script{list(false, entry("a b", time.Minute, "x", "4"))}, video.Unknown, nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := upstreamtest.NewProvider(t, c.scripts...)
			cl := upstreamtest.New(upstream.Config{Dialects: map[string]dialect.Dialect{"it": new(openai.Dialect)}, Now: func() time.Time { return now }})
			t.Cleanup(cl.Close)
			got, err := upstream.NewVideos(cl, upstreamtest.Files{}).Recover(t.Context(), videoEndpoint(p.URL, catalog.Quirks{}, "sora-2"),
				&video.Submission{Token: "t", At: now.Add(-5 * time.Minute), Request: &video.Request{Prompt: "x", Seconds: 4}})
			if err != nil || got.Fate != c.fate || got.ID != "" || !slices.Equal(got.Alike, c.alike) {
				t.Errorf("%+v, %v", got, err)
			}
		})
	}
}

// Each of several credentials is an account: a job is searched in all, and belongs to the one that has it.
func TestVideosFoundByAnotherKey(t *testing.T) {
	t.Parallel()
	now := time.Unix(1_800_000_000, 0)
	mine := fmt.Sprintf(`{"data":[{"id":"a","model":"sora-2","created_at":%d,"prompt":"x","seconds":"4"}],"has_more":false}`, now.Unix())
	p := upstreamtest.NewProvider(t, func(c *upstreamtest.Conn) {
		switch second := strings.HasSuffix(c.Request.Header.Get("Authorization"), "key-2"); {
		case c.Request.URL.Path != "/videos" && second:
			c.Send(upstreamtest.JSON(`{"id":"a","status":"in_progress"}`))
		case c.Request.URL.Path != "/videos":
			c.Send(upstreamtest.Sized(http.StatusNotFound, "application/json", `{}`))
		case second:
			c.Send(upstreamtest.JSON(mine))
		default:
			c.Send(upstreamtest.JSON(`{"data":[],"has_more":false}`))
		}
	})
	cl := upstreamtest.New(upstream.Config{Dialects: map[string]dialect.Dialect{"it": new(openai.Dialect)}, Now: func() time.Time { return now }})
	t.Cleanup(cl.Close)
	ep := videoEndpoint(p.URL, catalog.Quirks{}, "sora-2")
	ep.Provider.Keys = []string{"sk-upstream-key-2"}
	videos := upstream.NewVideos(cl, upstreamtest.Files{})
	got, err := videos.Recover(t.Context(), ep, &video.Submission{Token: "t", At: now.Add(-2 * time.Minute), Request: &video.Request{Prompt: "x", Seconds: 4}})
	if err != nil || len(got.Alike) != 1 || strings.Contains(got.Alike[0], "sk-") {
		t.Fatalf("%+v, %v", got, err)
	}
	if p, err := videos.Poll(t.Context(), ep, &video.Job{UpstreamID: got.Alike[0]}); err != nil || p.State != video.InProgress {
		t.Errorf("%+v, %v", p, err)
	}
	got, err = videos.Recover(t.Context(), ep, &video.Submission{Token: "t", At: now.Add(-2 * time.Minute), Request: &video.Request{Prompt: "other", Seconds: 4}})
	if err != nil || got.Fate != video.Absent || len(got.Alike) > 0 {
		t.Errorf("in no account: %+v, %v", got, err)
	}
}

// byClient gets what clients name, as far as the operator lets it.
type byClient struct{ allowed bool }

func (f byClient) Bytes(_ context.Context, address string, _ int64) ([]byte, string, error) {
	if !f.allowed {
		return nil, "", fault.New(fault.Invalid, "test", "This gateway does not fetch files by their address.")
	}
	if address != firstFrame.URL {
		return nil, "", errors.New("another address")
	}
	return pixel(), "image/png", nil
}

func (byClient) ProviderBytes(context.Context, string, outbound.Home, string, int64) ([]byte, string, error) {
	return nil, "", errors.New("no provider has named this")
}

// An image that a client names is fetched for a wire that takes only its bytes, if the operator allows that, and never as what a provider named.
func TestVideoStill(t *testing.T) {
	t.Parallel()
	for _, allowed := range []bool{true, false} {
		p := upstreamtest.NewProvider(t, upstreamtest.Send(upstreamtest.JSON(`{"name":"models/m/operations/1"}`)))
		cl := upstreamtest.New(upstream.Config{Dialects: map[string]dialect.Dialect{"it": new(gemini.Dialect)}, Fetcher: byClient{allowed}})
		t.Cleanup(cl.Close)
		_, err := upstream.NewVideos(cl, upstreamtest.Files{}).Submit(t.Context(), videoEndpoint(p.URL, catalog.Quirks{}, "m"),
			&video.Submission{Token: "t", Request: &video.Request{Prompt: "x", Seconds: 4, Outputs: 1, Frames: []video.Media{firstFrame}}})
		seen := p.Seen()
		switch {
		case allowed && (err != nil || len(seen) != 1 || !strings.Contains(seen[0].Body, `"mimeType":"image/png"`)):
			t.Errorf("%v, %+v", err, seen)
		case !allowed && (!fault.Is(err, fault.Invalid) || !video.Refused(fault.From(err)) || len(seen) != 0):
			t.Errorf("%v, %d calls", err, len(seen))
		}
	}
}
