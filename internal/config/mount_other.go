//go:build !linux

package config

func mountOf(string) mount { return mount{} }
