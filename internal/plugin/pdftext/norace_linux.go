//go:build !race

package pdftext

// shadow is how many bytes are mapped for each byte of memory.
const shadow = 1
