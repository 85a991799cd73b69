-- The queues, the lanes that serve them, and the daily search for queues that nobody uses.
-- In every table times are milliseconds since 1970, and 4611686018427387904 (2^62) is "never".

-- A recipient: its policy, and its block with kind, end, reason and start of the spell.
create table queue (
  id           integer primary key,
  tenant       text not null,
  name         text not null,
  transport    text not null,
  policy       blob not null,
  paused_at    integer not null default 0,
  resumed_at   integer not null default 0,
  block_kind   text not null default ''
               check (block_kind in ('', 'quota', 'setup', 'rule', 'handler', 'unreachable', 'disabled')),
  block_until  integer not null default 0,
  block_reason text not null default '',
  block_streak integer not null default 0,
  block_since  integer not null default 0,
  check ((block_kind = '') = (block_until = 0)),
  unique (tenant, name)
) strict;
create index queue_disabled on queue (id) where block_kind = 'disabled';
create index queue_blocked on queue (block_since) where block_kind in ('quota', 'setup', 'rule', 'handler', 'unreachable');
-- For people who look for what is in trouble, among however many queues.
create index queue_trouble on queue (tenant, name) where block_kind <> '' or paused_at > 0;

-- The lane that serves a shard of a queue.
create table queue_lane (
  queue_id integer not null,
  shard    integer not null,
  lane_id  integer not null,
  primary key (queue_id, shard)
) strict, without rowid;
create index queue_of_lane on queue_lane (lane_id, queue_id);

-- Since when a queue has been seen unused, and how often its rungs had been woken by then.
create table unused_queue (
  queue_id integer primary key,
  since    integer not null,
  look     text not null
) strict;

-- One row: how far the search for unused queues has come, when it may go on, and the highest numbers
-- that were deleted. No number is given twice: senders and history may still name its first holder.
create table queue_walk (
  one      integer primary key check (one = 1),
  after_id integer not null,
  next_at  integer not null,
  queue    integer not null,
  lane     integer not null,
  rung     integer not null
) strict;
insert into queue_walk values (1, 0, 0, 0, 0, 0);
