package sqlite

// Provider is what runs migrations.
var Provider = provider
