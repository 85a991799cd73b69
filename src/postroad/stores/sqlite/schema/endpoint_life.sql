-- What is known about the life of endpoints.

-- Counts of an endpoint's hour: tries by outcome, messages that died, and answered tries by how long they
-- took: took0 under 1 ms, took1 under 2 ms, and so on by powers of two. setup: not made, something is missing here.
create table endpoint_hour (
  endpoint_id integer not null,
  at          integer not null,
  delivered integer not null, failed integer not null, rejected integer not null, quota integer not null,
  unreachable integer not null, unknown integer not null, later integer not null, dead integer not null,
  took0 integer not null, took1 integer not null, took2 integer not null, took3 integer not null, took4
  integer not null, took5 integer not null, took6 integer not null, took7 integer not null, took8 integer
  not null, took9 integer not null, took10 integer not null, took11 integer not null, took12 integer not
  null, took13 integer not null, took14 integer not null, took15 integer not null, took16 integer not
  null, took17 integer not null, setup integer not null,
  primary key (endpoint_id, at)
) strict, without rowid;
create index endpoint_hour_at on endpoint_hour (at);

-- What is set for the endpoints of a tenant, or ('*') for those of all that have nothing set. rules: JSON.
create table endpoint_rules (
  tenant text primary key,
  rules  blob not null
) strict, without rowid;
