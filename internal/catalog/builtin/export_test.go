package builtin

// ParseQuirks reads a quirks object of providers.json.
var ParseQuirks = parseQuirks

// ParseProviders reads a file like providers.json.
var ParseProviders = parseProviders
