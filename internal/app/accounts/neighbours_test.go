package accounts_test

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"strings"
	"testing"
	"time"

	"weir/internal/apikey"
	"weir/internal/app/apptest"
	"weir/internal/catalog"
	"weir/internal/config"
	"weir/internal/health"
	"weir/internal/money"
)

// neighbour is a resource that all users of a node share, and a user that takes as much of it as possible.
type neighbour struct {
	resource string // its name in the table of docs/run.md
	setup    func(*apptest.Setup)
	// take runs until ctx ends. It returns as soon as the user has been refused more.
	take func(ctx context.Context, t *testing.T, greedy *apptest.Account)
	// use is an operation of the other user, in addition to chats, that must succeed.
	use func(t *testing.T, other *apptest.Account)
}

func measured() bool { return os.Getenv("WEIR_NEIGHBOURS") == "measure" }

// TestNeighbours lets one user take as much as possible of each shared resource, while another user's calls must keep succeeding.
//
// With WEIR_NEIGHBOURS=measure it compares the latency of these calls with and without the first user; see make soak.
func TestNeighbours(t *testing.T) {
	t.Parallel()
	measure := measured()
	for _, n := range neighbours {
		t.Run(n.resource, func(t *testing.T) {
			if !measure {
				t.Parallel() // measurements run alone
			}
			gw := apptest.StartGateway(t, apptest.PatientUpstream, func(s *apptest.Setup) {
				s.Server.MaxUserShare = 50
				s.Server.DrainTimeout = time.Second // calls that hang in the background need not finish
				if n.setup != nil {
					n.setup(s)
				}
			})
			greedy, other := gw.NewOwner(t, 100, apikey.NewKey{}), gw.NewOwner(t, 100, apikey.NewKey{})
			for health.SameGroup(greedy.User, other.User) { // endpoints would take them for one
				other = gw.NewOwner(t, 100, apikey.NewKey{})
			}
			calls := 10
			if measure {
				calls = 1000
			}
			quiet := other.Beside(t, calls, n.use)
			ctx, stop := context.WithCancel(t.Context())
			defer stop()
			n.take(ctx, t, greedy.Account)
			loud := other.Beside(t, calls, n.use)
			stop()
			if measure {
				t.Logf("%-40s p99 alone %8v, with the other user %8v: %.1f", n.resource, quiet, loud, float64(loud)/float64(quiet))
				if loud > 3*quiet {
					t.Errorf("%s: p99 grew from %v to %v", n.resource, quiet, loud)
				}
			}
		})
	}
}

// Each row of the table of docs/run.md has a test, here or where the row says.
func TestNeighboursOfEveryResource(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("../../../docs/run.md")
	if err != nil {
		t.Fatal(err)
	}
	_, section, _ := strings.Cut(string(text), "## What users share\n")
	section, _, _ = strings.Cut(section, "\n## ")
	tried := map[string]bool{}
	for _, n := range neighbours {
		tried[n.resource] = true
	}
	for resource, at := range triedElsewhere {
		file, test, _ := strings.Cut(at, ": ")
		source, err := os.ReadFile("../../../" + file)
		if err != nil || !strings.Contains(string(source), "func "+test+"(") {
			t.Errorf("%s: %s is not there: %v", resource, at, err)
		}
		tried[resource] = true
	}
	rows := 0
	for line := range strings.Lines(section) {
		cells := strings.Split(strings.TrimSpace(line), "|")
		if len(cells) != 5 || strings.HasPrefix(cells[1], "---") || cells[1] == " What " {
			continue
		}
		rows++
		if name := strings.TrimSpace(cells[1]); !tried[name] {
			t.Errorf("%s: no test", name)
		}
	}
	if rows != len(tried) {
		t.Errorf("%d resources are tried, %d are in the table", len(tried), rows)
	}
}

