//go:build !linux

package app

// trim does nothing where pages cannot be given back by name.
func trim() {}
