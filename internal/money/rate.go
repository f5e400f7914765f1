package money

import (
	"math/big"
	"strconv"
	"strings"

	"weir/internal/fault"
)

// Rate converts dollar prices of a source into ruble prices. The result, rounded up to 10⁻⁹ rubles per unit, is the published price:
// clients see it and calls are charged by it, so that a charge can be recomputed from the price list alone. A Rate is immutable; the zero
// value refuses every price.
type Rate struct {
	factor *big.Rat // rubles per dollar, with margin and tax
}

// NewRate makes a Rate from rubles per dollar, such as "92.5", and a margin as a fraction of the price, such as "0.15" for 15 %. It fails
// with fault.Invalid unless both are decimal numbers, the first above zero and the second at least zero.
func NewRate(rublesPerDollar, margin string) (Rate, error) {
	rubles, ok := parseDecimal(rublesPerDollar)
	if !ok || rubles.Sign() == 0 {
		return Rate{}, fault.Newf(fault.Invalid, "money.NewRate", "%s is not an exchange rate: write rubles per dollar as digits.", clip(rublesPerDollar))
	}
	part, ok := parseDecimal(margin)
	if !ok {
		return Rate{}, fault.Newf(fault.Invalid, "money.NewRate", "%s is not a margin: write 0.15 for 15 %%.", clip(margin))
	}
	factor := new(big.Rat).Add(part, big.NewRat(1, 1))
	return Rate{factor: factor.Mul(factor, rubles)}, nil
}

// Plus returns a Rate whose prices are higher by a percentage, such as "22" for a tax. It fails with fault.Invalid for other text.
func (r Rate) Plus(percent string) (Rate, error) {
	p, ok := parseDecimal(percent)
	if !ok || r.factor == nil {
		return Rate{}, fault.Newf(fault.Invalid, "money.Rate", "%s is not a percentage: write 22 for 22 %%.", clip(percent))
	}
	p.Add(p, big.NewRat(100, 1))
	p.Mul(p, r.factor)
	return Rate{factor: p.Quo(p, big.NewRat(100, 1))}, nil
}

// PerThousand returns the ruble price of 1000 tokens. dollars is the source's price of that number of tokens: 1, 1000 or 1,000,000. It is
// decimal text; an exponent is allowed, because sources write 8e-07. It fails with fault.Invalid for other text and for a price that does
// not fit.
func (r Rate) PerThousand(dollars string, tokens int64) (Price, error) {
	p, err := r.price(dollars, thousand, tokens)
	if err == nil && tokens == Million {
		p.Dollars = strings.Clone(dollars)
	}
	return p, err
}

// Million is the number of tokens or characters in the usual prices of sources.
const Million = 1_000_000

// Each returns the ruble price of one request, search, image or second. dollars is the source's price of that number of units. It accepts
// the same text and fails in the same cases as PerThousand.
func (r Rate) Each(dollars string, units int64) (Price, error) {
	p, err := r.price(dollars, 1, units)
	if err == nil && units == 1 {
		p.Dollars = strings.Clone(dollars)
	}
	return p, err
}

func (r Rate) price(dollars string, wanted, sold int64) (Price, error) {
	price, ok := parseDecimal(dollars)
	if !ok || r.factor == nil || sold <= 0 {
		return Price{}, fault.Newf(fault.Invalid, "money.Rate", "%s is not a dollar price: write digits.", clip(dollars))
	}
	price.Mul(price, r.factor)
	price.Mul(price, big.NewRat(wanted, sold))
	price.Mul(price, big.NewRat(int64(Ruble), 1))
	nano, rest := new(big.Int).QuoRem(price.Num(), price.Denom(), new(big.Int))
	if rest.Sign() != 0 {
		nano.Add(nano, big.NewInt(1))
	}
	if !nano.IsInt64() {
		return Price{}, fault.Newf(fault.Invalid, "money.Rate", "The dollar price %s is too large.", clip(dollars)).Because(ErrOverflow)
	}
	return Price{Nano: nano.Int64(), Set: true}, nil
}

// parseDecimal reads digits with an optional fraction and exponent. The bounds prevent a huge number from a short text.
func parseDecimal(text string) (*big.Rat, bool) {
	const maxLength, maxExponent = 60, 40
	mantissa, exponent, found := strings.Cut(strings.ToLower(text), "e")
	if found {
		e, err := strconv.Atoi(exponent)
		if err != nil || e > maxExponent || e < -maxExponent {
			return nil, false
		}
	}
	whole, fraction, point := strings.Cut(mantissa, ".")
	if len(text) > maxLength || !digitsOnly(whole) || point && !digitsOnly(fraction) {
		return nil, false
	}
	return new(big.Rat).SetString(text)
}

func digitsOnly(s string) bool {
	for i := range len(s) {
		if s[i] < '0' || s[i] > '9' {
			return false
		}
	}
	return s != ""
}