// triedElsewhere are tests of other packages, by resource.
var triedElsewhere = map[string]string{
	"spans of traces":                  "internal/trace/otlp/otlp_test.go: TestQueueIsShared",
	"events to `callback_url`":         "internal/webhook/courier_test.go: TestSlowReceiver",
	"files for batches":                "internal/store/storetest/batches.go: fileBounds",
	"WebSockets":                       "internal/httpapi/sockets_test.go: TestSocketLimits",
	"responses that WebSockets keep":   "internal/httpapi/sockets_test.go: TestSocketKeepsWithinItsBound",
	"streams of events of pages":       "internal/liveupdates/liveupdates_test.go: TestFollowersAreBounded",
	"codes of vouchers that are tried": "internal/limit/quota/quota_test.go: TestRedeem",
	"payments that wait to be paid":    "internal/store/storetest/payments.go: paymentBound",
	"batches that run":                 "internal/store/storetest/batches.go: batchNeighbours",
	"mails of notifications":           "internal/store/storetest/notify.go: noticeDigest",
	"presets":                          "internal/store/storetest/presets.go: presetBounds",
	"keys":                             "internal/store/storetest/accounts.go: maxKeys",
	"saved views":                      "internal/store/storetest/views.go: viewBounds",
	"kept chats":                       "internal/store/storetest/chats.go: chatBounds",
	"own provider keys":                "internal/store/storetest/ownkeys.go: ownKeyBounds",
	"tests of own provider keys":       "internal/app/accounts/ownkeys_test.go: TestOwnKeysAreTheirOwners",
	"invoices":                         "internal/store/storetest/invoices.go: invoiceBounds",
	"requests for providers' batches":  "internal/store/storetest/batch_native.go: gatherNeighbours",
}

// reading is a call with a file for a model without file input.
func reading() map[string]any {
	return map[string]any{"model": "test/next", "messages": []any{map[string]any{"role": "user", "content": []any{
		map[string]any{"type": "text", "text": "Read this."},
		map[string]any{"type": "file", "file": map[string]any{"filename": "a.pdf", "file_data": apptest.PdfFile("a river in May", "")}},
	}}}}
}

// hanging is a call that its provider never answers.
func hanging(stream bool) map[string]any {
	return map[string]any{"model": "test/next", "stream": stream, "messages": []any{map[string]any{"role": "user", "content": "[[sim fault=u3]] hello"}}}
}

