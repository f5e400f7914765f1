package backup

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"weir/internal/disk"
)

// listName is the file with the checksums of all others. It is written last, and sha256sum --check reads it as well.
const listName = "SHA256SUMS"

// firstLine begins each list. Its number changes when an older program could not read the backup.
const firstLine = "# weir backup 1"

func writeList(dir string, b *Backup) error {
	var s strings.Builder
	fmt.Fprintf(&s, "%s\n# made %s\n# version %s\n", firstLine, b.At.Format(time.RFC3339), strings.Join(strings.Fields(b.Version), " "))
	for _, f := range b.Files {
		fmt.Fprintf(&s, "%s  %s\n", f.SHA256, f.Name)
	}
	f, err := os.OpenFile(filepath.Join(dir, listName), os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	_, err = f.WriteString(s.String())
	return errors.Join(err, f.Sync(), f.Close(), disk.SyncFolder(dir))
}

// Open reads the list of a backup and compares each file with its checksum. It fails when a file is missing, differs, or is not listed.
func Open(ctx context.Context, path string) (Backup, error) {
	b, err := readList(path)
	if err != nil {
		return b, err
	}
	there, err := sums(ctx, path)
	if err != nil {
		return b, err
	}
	return b, compare(path, b.Files, there)
}

// compare checks that two lists in order of names are equal.
func compare(path string, listed, there []File) error {
	for len(listed) > 0 || len(there) > 0 {
		switch {
		case len(there) == 0 || len(listed) > 0 && listed[0].Name < there[0].Name:
			return fmt.Errorf("%s is missing: the backup is not whole, use another one", filepath.Join(path, listed[0].Name))
		case len(listed) == 0 || there[0].Name < listed[0].Name:
			return fmt.Errorf("%s is not a part of the backup: remove it, or use another backup", filepath.Join(path, there[0].Name))
		case listed[0].SHA256 != there[0].SHA256:
			return fmt.Errorf("%s has changed since the backup was made: use another one", filepath.Join(path, listed[0].Name))
		}
		listed, there = listed[1:], there[1:]
	}
	return nil
}

func readList(path string) (b Backup, err error) {
	b.Path = path
	f, err := os.Open(filepath.Join(path, listName))
	if errors.Is(err, os.ErrNotExist) {
		return b, fmt.Errorf("%s is not a backup: it has no file %s", path, listName)
	}
	if err != nil {
		return b, err
	}
	defer func() { _ = f.Close() }()
	wrong := fmt.Errorf("%s cannot be read: this program did not write it, or an older one than this cannot read it", filepath.Join(path, listName))
	lines := bufio.NewScanner(f)
	if !lines.Scan() || lines.Text() != firstLine {
		return b, wrong
	}
	for lines.Scan() {
		line := lines.Text()
		if made, ok := strings.CutPrefix(line, "# made "); ok {
			if b.At, err = time.Parse(time.RFC3339, made); err != nil {
				return b, wrong
			}
			continue
		}
		if version, ok := strings.CutPrefix(line, "# version "); ok {
			b.Version = version
			continue
		}
		sum, name, ok := strings.Cut(line, "  ")
		if !ok || len(sum) != 64 || !filepath.IsLocal(filepath.FromSlash(name)) || len(b.Files) > 0 && name <= b.Files[len(b.Files)-1].Name {
			return b, wrong
		}
		b.Files = append(b.Files, File{Name: name, SHA256: sum})
	}
	if b.At.IsZero() || lines.Err() != nil {
		return b, wrong
	}
	return b, nil
}
