package money_test

import (
	"errors"
	"fmt"
	"math"
	"math/big"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"weir/internal/fault"
	"weir/internal/money"
)

func TestParse(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		text string
		want money.Nano
	}{
		{"0", 0}, {"-0", 0}, {"0.0", 0}, {"1", money.Ruble}, {"-1", -money.Ruble}, {"12.5", 12_500_000_000}, {"007.010", 7_010_000_000},
		{"0.000000001", 1}, {"-0.000000001", -1}, {"9223372036.854775807", math.MaxInt64}, {"-9223372036.854775808", math.MinInt64},
	} {
		if got, err := money.Parse(c.text); err != nil || got != c.want {
			t.Errorf("Parse(%q) = %d, %v; want %d", c.text, got, err, c.want)
		}
	}
	for _, text := range []string{
		"", "-", ".", "1.", ".5", "-.5", "+1", "1e3", "1E3", "0x10", " 1", "1 ", "1,5", "1.2.3", "--1", "1-", "NaN", "Infinity", "-Inf", "١",
		"0.0000000001", "1.0000000000", "9223372036.854775808", "-9223372036.854775809", "18446744073709551616", "99999999999999999999999999",
	} {
		if got, err := money.Parse(text); !fault.Is(err, fault.Invalid) {
			t.Errorf("Parse(%q) = %d, %v; want an invalid_request error", text, got, err)
		}
	}
	if _, err := money.Parse(strings.Repeat("9", 5000)); len(err.Error()) > 300 {
		t.Errorf("the message repeats all of a long text: %d bytes", len(err.Error()))
	}
}

func TestStringIsWhatParseReads(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		n := money.Nano(rapid.Int64().Draw(t, "nano"))
		text := n.String()
		if back, err := money.Parse(text); err != nil || back != n {
			t.Fatalf("%d is written %q, which reads as %d, %v", n, text, back, err)
		}
		want := new(big.Rat).SetFrac64(int64(n), int64(money.Ruble))
		if got, ok := new(big.Rat).SetString(text); !ok || got.Cmp(want) != 0 {
			t.Fatalf("%q is not %s", text, want)
		}
		if strings.Contains(text, ".") && strings.HasSuffix(text, "0") || strings.HasSuffix(text, ".") || strings.ContainsAny(text, "eE+") {
			t.Fatalf("%q is not the shortest plain form", text)
		}
	})
}

func TestParseNumber(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		text string
		want money.Nano
	}{
		{"12.5", 12_500_000_000}, {"1e-05", 10_000}, {"1E-9", 1}, {"-2.5e3", -2500 * money.Ruble}, {"1.5e+2", 150 * money.Ruble}, {"0e5", 0}, {"9.223372036e9", 9_223_372_036 * money.Ruble},
	} {
		if got, err := money.ParseNumber(c.text); err != nil || got != c.want {
			t.Errorf("ParseNumber(%q) = %d, %v; want %d", c.text, got, err, c.want)
		}
	}
	for _, text := range []string{"", "1e-10", "1e10", "-1e10", "1e99999999999", "1e", "e5", "1.e5", "0x1e5", "1e5e5", "--1e2"} {
		if got, err := money.ParseNumber(text); !fault.Is(err, fault.Invalid) || got != 0 {
			t.Errorf("ParseNumber(%q) = %d, %v; want an invalid_request error", text, got, err)
		}
	}
}

func TestParsePrice(t *testing.T) {
	t.Parallel()
	if zero, err := money.ParsePrice("0"); err != nil || zero != (money.Price{Set: true}) {
		t.Errorf("a price of zero is %+v, %v; want one that is set", zero, err)
	}
	if p, err := money.ParsePrice("0.123456789"); err != nil || p.Nano != 123456789 || p.String() != "0.123456789" {
		t.Errorf("%+v, %v", p, err)
	}
	for _, text := range []string{"", "-1", "-0", "0.1234567891", "0.1000000000", "1e-3", "9223372036.854775808", "free"} {
		if p, err := money.ParsePrice(text); !fault.Is(err, fault.Invalid) || p.Set {
			t.Errorf("ParsePrice(%q) = %+v, %v; want an invalid_request error", text, p, err)
		}
	}
	if got := (money.Price{}).String(); got != "" {
		t.Errorf("a price that is not set is written %q", got)
	}
}

