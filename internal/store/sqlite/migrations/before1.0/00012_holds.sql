-- +goose Up

-- The holds of calls in a lease, as reported with the node's last heartbeat.
ALTER TABLE leases ADD COLUMN held INTEGER NOT NULL DEFAULT 0;

-- +goose Down
ALTER TABLE leases DROP COLUMN held;
