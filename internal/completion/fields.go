package completion

import (
	"slices"
	"strings"
)

// diverting are the fields by which gateways and their client libraries take another address, other credentials, another account, another price
// or somebody else to tell: a request has no say in these. They are written here without case, hyphens and underscores. Where they come from:
// LiteLLM's proxy and library (litellm_params and what completion() takes beside a wire's own fields), Portkey's and Azure's clients, the
// official SDKs' options, which some clients write into the body.
var diverting = []string{
	"allowedmodelregion", "apibase", "apiendpoint", "apikey", "apitype", "apiurl", "apiversion", "authorization", "basemodel", "baseurl",
	"byok", "contentpolicyfallbacks", "contextwindowfallbacks", "customllmprovider", "defaultfallbacks", "defaultheaders",
	"deploymentid", "endpointurl", "extrabody", "extraheaders", "extraquery", "fallbacks", "headers", "httpproxy", "httpsproxy", "key",
	"maxretries", "mockdelay", "mockresponse", "mocktimeout", "mocktoolcalls", "modelinfo", "modellist", "numretries", "organization",
	"organizationid", "preset", "projectid", "providerspecificheader", "proxies", "proxy", "proxyserverrequest", "regionname",
	"requesttimeout", "secretfields", "sslverify", "streamtimeout", "timeout", "useragent", "userconfig", "virtualkey",
}

// Diverts reports whether a field would change where a request goes, whose credentials it has, what it costs there or who is told, at servers that
// heed such fields. Requests with one are refused.
func Diverts(name string) bool {
	if at := strings.IndexAny(name, "[."); at > 0 {
		name = name[:at] // forms and queries nest so
	}
	if len(name) > 64 {
		return false
	}
	var room [64]byte
	plain := string(fold(room[:0], name))
	if _, found := slices.BinarySearch(diverting, plain); found {
		return true
	}
	for _, prefix := range [...]string{"aws", "azure", "litellm", "vertex", "watsonx", "userapikey"} {
		if strings.HasPrefix(plain, prefix) {
			return true
		}
	}
	return strings.Contains(plain, "webhook") || strings.Contains(plain, "callback") || strings.Contains(plain, "costper")
}

// fold leaves out of a name what tells its spellings apart, as servers that are lenient do.
func fold(to []byte, name string) []byte {
	for i := range len(name) {
		switch c := name[i]; {
		case c == '_' || c == '-' || c == ' ':
		case c >= 'A' && c <= 'Z':
			to = append(to, c|0x20)
		default:
			to = append(to, c)
		}
	}
	return to
}

// DivertsAsNote is Diverts for a client's notes on a request, whose names are its own but for those that gateways look for.
func DivertsAsNote(name string) bool {
	name = strings.ToLower(name)
	if strings.HasPrefix(name, "api_") || strings.HasPrefix(name, "api-") {
		return true
	}
	plain := string(fold(nil, name))
	return plain == "apikey" || plain == "apibase" || strings.HasPrefix(plain, "userapikey") || strings.HasPrefix(plain, "litellm")
}

// gatewayOnly are the fields that speak to this gateway. No provider gets them, unless its declaration says that it is a gateway itself.
var gatewayOnly = []string{"debug", "models", "plugins", "provider", "route", "session_id", "trace", "transforms", "usage"}

// GatewayOnly reports whether a top-level field speaks to this gateway and not to the model.
func GatewayOnly(name string) bool { return slices.Contains(gatewayOnly, name) }

// GatewayFields are those of which GatewayOnly is true.
func GatewayFields() []string { return slices.Clone(gatewayOnly) }

// DivertingFields are names of which Diverts is true, in the spellings that are seen.
func DivertingFields() []string {
	return []string{"api_base", "apiBase", "API_BASE", "api-base", "base_url", "baseURL", "api_key", "apiKey", "api_version", "api_type", "organization", "custom_llm_provider",
		"extra_headers", "extra_body", "extra_query", "headers", "proxy", "timeout", "user_config", "webhook_url", "azure_ad_token", "aws_access_key_id",
		"aws_bedrock_runtime_endpoint", "vertex_project", "vertex_credentials", "base_model", "mock_response", "fallbacks", "context_window_fallbacks", "callbacks",
		"success_callback", "litellm_params", "litellm_metadata", "litellm_credential_name", "input_cost_per_token", "deployment_id", "model_list", "virtual_key", "preset", "num_retries"}
}
