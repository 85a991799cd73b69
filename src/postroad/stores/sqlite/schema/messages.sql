-- Messages that are not finished, the rungs that they wait on, their tries and idempotency keys.

-- The messages of one queue at one level and priority, or of one order group. ready_at is a lower
-- bound: an enqueue only lowers it, the lane's owner raises it after reading the rung. A block is
-- written here and never on messages.
create table rung (
  id            integer primary key,
  lane_id       integer not null,
  queue_id      integer not null,
  level         integer not null,
  priority      integer not null,
  order_group          integer not null,
  ready_at      integer not null default 4611686018427387904,
  blocked_until integer not null default 0,
  held          text not null default '',
  last_place    integer not null default 0
) strict;
create unique index rung_plain on rung (lane_id, queue_id, level, priority) where order_group = 0;
create unique index rung_order_group on rung (lane_id, queue_id, order_group) where order_group > 0;
create index rung_ready on rung (lane_id, ready_at);
create index rung_queue on rung (queue_id);
create index rung_held on rung (id) where held <> '';
create index rung_uncertain on rung (id) where level < 0;

-- An unfinished message. place: its due time, or its position in an order group.
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
  body        blob not null,
  unwanted    integer not null default 0   -- to be cancelled, also if its lane's owner dies first
) strict;
create index message_place on message (rung_id, place, id);
create index message_expiry on message (expires_at) where expires_at < 4611686018427387904;
create index message_unwanted on message (rung_id) where unwanted = 1;
-- For lists, which go by id. Messages that were sent to be tried at once are not in it: their place is
-- the time that their id names, up to 64 ms before it (docs/decisions/075).
create index message_moved on message (rung_id, id)
 where level > 0 or place - (id >> 22) not between 1704067199936 and 1704067200000;

-- The recipient that a message names, from its acceptance until all of it is deleted. Its headers name it too; this
-- is for finding it, also when the message is finished.
create table message_recipient (
  message_id integer primary key,
  queue_id   integer not null,
  recipient  text not null
) strict;
create index message_recipient_name on message_recipient (recipient, message_id);

-- A try that did not deliver. The try that delivered a message is its history row.
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

-- The first use of an idempotency key, with a digest of its body.
create table idempotency (
  queue_id   integer not null,
  key        text not null,
  message_id integer not null,
  digest     blob not null,
  expires_at integer not null,
  primary key (queue_id, key)
) strict, without rowid;
create index idempotency_expiry on idempotency (expires_at);