func TestPricePerToken(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		price money.Price
		want  string
	}{
		{money.Price{Nano: 1, Set: true}, "0.000000000001"},
		{money.Price{Nano: 250_000_000, Set: true}, "0.00025"},
		{money.Price{Nano: 1000 * int64(money.Ruble), Set: true}, "1"},
		{money.Price{Set: true}, "0"},
		{money.Price{}, ""},
	} {
		if got := string(c.price.AppendPerToken(nil)); got != c.want {
			t.Errorf("%+v per token is %q, want %q", c.price, got, c.want)
		}
	}
}

func TestArithmetic(t *testing.T) {
	t.Parallel()
	edges := rapid.OneOf(rapid.Int64(), rapid.SampledFrom([]int64{0, 1, -1, 2, math.MaxInt64, math.MinInt64, math.MinInt64 + 1, math.MaxInt64 - 1, 1 << 32}))
	rapid.Check(t, func(t *rapid.T) {
		a, b := edges.Draw(t, "a"), edges.Draw(t, "b")
		x, y := big.NewInt(a), big.NewInt(b)
		check := func(name string, want *big.Int, got money.Nano, err error) {
			t.Helper()
			switch {
			case !want.IsInt64() && !errors.Is(err, money.ErrOverflow):
				t.Fatalf("%d %s %d = %d, %v; want an overflow", a, name, b, got, err)
			case want.IsInt64() && (err != nil || int64(got) != want.Int64()):
				t.Fatalf("%d %s %d = %d, %v; want %s", a, name, b, got, err, want)
			}
		}
		sum, err := money.Nano(a).Add(money.Nano(b))
		check("+", new(big.Int).Add(x, y), sum, err)
		difference, err := money.Nano(a).Sub(money.Nano(b))
		check("-", new(big.Int).Sub(x, y), difference, err)
		product, err := money.Nano(a).Mul(b)
		check("x", new(big.Int).Mul(x, y), product, err)
	})
}

// A charge is the exact sum of its parts, rounded up once. An overflow is an error, never a smaller amount.
func TestSumIsExact(t *testing.T) {
	t.Parallel()
	size := rapid.OneOf(rapid.Int64Range(0, 1_000_000), rapid.Int64Range(0, math.MaxInt64), rapid.Int64Range(-3, 3))
	rapid.Check(t, func(t *rapid.T) {
		var sum money.Sum
		want, negative := new(big.Int), false
		for i := range rapid.IntRange(0, 6).Draw(t, "parts") {
			quantity, price := size.Draw(t, fmt.Sprint("quantity", i)), size.Draw(t, fmt.Sprint("price", i))
			product := new(big.Int).Mul(big.NewInt(quantity), big.NewInt(price))
			if rapid.Bool().Draw(t, fmt.Sprint("each", i)) {
				sum.Each(quantity, price)
				product.Mul(product, big.NewInt(1000))
			} else {
				sum.PerThousand(quantity, price)
			}
			want.Add(want, product)
			negative = negative || quantity < 0 || price < 0
		}
		got, err := sum.Ceil()
		ceil, rest := new(big.Int).QuoRem(want, big.NewInt(1000), new(big.Int))
		if rest.Sign() > 0 {
			ceil.Add(ceil, big.NewInt(1))
		}
		switch {
		case negative:
			if err == nil || got != 0 {
				t.Fatalf("%d, %v for a negative part", got, err)
			}
		case !ceil.IsInt64():
			if !errors.Is(err, money.ErrOverflow) || got != 0 {
				t.Fatalf("%d, %v; want an overflow at %s", got, err, ceil)
			}
		case err != nil || int64(got) != ceil.Int64():
			t.Fatalf("%d, %v; want %s", got, err, ceil)
		default:
			exact, ok := new(big.Rat).SetString(string(sum.Append(nil)))
			if !ok || exact.Cmp(new(big.Rat).SetFrac(want, big.NewInt(1_000_000_000_000))) != 0 {
				t.Fatalf("written as %s, want %s at 10^-12", sum.Append(nil), want)
			}
		}
	})
}

