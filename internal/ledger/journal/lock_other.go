//go:build !unix || solaris || aix

package journal

import (
	"errors"
	"os"
)

// flock refuses: without an exclusive lock two processes could share a journal and lose settlements.
func flock(*os.File) error { return errors.ErrUnsupported }
