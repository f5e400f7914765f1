package rate

import (
	"bytes"
	"math/big"
	"strings"
	"time"

	"weir/internal/fault"
)

// Quote is a published rate.
type Quote struct {
	Day       time.Time // the first day on which it applies, 00:00 in Moscow
	RubPerUSD string    // decimal text with a point
}

// moscow is a fixed zone, because a server may lack time zone data, and the offset has not changed since 2014.
var moscow = time.FixedZone("MSK", 3*60*60)

// ParseQuote reads the dollar's rate from the Bank of Russia's daily list:
//
//	<ValCurs Date="21.11.2026" name="..."><Valute ID="..."><CharCode>USD</CharCode><Nominal>1</Nominal><Value>81,2345</Value></Valute>...</ValCurs>
//
// The list is in windows-1251, but the parts that are read are ASCII. It must be complete, and contain the dollar once. ParseQuote fails
// with fault.ProviderUnavailable.
func ParseQuote(feed []byte) (Quote, error) {
	p := listReader{rest: feed}
	var q Quote
	if bytes.HasPrefix(p.rest, []byte("<?xml")) {
		p.until("?>")
	}
	head := p.tag("ValCurs")
	day, err := time.ParseInLocation("02.01.2006", attribute(head, "Date"), moscow)
	if p.bad || err != nil {
		return q, refused("it does not begin with a list of a day")
	}
	q.Day = day
	for !p.bad && !p.take("</ValCurs>") {
		p.currency(&q)
	}
	switch {
	case p.bad:
		return q, refused("it is cut off or no list of currencies")
	case len(bytes.TrimSpace(p.rest)) > 0:
		return q, refused("it goes on after its end")
	case q.RubPerUSD == "":
		return q, refused("it does not have the dollar's rate")
	}
	return q, nil
}

func refused(why string) error {
	return fault.Newf(fault.ProviderUnavailable, "rate.ParseQuote", "The Bank of Russia's list is not used: %s.", why)
}

// listReader parses the list. Once bad, it stays bad.
type listReader struct {
	rest []byte
	bad  bool
}

func (p *listReader) fail() string {
	p.bad = true
	return ""
}

// until removes everything up to and including mark, and returns the text before it.
func (p *listReader) until(mark string) string {
	before, after, found := bytes.Cut(p.rest, []byte(mark))
	if !found {
		return p.fail()
	}
	p.rest = after
	return string(before)
}

// take removes space and then mark, if it follows.
func (p *listReader) take(mark string) bool {
	rest := bytes.TrimLeft(p.rest, " \t\r\n")
	after, found := bytes.CutPrefix(rest, []byte(mark))
	if found {
		p.rest = after
	}
	return found
}

// tag removes the opening tag of that name and returns its attributes.
func (p *listReader) tag(name string) string {
	if p.bad || !p.take("<"+name) {
		return p.fail()
	}
	inside := p.until(">")
	if inside != "" && inside[0] != ' ' || strings.ContainsAny(inside, "</") {
		return p.fail()
	}
	return inside
}

// attribute returns the value of name="value".
func attribute(tag, name string) string {
	_, behind, found := strings.Cut(tag, " "+name+`="`)
	if !found {
		return ""
	}
	value, _, _ := strings.Cut(behind, `"`)
	return value
}

// currency parses one <Valute> with its plain members.
func (p *listReader) currency(q *Quote) {
	p.tag("Valute")
	fields := map[string]string{}
	for !p.bad && !p.take("</Valute>") {
		if !p.take("<") {
			p.fail()
			return
		}
		name := p.until(">")
		value := p.until("</")
		if end := p.until(">"); end != name || strings.ContainsAny(value, "<>") {
			p.fail()
		}
		if _, twice := fields[name]; twice {
			p.fail()
		}
		fields[name] = value
	}
	if p.bad || fields["CharCode"] != "USD" {
		return
	}
	if q.RubPerUSD != "" {
		p.fail()
		return
	}
	q.RubPerUSD = perUnit(fields["Value"], fields["Nominal"])
	if q.RubPerUSD == "" {
		p.fail()
	}
}

