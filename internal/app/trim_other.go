//go:build !linux

package app

// trim does nothing on other systems.
func trim() {}
