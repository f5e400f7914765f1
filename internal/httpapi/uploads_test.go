package httpapi_test

import (
	"bytes"
	"context"
	"strings"
	"testing"
	"time"

	"weir/internal/catalog"
	"weir/internal/fault"
	"weir/internal/httpapi"
	"weir/internal/ledger"
	"weir/internal/money"
)

// shares is a ledger of fixed balances; others have nothing.
type shares struct {
	ledger.Reader
	rich map[string]bool
}

func (p shares) Balance(_ context.Context, wallet string) (ledger.Balance, error) {
	if p.rich[wallet] {
		return ledger.Balance{Credited: money.Ruble, Balance: money.Ruble, Held: money.Ruble - 1}, nil
	}
	return ledger.Balance{Credited: money.Ruble, Balance: money.Ruble, Held: money.Ruble}, nil
}

// listener is a node with a transcription model that costs money and, if it is wanted, one that costs nothing. Its first user has money.
func listener(t *testing.T, withFree bool, edit func(*httpapi.Config), free func() (int64, error)) *node {
	t.Helper()
	price, err := money.ParsePrice("0.6")
	if err != nil {
		t.Fatal(err)
	}
	d := catalog.Declared{
		Providers: []catalog.Provider{{ID: "acme", Name: "Acme", Dialect: "openai", BaseURL: "https://upstream.invalid/v1"}},
		Models:    []catalog.ModelInfo{{Slug: "acme/hears", Type: catalog.TypeTranscription}, {Slug: "acme/free", Type: catalog.TypeTranscription}},
		Offers:    []catalog.Offer{{Provider: "acme", Model: "acme/hears", Pricing: catalog.Pricing{List: "test", Rates: catalog.Rates{Minute: price}}}},
	}
	if withFree {
		d.Offers = append(d.Offers, catalog.Offer{Provider: "acme", Model: "acme/free", Pricing: catalog.Pricing{List: "test", Rates: catalog.Rates{Minute: money.Price{Set: true}}}})
	} else {
		d.Models = d.Models[:1]
	}
	snap, err := catalog.Build(d)
	if err != nil {
		t.Fatal(err)
	}
	rich := map[string]bool{}
	n := startWith(t, relayFunc(hello), func(c *httpapi.Config) {
		c.SpoolDir = t.TempDir()
		if edit != nil {
			edit(c)
		}
	}, func(d *httpapi.Deps) {
		d.Catalog = func() *catalog.Snapshot { return snap }
		d.Ledger = shares{d.Ledger, rich}
		d.FreeDisk = free
	})
	rich[n.first.User.Wallet] = true
	return n
}

const formHead = "Content-Type: multipart/form-data; boundary=b\r\n"

// form is the beginning of a form with a recording of that many bytes: the part before it, and the end.
func form(model string, last bool) (before, after string) {
	field := "--b\r\nContent-Disposition: form-data; name=\"model\"\r\n\r\n" + model + "\r\n"
	file := "--b\r\nContent-Disposition: form-data; name=\"file\"; filename=\"a.wav\"\r\nContent-Type: audio/wav\r\n\r\n"
	if last {
		return file, "\r\n" + field + "--b--\r\n"
	}
	return field + file, "\r\n--b--\r\n"
}

// A user without money uploads nothing except for free models, which are open to everyone.
func TestUploadsNeedMoney(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		withFree bool
		model    string
		last     bool // the model comes after the recording
		refused  bool // before the recording is read
	}{
		"paid":                             {false, "acme/hears", false, true},
		"paid, free ones exist":            {true, "acme/hears", false, true},
		"unknown, free ones exist":         {true, "acme/none", false, true},
		"free":                             {true, "acme/free", false, false},
		"free, told behind the recording":  {true, "acme/free", true, false},
		"paid, told behind, none are free": {false, "acme/hears", true, true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			n := listener(t, c.withFree, nil, nil)
			poor := n.newUser("Poor")
			before, after := form(c.model, c.last)
			const size = 1 << 20
			s := n.begin(poor, "/v1/audio/transcriptions", formHead, len(before)+size+len(after), []byte(before+"RIFF"))
			if c.refused {
				wantError(t, s.response(), 402, fault.PaymentRequired)
			} else {
				until(t, "the upload is under way", func() bool { return metric(t, n, "weir_uploads") == 1 })
			}
			s = n.begin(n.first.KeyText, "/v1/audio/transcriptions", formHead, len(before)+size+len(after), []byte(before+"RIFF"))
			until(t, "one with money is under way", func() bool {
				return metric(t, n, "weir_uploads") == map[bool]float64{true: 1, false: 2}[c.refused]
			})
			_ = s.Close()
		})
	}
}

// Forty unfinished uploads of one user take their share of the disk and no more; another user is served; all is given back when they are given up.
func TestUnfinishedUploads(t *testing.T) {
	t.Parallel()
	n := listener(t, true, func(c *httpapi.Config) {
		c.SpoolBudget, c.MaxUploads = 60<<20, 60
		c.BodyIdle = 6 * time.Second // all must be there before the first is given up
	}, nil)
	poor := n.newUser("Poor")
	before, after := form("acme/free", false)
	piece := bytes.Repeat([]byte("x"), 2<<20)
	var open []*socket
	for range 40 {
		s := n.dial()
		s.send("POST /v1/audio/transcriptions HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer %s\r\n%sContent-Length: %d\r\n\r\n%s", poor, formHead, 20<<20, before)
		_, _ = s.Write(piece)
		open = append(open, s)
	}
	until(t, "the rest was refused", func() bool { return metric(t, n, "weir_uploads") <= 30 })
	if used := metric(t, n, "weir_spool_bytes"); used > 30<<20 {
		t.Errorf("%.0f bytes of disk", used)
	}
	body := before + string(piece) + after
	for range 3 {
		s := n.begin(n.first.KeyText, "/v1/audio/transcriptions", formHead, len(body), []byte(body))
		if r := s.response(); r.StatusCode == 429 || r.StatusCode == 503 || r.StatusCode == 402 {
			t.Fatalf("another user: status %d: %s", r.StatusCode, r.body)
		}
	}
	refused := 0
	for _, s := range open { // those that were let in are given up in time
		switch r := s.response(); r.StatusCode {
		case 429:
			refused++
		case 408:
		default:
			t.Fatalf("status %d: %s", r.StatusCode, r.body)
		}
	}
	if refused < 10 {
		t.Errorf("%d of 40 were refused", refused)
	}
	until(t, "all was given back", func() bool {
		return metric(t, n, "weir_uploads") == 0 && metric(t, n, "weir_spool_bytes") == 0 && held(t, n) == 0
	})
}

// Uploads leave the last of the volume to the journal and the database.
func TestUploadsLeaveDiskFree(t *testing.T) {
	t.Parallel()
	n := listener(t, false, func(c *httpapi.Config) { c.SpoolMinFree = 1 << 30 }, func() (int64, error) { return 1<<30 + 1<<19, nil })
	before, after := form("acme/hears", false)
	body := before + strings.Repeat("x", 1<<20) + after
	s := n.begin(n.first.KeyText, "/v1/audio/transcriptions", formHead, len(body), []byte(body))
	wantError(t, s.response(), 503, fault.StorageUnavailable)
	if r := n.do("GET", "/v1/credits", ""); r.StatusCode != 200 {
		t.Errorf("something else: %d", r.StatusCode)
	}
}
