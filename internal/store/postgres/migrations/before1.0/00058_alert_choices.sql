-- +goose Up
-- Which alerts a channel gets, and why its last message did not arrive, where the gateway knows it.
ALTER TABLE alert_channels ADD COLUMN kinds TEXT COLLATE "C" NOT NULL DEFAULT ''; -- separated by spaces; empty: all
ALTER TABLE alert_channels ADD COLUMN severity TEXT COLLATE "C" NOT NULL DEFAULT 'warning'; -- the least
ALTER TABLE alert_channels ADD COLUMN reason TEXT COLLATE "C" NOT NULL DEFAULT '';

-- +goose Down
ALTER TABLE alert_channels DROP COLUMN reason;
ALTER TABLE alert_channels DROP COLUMN severity;
ALTER TABLE alert_channels DROP COLUMN kinds;
