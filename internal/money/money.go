// Package money represents amounts and prices in rubles as integers, with one rounding rule. It uses no floating point: amounts are parsed
// from and printed as decimal text.
package money

import (
	"errors"
	"math"
	"math/big"
	"math/bits"
	"strconv"
	"strings"

	"weir/internal/fault"
)

// Nano is an amount in 10⁻⁹ rubles. The largest is 9.2 billion rubles.
type Nano int64

// Ruble is one ruble.
const Ruble Nano = 1_000_000_000

// Price is the price of one unit. An unset price differs from a price of zero: reasoning without a price costs the same as completion,
// reasoning at zero is free. The field that contains the price defines the unit (1000 tokens, one request, one image, one second).
type Price struct {
	Nano    int64 // 10⁻⁹ rubles per unit
	Set     bool
	Dollars string // the source's dollars per million tokens or characters, or per unit of others, as written; "" if in rubles
}

// The reasons why an amount is invalid. They are the causes of this package's errors, for errors.Is.
var (
	ErrOverflow = errors.New("the amount is out of range")
	ErrNegative = errors.New("a quantity or a price is negative")
)

// decimals is the number of digits that an amount can have after the point.
const decimals = 9

// Parse reads an amount as decimal text: an optional minus sign, digits, and at most nine digits after a point. It fails with fault.Invalid
// for anything else (an exponent, a plus sign, a point without digits on both sides, spaces) and for amounts that do not fit.
func Parse(text string) (Nano, error) {
	digits, negative := text, false
	if len(digits) > 0 && digits[0] == '-' {
		digits, negative = digits[1:], true
	}
	n, ok := parseUnsigned(digits)
	switch {
	case !ok || n > 1<<63 || n == 1<<63 && !negative:
		return 0, fault.Newf(fault.Invalid, "money.Parse", "%s is not an amount: write digits, with at most nine after the point.", clip(text))
	case negative:
		return Nano(-n), nil
	}
	return Nano(n), nil
}

// ParseNumber is Parse for a JSON number, which may have an exponent: Python writes 0.00001 as 1e-05.
func ParseNumber(text string) (Nano, error) {
	n, err := Parse(text)
	if err == nil || !strings.ContainsAny(text, "eE") {
		return n, err
	}
	digits, negative := strings.CutPrefix(text, "-")
	x, ok := parseDecimal(digits)
	if !ok {
		return 0, err
	}
	if x.Mul(x, big.NewRat(int64(Ruble), 1)); negative {
		x.Neg(x)
	}
	if !x.IsInt() || !x.Num().IsInt64() {
		return 0, err
	}
	return Nano(x.Num().Int64()), nil
}

// ParsePrice reads a price in rubles as decimal text with at most nine digits after the point. The result is Set. It fails with
// fault.Invalid for other text, more digits, or a negative price.
func ParsePrice(text string) (Price, error) {
	n, ok := parseUnsigned(text)
	if !ok || n > math.MaxInt64 {
		return Price{}, fault.Newf(fault.Invalid, "money.ParsePrice",
			"%s is not a price: write rubles as digits, with at most nine after the point and no sign.", clip(text))
	}
	return Price{Nano: int64(n), Set: true}, nil
}

// clip shortens a foreign text for a message and quotes it.
func clip(text string) string {
	const most = 40
	if len(text) > most {
		return strconv.QuoteToASCII(text[:most]) + " and so on"
	}
	return strconv.QuoteToASCII(text)
}

// parseUnsigned reads digits with an optional fraction of at most nine digits, in units of 10⁻⁹.
func parseUnsigned(text string) (n uint64, ok bool) {
	const most = math.MaxUint64/10 - 1 // one more digit fits
	whole, fraction := 0, -1           // number of digits before and after the point; -1 before the point
	for i := 0; i < len(text); i++ {
		c := text[i]
		if c == '.' && fraction < 0 && whole > 0 {
			fraction = 0
			continue
		}
		if c < '0' || c > '9' || n > most {
			return 0, false
		}
		n = n*10 + uint64(c-'0')
		if fraction >= 0 {
			fraction++
		} else {
			whole++
		}
	}
	if whole == 0 || fraction == 0 || fraction > decimals {
		return 0, false
	}
	for range decimals - max(fraction, 0) {
		if n > most {
			return 0, false
		}
		n *= 10
	}
	return n, true
}

// String returns the amount in rubles as decimal text without trailing zeros, such as "-0.25". Parse reads it.
func (n Nano) String() string { return string(n.Append(nil)) }

// Append appends String to b. The text is also a JSON number.
func (n Nano) Append(b []byte) []byte {
	u := uint64(n)
	if n < 0 {
		b, u = append(b, '-'), -u
	}
	return appendScaled(b, 0, u, decimals)
}

// String returns the price in rubles as decimal text, "" if it is not set.
func (p Price) String() string { return string(p.Append(nil)) }

// Append appends String to b.
func (p Price) Append(b []byte) []byte {
	if !p.Set {
		return b
	}
	return Nano(p.Nano).Append(b)
}

// AppendPerToken appends the price of one token; p is the price of 1000. It is exact, with at most twelve digits after the point. If p is
// not set it appends nothing.
func (p Price) AppendPerToken(b []byte) []byte {
	if !p.Set {
		return b
	}
	u := uint64(p.Nano)
	if p.Nano < 0 {
		b, u = append(b, '-'), -u
	}
	return appendScaled(b, 0, u, decimals+3)
}

