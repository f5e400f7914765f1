package wire

import "weir/internal/rawjson"

// AppendNotice appends a member for the end of an answer that reports what of the request did not reach the provider: nothing without one.
func AppendNotice(b []byte, notice string) []byte {
	if notice == "" {
		return b
	}
	return append(rawjson.AppendText(append(b, `,"metadata":{"notice":`...), notice), '}')
}
