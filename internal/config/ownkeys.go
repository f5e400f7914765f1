package config

import (
	"math/big"
	"strings"

	"weir/internal/catalog"
	"weir/internal/money"
	"weir/internal/ownkey"
)

// OwnKeys configures the keys of providers that people bring for their own calls.
type OwnKeys struct {
	Enabled        bool     `yaml:"enabled"`
	Fee            string   `yaml:"fee"`       // "5%": a share of the price; "0.1": rubles a call
	Providers      []string `yaml:"providers"` // slugs; none: those that the operator has credentials of
	MaxPerAccount  int64    `yaml:"max_per_account"`
	TestsPerMinute int64    `constant:"tests_per_minute"` // of an account
}

func (k *checker) ownKeys() {
	o := &k.c.OwnKeys
	k.positive("own_keys.max_per_account", o.MaxPerAccount)
	if _, ok := o.fee(); !ok {
		k.fail("own_keys.fee", `it must be a share of the price from 0%% to 100%%, such as "5%%", with at most two digits after the point, or rubles for a call from 0 to 1000, such as "0.1"`)
	}
}

// maxFee is more than any call should cost beside its price.
const maxFee = 1000 * money.Ruble

func (o *OwnKeys) fee() (f catalog.Fee, ok bool) {
	if share, percent := strings.CutSuffix(o.Fee, "%"); percent {
		if strings.Trim(share, "0123456789.") != "" {
			return f, false
		}
		x, valid := new(big.Rat).SetString(share)
		if !valid {
			return f, false
		}
		x.Mul(x, big.NewRat(100, 1))
		if !x.IsInt() || x.Num().Cmp(big.NewInt(10_000)) > 0 {
			return f, false
		}
		return catalog.Fee{Share: x.Num().Int64()}, true
	}
	n, err := money.Parse(o.Fee)
	if err != nil || n < 0 || n > maxFee {
		return f, false
	}
	return catalog.Fee{Amount: money.Price{Nano: int64(n), Set: true}}, true
}

// Manager is what own keys are kept with. It is only called of a configuration that is valid.
func (o *OwnKeys) Manager() ownkey.Config {
	fee, _ := o.fee()
	return ownkey.Config{Enabled: o.Enabled, Fee: fee, Providers: o.Providers, Most: int(o.MaxPerAccount)}
}
