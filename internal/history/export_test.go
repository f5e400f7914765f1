package history

// Frame is what a file has of a response that waits.
func Frame(r *Response) []byte {
	b, _ := newFrame(r)
	return b
}

// ReadFrame reads what Frame makes.
var ReadFrame = readFrame
