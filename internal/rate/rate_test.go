package rate_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"weir/internal/fault"
	"weir/internal/rate"
)

// list returns the bank's daily list, with other currencies before and after the dollar.
func list(day, dollar string) string {
	return "<?xml version=\"1.0\" encoding=\"windows-1251\"?>\n<ValCurs Date=\"" + day + "\" name=\"Foreign Currency Market\">" +
		"<Valute ID=\"R01010\"><NumCode>036</NumCode><CharCode>AUD</CharCode><Nominal>1</Nominal><Name>\xc0\xe2\xf1\xf2\xf0\xe0\xeb\xe8\xe9\xf1\xea\xe8\xe9</Name><Value>53,1</Value><VunitRate>53.1</VunitRate></Valute>\r\n" +
		"<Valute ID=\"R01235\"><NumCode>840</NumCode><CharCode>USD</CharCode><Nominal>1</Nominal><Name>\xc4\xee\xeb\xeb\xe0\xf0</Name><Value>" + dollar + "</Value></Valute></ValCurs>\n"
}

func TestParseQuote(t *testing.T) {
	t.Parallel()
	good := list("21.11.2026", "81,2345")
	q, err := rate.ParseQuote([]byte(good))
	if err != nil || q.RubPerUSD != "81.2345" || !q.Day.Equal(time.Date(2026, 11, 20, 21, 0, 0, 0, time.UTC)) {
		t.Fatalf("quote %+v, %v", q, err)
	}
	for nominal, want := range map[string]string{"10": "8.12345", "100": "", "1000": "", "1": "81.2345"} {
		q, err := rate.ParseQuote([]byte(strings.ReplaceAll(good, "USD</CharCode><Nominal>1<", "USD</CharCode><Nominal>"+nominal+"<")))
		if q.RubPerUSD != want && want != "" || (err == nil) != (want != "") {
			t.Errorf("nominal %s: %+v, %v; want %q", nominal, q, err, want)
		}
	}
	for value, want := range map[string]string{"80": "80", "080,50": "80.5", "100,0000": "100", "81.2345": "", "-81,2": "", "0,0": "", "0": "", "": "", "81,": "", ",5": "", "8e1": "", " 81,2": "", "1000000": "", "81,2345 ": "", "81,,2": "", "0,99": ""} {
		q, err := rate.ParseQuote([]byte(list("21.11.2026", value)))
		if (err == nil) != (want != "") || err == nil && q.RubPerUSD != want {
			t.Errorf("value %q: %+v, %v; want %q", value, q, err, want)
		}
	}
	for name, feed := range map[string]string{
		"empty":           "",
		"a page":          "<!DOCTYPE html><html><body>Try later</body></html>",
		"entities":        "<?xml version=\"1.0\"?><!DOCTYPE x [<!ENTITY y SYSTEM \"file:///etc/passwd\">]>" + good[len("<?xml version=\"1.0\" encoding=\"windows-1251\"?>"):],
		"no day":          strings.Replace(good, "Date=", "Day=", 1),
		"a wrong day":     list("31.02.2026", "81,2345"),
		"a day in digits": list("2026-11-21", "81,2345"),
		"no dollar":       strings.Replace(good, "USD", "USN", 1),
		"two dollars":     strings.Replace(good, "AUD", "USD", 1),
		"two values":      strings.Replace(good, "<Value>81,2345</Value>", "<Value>81,2345</Value><Value>1,5</Value>", 1),
		"nested":          strings.Replace(good, "<Value>81,2345</Value>", "<Value><b>81,2345</b></Value>", 1),
		"a comment":       strings.Replace(good, "<Value>81,2345</Value>", "<!-- --><Value>81,2345</Value>", 1),
		"crossed tags":    strings.Replace(good, "</Value></Valute></ValCurs>", "</Valute></Value></ValCurs>", 1),
		"more behind":     good + "<x/>",
		"one more letter": strings.Replace(good, "<ValCurs Date", "<ValCursX Date", 1),
	} {
		if q, err := rate.ParseQuote([]byte(feed)); !fault.Is(err, fault.ProviderUnavailable) {
			t.Errorf("%s: %+v, %v", name, q, err)
		}
	}
	for i := range len(strings.TrimSpace(good)) {
		if q, err := rate.ParseQuote([]byte(good[:i])); err == nil {
			t.Fatalf("cut off at %d: %+v", i, q)
		}
	}
}

