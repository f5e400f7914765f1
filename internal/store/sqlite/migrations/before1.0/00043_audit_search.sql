-- +goose Up
-- How operators find rows of the audit log: by who did it, by what was done, and by when.
CREATE INDEX audit_by_actor ON audit (actor, seq);
CREATE INDEX audit_by_action ON audit (action, seq);
CREATE INDEX audit_by_time ON audit (at, seq);

-- +goose Down
DROP INDEX audit_by_time;
DROP INDEX audit_by_action;
DROP INDEX audit_by_actor;
