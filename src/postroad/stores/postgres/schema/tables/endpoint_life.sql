-- What is known about the life of endpoints.

-- Counts of an endpoint's hour: tries by outcome, messages that died, and answered tries by how long they
-- took: took0 under 1 ms, took1 under 2 ms, and so on by powers of two. setup: not made, something is missing here.
create table endpoint_hour (
  endpoint_id bigint not null,
  at          bigint not null,
  delivered bigint not null, failed bigint not null, rejected bigint not null, quota bigint not null,
  unreachable bigint not null, unknown bigint not null, later bigint not null, dead bigint not null,
  took0 bigint not null, took1 bigint not null, took2 bigint not null, took3 bigint not null, took4
  bigint not null, took5 bigint not null, took6 bigint not null, took7 bigint not null, took8 bigint not
  null, took9 bigint not null, took10 bigint not null, took11 bigint not null, took12 bigint not null,
  took13 bigint not null, took14 bigint not null, took15 bigint not null, took16 bigint not null, took17
  bigint not null, setup bigint not null,
  primary key (endpoint_id, at)
);
create index endpoint_hour_at on endpoint_hour (at);

-- What is set for the endpoints of a tenant, or ('*') for those of all that have nothing set. rules: JSON.
create table endpoint_rules (
  tenant text primary key,
  rules  bytea not null
);
