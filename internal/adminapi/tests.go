package adminapi

import (
	"context"
	"time"

	"weir/internal/operation"
)

// ProviderTest is one small call to a provider, made to see whether it works. No wallet pays for it; the provider bills the operator.
type ProviderTest struct {
	Type       string   `json:"type"`       // of the model; models: the server was asked for its models
	Address    string   `json:"address"`    // that was called
	Model      *string  `json:"model"`      // that was called
	Credential int      `json:"credential"` // which of the provider's keys was sent, from 1; 0: it has one or none
	Skipped    *string  `json:"skipped"`    // why no call was made
	Way        string   `json:"way"`        // by which it was called: direct, or the address of a proxy
	Took       int64    `json:"took_ms"`    // until the end of the answer
	Tokens     *int64   `json:"tokens"`     // of prompt and answer together, as the provider has reported them
	Wrong      *string  `json:"wrong" enum:"address,proxy,key,model id,request,answer,provider"`
	Detail     *string  `json:"detail"` // what the provider or the connection said
	Advice     []string `json:"advice"` // what to do

	// Authority vouches for the server's certificate, and this machine does not trust it. Trust it only if its fingerprint is the one that the provider publishes.
	Authority *Authority `json:"authority"`
}

// Authority is who vouches for the certificate of a server.
type Authority struct {
	Name        string    `json:"name"`
	Fingerprint string    `json:"fingerprint"` // SHA-256 of its certificate, such as D2:6D:2D:02
	Ends        time.Time `json:"ends_at"`     // of its certificate
	PEM         string    `json:"pem"`         // its certificate, to be the field ca of the provider
}

// Tester calls a provider once for each type of model and for each of its keys. It fails with fault.NotFound for one that serves no model.
type Tester func(ctx context.Context, id string) ([]ProviderTest, error)

func providerTests(test Tester) operation.Operation {
	return operation.Of(operation.Operation{
		Method: "POST", Path: "/api/admin/providers/{id}/test", ID: "testAdminProvider", Access: operation.Operating, Asks: true, Tag: "administration",
		Summary: "Call a provider once for each type of model and each of its keys, and say what is wrong", Answer: "The calls",
		Description: "Images and videos are not made. The provider bills a few tokens. Where a setting mends what is wrong, it was tried, and the advice names it.",
	}, func(ctx context.Context, c *operation.Call, in *providerID) (out operation.Data[[]ProviderTest], err error) {
		if err := c.Gates.KeyTest(); err != nil {
			return out, err
		}
		out.Data, err = test(ctx, in.ID)
		return out, err
	})
}
