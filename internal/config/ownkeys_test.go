package config_test

import (
	"strings"
	"testing"

	"weir/internal/catalog"
	"weir/internal/config"
	"weir/internal/money"
)

// A fee is a share of the price or an amount, and prints as it was written.
func TestOwnKeyFees(t *testing.T) {
	t.Parallel()
	refused := func(err error, text, setting string) {
		if err == nil || !strings.Contains(err.Error(), setting) {
			t.Errorf("%q: %v; want an error of %s", text, err, setting)
		}
	}
	rubles := func(nano int64) catalog.Fee { return catalog.Fee{Amount: money.Price{Nano: nano, Set: true}} }
	for text, want := range map[string]catalog.Fee{
		"5%": {Share: 500}, "0%": {}, "100%": {Share: 10_000}, "2.5%": {Share: 250}, "0.01%": {Share: 1},
		"0": rubles(0), "0.1": rubles(100_000_000), "1000": rubles(1_000_000_000_000),
	} {
		c, err := config.Load(write(t, "own_keys:\n  fee: \""+text+"\"\n"), env(), nil)
		if err != nil {
			t.Errorf("%s: %v", text, err)
			continue
		}
		if got := c.OwnKeys.Fee; catalog.Fee(got) != want || got.String() != text {
			t.Errorf("%s is %+v, which prints as %s", text, got, got)
		}
	}
	for _, text := range []string{"", "%", "5 %", "-1%", "100.01%", "0.001%", "1/3%", "1e1%", "0x5%", "five", "-1", "1000.1", "1e3", "NaN%"} {
		_, err := config.Load(write(t, "own_keys:\n  fee: \""+text+"\"\n"), env(), nil)
		refused(err, text, "own_keys.fee")
	}
	for _, setting := range []string{"max_per_account"} {
		_, err := config.Load(write(t, "own_keys:\n  "+setting+": 0\n"), env(), nil)
		refused(err, setting, "own_keys."+setting)
	}
}
