package main

import (
	"fmt"
	"io"

	"weir/internal/cli"
)

// examples are printed at the start of each command's help. Units: rubles, and durations such as 720h.
var examples = map[string]string{
	"serve":                            "weir serve -c weir.yaml",
	"demo":                             "weir demo --listen 127.0.0.1:8080 --balance 1000",
	"sim":                              "weir sim --listen 127.0.0.1:8081",
	"user bootstrap":                   "weir user bootstrap alice",
	"user add":                         "weir user add alice",
	"user list":                        "weir user list",
	"user role":                        "weir user role alice administrator",
	"user preferences":                 `weir user preferences alice '{"sort": "price"}'`,
	"user setup":                       "weir user setup",
	"user invite":                      "weir user invite alice@example.org --role operator",
	"user reset":                       "weir user reset alice",
	"user one-step":                    "weir user one-step alice",
	"user email":                       "weir user email alice alice@example.org",
	"user disable":                     "weir user disable alice",
	"user forget":                      "weir user forget alice --yes",
	"user enable":                      "weir user enable alice",
	"key add":                          "weir key add alice --limit 50 --reset daily --expires 720h",
	"key list":                         "weir key list alice",
	"key rates":                        "weir key rates sk-weir-v1-4...Sl2 --requests 60 --tokens 100000 --rubles 50",
	"key preferences":                  `weir key preferences sk-weir-v1-4...Sl2 '{"zdr": true}'`,
	"key disable":                      "weir key disable sk-weir-v1-4...Sl2",
	"key enable":                       "weir key enable sk-weir-v1-4...Sl2",
	"key delete":                       "weir key delete sk-weir-v1-4...Sl2",
	"topup":                            "weir topup alice 1000 --ref invoice-17",
	"payments list":                    "weir payments list --open",
	"payments check":                   "weir payments check --days 7",
	"payments refund":                  "weir payments refund pay_3dQh4uXc9Rk2mTzB1nV8pLwY 100 --reason 'asked for by mail' --reference T-1001",
	"vouchers create":                  "weir vouchers create 500 --codes 100 --expires 2027-01-31 --note 'spring conference'",
	"vouchers list":                    "weir vouchers list",
	"vouchers revoke":                  "weir vouchers revoke vb_3dQh4uXc9Rk2mTzB1nV8pLwY",
	"invoice list":                     "weir invoice list --state open",
	"invoice paid":                     "weir invoice paid W-2026-17 --reference 4711 --date 2026-11-25",
	"invoice import":                   "weir invoice import kl_to_1c.txt --dry",
	"invoice refund":                   "weir invoice refund W-2026-17 500 --reason 'asked for by letter' --reference 4712 --date 2026-11-25",
	"invoice cancel":                   "weir invoice cancel W-2026-17",
	"invoice pdf":                      "weir invoice pdf W-2026-17 --out invoice.pdf",
	"invoice acts":                     "weir invoice acts --month 2026-10",
	"import openrouter":                "weir import openrouter keys.json email-writer.json --user alice --keys-to new-keys.txt",
	"import litellm":                   "weir import litellm config.yaml keys.json --user alice --dry-run",
	"ledger verify":                    "weir ledger verify --json",
	"ledger explain":                   "weir ledger explain gen-1795414016-g1rFOwN2yLg9ey0QLIJh",
	"ledger statement":                 "weir ledger statement alice",
	"ledger adjust":                    "weir ledger adjust alice 100 --reason 'promised by support' --reference T-1003",
	"ledger refund":                    "weir ledger refund gen-1795414016-g1rFOwN2yLg9ey0QLIJh 1.50 --reason 'half of it was broken' --reference T-1002",
	"ledger aside list":                "weir ledger aside list",
	"ledger aside retry":               "weir ledger aside retry 7",
	"ledger aside dismiss":             "weir ledger aside dismiss 7 --reason 'the provider reported implausible counts'",
	"ledger journal inspect":           "weir ledger journal inspect",
	"ledger journal repair":            "weir ledger journal repair",
	"batch list":                       "weir batch list",
	"batch cancel":                     "weir batch cancel batch_0Ar4u3VJ2mXq7cYk9sLZbWtE --reason 'asked for by its user'",
	"audit verify":                     "weir audit verify --json",
	"catalog list":                     "weir catalog list whisper",
	"catalog show":                     "weir catalog show openai/gpt-5.4",
	"catalog import":                   "weir catalog import .",
	"catalog update":                   "weir catalog update",
	"catalog publish":                  "weir catalog publish",
	"catalog provider list":            "weir catalog provider list",
	"catalog provider add":             "weir catalog provider add hut base_url=https://hut.example/v1 api_key_env=HUT_KEY",
	"catalog provider set":             "weir catalog provider set hut name=Hut data_policy=zero",
	"catalog provider disable":         "weir catalog provider disable hut",
	"catalog provider enable":          "weir catalog provider enable hut",
	"catalog provider remove":          "weir catalog provider remove hut",
	"catalog endpoint (offer) list":    "weir catalog endpoint list hut",
	"catalog endpoint (offer) add":     "weir catalog endpoint add hut acme/tiny price_usd.prompt=0.6 price_usd.completion=0.9 context_length=128000",
	"catalog endpoint (offer) set":     "weir catalog endpoint set hut/acme/tiny price_usd.prompt=0.7",
	"catalog endpoint (offer) disable": "weir catalog endpoint disable hut/acme/tiny",
	"catalog endpoint (offer) enable":  "weir catalog endpoint enable hut/acme/tiny",
	"catalog endpoint (offer) remove":  "weir catalog endpoint remove hut/acme/tiny",
	"catalog history":                  "weir catalog history",
	"ready":                            "weir ready -c weir.yaml",
	"top":                              "weir top",
	"export":                           "weir export --from 2026-11-01 --to 2026-11-30",
	"backup":                           "weir backup backups --keep 14",
	"restore":                          "weir restore backups/weir-20261126T030000Z",
	"migrate":                          "weir migrate --to postgres://weir@db.local/weir",
	"doctor":                           "weir doctor -c weir.yaml",
	"provider test":                    "weir provider test openai",
	"rate show":                        "weir rate show",
	"rate list":                        "weir rate list",
	"rate set":                         "weir rate set 81.50 --margin 0.15",
	"secrets rotate":                   "weir secrets rotate -c weir.yaml",
	"route explain":                    "weir route explain openai/gpt-5.4 --user alice",
	"version":                          "weir version",
}

// writeHelp prints the example of a command before its description.
func writeHelp(w io.Writer, c *cli.Command) error {
	if example, ok := examples[c.Path()]; ok {
		if _, err := fmt.Fprintf(w, "Example: %s\n\n", example); err != nil {
			return err
		}
	}
	return c.WriteHelp(w)
}
