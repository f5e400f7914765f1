package builtin

// ParseQuirks reads a quirks object of providers.json.
var ParseQuirks = parseQuirks
