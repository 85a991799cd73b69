-- The audit log.

-- A change that somebody asked for. It is written as 'asked' before the change is made. what: JSON.
create table audit (
  id       integer primary key,
  asked_at integer not null,
  ended_at integer not null default 0,
  tenant   text not null,
  actor    text not null,
  name     text not null,
  address  text not null,
  verb     text not null,
  what     text not null,
  outcome  text not null check (outcome in ('asked', 'done', 'refused', 'failed', 'cut')),
  status   integer not null default 0,
  count    integer
) strict;
create index audit_asked on audit (asked_at, id);
create index audit_tenant on audit (tenant, asked_at, id);
