-- Messages whose ends are counted together, and what follows them.

-- A batch. parent: the batch that counts it as a member; after, role: whose end releases it, and which end;
-- then_id, failure_id: the message or batch that follows. Its counts are written when it ends.
create table batch (
  id         bigint primary key,
  tenant     text not null,
  parent     bigint not null,
  after      bigint not null,
  role       text not null,
  state      text not null check (state in ('filling', 'waiting', 'open', 'ended', 'skipped')),
  total      int not null,
  then_id    bigint not null,
  failure_id bigint not null,
  stops      boolean not null,
  made_at    bigint not null,
  ended_at   bigint not null default 0,
  delivered  int not null default 0,
  dead       int not null default 0,
  cancelled  int not null default 0,
  sent       text not null default ''
);
create index batch_open on batch (id) where state = 'open';
create index batch_filling on batch (made_at) where state = 'filling';
create index batch_ended on batch (ended_at) where ended_at > 0;
create index batch_after on batch (after) where after > 0;
create index batch_failure on batch (failure_id) where failure_id > 0;
create index batch_tenant on batch (tenant, id);

-- A member that has not ended: a message, or a batch. Whoever deletes the row counts its end, so that it is counted once.
create table batch_member (
  message_id bigint primary key,
  batch_id   bigint not null
) with (autovacuum_vacuum_scale_factor = 0.01, autovacuum_vacuum_threshold = 5000,
        autovacuum_vacuum_insert_scale_factor = 0.05, autovacuum_vacuum_cost_delay = 0);
create index batch_member_batch on batch_member (batch_id, message_id);

-- How many members have ended. Each process has its own row, so that none waits for another.
create table batch_count (
  batch_id  bigint not null,
  counter   bigint not null,
  delivered int not null,
  dead      int not null,
  cancelled int not null,
  primary key (batch_id, counter)
) with (fillfactor = 30);

-- A message that is stored when a batch ends.
create table batch_held (
  id          bigint primary key,
  batch_id    bigint not null,
  role        text not null check (role in ('then', 'on_failure')),
  queue_id    bigint not null,
  lane_id     bigint not null,
  order_group int not null,
  priority    int not null,
  due         bigint not null,
  delay_ms    bigint not null,
  expires_at  bigint not null,
  order_key   text not null,
  headers     bytea not null,
  body        bytea not null
);
create index batch_held_batch on batch_held (batch_id);
create index batch_held_queue on batch_held (queue_id);
