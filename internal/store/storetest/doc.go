// Package storetest is the conformance suite of the databases: what a store must do is written down here, and every store passes it.
// It knows no database, only the interfaces.
package storetest
