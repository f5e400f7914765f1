package httpapi

import (
	"net/http"
	"net/netip"

	"weir/internal/fault"
	"weir/internal/payment"
)

// Payments is how people pay for their wallets.
type Payments struct {
	Service *payment.Service
	// Read reads a notification of the provider. From are the addresses that may send any.
	Read func(body []byte) (payment.Notice, error)
	From []netip.Prefix
}

const maxNotice = 64 << 10 // bytes

func (x *request) payments() (*payment.Service, error) {
	if x.api.Payments == nil {
		return nil, fault.New(fault.NotFound, "httpapi.payments", "This gateway takes no payments. Ask its operator to credit your wallet.")
	}
	return x.api.Payments.Service, nil
}

// mayNotify refuses notifications from anybody but the provider, before their bodies are read.
func (x *request) mayNotify() error {
	if _, err := x.payments(); err != nil {
		return err
	}
	from, known := x.api.clientAddress(x.r), false
	for _, p := range x.api.Payments.From {
		known = known || p.Contains(from)
	}
	if !known {
		return fault.New(fault.PermissionDenied, "httpapi.mayNotify", "Notifications come from the addresses of the payment provider alone. If there is a proxy in front of this gateway, its operator must name it in server.trusted_proxies.")
	}
	return nil
}

// postNotice serves POST /api/payments/notifications, which the provider calls. Only the ids in it are used: the provider is asked what is
// true of them. Whatever is not ours gets 200, so that it is not sent again.
func (x *request) postNotice() error {
	s, err := x.payments()
	if err != nil {
		return err
	}
	body, err := x.readBody()
	if err != nil {
		return err
	}
	n, err := x.api.Payments.Read(body)
	if err != nil {
		return err
	}
	if err := s.Notice(x.context(), n); err != nil {
		return err
	}
	x.writeBody(http.StatusOK, jsonType, []byte("{}"))
	return nil
}
