// Package structure holds no code but the test that keeps imports pointing down, so that a package can be read and changed
// without knowing what stands above it. Nothing imports it, and it knows the tree by its files only.
package structure
