package journal

import (
	"crypto/rand"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"weir/internal/disk"
	"weir/internal/fault"
)

// Claim is one process's right to a folder. It ends with Release or with the process, however that ends.
type Claim struct {
	Node  string   // "node_...", the folder's identity
	Lives []string // that the folder's last starts had, or may have had
	dir   string
	lock  *os.File
}

// Take makes the folder when it is missing, and claims it for this process. It fails with fault.Conflict when another process has it. The
// identity is made once and stored in the folder: a copy of the folder must not run at the same time as the original.
func Take(dir string) (*Claim, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fault.Wrap("journal.Take", err)
	}
	lock, err := os.OpenFile(filepath.Join(dir, "lock"), os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, fault.Wrap("journal.Take", err)
	}
	if err := flock(lock); err != nil {
		return nil, errors.Join(fault.Newf(fault.Conflict, "journal.Take", "Another process uses the data directory %s.", dir).Because(err), lock.Close())
	}
	node, err := identity(filepath.Join(dir, nodeName))
	if err != nil {
		return nil, errors.Join(fault.Wrap("journal.Take", err), lock.Close())
	}
	lives, err := os.ReadFile(filepath.Join(dir, livesName))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, errors.Join(fault.Wrap("journal.Take", err), lock.Close())
	}
	return &Claim{Node: node, Lives: strings.Fields(string(lives)), dir: dir, lock: lock}, nil
}

// Names beside the files of records.
const (
	nodeName  = "node"  // the folder's identity
	livesName = "life"  // its lives
	asideName = "aside" // a folder for records that could not be used
)

// SetLives notes which lives the folder has, on the disk.
func (c *Claim) SetLives(lives ...string) error {
	if err := replace(filepath.Join(c.dir, livesName), strings.Join(lives, "\n")+"\n"); err != nil {
		return fault.Wrap("journal.SetLives", err)
	}
	c.Lives = lives
	return nil
}

// Rename gives the folder another identity.
func (c *Claim) Rename() error {
	node := newNode()
	if err := replace(filepath.Join(c.dir, nodeName), node+"\n"); err != nil {
		return fault.Wrap("journal.Rename", err)
	}
	c.Node = node
	return nil
}

// Keep writes a record that could not be used into a file in the folder aside of dir.
func Keep(dir, name string, rec []byte) (path string, err error) {
	dir = filepath.Join(dir, asideName)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return "", err
	}
	path = filepath.Join(dir, name+".record")
	return path, replace(path, string(rec))
}

// Release gives the folder up.
func (c *Claim) Release() error { return c.lock.Close() }

// Node reads the identity of a folder without claiming it; "" when it has none.
func Node(dir string) (string, error) {
	text, err := os.ReadFile(filepath.Join(dir, nodeName))
	if errors.Is(err, fs.ErrNotExist) {
		return "", nil
	}
	if err != nil {
		return "", fault.Wrap("journal.Node", err)
	}
	return strings.TrimSpace(string(text)), nil
}

func identity(path string) (string, error) {
	text, err := os.ReadFile(path)
	if err == nil && strings.HasPrefix(string(text), "node_") {
		return strings.TrimSpace(string(text)), nil
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return "", err
	}
	node := newNode()
	return node, replace(path, node+"\n")
}

func newNode() string { return "node_" + strings.ToLower(rand.Text()) }

// replace writes a small file. It is renamed when whole: a half-written identity would be another node.
func replace(path, text string) error {
	fresh := path + ".new"
	f, err := os.OpenFile(fresh, os.O_CREATE|os.O_WRONLY|os.O_TRUNC, 0o600)
	if err != nil {
		return err
	}
	_, err = f.WriteString(text)
	if err := errors.Join(err, f.Sync(), f.Close()); err != nil {
		return err
	}
	if err := os.Rename(fresh, path); err != nil {
		return err
	}
	return disk.SyncFolder(filepath.Dir(path))
}
