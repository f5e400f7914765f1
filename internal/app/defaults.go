package app

import (
	"fmt"
	"slices"
	"strings"

	"weir/internal/catalog"
	"weir/internal/catalog/update"
	"weir/internal/config"
)

// regretted are settings that were left as they are by default, and that cost money or customers later. They are said once at start, and by
// weir doctor. The default rate is not here: whether it counts, the database says.
func regretted(cfg *config.Config, snap *catalog.Snapshot, env config.Lookup) (out []Finding) {
	if p := &cfg.Payments; p.Provider != "" && !p.YooKassa.Test && !p.YooKassa.Receipt.Send {
		out = append(out, Finding{"receipts", Weak, "real payments are taken without receipts, which 54-FZ asks for unless the shop makes them elsewhere",
			"set payments.yookassa.receipt.send: true; which codes are right, the accountant knows: docs/payments.md#receipts-by-54-fz"})
	}
	if name := unusedProxy(env); name != "" && !cfg.Upstream.Proxy.Set() {
		out = append(out, Finding{"proxy", Weak, "the variable " + name + " is set and not used: connections go directly", "set upstream.proxy: ${" + name + "}, or direct to say that it is meant so"})
	}
	if !snap.PricesAsOf.IsZero() && (cfg.PriceLists.Every == 0 || cfg.PriceLists.Publish == update.Off) {
		out = append(out, Finding{"prices", Weak, "prices of built-in models are not fetched: a provider that raises its own is paid more than is charged",
			"set price_lists.every: 24h, or run weir catalog update often"})
	}
	for i := range cfg.Providers {
		if long := endless(&cfg.Providers[i], snap); long != nil {
			out = append(out, Finding{"provider " + cfg.Providers[i].ID, Weak,
				fmt.Sprintf("models have no max_output: calls without max_tokens reserve the whole context, and get 402 on small balances: %s", strings.Join(long, ", ")), "set max_output of these models"})
		}
	}
	return out
}

// unusedProxy is the variable by which other programs find their proxy, "" for none.
func unusedProxy(env config.Lookup) string {
	for _, name := range []string{"HTTPS_PROXY", "https_proxy", "ALL_PROXY", "all_proxy"} {
		if value, _ := env(name); value != "" {
			return name
		}
	}
	return ""
}

// endless are the declared models of a provider that have no longest answer: a whole answer of one is held for as if it filled the context.
func endless(p *config.Provider, snap *catalog.Snapshot) (long []string) {
	unbounded := func(ep *catalog.Endpoint) bool { return ep.Provider.ID == p.ID && ep.MaxCompletion == 0 }
	for i := range p.Models {
		m, _, ok := snap.Resolve(p.Models[i].ID)
		if ok && m.Type == catalog.TypeChat && slices.ContainsFunc(m.Endpoints, unbounded) {
			long = append(long, p.Models[i].ID)
		}
	}
	return long
}
