-- Access tokens: a hash of each, and what it may do. The token itself is not stored.

create table token (
  id         text primary key,
  tenant     text not null,
  name       text not null,
  scopes     text not null,
  digest     blob not null check (length(digest) = 32),
  created_at integer not null,
  expires_at integer not null,
  role       text not null default '',
  kind       text not null default 'program' check (kind in ('program', 'login', 'session', 'portal_link', 'portal')),
  makes_until integer not null, -- what a session makes ends by then
  portal     text not null default ''
) strict, without rowid;
create index token_tenant on token (tenant);
