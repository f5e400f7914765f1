package accountapi

import (
	"context"
	"net/netip"

	"weir/internal/fault"
	"weir/internal/operation"
	"weir/internal/rawjson"
)

const maxPaymentNotice = 64 << 10 // bytes

type paymentNotice struct {
	Body operation.Raw `json:"-" body:"PaymentNotice"`
}

func notices(d Deps) []operation.Operation {
	return []operation.Operation{operation.Of(operation.Operation{
		Method: "POST", Path: "/api/payments/notifications", ID: "notifyPayment", Access: operation.Notifying, From: d.mayNotify, Tag: "account", Answer: "It is known",
		Body: maxPaymentNotice, Form: rawjson.Limits{Depth: 16, Keys: 500, Values: 2000}, Summary: "For the payment provider, which calls this when something happens to a payment or refund",
		Description: "Only requests from the addresses of `payments.yookassa.notify_from` are accepted. Nothing in the body is believed: the provider is asked what is true.",
		Example:     `{"type": "notification", "event": "payment.succeeded", "object": {"id": "23d93cac-000f-5000-8000-126628f15141"}}`,
	}, func(ctx context.Context, _ *operation.Call, in *paymentNotice) (operation.Empty, error) {
		n, err := d.ReadNotice(in.Body)
		if err != nil {
			return operation.Empty{}, err
		}
		return operation.Empty{}, d.Payments.Notice(ctx, n) // what is not ours is known, too, so that it is not sent again
	})}
}

// mayNotify refuses notifications from anybody but the provider.
func (d *Deps) mayNotify(from netip.Addr) error {
	if d.Payments == nil {
		return fault.New(fault.NotFound, "accountapi.mayNotify", "This gateway takes no payments. Ask its operator to credit your wallet.")
	}
	for _, p := range d.NotifyFrom {
		if p.Contains(from) {
			return nil
		}
	}
	return fault.New(fault.PermissionDenied, "accountapi.mayNotify", "Notifications are accepted only from the addresses of the payment provider. If there is a proxy in front of this gateway, its operator must name it in server.trusted_proxies.")
}
