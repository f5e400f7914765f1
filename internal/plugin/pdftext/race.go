//go:build race

package pdftext

// shadow is how many bytes are mapped for each byte of memory: the race detector keeps notes on all of them.
const shadow = 12

// environment keeps a child of a test from waiting a second at its end for races that threads might still show.
var environment = []string{"GORACE=atexit_sleep_ms=0"}
