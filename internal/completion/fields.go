package completion

import (
	"net/url"
	"slices"
	"strings"
)

// diverting are the fields with which gateways and their client libraries set another address, credentials, account, price or callback.
// A request must not set these. They are written here in lower case, without hyphens and underscores. Sources: LiteLLM's proxy and library
// (litellm_params and the arguments of completion() that are not fields of a wire), Portkey's and Azure's clients, Anthropic's fields for
// whom to bill, and the options of the official SDKs, which some clients write into the body.
var diverting = []string{
	"allowedmodelregion", "apibase", "apiendpoint", "apikey", "apitype", "apiurl", "apiversion", "authorization", "basemodel", "baseurl",
	"billingpolicy", "byok", "contentpolicyfallbacks", "contextwindowfallbacks", "customllmprovider", "defaultfallbacks", "defaultheaders",
	"deploymentid", "endpointurl", "extrabody", "extraheaders", "extraquery", "fallbacks", "headers", "httpproxy", "httpsproxy", "key",
	"maxretries", "mockdelay", "mockresponse", "mocktimeout", "mocktoolcalls", "modelinfo", "modellist", "numretries", "organization",
	"organizationid", "preset", "projectid", "providerspecificheader", "proxies", "proxy", "proxyserverrequest", "regionname",
	"requesttimeout", "secretfields", "sslverify", "streamtimeout", "timeout", "useragent", "userconfig", "userprofileid", "virtualkey", "workspaceid",
}

// Diverts reports whether a server that accepts the field would change the request's address, credentials, price or callback because of it.
// Requests with such a field are refused.
func Diverts(name string) bool {
	if at := strings.IndexAny(name, "[."); at > 0 {
		name = name[:at] // nested names in forms and queries: a[b], a.b
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

// fold removes the differences between spellings of a name (case, hyphens, underscores), as lenient servers do.
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

// DivertsAsNote is Diverts for a request's metadata. Clients choose those names freely, except for the names that gateways read.
func DivertsAsNote(name string) bool {
	name = strings.ToLower(name)
	if strings.HasPrefix(name, "api_") || strings.HasPrefix(name, "api-") {
		return true
	}
	plain := string(fold(nil, name))
	return plain == "apikey" || plain == "apibase" || strings.HasPrefix(plain, "userapikey") || strings.HasPrefix(plain, "litellm")
}

// gatewayOnly are the fields for this gateway. They are not sent to a provider, unless its declaration says that it is a gateway too.
var gatewayOnly = []string{"debug", "models", "plugins", "provider", "route", "session_id", "trace", "transforms", "usage"}

// GatewayOnly reports whether a top-level field is for this gateway and not for the model.
func GatewayOnly(name string) bool { return slices.Contains(gatewayOnly, name) }

// GatewayFields returns the fields for which GatewayOnly is true.
func GatewayFields() []string { return slices.Clone(gatewayOnly) }

// DivertingFields returns names for which Diverts is true, in the spellings that clients use.
func DivertingFields() []string {
	return []string{"api_base", "apiBase", "API_BASE", "api-base", "base_url", "baseURL", "api_key", "apiKey", "api_version", "api_type", "organization", "custom_llm_provider",
		"extra_headers", "extra_body", "extra_query", "headers", "proxy", "timeout", "user_config", "webhook_url", "azure_ad_token", "aws_access_key_id",
		"aws_bedrock_runtime_endpoint", "vertex_project", "vertex_credentials", "base_model", "mock_response", "fallbacks", "context_window_fallbacks", "callbacks",
		"success_callback", "litellm_params", "litellm_metadata", "litellm_credential_name", "input_cost_per_token", "deployment_id", "model_list", "virtual_key", "preset", "num_retries",
		"billing_policy", "user_profile_id", "workspace_id"}
}

// PrivateFile reports whether an address names something that belongs to the account of a provider: a file that somebody has uploaded with
// the same key, or an object in a bucket. Such an address must not be sent to the provider, which would read it with that key.
func PrivateFile(address string) bool {
	u, err := url.Parse(address)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" {
		return true
	}
	host := strings.ToLower(strings.TrimSuffix(u.Hostname(), "."))
	return strings.HasSuffix(host, "googleapis.com") && (!strings.HasPrefix(host, "storage.") || strings.HasPrefix(u.Path, "/storage/"))
}
