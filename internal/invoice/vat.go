package invoice

import (
	"math/big"

	"weir/internal/money"
	"weir/internal/rate"
)

// toKopecks rounds a fraction of nano-rubles to the nearest kopeck, halves away from zero.
func toKopecks(x *big.Rat) money.Nano {
	x = new(big.Rat).Quo(x, big.NewRat(int64(Kopeck), 1))
	half := big.NewRat(1, 2)
	if x.Sign() < 0 {
		half.Neg(half)
	}
	x.Add(x, half)
	return money.Nano(new(big.Int).Quo(x.Num(), x.Denom()).Int64()) * Kopeck
}

// contained is the tax in a sum that contains it, to the nearest kopeck.
func contained(v rate.VAT, sum money.Nano) money.Nano {
	if v.Mode == "" {
		return 0
	}
	p, ok := new(big.Rat).SetString(v.Percent)
	if !ok {
		return 0
	}
	part := new(big.Rat).Mul(p, big.NewRat(int64(sum), 1))
	return toKopecks(part.Quo(part, p.Add(p, big.NewRat(100, 1))))
}

// charge is what is to be paid for an amount, and the tax in it. Where the tax is on top it is amount x percent / 100, to the nearest kopeck.
func charge(v rate.VAT, amount money.Nano) (total, tax money.Nano) {
	if v.Mode != rate.OnTop {
		return amount, contained(v, amount)
	}
	p, ok := new(big.Rat).SetString(v.Percent)
	if !ok {
		return amount, 0
	}
	p.Mul(p, big.NewRat(int64(amount), 100))
	tax = toKopecks(p)
	return amount + tax, tax
}

// worth is what the wallet gets for a sum that arrived: all of it, or where the tax is on top, what is left without the tax. It never falls
// when the sum grows, and of the total of an invoice it is exactly the amount: if tax = amount x p + e, with e at most half a kopeck, the
// tax contained in the total differs from it by e / (1 + p), which rounds to the same kopeck.
func worth(v rate.VAT, sum money.Nano) money.Nano {
	if v.Mode != rate.OnTop {
		return sum
	}
	return sum - contained(v, sum)
}
