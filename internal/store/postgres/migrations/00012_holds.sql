-- +goose Up

-- What calls hold of a lease, as its node said with its last sign of life.
ALTER TABLE leases ADD COLUMN held BIGINT NOT NULL DEFAULT 0;

-- +goose Down
ALTER TABLE leases DROP COLUMN held;
