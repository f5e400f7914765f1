package upstreamtest

import (
	"bytes"
	"compress/gzip"
)

// gzipped is a compressed JSON answer without its last cut bytes, under a length that admits it.
func gzipped(body string, cut int) string {
	return Sized(200, "application/json", compress(body, cut), "Content-Encoding: gzip")
}

// gzippedStream is the same for an event stream.
func gzippedStream(body string, cut int) string {
	return StreamHead("Content-Encoding: gzip") + Chunk(compress(body, cut)) + StreamEnd
}

func compress(body string, cut int) string {
	var b bytes.Buffer
	zw := gzip.NewWriter(&b)
	_, _ = zw.Write([]byte(body))
	_ = zw.Close()
	return b.String()[:b.Len()-cut]
}

// Gzipped is a compressed JSON answer that was not asked for.
func Gzipped(body string) string { return gzipped(body, 0) }