func TestNegativePartsAreRefused(t *testing.T) {
	t.Parallel()
	for _, c := range [][2]int64{{-1, 5}, {5, -1}, {math.MinInt64, 1}, {1, math.MinInt64}} {
		var sum money.Sum
		sum.PerThousand(c[0], c[1])
		sum.Each(1, 1) // a valid part does not remove the error
		if n, err := sum.Ceil(); !errors.Is(err, money.ErrNegative) || n != 0 || sum.Append(nil) != nil {
			t.Errorf("%d x %d: %d, %v", c[0], c[1], n, err)
		}
	}
}

func TestRate(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, dollars, rate, margin string
		tokens                      int64
		want                        string
	}{
		{"per million", "2.50", "80", "0", 1_000_000, "0.2"},
		{"with a margin", "2.50", "80", "0.15", 1_000_000, "0.23"},
		{"per thousand", "0.0025", "80", "0", 1000, "0.2"},
		{"per token", "0.0000025", "80", "0", 1, "0.2"},
		{"exponent", "2.5e-06", "80", "0", 1, "0.2"},
		{"capital exponent", "25E-7", "80", "0", 1, "0.2"},
		{"rounded up at the tenth digit", "0.1", "93.4561", "0.07", 1_000_000, "0.009999803"}, // exactly 0.0099998027
		{"never down to nothing", "0.000000001", "1", "0", 1_000_000, "0.000000001"},
		{"free", "0", "93.4561", "0.07", 1_000_000, "0"},
		{"a leading zero is no octal", "010", "1", "0", 1000, "10"},
	} {
		rate, err := money.NewRate(c.rate, c.margin)
		if err != nil {
			t.Fatal(err)
		}
		if got, err := rate.PerThousand(c.dollars, c.tokens); err != nil || got.String() != c.want || !got.Set {
			t.Errorf("%s: %s, %v; want %s", c.name, got, err, c.want)
		}
	}
	rate, _ := money.NewRate("90", "0.1")
	if got, err := rate.Each("10", 1000); err != nil || got.String() != "0.99" {
		t.Errorf("ten dollars a thousand searches: %s, %v; want 0.99 each", got, err)
	}
}

func TestRateRefusals(t *testing.T) {
	t.Parallel()
	bad := []string{"", "-1", "+1", "1/3", "0x10", "1_000", "NaN", "Inf", "1e", "1e99", "1e-99", "1e1e1", ".5", "5.", " 1", "1e999999999", strings.Repeat("9", 100)}
	good, _ := money.NewRate("1", "0")
	for _, text := range bad {
		if _, err := money.NewRate(text, "0"); !fault.Is(err, fault.Invalid) {
			t.Errorf("a rate of %q: %v", text, err)
		}
		if _, err := money.NewRate("1", text); !fault.Is(err, fault.Invalid) {
			t.Errorf("a margin of %q: %v", text, err)
		}
		if p, err := good.PerThousand(text, 1000); !fault.Is(err, fault.Invalid) || p.Set {
			t.Errorf("a price of %q: %v, %v", text, p, err)
		}
	}
	if _, err := money.NewRate("0", "0"); !fault.Is(err, fault.Invalid) {
		t.Errorf("a rate of zero would make everything free: %v", err)
	}
	if _, err := good.PerThousand("1", 0); !fault.Is(err, fault.Invalid) {
		t.Error("a price for no tokens was taken")
	}
	if _, err := good.PerThousand("1e30", 1); !errors.Is(err, money.ErrOverflow) {
		t.Errorf("a huge price: %v", err)
	}
	if _, err := (money.Rate{}).Each("1", 1); !fault.Is(err, fault.Invalid) {
		t.Errorf("the zero Rate converted: %v", err)
	}
}

