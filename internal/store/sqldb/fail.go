package sqldb

import (
	"database/sql"
	"errors"
	"time"

	"weir/internal/fault"
)

// Unavailable says that the database failed.
func Unavailable(op string, cause error) error {
	e := fault.New(fault.StorageUnavailable, op, "The store cannot be reached at the moment.").Because(cause)
	e.RetryAfter = time.Second
	return e
}

// Failure turns an error of the driver into a fault: a missing row is NotFound, everything else means that the store failed.
// Faults pass unchanged.
func Failure(op string, err error) error {
	var f *fault.Error
	switch {
	case err == nil || errors.As(err, &f):
		return err
	case errors.Is(err, sql.ErrNoRows):
		return fault.New(fault.NotFound, op, "There is no such thing.").Because(err)
	}
	return Unavailable(op, err)
}

// Missing turns a row that is not there into fault.NotFound with a sentence.
func Missing(op, sentence string, err error) error {
	if errors.Is(err, sql.ErrNoRows) {
		return fault.New(fault.NotFound, op, sentence)
	}
	return Failure(op, err)
}

// NoneOf turns a row that is not there into fault.NotFound, of what there is none.
func NoneOf(op, what string, err error) error {
	if errors.Is(err, sql.ErrNoRows) {
		return fault.New(fault.NotFound, op, "There is no such "+what+".").Because(err)
	}
	return Failure(op, err)
}

// NoUser is Missing for a user.
func NoUser(op string, err error) error { return Missing(op, "There is no such user.", err) }
