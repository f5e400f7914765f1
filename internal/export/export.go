// Package export writes the calls of a day, of all accounts, as one file, and what is in it as another.
package export

import (
	"bytes"
	"compress/gzip"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"slices"
	"time"

	"weir/internal/account"
	"weir/internal/blob"
	"weir/internal/fault"
	"weir/internal/money"
	"weir/internal/rawjson"
	"weir/internal/report"
)

// Users has the accounts whose calls are exported.
type Users interface {
	ListUsers(ctx context.Context) ([]account.User, error)
}

// Store has what is exported.
type Store interface {
	SearchCalls(ctx context.Context, q report.Search, most int) (report.Window, error)
	Usage(ctx context.Context, q report.Query) ([]report.Row, error)
	KeptSince(ctx context.Context) (time.Time, error)
}

// Files is where exports go: the part of blob.Store that they need. Dir is one, and so is a bucket.
type Files interface {
	Put(ctx context.Context, key, mediaType string, r io.Reader) (size int64, etag string, err error)
	Open(ctx context.Context, key string, offset, length int64) (io.ReadCloser, blob.Info, error)
}

// Day is what was exported of a day of UTC.
type Day struct {
	Day      string // 2026-11-25
	Calls    int64
	Cost     money.Nano
	Accounts int64  // that called
	Bytes    int64  // of the file, compressed
	SHA256   string // of the file, in hexadecimal
	Version  string // of Weir
}

// Outcome is what became of a day.
type Outcome string

// The outcomes.
const (
	Written   Outcome = "written"
	Unchanged Outcome = "unchanged" // the file there has the same calls and cost
	Dropped   Outcome = "dropped"   // store.retention has dropped its calls: nothing is written over what may be there
)

// CallsKey is the name of the file of a day.
func CallsKey(day time.Time) string { return "calls/" + day.Format(time.DateOnly) + ".csv.gz" }

// ManifestKey is the name of the file that says what is in the file of a day.
func ManifestKey(day time.Time) string { return "calls/" + day.Format(time.DateOnly) + ".json" }

const (
	pageCalls = 1000
	roomBytes = 64 << 10
)

// Calls writes the calls that began on a day of UTC, which must be over, unless the files there are of the same calls. It fails, and leaves
// what was there, when the calls do not sum up to the books: some are still on their way from a node, or the books are damaged.
func Calls(ctx context.Context, u Users, s Store, f Files, day time.Time, version string) (Day, Outcome, error) {
	next := day.AddDate(0, 0, 1)
	want := Day{Day: day.Format(time.DateOnly), Version: version}
	users, err := u.ListUsers(ctx)
	if err != nil {
		return want, "", err
	}
	var wallets []string
	for i := range users {
		rows, err := s.Usage(ctx, report.Query{Wallet: users[i].Wallet, Bucket: report.Hour, From: day, To: next})
		if err != nil {
			return want, "", err
		}
		for j := range rows {
			want.Calls += rows[j].Calls
			want.Cost += rows[j].Cost
		}
		if len(rows) > 0 {
			wallets = append(wallets, users[i].Wallet)
		}
	}
	want.Accounts = int64(len(wallets))
	switch had, err := read(ctx, f, day); {
	case err != nil:
		return want, "", err
	case had != nil && had.Calls == want.Calls && had.Cost == want.Cost:
		return *had, Unchanged, nil
	}
	if kept, err := s.KeptSince(ctx); err != nil {
		return want, "", err
	} else if kept.After(day) {
		return want, Dropped, nil
	}
	got := want
	if err := got.write(ctx, s, f, day, wallets, &want); err != nil {
		return want, "", err
	}
	return got, Written, nil
}

