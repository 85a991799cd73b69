-- Messages whose ends are counted together, and what follows them.

-- A batch. parent: the batch that counts it as a member; after, role: whose end releases it, and which end;
-- then_id, failure_id: the message or batch that follows. Its counts are written when it ends.
create table batch (
  id         integer primary key,
  tenant     text not null,
  parent     integer not null,
  after      integer not null,
  role       text not null,
  state      text not null check (state in ('filling', 'waiting', 'open', 'ended', 'skipped')),
  total      integer not null,
  then_id    integer not null,
  failure_id integer not null,
  stops      integer not null,
  made_at    integer not null,
  ended_at   integer not null default 0,
  delivered  integer not null default 0,
  dead       integer not null default 0,
  cancelled  integer not null default 0,
  sent       text not null default ''
) strict;
create index batch_open on batch (id) where state = 'open';
create index batch_filling on batch (made_at) where state = 'filling';
create index batch_ended on batch (ended_at) where ended_at > 0;
create index batch_after on batch (after) where after > 0;
create index batch_failure on batch (failure_id) where failure_id > 0;
create index batch_tenant on batch (tenant, id);

-- A member that has not ended: a message, or a batch. Whoever deletes the row counts its end, so that it is counted once.
create table batch_member (
  message_id integer primary key,
  batch_id   integer not null
) strict;
create index batch_member_batch on batch_member (batch_id, message_id);

-- How many members have ended. Each process has its own row, so that none waits for another.
create table batch_count (
  batch_id  integer not null,
  counter   integer not null,
  delivered integer not null,
  dead      integer not null,
  cancelled integer not null,
  primary key (batch_id, counter)
) strict, without rowid;

-- A message that is stored when a batch ends.
create table batch_held (
  id          integer primary key,
  batch_id    integer not null,
  role        text not null check (role in ('then', 'on_failure')),
  queue_id    integer not null,
  lane_id     integer not null,
  order_group integer not null,
  priority    integer not null,
  due         integer not null,
  delay_ms    integer not null,
  expires_at  integer not null,
  order_key   text not null,
  headers     blob not null,
  body        blob not null
) strict;
create index batch_held_batch on batch_held (batch_id);
create index batch_held_queue on batch_held (queue_id);
