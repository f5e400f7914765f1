-- +goose Up
-- How operators find people and what was done with them: the newest first, by the end of a key's label, by what an audit row is about.
CREATE INDEX users_by_age ON users (created_at, id);
CREATE INDEX api_keys_by_end ON api_keys (substr(label, 16));
CREATE INDEX audit_by_target ON audit (target, seq);

-- +goose Down
DROP INDEX audit_by_target;
DROP INDEX api_keys_by_end;
DROP INDEX users_by_age;
