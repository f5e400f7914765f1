-- +goose Up
-- How operators find jobs that have not ended, the oldest first, and webhooks that were given up.
CREATE INDEX video_jobs_open ON video_jobs (created_at, id) WHERE ended = '';
CREATE INDEX batches_open ON batches (created_at, id) WHERE state IN ('validating', 'in_progress', 'finalizing', 'cancelling');
CREATE INDEX webhook_deliveries_pending ON webhook_deliveries (created_at, id) WHERE state = 'pending';
CREATE INDEX webhook_deliveries_failed ON webhook_deliveries (ended_at, id) WHERE state = 'failed';

-- +goose Down
DROP INDEX webhook_deliveries_failed;
DROP INDEX webhook_deliveries_pending;
DROP INDEX batches_open;
DROP INDEX video_jobs_open;