func FuzzParseQuote(f *testing.F) {
	f.Add([]byte(list("21.11.2026", "81,2345")))
	f.Add([]byte("<ValCurs Date=\"21.11.2026\"></ValCurs>"))
	f.Fuzz(func(t *testing.T, b []byte) {
		q, err := rate.ParseQuote(b)
		if err != nil {
			return
		}
		r := q.Record(time.Unix(0, 0))
		if err := r.Check(); err != nil || q.Day.IsZero() {
			t.Errorf("%q gave %+v: %v", b, q, err)
		}
	})
}

var band = func() rate.Band {
	b, err := rate.NewBand("30", "300")
	if err != nil {
		panic(err)
	}
	return b
}()

var noon = time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)

func TestPlausible(t *testing.T) {
	t.Parallel()
	bank := func(day, rub string) *rate.Record { return &rate.Record{RubPerUSD: rub, Source: rate.CBR, Day: day} }
	for name, c := range map[string]struct {
		day, value string
		last       *rate.Record
		ok         bool
	}{
		"the first":           {"21.11.2026", "81,2", nil, true},
		"tomorrow's":          {"22.11.2026", "81,2", bank("2026-11-21", "81"), true},
		"over the holidays":   {"10.11.2026", "81,2", bank("2026-11-10", "81"), true},
		"20 % up":             {"21.11.2026", "120", bank("2026-11-20", "100"), true},
		"more than 20 % up":   {"21.11.2026", "120,0001", bank("2026-11-20", "100"), false},
		"20 % down":           {"21.11.2026", "80", bank("2026-11-20", "100"), true},
		"more than 20 % down": {"21.11.2026", "79,9999", bank("2026-11-20", "100"), false},
		"older than the last": {"20.11.2026", "81", bank("2026-11-21", "81"), false},
		"after one by hand":   {"20.11.2026", "81", &rate.Record{RubPerUSD: "80", Source: rate.Manual}, true},
		"below the band":      {"21.11.2026", "29,9999", nil, false},
		"above the band":      {"21.11.2026", "300,0001", nil, false},
		"of last month":       {"21.10.2026", "81", nil, false},
		"of next month":       {"21.12.2026", "81", nil, false},
	} {
		q, err := rate.ParseQuote([]byte(list(c.day, c.value)))
		if err != nil {
			t.Fatal(err)
		}
		if err := q.Plausible(c.last, band, noon); (err == nil) != c.ok || err != nil && !fault.Is(err, fault.ProviderUnavailable) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestAt(t *testing.T) {
	t.Parallel()
	hour := func(h int) time.Time { return noon.Add(time.Duration(h) * time.Hour) }
	records := []rate.Record{
		{Version: 1, RubPerUSD: "80", Margin: "0.1", Source: rate.Manual, From: hour(-9)},
		{Version: 2, RubPerUSD: "95", Source: rate.Manual, From: hour(5)},
		{Version: 3, RubPerUSD: "81.5", Source: rate.CBR, Day: "2026-11-21", From: hour(-3)},
		{Version: 4, Margin: "0.2", Source: rate.Manual, From: hour(-1)},
	}
	plain := rate.Declared{RubPerUSD: "100", Margin: "0", Version: "usd=100 margin=0"}
	fixed := rate.Declared{RubPerUSD: "90", Margin: "0.3", Version: "mine", RateAt: "weir.yaml:1", MarginAt: "weir.yaml:2"}
	bank := fixed
	bank.FromBank = true
	for name, c := range map[string]struct {
		declared rate.Declared
		records  []rate.Record
		now      time.Time
		version  string
		price    string // of one dollar
	}{
		"nothing set":           {plain, nil, noon, "usd=100 margin=0", "100"},
		"before all":            {plain, records, hour(-10), "usd=100 margin=0", "100"},
		"the first":             {plain, records, hour(-8), "manual-2026-11-21@80+0.1", "88"},
		"the bank's":            {plain, records, hour(-2), "cbr-2026-11-21@81.5+0.1", "89.65"},
		"with another margin":   {plain, records, noon, "cbr-2026-11-21@81.5+0.2", "97.8"},
		"one that was ahead":    {plain, records, hour(6), "manual-2026-11-21@95+0.2", "114"},
		"the file has both":     {fixed, records, noon, "mine", "117"},
		"the file and the bank": {bank, records, noon, "cbr-2026-11-21@81.5+0.3", "105.95"},
		"the bank not yet":      {bank, nil, noon, "mine", "117"},
	} {
		e, err := rate.At(c.declared, c.records, c.now)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		price, err := e.Each("1", 1)
		if err != nil || e.Version != c.version || price.String() != c.price {
			t.Errorf("%s: %s at %s (%v); want %s at %s", name, price, e.Version, err, c.price, c.version)
		}
	}
	if _, err := rate.At(rate.Declared{RubPerUSD: "0", Margin: "0"}, nil, noon); err == nil {
		t.Error("a rate of zero")
	}
}

// kept has the dependencies of a keeper: a feed, a book, and the callbacks for failures.
type kept struct {
	mu       sync.Mutex
	feed     []byte
	feedErr  error
	bookErr  error
	records  []rate.Record
	fetches  int
	failures int
	reported []error
	accepted []string
}

func (k *kept) fetch(context.Context) ([]byte, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.fetches++
	return k.feed, k.feedErr
}

func (k *kept) Rates(context.Context) ([]rate.Record, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	return slices.Clone(k.records), k.bookErr
}

func (k *kept) SetRate(_ context.Context, r rate.Record) error {
	k.mu.Lock()
	defer k.mu.Unlock()
	if !r.Same(rate.Last(k.records)) {
		k.records = append(k.records, r)
	}
	return nil
}

func (k *kept) report(err error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.reported = append(k.reported, err)
}

func (k *kept) failed() {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.failures++
}

// change changes the feed or the book.
func (k *kept) change(f func()) {
	k.mu.Lock()
	defer k.mu.Unlock()
	f()
}

func (k *kept) accept(last *rate.Record, r rate.Record) {
	k.mu.Lock()
	defer k.mu.Unlock()
	was := ""
	if last != nil {
		was = last.RubPerUSD + " "
	}
	k.accepted = append(k.accepted, was+r.RubPerUSD)
}

// run starts a keeper; stop ends it and waits.
func (k *kept) run() (stop func()) {
	keeper := rate.Keeper{Fetch: k.fetch, Book: k, Band: band, Now: time.Now, Accepted: k.accept, Report: k.report, Failed: k.failed}
	fetches := keeper.Loop()
	fetches.Start()
	return fetches.Stop
}

// until waits for a time of the first days of 2000 in Moscow, and checks what the keeper has done, and the rate in effect.
func (k *kept) until(t *testing.T, day, hour int, inForce string, fetches, failures, reported int) {
	t.Helper()
	const moscow = 3
	at := time.Date(2000, 1, day, hour-moscow, 30, 0, 0, time.UTC)
	time.Sleep(time.Until(at))
	synctest.Wait()
	k.mu.Lock()
	defer k.mu.Unlock()
	now, err := rate.At(rate.Declared{RubPerUSD: "100", Margin: "0", FromBank: true}, k.records, time.Now())
	if err != nil {
		t.Fatal(err)
	}
	if now.RubPerUSD != inForce || k.fetches != fetches || k.failures != failures || len(k.reported) != reported {
		t.Errorf("on %d at %d: rate %q, %d fetches, %d failures, reported %v; want %q, %d, %d, %d", day, hour, now.RubPerUSD, k.fetches, k.failures, k.reported,
			inForce, fetches, failures, reported)
	}
}

// of is the list of a day of January 2000.
func of(day int, value string) []byte { return []byte(list(fmt.Sprintf("%02d.01.2000", day), value)) }

// Days of a keeper that starts on the first at 03:00 in Moscow: its fetches, the rates in effect and its reports.
func TestKeeper(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		k := &kept{feed: of(1, "80,5")}
		stop := k.run()
		k.until(t, 1, 3, "80.5", 1, 0, 0)
		k.until(t, 1, 14, "80.5", 1, 0, 0) // nothing is published before the afternoon
		k.until(t, 1, 16, "80.5", 3, 0, 0) // it is late
		k.change(func() { k.feed = of(2, "81") })
		k.until(t, 1, 17, "80.5", 4, 0, 0)
		k.until(t, 1, 23, "80.5", 4, 0, 0) // tomorrow's is known
		k.until(t, 2, 0, "81", 4, 0, 0)
		k.until(t, 2, 14, "81", 4, 0, 0)
		k.change(func() { k.feedErr = errors.New("the bank is away") })
		k.until(t, 2, 17, "81", 7, 3, 1) // one report of three failures
		k.change(func() { k.feedErr, k.feed = nil, of(3, "200") })
		k.until(t, 2, 18, "81", 8, 4, 2)
		k.change(func() { k.feed = of(3, "950") })
		k.until(t, 2, 19, "81", 9, 5, 3)
		k.change(func() { k.feed = of(2, "81") })
		k.until(t, 2, 20, "81", 10, 5, 4) // the feed works again; there is no list of the third
		k.until(t, 3, 14, "81", 13, 5, 4) // a day without a rate of its own is not asked for before the afternoon
		k.change(func() { k.feedErr = errors.New("the bank is away") })
		k.until(t, 3, 23, "81", 22, 14, 5)
		k.change(func() { k.feedErr, k.feed = nil, of(4, "82") })
		k.until(t, 4, 0, "82", 23, 14, 6) // what was missed in the evening is fetched at night
		k.until(t, 4, 14, "82", 23, 14, 6)
		k.change(func() { k.bookErr = errors.New("the store is away") })
		k.until(t, 4, 16, "82", 23, 16, 7) // without the store nothing is fetched
		stop()
		if want := []string{"80.5", "80.5 81", "81 82"}; !slices.Equal(k.accepted, want) {
			t.Errorf("accepted %q; want %q", k.accepted, want)
		}
	})
}

