-- Engine processes and the lanes that they own.

-- An engine process, and when it was last heard from. Numbers are never used again.
create table process (
  id         integer primary key autoincrement,
  beat_at    integer not null,
  reaped     integer not null default 0,   -- its lanes were taken away, and it has not been told yet
  host       text not null,
  pid        integer not null,
  version    text not null,
  started_at integer not null
) strict;

-- A session to a server: owner and epoch (the fence), lost leases, circuit.
create table lane (
  id              integer primary key,
  tenant          text not null,
  transport       text not null,
  server          text not null,
  credential      text not null,
  shard           integer not null,
  pool            text not null,
  owner           integer,
  epoch           integer not null default 0,
  crashes         integer not null default 0,
  paused_at       integer not null default 0,
  circuit_strikes integer not null default 0,
  circuit_opened  integer not null default 0,
  circuit_until   integer not null default 0,
  circuit_since   integer not null default 0,
  circuit_reason  text not null default '',
  -- from then on new traffic may have a probe, though the circuit is open
  circuit_early   integer not null default 4611686018427387904,
  -- until then nobody claims it: a queue of it is about to move to another lane
  wanted_until    integer not null default 0,
  unique (tenant, transport, server, credential, shard)
) strict;
create index lane_owned on lane (owner) where owner is not null;
create index lane_open on lane (circuit_since) where circuit_opened > 0;
-- For people who look for what is in trouble, and for pages of a tenant's lanes.
create index lane_trouble on lane (tenant, id) where circuit_opened > 0 or paused_at > 0;
create index lane_tenant on lane (tenant, id);

-- When a lane is ready at a level: what pollers search. While a lane is owned its rows are ready
-- "never", and those are in no index, so that hiding a lane writes no index entry.
create table lane_level (
  lane_id  integer not null,
  level    integer not null,
  pool     text not null,
  ready_at integer not null,
  tenant   text not null default '',
  primary key (lane_id, level)
) strict, without rowid;
create index lane_level_ready on lane_level (pool, level, ready_at, lane_id, tenant)
 where ready_at < 4611686018427387904;
-- For claims tenant by tenant, where more lanes are ready than a claim takes.
create index lane_level_turn on lane_level (pool, level, tenant, ready_at, lane_id)
 where ready_at < 4611686018427387904;
