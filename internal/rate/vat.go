package rate

import (
	"math/big"
	"strings"

	"weir/internal/fault"
	"weir/internal/money"
)

// VAT says how ruble prices contain value-added tax. The zero value means that they contain none.
type VAT struct {
	Mode    string `yaml:"mode"`                 // "", Included or OnTop; in settings NoVAT, too
	Percent string `yaml:"percent" as:"decimal"` // 22 is 22 %; "" without a mode
}

// NoVAT is how settings write that there is none. The percentage beside it waits for another mode.
const NoVAT = "none"

// DefaultVAT are the settings of a node without some.
func DefaultVAT() VAT { return VAT{Mode: NoVAT, Percent: "22"} }

// Applied is the VAT that settings mean.
func (v VAT) Applied() VAT {
	if v.Mode == NoVAT || v.Mode == "" {
		return VAT{}
	}
	return v
}

// Modes of a VAT.
const (
	Included = "included" // prices converted from dollars contain the tax: rate and margin were chosen with it
	OnTop    = "on_top"   // the tax is added to prices that are converted from dollars; prices in rubles contain it
)

// Check fails with fault.Invalid unless the percentage is above 0 and at most 100.
func (v VAT) Check() error {
	if v.Mode == "" {
		return nil
	}
	p, ok := decimal(v.Percent)
	if !ok || p.Sign() <= 0 || p.Cmp(big.NewRat(100, 1)) > 0 {
		return fault.Field("rate.VAT", "percent", "percent must be a number above 0 and at most 100, such as 22.")
	}
	return nil
}

// Part returns the tax that a price or a charge contains, rounded to the nearest nano-ruble.
func (v VAT) Part(of money.Nano) money.Nano {
	p, ok := decimal(v.Percent)
	if v.Mode == "" || !ok {
		return 0
	}
	part := new(big.Rat).Mul(p, big.NewRat(int64(of), 1))
	part.Quo(part, p.Add(p, big.NewRat(100, 1)))
	half := big.NewRat(1, 2)
	if part.Sign() < 0 {
		half.Neg(half)
	}
	part.Add(part, half)
	return money.Nano(new(big.Int).Quo(part.Num(), part.Denom()).Int64())
}

// Plain returns the percentage without zeros that say nothing: 22 for 22.0 and 022. It is "" without a tax.
func (v VAT) Plain() string {
	if v.Mode == "" {
		return ""
	}
	whole, part, _ := strings.Cut(v.Percent, ".")
	if whole = strings.TrimLeft(whole, "0"); whole == "" {
		whole = "0"
	}
	if part = strings.TrimRight(part, "0"); part == "" {
		return whole
	}
	return whole + "." + part
}

// apply adds the tax to a rate where it is on top.
func (v VAT) apply(r money.Rate) (money.Rate, error) {
	if v.Mode != OnTop {
		return r, nil
	}
	return r.Plus(v.Percent)
}

// vatIs begins the tax at the end of a version; a plus follows where it is on top.
const vatIs = " vat="

// inRubles begins the version of prices that no dollar rate made.
const inRubles = "rub"

func (v VAT) suffix() string {
	switch v.Mode {
	case Included:
		return vatIs + v.Percent
	case OnTop:
		return vatIs + "+" + v.Percent
	}
	return ""
}

// InRubles returns the version of prices that were declared in rubles: they contain the tax in both modes. It is "" without a tax.
func (v VAT) InRubles() string {
	if v.Mode == "" {
		return ""
	}
	return inRubles + VAT{Mode: Included, Percent: v.Percent}.suffix()
}

// cutVAT parts a version from the tax at its end.
func cutVAT(version string) (rest string, v VAT) {
	i := strings.LastIndex(version, vatIs)
	if i < 0 {
		return version, v
	}
	v = VAT{Mode: Included, Percent: version[i+len(vatIs):]}
	if percent, onTop := strings.CutPrefix(v.Percent, "+"); onTop {
		v = VAT{Mode: OnTop, Percent: percent}
	}
	if v.Check() != nil { // part of a name that somebody chose
		return version, VAT{}
	}
	return version[:i], v
}
