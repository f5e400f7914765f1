// Package storetest is the conformance suite of the databases: it defines what a store must do, and every store passes it. It knows no
// database: an Engine says how to open one.
package storetest
