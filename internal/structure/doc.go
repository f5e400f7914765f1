// Package structure contains only tests, which check the direction of imports, so that a package can be read and changed without knowing
// the layers above it. Nothing imports it, and it reads the tree only as files.
package structure