// write writes the file, and then what is in it. The file is refused while it is written when it does not sum up to want.
func (d *Day) write(ctx context.Context, s Store, f Files, day time.Time, wallets []string, want *Day) error {
	d.Calls, d.Cost = 0, 0
	r, w := io.Pipe()
	hash := sha256.New()
	failed := make(chan error, 1)
	go func() {
		err := d.rows(ctx, s, io.MultiWriter(w, hash), day, wallets)
		if err == nil && (d.Calls != want.Calls || d.Cost != want.Cost) {
			err = fmt.Errorf("%s: the calls are %d and cost %s, but by the books %d and %s: some are still on their way, so try later; if it stays, run weir ledger verify", d.Day, d.Calls, d.Cost, want.Calls, want.Cost)
		}
		_ = w.CloseWithError(err) // nil ends the file
		failed <- err
	}()
	size, _, err := f.Put(ctx, CallsKey(day), "application/gzip", r)
	_ = r.CloseWithError(errStopped) // a store that has failed reads no further
	if own := <-failed; own != nil && !errors.Is(own, errStopped) {
		return own
	}
	if err != nil {
		return err
	}
	d.Bytes, d.SHA256 = size, hex.EncodeToString(hash.Sum(nil))
	_, _, err = f.Put(ctx, ManifestKey(day), "application/json", d.reader())
	return err
}

var errStopped = errors.New("the store of the files has stopped")

// rows writes the table, compressed: accounts in the order in which they were made, the calls of each by time.
func (d *Day) rows(ctx context.Context, s Store, to io.Writer, day time.Time, wallets []string) error {
	z := gzip.NewWriter(to)
	var table report.Sheet
	table.Texts(slices.Concat([]string{"wallet"}, report.CallHeads(), []string{"provider_key"})...)
	table.End()
	for _, wallet := range wallets {
		q := report.Search{Wallet: wallet, From: day, To: day.AddDate(0, 0, 1), Limit: pageCalls}
		for {
			page, err := s.SearchCalls(ctx, q, pageCalls)
			if err != nil {
				return err
			}
			for i := range page.Calls {
				c := &page.Calls[i]
				table.Texts(wallet)
				report.AppendCall(&table, c, c.Key)
				table.Texts(c.ProviderKey())
				table.End()
				d.Calls++
				d.Cost += c.Cost
			}
			if len(table.Bytes) >= roomBytes {
				if _, err := z.Write(table.Bytes); err != nil {
					return err
				}
				table.Bytes = table.Bytes[:0]
			}
			if page.End == (report.Place{}) {
				break
			}
			q.After = page.End
		}
	}
	if _, err := z.Write(table.Bytes); err != nil {
		return err
	}
	return z.Close()
}

func (d *Day) reader() io.Reader {
	var w rawjson.Writer
	w.Object()
	w.Name("day").Text(d.Day)
	w.Name("calls").Int(d.Calls)
	w.Name("cost_rub").Text(d.Cost.String())
	w.Name("accounts").Int(d.Accounts)
	w.Name("bytes").Int(d.Bytes)
	w.Name("sha256").Text(d.SHA256)
	w.Name("weir").Text(d.Version)
	w.EndObject()
	return bytes.NewReader(append(w.B, '\n'))
}

const mostManifest = 4 << 10

// read returns what a manifest says, nil without one or when it says nothing that can be read: then the day is written anew.
func read(ctx context.Context, f Files, day time.Time) (*Day, error) {
	r, info, err := f.Open(ctx, ManifestKey(day), 0, mostManifest)
	if fault.Is(err, fault.NotFound) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	defer func() { _ = r.Close() }()
	text, err := io.ReadAll(r)
	if err != nil {
		return nil, err
	}
	if info.Size > mostManifest || rawjson.Check(text, rawjson.Limits{Depth: 2, Keys: 20, Values: 20}) != nil {
		return nil, nil
	}
	d := Day{Day: rawjson.TextAt(text, "day"), SHA256: rawjson.TextAt(text, "sha256"), Version: rawjson.TextAt(text, "weir")}
	var ok [4]bool
	d.Calls, ok[0] = rawjson.Int(rawjson.Find(text, "calls"))
	d.Accounts, ok[1] = rawjson.Int(rawjson.Find(text, "accounts"))
	d.Bytes, ok[2] = rawjson.Int(rawjson.Find(text, "bytes"))
	d.Cost, err = money.Parse(rawjson.TextAt(text, "cost_rub"))
	ok[3] = err == nil
	if slices.Contains(ok[:], false) || d.Day != day.Format(time.DateOnly) {
		return nil, nil
	}
	table, info, err := f.Open(ctx, CallsKey(day), 0, 0)
	if fault.Is(err, fault.NotFound) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	_ = table.Close()
	if info.Size != d.Bytes {
		return nil, nil
	}
	return &d, nil
}
