-- Settings of webhook queues, and the log of their tries.

-- settings: JSON. sealed: signing secrets and headers, under the key of that name; '' is none.
create table webhook (
  queue_id integer primary key,
  settings blob not null,
  key      text not null,
  sealed   blob not null
) strict;
create index webhook_key on webhook (key, queue_id);

-- A try as it was seen. Ids are in the order of writing, so that retention deletes from the front and
-- needs no index on the time.
create table webhook_try (
  id          integer primary key,
  message_id  integer not null,
  number      integer not null,
  started_at  integer not null,
  level       integer not null,
  outcome     text not null,
  status      integer not null,
  took_ms     integer not null,
  answered_ms integer not null,
  connect_ms  integer not null,
  address     text not null,
  fault       text not null,
  error       text not null,
  headers     blob not null,
  answer      blob not null check (length(answer) <= 16384)
) strict;
create unique index webhook_try_message on webhook_try (message_id, number, started_at);
