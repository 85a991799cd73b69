-- Access tokens: the hash of each, and what it allows.

create table token (
  id         text primary key,
  tenant     text not null,
  name       text not null,
  scopes     text not null,
  digest     bytea not null check (length(digest) = 32),
  created_at bigint not null,
  expires_at bigint not null,
  role       text not null default '',
  kind       text not null default 'program' check (kind in ('program', 'login', 'session', 'portal_link', 'portal')),
  makes_until bigint not null, -- what a session makes ends by then
  portal     text not null default ''
);
create index token_tenant on token (tenant);