// Add returns n + m. It fails with ErrOverflow.
func (n Nano) Add(m Nano) (Nano, error) {
	sum := n + m
	if (sum > n) != (m > 0) {
		return 0, fault.Wrap("money.Add", ErrOverflow)
	}
	return sum, nil
}

// Sub returns n - m. It fails with ErrOverflow.
func (n Nano) Sub(m Nano) (Nano, error) {
	difference := n - m
	if (difference < n) != (m > 0) {
		return 0, fault.Wrap("money.Sub", ErrOverflow)
	}
	return difference, nil
}

// Mul returns n * times. It fails with ErrOverflow.
func (n Nano) Mul(times int64) (Nano, error) {
	if n == 0 || times == 0 {
		return 0, nil
	}
	product := n * Nano(times)
	if product/Nano(times) != n || n == math.MinInt64 && times == -1 || times == math.MinInt64 && n == -1 {
		return 0, fault.Wrap("money.Mul", ErrOverflow)
	}
	return product, nil
}

// Sum adds up quantity times price exactly, in 128 bits, so that a charge is rounded once and not line by line. The zero value is an empty
// sum. After an error (a negative quantity or price, an overflow) Ceil fails. It is not safe for concurrent use.
type Sum struct {
	hi, lo uint64 // in parts of 10⁻⁹ rubles; see parts
	err    error
}

// The units of prices, and the number of parts into which a sum divides 10⁻⁹ rubles: a multiple of all units, so that no quantity needs a
// fraction.
const (
	thousand = 1000              // tokens
	minute   = 60 * 1000         // milliseconds
	parts    = minute            // of 10⁻⁹ rubles
	perPico  = minute / thousand // parts of 10⁻¹² rubles
)

// PerThousand adds quantity x price / 1000, for a price of 1000 tokens.
func (s *Sum) PerThousand(quantity, price int64) { s.add(quantity, price, parts/thousand) }

// PerMinute adds millis x price / 60000, for a price of a minute of audio.
func (s *Sum) PerMinute(millis, price int64) { s.add(millis, price, parts/minute) }

// Each adds quantity x price, for requests, searches, images.
func (s *Sum) Each(quantity, price int64) { s.add(quantity, price, parts) }

func (s *Sum) add(quantity, price int64, scale uint64) {
	if quantity < 0 || price < 0 {
		s.fail(ErrNegative)
		return
	}
	hi, lo := bits.Mul64(uint64(quantity), uint64(price))
	over, top := bits.Mul64(hi, scale)
	carry, lo := bits.Mul64(lo, scale)
	hi, up := bits.Add64(top, carry, 0)
	if over|up != 0 {
		s.fail(ErrOverflow)
		return
	}
	s.lo, carry = bits.Add64(s.lo, lo, 0)
	s.hi, carry = bits.Add64(s.hi, hi, carry)
	if carry != 0 {
		s.fail(ErrOverflow)
	}
}

func (s *Sum) fail(err error) {
	if s.err == nil {
		s.err = err
	}
}

// Ceil returns the sum as an amount, rounded up to 10⁻⁹ rubles. Charges are rounded only here. It fails with ErrNegative if a quantity or a
// price was negative, and with ErrOverflow if the amount does not fit.
func (s *Sum) Ceil() (Nano, error) {
	if s.err != nil {
		return 0, fault.Wrap("money.Sum", s.err)
	}
	lo, carry := bits.Add64(s.lo, parts-1, 0)
	hi, over := bits.Add64(s.hi, 0, carry)
	if over != 0 || hi >= parts {
		return 0, fault.Wrap("money.Sum", ErrOverflow)
	}
	n, _ := bits.Div64(hi, lo, parts)
	if n > math.MaxInt64 {
		return 0, fault.Wrap("money.Sum", ErrOverflow)
	}
	return Nano(n), nil
}

// Append appends the sum before rounding, in rubles with at most twelve digits after the point. After an error it appends nothing.
func (s *Sum) Append(b []byte) []byte {
	if s.err != nil {
		return b
	}
	lo, carry := bits.Add64(s.lo, perPico-1, 0)
	hi, _ := bits.Add64(s.hi, 0, carry)
	top := hi / perPico
	lo, _ = bits.Div64(hi%perPico, lo, perPico)
	return appendScaled(b, top, lo, decimals+3)
}

// appendScaled appends a 128-bit number divided by 10^scale as decimal text without trailing zeros.
func appendScaled(b []byte, hi, lo uint64, scale int) []byte {
	var digits [40]byte // 2^128 has 39 digits
	at := len(digits)
	for hi|lo != 0 || len(digits)-at <= scale {
		var rest uint64
		top := hi / 10
		lo, rest = bits.Div64(hi%10, lo, 10)
		hi = top
		at--
		digits[at] = byte('0' + rest)
	}
	point := len(digits) - scale
	end := len(digits)
	for end > point && digits[end-1] == '0' {
		end--
	}
	b = append(b, digits[at:point]...)
	if end > point {
		b = append(b, '.')
		b = append(b, digits[point:end]...)
	}
	return b
}
