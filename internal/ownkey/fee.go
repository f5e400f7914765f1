package ownkey

import (
	"errors"
	"math/big"
	"strings"

	"weir/internal/catalog"
	"weir/internal/money"
)

// Fee is what a call with an own key costs, as settings write it: "5%" is a share of the price, "0.1" rubles for a call.
type Fee catalog.Fee

// maxFee is more than any call should cost beside its price.
const maxFee = 1000 * money.Ruble

var errFee = errors.New(`it must be a share of the price from 0% to 100%, such as "5%", with at most two digits after the point, or rubles for a call from 0 to 1000, such as "0.1"`)

// UnmarshalText reads a fee.
func (f *Fee) UnmarshalText(text []byte) error {
	if share, percent := strings.CutSuffix(string(text), "%"); percent {
		if strings.Trim(share, "0123456789.") != "" {
			return errFee
		}
		x, valid := new(big.Rat).SetString(share)
		if !valid {
			return errFee
		}
		x.Mul(x, big.NewRat(100, 1))
		if !x.IsInt() || x.Num().Cmp(big.NewInt(10_000)) > 0 {
			return errFee
		}
		*f = Fee{Share: x.Num().Int64()}
		return nil
	}
	n, err := money.Parse(string(text))
	if err != nil || n < 0 || n > maxFee {
		return errFee
	}
	*f = Fee{Amount: money.Price{Nano: int64(n), Set: true}}
	return nil
}

func (f Fee) String() string { return catalog.Fee(f).String() }
