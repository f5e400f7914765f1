package rate

import (
	"strings"

	"weir/internal/money"
)

// Version returns a name for a declared rate, margin and tax. It contains the values, so that two rates never share a version even if the
// configured name was not changed.
func Version(name, rubPerUSD, margin string, vat VAT) string {
	text := usdIs + rubPerUSD + marginIs + margin + vat.suffix()
	if name != "" {
		text = name + " " + text
	}
	return text
}

const usdIs, marginIs = "usd=", " margin="

// Named returns the rate of a version: one of Declared's, such as "autumn usd=90 margin=0.1", or one of Effective's, such as
// "cbr-2026-11-21@81.2345+0.15 vat=+22". ok is false for other text.
func Named(version string) (r money.Rate, ok bool) {
	p := PartsOf(version)
	if p.RubPerUSD == "" {
		return r, false
	}
	r, err := convert(p.RubPerUSD, p.Margin, p.VAT)
	return r, err == nil
}

// convert returns the rate that converts prices in dollars.
func convert(rubPerUSD, margin string, vat VAT) (money.Rate, error) {
	r, err := money.NewRate(rubPerUSD, margin)
	if err != nil {
		return r, err
	}
	return vat.apply(r)
}

// With is the same rate with another margin, under a version of its own.
func (e Effective) With(margin string) (Effective, error) {
	if margin == e.Margin {
		return e, nil
	}
	rest, _ := cutVAT(e.Version)
	if _, _, declared := declaredPair(rest); declared {
		name := strings.TrimSuffix(rest[:strings.LastIndex(rest, usdIs)], " ")
		e.Version = Version(name, e.RubPerUSD, margin, e.VAT)
	} else {
		before, _, _ := strings.Cut(rest, "@")
		e.Version = before + "@" + e.RubPerUSD + "+" + margin + e.VAT.suffix()
	}
	var err error
	e.Margin = margin
	e.Rate, err = convert(e.RubPerUSD, margin, e.VAT)
	return e, err
}

// Parts are what a version consists of, as decimal text.
type Parts struct {
	RubPerUSD, Margin string // "" for prices that no dollar rate made
	VAT               VAT
}

// PartsOf returns the parts of a version; zero for text without them.
func PartsOf(version string) (p Parts) {
	rest, vat := cutVAT(version)
	var ok bool
	if p.RubPerUSD, p.Margin, ok = declaredPair(rest); ok {
		p.VAT = vat
		return p
	}
	if i := strings.LastIndexByte(rest, '@'); i >= 0 {
		if p.RubPerUSD, p.Margin, ok = strings.Cut(rest[i+1:], "+"); ok {
			p.VAT = vat
			return p
		}
	}
	if rest == inRubles {
		return Parts{VAT: vat}
	}
	return Parts{}
}

func declaredPair(version string) (rubles, margin string, ok bool) {
	i := strings.LastIndex(version, usdIs)
	if i < 0 || i > 0 && version[i-1] != ' ' {
		return "", "", false
	}
	return strings.Cut(version[i+len(usdIs):], marginIs)
}
