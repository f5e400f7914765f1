-- +goose Up
-- Programs on people's machines that ask to act for them, and those that do. Neither has a token in readable form.
CREATE TABLE agent_devices (
    hash       TEXT COLLATE "C"    NOT NULL PRIMARY KEY, -- of the device code
    code       TEXT COLLATE "C"    NOT NULL UNIQUE,      -- that its person types
    client     TEXT COLLATE "C"    NOT NULL,
    address    TEXT COLLATE "C"    NOT NULL,
    network    TEXT COLLATE "C"    NOT NULL,
    state      TEXT COLLATE "C"    NOT NULL,
    user_id    TEXT COLLATE "C"    NOT NULL,
    created_at BIGINT NOT NULL,
    expires_at BIGINT NOT NULL
);
CREATE INDEX agent_devices_by_network ON agent_devices (network, expires_at);
CREATE INDEX agent_devices_by_user ON agent_devices (user_id);
CREATE INDEX agent_devices_expiring ON agent_devices (expires_at);

CREATE TABLE agents (
    key_id     TEXT COLLATE "C"    NOT NULL PRIMARY KEY,
    user_id    TEXT COLLATE "C"    NOT NULL REFERENCES users (id),
    family     TEXT COLLATE "C"    NOT NULL UNIQUE, -- what its refresh tokens begin with
    hash       TEXT COLLATE "C"    NOT NULL,        -- of the refresh token
    former     TEXT COLLATE "C"    NOT NULL,        -- of the one before
    salt       TEXT COLLATE "C"    NOT NULL,
    client     TEXT COLLATE "C"    NOT NULL,
    address    TEXT COLLATE "C"    NOT NULL,
    created_at BIGINT NOT NULL,
    renewed_at BIGINT NOT NULL,
    expires_at BIGINT NOT NULL
);
CREATE INDEX agents_by_user ON agents (user_id, renewed_at);
CREATE INDEX agents_expiring ON agents (expires_at);
CREATE INDEX agents_idle ON agents (renewed_at);

-- +goose Down
DROP TABLE agents;
DROP TABLE agent_devices;
