package paper

// What tests read beside the documents.
var (
	InWords = inWords
	Payload = payload
)
