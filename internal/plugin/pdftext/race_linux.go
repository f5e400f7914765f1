//go:build race

package pdftext

// shadow is how many bytes are mapped for each byte of memory: the race detector keeps notes on all of them.
const shadow = 12