var neighbours = []neighbour{
	{
		resource: "calls under way",
		setup:    func(s *apptest.Setup) { s.Server.MaxInFlight = 20 },
		take: func(ctx context.Context, t *testing.T, greedy *apptest.Account) {
			greedy.Press(ctx, t, 15, http.StatusTooManyRequests, "max_user_share", func(int) *http.Request {
				return greedy.Request(http.MethodPost, "/v1/chat/completions", hanging(false))
			})
		},
	},
	{
		resource: "streams under way",
		setup:    func(s *apptest.Setup) { s.Server.MaxStreamsByKey = 5 },
		take: func(ctx context.Context, t *testing.T, greedy *apptest.Account) {
			greedy.Press(ctx, t, 10, http.StatusTooManyRequests, "max_streams_per_key", func(int) *http.Request {
				return greedy.Request(http.MethodPost, "/v1/chat/completions", hanging(true))
			})
		},
	},
	{
		resource: "requests in memory",
		setup: func(s *apptest.Setup) {
			s.Server.BodyBudget = 160 << 20 // a user's half is more than the largest body, which every user may send
			s.Server.MaxBody = 8 << 20
		},
		take: func(ctx context.Context, t *testing.T, greedy *apptest.Account) {
			greedy.Press(ctx, t, 11, http.StatusTooManyRequests, "max_user_share", func(int) *http.Request {
				req := greedy.Request(http.MethodPost, "/v1/chat/completions", nil)
				req.Body, req.ContentLength = io.NopCloser(&unfinished{ctx: ctx, left: 8<<20 - 1}), 8<<20
				return req
			})
		},
	},
	{
		resource: "connections",
		setup:    func(s *apptest.Setup) { s.Server.MaxConns, s.Server.MaxConnsByAddress = 40, 20 },
		take: func(ctx context.Context, t *testing.T, greedy *apptest.Account) {
			dialer := net.Dialer{LocalAddr: &net.TCPAddr{IP: net.IPv4(127, 0, 0, 2)}}
			refused := 0
			for range 30 {
				c, err := dialer.DialContext(ctx, "tcp", strings.TrimPrefix(greedy.Gw.URL, "http://"))
				if err != nil {
					t.Fatal(err)
				}
				t.Cleanup(func() { _ = c.Close() })
				_, _ = io.WriteString(c, "GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n") // the connection stays open
				head := make([]byte, len("HTTP/1.1 200"))
				if _, err := io.ReadFull(c, head); err != nil || !strings.HasSuffix(string(head), "200") {
					refused++
				}
			}
			if refused != 10 {
				t.Fatalf("%d connections of one address were refused, of 30", refused)
			}
		},
	},
	{
		resource: "responses in the background",
		setup:    func(s *apptest.Setup) { s.Responses.MaxRuns = 5 },
		take: func(ctx context.Context, t *testing.T, greedy *apptest.Account) {
			greedy.Press(ctx, t, 2, http.StatusTooManyRequests, "max_background_per_user", func(int) *http.Request {
				return greedy.Request(http.MethodPost, "/v1/responses", apptest.Object{"model": "test/next", "background": true, "input": "[[sim fault=u3]] hello"})
			})
		},
		use: func(t *testing.T, other *apptest.Account) {
			got := apptest.ParseObject(t, other.Do(t, http.MethodPost, "/v1/responses", apptest.Object{"model": "test/next", "background": true, "input": "hello"}))
			if done := other.Await(t, apptest.ID(got)); done["status"] != "completed" {
				t.Errorf("%v", done)
			}
		},
	},
	{
		resource: "uploads",
		setup: func(s *apptest.Setup) {
			s.Server.MaxUploads = 8
			s.Declared.Models = append(s.Declared.Models, catalog.ModelInfo{Slug: "test/whisper", Type: catalog.TypeTranscription})
			s.Offers = append(s.Offers, catalog.Offer{Provider: "works", Model: "test/whisper", UpstreamID: "whisper", Pricing: catalog.Pricing{List: "test", Rates: catalog.Rates{Minute: mustPrice("0.006")}}})
		},
		take: func(ctx context.Context, t *testing.T, greedy *apptest.Account) {
			greedy.Press(ctx, t, 8, http.StatusTooManyRequests, "max_user_share", func(int) *http.Request {
				body, length, contentType := apptest.Silence("test/whisper", 4<<20)
				req := greedy.Request(http.MethodPost, "/v1/audio/transcriptions", nil)
				req.Body, req.ContentLength = io.NopCloser(io.MultiReader(io.LimitReader(body, 2<<20), &unfinished{ctx: ctx})), length
				req.Header.Set("Content-Type", contentType)
				return req
			})
		},
	},
	{
		resource: "work on files and long prompts",
		setup: func(s *apptest.Setup) {
			s.Shaping.Concurrent, s.Shaping.ConcurrentPerUser, s.Shaping.Wait = 2, 1, time.Millisecond
			for i := range s.Offers {
				s.Offers[i].Input = catalog.Text // no files
			}
		},
		take: func(ctx context.Context, t *testing.T, greedy *apptest.Account) {
			greedy.Press(ctx, t, 4, http.StatusTooManyRequests, "shaping.max_concurrent_per_user", func(int) *http.Request {
				return greedy.Request(http.MethodPost, "/v1/chat/completions", reading())
			})
		},
		use: func(t *testing.T, other *apptest.Account) {
			if got := other.Chat(t, reading()); got.Status != http.StatusOK {
				t.Errorf("%d %s", got.Status, got.Body)
			}
		},
	},
	{
		resource: "attempts at an endpoint",
		setup:    func(s *apptest.Setup) { s.Relay.MaxInFlight = 8 },
		take: func(ctx context.Context, t *testing.T, greedy *apptest.Account) {
			greedy.Press(ctx, t, 12, http.StatusTooManyRequests, "max_user_share", func(int) *http.Request {
				return greedy.Request(http.MethodPost, "/v1/chat/completions", hanging(false))
			})
		},
	},
	{
		resource: "video jobs",
		setup:    func(s *apptest.Setup) { apptest.Videos(new(testing.T), "", map[string]string{"test/film": "video"})(s) },
		take: func(ctx context.Context, t *testing.T, greedy *apptest.Account) {
			greedy.Press(ctx, t, 2, http.StatusTooManyRequests, "rate_limit_exceeded", func(int) *http.Request {
				return greedy.Request(http.MethodPost, "/v1/videos", apptest.Shoot("test/film", "[[sim takes=10m]] a river"))
			})
		},
		use: func(t *testing.T, other *apptest.Account) {
			other.AwaitVideo(t, other.Shoot(t, apptest.Shoot("test/film", "a river")).ID, "completed")
		},
	},
	{
		resource: "videos that are copied",
		setup: func(s *apptest.Setup) {
			apptest.Videos(new(testing.T), "", map[string]string{"test/film": "video"})(s)
			s.Video.Keep, s.Video.AtOnce, s.Video.Copies = config.KeepFolder, 2, 2
		},
		take: func(ctx context.Context, t *testing.T, greedy *apptest.Account) {
			for range 2 {
				greedy.Shoot(t, apptest.Shoot("test/film", "[[sim on=content fault=u5]] a river"))
			}
			apptest.WaitFor(t, "a copy that does not end", func() bool { return apptest.VideoCounts(greedy.Gw.Sim).Downloads > 0 })
		},
		use: func(t *testing.T, other *apptest.Account) {
			other.AwaitVideo(t, other.Shoot(t, apptest.Shoot("test/film", "a river")).ID, "completed")
		},
	},
	{
		resource: "requests without a key",
		setup:    func(s *apptest.Setup) { s.Server.PublicPerMinute = 5 },
		take: func(ctx context.Context, t *testing.T, greedy *apptest.Account) {
			greedy.Press(ctx, t, 4, http.StatusTooManyRequests, "public_per_minute", func(int) *http.Request {
				req := greedy.Request(http.MethodGet, "/v1/models", nil)
				req.Header.Set("X-Anonymous", "yes")
				return req
			})
		},
		use: func(t *testing.T, other *apptest.Account) {
			if got := other.Do(t, http.MethodGet, "/v1/models", nil); got.Status != http.StatusOK {
				t.Errorf("with a key: %d %s", got.Status, got.Body)
			}
		},
	},
	{
		resource: "questions to the store",
		setup: func(s *apptest.Setup) {
			s.Server.UserCallsPerMinute = 200 // so few that a busy machine asks more
			if measured() {
				s.Server.UserCallsPerMinute = 2000 // the other user makes a thousand calls
			}
		},
		take: func(ctx context.Context, t *testing.T, greedy *apptest.Account) {
			greedy.Press(ctx, t, 16, http.StatusTooManyRequests, "user_calls_per_minute", func(i int) *http.Request {
				return greedy.Request(http.MethodGet, []string{"/v1/credits", "/v1/activity", "/v1/key", "/v1/videos"}[i%4], nil)
			})
		},
		use: func(t *testing.T, other *apptest.Account) { other.Credits(t) },
	},
	{
		resource: "lines of the log",
		take: func(ctx context.Context, t *testing.T, greedy *apptest.Account) {
			greedy.Press(ctx, t, 16, http.StatusNotFound, "model_not_found", func(int) *http.Request {
				return greedy.Request(http.MethodPost, "/v1/chat/completions", map[string]any{"model": "no/such", "messages": []any{map[string]any{"role": "user", "content": "x"}}})
			})
		},
		use: func(t *testing.T, other *apptest.Account) {
			got := other.Chat(t, map[string]any{"model": "test/next", "messages": []any{map[string]any{"role": "user", "content": "hello"}}})
			apptest.WaitFor(t, "the record of a call", func() bool { return strings.Contains(other.Gw.Log.String(), got.Header.Get("X-Request-Id")) })
		},
	},
	{
		resource: "answers kept for Idempotency-Key",
		setup:    func(s *apptest.Setup) { s.Idempotency.Bounds.Entries = 5 },
		take: func(ctx context.Context, t *testing.T, greedy *apptest.Account) {
			for i := range 30 {
				if got := greedy.Named(t, fmt.Sprint("greedy-", i)); got.Status != http.StatusOK {
					t.Fatalf("%d %s", got.Status, got.Body)
				}
			}
		},
		use: func(t *testing.T, other *apptest.Account) {
			first := other.Named(t, "mine")
			for range 3 {
				if again := other.Named(t, "mine"); again.Status != http.StatusOK || !bytes.Equal(again.Body, first.Body) {
					t.Errorf("%d %s, before %s", again.Status, again.Body, first.Body)
				}
			}
		},
	},
	{
		resource: "responses kept",
		setup:    func(s *apptest.Setup) { s.Responses.Bounds.Responses = 5 },
		take: func(ctx context.Context, t *testing.T, greedy *apptest.Account) {
			first := apptest.ID(greedy.Respond(t, apptest.Object{"model": "test/next", "input": "hello"}))
			for range 30 {
				greedy.Respond(t, apptest.Object{"model": "test/next", "input": "hello"})
			}
			apptest.WaitFor(t, "the oldest response to go", func() bool {
				return greedy.Do(t, http.MethodGet, "/v1/responses/"+first, nil).Status == http.StatusNotFound
			})
		},
		use: func(t *testing.T, other *apptest.Account) {
			kept := apptest.ID(other.Respond(t, apptest.Object{"model": "test/next", "input": "hello"}))
			if got := other.Do(t, http.MethodGet, "/v1/responses/"+kept, nil); got.Status != http.StatusOK {
				t.Errorf("%d %s", got.Status, got.Body)
			}
		},
	},
}

// unfinished is a body that never ends.
type unfinished struct {
	ctx  context.Context
	left int
}

func (u *unfinished) Read(p []byte) (int, error) {
	if u.left == 0 {
		<-u.ctx.Done()
		return 0, u.ctx.Err()
	}
	n := min(len(p), u.left)
	for i := range p[:n] {
		p[i] = ' '
	}
	u.left -= n
	return n, nil
}

func mustPrice(text string) money.Price {
	p, err := money.ParsePrice(text)
	if err != nil {
		panic(err)
	}
	return p
}
