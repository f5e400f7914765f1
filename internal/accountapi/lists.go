package accountapi

import (
	"cmp"
	"context"
	"io"

	"weir/internal/fault"
	"weir/internal/operation"
)

// Rows of a page of a list, where a request asks for no other number.
const usualRows = 20

// PageOf asks for a page of a list.
type PageOf struct {
	Limit  int    `json:"-" query:"limit" most:"100"` // rows of the page; 20 without it
	Cursor string `json:"-" query:"cursor"`           // next of the page before
}

// List is a page of a list.
type List[T any] struct {
	Data []T     `json:"data"`
	Next *string `json:"next"` // of the next page; null: absent
}

// Paged reads a page: rows finds up to so many, after the one with an id, and show makes an answer's row of each and says its id.
func Paged[R, T any](ctx context.Context, p PageOf, rows func(ctx context.Context, after string, most int) ([]R, error), show func(*R) (T, string)) (List[T], error) {
	most := cmp.Or(p.Limit, usualRows)
	all, err := rows(ctx, p.Cursor, most+1)
	if fault.Is(err, fault.NotFound) && p.Cursor != "" {
		return List[T]{}, fault.Field("accountapi.Paged", "cursor", "cursor must be next of the page before.").Coded("cursor")
	}
	if err != nil {
		return List[T]{}, err
	}
	l := List[T]{Data: make([]T, 0, min(len(all), most))}
	for i := range all[:min(len(all), most)] {
		row, id := show(&all[i])
		l.Data = append(l.Data, row)
		if i == most-1 && len(all) > most {
			l.Next = &id
		}
	}
	return l, nil
}

// OrNull is text, or nil for "".
func OrNull(s string) *string {
	if s == "" {
		return nil
	}
	return &s
}

// listOrNull is a list, or nil for one without elements.
func listOrNull(l []string) *[]string {
	if len(l) == 0 {
		return nil
	}
	return &l
}

// document is a file of one PDF document.
func document(name string, write func() ([]byte, error)) operation.File {
	return operation.File{Name: name, MediaType: "application/pdf", Write: func(w io.Writer) error {
		b, err := write()
		if err != nil {
			return err
		}
		_, err = w.Write(b)
		return err
	}}
}
