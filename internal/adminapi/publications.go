package adminapi

import (
	"context"
	"strconv"
	"time"

	"weir/internal/accountapi"
	"weir/internal/audit"
	"weir/internal/catalog/edit"
	"weir/internal/fault"
	"weir/internal/operation"
)

// Publisher puts drafts of prices into effect.
type Publisher interface {
	PublishDraft(ctx context.Context, version int64, from time.Time, sure bool, by audit.Actor) (*edit.Draft, error)
	CancelPublication(ctx context.Context, id int64, by audit.Actor) (*edit.Draft, error)
	RevertPublication(ctx context.Context, id int64, by audit.Actor) (*edit.Draft, error)
	Publications(ctx context.Context, before int64, count int) ([]edit.Draft, error)
}

// PublishedEndpoint is what a publication changes of an endpoint.
type PublishedEndpoint struct {
	ID     string           `json:"id"`
	Set    operation.Object `json:"set"`
	Unset  []string         `json:"unset"`
	Before operation.Object `json:"before"` // the database's row before the publication; null for none, and while it is scheduled
}

// PricePublication is a draft that was published, or that will be.
type PricePublication struct {
	ID        int64               `json:"id"`
	State     string              `json:"state" enum:"scheduled,published,cancelled"`
	Actor     string              `json:"actor"`      // who published it
	ActorName *string             `json:"actor_name"` // of that user, or of the owner of that key
	At        time.Time           `json:"at"`
	From      *time.Time          `json:"from"`      // when it takes effect
	Catalog   int64               `json:"catalog"`   // version of the catalog that its rows have
	List      *ListOfDraft        `json:"list"`      // price list that it brought; null: it left the list as it was
	Endpoints int                 `json:"endpoints"` // with changes of their own
	Changes   []PublishedEndpoint `json:"changes"`   // the first 20
}

// PricePublications is a page of publications, the newest first.
type PricePublications struct {
	Data []PricePublication `json:"data"`
	Next *int64             `json:"next"` // value of before for the next page
}

// mostPublished is how many endpoints of a publication a list shows.
const mostPublished = 20

func publicationOf(d *edit.Draft, names map[string]string) PricePublication {
	out := PricePublication{ID: d.ID, State: string(d.State), Actor: d.Actor, ActorName: accountapi.OrNull(names[actorID(d.Actor)]), At: d.At, List: listOf(&d.Prices), From: accountapi.Moment(d.From), Catalog: d.Catalog, Endpoints: len(d.Edits), Changes: []PublishedEndpoint{}}
	for _, e := range d.Edits[:min(len(d.Edits), mostPublished)] {
		out.Changes = append(out.Changes, PublishedEndpoint{e.ID, specOf(edit.Endpoint, e.Set), append([]string{}, e.Unset...), specOf(edit.Endpoint, e.Before)})
	}
	return out
}

type (
	publish struct {
		Version int64      `json:"version" minimum:"1"`      // of the draft
		At      *time.Time `json:"at,omitempty" null:"none"` // when it takes effect on all nodes, not in the past; without it, at once
		Sure    bool       `json:"sure,omitempty"`           // prices are meant that the draft asks about
	}
	publicationID struct {
		ID string `json:"-" path:"id"` // of the publication
	}
)

// number is that of the publication; 0, which none has, for another text.
func (p *publicationID) number() int64 {
	n, _ := strconv.ParseInt(p.ID, 10, 64)
	return n
}

func (o priceOperations) publish(ctx context.Context, c *operation.Call, in *publish) (out operation.Data[PricePublication], err error) {
	var from time.Time
	if in.At != nil {
		if from = *in.At; from.Before(c.At) {
			return out, fault.Field("adminapi.publish", "at", "at must not be in the past: calls were charged at the prices of that time.").Coded("past")
		}
	}
	d, err := o.PublishDraft(ctx, in.Version, from, in.Sure, c.Actor)
	return o.published(ctx, d, err)
}

func (o priceOperations) published(ctx context.Context, d *edit.Draft, err error) (out operation.Data[PricePublication], _ error) {
	if err != nil {
		return out, err
	}
	names, err := o.named(ctx, *d)
	if err == nil {
		out.Data = publicationOf(d, names)
	}
	return out, err
}

func (o priceOperations) publications(ctx context.Context, _ *operation.Call, in *accountapi.Before) (out PricePublications, err error) {
	rows := in.Rows()
	list, err := o.Publications(ctx, in.Before, rows+1)
	if err != nil {
		return out, err
	}
	names, err := o.named(ctx, list...)
	if err != nil {
		return out, err
	}
	out.Data = make([]PricePublication, min(rows, len(list)))
	for i := range out.Data {
		out.Data[i] = publicationOf(&list[i], names)
	}
	if len(list) > rows {
		out.Next = &list[rows-1].ID
	}
	return out, nil
}

func publicationRoutes(o priceOperations) []operation.Operation {
	return []operation.Operation{
		operation.Of(operation.Operation{
			Method: "POST", Path: "/api/admin/prices/publish", ID: "publishPrices", Access: operation.Administration, Fresh: true, Status: 201, Tag: "administration",
			Summary: "Publish the draft of prices, at once or at a time", Answer: "The publication", Example: `{"version": 1}`,
			Description: "All nodes charge by the prices from that time on, also those that are started again meanwhile. A margin above 0.5 and a price below what the provider takes need `sure`.",
		}, o.publish),
		operation.Of(operation.Operation{
			Method: "GET", Path: "/api/admin/prices/publications", ID: "listPricePublications", Access: operation.Operating, Tag: "administration",
			Summary: "List prices that were published or are scheduled, newest first", Answer: "The publications",
		}, o.publications),
		operation.Of(operation.Operation{
			Method: "POST", Path: "/api/admin/prices/publications/{id}/cancel", ID: "cancelPrices", Access: operation.Administration, Fresh: true, Tag: "administration",
			Summary: "Cancel prices that are scheduled", Answer: "The publication",
		}, func(ctx context.Context, c *operation.Call, in *publicationID) (operation.Data[PricePublication], error) {
			d, err := o.CancelPublication(ctx, in.number(), c.Actor)
			return o.published(ctx, d, err)
		}),
		operation.Of(operation.Operation{
			Method: "POST", Path: "/api/admin/prices/publications/{id}/revert", ID: "revertPrices", Access: operation.Administration, Tag: "administration",
			Summary: "Make a draft that takes a publication back", Answer: "The draft",
		}, func(ctx context.Context, c *operation.Call, in *publicationID) (DraftOfPrices, error) {
			d, err := o.RevertPublication(ctx, in.number(), c.Actor)
			return o.shown(ctx, c, d, err)
		}),
	}
}
