package builtin

// ParseQuirks reads a quirks object of providers.json.
var ParseQuirks = parseQuirks

// ParseProviders reads a file like providers.json.
var ParseProviders = parseProviders

// HostedJSON is what tools cost that makers of models run themselves.
var HostedJSON = hostedJSON
