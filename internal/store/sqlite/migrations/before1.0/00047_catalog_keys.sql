-- +goose Up
-- Keys of providers that the catalog has, sealed. A provider may have several: a new one is used before the old one goes. The version before reads and
-- writes catalog_rows.sealed: the newest key in use is there, too.
CREATE TABLE catalog_keys (
    provider   TEXT    NOT NULL, -- id of a row of catalog_rows
    id         TEXT    NOT NULL,
    sealed     BLOB    NOT NULL,
    last4      TEXT    NOT NULL,
    state      TEXT    NOT NULL, -- in_use, draining, off
    created_at INTEGER NOT NULL,
    actor      TEXT    NOT NULL, -- who added it; '' of one that is older than this table
    note       TEXT    NOT NULL,
    PRIMARY KEY (provider, id)
) STRICT, WITHOUT ROWID;
INSERT INTO catalog_keys (provider, id, sealed, last4, state, created_at, actor, note)
    SELECT id, 'pkey_first', sealed, last4, 'in_use', updated_at, '', '' FROM catalog_rows WHERE kind = 'provider' AND sealed IS NOT NULL;

-- +goose Down
DROP TABLE catalog_keys;
