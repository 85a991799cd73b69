-- The first schema: queues, lanes, rungs, messages, and where finished work goes.
-- Times are milliseconds since 1970; 4611686018427387904 (2^62) is "never".

create table process (
  id       integer primary key autoincrement,
  beat_at  integer not null,
  reaped   integer not null default 0,   -- its lanes were taken away, and it does not know yet
  host     text not null,
  pid      integer not null
) strict;

create table queue (
  id           integer primary key,
  tenant       text not null,
  name         text not null,
  transport    text not null,
  policy       blob not null,
  paused_at    integer not null default 0,
  resumed_at   integer not null default 0,
  block_kind   text not null default ''
               check (block_kind in ('', 'quota', 'unreachable', 'disabled')),
  block_until  integer not null default 0,
  block_reason text not null default '',
  block_streak integer not null default 0,
  block_since  integer not null default 0,
  check ((block_kind = '') = (block_until = 0)),
  unique (tenant, name)
) strict;
create index queue_blocked on queue (block_since) where block_kind in ('quota', 'unreachable');

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
  unique (tenant, transport, server, credential, shard)
) strict;
create index lane_owned on lane (owner) where owner is not null;
create index lane_open on lane (circuit_since) where circuit_opened > 0;

create table queue_lane (
  queue_id integer not null,
  shard    integer not null,
  lane_id  integer not null,
  primary key (queue_id, shard)
) strict, without rowid;
create index queue_of_lane on queue_lane (lane_id, queue_id);

-- What pollers claim by. While a lane is owned its rows are ready "never".
create table lane_level (
  lane_id  integer not null,
  level    integer not null,
  pool     text not null,
  ready_at integer not null,
  primary key (lane_id, level)
) strict, without rowid;
create index lane_level_ready on lane_level (pool, level, ready_at, lane_id);

-- ready_at is a lower bound of when the rung has something to send: an enqueue only lowers it,
-- the lane's owner raises it when it has looked. A block writes here, never on messages.
create table rung (
  id            integer primary key,
  lane_id       integer not null,
  queue_id      integer not null,
  level         integer not null,
  priority      integer not null,
  slot          integer not null,
  ready_at      integer not null default 4611686018427387904,
  blocked_until integer not null default 0,
  held          text not null default '',
  last_place    integer not null default 0
) strict;
create unique index rung_plain on rung (lane_id, queue_id, level, priority) where slot = 0;
create unique index rung_slot on rung (lane_id, queue_id, slot) where slot > 0;
create index rung_ready on rung (lane_id, ready_at);
create index rung_queue on rung (queue_id);

-- place: due time, or the position in an ordered slot.
create table message (
  id          integer primary key,
  rung_id     integer not null,
  place       integer not null,
  due         integer not null,
  level       integer not null check (level >= 0),
  attempts    integer not null default 0,
  marks       integer not null default 0,
  accepted_at integer not null,
  expires_at  integer not null,
  order_key   text not null default '',
  headers     blob not null,
  body        blob not null
) strict;
create index message_place on message (rung_id, place, id);
create index message_expiry on message (expires_at) where expires_at < 4611686018427387904;

-- Tries that did not deliver; the last one of a delivered message is its history row.
create table attempt (
  message_id integer not null,
  number     integer not null,
  started_at integer not null,
  level      integer not null,
  kind       text not null,
  status     integer not null,
  took_ms    integer not null,
  error      text not null,
  primary key (message_id, number)
) strict, without rowid;

create table history (
  id          integer primary key,
  queue_id    integer not null,
  state       text not null check (state in ('delivered', 'cancelled')),
  late        integer not null default 0,
  accepted_at integer not null,
  finished_at integer not null,
  level       integer not null,
  attempts    integer not null,
  took_ms     integer not null
) strict;

create table dead (
  id          integer primary key,
  queue_id    integer not null,
  lane_id     integer not null,
  reason      text not null check (reason in ('rejected', 'exhausted', 'expired', 'expired_quota',
                                              'expired_unreachable', 'crash_loop')),
  died_at     integer not null,
  level       integer not null,
  attempts    integer not null,
  accepted_at integer not null,
  priority    integer not null,
  slot        integer not null,
  order_key   text not null,
  error       text not null,
  status      integer not null,
  headers     blob not null,
  body        blob not null
) strict;
create index dead_queue on dead (queue_id, id);
create index dead_died on dead (died_at, id);

create table idempotency (
  queue_id   integer not null,
  key        text not null,
  message_id integer not null,
  digest     blob not null,
  expires_at integer not null,
  primary key (queue_id, key)
) strict, without rowid;
create index idempotency_expiry on idempotency (expires_at);
