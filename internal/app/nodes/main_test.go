package nodes_test

import (
	"os"
	"testing"

	"weir/internal/app/apptest"
)

func TestMain(m *testing.M) { os.Exit(apptest.Main(m)) }
