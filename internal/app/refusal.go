package app

import (
	"errors"
	"fmt"
	"io/fs"
	"syscall"

	"weir/internal/fault"
)

// Primary result codes of SQLite, https://www.sqlite.org/rescode.html. Extended codes have them in their low byte.
const (
	sqliteBusy     = 5
	sqliteReadOnly = 8
	sqliteCorrupt  = 11
	sqliteFull     = 13
	sqliteNotADB   = 26
)

// notListening is the error of a setting or flag whose address cannot be listened on. instead is what else could be chosen.
func notListening(setting string, err error, instead string) error {
	if errors.Is(err, fs.ErrPermission) {
		return fmt.Errorf("%s: %w; for a port below 1024 a service needs CAP_NET_BIND_SERVICE (docs/install.md#a-service-with-tls); or choose %s", setting, err, instead)
	}
	return fmt.Errorf("%s: %w; choose %s", setting, err, instead)
}

// explained makes an error of a start that names the path, the reason and what to do. Errors that have a sentence stay as they are, and so do
// those with an unusual reason, with the path.
func explained(path string, err error) error {
	var f *fault.Error
	if err == nil || errors.As(err, &f) && f.Public != "" {
		return err
	}
	cause := err
	if f != nil {
		cause = f.Cause
	}
	code := -1
	var coded interface{ Code() int }
	if errors.As(err, &coded) {
		code = coded.Code() & 0xff
	}
	var said string
	switch {
	case errors.Is(err, syscall.EROFS):
		said = fmt.Sprintf("%s is on a file system that is mounted read-only. Mount it for writing, or name another folder in data_dir.", path)
	case errors.Is(err, fs.ErrPermission), code == sqliteReadOnly:
		// No command that changes owners: it would be pasted as root, and the folder may be one that others use, too.
		said = fmt.Sprintf("%s, or its folder, does not allow the user that runs this command to write. Run the command as the user that owns them (ls -ld %s), or name another folder in data_dir.", path, path)
	case errors.Is(err, syscall.ENOSPC), errors.Is(err, syscall.EDQUOT), code == sqliteFull:
		said = fmt.Sprintf("There is no room on the disk of %s. Free some, or name another folder in data_dir.", path)
	case code == sqliteNotADB, code == sqliteCorrupt:
		said = fmt.Sprintf("%s is not a database, or is damaged. Restore a backup with weir restore, or move the file away if it is not Weir's.", path)
	case code == sqliteBusy:
		said = fmt.Sprintf("%s is being written by another process, which does not stop. Look for it with: fuser %s", path, path)
	case errors.Is(err, syscall.EISDIR):
		said = fmt.Sprintf("%s is a folder, and must be a file. Move it away, or name another folder in data_dir.", path)
	case errors.Is(err, syscall.ENOTDIR):
		said = fmt.Sprintf("%s cannot be a folder, because a part of its path is a file. Name another folder in data_dir.", path)
	case errors.Is(err, fs.ErrNotExist):
		said = fmt.Sprintf("%s cannot be made. Make its folder first, or name another one in data_dir.", path)
	default:
		return fmt.Errorf("%s: %w", path, cause)
	}
	return fault.New(fault.Invalid, "app.open", said).Because(cause)
}
