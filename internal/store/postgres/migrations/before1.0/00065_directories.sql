-- +goose Up
-- Directories of organizations: what SCIM has put there.
CREATE TABLE org_directories (
    org        TEXT COLLATE "C"    NOT NULL PRIMARY KEY REFERENCES organizations (id),
    token      TEXT COLLATE "C"    NOT NULL UNIQUE, -- hash of the text that lets a directory in
    maker      TEXT COLLATE "C"    NOT NULL, -- id of the person
    version    BIGINT NOT NULL DEFAULT 0, -- grows with each change
    created_at BIGINT NOT NULL,
    used_at    BIGINT
);

CREATE TABLE org_listed (
    org         TEXT COLLATE "C"    NOT NULL REFERENCES organizations (id),
    user_id     TEXT COLLATE "C"    NOT NULL REFERENCES users (id),
    login       TEXT COLLATE "C"    NOT NULL, -- userName
    external_id TEXT COLLATE "C"    NOT NULL,
    display     TEXT COLLATE "C"    NOT NULL,
    formatted   TEXT COLLATE "C"    NOT NULL,
    given       TEXT COLLATE "C"    NOT NULL,
    family      TEXT COLLATE "C"    NOT NULL,
    email       TEXT COLLATE "C"    NOT NULL,
    role        TEXT COLLATE "C"    NOT NULL, -- that the directory gives the person itself; empty: groups say it
    created_at  BIGINT NOT NULL,
    updated_at  BIGINT NOT NULL,
    PRIMARY KEY (org, user_id)
);
CREATE INDEX org_listed_by_user ON org_listed (user_id);

CREATE TABLE org_groups (
    id          TEXT COLLATE "C"    NOT NULL PRIMARY KEY,
    org         TEXT COLLATE "C"    NOT NULL REFERENCES organizations (id),
    name        TEXT COLLATE "C"    NOT NULL,
    external_id TEXT COLLATE "C"    NOT NULL,
    team        TEXT COLLATE "C"    NOT NULL, -- id; empty: none
    created_at  BIGINT NOT NULL,
    updated_at  BIGINT NOT NULL,
    UNIQUE (org, name)
);

CREATE TABLE org_group_members (
    org       TEXT COLLATE "C" NOT NULL,
    group_id  TEXT COLLATE "C" NOT NULL REFERENCES org_groups (id),
    user_id   TEXT COLLATE "C" NOT NULL REFERENCES users (id),
    PRIMARY KEY (org, group_id, user_id)
);
CREATE INDEX org_group_members_by_user ON org_group_members (user_id);

-- +goose Down
DROP TABLE org_group_members;
DROP TABLE org_groups;
DROP TABLE org_listed;
DROP TABLE org_directories;
