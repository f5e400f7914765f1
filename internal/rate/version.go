package rate

import (
	"strings"

	"weir/internal/money"
)

// Version returns a name for a declared rate and margin. It contains the values, so that two rates never share a version even if the
// configured name was not changed.
func Version(name, rubPerUSD, margin string) string {
	text := usdIs + rubPerUSD + marginIs + margin
	if name != "" {
		text = name + " " + text
	}
	return text
}

const usdIs, marginIs = "usd=", " margin="

// Named returns the rate of a version: one of Declared's, such as "autumn usd=90 margin=0.1", or one of Effective's, such as
// "cbr-2026-11-21@81.2345+0.15". ok is false for other text.
func Named(version string) (r money.Rate, ok bool) {
	rubles, margin, ok := Parts(version)
	if !ok {
		return r, false
	}
	r, err := money.NewRate(rubles, margin)
	return r, err == nil
}

// Parts returns the rubles per dollar and the margin of a version that Named accepts, as decimal text. ok is false for text without them.
func Parts(version string) (rubles, margin string, ok bool) {
	if rubles, margin, ok = declaredPair(version); ok {
		return rubles, margin, true
	}
	i := strings.LastIndexByte(version, '@')
	if i < 0 {
		return "", "", false
	}
	return strings.Cut(version[i+1:], "+")
}

func declaredPair(version string) (rubles, margin string, ok bool) {
	i := strings.LastIndex(version, usdIs)
	if i < 0 || i > 0 && version[i-1] != ' ' {
		return "", "", false
	}
	return strings.Cut(version[i+len(usdIs):], marginIs)
}