// perUnit divides a value with a decimal comma by a nominal that is a power of ten, by moving the point, without rounding. It returns ""
// for other text, and for an impossible rate.
func perUnit(value, nominal string) string {
	shift := len(nominal) - 1
	if !digits(nominal) || len(nominal) > 7 || nominal != "1"+strings.Repeat("0", shift) {
		return ""
	}
	whole, fraction, comma := strings.Cut(value, ",")
	if len(value) > 20 || !digits(whole) || comma && !digits(fraction) {
		return ""
	}
	if missing := shift + 1 - len(whole); missing > 0 {
		whole = strings.Repeat("0", missing) + whole
	}
	point := len(whole) - shift
	whole, fraction = whole[:point], strings.TrimRight(whole[point:]+fraction, "0")
	text := strings.TrimLeft(whole, "0")
	if text == "" {
		text = "0"
	}
	if fraction != "" {
		text += "." + fraction
	}
	if (&Record{RubPerUSD: text}).Check() != nil {
		return ""
	}
	return text
}

// Limits for the day of a list, relative to today. Around the new year one rate applies for up to eleven days, and rates are published days
// ahead.
const (
	oldest = 15 * 24 * time.Hour
	ahead  = 12 * 24 * time.Hour
)

// Band is the range of rates, in rubles per dollar, that are accepted from the bank. The zero value accepts none.
type Band struct{ lowest, highest *big.Rat }

// NewBand makes a band of decimal numbers. It fails with fault.Invalid for other text and for an empty range.
func NewBand(lowest, highest string) (Band, error) {
	low, ok := decimal(lowest)
	high, known := decimal(highest)
	if !ok || !known || low.Sign() == 0 || low.Cmp(high) >= 0 {
		return Band{}, fault.New(fault.Invalid, "rate.NewBand", "The lowest and the highest rate must be rubles per dollar, the lowest above zero and below the highest.")
	}
	return Band{low, high}, nil
}

func (b Band) has(rate *big.Rat) bool {
	return b.lowest != nil && rate.Cmp(b.lowest) >= 0 && rate.Cmp(b.highest) <= 0
}

// Plausible fails with fault.ProviderUnavailable for a quote that is too old, too far ahead, outside the band, older than the last one, or
// more than 20 % away from it. last may be nil.
func (q *Quote) Plausible(last *Record, band Band, now time.Time) error {
	if now.Sub(q.Day) > oldest || q.Day.Sub(now) > ahead {
		return refused("it is of " + q.day())
	}
	is, known := decimal(q.RubPerUSD)
	if !known || !band.has(is) {
		return refused("its rate of " + q.RubPerUSD + " is outside the range of pricing.cbr_lowest and pricing.cbr_highest")
	}
	if last == nil {
		return nil
	}
	if last.Source == CBR && q.day() < last.Day {
		return refused("it is of " + q.day() + ", older than the last one of " + last.Day)
	}
	was, ok := decimal(last.RubPerUSD)
	if !ok {
		return refused("the rates cannot be compared")
	}
	change := new(big.Rat).Sub(is, was)
	if change.Abs(change); change.Mul(change, big.NewRat(5, 1)).Cmp(was) > 0 {
		return refused("its rate of " + q.RubPerUSD + " is more than 20 % away from the last one of " + last.RubPerUSD +
			"; if it is right, set it by hand once: weir rate set " + q.RubPerUSD)
	}
	return nil
}

func (q *Quote) day() string { return q.Day.Format(time.DateOnly) }

// Record returns the quote as a record that is set now.
func (q *Quote) Record(now time.Time) Record {
	return Record{RubPerUSD: q.RubPerUSD, Source: CBR, Day: q.day(), From: q.Day.UTC(), At: now.UTC().Truncate(time.Microsecond)}
}
