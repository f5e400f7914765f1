package upstream

import "strings"

// Diverts reports whether a field that a client adds would change where a request goes, whose credentials it has or who is told: servers that
// are gateways themselves heed such fields. They never travel on.
func Diverts(name string) bool {
	switch name = strings.ToLower(name); name {
	case "api_base", "base_url", "api_key", "key", "api_version", "organization", "custom_llm_provider", "extra_headers", "extra_body", "headers", "proxy",
		"timeout", "user_config":
		return true
	}
	return strings.Contains(name, "webhook") || strings.Contains(name, "callback")
}
