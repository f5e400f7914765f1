-- +goose Up
-- Directories of organizations: what SCIM has put there.
CREATE TABLE org_directories (
    org        TEXT    NOT NULL PRIMARY KEY REFERENCES organizations (id),
    token      TEXT    NOT NULL UNIQUE, -- hash of the text that lets a directory in
    maker      TEXT    NOT NULL, -- id of the person
    version    INTEGER NOT NULL DEFAULT 0, -- grows with each change
    created_at INTEGER NOT NULL,
    used_at    INTEGER
) STRICT;

CREATE TABLE org_listed (
    org         TEXT    NOT NULL REFERENCES organizations (id),
    user_id     TEXT    NOT NULL REFERENCES users (id),
    login       TEXT    NOT NULL, -- userName
    external_id TEXT    NOT NULL,
    display     TEXT    NOT NULL,
    formatted   TEXT    NOT NULL,
    given       TEXT    NOT NULL,
    family      TEXT    NOT NULL,
    email       TEXT    NOT NULL,
    role        TEXT    NOT NULL, -- that the directory gives the person itself; empty: groups say it
    created_at  INTEGER NOT NULL,
    updated_at  INTEGER NOT NULL,
    PRIMARY KEY (org, user_id)
) STRICT;
CREATE INDEX org_listed_by_user ON org_listed (user_id);

CREATE TABLE org_groups (
    id          TEXT    NOT NULL PRIMARY KEY,
    org         TEXT    NOT NULL REFERENCES organizations (id),
    name        TEXT    NOT NULL,
    external_id TEXT    NOT NULL,
    team        TEXT    NOT NULL, -- id; empty: none
    created_at  INTEGER NOT NULL,
    updated_at  INTEGER NOT NULL,
    UNIQUE (org, name)
) STRICT;

CREATE TABLE org_group_members (
    org       TEXT NOT NULL,
    group_id  TEXT NOT NULL REFERENCES org_groups (id),
    user_id   TEXT NOT NULL REFERENCES users (id),
    PRIMARY KEY (org, group_id, user_id)
) STRICT, WITHOUT ROWID;
CREATE INDEX org_group_members_by_user ON org_group_members (user_id);

-- +goose Down
DROP TABLE org_group_members;
DROP TABLE org_groups;
DROP TABLE org_listed;
DROP TABLE org_directories;
