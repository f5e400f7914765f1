package history_test

import (
	"bytes"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"weir/internal/audit"
	"weir/internal/fault"
	"weir/internal/history"
)

func whole(id, parent string) *history.Response {
	r := final(id, parent)
	r.Object, r.Input, r.Output, r.Items = []byte(`{"id":"`+id+`"}`), []byte("in "+id), []byte("out "+id), []string{"msg_" + id}
	return r
}

// What was kept is stored with others a moment later, in one transaction.
func TestTogether(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newMemory()
		m := manager(t, s, nil)
		for i := range 100 {
			m.Keep(whole(fmt.Sprint("resp_", i), ""))
		}
		time.Sleep(time.Second)
		synctest.Wait()
		if len(s.kept) != 100 || s.wrote != 1 {
			t.Errorf("%d responses in %d transactions", len(s.kept), s.wrote)
		}
	})
}

// Whatever is asked after Keep finds the response, although the store did not have it yet.
func TestKeptIsFound(t *testing.T) {
	t.Parallel()
	for name, ask := range map[string]func(t *testing.T, m *history.Manager) error{
		"Find": func(t *testing.T, m *history.Manager) error {
			_, err := m.Find(t.Context(), "usr_1", "resp_1")
			return err
		},
		"Chain": func(t *testing.T, m *history.Manager) error {
			_, err := m.Chain(t.Context(), "usr_1", "resp_1")
			return err
		},
		"Text": func(t *testing.T, m *history.Manager) error {
			_, err := m.Text(t.Context(), "usr_1", "resp_1", 1000)
			return err
		},
		"OfItem": func(t *testing.T, m *history.Manager) error {
			_, err := m.OfItem(t.Context(), "usr_1", "msg_resp_1")
			return err
		},
		"Has": func(t *testing.T, m *history.Manager) error {
			has, err := m.Has(t.Context(), "usr_1", "resp_1")
			if err == nil && !has {
				err = errors.New("it has none")
			}
			return err
		},
		"Delete": func(t *testing.T, m *history.Manager) error { return m.Delete(t.Context(), "usr_1", "resp_1") },
		"DeleteAll": func(t *testing.T, m *history.Manager) error {
			n, err := m.DeleteAll(t.Context(), "usr_1", audit.Actor{})
			if err == nil && n != 1 {
				err = fmt.Errorf("%d were deleted", n)
			}
			return err
		},
		"Cancel": func(t *testing.T, m *history.Manager) error {
			_, err := m.Cancel(t.Context(), "usr_1", "resp_1")
			if fault.Is(err, fault.Invalid) { // it is not in the background
				return nil
			}
			return errors.Join(err, errors.New("it was cancelled"))
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				m := manager(t, newMemory(), nil)
				m.Keep(whole("resp_1", ""))
				if err := ask(t, m); err != nil {
					t.Error(err)
				}
			})
		})
	}
}

// While the store is away responses wait, and questions about them fail; later it has them all.
func TestStoreAway(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newMemory()
		m := manager(t, s, nil)
		s.set(fault.New(fault.StorageUnavailable, "memory", ""))
		m.Keep(whole("resp_1", ""))
		time.Sleep(10 * time.Second)
		m.Keep(whole("resp_2", "resp_1"))
		_, err := m.Find(t.Context(), "usr_1", "resp_1")
		wantKind(t, err, fault.StorageUnavailable)
		s.set(nil)
		time.Sleep(2 * time.Second)
		synctest.Wait()
		if len(s.kept) != 2 {
			t.Errorf("the store has %d", len(s.kept))
		}
	})
}

// One response that the store can never take does not hold up the others.
func TestRefusedAlone(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newMemory()
		s.refused = "resp_1"
		var reported []string
		m := manager(t, s, func(c *history.Config) { c.Report = func(what string, _ error) { reported = append(reported, what) } })
		for _, id := range []string{"resp_0", "resp_1", "resp_2"} {
			m.Keep(whole(id, ""))
		}
		time.Sleep(time.Second)
		synctest.Wait()
		if _, ok := s.kept["usr_1resp_1"]; len(s.kept) != 2 || ok || len(reported) != 1 {
			t.Errorf("kept %v, reported %q", s.kept, reported)
		}
	})
}

// file is a history.File in memory.
type file struct{ b []byte }

func (f *file) Read() ([]byte, error) { return bytes.Clone(f.b), nil }
func (f *file) Empty() error          { f.b = nil; return nil }
func (f *file) Write(frame []byte) (int, error) {
	f.b = append(f.b, frame...)
	return len(frame), nil
}

// A process that dies leaves what waits in its files, of which the next start takes all that was written whole.
func TestDeath(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		hurt func(b []byte) []byte
		want int
	}{
		"nothing is damaged":  {func(b []byte) []byte { return b }, 3},
		"the last is cut":     {func(b []byte) []byte { return b[:len(b)-1] }, 2},
		"a head alone":        {func(b []byte) []byte { return b[:5] }, 0},
		"the last is changed": {func(b []byte) []byte { b[len(b)-1] ^= 1; return b }, 2},
		"zeros":               {func(b []byte) []byte { return append(b, make([]byte, 100)...) }, 3},
		"a long length":       {func(b []byte) []byte { return append(b, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0, 0, 0, 0) }, 3},
		"nothing":             {func([]byte) []byte { return nil }, 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				one, two := &file{}, &file{}
				s := newMemory()
				dead := manager(t, s, func(c *history.Config) { c.Files = [2]history.File{one, two} })
				s.set(fault.New(fault.StorageUnavailable, "memory", "")) // it dies before the store gets any
				for i := range 3 {
					dead.Keep(whole(fmt.Sprint("resp_", i), ""))
				}
				left := [2]*file{{bytes.Clone(one.b)}, {bytes.Clone(two.b)}}
				for _, f := range left {
					if len(f.b) > 0 {
						f.b = c.hurt(f.b)
					}
				}
				next := newMemory()
				manager(t, next, func(c *history.Config) { c.Files = [2]history.File{left[0], left[1]} })
				time.Sleep(time.Second)
				synctest.Wait()
				if len(next.kept) != c.want {
					t.Fatalf("%d of 3 were found", len(next.kept))
				}
				for id, r := range next.kept {
					want := *whole(r.ID, "")
					want.ExpiresAt, want.CreatedAt = r.ExpiresAt, r.CreatedAt
					if d := cmp.Diff(want, r); d != "" {
						t.Errorf("%s (-want +got):\n%s", id, d)
					}
				}
				if n := len(left[0].b) + len(left[1].b); c.want > 0 && n > 0 {
					t.Errorf("the files still have %d bytes", n)
				}
			})
		})
	}
}

