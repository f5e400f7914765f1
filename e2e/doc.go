// Package e2e tests the built binary as its users use it, with the official OpenAI and Anthropic SDKs, and checks all requests and
// responses against the OpenAPI document. It must not import the product: it gets all information over the network.
package e2e
