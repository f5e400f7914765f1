package catalog

import (
	"strings"

	"weir/internal/money"
)

// Paid is a set of features that a request may ask for in addition to the tokens of its model, and that have a price. A request is served
// only where all of its features have a price: the provider would charge for a feature that is free here.
type Paid uint16

// The features. The last five have no price in Prices: no known provider reports the cost of the first two of them, and the others are
// separate endpoints.
const (
	PaidWebSearch Paid = 1 << iota
	PaidWebFetch
	PaidFileSearch
	PaidCodeExecution
	PaidMCP
	PaidImageGeneration // as a tool of a model that writes
	PaidOtherTool       // a tool that the provider runs, of a kind that is not known here
	PaidFast            // quicker answers at a higher price: an endpoint of tier priority
	PaidTier            // a service tier that is named on a wire which passes it on: an endpoint of that tier
	PaidRegion          // a place to compute in: an endpoint of that region

	paidEnd
)

// HostedTools is how many of them, from the start, are tools that providers run at a price for each call.
const HostedTools = 5

var paidNames = map[Paid]string{PaidWebSearch: "web_search", PaidWebFetch: "web_fetch", PaidFileSearch: "file_search", PaidCodeExecution: "code_execution", PaidMCP: "mcp",
	PaidImageGeneration: "image_generation", PaidOtherTool: "a hosted tool that is not known", PaidFast: "speed", PaidTier: "service_tier", PaidRegion: "inference_geo"}

// String lists the names, separated by commas.
func (p Paid) String() string {
	var names []string
	for one := Paid(1); one < paidEnd; one <<= 1 {
		if p&one != 0 {
			names = append(names, paidNames[one])
		}
	}
	return strings.Join(names, ", ")
}

// Paid is the set of tools of providers that have a price.
func (p *Prices) Paid() (set Paid) {
	for i, price := range [HostedTools]*money.Price{&p.WebSearch, &p.WebFetch, &p.FileSearch, &p.CodeExecution, &p.MCP} {
		if price.Set {
			set |= 1 << i
		}
	}
	return set
}
