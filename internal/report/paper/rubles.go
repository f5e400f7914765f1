package paper

import (
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"weir/internal/money"
)

var (
	units    = [...]string{"", "один", "два", "три", "четыре", "пять", "шесть", "семь", "восемь", "девять", "десять", "одиннадцать", "двенадцать", "тринадцать", "четырнадцать", "пятнадцать", "шестнадцать", "семнадцать", "восемнадцать", "девятнадцать"}
	tens     = [...]string{"", "", "двадцать", "тридцать", "сорок", "пятьдесят", "шестьдесят", "семьдесят", "восемьдесят", "девяносто"}
	hundreds = [...]string{"", "сто", "двести", "триста", "четыреста", "пятьсот", "шестьсот", "семьсот", "восемьсот", "девятьсот"}
	// The forms for one, for two, and for five of a group of three digits.
	groups = [...][3]string{{"рубль", "рубля", "рублей"}, {"тысяча", "тысячи", "тысяч"}, {"миллион", "миллиона", "миллионов"}, {"миллиард", "миллиарда", "миллиардов"}}
)

// form chooses the form that a noun has after a number.
func form(n int64, forms [3]string) string {
	switch {
	case n%10 == 1 && n%100 != 11:
		return forms[0]
	case n%10 >= 2 && n%10 <= 4 && (n%100 < 12 || n%100 > 14):
		return forms[1]
	}
	return forms[2]
}

// inWords writes an amount of whole kopecks as accountants do: rubles in words, kopecks in two digits.
func inWords(n money.Nano) string {
	rubles, kopecks := int64(n/money.Ruble), int64(n%money.Ruble/(money.Ruble/100))
	var words []string
	for g := len(groups) - 1; g >= 0; g-- {
		part := rubles
		for range g {
			part /= 1000
		}
		if part %= 1000; part == 0 && g > 0 {
			continue
		}
		words = append(words, triple(part, g == 1)...)
		if rubles == 0 {
			words = append(words, "ноль")
		}
		words = append(words, form(part, groups[g]))
	}
	text := strings.Join(words, " ")
	first, size := utf8.DecodeRuneInString(text)
	two := strconv.FormatInt(100+kopecks, 10)[1:]
	return string(unicode.ToUpper(first)) + text[size:] + " " + two + " " + form(kopecks, [3]string{"копейка", "копейки", "копеек"})
}

// triple writes a number below 1000; thousands are feminine.
func triple(n int64, feminine bool) (words []string) {
	add := func(w string) {
		if w != "" {
			words = append(words, w)
		}
	}
	add(hundreds[n/100])
	if n %= 100; n >= 20 {
		add(tens[n/10])
		n %= 10
	}
	switch {
	case feminine && n == 1:
		add("одна")
	case feminine && n == 2:
		add("две")
	default:
		add(units[n])
	}
	return words
}
