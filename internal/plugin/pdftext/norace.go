//go:build !race

package pdftext

// shadow is how many bytes are mapped for each byte of memory.
const shadow = 1

// environment is the child's environment: empty, so that it has no secret.
var environment = []string{}