// full is a File on a disk that takes a part of the second frame, and then has room again.
type full struct {
	file
	writes int
}

func (f *full) Write(frame []byte) (int, error) {
	if f.writes++; f.writes == 2 {
		n, _ := f.file.Write(frame[:5])
		return n, errors.New("no space left on device")
	}
	return f.file.Write(frame)
}

// TestFullDisk writes nothing behind a frame that is not whole, says so once, and uses the file again when it was emptied.
func TestFullDisk(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		one, two := &full{}, &full{}
		reported := 0
		s := newMemory()
		m := manager(t, s, func(c *history.Config) {
			c.Files = [2]history.File{one, two}
			c.Report = func(string, error) { reported++ }
		})
		for i := range 5 {
			m.Keep(whole(fmt.Sprint("resp_", i), ""))
		}
		if n := one.writes + two.writes; n != 2 || reported != 1 {
			t.Errorf("%d writes, %d reports", n, reported)
		}
		time.Sleep(time.Second)
		synctest.Wait()
		if len(s.kept) != 5 || len(one.b)+len(two.b) > 0 {
			t.Errorf("the store has %d, the files %d bytes", len(s.kept), len(one.b)+len(two.b))
		}
		for i := range 2 { // one for each file
			m.Keep(whole(fmt.Sprint("later_", i), ""))
			time.Sleep(time.Second)
		}
		synctest.Wait()
		if n := one.writes + two.writes; n != 4 {
			t.Errorf("%d writes after the files were emptied", n)
		}
	})
}

// The files have nothing of what the store has, so that what is deleted is gone.
func TestFilesAreEmptied(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		one, two := &file{}, &file{}
		m := manager(t, newMemory(), func(c *history.Config) { c.Files = [2]history.File{one, two} })
		for i := range 10 {
			m.Keep(whole(fmt.Sprint("resp_", i), ""))
			time.Sleep(time.Duration(i*50) * time.Millisecond)
		}
		time.Sleep(time.Second)
		synctest.Wait()
		if len(one.b)+len(two.b) > 0 {
			t.Errorf("%q %q", one.b, two.b)
		}
	})
}

// A response that another node is about to store is found, and one that does not exist is not.
func TestOtherNode(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newMemory()
		shared := func(c *history.Config) { c.Shared = true }
		one, other := manager(t, s, shared), manager(t, s, shared)
		one.Keep(whole("resp_1", ""))
		if _, err := other.Find(t.Context(), "usr_1", "resp_1"); err != nil {
			t.Error(err)
		}
		one.Keep(whole("resp_2", "resp_1"))
		if list, err := other.Chain(t.Context(), "usr_1", "resp_2"); err != nil || len(list) != 2 {
			t.Errorf("%d %v", len(list), err)
		}
		one.Keep(whole("resp_3", ""))
		if _, err := other.OfItem(t.Context(), "usr_1", "msg_resp_3"); err != nil {
			t.Error(err)
		}
		one.Keep(whole("resp_4", ""))
		if err := other.Delete(t.Context(), "usr_1", "resp_4"); err != nil {
			t.Error(err)
		}
		_, err := other.Find(t.Context(), "usr_1", "resp_none")
		wantKind(t, err, fault.NotFound)
	})
}

// Beyond a bound a request waits for the store, so that memory has one, too.
func TestMuchWaits(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newMemory()
		m := manager(t, s, nil)
		for i := range 5 {
			r := whole(fmt.Sprint("resp_", i), "")
			r.Input = make([]byte, 8<<20)
			m.Keep(r)
		}
		if len(s.kept) == 0 {
			t.Error("40 MB wait, and the store has none")
		}
	})
}

// What is kept is a copy: the memory of a request serves others when it has ended.
func TestKeepsACopy(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		m := manager(t, newMemory(), nil)
		r := whole("resp_1", "")
		m.Keep(r)
		for _, b := range [][]byte{r.Object, r.Input, r.Output} {
			clear(b)
		}
		found, err := m.Find(t.Context(), "usr_1", "resp_1")
		if err != nil || string(found.Input) != "in resp_1" || string(found.Output) != "out resp_1" {
			t.Errorf("%+v %v", found, err)
		}
	})
}

func FuzzReadFrame(f *testing.F) {
	f.Add(history.Frame(whole("resp_1", "resp_0")))
	f.Add([]byte{})
	f.Fuzz(func(t *testing.T, b []byte) {
		r, rest := history.ReadFrame(b)
		if r == nil {
			return
		}
		if len(rest) >= len(b) {
			t.Error("a frame without bytes")
		}
		again, _ := history.ReadFrame(history.Frame(r))
		if d := cmp.Diff(r, again); d != "" {
			t.Error(d)
		}
	})
}
