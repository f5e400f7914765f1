//go:build !unix

package httpapi

// processorTime is not measured here: the gate needs our own server, which is for other systems.
func processorTime() int64 { return 0 }
