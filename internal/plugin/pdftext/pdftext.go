// Package pdftext reads PDF files in a child process of the same program, whose memory and time the system bounds: a file that crashes
// its reader does not harm the gateway. It must not be used to run anything else, and a child must never get a secret.
package pdftext

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"runtime"
	"strconv"
	"time"

	"weir/internal/plugin/pdf"
)

// Command is the first argument of a child. What follows are the limits.
const Command = "pdftext"

// Limits bound one child. All are set by the child on itself before it reads a byte of the file.
type Limits struct {
	Memory int64         // bytes
	CPU    time.Duration // rounded up to whole seconds
	PDF    pdf.Limits
}

// Why a file could not be read, in addition to the reasons of package pdf.
var (
	ErrCostly = errors.New("reading it takes too much memory or time")
	ErrBroken = errors.New("its structure is damaged")
	// ErrUnavailable is no fault of the file.
	ErrUnavailable = errors.New("the process that reads files cannot be started")
)

// Outcome is the result of reading a file.
type Outcome struct {
	Text string
	Cut  bool          // the file has more than the limits allow
	Work int           // steps spent, also of a file that failed
	CPU  time.Duration // that the child took, also of one that failed
}

// Exit codes of a child. Go itself exits with 2 when memory cannot be allocated or a stack grows without bound.
const (
	exitUsage = 74
	exitLimit = 75 // a limit could not be set
	exitShort = 76 // the file ended early: its sender has gone
	exitPanic = 77
	exitWrite = 78
)

// answers are the first words of a child's output.
var answers = []struct {
	word string
	err  error
}{
	{"text", nil}, {"none", pdf.ErrNoPDF}, {"encrypted", pdf.ErrEncrypted}, {"textless", pdf.ErrNoText}, {"large", pdf.ErrTooLarge},
}

const maxHead = 64 // bytes of a child's first line

// Read returns the text of a file of the given size. It fails with an error of this package or of package pdf, or with ctx's. It is safe
// for concurrent use; the caller bounds the number of children.
func Read(ctx context.Context, file io.Reader, size int, lim Limits) (Outcome, error) {
	program, err := program()
	if err != nil {
		return Outcome{}, fmt.Errorf("%w: %w", ErrUnavailable, err)
	}
	out := &bounded{most: maxHead + lim.PDF.Text}
	c := exec.CommandContext(ctx, program)
	c.Args = append([]string{"weir", Command}, lim.args(size)...)
	c.Env, c.Dir = environment, string(os.PathSeparator)
	c.Stdin, c.Stdout = io.LimitReader(file, int64(size)), out
	c.WaitDelay = time.Second
	c.SysProcAttr = attributes()
	// The child dies with the thread that began it: that one has to stay.
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	if err := c.Start(); err != nil {
		if ctx.Err() != nil {
			return Outcome{}, ctx.Err()
		}
		return Outcome{}, fmt.Errorf("%w: %w", ErrUnavailable, err)
	}
	err = c.Wait()
	took := c.ProcessState.UserTime() + c.ProcessState.SystemTime()
	if ctx.Err() != nil {
		return Outcome{CPU: took}, ctx.Err()
	}
	if err != nil {
		return Outcome{CPU: took}, failure(c.ProcessState)
	}
	o, err := parse(out.b.Bytes())
	o.CPU = took
	return o, err
}

func failure(s *os.ProcessState) error {
	switch s.ExitCode() {
	case exitPanic:
		return ErrBroken
	case exitUsage, exitLimit, exitShort:
		return fmt.Errorf("%w: exit code %d", ErrUnavailable, s.ExitCode())
	}
	return ErrCostly // ended by a signal, or by Go for lack of memory
}

// parse reads a child's output: a line with an answer, whether the text was cut, and the work; then the text.
func parse(said []byte) (Outcome, error) {
	head, text, _ := bytes.Cut(said, []byte("\n"))
	words := bytes.Fields(head)
	if len(words) != 3 {
		return Outcome{}, ErrBroken
	}
	work, err := strconv.Atoi(string(words[2]))
	if err != nil || work < 0 {
		return Outcome{}, ErrBroken
	}
	for _, a := range answers {
		if string(words[0]) == a.word {
			return Outcome{Text: string(text), Cut: string(words[1]) == "cut", Work: work}, a.err
		}
	}
	return Outcome{}, ErrBroken
}

// bounded keeps what is written, up to a limit; then it fails, which ends the writer.
type bounded struct {
	b    bytes.Buffer
	most int
}

func (w *bounded) Write(p []byte) (int, error) {
	if w.b.Len()+len(p) > w.most {
		return 0, io.ErrShortWrite
	}
	return w.b.Write(p)
}

func (l *Limits) args(size int) []string {
	seconds := max((l.CPU+time.Second-1)/time.Second, 1)
	n := []int64{int64(size), l.Memory, int64(seconds), int64(l.PDF.Bytes), int64(l.PDF.Pages), int64(l.PDF.Memory), int64(l.PDF.Text), int64(l.PDF.Work)}
	out := make([]string, len(n))
	for i := range n {
		out[i] = strconv.FormatInt(n[i], 10)
	}
	return out
}

// limitsOf reads the arguments that args wrote.
func limitsOf(args []string) (size int, l Limits, ok bool) {
	var n [8]int64
	if len(args) != len(n) {
		return 0, l, false
	}
	for i, a := range args {
		v, err := strconv.ParseInt(a, 10, 64)
		if err != nil || v < 0 {
			return 0, l, false
		}
		n[i] = v
	}
	return int(n[0]), Limits{Memory: n[1], CPU: time.Duration(n[2]) * time.Second,
		PDF: pdf.Limits{Bytes: int(n[3]), Pages: int(n[4]), Memory: int(n[5]), Text: int(n[6]), Work: int(n[7])}}, true
}
