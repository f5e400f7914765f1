package wire

import (
	"weir/internal/catalog"
	"weir/internal/completion"
	"weir/internal/rawjson"
	"weir/internal/routing"
)

// clientTools are types of tools that run at the client, or cost only their tokens; the types of the messages wire end in a date.
var clientTools = map[string]bool{"": true, "function": true, "custom": true, "namespace": true, "local_shell": true, "apply_patch": true, "computer": true, "computer_use_preview": true,
	"bash": true, "text_editor": true, "memory": true, "tool_search": true, "tool_search_tool_regex": true, "tool_search_tool_bm25": true, "openrouter:datetime": true}

// hostedTools are types of tools that providers run, in the spellings of all wires, without a date.
var hostedTools = map[string]catalog.Paid{
	"web_search": catalog.PaidWebSearch, "openrouter:web_search": catalog.PaidWebSearch, "web_search_preview": catalog.PaidWebSearch, "google_search": catalog.PaidWebSearch, "googleSearch": catalog.PaidWebSearch, "google_search_retrieval": catalog.PaidWebSearch,
	"web_fetch": catalog.PaidWebFetch, "openrouter:web_fetch": catalog.PaidWebFetch, "url_context": catalog.PaidWebFetch, "urlContext": catalog.PaidWebFetch,
	"file_search": catalog.PaidFileSearch, "collections_search": catalog.PaidFileSearch,
	"code_interpreter": catalog.PaidCodeExecution, "code_execution": catalog.PaidCodeExecution, "codeExecution": catalog.PaidCodeExecution, "shell": catalog.PaidCodeExecution,
	"image_generation": catalog.PaidImageGeneration, "openrouter:image_generation": catalog.PaidImageGeneration, "mcp": catalog.PaidMCP, "mcp_toolset": catalog.PaidMCP,
}

// PaidTool returns what a tool costs in addition to its tokens: nothing where the client runs it. An unknown type is run by the provider,
// at an unknown price.
func PaidTool(tool []byte) catalog.Paid {
	kind := completion.ToolKind(rawjson.TextAt(tool, "type"))
	if clientTools[kind] || kind == "shell" && rawjson.Text(rawjson.FindPath(tool, "environment", "type")) == "local" {
		return 0
	}
	if size := rawjson.Text(rawjson.FindPath(tool, "container", "memory_limit")); size != "" && size != "1g" {
		return catalog.PaidOtherTool // larger containers cost more
	}
	if paid, ok := hostedTools[kind]; ok {
		return paid
	}
	return catalog.PaidOtherTool
}

// maxUses is more than the uses of a tool in any request, and small enough to compute a price.
const maxUses = 1_000_000

// OfferTool records what a tool of a request costs, and how often it may be used.
func OfferTool(needs *routing.Needs, tool []byte) {
	for e := rawjson.ElementsOf(rawjson.Find(tool, "tools")); e.Next(); { // of a namespace
		OfferTool(needs, e.Value)
	}
	if completion.IsAdvisor(rawjson.TextAt(tool, "type")) {
		needs.Advisor = true
		return
	}
	paid := PaidTool(tool)
	if paid == 0 {
		return
	}
	needs.Paid |= paid
	needs.Web = needs.Web || paid == catalog.PaidWebSearch
	if most, ok := rawjson.Int(rawjson.Find(tool, "max_uses")); ok && most > 0 {
		for i := range needs.Uses {
			if paid == 1<<i {
				needs.Uses[i] = min(needs.Uses[i]+most, maxUses)
			}
		}
	}
}

// PaidMember records what a top-level member of a request, of any style, costs in addition to its tokens. null, false and the default
// values cost nothing.
func PaidMember(needs *routing.Needs, name string, value []byte) {
	if rawjson.IsNull(value) || string(value) == "false" {
		return
	}
	switch name {
	case "speed":
		if word := rawjson.Text(value); word != "standard" && word != "normal" {
			needs.Paid |= catalog.PaidFast
			needs.Tier = "priority"
		}
	case "inference_geo":
		if word := rawjson.Text(value); word != "global" {
			needs.Paid |= catalog.PaidRegion
			needs.Region = word
		}
	case "mcp_servers":
		if string(value) != "[]" {
			needs.Paid |= catalog.PaidMCP
		}
	case "container":
		needs.Paid |= catalog.PaidCodeExecution
	case "search_parameters":
		if rawjson.TextAt(value, "mode") != "off" {
			needs.Paid |= catalog.PaidWebSearch
			needs.Search = true
		}
	case "enable_search", "enable_web_search", "web_search", "search_options", "search_settings":
		needs.Paid |= catalog.PaidWebSearch
		needs.Search = true
	}
}
