package wire

import "weir/internal/rawjson"

// AppendNotice appends a member that reports which parts of the request were not sent to the provider, or nothing when notice is "".
func AppendNotice(b []byte, notice string) []byte {
	if notice == "" {
		return b
	}
	return append(rawjson.AppendText(append(b, `,"metadata":{"notice":`...), notice), '}')
}
