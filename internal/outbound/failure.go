package outbound

// Failure is what went wrong at a proxy, or behind it before there was a connection. Its text names the proxy without user name and password.
type Failure struct {
	Proxy  Proxy
	What   string // continues "the proxy ..."
	Remedy string // what the operator should do; a sentence without its point
	Cause  error
}

func (f *Failure) Error() string {
	return "the proxy " + f.Proxy.String() + " " + f.What + ": " + f.Remedy
}

// Unwrap returns the cause, nil where the proxy itself answered.
func (f *Failure) Unwrap() error { return f.Cause }
