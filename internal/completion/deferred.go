package completion

// Deferred is how a request goes to a provider as a part of one of the provider's batches. It is used twice: without an Answer the attempt
// only fills in what the provider is to get, and fails with an error that stops the call; with one the attempt reads that, and calls no provider.
type Deferred struct {
	Endpoint string              // id of the endpoint; with an Answer the only one that may serve
	Path     string              // of the request, below the provider's base URL
	Header   map[string][]string // fields of the request in addition to the usual ones, nil none
	Body     []byte              // JSON object; nil: the request cannot be a part of a batch
	Most     int                 // requests that such a batch may have, 0 any number
	Required bool                // the client wants a provider's batch, or nothing

	Answer *DeferredAnswer
	Key    string // with an Answer, the tag of the credential that the batch was made with, "" unknown
}

// DeferredAnswer is what a provider answered to a request of a batch.
type DeferredAnswer struct {
	Status int
	Body   []byte
}

// Prepares reports whether the request is only prepared: no provider is called.
func (d *Deferred) Prepares() bool { return d != nil && d.Answer == nil }
