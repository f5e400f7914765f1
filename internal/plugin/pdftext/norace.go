//go:build !race

package pdftext

// shadow is how many bytes are mapped for each byte of memory.
const shadow = 1

// environment is what the child is given: nothing, so no secret.
var environment = []string{}
