package ledgerdb

import (
	"context"
	"strconv"
	"strings"
	"time"

	"weir/internal/fault"
	"weir/internal/rawjson"
	"weir/internal/record"
	"weir/internal/store/sqldb"
)

// callsElsewhere chooses, among the newest calls, those whose details name an endpoint ($3, as a pattern of JSON) that did not serve them ($4). The
// inner query is a stretch of the index by second.
const (
	newestCalls    = ` FROM generations WHERE ` + secondColumn + ` >= $1 AND ` + secondColumn + ` < $2 ORDER BY ` + secondColumn + ` DESC, id DESC LIMIT `
	callsElsewhere = `) w WHERE CAST(details AS TEXT) LIKE $3 ESCAPE '\' AND COALESCE(details ->> 'endpoint', '') <> $4 AND (details ->> 'attempts' LIKE $3 ESCAPE '\'`
)

// wholeSecond is the second that begins after t, or with it, as text of an id.
func wholeSecond(t time.Time) string {
	return strconv.FormatInt(t.Add(time.Second-time.Nanosecond).Unix(), 10)
}

// CallsElsewhere is report.Store.CallsElsewhere.
func (s *Ledger) CallsElsewhere(ctx context.Context, endpoint string, from, to time.Time, most int, yield func(*record.Call)) (since time.Time, err error) {
	name := string(rawjson.AppendText(nil, sqldb.Text(endpoint)))
	pattern := "%" + strings.NewReplacer(`\`, `\\`, `%`, `\%`, `_`, `\_`).Replace(name) + "%"
	text := `SELECT id, at, cancelled, COALESCE(details ->> 'endpoint', ''), COALESCE(details ->> 'attempts', '[]'), COALESCE(details ->> 'candidates', '[]')
		FROM (SELECT id, at, cancelled, details` + newestCalls + strconv.Itoa(most) + callsElsewhere
	args := []any{strconv.FormatInt(from.Unix(), 10), wholeSecond(to), pattern, sqldb.Text(endpoint)}
	for _, word := range [...]string{record.DroppedEjected, record.DroppedFull, record.DroppedCrowded, record.DroppedOut} {
		args = append(args, `%"`+strings.ReplaceAll(word, `_`, `\_`)+`"%`)
		text += ` OR details ->> 'candidates' LIKE $` + strconv.Itoa(len(args)) + ` ESCAPE '\'`
	}
	_, err = sqldb.List(ctx, s.db, "store.CallsElsewhere", func(row sqldb.Scanner) (none struct{}, err error) {
		var c record.Call
		var at, cancelled int64
		var attempts, candidates []byte
		if err = row.Scan(&c.Generation, &at, &cancelled, &c.Endpoint, &attempts, &candidates); err != nil {
			return none, err
		}
		c.At, c.Cancelled = time.UnixMicro(at).UTC(), cancelled != 0
		if !readValue(attempts, &c.Attempts) || !readValue(candidates, &c.Candidates) {
			return none, fault.New(fault.Internal, "store.CallsElsewhere", "The details of a call cannot be read. Run weir ledger verify.")
		}
		yield(&c)
		return none, nil
	}, text+`)`, args...)
	if err != nil {
		return from, err
	}
	end, err := s.stretchEnd(ctx, newestCalls, most, args[:2])
	if end.At.After(from) {
		from = end.At
	}
	return from, err
}
