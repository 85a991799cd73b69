-- The settings of each webhook queue, and a log of every try.

-- settings: JSON. sealed: signing secrets and headers, encrypted with the key of that name; '' is no key.
create table webhook (
  queue_id bigint primary key references queue (id) on delete cascade,
  settings bytea not null,
  key      text not null,
  sealed   bytea not null
);
create index webhook_key on webhook (key, queue_id);

-- In the order of writing: retention deletes from the front and needs no index on the time.
create table webhook_try (
  id          bigint generated always as identity primary key,
  message_id  bigint not null,
  number      int not null,
  started_at  bigint not null,
  level       int not null,
  outcome     text not null,
  status      int not null,
  took_ms     int not null,
  answered_ms int not null,
  connect_ms  int not null,
  address     text not null,
  fault       text not null,
  error       text not null,
  headers     bytea not null,
  answer      bytea not null check (length(answer) <= 16384)
);
create unique index webhook_try_message on webhook_try (message_id, number, started_at);
