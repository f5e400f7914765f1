package rate_test

import (
	"context"
	"errors"
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
		"of last month":       {"21.10.2026", "81", nil, false},
		"of next month":       {"21.12.2026", "81", nil, false},
	} {
		q, err := rate.ParseQuote([]byte(list(c.day, c.value)))
		if err != nil {
			t.Fatal(err)
		}
		if err := q.Plausible(c.last, noon); (err == nil) != c.ok || err != nil && !fault.Is(err, fault.ProviderUnavailable) {
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

// run starts a keeper; stop ends it and waits.
func (k *kept) run(t *testing.T) (stop func()) {
	keeper := rate.Keeper{Fetch: k.fetch, Book: k, Now: time.Now, Report: k.report, Failed: k.failed}
	fetches := keeper.Loop()
	fetches.Start()
	return fetches.Stop
}

// after waits and checks what the keeper has done.
func (k *kept) after(t *testing.T, what string, wait time.Duration, wantRate string, fetches, failures, reported int) {
	t.Helper()
	time.Sleep(wait)
	synctest.Wait()
	k.mu.Lock()
	defer k.mu.Unlock()
	last := ""
	if r := rate.Last(k.records); r != nil {
		last = r.RubPerUSD
	}
	if last != wantRate || k.fetches != fetches || k.failures != failures || len(k.reported) != reported {
		t.Errorf("%s: rate %q, %d fetches, %d failures, reported %v; want %q, %d, %d, %d", what, last, k.fetches, k.failures, k.reported, wantRate, fetches, failures, reported)
	}
}

func today(value string) []byte { return []byte(list(time.Now().UTC().Format("02.01.2006"), value)) }

// A week of a keeper: its fetches, records and reports.
func TestKeeper(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		k := &kept{feed: today("80,5")}
		stop := k.run(t)
		k.after(t, "at once", time.Minute, "80.5", 1, 0, 0)
		k.change(func() { k.feed = today("81") })
		k.after(t, "not before a day has passed", 23*time.Hour, "80.5", 1, 0, 0)
		k.change(func() { k.feedErr = errors.New("the bank is away") })
		k.after(t, "a failure keeps the rate and is told once", 3*time.Hour, "80.5", 4, 3, 1)
		k.change(func() { k.feedErr, k.feed = nil, today("200") })
		k.after(t, "nonsense keeps it, too, and is no second story", time.Hour, "80.5", 5, 4, 1)
		k.change(func() { k.feed = today("82") })
		k.after(t, "then the feed works again, which is told", time.Hour, "82", 6, 4, 2)
		k.change(func() {
			if k.reported[1] != nil || k.reported[0] == nil {
				t.Errorf("reported %v", k.reported)
			}
		})
		k.after(t, "a day later the same list says nothing new", 24*time.Hour, "82", 7, 4, 2)
		k.change(func() {
			if len(k.records) != 2 {
				t.Errorf("%d records", len(k.records))
			}
			k.bookErr = errors.New("the store is away")
		})
		k.after(t, "without the store nothing is fetched", 24*time.Hour, "82", 7, 5, 3)
		stop()
	})
}

// A rate that another node has just fetched is not fetched again.
func TestKeeperAfterAnother(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		now := time.Now()
		k := &kept{feed: today("81"), records: []rate.Record{{RubPerUSD: "80", Source: rate.CBR, Day: now.UTC().Format(time.DateOnly), At: now.Add(-19 * time.Hour)}}}
		stop := k.run(t)
		k.after(t, "while the last rate is fresh", time.Minute, "80", 0, 0, 0)
		k.after(t, "when it is not any more", 2*time.Hour, "81", 1, 0, 0)
		stop()
	})
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