// The first list is checked, too: there is no other rate to compare it with.
func TestKeeperChecksTheFirstRate(t *testing.T) {
	t.Parallel()
	for _, value := range []string{"1,5", "950"} {
		synctest.Test(t, func(t *testing.T) {
			k := &kept{feed: of(1, value)}
			stop := k.run()
			k.until(t, 1, 3, "100", 1, 1, 1)
			stop()
		})
	}
}

// A rate that another node has stored is not fetched again.
func TestKeeperAfterAnother(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		k := &kept{feed: of(2, "81"), records: []rate.Record{{RubPerUSD: "80", Source: rate.CBR, Day: "2000-01-02", From: time.Date(2000, 1, 1, 21, 0, 0, 0, time.UTC)}}}
		stop := k.run()
		k.until(t, 1, 23, "100", 0, 0, 0)
		k.until(t, 2, 14, "80", 0, 0, 0)
		stop()
	})
}

func TestBand(t *testing.T) {
	t.Parallel()
	for _, c := range [][2]string{{"0", "1"}, {"2", "2"}, {"3", "2"}, {"x", "2"}, {"1", ""}, {"-1", "2"}} {
		if _, err := rate.NewBand(c[0], c[1]); !fault.Is(err, fault.Invalid) {
			t.Errorf("%v: %v", c, err)
		}
	}
}

func TestCheckURL(t *testing.T) {
	t.Parallel()
	for address, ok := range map[string]bool{
		"https://www.cbr.ru/scripts/XML_daily.asp": true, "http://127.0.0.1:8080/list": true, "http://[::1]:1/": true, "http://localhost/": true,
		"http://www.cbr.ru/scripts/XML_daily.asp": false, "ftp://www.cbr.ru/": false, "www.cbr.ru": false, "": false, "https://user:pass@www.cbr.ru/": false,
		"https://": false, "http://127.0.0.1.example/": false, "http://10.0.0.1/": false, "file:///etc/passwd": false,
	} {
		if err := rate.CheckURL(address); (err == nil) != ok {
			t.Errorf("%q: %v", address, err)
		}
	}
}
