// Package world_test proves the wires by what the world sends: cases of public bug reports and corners of the specification, and live
// traffic that public projects recorded. A node serves, a scripted provider answers as the case says, and both sides are compared with it.
package world_test

import (
	"os"
	"testing"

	"weir/internal/app/apptest"
)

func TestMain(m *testing.M) { os.Exit(apptest.Main(m)) }
