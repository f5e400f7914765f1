package builtin

// ParseQuirks reads a quirks object of providers.json.
var ParseQuirks = parseQuirks

// ParseFacts reads a facts object of providers.json and facts.json.
var ParseFacts = parseFacts

// ParseProviders reads a file like providers.json.
var ParseProviders = parseProviders

// HostedJSON is what tools cost that makers of models run themselves.
var HostedJSON = hostedJSON
