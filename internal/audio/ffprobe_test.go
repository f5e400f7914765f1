package audio_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"weir/internal/audio"
)

// Another program, which many use, must find that the audio lasts as long. It is asked for the sum of its packets: what it says of a whole
// file is what the file claims, or a guess. Encoders add up to a tenth of a second, which readers count or leave out as they like.
func TestProbeAgreesWithFFprobe(t *testing.T) {
	t.Parallel()
	program, err := exec.LookPath("ffprobe")
	if err != nil {
		t.Fatal("this test needs ffprobe: run make ffmpeg, or on Debian and Ubuntu apt-get install ffmpeg, or put it into the search path")
	}
	files := recordings(t)
	for _, c := range generated {
		whole := c.format == audio.WAV || c.format == audio.MP3 || c.format == audio.MPGA || c.format == audio.MPEG // the others do not describe their audio
		if whole && c.exact && c.want > 0 {
			files[c.name] = c.file
		}
	}
	for name, file := range files {
		if unlike[name] {
			continue
		}
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			path := filepath.Join(t.TempDir(), "file")
			if err := os.WriteFile(path, file, 0o600); err != nil {
				t.Fatal(err)
			}
			got, want := probe(t, file).Duration, packets(t, program, path)
			if difference := (got - want).Abs(); difference > 100*time.Millisecond {
				t.Errorf("%v, ffprobe finds %v", got, want)
			}
		})
	}
}

// unlike are files that ffprobe takes for something else, or whose content around a gap or a border it leaves out or counts twice.
var unlike = map[string]bool{
	"chained.ogg":                          true,
	"mp3, one frame":                       true,
	"mp3, streams of two sampling rates":   true,
	"mp3, junk before, between and behind": true,
}

// packets is how long the packets of the first audio in a file last together.
func packets(t *testing.T, ffprobe, path string) time.Duration {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), ffprobe, "-v", "error", "-select_streams", "a:0", "-show_entries", "packet=duration_time", "-of", "csv=p=0", path)
	cmd.WaitDelay = time.Minute
	out, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}
	var sum float64
	for line := range strings.Lines(string(out)) {
		text, _, _ := strings.Cut(strings.TrimSpace(line), ",")
		if seconds, err := strconv.ParseFloat(text, 64); err == nil { // or N/A
			sum += seconds
		}
	}
	return time.Duration(sum * float64(time.Second))
}
