package journal

import "os"

// zeros fills a file where the file system cannot promise blocks in another way.
func zeros(f *os.File, bytes int64) error {
	block := make([]byte, 1<<20)
	for at := int64(0); at < bytes; at += int64(len(block)) {
		if _, err := f.WriteAt(block[:min(int64(len(block)), bytes-at)], at); err != nil {
			return err
		}
	}
	return f.Sync()
}
