// Package e2e drives the built binary as its users do, with the official OpenAI and Anthropic SDKs, and checks everything that passes against the
// OpenAPI document. It must not import the product: what it needs to know, it asks over the network.
package e2e
