package sqldb_test

import (
	"database/sql"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"weir/internal/store/sqldb"
)

type (
	state  string
	amount int64

	party struct{ Name, INN string }

	thing struct {
		ID         string
		User       string
		State      state
		Amount     amount
		Uses       int
		On         bool
		Buyer      party
		Answer     party
		ProviderID string
		Body       []byte
		Sealed     []byte
		Tags       []string
		Day        time.Time
		CreatedAt  time.Time
		EndedAt    time.Time
		KeepFor    time.Duration
		Sum        int64

		unstored int //nolint:unused // a field that is not exported has no column
	}
)

var things = sqldb.Map[thing, struct {
	ID         string
	User       string `db:"user_id"`
	State      state
	Amount     amount
	Uses       int
	On         bool   `db:"is_on"`
	Buyer      party  `db:"buyer_"`
	ProviderID string `db:",null"`
	Body       []byte
	Sealed     []byte `db:",null"`
	Tags       []byte
	Day        time.Time `db:",date"`
	CreatedAt  time.Time
	EndedAt    time.Time `db:",null"`
	KeepFor    time.Duration
	Sum        int64
}]("things", sqldb.Encoded("tags", func(v *thing) string { return strings.Join(v.Tags, ",") }, func(v *thing, b string) error {
	v.Tags = strings.Split(b, ",")
	return nil
}), sqldb.Computed[thing]("sum", "(SELECT 1)"))

const thingNames = "id, user_id, state, amount, uses, is_on, buyer_name, buyer_inn, provider_id, body, sealed, tags, day, created_at, ended_at, keep_for"

// runner notes statements, and answers with a row.
type runner struct {
	sqldb.Runner
	text string
	args []any
	row  []any
}

func (r *runner) Exec(text string, args []any) (int64, error) {
	r.text, r.args = text, args
	return 1, nil
}

func (r *runner) Row(text string, args []any) sqldb.Scanner {
	r.text, r.args = text, args
	return r
}

// Scan sets values as database/sql does.
func (r *runner) Scan(into ...any) error {
	for i, to := range into {
		if s, ok := to.(sql.Scanner); ok {
			if err := s.Scan(r.row[i]); err != nil {
				return err
			}
			continue
		}
		if r.row[i] != nil {
			v := reflect.ValueOf(to).Elem()
			v.Set(reflect.ValueOf(r.row[i]).Convert(v.Type()))
		}
	}
	return nil
}

func TestMapperColumns(t *testing.T) {
	t.Parallel()
	if want := thingNames + ", (SELECT 1)"; things.Names != want || things.Select != "SELECT "+want+" FROM things " {
		t.Errorf("the columns are %q", things.Select)
	}
	if got, want := things.Excluded("id", "user_id", "sum"), "state = excluded.state, amount = excluded.amount, "; !strings.HasPrefix(got, want) || strings.Contains(got, "sum") {
		t.Errorf("what is excluded: %q", got)
	}
}

// What is written is read again, and times lose no more than what is below a microsecond.
func TestMapperWritesAndReads(t *testing.T) {
	t.Parallel()
	at := time.Date(2026, 5, 4, 3, 2, 1, 7_000, time.UTC)
	for name, v := range map[string]thing{
		"full": {
			ID: "a", User: "b", State: "c", Amount: 4, Uses: 5, On: true, Buyer: party{"n", "i"}, ProviderID: "p", Body: []byte("body"), Sealed: []byte("s"), Tags: []string{"x", "y"},
			Day: time.Date(2026, 5, 4, 0, 0, 0, 0, time.UTC), CreatedAt: at, EndedAt: at.Add(time.Second), KeepFor: time.Minute,
		},
		"empty": {Body: []byte{}, Tags: []string{""}, Day: time.Date(1, 1, 1, 0, 0, 0, 0, time.UTC)},
	} {
		var r runner
		tx := &sqldb.Tx{Runner: &r, Engine: &sqldb.Engine{}}
		if err := things.Insert(tx, &v); err != nil {
			t.Fatal(err)
		}
		if want := "INSERT INTO things (" + thingNames + ") VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16) "; r.text != want {
			t.Errorf("%s: %s", name, r.text)
		}
		r.row = nil
		for _, a := range r.args {
			switch null := a.(type) {
			case sql.NullInt64:
				if a = nil; null.Valid {
					a = null.Int64
				}
			case sql.NullString:
				if a = nil; null.Valid {
					a = null.String
				}
			}
			r.row = append(r.row, a)
		}
		if name == "empty" && (r.row[8] != nil || r.row[14] != nil) {
			t.Errorf("the zero values are %v and %v, not NULL", r.row[8], r.row[14])
		}
		r.row = append(r.row, int64(9))
		back, err := things.Row(tx, "WHERE id = $1", v.ID)
		if v.Sum = 9; err != nil || !cmp.Equal(back, v, cmp.AllowUnexported(thing{})) {
			t.Errorf("%s: %v\n%s", name, err, cmp.Diff(v, back, cmp.AllowUnexported(thing{})))
		}
	}
}

func TestMapperChanges(t *testing.T) {
	t.Parallel()
	var r runner
	tx := &sqldb.Tx{Runner: &r, Engine: &sqldb.Engine{}}
	v := thing{ID: "a", User: "u", State: "s", Amount: 3}
	if err := things.Update(tx, &v, "id, user_id; state, amount"); err != nil {
		t.Fatal(err)
	}
	if want := "UPDATE things SET state = $3, amount = $4 WHERE id = $1 AND user_id = $2"; r.text != want || !cmp.Equal(r.args, []any{"a", "u", "s", int64(3)}) {
		t.Errorf("%s %v", r.text, r.args)
	}
	if _, err := things.Put(tx, &v, "ON CONFLICT DO NOTHING", "node", "n"); err != nil {
		t.Fatal(err)
	}
	if want := "(" + thingNames + ", node) VALUES ("; !strings.Contains(r.text, want) || !strings.HasSuffix(r.text, ", $17) ON CONFLICT DO NOTHING") || r.args[16] != "n" {
		t.Errorf("%s %v", r.text, r.args)
	}
}

// A struct that does not fit is a fault of the program, and found when it starts.
func TestMapperRefuses(t *testing.T) {
	t.Parallel()
	for name, make := range map[string]func(){
		"no such field": func() { sqldb.Map[thing, struct{ Other string }]("things") },
		"another type":  func() { sqldb.Map[thing, struct{ Uses string }]("things") },
		"no such mode": func() {
			sqldb.Map[thing, struct {
				Uses int `db:",date"`
			}]("things")
		},
		"no way to keep it": func() { sqldb.Map[thing, struct{ Tags []string }]("things") },
	} {
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("%s: it was taken", name)
				}
			}()
			make()
		}()
	}
}

// A row costs what its values cost: the plan of its type is made once.
func TestMapperPlansOnce(t *testing.T) { // not parallel: others would allocate
	v := thing{ID: "a", Body: []byte("b"), Tags: []string{"x"}}
	if n := testing.AllocsPerRun(100, func() { things.Args(&v) }); n > 40 {
		t.Errorf("a row of 16 columns takes %v allocations", n)
	}
}
