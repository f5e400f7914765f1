package importer

import (
	"math/big"
	"strconv"
	"strings"
)

// shift multiplies a number written as JSON by 10^places, digit by digit, and returns it in plain decimal notation without
// needless zeros, so that equal amounts are equal texts. It returns false for negative numbers and for what is no number.
func shift(number string, places int) (string, bool) {
	mantissa, exponent, found := strings.Cut(strings.ToLower(number), "e")
	if found {
		e, err := strconv.Atoi(exponent)
		if err != nil || e > 30 || e < -30 {
			return "", false
		}
		places += e
	}
	whole, fraction, _ := strings.Cut(mantissa, ".")
	digits := whole + fraction
	if whole == "" || len(digits) > 60 || strings.Trim(digits, "0123456789") != "" {
		return "", false
	}
	point := len(whole) + places
	if point < 0 {
		digits, point = strings.Repeat("0", -point)+digits, 0
	}
	if point > len(digits) {
		digits += strings.Repeat("0", point-len(digits))
	}
	whole = strings.TrimLeft(digits[:point], "0")
	fraction = strings.TrimRight(digits[point:], "0")
	if whole == "" {
		whole = "0"
	}
	if fraction == "" {
		return whole, true
	}
	return whole + "." + fraction, true
}

// minute turns a price of a second into that of a minute; "" stays.
func minute(second string) string {
	x, ok := new(big.Rat).SetString(second)
	if !ok {
		return ""
	}
	// sixty times a decimal number is one again: no more digits are needed than it had
	_, fraction, _ := strings.Cut(second, ".")
	text, _ := shift(x.Mul(x, big.NewRat(60, 1)).FloatString(len(fraction)), 0)
	return text
}
