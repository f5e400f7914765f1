package pdftext

import (
	"errors"
	"io"
	"runtime"
	"runtime/debug"
	"strconv"

	"weir/internal/plugin/pdf"
)

// IsChild reports whether a program with these arguments, its name left out, is a child. Such a program calls Main and does nothing else.
func IsChild(args []string) bool { return len(args) > 0 && args[0] == Command }

// Main is a child: it reads a file and writes its text. It returns the exit code.
func Main(args []string, in io.Reader, out io.Writer) (code int) {
	if !IsChild(args) {
		return exitUsage
	}
	size, lim, ok := limitsOf(args[1:])
	if !ok {
		return exitUsage
	}
	runtime.GOMAXPROCS(1) // one file gets one processor
	debug.SetGCPercent(50)
	debug.SetMemoryLimit(lim.Memory / 10 * 9)
	debug.SetMaxStack(16 << 20)
	if err := confine(lim); err != nil {
		return exitLimit
	}
	defer func() {
		if recover() != nil {
			code = exitPanic
		}
	}()
	if size > lim.PDF.Bytes {
		return say(out, pdf.ErrTooLarge, false, 0, "")
	}
	file := make([]byte, size)
	if _, err := io.ReadFull(in, file); err != nil {
		return exitShort
	}
	o, err := pdf.Text(file, lim.PDF)
	return say(out, err, o.Cut, o.Work, o.Text)
}

func say(out io.Writer, err error, cut bool, work int, text string) int {
	for _, a := range answers {
		if a.err == err || a.err != nil && errors.Is(err, a.err) {
			b := append([]byte(a.word), " whole "...)
			if cut {
				b = append([]byte(a.word), " cut "...)
			}
			b = append(strconv.AppendInt(b, int64(work), 10), '\n')
			if _, err := out.Write(b); err != nil {
				return exitWrite
			}
			if _, err := io.WriteString(out, text); err != nil {
				return exitWrite
			}
			return 0
		}
	}
	return exitPanic
}