// The published price is at least the exact one, and less than 10^-9 above it.
func TestRateRoundsUp(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		decimal := func(name string, low int64, digits int) (string, *big.Rat) {
			n := rapid.Int64Range(low, 1_000_000_000).Draw(t, name)
			scale := new(big.Int).Exp(big.NewInt(10), big.NewInt(int64(digits)), nil)
			r := new(big.Rat).SetFrac(big.NewInt(n), scale)
			return r.FloatString(digits), r
		}
		rateText, rate := decimal("rate", 1, 6)
		marginText, margin := decimal("margin", 0, 9)
		dollarText, dollars := decimal("dollars", 0, 8)
		tokens := rapid.SampledFrom([]int64{1, 1000, 1_000_000}).Draw(t, "tokens")
		r, err := money.NewRate(rateText, marginText)
		if err != nil {
			t.Fatal(err)
		}
		got, err := r.PerThousand(dollarText, tokens)
		if err != nil {
			t.Fatal(err)
		}
		exact := new(big.Rat).Mul(rate, new(big.Rat).Add(margin, big.NewRat(1, 1)))
		exact.Mul(exact, dollars).Mul(exact, big.NewRat(1000, tokens))
		above := new(big.Rat).Sub(big.NewRat(got.Nano, int64(money.Ruble)), exact)
		if above.Sign() < 0 || above.Cmp(big.NewRat(1, int64(money.Ruble))) >= 0 {
			t.Fatalf("%s is %s away from the exact price", got, above)
		}
	})
}

func FuzzParse(f *testing.F) {
	for _, seed := range []string{"0", "-1.5", "9223372036.854775807", "1e9", "0.0000000001", "..", "-"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		n, err := money.Parse(text)
		if err != nil {
			return
		}
		want, ok := new(big.Rat).SetString(text)
		if !ok || want.Cmp(big.NewRat(int64(n), int64(money.Ruble))) != 0 {
			t.Fatalf("%q was read as %s", text, n)
		}
		if p, err := money.ParsePrice(text); n < 0 && err == nil || err == nil && p.Nano != int64(n) {
			t.Fatalf("%q is the amount %s and the price %s", text, n, p)
		}
	})
}

func FuzzRate(f *testing.F) {
	f.Add("2.5", "92.5", "0.15")
	f.Add("8e-07", "1", "0")
	f.Fuzz(func(t *testing.T, dollars, rate, margin string) {
		r, err := money.NewRate(rate, margin)
		if err != nil {
			return
		}
		if p, err := r.PerThousand(dollars, 1_000_000); err == nil && (p.Nano < 0 || !p.Set) {
			t.Fatalf("%q dollars at %q with %q became %+v", dollars, rate, margin, p)
		}
	})
}

func BenchmarkAppend(b *testing.B) {
	buf := make([]byte, 0, 32)
	b.ReportAllocs()
	for b.Loop() {
		buf = money.Nano(123_456_789_012).Append(buf[:0])
	}
}

func ExampleNano_String() {
	n, _ := money.Parse("12.500000000")
	fmt.Println(n)
	// Output: 12.5
}

func ExampleRate_PerThousand() {
	rate, _ := money.NewRate("92.5", "0.15") // rubles per dollar, 15 % on top
	price, _ := rate.PerThousand("2.50", 1_000_000)
	fmt.Println(price)
	// Output: 0.2659375
}
