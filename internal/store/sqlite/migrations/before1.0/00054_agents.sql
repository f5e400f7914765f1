-- +goose Up
-- Programs on people's machines that ask to act for them, and those that do. Neither has a token in readable form.
CREATE TABLE agent_devices (
    hash       TEXT    NOT NULL PRIMARY KEY, -- of the device code
    code       TEXT    NOT NULL UNIQUE,      -- that its person types
    client     TEXT    NOT NULL,
    address    TEXT    NOT NULL,
    network    TEXT    NOT NULL,
    state      TEXT    NOT NULL,
    user_id    TEXT    NOT NULL,
    created_at INTEGER NOT NULL,
    expires_at INTEGER NOT NULL
) STRICT;
CREATE INDEX agent_devices_by_network ON agent_devices (network, expires_at);
CREATE INDEX agent_devices_by_user ON agent_devices (user_id);
CREATE INDEX agent_devices_expiring ON agent_devices (expires_at);

CREATE TABLE agents (
    key_id     TEXT    NOT NULL PRIMARY KEY,
    user_id    TEXT    NOT NULL REFERENCES users (id),
    family     TEXT    NOT NULL UNIQUE, -- what its refresh tokens begin with
    hash       TEXT    NOT NULL,        -- of the refresh token
    former     TEXT    NOT NULL,        -- of the one before
    salt       TEXT    NOT NULL,
    client     TEXT    NOT NULL,
    address    TEXT    NOT NULL,
    created_at INTEGER NOT NULL,
    renewed_at INTEGER NOT NULL,
    expires_at INTEGER NOT NULL
) STRICT;
CREATE INDEX agents_by_user ON agents (user_id, renewed_at);
CREATE INDEX agents_expiring ON agents (expires_at);
CREATE INDEX agents_idle ON agents (renewed_at);

-- +goose Down
DROP TABLE agents;
DROP TABLE agent_devices;
