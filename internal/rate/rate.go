// Package rate records the price of a dollar in rubles: the settings, who made them, and when they take effect, and finds the one in
// effect. It makes no requests, and does not use floating point.
package rate

import (
	"cmp"
	"math/big"
	"slices"
	"strings"
	"time"

	"weir/internal/fault"
	"weir/internal/money"
)

// The sources of a rate.
const (
	Static = "static" // written in the configuration
	Manual = "manual" // set by an administrator
	CBR    = "cbr"    // published by the Bank of Russia
)

// Record is one setting of rate, margin or both. It is never changed, only replaced by a later one.
type Record struct {
	Version   int64  // of the catalog, which this record started
	RubPerUSD string // decimal text; "": sets only the margin
	Margin    string // fraction of the price, decimal text; "": sets only the rate
	Source    string // Manual or CBR
	Day       string // of the published rate, YYYY-MM-DD; "" if set by hand
	From      time.Time
	At        time.Time
	Actor     string
}

// Declared is the rate and margin in the configuration.
type Declared struct {
	RubPerUSD  string
	Margin     string
	VAT        VAT
	Version    string // name of the three
	RateAt     string // position of the rate in the configuration, "" for the default
	MarginAt   string // position of the margin
	FromBank   bool   // the rate comes from the Bank of Russia; RubPerUSD is used until there is one
	FromBankAt string // position of that setting
}

// Effective is the rate that is used for prices.
type Effective struct {
	money.Rate
	RubPerUSD string
	Margin    string
	VAT       VAT
	Version   string // contains the values, too, so that two rates never share it
	Source    string // of the rate: Static, Manual or CBR
	From      time.Time
}

// At returns the rate in effect at a time: the declared one, else that of the record that took effect last. records are all records in the
// order of their versions. A declared rate does not override the Bank of Russia's when FromBank is set.
func At(d Declared, records []Record, now time.Time) (Effective, error) {
	e := Effective{RubPerUSD: d.RubPerUSD, Margin: d.Margin, VAT: d.VAT, Version: d.Version, Source: Static}
	rate := latest(records, now, func(r *Record) bool { return r.RubPerUSD != "" })
	margin := latest(records, now, func(r *Record) bool { return r.Margin != "" })
	if d.RateAt != "" && !d.FromBank {
		rate = nil
	}
	if d.MarginAt != "" {
		margin = nil
	}
	if rate != nil {
		e.RubPerUSD, e.Source, e.From = rate.RubPerUSD, rate.Source, rate.From
	}
	if margin != nil {
		e.Margin = margin.Margin
	}
	if rate != nil || margin != nil {
		e.Version = name(&e, rate)
	}
	var err error
	e.Rate, err = convert(e.RubPerUSD, e.Margin, e.VAT)
	return e, err
}

// SetByHand returns the rate and the margin that an administrator has set and that are in effect, "" for what is not so.
func SetByHand(records []Record, now time.Time) (rubPerUSD, margin string) {
	if r := latest(records, now, func(r *Record) bool { return r.RubPerUSD != "" }); r != nil && r.Source == Manual {
		rubPerUSD = r.RubPerUSD
	}
	if r := latest(records, now, func(r *Record) bool { return r.Margin != "" }); r != nil {
		margin = r.Margin
	}
	return rubPerUSD, margin
}

// latest returns the record that took effect last and is not in the future; among equal ones the last set.
func latest(records []Record, now time.Time, counts func(*Record) bool) *Record {
	var found *Record
	for i := range records {
		r := &records[i]
		if counts(r) && !r.From.After(now) && (found == nil || !r.From.Before(found.From)) {
			found = r
		}
	}
	return found
}

// name returns a version such as "cbr-2026-11-21@81.2345+0.15", with " vat=+22" at its end where a tax is added.
func name(e *Effective, r *Record) string {
	day := ""
	if r != nil {
		day = "-" + cmp.Or(r.Day, r.From.UTC().Format(time.DateOnly))
	}
	return e.Source + day + "@" + e.RubPerUSD + "+" + e.Margin + e.VAT.suffix()
}

// Refuse returns the reason why an administrator cannot set the rate or margin: the configuration declares it. It returns nil if it does
// not.
func (d *Declared) Refuse(r *Record) error {
	switch {
	case r.RubPerUSD != "" && d.RateAt != "" && !d.FromBank:
		return declared("rate", "pricing.rub_per_usd", d.RateAt)
	case r.Margin != "" && d.MarginAt != "":
		return declared("margin", "pricing.margin", d.MarginAt)
	}
	return nil
}

func declared(field, setting, at string) error {
	e := fault.Newf(fault.Conflict, "rate.Set", "%s is set at %s: change it there, or remove it there to set it here.", setting, at)
	e.Param = field
	return e
}

// Check fails with fault.Invalid unless rate and margin are decimal numbers in the allowed ranges.
func (r *Record) Check() error {
	if r.RubPerUSD == "" && r.Margin == "" {
		return fault.Field("rate.Check", "rate", "rate or margin is missing.")
	}
	if r.RubPerUSD != "" {
		v, ok := decimal(r.RubPerUSD)
		if !ok || v.Cmp(lowest) < 0 || v.Cmp(highest) > 0 {
			return fault.Field("rate.Check", "rate", "rate must be rubles per dollar between 1 and 100000, written as digits with an optional point.")
		}
	}
	if r.Margin != "" {
		if v, ok := decimal(r.Margin); !ok || v.Cmp(big.NewRat(10, 1)) > 0 {
			return fault.Field("rate.Check", "margin", "margin must be a fraction between 0 and 10, such as 0.15 for 15 %%.")
		}
	}
	return nil
}

var lowest, highest = big.NewRat(1, 1), big.NewRat(100_000, 1)

// decimal reads digits with an optional fraction: no sign, no exponent, no space.
func decimal(text string) (*big.Rat, bool) {
	whole, fraction, point := strings.Cut(text, ".")
	if len(text) > 40 || !digits(whole) || point && !digits(fraction) {
		return nil, false
	}
	return new(big.Rat).SetString(text)
}

func digits(s string) bool { return s != "" && strings.Trim(s, "0123456789") == "" }

// Last returns the newest record with a rate, to compare a new one with; nil without any.
func Last(records []Record) *Record {
	for _, r := range slices.Backward(records) {
		if r.RubPerUSD != "" {
			return &r
		}
	}
	return nil
}

// Same reports whether a record equals the last one.
func (r *Record) Same(last *Record) bool {
	return last != nil && r.RubPerUSD == last.RubPerUSD && r.Margin == last.Margin && r.Source == last.Source && r.Day == last.Day && r.From.Equal(last.From)
}
